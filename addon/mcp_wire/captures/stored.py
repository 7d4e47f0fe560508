"""What a capture tells, whatever its kind: exchanges that can be read when they are wanted, and what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mcp_wire.live.clock import Microseconds
from mcp_wire.live.parts import Part, RequestPart


@dataclass(frozen=True, slots=True)
class StoredExchange:
    """One exchange. `parts`: with their times since 1970, in order, beginning with `request`.

    `identity` is the same where a capture holds a recording twice, or another state of it. `recognised`: it was taken
    for MCP when it passed, so that nothing is asked of it now. `exact`: its times are so fine that another one with
    equal parts is the same recording.
    """

    identity: str
    request: RequestPart
    parts: Sequence[tuple[Microseconds, Part]]
    recognised: bool = False
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """Where an exchange stands in its capture, and when its first part was seen."""

    at: Microseconds
    offset: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of a capture that cannot be read. `where` and `why` are clauses and hold nothing from the traffic."""

    where: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


class UnreadableCapture(Exception):
    """Nothing in it can be read. The message is a clause: "it is empty"."""


class Capture(Protocol):
    """One capture. First `places` is read to its end, then `exchange` is asked for what stands there."""

    def places(self) -> Iterator[Place | LeftOut]:
        """Every HTTP exchange, in the order of the file. Raises UnreadableCapture."""
        ...

    def exchange(self, place: Place) -> StoredExchange:
        """The exchange that was found there."""
        ...
