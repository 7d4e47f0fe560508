"""What is shown of a stream is what the reader of streams makes of it, only found more quickly."""

from __future__ import annotations

import random
from itertools import accumulate, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_wire.reports.shown_stream import (
    MAX_MIXED_OCTETS,
    ChunkRun,
    Chunks,
    Gap,
    Selection,
    ShownBlock,
    ShownStream,
    shown_stream,
)
from mcp_wire.wire.sse import Block, EventStreamReader

EVERYTHING = Selection(whole_up_to=10_000)
LINES = st.sampled_from(["data: é", "data", "id: 1", ": c", "event: x", "", "", "", "data: {}"])


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place for place in places if 0 < place < len(data)}), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def chunks_of(pieces: list[bytes]) -> Chunks:
    ends = list(accumulate(len(piece) for piece in pieces))
    return Chunks((ChunkRun(0, 0, ends, [float(number) for number in range(len(pieces))]),))


def read(pieces: list[bytes]) -> tuple[list[Block], Block | None]:
    reader = EventStreamReader()
    blocks = [block for number, piece in enumerate(pieces) for block in reader.feed(piece, chunk=number)]
    return blocks, reader.end()


def blocks_in(shown: ShownStream) -> list[ShownBlock]:
    return [part for part in shown.parts if isinstance(part, ShownBlock)]


@example(lines=["data: a", "", "", "", "data: b", ""], end="\n", bom=True, places=[9])
@example(lines=["data: a", "", "data: b", ""], end="\r\n", bom=False, places=[8, 9, 10, 11])
@given(
    lines=st.lists(LINES, max_size=14),
    end=st.sampled_from(["\n", "\r\n", "\r", "mixed"]),
    bom=st.booleans(),
    places=st.lists(st.integers(0, 120), max_size=12),
)
def test_blocks_numbers_chunks_and_times_are_the_readers(
    lines: list[str], end: str, bom: bool, places: list[int]
) -> None:
    ends = ["\n", "\r\n", "\r"]
    text = "".join(line + (ends[number % 3] if end == "mixed" else end) for number, line in enumerate(lines))
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    pieces = cut(data, places)
    shown = shown_stream(data, chunks_of(pieces), EVERYTHING)
    blocks, tail = read(pieces)
    expected = [*blocks, *([tail] if tail is not None else [])]
    assert shown.blocks == len(expected)
    for part, block in zip(blocks_in(shown), expected, strict=True):
        assert part.number == block.event_index
        assert part.is_whole == block.complete
        assert (part.meaning.data, part.meaning.event_type) == (block.data, block.event_type)
        if block.complete:
            assert part.meaning.id == block.id
            assert (part.first_chunk, part.last_chunk) == (block.first_chunk, block.last_chunk)
            assert part.t_ms == float(block.last_chunk)
    if b"data\n" not in data.replace(b"\r", b"\n"):
        assert shown.events == sum(block.dispatched for block in blocks)


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_any_bytes_can_be_shown(data: bytes, places: list[int]) -> None:
    shown = shown_stream(data, chunks_of(cut(data, places)), EVERYTHING)
    blocks, tail = read([data])
    assert shown.blocks == len(blocks) + (tail is not None)


def test_marks_stand_at_the_cuts() -> None:
    pieces = [b"id: 1\nda", b'ta: {"name":"caf\xc3', b'\xa9"}\n', b"\n", b"data: next\n\n"]
    first, second = blocks_in(shown_stream(b"".join(pieces), chunks_of(pieces)))
    marked = [(line.text, [(cut.position, cut.mark) for cut in line.cuts]) for line in first.lines]
    assert marked == [
        ("id: 1", [(0, "⟨0⟩")]),
        # The cut inside the character stands before it; the one in the blank line, at the end of what is shown.
        ('data: {"name":"café"}', [(2, "⟨1⟩"), (18, "⟨2⟩"), (21, "⟨3⟩")]),
    ]
    assert (first.first_chunk, first.last_chunk, first.t_ms) == (0, 3, 3.0)
    assert [cut.mark for line in second.lines for cut in line.cuts] == ["⟨4⟩"]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_a_very_long_stream_shows_its_ends_and_what_is_wanted(line_end: bytes) -> None:
    events = [b"id: %d%bdata: {}%b%b" % (number, line_end, line_end, line_end) for number in range(100_000)]
    wanted = frozenset({3, 50_000, 77_777, 99_999, 123_456})
    shown = shown_stream(b"".join(events), Chunks(), Selection(wanted))
    assert shown.blocks == shown.events == 100_000
    numbers = [part.number for part in blocks_in(shown)]
    assert numbers == [*range(20), 50_000, 77_777, *range(99_980, 100_000)]
    assert [part.meaning.id for part in blocks_in(shown)] == [str(number) for number in numbers]
    gaps = [part for part in shown.parts if isinstance(part, Gap)]
    assert sum(gap.blocks or 0 for gap in gaps) == 100_000 - len(numbers)


def test_more_is_wanted_than_is_shown() -> None:
    data = b"data: x\n\n" * 1_000
    shown = shown_stream(data, Chunks(), Selection(frozenset(range(100, 900))))
    assert len(blocks_in(shown)) == 20 + 40 + 20


def test_a_long_stream_of_mixed_line_ends_is_shown_as_far_as_it_is_read() -> None:
    generator = random.Random(7)
    event = [b"data: x\n\n", b"data: x\r\n\r\n", b"data: x\r\r"]
    data = b"".join(generator.choice(event) for _ in range(3 * MAX_MIXED_OCTETS // 10))
    shown = shown_stream(data, Chunks())
    last = shown.parts[-1]
    assert isinstance(last, Gap)
    assert last.blocks is None
    assert 0 < len(data) - last.octets <= MAX_MIXED_OCTETS


def test_runs_with_a_gap_between_them_know_only_their_own_chunks() -> None:
    data = b"data: a\n\n" * 10
    runs = (ChunkRun(0, 0, [9, 18], [1.0, 2.0]), ChunkRun(8, 72, [81, 90], [9.0, 10.0]))
    blocks = blocks_in(shown_stream(data, Chunks(runs)))
    assert [block.last_chunk for block in blocks] == [0, 1, *[None] * 6, 8, 9]
    assert [block.t_ms for block in blocks][-2:] == [9.0, 10.0]
