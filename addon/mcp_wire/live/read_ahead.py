"""Frames, read ahead of whoever works on them: so that the other side can hand everything over, and end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import IO, Any, Final

from mcp_wire.live.judge_messages import opened, raw_frames

MAX_OCTETS: Final = 128 * 1024 * 1024
"""Read and not taken yet. Beyond it the pipe is left to fill, and with it the proxy's own outbox, which has a bound."""


class ReadAhead:
    """Reads a stream of frames in a thread of its own. Iterating gives what they hold, up to the end of the stream."""

    def __init__(self, stream: IO[bytes], at_end: Callable[[], None] = lambda: None) -> None:
        """`at_end` is called in that thread when nothing more can come, though much may still wait."""
        self._stream = stream
        self._at_end = at_end
        self._frames: deque[bytes | None] = deque()
        self._octets = 0
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def __iter__(self) -> Iterator[Any]:
        while (frame := self._next()) is not None:
            yield opened(frame)

    def _read(self) -> None:
        try:
            for frame in raw_frames(self._stream):
                with self._changed:
                    while self._octets and self._octets + len(frame) > MAX_OCTETS:
                        self._changed.wait()
                    self._frames.append(frame)
                    self._octets += len(frame)
                    self._changed.notify_all()
        finally:
            self._at_end()
            with self._changed:
                self._frames.append(None)
                self._changed.notify_all()

    def _next(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._frames))
            frame = self._frames.popleft()
            self._octets -= len(frame or b"")
            self._changed.notify_all()
        return frame
