"""Event streams: bytes in, blocks out (WHATWG HTML 9.2.5).

A *block* is a run of lines up to and including the blank line that completes it. A judge needs more of it than a client
does: comments, ignored lines, fields that break their own grammar, the place in the stream, and the tail that a client
throws away. So every block with at least one line is reported, and `dispatched` says whether a client got an event.

Three things hold for every way of cutting the stream into chunks:

- the blocks are the same (only their chunk numbers differ);
- a block is delivered by the `feed` call that brings the first byte of its blank line's end, never one chunk later. A
  blank line that ends in CR may be followed by LF, so that LF cannot belong to the block: a block ends *at* the CR;
- the work is linear in the bytes. The pending block is one growing buffer, and no byte is searched twice.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_wire.wire.sse_block import MAX_RETRY_MS, Block, Field, count_line_ends, interpret, interpret_tail, split_lines

__all__ = [
    "MAX_EVENT_BYTES",
    "MAX_EVENT_LINES",
    "MAX_KEPT_LINE_BYTES",
    "MAX_RETRY_MS",
    "Block",
    "EventStreamReader",
    "Field",
    "split_lines",
]

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""A longer block is reported as `too_large` and not kept.

The pending block of every open stream is held in memory, so this is the memory ceiling of one stream. The largest
messages in ordinary use carry an embedded image or document of a few MiB; 16 MiB leaves room for several in one.
"""

MAX_EVENT_LINES: Final = 128 * 1024
"""A block of more lines is `too_large` as well: 16 MiB of one-letter lines would become more than a GiB of fields."""

MAX_KEPT_LINE_BYTES: Final = 64 * 1024
"""Inside a block that is too large, `id`, `event` and `retry` lines up to this length still count.

An id has to come back in a `Last-Event-ID` header, and no common HTTP server reads header lines longer than this.
"""

_CR: Final = 0x0D
_LF: Final = 0x0A
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# A line end, and the first byte of the next one. The atomic group keeps CR LF from being read as two ends.
_BLOCK_END: Final = re.compile(rb"\n[\r\n]|\r(?>\n?)[\r\n]")
_BLANK_LINES: Final = re.compile(rb"[\r\n]+")
_LINE_END: Final = re.compile(rb"[\r\n]")


