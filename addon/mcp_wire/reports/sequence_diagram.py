"""A Mermaid sequence diagram of the exchanges that findings are about.

Text from the wire is written with letters, digits and a few marks only; every other character becomes a Mermaid entity
code, so that nothing in it is read as syntax or markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mcp_wire.judging.finding import Finding
from mcp_wire.reports.evidence import event_at
from mcp_wire.reports.timeline import Moment, SeenEvent, SeenExchange, Timeline, exchange_number
from mcp_wire.reports.words import counted

MAX_EXCHANGES: Final = 12
MAX_EVENTS: Final = 6
"""Events of one exchange that have an arrow of their own; those with findings have one in any case."""
MAX_WORDS: Final = 70

_SPOKEN_OF: Final = re.compile(r"\bexchange ([0-9]{1,9})\b")
_SILENCE_MS: Final = 1_000
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 /.-_()+,")
_ARROW_OF_ENDING: Final = {
    "server_closed": ("S", "C", "closed early"),
    "server_reset": ("S", "C", "reset"),
    "client_closed": ("C", "S", "closed by the client"),
    "client_reset": ("C", "S", "reset by the client"),
    "proxy_closed": ("S", "C", "closed by the proxy"),
    "disconnected": ("S", "C", "disconnected"),
}


def concerned(timeline: Timeline, findings: Iterable[Finding]) -> list[SeenExchange]:
    """The exchanges that findings point into or speak of, and those of the same logical streams; the first ones."""
    numbers: set[int | None] = set()
    for finding in findings:
        numbers.add(exchange_number(finding.path))
        numbers.update(int(number) for number in _SPOKEN_OF.findall(finding.message))
    streams = {one.stream for one in timeline.exchanges if one.index in numbers and one.stream is not None}
    joined = [one for one in timeline.exchanges if one.index in numbers or one.stream in streams]
    return joined[:MAX_EXCHANGES]


def sequence_diagram(exchanges: Sequence[SeenExchange], findings: Sequence[Finding]) -> str:
    """The text of the diagram, without a fence. Arrows stand in the order of what was seen."""
    steps: list[tuple[int, int, str]] = []
    for exchange in exchanges:
        about = [finding for finding in findings if _is_within(finding.path, exchange.path)]
        for position, line in _steps(exchange, about):
            steps.append((position, len(steps), line))
    steps.sort()
    lines = ["sequenceDiagram", "  participant C as Client", "  participant S as Server"]
    return "\n".join([*lines, *(f"  {line}" for _, _, line in steps)])


def words(text: str) -> str:
    """Text that is nothing but text in a Mermaid message."""
    short = text if len(text) <= MAX_WORDS else text[:MAX_WORDS] + "…"
    return "".join(char if char in _PLAIN else f"#{ord(char)};" for char in short) or "#160;"


def _steps(exchange: SeenExchange, findings: Sequence[Finding]) -> Iterator[tuple[int, str]]:
    name = f"{exchange.method} {exchange.target}"
    resumes = "" if exchange.resumes is None else f" · Last-Event-ID {exchange.resumes}"
    yield exchange.started.position, f"C->>S: {words(_joined(exchange.id, exchange.label or name, resumes))}"
    on_events = {event.path: event for event in (event_at(finding.path, exchange) for finding in findings) if event}
    for finding in findings:
        if finding.path.startswith(f"{exchange.path}/request") or finding.path == exchange.path:
            yield exchange.started.position, _note(finding)
    if exchange.head is not None:
        yield from _response(exchange, on_events)
    yield from _ending(exchange)
    for finding in findings:
        event = event_at(finding.path, exchange)
        if event is not None:
            yield event.at.position, _note(finding)
        elif not (finding.path.startswith(f"{exchange.path}/request") or finding.path == exchange.path):
            yield exchange.last_seen.position, _note(finding)


def _response(exchange: SeenExchange, on_events: dict[str, SeenEvent]) -> Iterator[tuple[int, str]]:
    assert exchange.head is not None
    kind = "event stream" if exchange.is_event_stream else exchange.answer
    text = _joined(exchange.id, str(exchange.status), f" · {kind}" if kind else "")
    yield exchange.head.position, f"S-->>C: {words(text)}"
    ends = set(_ends([event.path for event in exchange.events]))
    before: Moment = exchange.head
    hidden = 0
    for event in exchange.events:
        silence = _silence(before, event.at)
        if silence:
            yield event.at.position, f"Note over C,S: {words(_joined(exchange.id, 'silent for ', silence))}"
        before = event.at
        if event.path not in ends and event.path not in on_events:
            hidden += 1
            continue
        if hidden:
            yield event.at.position, f"Note right of C: {words(counted(hidden, 'more event'))}"
            hidden = 0
        identifier = "" if event.id is None else f" · event {event.id}"
        yield event.at.position, f"S--)C: {words(_joined(exchange.id, event.label, identifier))}"


def _ends(paths: Sequence[str]) -> Iterable[str]:
    return paths if len(paths) <= MAX_EVENTS else [*paths[: MAX_EVENTS // 2], *paths[-(MAX_EVENTS // 2) :]]


def _silence(before: Moment, after: Moment) -> str:
    if before.t_ms is None or after.t_ms is None or after.t_ms - before.t_ms < _SILENCE_MS:
        return ""
    return f"{(after.t_ms - before.t_ms) / 1_000:.1f} s"


def _ending(exchange: SeenExchange) -> Iterator[tuple[int, str]]:
    arrow = _ARROW_OF_ENDING.get(exchange.ended or "")
    if arrow is not None and exchange.end is not None:
        sender, receiver, how = arrow
        code = f" {exchange.reset_code}" if exchange.reset_code else ""
        yield exchange.end.position, f"{sender}-x{receiver}: {words(_joined(exchange.id, how, code))}"


def _note(finding: Finding) -> str:
    side = {"client": "Note left of C", "server": "Note right of S"}.get(finding.party, "Note over C,S")
    return f"{side}: {words(f'{finding.level} {finding.code}')}"


def _joined(name: str, text: str, more: str) -> str:
    return f"{name}: {text}{more}"


def _is_within(path: str, outer: str) -> bool:
    return path == outer or path.startswith(f"{outer}/")
