"""Event streams: each block is rewritten when it is complete, then cut where the original was cut.

A secret cannot be seen before its block is complete, so a chunk is given out when every block that it touches is.
Every chunk comes out, in order; a boundary inside a line, a token, a CR LF or a character lies inside the corresponding
one again. A chunk that gets no bytes of its own (a label is shorter than its value) comes out empty.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from mcp_wire.privacy.allow_lists import COMMENTS, EVENT_TYPES, MALFORMED_RETRY
from mcp_wire.privacy.json_redaction import JsonRedaction
from mcp_wire.privacy.json_text import Replacement, apply, label_bytes, redact_json, redact_lines, with_invalid_bytes
from mcp_wire.privacy.values import Values
from mcp_wire.wire.records import record
from mcp_wire.wire.sse import MAX_EVENT_BYTES, MAX_RETRY_MS, Block, EventStreamReader, split_lines

MAX_WAITING_CHUNKS: Final = 65_536
"""Chunks that wait for one block. Of more, the earliest come out empty, and their bytes with a later one."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_FIELDS: Final = (b"data", b"event", b"id", b"retry")
_PARTS_OF_FIELDS: Final = frozenset(name[:length] for name in _FIELDS for length in range(1, len(name) + 1))
_MAX_RETRY_DIGITS: Final = len(str(MAX_RETRY_MS))
_CONTINUATION: Final = range(0x80, 0xC0)


@record
class Redacted:
    """One chunk of the redacted stream: the number and time of the original, and its new bytes."""

    number: int
    t_ms: float | None
    data: bytes


class StreamRedaction:
    """Redacts one event stream, chunk by chunk. Holds at most one block and what the reader holds."""

    def __init__(self, values: Values, json: JsonRedaction) -> None:
        self._lines = _Lines(values, json)
        self._reader = EventStreamReader()
        self._number = 0
        self._waiting: deque[tuple[int, float | None, int]] = deque()  # number, time and end of a chunk, in raw bytes
        self._written = 0  # raw bytes that have been rewritten
        self._ready = bytearray()  # rewritten bytes of chunks that are not complete yet
        self.given_up = False
        """A block was too large to be kept: from it on the stream counts as not captured, and nothing comes out."""

    def feed(self, data: bytes, t_ms: float | None) -> list[Redacted]:
        """Take one chunk; get the chunks that are complete now."""
        if self.given_up:
            return []
        base = self._reader.offset
        number, self._number = self._number, self._number + 1
        self._waiting.append((number, t_ms, base + len(data)))
        blocks = self._reader.feed(data, chunk=number)
        out: list[Redacted] = []
        for block in blocks:
            self._between(block.start, data, base, out)
            self._block(block, out)
            if self.given_up:
                return out
        self._between(self._reader.settled, data, base, out)
        while self._waiting and self._waiting[0][2] <= self._written:  # an empty chunk
            early, time, _ = self._waiting.popleft()
            out.append(Redacted(early, time, self._taken()))
        while len(self._waiting) > MAX_WAITING_CHUNKS:
            early, time, _ = self._waiting.popleft()
            out.append(Redacted(early, time, self._taken()))
        return out

    def end(self) -> list[Redacted]:
        """The stream is over: what is left of it, as the text that a client throws away."""
        out: list[Redacted] = []
        if self.given_up:
            return out
        tail = self._reader.end()
        if tail is not None:
            self._block(tail, out)
        while self._waiting:
            number, t_ms, _ = self._waiting.popleft()
            out.append(Redacted(number, t_ms, self._taken()))
        return out

    def _between(self, end: int, data: bytes, base: int, out: list[Redacted]) -> None:
        """Line ends and the byte order mark up to `end`: they stay."""
        if end <= self._written:
            return
        raw = data[max(self._written - base, 0) : end - base]
        if len(raw) < end - self._written:  # The mark began in an earlier chunk.
            raw = _BYTE_ORDER_MARK[: end - self._written - len(raw)] + raw
        self._emit(raw, _Cuts(raw, ()), out)

    def _block(self, block: Block, out: list[Redacted]) -> None:
        size = block.end - block.start
        if not block.too_large and len(block.raw) == size:
            cuts = _Cuts(block.raw, self._lines.redact(block.raw, complete=block.complete))
            if len(cuts.new) <= max(size, MAX_EVENT_BYTES):
                self._emit(b"", cuts, out, size)
                return
        self.given_up = True
        while self._waiting:
            number, t_ms, _ = self._waiting.popleft()
            out.append(Redacted(number, t_ms, self._taken()))

    def _emit(self, raw: bytes, cuts: _Cuts, out: list[Redacted], size: int | None = None) -> None:
        start = self._written
        self._written += len(raw) if size is None else size
        taken = 0
        while self._waiting and self._waiting[0][2] <= self._written:
            number, t_ms, end = self._waiting.popleft()
            if end > start:
                cut = max(cuts.new_position(end - start), taken)
                self._ready += cuts.new[taken:cut]
                taken = cut
            out.append(Redacted(number, t_ms, self._taken()))
        # The next boundary, if there is one inside, comes with a later block; what is before it waits.
        self._ready += cuts.new[taken:]

    def _taken(self) -> bytes:
        taken = bytes(self._ready)
        self._ready.clear()
        return taken


