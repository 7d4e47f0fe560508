"""What was seen and the judge has not taken yet: filled while bytes pass, handed over right after, bounded.

The pipe to the judge is written to between the proxy's own turns, as far as it takes something without waiting. So
whatever the judge does, the proxy neither waits for it nor grows beyond MAX_OCTETS for it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

from mcp_wire.live.judge_messages import framed
from mcp_wire.live.parts import Entry

MAX_OCTETS: Final = 128 * 1024 * 1024
"""Everything that waits. Beyond it the content of the exchange concerned is given up: a few hundred thousand events, or
eight of the largest bodies, that came faster than they could be judged."""
ENTRY_OCTETS: Final = 64
"""What an entry takes besides its content, roughly."""

FRAME_ENTRIES: Final = 1_024
FRAME_OCTETS: Final = 1024 * 1024
"""As much is framed and written between two turns of the proxy; a single larger body at once."""
PAUSE_S: Final = 0.002
"""Until a full pipe is tried again."""

Write = Callable[[memoryview], int]
"""Takes some of the octets and says how many; none while the pipe is full. Raises OSError once nobody reads it."""


class Outbox:
    """Entries in the order in which they arrived, across all exchanges.

    `soon` and `later` schedule a call on the proxy's event loop: after what is ready, and after some seconds.
    """

    def __init__(
        self,
        write: Write,
        soon: Callable[[Callable[[], None]], object],
        later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self._write = write
        self._soon = soon
        self._later = later
        self._entries: deque[tuple[Entry, int]] = deque()
        self._frames: deque[memoryview] = deque()
        self._scheduled = False
        self.octets = 0
        """Everything that waits, roughly."""
        self.broken = False
        """Nobody reads the pipe any more; what comes now is let go of."""

    def offer(self, entry: Entry, octets: int) -> bool:
        """Take content of this size in, if there is room."""
        if self.octets + octets > MAX_OCTETS:
            return False
        self.put(entry, octets)
        return True

    def put(self, entry: Entry, octets: int = 0) -> None:
        """Take in what must not be lost. Only for what comes a few times an exchange, and is small."""
        if self.broken:
            return
        size = octets + ENTRY_OCTETS
        self._entries.append((entry, size))
        self.octets += size
        if not self._scheduled:
            self._scheduled = True
            self._soon(self._turn)

    def drain(self, until: Callable[[], bool]) -> None:
        """Hand everything over, now, waiting where the pipe is full. Gives up when `until` says that it is time."""
        while (self._entries or self._frames) and not until():
            if not self._advance():
                time.sleep(PAUSE_S)

    def close(self) -> None:
        """Nothing more is handed over; what still waits is let go of."""
        self.broken = True
        self._entries.clear()
        self._frames.clear()
        self.octets = 0

    def _turn(self) -> None:
        self._scheduled = False
        progress = self._advance()
        if self._entries or self._frames:
            self._scheduled = True
            if progress:
                self._soon(self._turn)
            else:
                self._later(PAUSE_S, self._turn)

    def _advance(self) -> bool:
        """Frame some, write some. Was there anything to do that could be done?"""
        framed_some = bool(self._entries)
        if framed_some:
            self._frame()
        try:
            return self._push() > 0 or framed_some
        except (OSError, ValueError):  # nobody reads it any more, or it is closed on this side
            self.close()
            return False

    def _frame(self) -> None:
        entries: list[Entry] = []
        total = 0
        while self._entries and len(entries) < FRAME_ENTRIES and total < FRAME_OCTETS:
            entry, size = self._entries.popleft()
            entries.append(entry)
            total += size
        frame = framed(entries)
        self._frames.append(memoryview(frame))
        self.octets += len(frame) - total

    def _push(self) -> int:
        pushed = 0
        while self._frames and pushed < FRAME_OCTETS:
            frame = self._frames[0]
            taken = self._write(frame[:FRAME_OCTETS])
            if not taken:
                break
            pushed += taken
            self.octets -= taken
            if taken < len(frame):
                self._frames[0] = frame[taken:]
            else:
                self._frames.popleft()
        return pushed
