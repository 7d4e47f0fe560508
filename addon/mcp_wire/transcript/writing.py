"""Redacted observations, written as a transcript document. The same observations always give the same bytes.

Members stand in a fixed order, one line an exchange's head, its request, and each chunk, so that two transcripts can be
compared line by line. Headers and bodies keep the order in which they were observed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from mcp_wire.transcript.document import SHAPE_PAYLOADS, JsonObject, is_event_stream
from mcp_wire.transcript.forms import (
    BODYLESS_METHODS,
    asserted_form,
    body_form,
    data_form,
    ending_form,
    request_form,
    response_form,
    timed,
)
from mcp_wire.transcript.journal import JournalHeader
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from mcp_wire.wire.strict_json import MISSING, JsonValue, Missing, dump_json


@dataclass(slots=True)
class Recorded:
    """What was recorded of one exchange. `chunks` are read once, in order, and may come from a file as they are.

    `malformed`: members of the exchange that are written as they stand here, or left out where they are MISSING.
    """

    request: RequestSeen
    response: ResponseSeen | None = None
    chunks: Iterable[ResponseChunk] = ()
    body: ResponseBody | None = None
    end: ExchangeEnded | None = None
    malformed: Mapping[str, JsonValue | Literal[Missing.MISSING]] = field(default_factory=dict)


def transcript_text(header: JournalHeader, observations: Iterable[Observation]) -> str:
    """The transcript of observations that fit into memory, exchanges in the order of their requests."""
    return "".join(transcript_parts(header, gathered(observations)))


def transcript_parts(header: JournalHeader, exchanges: Iterable[Recorded]) -> Iterator[str]:
    """The text of a transcript, piece by piece; no exchange is held longer than it takes to write it."""
    yield f'{{\n "profile": {dump_json(header.profile)},\n'
    if header.interoperability_tuple:
        yield f' "tuple": {dump_json(dict(header.interoperability_tuple))},\n'
    if header.payloads_whole:
        yield f' "payloads": {dump_json(SHAPE_PAYLOADS)},\n'
    if header.complete_from_start:
        yield ' "complete_from_start": true,\n'
    yield ' "exchanges": ['
    separator = "\n"
    for recorded in exchanges:
        yield separator
        yield from _exchange(recorded)
        separator = ",\n"
    yield "\n ]\n}\n"


def gathered(observations: Iterable[Observation]) -> list[Recorded]:
    """Observations by exchange, in the order of the requests. What has no request, or comes twice, is left out."""
    exchanges: dict[str, Recorded] = {}
    chunks: dict[str, list[ResponseChunk]] = {}
    for seen in observations:
        if isinstance(seen, RequestSeen):
            exchanges.setdefault(seen.exchange, Recorded(seen, chunks=chunks.setdefault(seen.exchange, [])))
            continue
        recorded = exchanges.get(seen.exchange)
        if recorded is None:
            continue
        match seen:
            case ResponseSeen():
                recorded.response = recorded.response or seen
            case ResponseChunk():
                chunks[seen.exchange].append(seen)
            case ResponseBody():
                recorded.body = recorded.body or seen
            case ExchangeEnded():
                recorded.end = recorded.end or seen
    return list(exchanges.values())


def _exchange(recorded: Recorded) -> Iterator[str]:
    request, end = recorded.request, recorded.end
    # What was not seen to end was still running when the capture stopped.
    ending: JsonObject = {"ended": Ended.OPEN.value} if end is None else ending_form(end)
    head: JsonObject = {"id": request.exchange}
    head |= asserted_form(request) | timed("started_ms", request.t_ms)
    head |= timed("ended_ms", None if end is None else end.t_ms)
    for name, value in recorded.malformed.items():
        if value is not MISSING:
            head[name] = value
        else:
            head.pop(name, None)
    if recorded.response is None:
        head |= ending
    yield f"  {{{_inside(head)},\n" if head else "  {\n"
    members = request_form(request)
    if request.method.upper() in BODYLESS_METHODS and members.get("body_text") == "":
        del members["body_text"]
    yield f'   "request": {dump_json(members)}'
    if recorded.response is not None:
        yield ',\n   "response": {'
        yield from _response(recorded, recorded.response, ending)
        yield "}"
    yield "}"


def _response(recorded: Recorded, response: ResponseSeen, ending: JsonObject) -> Iterator[str]:
    body, end = recorded.body, recorded.end
    ended_ms = None if end is None else end.t_ms
    if is_event_stream(response.headers):
        yield _inside(timed("started_ms", response.t_ms) | response_form(response))
        yield from _chunks(recorded.chunks)
        if body is not None and not body.body.is_captured:
            ending = timed("body_ms", body.t_ms) | body_form(body.body) | ending
    else:
        whole_ms = None if body is None else body.t_ms
        members = timed("started_ms", response.t_ms)
        if whole_ms != ended_ms:
            members |= timed("body_ms", whole_ms)
        members |= response_form(response)
        yield _inside(members if body is None else members | body_form(body.body))
    if ending:
        yield f", {_inside(ending)}"


def _chunks(chunks: Iterable[ResponseChunk]) -> Iterator[str]:
    yield ', "chunks": ['
    separator = "\n"
    for chunk in chunks:
        form = data_form(chunk.data)
        item: JsonValue = form
        if chunk.t_ms is not None:
            item = timed("t_ms", chunk.t_ms) | form
        elif "text" in form:
            item = form["text"]
        yield f"{separator}    {dump_json(item)}"
        separator = ",\n"
    yield "]"


def _inside(members: JsonObject) -> str:
    """The members of an object without its braces."""
    return dump_json(members)[1:-1]
