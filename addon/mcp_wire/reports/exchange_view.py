"""One exchange as text for a content view: what was on the wire, piece by piece, with what is to be said of it.

Two models go in, two texts come out. Values of the traffic are shown as they are in the models; whether those are the
person's own or redacted is for whoever makes them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mcp_wire.judging.finding import Level
from mcp_wire.reports.exchange_notes import ExchangeNotes, NotedFinding
from mcp_wire.reports.header_checks import Agreement, HeaderCheck
from mcp_wire.reports.marked_json import Cut, laid_out, with_marks
from mcp_wire.reports.shown_stream import Gap, Line, ShownBlock, ShownStream
from mcp_wire.reports.words import WHO_MUST_ACT, counted, printable
from mcp_wire.wire.jsonrpc import Envelope, classify
from mcp_wire.wire.observation import Ended
from mcp_wire.wire.strict_json import MISSING, dump_json, read_json

WIDTH: Final = 80
MAX_DATA_LINES: Final = 60
MAX_BLOCK_LINES: Final = 80
"""Of one event: of its data, and altogether."""
MAX_BODY_LINES: Final = 400
MAX_LINE: Final = 2_000
MAX_LABELLED: Final = 64 * 1024
"""Characters of an event up to which it is looked at for what message it carries."""

_BARS: Final[dict[Level, str]] = {"error": "█", "warning": "▓", "info": "░"}
_AGREEMENTS: Final[dict[Agreement, str]] = {"agrees": "=", "differs": "≠", "unknown": "?", "alone": " "}
_ENDINGS: Final = {
    Ended.COMPLETE: "complete",
    Ended.SERVER_CLOSED: "the server closed the connection",
    Ended.SERVER_RESET: "the server reset the stream",
    Ended.CLIENT_CLOSED: "the client closed the connection",
    Ended.CLIENT_RESET: "the client reset the stream",
    Ended.PROXY_CLOSED: "the proxy closed the connection",
    Ended.OPEN: "still open when the capture stopped",
}

Judged = Literal["no", "waiting", "yes"]


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request. `target`: path and query. `body` None: `absent` says why."""

    method: str
    target: str
    checks: tuple[HeaderCheck, ...]
    body: str | None
    absent: str = ""
    notes: ExchangeNotes | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class ResponseView:
    """A response, as far as it has come. `stream` None: it is no event stream, and `body` is its text.

    `ended` None with `is_running` False: it ended, nobody knows how. `octets`: of the body, before content decoding.
    `lasted_ms`: from the request to the end. `boundaries_known`: the cuts of the stream are those of the wire.
    """

    status: int
    media_type: str
    stream: ShownStream | None = None
    body: str | None = None
    absent: str = ""
    is_running: bool = False
    ended: Ended | None = None
    reset_code: str | None = None
    octets: int = 0
    chunks: int | None = None
    lasted_ms: float | None = None
    boundaries_known: bool = True
    remarks: tuple[str, ...] = ()
    notes: ExchangeNotes | None = None
    session: str | None = None


def request_text(view: RequestView) -> str:
    """The request: what it is, how it is judged, its headers against its body, its findings, and the body."""
    notes = view.notes
    lines = [printable(f"{view.method} {view.target}")]
    lines += _introduction(notes, view.session)
    if notes is not None:
        here = [finding for finding in notes.findings if _is_about_request(finding, notes)]
        lines += _findings(here)
        elsewhere = len(notes.findings) - len(here)
        if elsewhere:
            lines += ["", f"{counted(elsewhere, 'finding')} about the response: see there."]
    if view.checks:
        lines += ["", "Headers, and what the body says (= the same, ≠ not the same, ? cannot be compared)"]
        lines += (_check(check) for check in view.checks)
    lines += ["", *_body(view.body, view.absent)]
    return "\n".join(lines)


def response_text(view: ResponseView) -> str:
    """The response: how it ended and what to do, its findings, then the body, or the events in order and their cuts."""
    notes = view.notes
    lines = [printable(f"{view.status} {view.media_type}".rstrip())]
    lines += _introduction(notes, view.session)
    lines.append(_state(view))
    if notes is not None and notes.advice is not None:
        lines += _wrapped(f"What to do: {notes.advice.action}. {notes.advice.condition}", "", "  ")
    for remark in view.remarks:
        lines += _wrapped(remark)
    findings = () if notes is None else notes.findings
    about_request = [finding for finding in findings if notes is not None and _is_about_request(finding, notes)]
    under_events: dict[int, list[NotedFinding]] = {}
    general: list[NotedFinding] = []
    for finding in findings:
        if finding in about_request:
            continue
        number = event_number(finding.path, notes)
        if number is None or view.stream is None:
            general.append(finding)
        else:
            under_events.setdefault(number, []).append(finding)
    for number, found in sorted(under_events.items()):
        lines += _wrapped(f"At event {number}: {', '.join(finding.code for finding in found)}", "", "  ")
    lines += _findings(general)
    if about_request:
        lines += ["", f"{counted(len(about_request), 'finding')} about the request: see there."]
    if view.stream is None:
        lines += ["", *_body(view.body, view.absent)]
    else:
        lines += _stream(view, view.stream, under_events)
        lines += ["", _rule(_ending(view))]
    return "\n".join(lines)


