"""One exchange's way to the judge: what is handed over, what is held back, and what there is no room for."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from mcp_wire.live.clock import Microseconds
from mcp_wire.live.parts import TOO_FAST, EndPart, Entry, HeadPart, LostPart, RequestPart
from mcp_wire.live.probation import Probation


class Judging(Protocol):
    """Judges and writes, out of the traffic's way. Takes entries in the order in which they were seen."""

    @property
    def waiting_octets(self) -> int:
        """Of what was handed over and not taken yet."""
        ...

    def offer(self, entry: Entry, octets: int) -> bool:
        """Hand content of this size over; False where there is no room for it."""
        ...

    def put(self, entry: Entry) -> None:
        """Hand over what must not be lost, and is small."""
        ...

    def flush(self) -> None:
        """Wait until everything was taken. Not while traffic runs."""
        ...

    def finish(self) -> bool:
        """Nothing more will come: wait until everything is judged and written. Is it?"""
        ...


class Outgoing:
    """Parts of one exchange, in order. `probation`: nothing is handed over until it says that this is MCP.

    `silent`: it is not, and nothing more is taken.
    """

    __slots__ = ("_judging", "_lost", "_probation", "name", "silent")

    def __init__(self, name: str, judging: Judging, probation: Probation | None = None) -> None:
        self.name = name
        self.silent = False
        self._judging = judging
        self._probation = probation
        self._lost = False

    @property
    def on_probation(self) -> bool:
        return self._probation is not None

    def put(self, at: Microseconds, part: RequestPart | HeadPart | LostPart | EndPart) -> None:
        """Hand a part over; where there is no room for the body that it holds, without it."""
        entry = (self.name, at, part)
        if self.silent or self._held(entry):
            return
        octets = _octets(part)
        if octets and self._judging.offer(entry, octets):
            return
        self._judging.put((self.name, at, _without_body(part)) if octets else entry)

    def chunk(self, at: Microseconds, data: bytes) -> None:
        """Hand a chunk of an event stream over. Without room for it, its stream is lost from there on."""
        if self.silent or self._lost or self._held((self.name, at, data)):
            return
        if not self._judging.offer((self.name, at, data), len(data)):
            self._lost = True
            self._judging.put((self.name, at, LostPart(TOO_FAST)))

    def _held(self, entry: Entry) -> bool:
        if self._probation is None:
            return False
        released = self._probation.hold(entry)
        if released is not None:
            self._probation = None
            self.silent = not released
            for earlier in released:
                self._judging.put(earlier)
        return True


def _octets(part: RequestPart | HeadPart | LostPart | EndPart) -> int:
    match part:
        case RequestPart(raw=bytes(raw)):
            return len(raw)
        case EndPart(body=bytes(body)):
            return len(body)
        case _:
            return 0


def _without_body(part: RequestPart | HeadPart | LostPart | EndPart) -> RequestPart | HeadPart | LostPart | EndPart:
    match part:
        case RequestPart():
            return replace(part, raw=None, why_not=TOO_FAST)
        case EndPart():
            return replace(part, body=None, why_not=TOO_FAST)
        case _:
            return part
