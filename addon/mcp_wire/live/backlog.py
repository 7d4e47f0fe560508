"""What was seen and is not judged yet: filled while bytes pass, emptied right after, bounded."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

MAX_ENTRIES: Final = 65_536
MAX_OCTETS: Final = 64 * 1024 * 1024
"""Beyond either, the content of the exchange concerned is given up; the proxy never waits for the judge, nor grows."""

COMFORTABLE_ENTRIES: Final = 4_096
COMFORTABLE_OCTETS: Final = 8 * 1024 * 1024
"""Up to here the judge works in slices between the proxy's own turns. Above, it works until it is back here: a sender
that is faster than the judge is slowed down, by its own TCP connection, before anything has to be given up."""

SLICE_S: Final = 0.005


class Backlog[Entry]:
    """Entries in the order in which they arrived, across all exchanges. `handle` judges one; it must not raise."""

    __slots__ = ("_entries", "_handle", "_now", "_octets", "_schedule", "_scheduled")

    def __init__(
        self,
        handle: Callable[[Entry], None],
        schedule: Callable[[Callable[[], None]], object],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._entries: deque[tuple[Entry, int]] = deque()
        self._octets = 0
        self._handle = handle
        self._schedule = schedule
        self._now = now
        self._scheduled = False

    def __len__(self) -> int:
        return len(self._entries)

    def offer(self, entry: Entry, octets: int) -> bool:
        """Take content of this size in, if there is room."""
        if len(self._entries) >= MAX_ENTRIES or self._octets + octets > MAX_OCTETS:
            return False
        self.put(entry, octets)
        return True

    def put(self, entry: Entry, octets: int = 0) -> None:
        """Take in what must not be lost. Only for what comes a few times an exchange."""
        self._entries.append((entry, octets))
        self._octets += octets
        if not self._scheduled:
            self._scheduled = True
            self._schedule(self._turn)

    def drain(self) -> None:
        """Judge everything, now."""
        while self._entries:
            self._next()

    def _turn(self) -> None:
        self._scheduled = False
        until = self._now() + SLICE_S
        while self._entries:
            self._next()
            if self._now() > until and self._is_comfortable:
                break
        if self._entries and not self._scheduled:
            self._scheduled = True
            self._schedule(self._turn)

    @property
    def _is_comfortable(self) -> bool:
        return len(self._entries) <= COMFORTABLE_ENTRIES and self._octets <= COMFORTABLE_OCTETS

    def _next(self) -> None:
        entry, octets = self._entries.popleft()
        self._octets -= octets
        self._handle(entry)
