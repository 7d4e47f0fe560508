"""Event streams: bytes in, blocks out (WHATWG HTML 9.2.5 parsing, 9.2.6 interpretation).

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
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""A longer block is reported as `too_large` and not kept.

The pending block of every open stream is held in memory, so this is the memory ceiling of one stream. The largest
messages seen in the field are embedded images and documents of a few MiB; SDKs and gateways refuse messages of 4 to
10 MiB by default. 16 MiB leaves room above all of them.
"""

MAX_EVENT_LINES: Final = 128 * 1024
"""A block of more lines is `too_large` as well: 16 MiB of one-letter lines would become more than a GiB of fields."""

MAX_KEPT_LINE_BYTES: Final = 64 * 1024
"""Inside a block that is too large, `id`, `event` and `retry` lines up to this length still count.

An id has to come back in a `Last-Event-ID` header, and no common HTTP server reads header lines longer than this.
"""

MAX_RETRY_MS: Final = 2**53 - 1
"""A larger `retry` is clamped: the largest integer that every JSON reader keeps exactly (some 285 000 years)."""

FieldKind = Literal["event", "data", "id", "retry", "comment", "ignored"]
FieldFault = Literal["invalid_utf8", "misplaced_bom", "nul", "not_digits"]

_CR: Final = 0x0D
_LF: Final = 0x0A
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# A line end, and the first byte of the next one. The atomic group keeps CR LF from being read as two ends.
_BLOCK_END: Final = re.compile(rb"\n[\r\n]|\r(?>\n?)[\r\n]")
_BLANK_LINES: Final = re.compile(rb"[\r\n]+")
_LINE_END: Final = re.compile(rb"[\r\n]")
_LINE_ENDS: Final = re.compile(rb"\r\n|\r|\n")
_KINDS: Final[dict[str, FieldKind]] = {"event": "event", "data": "data", "id": "id", "retry": "retry"}