def wanted_events(notes: ExchangeNotes | None) -> frozenset[int]:
    """The numbers of the events that findings point at."""
    if notes is None:
        return frozenset()
    numbers = (event_number(path, notes) for one in notes.findings for path in (one.path, one.last_path or ""))
    return frozenset(number for number in numbers if number is not None)


def event_number(path: str, notes: ExchangeNotes | None) -> int | None:
    """The number of the event that a path points at or into; None where it points at none of this exchange."""
    if notes is None:
        return None
    prefix = f"{notes.path}/response/chunks/"
    number = path.removeprefix(prefix).partition("/")[0] if path.startswith(prefix) else ""
    return int(number) if number.isascii() and number.isdigit() and len(number) < 16 else None


# What is said of it


def _introduction(notes: ExchangeNotes | None, session: str | None) -> list[str]:
    if notes is None:
        return ["Not judged yet: the judge has not said anything of this exchange.", *([session] if session else [])]
    named = f"Judged as {notes.profile}" if notes.is_judged else f"Not judged by a revision ({notes.profile})"
    return [
        *_wrapped(notes.verdict if notes.has_ended else f"{notes.verdict} so far", "", "  "),
        *_wrapped(f"{named}: {notes.why}", "", "  "),
        printable(" · ".join(part for part in (notes.what, session or notes.session or "") if part)),
        printable(f"x-{notes.index + 1} of {notes.transcript}"),
    ]


def _findings(findings: Iterable[NotedFinding]) -> Iterator[str]:
    for finding in findings:
        yield ""
        yield from _finding(finding)


def _finding(finding: NotedFinding, indent: str = "") -> Iterator[str]:
    bar = f"{indent}{_BARS[finding.level]} "
    times = "" if finding.count == 1 else f", {finding.count} times"
    last = "" if finding.last_path is None else f", last at {finding.last_path}"
    yield from _wrapped(f"{finding.level} {finding.code}: {WHO_MUST_ACT[finding.party]}{times}{last}", bar, bar)
    yield from _wrapped(finding.message, bar, bar)
    if finding.clause:
        yield from _wrapped(f"clause: {finding.clause} {finding.url}".rstrip(), bar, f"{bar}  ")
    if finding.fix:
        yield from _wrapped(f"fix: {finding.fix}", bar, f"{bar}  ")


def _is_about_request(finding: NotedFinding, notes: ExchangeNotes) -> bool:
    return finding.path.startswith(f"{notes.path}/request")


def _state(view: ResponseView) -> str:
    lasted = "" if view.lasted_ms is None else f" after {_seconds(view.lasted_ms)}"
    amount = f"{view.octets:,} bytes".replace(",", " ")
    if view.chunks is not None:
        amount = f"{counted(view.chunks, 'chunk')}, {amount}"
    if view.stream is not None:
        is_judged = view.notes is not None and view.notes.is_judged and view.notes.has_ended
        events = view.notes.events if view.notes is not None and is_judged else view.stream.events
        amount = f"{counted(events, 'event')} in {amount}"
    if view.is_running:
        return f"Still running{lasted}: {amount} so far"
    return f"Ended{lasted}: {amount} · {_ending(view)}"


def _ending(view: ResponseView) -> str:
    if view.is_running:
        return "still running"
    words = _ENDINGS[view.ended] if view.ended is not None else "how it ended is not known"
    return words if view.reset_code is None else f"{words} ({printable(view.reset_code)})"


def _check(check: HeaderCheck) -> str:
    value = "(absent)" if check.value is None else check.value
    remark = f"   {check.remark}" if check.remark else ""
    return _cut(f"{_AGREEMENTS[check.agreement]} {check.name}: {value}{remark}")


# The wire


def _body(text: str | None, absent: str) -> Iterator[str]:
    if text is None:
        yield f"(no body: {absent})" if absent else "(no body)"
        return
    if not text:
        yield "(an empty body)"
        return
    yield from (_cut(line) for line in _text(text, (), MAX_BODY_LINES))


def _text(text: str, cuts: Sequence[Cut], max_lines: int) -> Iterator[str]:
    """JSON laid out; anything else as it stands."""
    if text.lstrip()[:1] in ("{", "["):
        yield from laid_out(text, cuts, max_lines=max_lines)
        return
    lines = with_marks(text, cuts).split("\n")
    yield from lines[:max_lines]
    if len(lines) > max_lines:
        yield f"… {len(lines) - max_lines} more lines"