class _Cuts:
    """A rewritten text, and where a position in the old one lies in the new one. Ask in ascending order."""

    __slots__ = ("_at", "_old", "_pieces", "_replacements", "new")

    def __init__(self, old: bytes, replacements: tuple[Replacement, ...] | list[Replacement]) -> None:
        self.new: bytes = apply(old, replacements) if replacements else old
        self._old = old
        self._replacements = replacements
        self._pieces: list[tuple[int, int, int, Replacement | None]] | None = None
        self._at = 0

    def new_position(self, position: int) -> int:
        """Where a boundary at this offset of the old text (above 0) lies in the new text."""
        if position >= len(self._old):
            return len(self.new)
        if self._pieces is None:
            self._pieces = _pieces(self._old, self._replacements)
        while self._pieces[self._at][1] < position:
            self._at += 1
        start, end, new_start, replacement = self._pieces[self._at]
        if replacement is None:
            return new_start + position - start
        if position == end:
            return new_start + len(replacement.new)
        return new_start + _inside(self._old, start, end, position, replacement.new)


def _pieces(
    old: bytes, replacements: tuple[Replacement, ...] | list[Replacement]
) -> list[tuple[int, int, int, Replacement | None]]:
    """What stays and what is replaced, in order: start and end in the old text, start in the new one."""
    pieces: list[tuple[int, int, int, Replacement | None]] = []
    position = length = 0
    for replacement in replacements:
        if replacement.start > position:
            pieces.append((position, replacement.start, length, None))
            length += replacement.start - position
        pieces.append((replacement.start, replacement.end, length, replacement))
        length += len(replacement.new)
        position = replacement.end
    if position < len(old):
        pieces.append((position, len(old), length, None))
    return pieces


