"""A transcript document, read into the observations of which it tells, in the order in which they were made.

Order: by time where times are known, as the document lists them where not. `ended: open` comes last, because it says
that the capture stopped first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from mcp_wire.transcript.document import (
    ENDING_MEMBERS,
    Document,
    JsonObject,
    base64_bytes,
    chunks_of,
    exchange_id,
    headers_of,
    is_event_stream,
    is_status,
    is_time,
    octets_of,
    time_of,
)
from mcp_wire.wire.body import EMPTY, NOT_CAPTURED, Body
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from mcp_wire.wire.strict_json import MAX_DEPTH, MISSING, JsonFault, JsonReading, JsonValue, read_json

MAX_DOCUMENT_DEPTH: Final = MAX_DEPTH + 8
"""A body of the greatest depth that is judged fits into a document."""

BODYLESS_STATUSES: Final = frozenset({204, 205, 304})
"""RFC 9110 6.4.1, 15.3.6, 15.4.5: no content by themselves."""

_SENTENCES: Final = {
    "invalid_utf8": "is not UTF-8; save the transcript as UTF-8",
    "bom": "begins with a byte order mark; save the transcript as UTF-8 without one",
    "syntax": "is not JSON here; repair the transcript or write it again",
    "trailing_data": "goes on after its JSON value; keep one transcript in one file",
    "duplicate_key": "has the same member twice in one object; keep one of them",
    "not_a_number": "has NaN or Infinity, which is no JSON; write a number or leave the member out",
    "out_of_range": "has a number beyond a double; write one that is finite or leave the member out",
    "too_deep": f"is nested deeper than {MAX_DOCUMENT_DEPTH} levels; cut the part that is not needed",
}


class TranscriptInputError(ValueError):
    """The text is no strict JSON, so that nothing can be judged. The message says where and what to do, never what."""


def read_document(text: str | bytes) -> Document:
    """Parse the text of a transcript. Raises TranscriptInputError for anything that is not strict JSON."""
    reading = read_json(text, max_depth=MAX_DOCUMENT_DEPTH)
    if not text.strip():
        raise TranscriptInputError("is empty; a transcript is one JSON object")
    if not reading.strict or reading.value is MISSING:
        raise TranscriptInputError(_sentence(text, reading))
    return Document(reading.value)


def observations(document: Document) -> list[Observation]:
    """What the document tells, in the order in which it is to be judged.

    A request that cannot be read (no method, no headers) takes its exchange with it; a response that cannot be read is
    as if it had not been seen. Exchanges that were left out still count in `RequestSeen.index`.
    """
    exchanges = [_Exchange(index, exchange) for index, exchange in document.objects()]
    ids = _unique_ids(exchanges)
    told = [_Told(exchange, list(_observations(exchange, ids[exchange.index]))) for exchange in exchanges]
    return _in_order([one for one in told if one.observations])


class _Exchange:
    __slots__ = ("index", "members")

    def __init__(self, index: int, members: JsonObject) -> None:
        self.index = index
        self.members = members

    def part(self, name: str) -> JsonObject | None:
        part = self.members.get(name)
        return part if isinstance(part, dict) else None


class _Told:
    """The observations of one exchange, in their own order."""

    __slots__ = ("observations", "started")

    def __init__(self, exchange: _Exchange, told: list[Observation]) -> None:
        self.observations = told
        self.started = time_of(exchange.members.get("started_ms"))


def _sentence(text: str | bytes, reading: JsonReading) -> str:
    fault = next(fault for fault in reading.faults if fault.kind in _SENTENCES)
    return f"{_place(text, fault)}{_SENTENCES[fault.kind]}"


def _place(text: str | bytes, fault: JsonFault) -> str:
    if fault.offset is None or fault.kind == "bom":
        return ""
    if isinstance(text, bytes) and fault.kind != "invalid_utf8":
        text = text.decode(errors="replace")
    before = text[: fault.offset]
    newline = "\n" if isinstance(before, str) else b"\n"
    line = before.count(newline) + 1  # type: ignore[arg-type]  # both are of one type
    column = fault.offset - before.rfind(newline)  # type: ignore[arg-type]
    unit = "byte" if isinstance(before, bytes) else "column"
    return f"line {line}, {unit} {column}: "


def _unique_ids(exchanges: Iterable[_Exchange]) -> dict[int, str]:
    """An id for every exchange. What has none, or one that is taken, gets its place in the document as its id."""
    ids: dict[int, str] = {}
    taken: set[str] = set()
    without: list[int] = []
    for exchange in exchanges:
        own = exchange_id(exchange.members)
        if own is None or own in taken:
            without.append(exchange.index)
        else:
            ids[exchange.index] = own
            taken.add(own)
    for index in without:
        name = f"/exchanges/{index}"
        while name in taken:
            name += "'"
        ids[index] = name
        taken.add(name)
    return ids


def _observations(exchange: _Exchange, name: str) -> Iterator[Observation]:
    seen = _request(exchange, name)
    if seen is None:
        return
    yield seen
    response = exchange.part("response")
    headers = headers_of(response.get("headers")) if response is not None else None
    readable = response is not None and headers is not None and is_status(response.get("status"))
    if response is None or headers is None or not readable:
        yield _end(name, exchange, exchange.members if response is None else {})
        return
    if is_event_stream(headers):
        yield from _stream(name, response, headers)
    else:
        yield from _answer(name, exchange, seen, response, headers)
    yield _end(name, exchange, response)


def _request(exchange: _Exchange, name: str) -> RequestSeen | None:
    request = exchange.part("request")
    if request is None:
        return None
    method, headers = request.get("method"), headers_of(request.get("headers"))
    if not isinstance(method, str) or headers is None:
        return None
    body = _body(request, empty_if_absent=method.upper() in ("GET", "HEAD") or _says_empty(headers))
    if request.get("body", MISSING) is None and method.upper() == "GET":
        body = EMPTY
    group = exchange.members.get("concurrent_group")
    return RequestSeen(
        exchange=name,
        t_ms=time_of(exchange.members.get("started_ms")),
        method=method,
        path=_text(request, "path") or "",
        headers=headers,
        body=body,
        http_version=_text(request, "http_version"),
        concurrent_group=group if isinstance(group, str) and group else None,
        idempotent=exchange.members.get("idempotent") is True,
        index=exchange.index,
    )


def _head(name: str, t_ms: float | None, response: JsonObject, headers: Headers) -> ResponseSeen:
    status = response["status"]
    assert isinstance(status, int)
    return ResponseSeen(name, t_ms, status, headers, response.get("chunk_boundaries") != "unknown")


def _stream(name: str, response: JsonObject, headers: Headers) -> Iterator[Observation]:
    chunks = chunks_of(response)
    yield _head(name, time_of(response.get("started_ms")), response, headers)
    if chunks is not None:
        yield from (ResponseChunk(name, t_ms, data) for t_ms, data in chunks)
    reason = "the chunks have a wrong form" if chunks is None else _text(response, "not_captured")
    if reason is not None:
        yield ResponseBody(name, time_of(response.get("body_ms")), Body.not_captured(reason))


def _answer(
    name: str, exchange: _Exchange, seen: RequestSeen, response: JsonObject, headers: Headers
) -> Iterator[Observation]:
    ended = time_of(exchange.members.get("ended_ms"))
    whole = time_of(response.get("body_ms"))
    whole = ended if whole is None else whole
    started = time_of(response.get("started_ms"))
    empty = response.get("status") in BODYLESS_STATUSES or seen.method.upper() == "HEAD" or _says_empty(headers)
    yield _head(name, whole if started is None else started, response, headers)
    yield ResponseBody(name, whole, _body(response, empty_if_absent=empty))


def _end(name: str, exchange: _Exchange, members: JsonObject) -> ExchangeEnded:
    ended, disconnected, octets, reset = (members.get(member) for member in _ENDING_ORDER)
    return ExchangeEnded(
        exchange=name,
        t_ms=time_of(exchange.members.get("ended_ms")),
        ended=Ended(ended) if isinstance(ended, str) and ended in _ENDED else None,
        disconnected=disconnected if isinstance(disconnected, bool) else None,
        received_octets=octets_of(octets),
        reset_code=reset if isinstance(reset, str) else None,
    )


_ENDED: Final = frozenset(Ended)
_ENDING_ORDER: Final = ("ended", "disconnected", "received_octets", "reset_code")
assert set(_ENDING_ORDER) == set(ENDING_MEMBERS)


def _body(part: JsonObject, *, empty_if_absent: bool) -> Body:
    reason = _text(part, "not_captured")
    if reason is not None:
        return Body.not_captured(reason)
    if "body" in part:
        return Body.of_value(part["body"])
    text = _text(part, "body_text")
    if text is not None:
        return Body.of_text(text, utf8=part.get("body_utf8") is not False)
    raw = base64_bytes(part.get("body_base64"))
    if raw is not None:
        return Body.read(raw)
    return EMPTY if empty_if_absent else NOT_CAPTURED


def _says_empty(headers: Headers) -> bool:
    return headers.all("content-length") == ("0",) and "transfer-encoding" not in headers


def _text(part: JsonObject, name: str) -> str | None:
    value: JsonValue = part.get(name)
    return value if isinstance(value, str) else None


# --- order ---


def _in_order(told: list[_Told]) -> list[Observation]:
    """All observations by the time at which they were made, or can be taken to have been made."""
    next_start = _next_starts(told)
    ordered: list[tuple[bool, float, Observation]] = []
    earliest = float("-inf")
    previous_end = earliest
    for number, one in enumerate(told):
        # An exchange without a time keeps its place among the starts, and follows the one before it where it can.
        at = one.started if one.started is not None else max(earliest, min(previous_end, next_start[number]))
        earliest = at
        for observation in one.observations:
            if isinstance(observation, ExchangeEnded) and observation.ended is Ended.OPEN:
                ordered.append((True, at if observation.t_ms is None else observation.t_ms, observation))
                continue
            # Within an exchange its own order rules, whatever its times say.
            if observation.t_ms is not None:
                at = max(at, observation.t_ms)
            ordered.append((False, at, observation))
        previous_end = at
    ordered.sort(key=lambda entry: entry[:2])
    return [observation for _, _, observation in ordered]


def _next_starts(told: list[_Told]) -> list[float]:
    """For each exchange, the earliest time at which a later one of the document is known to have started."""
    following = float("inf")
    starts: list[float] = []
    for one in reversed(told):
        starts.append(following)
        if one.started is not None and is_time(one.started):
            following = one.started
    return starts[::-1]
