"""One clock for everything that is observed live."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

Microseconds = int

TICK: Final[Microseconds] = 2
"""Times are multiples of it; the microsecond behind each is for a second observation that the same moment makes."""


class Clock:
    """Strictly increasing times, in microseconds since the clock was made.

    Two observations never share a time, so that time alone restores their order from a written transcript. The wall
    clock is read once, to place the zero; a later step of the wall clock changes nothing.
    """

    __slots__ = ("_last", "_monotonic_ns", "_zero_ns", "zero_wall_us")

    def __init__(
        self,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._monotonic_ns = monotonic_ns
        self._zero_ns = monotonic_ns()
        self._last = -TICK
        self.zero_wall_us: Microseconds = wall_ns() // 1000
        """The zero of this clock, in microseconds since 1970."""

    def now(self) -> Microseconds:
        now = (self._monotonic_ns() - self._zero_ns) // 1000 // TICK * TICK
        if now <= self._last:
            now = self._last + TICK
        self._last = now
        return now


def milliseconds(time_us: Microseconds) -> float:
    """The same time as observations carry it; three decimals hold every microsecond."""
    return time_us / 1000
