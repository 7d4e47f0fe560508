"""An event stream as bytes, laid out for reading: which of its blocks are shown, and where its chunks were cut.

Finding the blocks costs a few nanoseconds a byte, whatever is in them; only those that are shown are read.
"""

from __future__ import annotations

import codecs
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, NamedTuple

from mcp_wire.reports.marked_json import Cut
from mcp_wire.wire.sse import EventStreamReader
from mcp_wire.wire.sse_block import Interpretation, interpret, interpret_tail, split_lines

MAX_MIXED_OCTETS: Final = 1024 * 1024
"""Of a stream whose lines end in several ways, so much is read: that takes a slower reader."""
MAX_BLOCK_OCTETS: Final = 256 * 1024
"""Of one block, so much is read."""
MAX_CUTS: Final = 200
"""Marks in one block."""

_DATA: Final = b"\ndata:"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ChunkRun:
    """Consecutive chunks: the number of the first, the offset at which it begins in the decoded stream, and for each
    the offset at which it ends and when it came, in milliseconds since the request (None where that is not known)."""

    first: int
    begin: int
    ends: Sequence[int]
    times: Sequence[float | None]

    def begins_from(self, offset: int) -> Iterator[tuple[int, int]]:
        """Number and beginning of every chunk that begins at this offset or behind it."""
        index = 0 if offset <= self.begin else bisect_left(self.ends, offset) + 1
        for at in range(index, len(self.ends)):
            yield self.first + at, self.ends[at - 1] if at else self.begin


