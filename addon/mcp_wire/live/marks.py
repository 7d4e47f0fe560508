"""What was seen of a flow besides its bytes: kept in `flow.metadata`, beside the body in a flow file.

A flow file stores a streamed body as one piece, and the times at which mitmproxy read heads and bodies, not those at
which its hooks ran. With these marks a flow that is loaded again is judged as it was when it passed. Every value is of
a type that flow files can hold.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_wire.live.clock import Microseconds
from mcp_wire.wire.observation import Ended

CHUNKS: Final = "mcp_chunks"
"""bytes: for every chunk its time in microseconds since 1970 and its length in octets, as MARK."""
EDGES: Final = "mcp_chunk_edges"
"""bytes: of a response with too many chunks to keep all their marks, those of the first and of the last few, for people
to look at: twice RUN and so many of MARK."""
ENDED: Final = "mcp_ended"
"""str: how the exchange ended; absent where that was not known."""
RECEIVED: Final = "mcp_received"
"""int: octets of the body that passed; more than the stored body has where only its beginning was kept."""
TIMES: Final = "mcp_times"
"""bytes: when the request was complete, when the response head came (0: none did) and when the exchange ended, in
microseconds since 1970, as SEEN. A flow that has them was recognised as MCP when it passed."""
IN_SCOPE: Final = "mcp_in_scope"
"""True: the operator had chosen it, so that it was not asked whether it is MCP."""
UNSEEN_BOUNDARIES: Final = "mcp_unseen_boundaries"
"""True: the stream came as one piece, from another addon."""
NO_REQUEST_BODY: Final = "mcp_no_request_body"
NO_RESPONSE_BODY: Final = "mcp_no_response_body"
"""str: why that body was not captured, or not as a whole."""

ALL_MARKS: Final = (
    CHUNKS,
    EDGES,
    ENDED,
    RECEIVED,
    TIMES,
    IN_SCOPE,
    UNSEEN_BOUNDARIES,
    NO_REQUEST_BODY,
    NO_RESPONSE_BODY,
)

MARK: Final = struct.Struct("<QI")
RUN: Final = struct.Struct("<QQI")
"""The number of the first chunk, the offset in octets at which it begins, and how many there are."""
SEEN: Final = struct.Struct("<QQQ")

MAX_MARKS: Final = 65_536
"""Chunks of one response whose boundaries are kept: less than 1 MiB. With more, none are: half would be no evidence."""
EDGE_MARKS: Final = 512
"""Then so many at either end are kept for people to look at."""


class MarkedChunks:
    """The marks of one response, in the packed form."""

    __slots__ = ("_head", "_octets", "_tail", "count", "packed")

    def __init__(self) -> None:
        self.packed = bytearray()
        self.count = 0
        self._head = b""
        self._tail: deque[tuple[Microseconds, int]] = deque(maxlen=EDGE_MARKS)
        self._octets = 0

    def add(self, wall_us: Microseconds, octets: int) -> None:
        self.count += 1
        if self.count <= MAX_MARKS:
            self.packed += MARK.pack(wall_us, octets)
            return
        if self.packed:
            self._head = bytes(self.packed[: EDGE_MARKS * MARK.size])
            for mark in MARK.iter_unpack(self.packed):
                self._tail.append(mark)
                self._octets += mark[1]
            self.packed.clear()
        self._tail.append((wall_us, octets))
        self._octets += octets

    @property
    def as_metadata(self) -> dict[str, bytes]:
        """What to keep with the flow."""
        if not self._head:
            return {CHUNKS: bytes(self.packed)}
        begin = self._octets - sum(octets for _, octets in self._tail)
        return {
            CHUNKS: b"",
            EDGES: RUN.pack(0, 0, len(self._head) // MARK.size)
            + self._head
            + RUN.pack(self.count - len(self._tail), begin, len(self._tail))
            + b"".join(MARK.pack(*mark) for mark in self._tail),
        }


@dataclass(frozen=True, slots=True)
class MarkedRun:
    """Consecutive chunks: the number of the first, the offset at which it begins, and time and length of each."""

    first: int
    begin: int
    chunks: tuple[tuple[Microseconds, int], ...]


def marked_runs(metadata: Mapping[Any, Any], octets: int) -> list[MarkedRun]:
    """What is known of the chunks of a body of this length. Nothing, where the marks do not fit it."""
    packed, edges = metadata.get(CHUNKS), metadata.get(EDGES)
    if isinstance(packed, bytes) and packed:
        marks = tuple(_marks(packed))
        return [MarkedRun(0, 0, marks)] if marks and sum(length for _, length in marks) == octets else []
    runs = []
    while isinstance(edges, bytes) and len(edges) >= RUN.size:
        first, begin, count = RUN.unpack_from(edges)
        marks = tuple(_marks(edges[RUN.size : RUN.size + count * MARK.size]))
        edges = edges[RUN.size + count * MARK.size :]
        if len(marks) != count or begin + sum(length for _, length in marks) > octets:
            return []
        runs.append(MarkedRun(first, begin, marks))
    return runs


MAX_TIME_US: Final = 253_402_300_799_999_999
"""The end of the year 9999."""


@dataclass(frozen=True, slots=True)
class SeenTimes:
    """Wall-clock times of one exchange; `head_us` None where no response head was seen."""

    request_us: Microseconds
    head_us: Microseconds | None
    ended_us: Microseconds

    def packed(self) -> bytes:
        return SEEN.pack(self.request_us, self.head_us or 0, self.ended_us)


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """One chunk of a stored body; `wall_us` None where its time is not known."""

    wall_us: Microseconds | None
    data: bytes


def remove_marks(metadata: MutableMapping[Any, Any]) -> None:
    """A flow that is replayed brings along those of its first run."""
    for name in ALL_MARKS:
        metadata.pop(name, None)


def seen_times(metadata: Mapping[Any, Any]) -> SeenTimes | None:
    """The times of a flow that was observed; None where there are none, or none that can be."""
    packed = metadata.get(TIMES)
    if not isinstance(packed, bytes) or len(packed) != SEEN.size:
        return None
    request_us, head_us, ended_us = SEEN.unpack(packed)
    if not request_us <= (head_us or request_us) <= ended_us <= MAX_TIME_US:
        return None
    return SeenTimes(request_us, head_us or None, ended_us)


def reason(metadata: Mapping[Any, Any], name: str) -> str | None:
    """Why a body was not captured, as NO_REQUEST_BODY or NO_RESPONSE_BODY has it."""
    value = metadata.get(name)
    return value if isinstance(value, str) and value else None


def stored_chunks(body: bytes, metadata: Mapping[Any, Any]) -> tuple[list[StoredChunk], bool]:
    """The chunks of a stored body, and whether their boundaries are those of the wire.

    Metadata can be edited by anyone: marks that do not fit the body are taken for absent.
    """
    packed = metadata.get(CHUNKS)
    marks = list(_marks(packed)) if isinstance(packed, bytes) else []
    observed = metadata.get(UNSEEN_BOUNDARIES) is not True
    if marks and sum(octets for _, octets in marks) == len(body):
        chunks = []
        position = 0
        for wall_us, octets in marks:
            chunks.append(StoredChunk(wall_us, body[position : position + octets]))
            position += octets
        return chunks, observed
    return ([StoredChunk(None, body)] if body else []), observed and not body


def stored_ending(metadata: Mapping[Any, Any]) -> Ended | None:
    value = metadata.get(ENDED)
    return Ended(value) if isinstance(value, str) and value in Ended else None


def received_octets(metadata: Mapping[Any, Any]) -> int | None:
    value = metadata.get(RECEIVED)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _marks(packed: bytes) -> Iterator[tuple[Microseconds, int]]:
    if len(packed) % MARK.size == 0:
        yield from MARK.iter_unpack(packed)
