"""A transcript document, read into the observations of which it tells, in the order in which they were made.

Order: by time where times are known, as the document lists them where not. `ended: open` comes last, because it says
that the capture stopped first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from mcp_wire.transcript.document import (
    Document,
    JsonObject,
    chunks_of,
    exchange_id,
    is_event_stream,
    time_of,
)
from mcp_wire.transcript.forms import ending_of, request_of, response_body_of, response_of, text_of
from mcp_wire.wire.body import Body
from mcp_wire.wire.json_complaints import complaint
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from mcp_wire.wire.strict_json import MAX_DEPTH, MISSING, read_json

MAX_DOCUMENT_DEPTH: Final = MAX_DEPTH + 8
"""A body of the greatest depth that is judged fits into a document."""


class TranscriptInputError(ValueError):
    """The text is no strict JSON, so that nothing can be judged. The message says where and what to do, never what."""


def read_document(text: str | bytes) -> Document:
    """Parse the text of a transcript. Raises TranscriptInputError for anything that is not strict JSON."""
    reading = read_json(text, max_depth=MAX_DOCUMENT_DEPTH)
    wrong = complaint(text, reading, "transcript", MAX_DOCUMENT_DEPTH)
    if wrong is not None or reading.value is MISSING:
        raise TranscriptInputError(wrong)
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


class _Told:
    """The observations of one exchange, in their own order."""

    __slots__ = ("observations", "started")

    def __init__(self, exchange: _Exchange, told: list[Observation]) -> None:
        self.observations = told
        self.started = time_of(exchange.members.get("started_ms"))


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
    members = exchange.members
    request, response = members.get("request"), members.get("response")
    ended_ms = time_of(members.get("ended_ms"))
    seen = (
        request_of(request, members, name, time_of(members.get("started_ms")), exchange.index)
        if isinstance(request, dict)
        else None
    )
    if seen is None:
        return
    yield seen
    if not isinstance(response, dict):
        yield ending_of(members, name, ended_ms)
        return
    head = response_of(response, name, time_of(response.get("started_ms")))
    if head is None:
        yield ending_of({}, name, ended_ms)
        return
    yield from _stream(response, head) if is_event_stream(head.headers) else _answer(response, head, seen, ended_ms)
    yield ending_of(response, name, ended_ms)


def _stream(response: JsonObject, head: ResponseSeen) -> Iterator[Observation]:
    chunks = chunks_of(response)
    yield head
    yield from (ResponseChunk(head.exchange, t_ms, data) for t_ms, data in chunks or ())
    reason = "the chunks have a wrong form" if chunks is None else text_of(response, "not_captured")
    if reason is not None:
        yield ResponseBody(head.exchange, time_of(response.get("body_ms")), Body.not_captured(reason))


def _answer(
    response: JsonObject, head: ResponseSeen, request: RequestSeen, ended_ms: float | None
) -> Iterator[Observation]:
    whole_ms = time_of(response.get("body_ms"))
    whole_ms = ended_ms if whole_ms is None else whole_ms
    yield head if head.t_ms is not None else replace(head, t_ms=whole_ms)
    yield ResponseBody(head.exchange, whole_ms, response_body_of(response, head, request.method))


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
        if one.started is not None:
            following = one.started
    return starts[::-1]