@dataclass(frozen=True, slots=True)
class Chunks:
    """What is known of the boundaries of a stream: runs of its chunks, in ascending order, perhaps with gaps."""

    runs: tuple[ChunkRun, ...] = ()

    def at(self, offset: int) -> tuple[int, float | None] | None:
        """The number and the time of the chunk that brought the byte at this offset."""
        for run in self.runs:
            if run.ends and run.begin <= offset < run.ends[-1]:
                index = bisect_right(run.ends, offset)
                return run.first + index, run.times[index]
        return None

    @property
    def latest_ms(self) -> float | None:
        """When the last chunk came."""
        return self.runs[-1].times[-1] if self.runs and self.runs[-1].times else None

    def begins_in(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Number and beginning of the chunks that begin between two offsets."""
        for run in self.runs:
            for number, begin in run.begins_from(start):
                if begin >= end:
                    return
                yield number, begin


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a block. Cuts are positions in `text`, which is the line without its end."""

    text: str
    cuts: tuple[Cut, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A block that is shown. `number`: the last number of a finding's path. `is_whole`: a blank line completed it.

    `first_chunk`, `last_chunk`: numbers of the chunks that brought its first byte and completed it; `t_ms`: when the
    latter came. `left_out`: octets of it that are not shown.
    """

    number: int
    is_whole: bool
    lines: tuple[Line, ...]
    meaning: Interpretation
    t_ms: float | None = None
    first_chunk: int | None = None
    last_chunk: int | None = None
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Gap:
    """Blocks that are not shown, and their length; `blocks` None: they were not counted."""

    blocks: int | None
    octets: int


@dataclass(frozen=True, slots=True)
class ShownStream:
    """`blocks`: all of them, shown or not, a cut one at the end included; `events`: those of them that have data."""

    parts: tuple[ShownBlock | Gap, ...] = ()
    blocks: int = 0
    events: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """Which blocks are shown: so many at either end, and those with these numbers, up to `wanted_at_most`.

    A stream of no more than `whole_up_to` blocks is shown whole.
    """

    wanted: frozenset[int] = field(default_factory=frozenset)
    ends: int = 20
    wanted_at_most: int = 40
    whole_up_to: int = 120


SELECTION: Final = Selection()

Rewrite = Callable[[bytes, bool, Sequence[int]], tuple[bytes, Sequence[int]]]
"""Makes other bytes of a block (whole or not) that is cut at these offsets, and says where those are cut."""


def shown_stream(
    data: bytes, chunks: Chunks, selection: Selection = SELECTION, rewrite: Rewrite | None = None
) -> ShownStream:
    """What is shown of a stream's decoded bytes. Total, and linear in them."""
    blocks = _Blocks(data)
    parts: list[ShownBlock | Gap] = []
    following = 0
    for index in _chosen(blocks.numbers, selection):
        if index > following:
            parts.append(_gap(blocks, following, index))
        behind = blocks[index - 1].stop if index else 0
        parts.append(_block(data, blocks[index], behind, chunks, rewrite))
        following = index + 1
    if following < len(blocks):
        parts.append(_gap(blocks, following, len(blocks)))
    if blocks.read < len(data):
        parts.append(Gap(None, len(data) - blocks.read))
    return ShownStream(tuple(parts), len(blocks), blocks.events)


class _Span(NamedTuple):
    """A block without its blank line, which ends at `stop`; the byte at `completed` is the one that completes it."""

    number: int
    start: int
    end: int
    stop: int
    completed: int | None


class _Blocks:
    """Where the blocks are in the first `read` octets. Numbers as in `Block.event_index`."""

    def __init__(self, data: bytes) -> None:
        self.read = len(data)
        carriage_returns = data.count(b"\r")
        pairs = data.count(b"\r\n") if carriage_returns else 0
        if not carriage_returns:
            self._split(data, b"\n\n")
        elif pairs == data.count(b"\n") and carriage_returns - pairs == data.endswith(b"\r"):
            self._split(data, b"\r\n\r\n")
        else:
            self._read_slowly(data)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> _Span:
        number = self.numbers[index]
        start, end, stop, completed = self._place(number)
        return _Span(number, start, end, stop, completed)

    def _split(self, data: bytes, separator: bytes) -> None:
        # Nothing is made for a block that is not shown: there may be hundreds of thousands.
        mark = len(_BYTE_ORDER_MARK) if data.startswith(_BYTE_ORDER_MARK) else 0
        parts = data[mark:].split(separator)
        width, completing = len(separator), len(separator) // 2
        stops = list(accumulate((len(part) + width for part in parts), initial=mark))

        def place(number: int) -> tuple[int, int, int, int | None]:
            part = parts[number]
            end = stops[number] + len(part)
            completed = end + completing if number + 1 < len(parts) else None
            return end - len(part.lstrip(b"\r\n")), end, min(stops[number + 1], len(data)), completed

        self._place: Callable[[int], tuple[int, int, int, int | None]] = place
        self.numbers: Sequence[int] = [number for number, part in enumerate(parts) if part.strip(b"\r\n")]
        self.events = sum(_DATA in part or part.startswith(_DATA[1:]) for part in parts[:-1])

    def _read_slowly(self, data: bytes) -> None:
        is_cut = len(data) > MAX_MIXED_OCTETS
        reader = EventStreamReader()
        blocks = reader.feed(data[:MAX_MIXED_OCTETS], chunk=0)
        self.events = sum(block.dispatched for block in blocks)
        places: dict[int, tuple[int, int, int, int | None]] = {
            block.event_index: (block.start, block.end, block.end, block.end - 1) for block in blocks
        }
        if is_cut:
            self.read = reader.settled
        elif (tail := reader.end()) is not None:
            places[tail.event_index] = (tail.start, tail.end, tail.end, None)
        self._place = places.__getitem__
        self.numbers = list(places)


def _chosen(numbers: Sequence[int], selection: Selection) -> list[int]:
    """The indexes of the blocks to show, ascending."""
    count = len(numbers)
    if count <= selection.whole_up_to:
        return list(range(count))
    head = range(selection.ends)
    tail = range(count - selection.ends, count)
    wanted = []
    for number in sorted(selection.wanted):
        index = bisect_left(numbers, number)
        if index < count and numbers[index] == number and index not in head and index not in tail:
            wanted.append(index)
        if len(wanted) == selection.wanted_at_most:
            break
    return [*head, *wanted, *tail]


def _gap(blocks: _Blocks, start: int, end: int) -> Gap:
    return Gap(end - start, blocks[end - 1].end - blocks[start].start)


def _block(data: bytes, span: _Span, behind: int, chunks: Chunks, rewrite: Rewrite | None) -> ShownBlock:
    end = min(span.end, span.start + MAX_BLOCK_OCTETS)
    raw = data[span.start : end]
    is_whole = span.completed is not None and end == span.end
    cuts: list[int] = []
    marks: list[str] = []
    for number, begin in chunks.begins_in(behind, span.stop if end == span.end else end):
        cuts.append(min(max(begin, span.start), end) - span.start)
        marks.append(mark_of(number))
        if len(cuts) == MAX_CUTS:
            break
    if rewrite is not None:
        raw, rewritten = rewrite(raw, is_whole, cuts)
        cuts = list(rewritten)
    text, places = _decoded(raw, cuts)
    first = chunks.at(span.start)
    last = chunks.at(span.end - 1 if span.completed is None else span.completed)
    return ShownBlock(
        number=span.number,
        is_whole=span.completed is not None,
        lines=tuple(_lines(text, [Cut(place, mark) for place, mark in zip(places, marks, strict=True)])),
        meaning=interpret(raw) if is_whole else interpret_tail(raw),
        t_ms=last[1] if last is not None else None,
        first_chunk=first[0] if first is not None else None,
        last_chunk=last[0] if last is not None else None,
        left_out=span.end - end,
    )


def mark_of(chunk: int) -> str:
    """The mark that stands where the bytes of this chunk begin."""
    return f"⟨{chunk}⟩"


def _decoded(raw: bytes, offsets: Sequence[int]) -> tuple[str, list[int]]:
    """The text of a block, and where in it these ascending offsets are. A cut inside a character stands before it."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pieces: list[str] = []
    places: list[int] = []
    position = length = 0
    for offset in offsets:
        piece = decoder.decode(raw[position:offset])
        position = offset
        pieces.append(piece)
        length += len(piece)
        places.append(length)
    pieces.append(decoder.decode(raw[position:], final=True))
    return "".join(pieces), places


def _lines(text: str, cuts: Sequence[Cut]) -> Iterator[Line]:
    """The lines of a block, with the cuts that are in each of them or in its end."""
    start = number = 0
    lines = list(split_lines(text.encode("utf-8", "surrogatepass")))
    for index, (raw, line_end) in enumerate(lines):
        line = raw.decode("utf-8", "surrogatepass")
        stop = start + len(line) + len(line_end)
        is_last = index == len(lines) - 1
        here = []
        while number < len(cuts) and (is_last or cuts[number].position < stop):
            here.append(Cut(min(cuts[number].position - start, len(line)), cuts[number].mark))
            number += 1
        yield Line(line, tuple(here))
        start = stop