class EventStreamReader:
    """Reads one event stream, chunk by chunk. Nothing in the stream makes it raise.

    Between blocks it holds nothing but counters; within a block at most MAX_EVENT_BYTES and one chunk.
    """

    __slots__ = (
        "_after_cr",
        "_block_open",
        "_blocks",
        "_event_index",
        "_first_chunk",
        "_head",
        "_head_chunk",
        "_last_chunk",
        "_leading_bom",
        "_line_end_unpaired",
        "_line_is_empty",
        "_offset",
        "_oversize",
        "_pending",
        "_start",
        "had_bom",
        "last_event_id",
        "retry_ms",
    )

    def __init__(self) -> None:
        self.last_event_id = ""
        """The resume cursor: the last id that a blank line committed (D3); "" when there is none."""
        self.retry_ms: int | None = None
        """The reconnection time in force, as set by the blocks delivered so far."""
        self.had_bom = False
        """A byte order mark opened the stream."""

        self._offset = 0
        self._head: bytes | None = b""  # the first bytes, while they may still become a byte order mark
        self._head_chunk = 0
        self._last_chunk = 0
        self._blocks = 0
        self._event_index = 0
        self._line_end_unpaired = False  # outside blocks: an LF that the next LF makes an LF LF (see Block.event_index)
        self._after_cr = False  # an LF that comes next belongs to the CR before it

        self._block_open = False
        self._pending = bytearray()
        self._oversize: _OversizeBlock | None = None
        self._line_is_empty = False
        self._start = 0
        self._first_chunk = 0
        self._leading_bom = False

    @property
    def offset(self) -> int:
        """Bytes fed so far."""
        return self._offset

    @property
    def settled(self) -> int:
        """Everything before this offset is in a delivered block, or is CR, LF or the leading byte order mark."""
        if self._block_open:
            return self._start
        return 0 if self._head else self._offset

    def feed(self, data: bytes, *, chunk: int) -> list[Block]:
        """The blocks that these bytes complete. `chunk` is the number of the chunk that brought them.

        A chunk may be fed in several pieces, all with its number.
        """
        blocks: list[Block] = []
        if not data:
            return blocks
        base = self._offset
        self._offset += len(data)
        self._last_chunk = chunk
        position = 0
        early = 0  # bytes at the front that an earlier chunk brought
        if self._head is not None:
            if not self._head:
                self._head_chunk = chunk
            early = len(self._head)
            data = self._head + data
            base = 0
            if len(data) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(data):
                self._head = data
                return blocks
            self._head = None
            if data.startswith(_BYTE_ORDER_MARK):
                self.had_bom = self._leading_bom = True
                position = len(_BYTE_ORDER_MARK)

        size = len(data)
        has_cr = b"\r" in data
        while position < size:
            scan = position
            if self._block_open:
                if self._after_cr and data[scan] == _LF:
                    scan += 1
            else:
                if self._after_cr and data[position] == _LF:
                    self._after_cr = False
                    position += 1
                    continue
                if data[position] in b"\r\n":
                    position = self._skip_blank_lines(data, position)
                    continue
                self._block_open = True
                self._line_end_unpaired = False
                self._start = base + position
                self._first_chunk = self._head_chunk if position < early else chunk

            if self._line_is_empty and scan < size and data[scan] in b"\r\n":
                end = scan + 1
            elif has_cr:
                match = _BLOCK_END.search(data, scan)
                end = match.end() if match else 0
            else:
                end = data.find(b"\n\n", scan) + 2
                if end == 1:  # not found
                    end = 0
            if not end:
                last = data[-1]
                self._line_is_empty = last in (_LF, _CR)
                self._after_cr = last == _CR
                self._hold(data[position:])
                break
            blocks.append(self._deliver(data[position:end], base + end, chunk, complete=True))
            self._after_cr = data[end - 1] == _CR
            position = end
        return blocks

    def end(self) -> Block | None:
        """The end of the stream: what a client discards (9.2.6), or None when nothing was pending.

        The tail commits no id and is not dispatched. A whole `retry` line in it counts: that field acts at once.
        """
        if self._head:
            self._block_open = True
            self._first_chunk = self._head_chunk
            self._pending += self._head
            self._head = None
        if not self._block_open:
            return None
        return self._deliver(b"", self._offset, self._last_chunk, complete=False)

    def _skip_blank_lines(self, data: bytes, position: int) -> int:
        """Count the blank lines at `position`, outside of any block; the offset behind them."""
        run = _BLANK_LINES.match(data, position)
        assert run is not None
        blank = run.group()
        pairs, unpaired = divmod(self._line_end_unpaired + count_line_ends(blank), 2)
        self._event_index += pairs
        self._line_end_unpaired = bool(unpaired)
        self._after_cr = blank[-1] == _CR
        return run.end()

    def _hold(self, data: bytes) -> None:
        if self._oversize is None:
            if len(self._pending) + len(data) <= MAX_EVENT_BYTES:
                self._pending += data
                return
            self._oversize = _OversizeBlock(self._pending)
            self._pending = bytearray()
        self._oversize.feed(data)

    def _deliver(self, data: bytes, end: int, chunk: int, *, complete: bool) -> Block:
        """The open block, `data` being its last bytes."""
        raw = data
        size = len(data)
        if self._pending or self._oversize is not None or size > MAX_EVENT_LINES or size > MAX_EVENT_BYTES:
            self._hold(data)
            raw = bytes(self._pending)
            self._pending = bytearray()
            if len(raw) > MAX_EVENT_LINES and count_line_ends(raw) > MAX_EVENT_LINES:
                self._oversize = _OversizeBlock(raw)
        too_large = self._oversize is not None
        if self._oversize is not None:
            raw = b""
            meaning = interpret(self._oversize.kept_lines())
            self._oversize = None
        else:
            meaning = interpret(raw) if complete else interpret_tail(raw)
        fields, content, event_type, event_id, retry_ms, invalid_utf8 = meaning
        dispatched = complete and content is not None
        if too_large:
            content = None
        if not complete:
            event_id = None
        elif event_id is not None:
            self.last_event_id = event_id
        if retry_ms is not None:
            self.retry_ms = retry_ms
        # By position, in the order of the class: keywords would cost as much again as the rest of this function.
        block = Block(
            self._blocks,
            self._event_index,
            self._start,
            end,
            self._first_chunk,
            chunk,
            raw,
            fields,
            content,
            event_type,
            event_id,
            self.last_event_id,
            retry_ms,
            dispatched,
            complete,
            too_large,
            invalid_utf8,
            self._leading_bom,
        )
        self._block_open = False
        self._leading_bom = False
        self._blocks += 1
        self._event_index += 1
        return block


class _OversizeBlock:
    """A block that is not kept: the last lines that matter to a client's state, and nothing else."""

    __slots__ = ("_kept", "_line", "_line_too_long")

    def __init__(self, data: bytes | bytearray) -> None:
        self._kept: dict[str, bytes] = {}
        self._line = bytearray()
        self._line_too_long = False
        self.feed(data)

    def feed(self, data: bytes | bytearray) -> None:
        position = 0
        for end in _LINE_END.finditer(data):
            self._extend(data[position : end.start()])
            self._end_line()
            position = end.end()
        self._extend(data[position:])

    def kept_lines(self) -> bytes:
        """A small block that says what this one says, apart from its data."""
        return b"\n".join(self._kept.values())

    def _extend(self, part: bytes | bytearray) -> None:
        room = MAX_KEPT_LINE_BYTES - len(self._line)
        self._line_too_long = self._line_too_long or len(part) > room
        self._line += part[:room]

    def _end_line(self) -> None:
        line = bytes(self._line)
        too_long = self._line_too_long
        self._line.clear()
        self._line_too_long = False
        name, _, value = line.partition(b":")
        if name == b"data":
            self._keep("data", name)
        elif too_long:
            return
        elif name == b"event":
            self._keep("event", line)
        elif name == b"id":
            self._keep("id with NUL" if b"\0" in value else "id", line)
        elif name == b"retry":
            self._keep("retry" if value.removeprefix(b" ").isdigit() else "invalid retry", line)

    def _keep(self, slot: str, line: bytes) -> None:
        # Put last again: of a valid and an invalid retry line, the later one decides whether there is a fault.
        self._kept.pop(slot, None)
        self._kept[slot] = line
