"""Chunk boundaries that outlive the process: kept in `flow.metadata`, beside the body in a flow file.

A flow file stores a streamed body as one piece. With these marks a flow that is loaded again is judged with the
boundaries and times that were seen on the wire. Every value is of a type that flow files can hold.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_wire.live.clock import Microseconds
from mcp_wire.wire.observation import Ended

CHUNKS: Final = "mcp_chunks"
"""bytes: for every chunk its time in microseconds since 1970 and its length in octets, as MARK."""
ENDED: Final = "mcp_ended"
"""str: how the exchange ended; absent where that was not known."""
RECEIVED: Final = "mcp_received"
"""int: octets of the body that passed; more than the stored body has where only its beginning was kept."""

MARK: Final = struct.Struct("<QI")

MAX_MARKS: Final = 65_536
"""Chunks of one response whose boundaries are kept: less than 1 MiB. With more, none are: half would be no evidence."""


class MarkedChunks:
    """The marks of one response, in the packed form."""

    __slots__ = ("count", "packed")

    def __init__(self) -> None:
        self.packed = bytearray()
        self.count = 0

    def add(self, wall_us: Microseconds, octets: int) -> None:
        self.count += 1
        if self.count <= MAX_MARKS:
            self.packed += MARK.pack(wall_us, octets)
        elif self.packed:
            self.packed.clear()


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """One chunk of a stored body; `wall_us` None where its time is not known."""

    wall_us: Microseconds | None
    data: bytes


def stored_chunks(body: bytes, metadata: Mapping[Any, Any]) -> tuple[list[StoredChunk], bool]:
    """The chunks of a stored body, and whether their boundaries are those of the wire.

    Metadata can be edited by anyone: marks that do not fit the body are taken for absent.
    """
    packed = metadata.get(CHUNKS)
    marks = list(_marks(packed)) if isinstance(packed, bytes) else []
    if marks and sum(octets for _, octets in marks) == len(body):
        chunks = []
        position = 0
        for wall_us, octets in marks:
            chunks.append(StoredChunk(wall_us, body[position : position + octets]))
            position += octets
        return chunks, True
    return ([StoredChunk(None, body)] if body else []), not body


def stored_ending(metadata: Mapping[Any, Any]) -> Ended | None:
    value = metadata.get(ENDED)
    return Ended(value) if isinstance(value, str) and value in Ended else None


def received_octets(metadata: Mapping[Any, Any]) -> int | None:
    value = metadata.get(RECEIVED)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _marks(packed: bytes) -> Iterator[tuple[Microseconds, int]]:
    if len(packed) % MARK.size == 0:
        yield from MARK.iter_unpack(packed)
