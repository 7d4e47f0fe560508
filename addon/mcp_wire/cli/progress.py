"""A line on standard error that says how far a long command is. Only on a terminal, and only when it takes a while."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final, Self

PATIENCE_S: Final = 1.0
"""What is done sooner shows nothing."""
BAR_WIDTH: Final = 24


class Progress:
    """`parts` are done one after the other; within one, `share` goes from 0 to 1. Leaves no trace when it is over."""

    def __init__(self, parts: int) -> None:
        self._parts = parts
        self._done = 0
        self._begun = time.monotonic()
        self._shown = -1
        self._active = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown >= 0:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def within(self, share: float) -> None:
        """The part that is being done is done to this share."""
        percent = int(100 * (self._done + share) / max(self._parts, 1))
        if not self._active or percent == self._shown or time.monotonic() - self._begun < PATIENCE_S:
            return
        self._shown = percent
        bar = ("█" * (BAR_WIDTH * percent // 100)).ljust(BAR_WIDTH, "·")
        sys.stderr.write(f"\r\x1b[K{bar} {percent:3d} %, {self._done} of {self._parts} transcripts")
        sys.stderr.flush()

    def part_done(self) -> None:
        self._done += 1
        self.within(0)
