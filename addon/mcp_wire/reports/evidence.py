"""The part of an exchange that a finding points at, as a few lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from mcp_wire.judging.finding import Finding
from mcp_wire.reports.timeline import HeaderLines, SeenEvent, SeenExchange, Text, Timeline

MAX_LINES: Final = 8
MAX_LINE: Final = 160


def excerpt(finding: Finding, timeline: Timeline | None) -> tuple[str, ...]:
    """What was seen at the finding's path: at most MAX_LINES lines of MAX_LINE characters; none where nothing is kept.

    The lines hold what stood on the wire (redacted), line ends apart; a renderer still has to make them harmless.
    """
    exchange = timeline.exchange_at(finding.path) if timeline is not None else None
    if exchange is None:
        return ()
    lines = [line if len(line) <= MAX_LINE else line[:MAX_LINE] + "…" for line in _lines(finding, exchange)]
    if len(lines) > MAX_LINES:
        return (*lines[: MAX_LINES - 1], f"… {len(lines) - MAX_LINES + 1} more lines")
    return tuple(lines)


def event_at(path: str, exchange: SeenExchange) -> SeenEvent | None:
    """The event that a path points at or into; the last one, for a path that is about how the events end."""
    if path == f"{exchange.path}/response/chunks":
        return exchange.events[-1] if exchange.events else None
    return next((event for event in exchange.events if path == event.path or path.startswith(f"{event.path}/")), None)


def request_line(exchange: SeenExchange) -> str:
    return " ".join(part for part in (exchange.method, exchange.target) if part)


def status_line(exchange: SeenExchange) -> str:
    """The status, and how the response ended where that was not its proper end."""
    status = "no response was seen" if exchange.status is None else f"{exchange.status}"
    media_type = next((value for name, value in exchange.response_headers if name.lower() == "content-type"), "")
    ended = "" if exchange.ended in (None, "complete") else f" ({exchange.ended.replace('_', ' ')})"
    return " ".join(part for part in (status, media_type) if part) + ended


def _lines(finding: Finding, exchange: SeenExchange) -> Iterator[str]:
    part = finding.path.removeprefix(exchange.path).strip("/")
    side, _, rest = part.partition("/")
    if side == "response":
        yield from _of_response(finding, exchange, rest)
        return
    yield request_line(exchange)
    if rest.startswith("headers"):
        yield from _headers(exchange.request_headers, finding)
    elif rest.startswith("body"):
        yield from _text(exchange.request_body)


def _of_response(finding: Finding, exchange: SeenExchange, rest: str) -> Iterator[str]:
    if rest.startswith("chunks"):
        event = event_at(finding.path, exchange)
        if event is not None:
            yield from _text(event.text)
            return
    yield f"{request_line(exchange)} → {status_line(exchange)}"
    if rest.startswith("headers"):
        yield from _headers(exchange.response_headers, finding)
    elif rest.startswith("body") and exchange.response_body is not None:
        yield from _text(exchange.response_body)


def _headers(lines: HeaderLines, finding: Finding) -> Iterable[str]:
    """The fields that the finding speaks of, all of them where it names none that is there."""
    said = f"{finding.message} {finding.fix}".lower()
    named = [(name, value) for name, value in lines if name.lower() in said]
    return [f"{name}: {value}" for name, value in named or lines]


def _text(text: Text) -> Iterator[str]:
    if text.absent is not None:
        yield f"(not captured: {text.absent})"
        return
    lines = text.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    yield from (line for line in lines if line)
    if text.left_out:
        yield f"… {text.left_out} more characters"
