"""`--report har`: HAR 1.2 for other tools. Events of streams, chunks and findings stand in members that begin with `_`.

A transcript has no wall clock: its first exchange stands at the beginning of 1970, and every time is relative to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from mcp_wire.judging.finding import Finding
from mcp_wire.reports.json_report import JsonObject, accepted_object, advice_object, finding_object
from mcp_wire.reports.model import NamedReport, Results
from mcp_wire.reports.timeline import HeaderLines, Moment, SeenEvent, SeenExchange, Text, exchange_number
from mcp_wire.wire.media_types import essence
from mcp_wire.wire.strict_json import JsonValue, dump_json

FIRST_EXCHANGE_AT: Final = datetime(1970, 1, 1, tzinfo=UTC)
UNKNOWN_HOST: Final = "host.invalid"
COMMENT: Final = (
    "Redacted. Times are relative to the first exchange, which is put at 1970-01-01; where _timed is false only the "
    "order of the exchanges is known. Members that begin with _ are those of mcp-conformance."
)


def render(results: Results) -> str:
    """One HAR log; a page a transcript, an entry an exchange. Keys sorted."""
    pages: list[JsonValue] = []
    entries: list[JsonValue] = []
    elsewhere = [finding_object(finding) for finding in results.further]
    for number, named in enumerate(results.reports, 1):
        page = f"transcript-{number}"
        pages.append(_page(page, named))
        exchanges = named.timeline.exchanges if named.timeline is not None else ()
        shown = {exchange.index for exchange in exchanges}
        by_exchange: dict[int, list[Finding]] = {}
        for finding in named.report.findings:
            place = exchange_number(finding.path)
            if place in shown:
                by_exchange.setdefault(place, []).append(finding)
            else:
                elsewhere.append(finding_object(finding) | {"transcript": named.transcript})
        entries += [_entry(page, exchange, by_exchange.get(exchange.index, [])) for exchange in exchanges]
    log: JsonObject = {
        "version": "1.2",
        "creator": {"name": "mcp-conformance", "version": "1"},
        "comment": COMMENT,
        "pages": pages,
        "entries": entries,
        "_findings": list(elsewhere),
    }
    return dump_json({"log": log}, sort_keys=True, indent=1) + "\n"


def _page(identifier: str, named: NamedReport) -> JsonObject:
    report, timeline = named.report, named.timeline
    return {
        "id": identifier,
        "title": named.transcript,
        "startedDateTime": _date_time(None),
        "pageTimings": {},
        "_profile": report.profile,
        "_tuple": dict(report.interoperability_tuple),
        "_tupleUnknown": list(report.tuple_unknown),
        "_tupleContradicted": dict(report.tuple_contradicted),
        "_timed": timeline is not None and timeline.is_timed,
        "_exchangesLeftOut": 0 if timeline is None else timeline.exchanges_left_out,
        "_recovery": [advice_object(advice) for advice in report.recovery],
        "_accepted": [accepted_object(accepted) for accepted in report.accepted],
    }


def _entry(page: str, exchange: SeenExchange, findings: list[Finding]) -> JsonObject:
    wait = _between(exchange.started, exchange.head)
    receive = _between(exchange.head, exchange.end)
    members: JsonObject = {
        "pageref": page,
        "startedDateTime": _date_time(exchange.started.t_ms),
        "time": max(wait, 0) + max(receive, 0),
        "request": _request(exchange),
        "response": _response(exchange),
        "cache": {},
        "timings": {"send": 0, "wait": max(wait, 0), "receive": max(receive, 0)},
        "_exchange": exchange.id,
        "_path": exchange.path,
        "_startedMs": exchange.started.t_ms,
        "_ended": exchange.ended,
        "_findings": [finding_object(finding) for finding in findings],
    }
    if exchange.is_event_stream:
        members["_stream"] = exchange.stream
        members["_chunks"] = [{"t_ms": chunk.at.t_ms, "octets": chunk.octets} for chunk in exchange.chunks]
        members["_chunkBoundaries"] = "observed" if exchange.boundaries_observed else "unknown"
        members["_events"] = [_event(event) for event in exchange.events]
        members["_eventsLeftOut"] = exchange.events_left_out
    return members


def _request(exchange: SeenExchange) -> JsonObject:
    members: JsonObject = {
        "method": exchange.method,
        "url": _url(exchange),
        "httpVersion": exchange.http_version or "unknown",
        "cookies": [],
        "headers": _headers(exchange.request_headers),
        "queryString": list(_query(exchange.target)),
        "headersSize": -1,
        "bodySize": -1,
    }
    body = exchange.request_body
    if body.text or body.left_out:
        media_type = essence(_header(exchange.request_headers, "content-type")) or "application/octet-stream"
        posted: JsonObject = {"mimeType": media_type, "text": body.text, "params": []}
        members["postData"] = posted | _left_out(body)
    elif body.absent is not None:
        members["comment"] = f"The body was not captured: {body.absent}."
    return members


def _response(exchange: SeenExchange) -> JsonObject:
    body = exchange.response_body or Text("")
    if exchange.is_event_stream:
        body = Text("".join(f"{event.text.text}\n\n" for event in exchange.events))
    content: JsonObject = {
        "size": len(body.text.encode("utf-8", "replace")) if body.absent is None else -1,
        "mimeType": _header(exchange.response_headers, "content-type") or "x-unknown",
        "text": body.text,
    }
    content |= _left_out(body)
    return {
        "status": exchange.status or 0,
        "statusText": "",
        "httpVersion": exchange.http_version or "unknown",
        "cookies": [],
        "headers": _headers(exchange.response_headers),
        "content": content,
        "redirectURL": _header(exchange.response_headers, "location") or "",
        "headersSize": -1,
        "bodySize": -1,
    }


def _event(event: SeenEvent) -> JsonObject:
    return {
        "t_ms": event.at.t_ms,
        "event": event.event_type,
        "id": event.id,
        "retry": event.retry_ms,
        "data": event.data,
        "what": event.label,
        "firstChunk": event.first_chunk,
        "lastChunk": event.last_chunk,
        "complete": event.mark != "tail",
    } | _left_out(event.text)


def _left_out(text: Text) -> JsonObject:
    if text.absent is not None:
        return {"comment": f"Not captured: {text.absent}."}
    return {"comment": f"{text.left_out} more characters are left out."} if text.left_out else {}


def _headers(lines: HeaderLines) -> list[JsonValue]:
    return [{"name": name, "value": value} for name, value in lines]


def _header(lines: HeaderLines, wanted: str) -> str | None:
    return next((value for name, value in lines if name.lower() == wanted), None)


def _query(target: str) -> Iterator[JsonObject]:
    _, question, query = target.partition("?")
    for pair in query.partition("#")[0].split("&") if question else ():
        name, _, value = pair.partition("=")
        yield {"name": name, "value": value}


def _url(exchange: SeenExchange) -> str:
    """Absolute, as HAR asks; a transcript knows neither scheme nor, perhaps, host."""
    if exchange.target.startswith(("http://", "https://")):
        return exchange.target
    host = _header(exchange.request_headers, "host") or UNKNOWN_HOST
    return f"http://{host}{exchange.target if exchange.target.startswith('/') else '/' + exchange.target}"


def _between(first: Moment | None, second: Moment | None) -> float:
    """Milliseconds between two moments, -1 where that is not known."""
    if first is None or second is None or first.t_ms is None or second.t_ms is None:
        return -1
    return round(second.t_ms - first.t_ms, 3)


def _date_time(t_ms: float | None) -> str:
    return (FIRST_EXCHANGE_AT + timedelta(milliseconds=t_ms or 0)).isoformat(timespec="milliseconds")