class Field(NamedTuple):
    """One line of a block. `name` and `value` are decoded with U+FFFD for bytes that are not UTF-8.

    `ignored` is a line whose name is none of event, data, id, retry (names are case-sensitive); a comment has the empty
    name and its text as value. One space after the colon is no part of the value.

    Faults: `invalid_utf8`; `misplaced_bom` (the line begins with U+FEFF, which is then part of the name); `nul` (an id
    with U+0000, which clients ignore); `not_digits` (a retry that is not one or more of 0-9, which clients ignore).
    """

    kind: FieldKind
    name: str
    value: str
    faults: tuple[FieldFault, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """One block of an event stream.

    index            number among the reported blocks of this stream, from 0
    event_index      the last number of `/exchanges/0/response/chunks/2` in finding paths: the number of the block when
                     the stream, with its line ends normalised to LF, is split at every LF LF and empty parts count
    start, end       offsets in the decoded stream, from the first byte of the first line to behind the first byte that
                     ends the blank line. Between blocks there is nothing but CR, LF and the leading byte order mark
    first_chunk, last_chunk   numbers of the chunks that brought the first and the last byte of that span
    raw              the bytes of that span; empty when the block is too large
    fields           its lines in order, comments included; the last one of a tail may be cut. Of a block that is too
                     large: only the last lines of each kind that still count, a `data` line without its value
    data             values of the data lines, joined with LF; None without a data line, or when the block is too large
    event_type       what a client dispatches: the last `event` value, `message` when that is empty or missing
    id               the cursor that this block commits; None without an id field, when all ids hold NUL, and for a tail
    last_event_id    the cursor in force behind this block; "" when there is none
    retry_ms         the last valid `retry` of the block, clamped to MAX_RETRY_MS; None without one
    dispatched       a client gets an event: the block is complete and has a data line (D11: an empty one suffices)
    complete         False only for the tail that `EventStreamReader.end` returns
    too_large        more than MAX_EVENT_BYTES, or more than MAX_EVENT_LINES lines
    invalid_utf8     some bytes are not UTF-8 (not looked at when the block is too large)
    leading_bom      this is the first block, and a byte order mark opened the stream (legal, and no part of the block)
    """

    index: int
    event_index: int
    start: int
    end: int
    first_chunk: int
    last_chunk: int
    raw: bytes
    fields: tuple[Field, ...]
    data: str | None
    event_type: str
    id: str | None
    last_event_id: str
    retry_ms: int | None
    dispatched: bool
    complete: bool
    too_large: bool
    invalid_utf8: bool
    leading_bom: bool

    @property
    def comments(self) -> tuple[str, ...]:
        """The texts of the comment lines, one leading space removed."""
        return tuple(field.value for field in self.fields if field.kind == "comment")

    @property
    def ignored_lines(self) -> tuple[Field, ...]:
        """Lines that a client drops without a word: unknown names, wrong case, payload without `data:`."""
        return tuple(field for field in self.fields if field.kind == "ignored")

    @property
    def has_id(self) -> bool:
        """An id field is there, valid or not, committed or not."""
        return any(field.kind == "id" for field in self.fields)

    @property
    def id_has_nul(self) -> bool:
        """Some id field holds U+0000; that field was ignored (WHATWG HTML 9.2.6)."""
        return any("nul" in field.faults for field in self.fields)

    @property
    def retry_invalid(self) -> str | None:
        """The value of the last retry field if that is not one or more ASCII digits, else None."""
        for field in reversed(self.fields):
            if field.kind == "retry":
                return field.value if "not_digits" in field.faults else None
        return None

    @property
    def misplaced_bom(self) -> bool:
        """Some line begins with a U+FEFF that is not the one allowed at the start of the stream."""
        return any("misplaced_bom" in field.faults for field in self.fields)

    @property
    def cut_in_line(self) -> bool:
        """Only for a tail: the stream ended inside its last line. False when the bytes are not kept."""
        return not self.complete and self.raw[-1:] not in (b"", b"\r", b"\n")

    @property
    def line_ends(self) -> frozenset[str]:
        """Which of CRLF, LF and CR end its lines. The blank line is left out: its end is not whole in the block."""
        lines = self.raw[:-1] if self.complete else self.raw
        return frozenset(end.decode() for end in _LINE_ENDS.findall(lines))


def split_lines(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The lines of a block's `raw`, each with its end (CRLF, LF, CR, or nothing for a line that was cut)."""
    position = 0
    for end in _LINE_ENDS.finditer(raw):
        yield raw[position : end.start()], end.group()
        position = end.end()
    if position < len(raw):
        yield raw[position:], b""


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
        self._line_end_unpaired = False  # an LF that the next LF would make an LF LF (see Block.event_index)
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
        if not data:
            return []
        self._last_chunk = chunk
        base = self._offset
        self._offset += len(data)
        early = 0  # bytes at the front that an earlier chunk brought
        position = 0
        if self._head is not None:
            if not self._head:
                self._head_chunk = chunk
            early = len(self._head)
            data = self._head + data
            base = 0
            if len(data) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(data):
                self._head = data
                return []
            self._head = None
            if data.startswith(_BYTE_ORDER_MARK):
                self.had_bom = self._leading_bom = True
                position = early = len(_BYTE_ORDER_MARK)

        blocks: list[Block] = []
        size = len(data)
        has_cr = b"\r" in data
        while position < size:
            scan = position
            if self._block_open:
                if self._after_cr and data[scan] == _LF:
                    scan += 1
            else:
                if data[position] in b"\r\n":
                    position = self._skip_blank_lines(data, position)
                    continue
                self._block_open = True
                self._line_end_unpaired = False
                self._line_is_empty = False
                self._start = base + position
                self._first_chunk = self._head_chunk if position < early else chunk
            self._after_cr = False

            if self._line_is_empty and scan < size and data[scan] in b"\r\n":
                end = scan + 1
            elif has_cr:
                match = _BLOCK_END.search(data, scan)
                end = match.end() if match else 0
            else:
                end = data.find(b"\n\n", scan) + 2
                if end == 1:
                    end = 0

            if not end:
                self._hold(data[position:] if position else data)
                last = data[-1]
                self._line_is_empty = last in (_LF, _CR)
                self._after_cr = last == _CR
                break
            blocks.append(self._complete_block(data[position:end], base + end, chunk))
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
        self._block_open = False
        return self._block(self._take(b""), self._offset, self._last_chunk, complete=False)

    def _skip_blank_lines(self, data: bytes, position: int) -> int:
        run = _BLANK_LINES.match(data, position)
        assert run is not None
        blank = run.group()
        ends = len(blank) - blank.count(b"\r\n")
        if self._after_cr and blank[0] == _LF:
            ends -= 1
        pairs, unpaired = divmod(self._line_end_unpaired + ends, 2)
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

    def _take(self, data: bytes) -> bytes | _OversizeBlock:
        """The whole pending block, `data` being its last bytes; or what is left of it when it is too large."""
        if self._oversize is not None or len(self._pending) + len(data) > MAX_EVENT_BYTES:
            self._hold(data)
        oversize, self._oversize = self._oversize, None
        if oversize is not None:
            return oversize
        raw = data
        if self._pending:
            self._pending += data
            raw = bytes(self._pending)
            self._pending = bytearray()
        if len(raw) > MAX_EVENT_LINES and _count_line_ends(raw) > MAX_EVENT_LINES:
            return _OversizeBlock(raw)
        return raw

    def _complete_block(self, data: bytes, end: int, chunk: int) -> Block:
        self._block_open = False
        block = self._block(self._take(data), end, chunk, complete=True)
        self._event_index += 1
        return block

    def _block(self, content: bytes | _OversizeBlock, end: int, chunk: int, *, complete: bool) -> Block:
        too_large = not isinstance(content, bytes)
        raw = b"" if isinstance(content, _OversizeBlock) else content
        lines = content.kept_lines() if isinstance(content, _OversizeBlock) else raw
        reading = _read(lines, lines_are_whole=complete or too_large)
        committed = reading.id if complete else None
        if committed is not None:
            self.last_event_id = committed
        if reading.retry_ms is not None:
            self.retry_ms = reading.retry_ms
        block = Block(
            index=self._blocks,
            event_index=self._event_index,
            start=self._start,
            end=end,
            first_chunk=self._first_chunk,
            last_chunk=chunk,
            raw=raw,
            fields=tuple(reading.fields),
            data=None if too_large else reading.data,
            event_type=reading.event_type,
            id=committed,
            last_event_id=self.last_event_id,
            retry_ms=reading.retry_ms,
            dispatched=complete and reading.data is not None,
            complete=complete,
            too_large=too_large,
            invalid_utf8=reading.invalid_utf8,
            leading_bom=self._leading_bom,
        )
        self._blocks += 1
        self._leading_bom = False
        return block


class _Reading(NamedTuple):
    fields: list[Field]
    data: str | None
    event_type: str
    id: str | None
    retry_ms: int | None
    invalid_utf8: bool


def _read(raw: bytes, *, lines_are_whole: bool) -> _Reading:
    """Interpret the lines of one block (9.2.6)."""
    invalid: frozenset[int] | set[int] = frozenset()
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        # CR and LF end every unfinished sequence, so a block decodes alone as it does within its stream.
        text = raw.decode(errors="replace")
        invalid = {number for number, (line, _) in enumerate(split_lines(raw)) if not _is_utf8(line)}
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    unfinished = len(lines) - 1  # the number of the last line, which no line end follows

    fields: list[Field] = []
    values: list[str] = []
    event_type = ""
    committed: str | None = None
    retry_ms: int | None = None
    for number, line in enumerate(lines):
        if not line:
            continue
        name, _, value = line.partition(":")
        if value[:1] == " ":
            value = value[1:]
        if name == "data":
            kind: FieldKind = "data"
            faults: tuple[FieldFault, ...] = ()
            values.append(value)
        else:
            kind = _KINDS.get(name, "ignored") if name else "comment"
            faults = _faults(kind, name, value)
            if kind == "event":
                event_type = value
            elif kind == "id" and not faults:
                committed = value
            elif kind == "retry" and not faults and (lines_are_whole or number != unfinished):
                retry_ms = _milliseconds(value)
        if number in invalid:
            faults = ("invalid_utf8", *faults)
        fields.append(Field(kind, name, value, faults))
    return _Reading(
        fields, "\n".join(values) if values else None, event_type or "message", committed, retry_ms, bool(invalid)
    )


def _faults(kind: FieldKind, name: str, value: str) -> tuple[FieldFault, ...]:
    if kind == "id" and "\0" in value:
        return ("nul",)
    if kind == "retry" and not (value.isascii() and value.isdigit()):
        return ("not_digits",)
    if name[:1] == "\ufeff":
        return ("misplaced_bom",)
    return ()


def _milliseconds(digits: str) -> int:
    # int() refuses thousands of digits, so the length is looked at first.
    significant = digits.lstrip("0")
    return min(int(significant or "0"), MAX_RETRY_MS) if len(significant) <= 16 else MAX_RETRY_MS


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _count_line_ends(raw: bytes) -> int:
    return raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")


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
        # Put last again: which of two retry lines came last decides what is invalid.
        self._kept.pop(slot, None)
        self._kept[slot] = line