def _stream(view: ResponseView, stream: ShownStream, findings: dict[int, list[NotedFinding]]) -> Iterator[str]:
    yield ""
    if view.boundaries_known:
        yield "⟨n⟩ stands where the bytes of chunk n begin. Times count from the request."
    else:
        yield "Where the stream was cut into chunks was not kept."
    shown = set()
    for part in stream.parts:
        yield ""
        if isinstance(part, Gap):
            yield _rule(_gap(part))
            continue
        shown.add(part.number)
        yield from _block(part, findings.get(part.number, ()), view.is_running)
    if not stream.parts:
        yield ""
        yield "No event yet." if view.is_running else "No event."
    for number, missed in findings.items():
        if number not in shown:
            yield ""
            yield _rule(f"event {number}, not shown")
            for finding in missed:
                yield from _finding(finding, "  ")


def _block(block: ShownBlock, findings: Sequence[NotedFinding], is_running: bool) -> Iterator[str]:
    yield _rule(" · ".join(_heading(block, is_running)))
    budget = MAX_BLOCK_LINES
    for line in _lines(block):
        if not budget:
            yield "… more lines: see the raw view"
            break
        budget -= 1
        yield _cut(line)
    if block.left_out:
        yield f"… {block.left_out} more bytes"
    for finding in findings:
        yield from _finding(finding, "  ")


def _heading(block: ShownBlock, is_running: bool) -> Iterator[str]:
    yield f"event {block.number}"
    if block.t_ms is not None:
        yield f"+{_seconds(block.t_ms)}"
    if block.first_chunk is not None and block.last_chunk is not None:
        single = block.first_chunk == block.last_chunk
        yield f"chunk {block.first_chunk}" if single else f"chunks {block.first_chunk}–{block.last_chunk}"
    if not block.is_whole:
        yield "not complete yet" if is_running else "cut before its end: clients discard it"
        return
    if block.meaning.data is None:
        comments = all(field.kind == "comment" for field in block.meaning.fields)
        yield "comment" if comments else "no data: not an event for clients"
    else:
        yield _carried(block.meaning.data)


def _carried(data: str) -> str:
    """What message an event carries, in a few words."""
    if not data:
        return "empty data"
    if len(data) > MAX_LABELLED:
        return "large data"
    value = read_json(data).value
    if value is MISSING:
        return "data that is no JSON"
    envelope = classify(value)
    if envelope.kind == "batch":
        return f"batch of {len(envelope.members)}"
    return printable(_message(envelope))


def _message(envelope: Envelope) -> str:
    identifier = "" if envelope.id is MISSING else f" id {dump_json(envelope.id)}"
    match envelope.kind:
        case "request":
            return f"request {envelope.method}{identifier}"
        case "notification":
            return str(envelope.method)
        case "response":
            return f"result{identifier}"
        case "error_response":
            return f"error{identifier}"
        case _:
            return "no JSON-RPC message"


def _lines(block: ShownBlock) -> Iterator[str]:
    """The lines of a block: fields as they stand, data joined and laid out behind its first line's name."""
    data = [line for line in block.lines if _is_data(line)]
    for line in block.lines:
        if not _is_data(line):
            yield with_marks(line.text, line.cuts)
        elif line is data[0]:
            yield from _data(data)


def _is_data(line: Line) -> bool:
    return line.text.partition(":")[0] == "data"


def _data(lines: Sequence[Line]) -> Iterator[str]:
    joined = ""
    cuts: list[Cut] = []
    label: list[Cut] = []
    for number, line in enumerate(lines):
        name, colon, value = line.text.partition(":")
        begin = len(name) + len(colon) + value.startswith(" ")
        joined += "\n" if number else ""
        for cut in line.cuts:
            if cut.position < begin and not number:
                label.append(cut)
            else:
                cuts.append(Cut(len(joined) + max(0, cut.position - begin), cut.mark))
        joined += line.text[begin:]
    name = with_marks(lines[0].text.partition(":")[0], [cut for cut in label if cut.position <= 4])
    late = "".join(cut.mark for cut in label if cut.position > 4)
    count = f" ({len(lines)} lines)" if len(lines) > 1 else ""
    first, *others = list(_text(joined, cuts, MAX_DATA_LINES)) or [with_marks("", cuts)]
    yield f"{name}:{late}{count} {first}".rstrip()
    yield from others


def _gap(gap: Gap) -> str:
    octets = f"{gap.octets:,} bytes".replace(",", " ")
    if gap.blocks is None:
        return f"{octets} not laid out: the raw view has them"
    return f"{counted(gap.blocks, 'event')} not shown ({octets}): the raw view has them"


def _rule(words: str) -> str:
    return f"── {words} ".ljust(WIDTH, "─")


def _seconds(t_ms: float) -> str:
    return f"{t_ms / 1000:.3f} s"


def _wrapped(text: str, first: str = "", others: str = "") -> list[str]:
    return textwrap.wrap(
        printable(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _cut(line: str) -> str:
    shown = line if line.isprintable() else "\t".join(printable(part) for part in line.split("\t"))
    return shown if len(shown) <= MAX_LINE else f"{shown[:MAX_LINE]}… {len(shown) - MAX_LINE} more characters"