def _inside(old: bytes, start: int, end: int, position: int, new: bytes) -> int:
    """A position strictly inside the new token where there is one; inside a character if the old one was."""
    if old[position] in _CONTINUATION:
        found = next((at for at, byte in enumerate(new) if byte in _CONTINUATION), None)
        if found is not None:
            return found
    if len(new) < 2:
        return len(new)
    at = min(max((position - start) * len(new) // (end - start), 1), len(new) - 1)
    while at > 1 and new[at] in _CONTINUATION:
        at -= 1
    return at


class _Lines:
    """Rewrites the lines of one block."""

    def __init__(self, values: Values, json: JsonRedaction) -> None:
        self._values = values
        self._json = json

    def redact(self, raw: bytes, *, complete: bool) -> list[Replacement]:
        """What to replace in the bytes of a block. Line ends, names of fields, colons and their space stay."""
        replacements: list[Replacement] = []
        data: list[tuple[int, bytes]] = []  # offset and bytes of the value of each data line
        event_type = b""
        position = 0
        ids: list[tuple[int, bytes]] = []
        for line, line_end in split_lines(raw):
            name, colon, value = line.partition(b":")
            at = position + len(name) + len(colon)
            if value[:1] == b" ":
                value, at = value[1:], at + 1
            whole = complete or line_end != b""
            if name == b"data":
                data.append((at, value))
            elif name == b"id":
                ids.append((at, value))
            elif name == b"event":
                event_type = value if whole else b""
                replacements += self._kept(at, value, EVENT_TYPES)
            elif name == b"retry":
                text = value.decode("utf-8", "replace")
                if value.isdigit():
                    replacements += _one(at, value, _delay(value))
                elif not MALFORMED_RETRY.fullmatch(text):
                    replacements += _one(at, value, self._label(value))
            elif name == b"":
                replacements += self._kept(at, value, COMMENTS)
            else:
                replacements += self._ignored(position, name, at, value)
            position += len(line) + len(line_end)
        for at, value in ids:
            cursor = self._values.text(value.decode("utf-8", "replace"), "cursor")
            replacements += _one(at, value, with_invalid_bytes(cursor, value))
        replacements += self._data(data, event_type, complete=complete)
        replacements.sort(key=lambda replacement: replacement.start)
        return replacements

    def _data(self, lines: list[tuple[int, bytes]], event_type: bytes, *, complete: bool) -> list[Replacement]:
        joined = b"\n".join(value for _, value in lines)
        if not joined:
            return []
        found: list[Replacement] | None = None
        if event_type == b"endpoint" and b"\n" not in joined:
            uri = self._values.uri(joined.decode("utf-8", "replace"))
            found = _one(0, joined, with_invalid_bytes(uri, joined))
        elif complete:
            found = redact_json(joined, self._json)
        if found is None:
            found = redact_lines(joined, self._values.labels)
        return _onto_lines(lines, found)

    def _kept(self, at: int, value: bytes, known: frozenset[str]) -> list[Replacement]:
        text = value.decode("utf-8", "replace")
        return [] if text.strip().lower() in known else _one(at, value, self._label(value))

    def _ignored(self, position: int, name: bytes, at: int, value: bytes) -> list[Replacement]:
        mark = len(_BYTE_ORDER_MARK) if name.startswith(_BYTE_ORDER_MARK) else 0
        bare = name[mark:]
        if bare.lower() in _PARTS_OF_FIELDS:
            return _one(at, value, self._label(value))
        return _one(position + mark, bare, self._label(bare)) + _one(at, value, self._label(value))

    def _label(self, raw: bytes) -> bytes:
        return label_bytes(raw, self._values.labels)


def _delay(digits: bytes) -> bytes:
    """The delay that a reader takes from it: beyond an hour all are the same."""
    significant = digits.lstrip(b"0")
    if len(significant) > _MAX_RETRY_DIGITS or int(significant or b"0") > MAX_RETRY_MS:
        return str(MAX_RETRY_MS).encode()
    return digits if len(digits) <= _MAX_RETRY_DIGITS else significant or b"0"


def _one(at: int, old: bytes, new: bytes) -> list[Replacement]:
    return [] if old == new else [Replacement(at, at + len(old), new)]


def _onto_lines(lines: list[tuple[int, bytes]], replacements: list[Replacement]) -> list[Replacement]:
    """Replacements in the joined values of data lines, as replacements in the block."""
    if len(lines) == 1:
        at = lines[0][0]
        return [Replacement(at + found.start, at + found.end, found.new) for found in replacements]
    placed: list[Replacement] = []
    starts: list[tuple[int, int, int]] = []  # start and end in the joined text, offset in the block
    position = 0
    for at, value in lines:
        starts.append((position, position + len(value), at))
        position += len(value) + 1
    number = 0
    for replacement in replacements:
        while starts[number][1] <= replacement.start:
            number += 1
        start, end, at = starts[number]
        if replacement.end <= end:
            placed.append(Replacement(at + replacement.start - start, at + replacement.end - start, replacement.new))
            continue
        # The one that reaches over line ends: all of it goes into its first line, the others become empty.
        new = replacement.new
        for start, end, at in starts[number:]:
            if start >= replacement.end:
                break
            first, last = max(replacement.start, start), min(replacement.end, end)
            placed.append(Replacement(at + first - start, at + last - start, new))
            new = b""
    return placed
