"""`--report html`: one file with a timeline of the streams. It loads nothing, and no text from the wire is markup.

The page (`page/`) is fixed; what was seen is JSON in a data block, in which `<`, `>` and `&` are escapes, so that no
text can end the block. The page's policy lets only its own script and style run, both named by their digests, and its
script makes text nodes only.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib import resources
from typing import Final

from mcp_wire.judging.finding import LEVELS, Finding
from mcp_wire.reports.json_report import JsonObject, accepted_object, advice_object, finding_object
from mcp_wire.reports.model import NamedReport, Report, Results
from mcp_wire.reports.timeline import HeaderLines, Moment, SeenEvent, SeenExchange, Text, Timeline
from mcp_wire.reports.words import (
    WHO_MUST_ACT,
    counted,
    coverage_sentences,
    listed,
    printable,
    profile_words,
    tuple_rows,
    verdict,
)
from mcp_wire.wire.strict_json import JsonValue, dump_json

THE_RUN: Final = "the run itself"


def _page_part(name: str) -> str:
    return resources.files("mcp_wire.reports").joinpath("page", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


_SCRIPTS: Final = ("nodes", "conversation", "state", "painting", "timeline", "log", "details", "findings", "page")
"""The page's one script, in parts, in the order in which they need each other."""
_STYLE: Final = f"\n{_page_part('page.css')}"
_SCRIPT: Final = "\n" + "\n".join(_page_part(f"{name}.js") for name in _SCRIPTS)
_PAGE: Final = (
    _page_part("page.html")
    .replace("{style_hash}", _digest(_STYLE))
    .replace("{script_hash}", _digest(_SCRIPT))
    .replace("{style}", _STYLE)
    .replace("{script}", _SCRIPT)
)
_BEFORE_DATA, _AFTER_DATA = _PAGE.split("{data}")


def render(results: Results) -> str:
    """The page on all conversations. The same results give the same bytes."""
    folded = results.folded()
    conversations: list[JsonValue] = [_conversation(named) for named in folded.reports]
    if folded.further:
        conversations.append(_conversation(NamedReport(THE_RUN, Report(None, folded.further))))
    data = dump_json({"conversations": conversations}, sort_keys=True)
    inert = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f"{_BEFORE_DATA}{inert}{_AFTER_DATA}"


def _conversation(named: NamedReport) -> JsonObject:
    report, timeline = named.report, named.timeline or Timeline()
    of_the_run = named.transcript == THE_RUN and report.profile is None
    facts: list[JsonValue] = [] if of_the_run else [["profile", profile_words(report)]]
    if not of_the_run:
        facts += [[part, printable(known)] for part, known in tuple_rows(report)]
        if report.tuple_unknown:
            facts.append(["not known", ", ".join(report.tuple_unknown)])
    return {
        "transcript": printable(named.transcript),
        "verdict": verdict(report),
        "worst": next((level for level in LEVELS if any(one.level == level for one in report.findings)), ""),
        "facts": facts,
        "findings": list(_findings(named)),
        "recovery": [_printable_members(advice_object(advice)) for advice in report.recovery],
        "coverage": "" if of_the_run else coverage_sentences(report),
        "timed": timeline.is_timed,
        "exchanges": [_exchange(exchange, timeline.is_timed) for exchange in timeline.exchanges],
        "leftOut": _left_out(report, timeline),
    }


def _findings(named: NamedReport) -> Iterator[JsonObject]:
    for finding in named.report.findings:
        yield _finding(finding_object(finding), finding, named)
    for accepted in named.report.accepted:
        yield _finding(accepted_object(accepted), accepted.finding, named)


def _finding(members: JsonObject, finding: Finding, named: NamedReport) -> JsonObject:
    line = named.line_of(finding.path)
    more: JsonObject = {"who": WHO_MUST_ACT[finding.party]} | ({} if line is None else {"line": line})
    return _printable_members(members) | more


def _left_out(report: Report, timeline: Timeline) -> str:
    events = sum(exchange.events_left_out for exchange in timeline.exchanges)
    counts = (
        (timeline.exchanges_left_out, "exchange", "exchanges"),
        (events, "event", "events"),
        (report.findings_dropped, "finding", "findings"),
        (report.hidden, "finding of a lower level", "findings of a lower level"),
    )
    parts = [counted(number, one, many) for number, one, many in counts if number]
    return f"Left out here: {listed(parts)}." if parts else ""


def _exchange(exchange: SeenExchange, timed: bool) -> JsonObject:
    start = _place(exchange.started, None, timed)
    head = None if exchange.head is None else _place(exchange.head, start, timed)
    last = _place(exchange.last_seen, head or start, timed)
    return {
        "index": exchange.index,
        "id": printable(exchange.id),
        "method": printable(exchange.method),
        "target": printable(exchange.target),
        "version": printable(exchange.http_version or ""),
        "label": printable(exchange.label),
        "session": printable(exchange.session or ""),
        "start": start,
        "head": head,
        "end": None if exchange.end is None else _place(exchange.end, last, timed),
        "last": last,
        "status": exchange.status,
        "answer": printable(exchange.answer),
        "isStream": exchange.is_event_stream,
        "stream": exchange.stream,
        "resumes": printable(exchange.resumes or ""),
        "boundaries": exchange.boundaries_observed,
        "ended": exchange.ended,
        "reset": printable(exchange.reset_code or ""),
        "requestHeaders": _headers(exchange.request_headers),
        "requestBody": _body(exchange.request_body),
        "responseHeaders": _headers(exchange.response_headers),
        "responseBody": None if exchange.response_body is None else _body(exchange.response_body),
        "chunks": [[*_place(chunk.at, head or start, timed), chunk.octets] for chunk in exchange.chunks],
        "chunkCount": exchange.chunk_count,
        "events": [_event(event, _place(event.at, head or start, timed)) for event in exchange.events],
        "eventCount": exchange.event_count,
        "leftOut": exchange.events_left_out,
    }


def _event(event: SeenEvent, at: list[JsonValue]) -> JsonObject:
    return {
        "number": int(event.path.rpartition("/")[2]),
        "at": at,
        "mark": event.mark,
        "label": printable(event.label),
        "type": printable(event.event_type),
        "id": None if event.id is None else printable(event.id),
        "retry": event.retry_ms,
        "chunks": [event.first_chunk, event.last_chunk],
        "text": _lines(event.text.text),
        "cut": event.text.left_out,
    }


def _place(moment: Moment, before: list[JsonValue] | None, timed: bool) -> list[JsonValue]:
    """Where a moment stands on the axis (without a time: the earliest place), and its number in the order."""
    if not timed:
        return [moment.position, moment.position]
    earliest = before[0] if before is not None else 0
    return [earliest if moment.t_ms is None else round(moment.t_ms, 3), moment.position]


def _headers(lines: HeaderLines) -> list[JsonValue]:
    return [[printable(name), printable(value)] for name, value in lines]


def _body(body: Text) -> JsonObject:
    return {
        "text": _lines(body.text),
        "cut": body.left_out,
        "absent": None if body.absent is None else printable(body.absent),
    }


def _lines(text: str) -> str:
    """Lines of which each is printable; tabs stay."""
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in _split(text))


def _split(text: str) -> Iterable[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _printable_members(members: JsonObject) -> JsonObject:
    return {name: _printable(value) for name, value in members.items()}


def _printable(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return _printable_members(value)
    return printable(value) if isinstance(value, str) else value
