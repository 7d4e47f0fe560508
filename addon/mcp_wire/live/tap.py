"""The callables that mitmproxy hands every piece of a streamed body: they give it back at once, and remember it.

What a callable returns goes to the peer. So the bytes are returned as they came, nothing is judged in here, and
nothing in here can raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from mcp_wire.live.clock import Clock, Microseconds
from mcp_wire.live.marks import MarkedChunks
from mcp_wire.live.outgoing import Outgoing
from mcp_wire.live.parts import MAX_BODY_OCTETS

MAX_KEPT_OCTETS: Final = 256 * 1024 * 1024
"""Copies of bodies that are still on their way, all together. What exceeds it is passed on and not kept."""

StreamCallable = Callable[[bytes], Iterable[bytes] | bytes]


class Allowance:
    """The room for copies of bodies that all taps share."""

    __slots__ = ("left",)

    def __init__(self, octets: int = MAX_KEPT_OCTETS) -> None:
        self.left = octets

    def take(self, octets: int) -> bool:
        if octets > self.left:
            return False
        self.left -= octets
        return True

    def give_back(self, octets: int) -> None:
        self.left += octets


class Copy:
    """The beginning of a body, and whether it is all of it."""

    __slots__ = ("_allowance", "_octets", "whole")

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._octets = bytearray()
        self.whole = True

    def add(self, data: bytes) -> None:
        if not self.whole:
            return
        if len(self._octets) + len(data) > MAX_BODY_OCTETS or not self._allowance.take(len(data)):
            self.whole = False
        else:
            self._octets += data

    def __len__(self) -> int:
        return len(self._octets)

    def so_far(self) -> bytes:
        return bytes(self._octets)

    def close(self) -> bytes:
        """The copy; its room is free again, since from now on mitmproxy's flow holds it, or nobody."""
        data = bytes(self._octets)
        self._allowance.give_back(len(self._octets))
        self._octets = bytearray()
        return data


class BodyTap:
    """Stands in a body's way. `inner`: what another addon had put there; it goes on deciding what is sent."""

    __slots__ = ("_fault", "_inner", "closed", "copy", "received")

    def __init__(self, copy: Copy, inner: StreamCallable | None, fault: Callable[[Exception], None]) -> None:
        self._inner = inner
        self._fault = fault
        self.copy = copy
        self.received = 0
        self.closed = False

    def __call__(self, data: bytes) -> Iterable[bytes] | bytes:
        if data and not self.closed:
            try:
                self.see(data)
            except Exception as problem:
                self.copy.whole = False
                self._fault(problem)
        if self._inner is not None:
            return self._inner(data)
        # Never b"": it can stand for an empty HTTP/2 frame in the middle, and would end an HTTP/1 body there.
        return data or []

    def see(self, data: bytes) -> None:
        self.received += len(data)
        self.copy.add(data)


class ResponseTap(BodyTap):
    """The tap of a response. With an exchange whose response is an event stream, each chunk is handed over."""

    __slots__ = ("_clock", "_exchange", "_noticed", "marks")

    def __init__(
        self,
        copy: Copy,
        inner: StreamCallable | None,
        fault: Callable[[Exception], None],
        clock: Clock,
        noticed: Callable[[Microseconds], None],
        exchange: Outgoing | None,
    ) -> None:
        super().__init__(copy, inner, fault)
        self._clock = clock
        self._noticed = noticed
        self._exchange = exchange
        self.marks = MarkedChunks()

    @property
    def kept(self) -> int:
        """Octets of which there is a copy."""
        return len(self.copy)

    def so_far(self) -> tuple[bytes, dict[str, bytes]]:
        """The copy, and the marks of its chunks as metadata, while the response is on its way."""
        return self.copy.so_far(), self.marks.as_metadata

    def see(self, data: bytes) -> None:
        now = self._clock.now()
        self._noticed(now)
        if self.copy.whole:
            super().see(data)
            if self.copy.whole:
                self.marks.add(self._clock.zero_wall_us + now, len(data))
        else:
            self.received += len(data)
        if self._exchange is not None:
            self._exchange.chunk(now, data)
