"""The event stream reader against the standard's algorithm, every corner and every way of cutting."""

from __future__ import annotations

import itertools
import re
import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_wire.wire import sse
from mcp_wire.wire.sse import MAX_RETRY_MS, Block, EventStreamReader, Field, split_lines

BOM = b"\xef\xbb\xbf"


def read(*chunks: bytes) -> list[Block]:
    """All blocks of a stream, the tail included."""
    return read_with(EventStreamReader(), chunks)


def read_with(reader: EventStreamReader, chunks: Sequence[bytes]) -> list[Block]:
    blocks = [block for number, data in enumerate(chunks) for block in reader.feed(data, chunk=number)]
    tail = reader.end()
    return [*blocks, tail] if tail else blocks


def bytewise(stream: bytes) -> list[bytes]:
    return [stream[i : i + 1] for i in range(len(stream))]


def cut(stream: bytes, places: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(edges)]


def without_chunks(block: Block) -> tuple[Any, ...]:
    return tuple(getattr(block, name) for name in Block.__annotations__ if name not in ("first_chunk", "last_chunk"))


def meanings(blocks: list[Block]) -> list[tuple[Any, ...]]:
    return [without_chunks(block) for block in blocks]


# --- what a client gets -----------------------------------------------------------------------------------------------

# name, stream, [(event type, data, last event id)], last event id at the end
CLIENT_VIEW: list[tuple[str, bytes, list[tuple[str, str, str]], str]] = [
    ("nothing", b"", [], ""),
    ("one event", b"data: x\n\n", [("message", "x", "")], ""),
    ("no space after the colon", b"data:x\n\n", [("message", "x", "")], ""),
    ("one space is removed, not two", b"data:  x\n\n", [("message", " x", "")], ""),
    ("a tab is not a space", b"data:\tx\n\n", [("message", "\tx", "")], ""),
    ("the value keeps its colons", b"data:a:b: c\n\n", [("message", "a:b: c", "")], ""),
    ("trailing spaces stay", b"data: x  \n\n", [("message", "x  ", "")], ""),
    ("lines are joined with LF", b"data: a\ndata: b\n\n", [("message", "a\nb", "")], ""),
    ("YHOO of the standard", b"data: YHOO\ndata: +2\ndata: 10\n\n", [("message", "YHOO\n+2\n10", "")], ""),
    ("empty data is an event (D11)", b"data:\n\n", [("message", "", "")], ""),
    ("data without a colon", b"data\n\n", [("message", "", "")], ""),
    ("two empty data lines are one LF", b"data\ndata\n\ndata:\n", [("message", "\n", "")], ""),
    ("one space alone is removed", b"data: \n\n", [("message", "", "")], ""),
    ("a block without data is no event", b"event: x\n\n", [], ""),
    ("a comment is no event", b": keep-alive\n\n", [], ""),
    ("a comment inside an event", b"data: a\n: c\ndata: b\n\n", [("message", "a\nb", "")], ""),
    ("the type", b"event: ping\ndata: x\n\n", [("ping", "x", "")], ""),
    ("the last type wins", b"event: a\nevent: b\ndata: x\n\n", [("b", "x", "")], ""),
    ("an empty type is message", b"event: a\nevent:\ndata: x\n\n", [("message", "x", "")], ""),
    ("the type does not outlive its block", b"event: a\n\ndata: x\n\n", [("message", "x", "")], ""),
    ("an id", b"id: 1\ndata: x\n\n", [("message", "x", "1")], "1"),
    ("the last id wins", b"id: 1\nid: 2\ndata: x\n\n", [("message", "x", "2")], "2"),
    ("an id outlives its block", b"id: 1\ndata: a\n\ndata: b\n\n", [("message", "a", "1"), ("message", "b", "1")], "1"),
    ("an empty id resets", b"id: 1\ndata: a\n\nid\ndata: b\n\n", [("message", "a", "1"), ("message", "b", "")], ""),
    ("an id alone commits", b"id: 1\n\n", [], "1"),
    ("an id with NUL is ignored", b"id: 1\n\nid: a\0b\ndata: x\n\n", [("message", "x", "1")], "1"),
    ("a NUL id leaves a good one of the same block", b"id: 1\nid: \0\ndata: x\n\n", [("message", "x", "1")], "1"),
    ("an id in a truncated block is no cursor (D3)", b"id: 1\ndata:\n\nid: 2\ndata: x\n", [("message", "", "1")], "1"),
    ("an id keeps inner spaces and non-ASCII", "id:  é 1\n\n".encode(), [], " é 1"),
    ("the unfinished event is discarded", b"data: a\n\ndata: b", [("message", "a", "")], ""),
    ("also behind a whole line", b"data: a\n\ndata: b\n", [("message", "a", "")], ""),
    ("names are case-sensitive", b"Data: a\nDATA: b\ndata: c\n\n", [("message", "c", "")], ""),
    ("a space before the name counts", b" data: a\n\n", [], ""),
    ("a space before the colon counts", b"data : a\n\n", [], ""),
    ("unknown names are ignored", b"foo: a\ndata: b\n\n", [("message", "b", "")], ""),
    ("raw JSON is an ignored line", b'{"jsonrpc":"2.0"}\n\n', [], ""),
    ("CR ends lines", b"data: a\rdata: b\r\r", [("message", "a\nb", "")], ""),
    ("CRLF ends lines", b"data: a\r\ndata: b\r\n\r\n", [("message", "a\nb", "")], ""),
    ("LF then CRLF", b"data: a\n\r\ndata: b\n\r\n", [("message", "a", ""), ("message", "b", "")], ""),
    ("CRLF then LF", b"data: a\r\n\ndata: b\r\n\n", [("message", "a", ""), ("message", "b", "")], ""),
    ("LF then CR", b"data: a\n\rdata: b\n\r", [("message", "a", ""), ("message", "b", "")], ""),
    (
        "CR LF is one end, CR CR two",
        b"data: a\r\ndata: b\r\rdata: c\r\r",
        [("message", "a\nb", ""), ("message", "c", "")],
        "",
    ),
    (
        "nothing else ends a line",
        "data: a\u2028b\u2029c\u0085d\ve\ff\x1cg\n\n".encode(),
        [("message", "a\u2028b\u2029c\u0085d\ve\ff\x1cg", "")],
        "",
    ),
    ("a leading BOM is dropped", BOM + b"data: x\n\n", [("message", "x", "")], ""),
    ("only one", BOM + BOM + b"data: x\n\n", [], ""),
    ("a later one is part of the name", b"data: a\n\n" + BOM + b"data: b\n\n", [("message", "a", "")], ""),
    ("inside a value it is text", b"data: " + BOM + b"x\n\n", [("message", "\ufeffx", "")], ""),
    ("half a BOM is no BOM", b"\xef\xbbdata: x\n\n", [], ""),
    ("bad UTF-8 is replaced", b"data: \xff\xc3(\n\n", [("message", "��(", "")], ""),
    ("a sequence ends at the line", b"data: \xe2\x82\ndata: \xac\n\n", [("message", "�\n�", "")], ""),
    ("an encoded surrogate is three errors", b"data: \xed\xa0\x80\n\n", [("message", "���", "")], ""),
    ("NUL is data", b"data: a\0b\n\n", [("message", "a\0b", "")], ""),
]


@pytest.mark.parametrize(
    ("stream", "events", "cursor"), [row[1:] for row in CLIENT_VIEW], ids=[row[0] for row in CLIENT_VIEW]
)
@pytest.mark.parametrize("split", [lambda s: [s], bytewise], ids=["whole", "bytewise"])
def test_what_a_client_gets(stream: bytes, events: list[tuple[str, str, str]], cursor: str, split: Any) -> None:
    reader = EventStreamReader()
    blocks = read_with(reader, split(stream))
    assert [(b.event_type, b.data, b.last_event_id) for b in blocks if b.dispatched] == events
    assert reader.last_event_id == cursor


# --- retry ------------------------------------------------------------------------------------------------------------

# lines, retry_ms, retry_invalid
RETRIES: list[tuple[str, int | None, str | None]] = [
    ("retry: 500", 500, None),
    ("retry:0", 0, None),
    ("retry: 007", 7, None),
    ("retry", None, ""),
    ("retry:", None, ""),
    ("retry: 5s", None, "5s"),
    ("retry: -5", None, "-5"),
    ("retry: +5", None, "+5"),
    ("retry: 1_0", None, "1_0"),
    ("retry: 1.5", None, "1.5"),
    ("retry:  5", None, " 5"),
    ("retry: 5 ", None, "5 "),
    ("retry: ٣", None, "٣"),
    ("retry: ²", None, "²"),
    ("retry: ５", None, "５"),
    ("retry: 1\nretry: 2", 2, None),
    ("retry: 1\nretry: x", 1, "x"),
    ("retry: x\nretry: 1", 1, None),
    ("Retry: 1", None, None),
    (f"retry: {MAX_RETRY_MS}", MAX_RETRY_MS, None),
    (f"retry: {MAX_RETRY_MS + 1}", MAX_RETRY_MS, None),
    ("retry: " + "9" * 20_000, MAX_RETRY_MS, None),
    ("retry: " + "0" * 20_000 + "42", 42, None),
]


@pytest.mark.parametrize(("lines", "retry_ms", "invalid"), RETRIES, ids=[row[0][:24] for row in RETRIES])
def test_retry_is_one_or_more_ascii_digits(lines: str, retry_ms: int | None, invalid: str | None) -> None:
    reader = EventStreamReader()
    (block,) = reader.feed(f"{lines}\n\n".encode(), chunk=0)
    assert (block.retry_ms, block.retry_invalid) == (retry_ms, invalid)
    assert reader.retry_ms == retry_ms
    reader.feed(b"retry: nonsense\n\n", chunk=1)
    assert reader.retry_ms == retry_ms


def test_retry_acts_at_its_line_and_an_unended_line_is_none() -> None:
    reader = EventStreamReader()
    reader.feed(b"retry: 1\nretry: 2", chunk=0)
    tail = reader.end()
    assert tail is not None
    assert (tail.retry_ms, reader.retry_ms, tail.cut_in_line) == (1, 1, True)


# --- what a judge needs besides ---------------------------------------------------------------------------------------


def test_every_line_is_kept_in_order_with_its_faults() -> None:
    stream = BOM + b": hello\nid: a\0\nretry: x\nevent: e\n\xef\xbb\xbfdata: y\nData: z\ndata: \xff\n:\nlone\n\n"
    (block,) = read(stream)
    assert block.fields == (
        Field("comment", "", "hello"),
        Field("id", "id", "a\0", ("nul",)),
        Field("retry", "retry", "x", ("not_digits",)),
        Field("event", "event", "e"),
        Field("ignored", "\ufeffdata", "y", ("misplaced_bom",)),
        Field("ignored", "Data", "z"),
        Field("data", "data", "�", ("invalid_utf8",)),
        Field("comment", "", ""),
        Field("ignored", "lone", ""),
    )
    assert block.comments == ("hello", "")
    assert [field.name for field in block.ignored_lines] == ["\ufeffdata", "Data", "lone"]
    assert (block.has_id, block.id_has_nul, block.id) == (True, True, None)
    assert (block.invalid_utf8, block.misplaced_bom, block.leading_bom) == (True, True, True)
    assert (block.retry_invalid, block.retry_ms) == ("x", None)
    assert (block.dispatched, block.complete, block.too_large) == (True, True, False)


def test_a_sound_block_has_no_faults() -> None:
    (block,) = read(b"event: message\nid: 1\nretry: 5\ndata: {}\n\n")
    assert [field.faults for field in block.fields] == [()] * 4
    assert (block.has_id, block.id_has_nul, block.id) == (True, False, "1")
    assert (block.invalid_utf8, block.misplaced_bom, block.leading_bom) == (False, False, False)
    assert (block.comments, block.ignored_lines, block.retry_invalid) == ((), (), None)


def test_the_faults_of_a_line_add_up() -> None:
    (block,) = read(b"id: \xff\0\nretry: \xff\n\n")
    assert [field.faults for field in block.fields] == [("invalid_utf8", "nul"), ("invalid_utf8", "not_digits")]


def test_the_leading_bom_is_told_of_the_first_block_only() -> None:
    reader = EventStreamReader()
    blocks = read_with(reader, [BOM[:1], BOM[1:2], BOM[2:] + b"\n\n: a\n\ndata: b\n\n"])
    assert reader.had_bom
    assert [(b.leading_bom, b.misplaced_bom, b.start) for b in blocks] == [(True, False, 5), (False, False, 10)]


@pytest.mark.parametrize("head", [BOM[:1], BOM[:2]])
def test_a_stream_that_ends_inside_its_bom(head: bytes) -> None:
    reader = EventStreamReader()
    (tail,) = read_with(reader, bytewise(head))
    assert (tail.raw, tail.complete, tail.invalid_utf8, reader.had_bom) == (head, False, False, False)
    assert (tail.first_chunk, tail.last_chunk) == (0, len(head) - 1)
    assert tail.fields == (Field("ignored", "�", ""),)


@pytest.mark.parametrize(
    ("stream", "kinds", "cut_in_line"),
    [
        (b"data: a\n\n", None, False),
        (b"data: a\n\n\n\n\r\n", None, False),
        (BOM, None, False),
        (b"data: a\n", ["data"], False),
        (b"data: a\r", ["data"], False),
        (b"id: 1\ndata: {", ["id", "data"], True),
        (b"data: a\n\n: bye\n", ["comment"], False),
        (b"data: a\n\n:", ["comment"], True),
        (b"dat", ["ignored"], True),
    ],
)
def test_the_tail(stream: bytes, kinds: list[str] | None, cut_in_line: bool) -> None:
    reader = EventStreamReader()
    reader.feed(stream, chunk=0)
    tail = reader.end()
    assert (tail and [field.kind for field in tail.fields]) == kinds
    if tail:
        assert (tail.complete, tail.dispatched, tail.id, tail.cut_in_line) == (False, False, None, cut_in_line)


def test_a_cut_line_is_shown_and_counts_for_nothing() -> None:
    stream = b"event: a\nretry: 1\ndata: x\n"
    for cut_line, shown in (
        (b"event: b", Field("event", "event", "b")),
        (b"retry: 2", Field("retry", "retry", "2")),
        (b"retry", Field("retry", "retry", "")),
        (b"id: \0", Field("id", "id", "\0")),
        (b"data: \xe2\x82", Field("data", "data", "\ufffd")),
    ):
        (tail,) = read(stream + cut_line)
        assert tail.fields[-1] == shown
        assert (tail.event_type, tail.retry_ms, tail.data, tail.invalid_utf8) == ("a", 1, "x", False)
        assert (tail.id_has_nul, tail.retry_invalid) == (False, None)


def test_which_line_ends_occur() -> None:
    blocks = read(b"a: 1\n\nb: 1\r\nb: 2\r\r\nc: 1\r\n\r\nd: 1\n\r\ne")
    assert [block.line_ends for block in blocks] == [{"\n"}, {"\r\n", "\r"}, {"\r\n"}, {"\n"}, frozenset()]


@pytest.mark.parametrize(
    ("stream", "indexes"),
    [
        (b"data: a\n\ndata: b\n\n", [0, 1]),
        (b": c\n\ndata: b\n\n", [0, 1]),
        (b"data: a\n\n\ndata: b\n\n", [0, 1]),
        (b"data: a\n\n\n\ndata: b\n\n", [0, 2]),
        (b"data: a\n\n\n\n\ndata: b\n\n", [0, 2]),
        (b"\ndata: a\n\n", [0]),
        (b"\n\ndata: a\n\n", [1]),
        (b"\r\n\r\ndata: a\r\n\r\n\r\n\r\ndata: b", [1, 3]),
        (BOM + b"\n\ndata: a\n\n", [1]),
        (b"\r\r\n\n\rdata: a\n\n", [2]),
    ],
)
def test_finding_paths_count_blocks_and_empty_parts(stream: bytes, indexes: list[int]) -> None:
    for chunks in ([stream], bytewise(stream)):
        blocks = read(*chunks)
        assert [block.event_index for block in blocks] == indexes
        assert [block.index for block in blocks] == list(range(len(indexes)))


def test_chunk_numbers_and_offsets() -> None:
    chunks = [b"\xef", b"\xbb\xbf\n\nda", b"ta: a\n", b"\ndata: b\n\ndata: ", b"c\r", b"\r", b"\n", b"data: d"]
    blocks = read(*chunks)
    stream = b"".join(chunks)
    assert [(b.first_chunk, b.last_chunk) for b in blocks] == [(1, 3), (3, 3), (3, 5), (7, 7)]
    assert [stream[b.start : b.end] for b in blocks] == [b.raw for b in blocks]
    assert [b.raw for b in blocks] == [b"data: a\n\n", b"data: b\n\n", b"data: c\r\r", b"data: d"]


def test_the_first_chunk_of_a_block_that_begins_like_a_bom() -> None:
    (block,) = read(b"\xef", b"\xbb", b"x\n\n")
    assert (block.first_chunk, block.last_chunk, block.start) == (0, 2, 0)


def test_several_pieces_of_one_chunk() -> None:
    reader = EventStreamReader()
    assert reader.feed(b"", chunk=4) == []
    assert reader.feed(b"data: a", chunk=4) == []
    (block,) = reader.feed(b"\n\n", chunk=4)
    assert (block.first_chunk, block.last_chunk, block.data) == (4, 4, "a")


@pytest.mark.parametrize("blank", [b"\n\n", b"\r\r", b"\n\r", b"\r\n\r", b"\r\n\n"])
def test_an_event_does_not_wait_for_the_next_chunk(blank: bytes) -> None:
    reader = EventStreamReader()
    stream = b"id: 1\ndata: x" + blank
    assert [len(reader.feed(data, chunk=0)) for data in bytewise(stream)] == [0] * (len(stream) - 1) + [1]
    assert reader.last_event_id == "1"
    # An LF that comes late belongs to the CR: it opens no block, and ends none.
    assert reader.feed(b"\n", chunk=1) == []
    assert reader.settled == reader.offset
    (second,) = reader.feed(b"data: y\n\n", chunk=2)
    assert (second.data, second.index, second.event_index) == ("y", 1, 1)


def test_the_cursor_moves_only_at_the_blank_line() -> None:
    reader = EventStreamReader()
    seen = []
    for data in bytewise(b"id: 1\n\nid: 2\ndata:\n\nid: 3\n"):
        reader.feed(data, chunk=0)
        seen.append(reader.last_event_id)
    assert "".join(cursor or "-" for cursor in seen) == "------1" + "1" * 12 + "2" * 7
    assert reader.end() is not None
    assert reader.last_event_id == "2"


def test_settled_is_the_start_of_what_is_still_open() -> None:
    reader = EventStreamReader()
    stream = BOM + b"\ndata: a\n\n\r\n:b"
    settled = []
    for data in bytewise(stream):
        reader.feed(data, chunk=0)
        settled.append(reader.settled)
    assert settled == [0, 0, 3, 4, *[4] * 8, 13, 14, 15, 15, 15]


def test_split_lines_loses_nothing() -> None:
    raw = b"a\r\nb\rc\n\n\x85d"
    assert list(split_lines(raw)) == [(b"a", b"\r\n"), (b"b", b"\r"), (b"c", b"\n"), (b"", b"\n"), (b"\x85d", b"")]
    assert b"".join(line + end for line, end in split_lines(raw)) == raw


# --- the standard's algorithm, word for word and slowly ---------------------------------------------------------------


@dataclass
class Event:
    type: str
    data: str
    last_event_id: str


class Standard:
    """WHATWG HTML 9.2.6 on a whole text: three buffers, one line at a time."""

    def __init__(self, stream: bytes) -> None:
        text = stream.decode("utf-8", "replace")
        if text.startswith("\ufeff"):
            text = text[1:]
        self.events: list[Event] = []
        self.last_event_id = ""
        self.reconnection_time: int | None = None
        self.data = self.type = self.id_buffer = ""
        for line in self.lines(text):
            self.line(line)
        normalised = text.replace("\r\n", "\n").replace("\r", "\n")
        parts = normalised.split("\n\n")
        self.block_numbers = [number for number, part in enumerate(parts) if part.strip("\n")]
        self.blocks = [parts[number].strip("\n").split("\n") for number in self.block_numbers]
        self.has_tail = bool(parts[-1].strip("\n"))

    @staticmethod
    def lines(text: str) -> Iterator[str]:
        line = ""
        position = 0
        while position < len(text):
            if text[position] in "\r\n":
                yield line
                line = ""
                position += 2 if text[position : position + 2] == "\r\n" else 1
            else:
                line += text[position]
                position += 1

    def line(self, line: str) -> None:
        if line == "":
            self.dispatch()
        elif line[0] == ":":
            pass
        elif ":" in line:
            colon = line.index(":")
            value = line[colon + 1 :]
            self.field(line[:colon], value[1:] if value.startswith(" ") else value)
        else:
            self.field(line, "")

    def field(self, name: str, value: str) -> None:
        if name == "event":
            self.type = value
        elif name == "data":
            self.data += value + "\n"
        elif name == "id":
            if "\0" not in value:
                self.id_buffer = value
        elif name == "retry" and re.fullmatch("[0-9]+", value):
            self.reconnection_time = int(value)

    def dispatch(self) -> None:
        self.last_event_id = self.id_buffer
        if self.data != "":
            self.events.append(Event(self.type or "message", self.data.removesuffix("\n"), self.last_event_id))
        self.data = self.type = ""


PARTS = st.sampled_from(
    [
        *(b"data", b"event", b"id", b"retry", b"x", b":", b": ", b" ", b"1", b"23", b"\0", b"data: {}", b"id: 7"),
        *(b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n", b"\n", b"\n\n"),
        *(BOM, b"\xef", b"\xbb", b"\xbf", b"\xff", b"\xe2\x82", b"\xac", "é✓𝄞".encode(), b"\xc2\x85", b"\xe2\x80\xa8"),
    ]
)
STREAMS = st.lists(PARTS, max_size=40).map(b"".join)
PLACES = st.lists(st.integers(min_value=0, max_value=400), max_size=12)


@given(STREAMS)
@example(b"\xef\xbb")
@example(BOM + b"\r\r\n\ndata\r")
def test_the_reader_agrees_with_the_standard(stream: bytes) -> None:
    standard = Standard(stream)
    reader = EventStreamReader()
    blocks = read_with(reader, [stream])
    assert [Event(b.event_type, b.data or "", b.last_event_id) for b in blocks if b.dispatched] == standard.events
    assert reader.last_event_id == standard.last_event_id
    assert reader.retry_ms == standard.reconnection_time
    assert [b.event_index for b in blocks] == standard.block_numbers
    assert [not b.complete for b in blocks] == [False] * (len(blocks) - 1) + [standard.has_tail] if blocks else True
    lines = [[f.name if f.name and not f.value else f"{f.name}:{f.value}" for f in b.fields] for b in blocks]
    assert lines == [[squeezed(line) for line in block] for block in standard.blocks]


def squeezed(line: str) -> str:
    """A line as its name and value determine it."""
    name, _, value = line.partition(":")
    value = value.removeprefix(" ")
    return name if name and not value else f"{name}:{value}"


@given(STREAMS, PLACES)
@example(b"data: a\r\n\r\ndata: b\r\n\r\n", list(range(30)))
@example(BOM + "data: é✓𝄞\n\n".encode(), list(range(30)))
def test_blocks_do_not_depend_on_the_cut(stream: bytes, places: list[int]) -> None:
    whole = meanings(read(stream))
    assert meanings(read(*bytewise(stream))) == whole
    assert meanings(read(*cut(stream, places))) == whole


@given(st.lists(st.sampled_from([b"data: a", b"id: 1", b": c", b"event: e", b"", b"", b"retry: 1"]), max_size=20))
def test_lines_mean_the_same_whatever_ends_them(lines: list[bytes]) -> None:
    views = []
    for end in (b"\n", b"\r", b"\r\n"):
        for chunks in ([b"".join(line + end for line in lines)], [line + end for line in lines]):
            views.append([(b.event_index, b.fields, b.data, b.id, b.complete) for b in read(*chunks)])
    assert all(view == views[0] for view in views)


@given(STREAMS, PLACES)
def test_blocks_cover_the_stream_except_blank_lines_and_the_bom(stream: bytes, places: list[int]) -> None:
    chunks = cut(stream, places)
    edges = [sum(map(len, chunks[:number])) for number in range(len(chunks) + 1)]
    position = 0
    for block in read(*chunks):
        gap = stream[position : block.start]
        assert (gap.removeprefix(BOM) if position == 0 else gap).strip(b"\r\n") == b""
        assert block.raw == stream[block.start : block.end] != b""
        assert edges[block.first_chunk] <= block.start < edges[block.first_chunk + 1]
        assert edges[block.last_chunk] < block.end <= edges[block.last_chunk + 1]
        position = block.end
    gap = stream[position:]
    assert (gap.removeprefix(BOM) if position == 0 else gap).strip(b"\r\n") == b""


@given(STREAMS, PLACES)
def test_every_block_comes_with_the_byte_that_completes_it(stream: bytes, places: list[int]) -> None:
    reader = EventStreamReader()
    fed = 0
    for number, data in enumerate(cut(stream, places)):
        fed += len(data)
        blocks = reader.feed(data, chunk=number)
        assert all(fed - len(data) < block.end <= fed for block in blocks)
        assert reader.offset == fed
        assert all(byte in b"\r\n" for byte in stream[blocks[-1].end : reader.settled]) if blocks else True
    complete = [block for block in read(stream) if block.complete]
    assert [b.end for b in complete] == sorted(b.end for b in complete)


@given(st.binary(max_size=300), PLACES)
def test_no_bytes_make_it_raise(stream: bytes, places: list[int]) -> None:
    assert meanings(read(*cut(stream, places))) == meanings(read(stream))


# --- too large --------------------------------------------------------------------------------------------------------


@contextmanager
def limits(event_bytes: int, event_lines: int = 1000, kept_line_bytes: int = 1000) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sse, "MAX_EVENT_BYTES", event_bytes)
        patch.setattr(sse, "MAX_EVENT_LINES", event_lines)
        patch.setattr(sse, "MAX_KEPT_LINE_BYTES", kept_line_bytes)
        yield


def test_a_block_that_is_too_large_is_not_kept_but_still_counts() -> None:
    stream = (
        b"data: a\n\n"
        b"id: 7\nevent: e\nretry: x\ndata: " + b"x" * 100 + b"\nretry: 9\nid: 8\nid: \0\nfoo: bar\n\n"
        b"data: c\n\n"
    )
    for chunks in ([stream], bytewise(stream), cut(stream, [30, 60])):
        reader = EventStreamReader()
        with limits(64):
            before, large, after = read_with(reader, chunks)
        assert (before.too_large, large.too_large, after.too_large) == (False, True, False)
        assert (large.raw, large.data, large.start, large.end) == (b"", None, 9, len(stream) - 9)
        assert (large.id, large.id_has_nul, large.event_type) == ("8", True, "e")
        assert (large.retry_ms, large.retry_invalid) == (9, None)
        assert (large.dispatched, large.complete) == (True, True)
        assert (after.data, after.last_event_id, after.event_index) == ("c", "8", 2)
        assert (reader.last_event_id, reader.retry_ms) == ("8", 9)


@pytest.mark.parametrize(("size", "too_large"), [(63, False), (64, False), (65, True)])
def test_the_limit_counts_the_whole_block(size: int, too_large: bool) -> None:
    stream = b"data: ".ljust(size - 2, b"x") + b"\n\n"
    for chunks in ([stream], bytewise(stream), [stream[:-1], b"\n"], [stream[:10], stream[10:]]):
        with limits(64):
            (block,) = read(*chunks)
        assert (block.too_large, block.raw == stream, block.end) == (too_large, not too_large, size)


@pytest.mark.parametrize(("lines", "too_large"), [(9, False), (10, True)])
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_the_limit_of_lines(lines: int, too_large: bool, end: bytes) -> None:
    stream = (b"data" + end) * lines + end
    for chunks in ([stream], bytewise(stream)):
        with limits(1000, event_lines=10):
            (block,) = read(*chunks)
        assert (block.too_large, block.dispatched, len(block.fields)) == (too_large, True, 1 if too_large else lines)


def test_a_long_line_of_a_large_block_is_forgotten() -> None:
    stream = b"id: 1\nid: " + b"2" * 70 + b"\nevent: " + b"e" * 70 + b"\nretry: 5\ndata: " + b"x" * 70 + b"\n\n"
    for chunks in ([stream], bytewise(stream)):
        with limits(64, kept_line_bytes=20):
            (block,) = read(*chunks)
        assert (block.id, block.event_type, block.retry_ms, block.dispatched) == ("1", "message", 5, True)


@pytest.mark.parametrize(("values", "invalid"), [("x 9 y", "y"), ("x 9", None), ("9 x 8", None), ("x y 9 z", "z")])
def test_the_last_retry_of_a_large_block_decides(values: str, invalid: str | None) -> None:
    stream = "".join(f"retry: {value}\n" for value in values.split()).encode() + b"\n"
    with limits(8):
        (block,) = read(stream)
    assert (block.too_large, block.retry_invalid) == (True, invalid)


def test_a_tail_that_is_too_large() -> None:
    reader = EventStreamReader()
    with limits(16):
        (tail,) = read_with(reader, [b"id: 1\nretry: 5\nretry: 6", b"7\ndata: x\ndata: y\nid: 2"])
    assert (tail.too_large, tail.complete, tail.dispatched, tail.id, tail.retry_ms) == (True, False, False, None, 67)
    assert (reader.last_event_id, reader.retry_ms, tail.cut_in_line) == ("", 67, False)


@given(STREAMS, PLACES, st.integers(min_value=1, max_value=30), st.integers(min_value=1, max_value=4))
def test_limits_do_not_depend_on_the_cut(stream: bytes, places: list[int], event_bytes: int, lines: int) -> None:
    with limits(event_bytes, event_lines=lines, kept_line_bytes=8):
        whole = meanings(read(stream))
        assert meanings(read(*bytewise(stream))) == whole
        assert meanings(read(*cut(stream, places))) == whole


@given(STREAMS)
@example(b"retry\nretry")
def test_limits_leave_the_state_of_the_client_alone(stream: bytes) -> None:
    free, limited = EventStreamReader(), EventStreamReader()
    expected = read_with(free, [stream])
    with limits(4, event_lines=1):
        blocks = read_with(limited, [stream])
    assert (limited.last_event_id, limited.retry_ms) == (free.last_event_id, free.retry_ms)
    for block, other in zip(blocks, expected, strict=True):
        assert (block.id, block.event_type, block.dispatched) == (other.id, other.event_type, other.dispatched)
        assert (block.id_has_nul, block.retry_ms, block.retry_invalid) == (
            other.id_has_nul,
            other.retry_ms,
            other.retry_invalid,
        )
        assert (block.start, block.end, block.event_index) == (other.start, other.end, other.event_index)


# --- work and memory --------------------------------------------------------------------------------------------------


class CountingBuffer(bytearray):
    """Counts the bytes that are written into the pending block."""

    written = 0

    def __iadd__(self, data: Any) -> CountingBuffer:  # type: ignore[misc]
        self.written += len(data)
        super().__iadd__(data)
        return self


def calls_while(run: Any) -> int:
    """How many functions, of Python and of C, are entered meanwhile: a measure of work without a clock."""
    count = 0

    def profile(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "stream",
    [b"data: " + b"x" * 2**15, b"data: x\n" * 2**12, b"\n" * 2**15, b"data: x\n\n" * 2**12, b"d\r" * 2**14],
    ids=["one line", "many lines", "blank lines", "many events", "CR lines"],
)
def test_twice_the_bytes_are_twice_the_work(stream: bytes) -> None:
    once = calls_while(lambda: read(*bytewise(stream)))
    twice = calls_while(lambda: read(*bytewise(stream * 2)))
    assert twice <= 2.1 * once


def test_each_byte_of_an_open_block_is_written_once() -> None:
    reader = EventStreamReader()
    buffer = CountingBuffer()
    reader._pending = buffer
    stream = b"data: " + b"x" * 2**18 + b"\n"
    for data in bytewise(stream):
        reader.feed(data, chunk=0)
    assert buffer.written == len(stream)
    (block,) = reader.feed(b"\n", chunk=0)
    assert block.raw == stream + b"\n"


def peak_memory(chunks: Iterator[bytes]) -> int:
    reader = EventStreamReader()
    tracemalloc.start()
    try:
        for data in chunks:
            reader.feed(data, chunk=0)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


MIB = 1024 * 1024


def test_an_endless_event_needs_bounded_memory() -> None:
    line = b"data: " + b"x" * MIB + b"\n"
    assert peak_memory(line for _ in range(64)) < 3 * sse.MAX_EVENT_BYTES


def test_an_endless_line_needs_bounded_memory() -> None:
    part = b"x" * MIB
    assert peak_memory(part for _ in range(64)) < 3 * sse.MAX_EVENT_BYTES


def test_blank_lines_and_events_leave_nothing_behind() -> None:
    assert peak_memory(b"\n" * 4096 for _ in range(1000)) < MIB
    assert peak_memory(b"data: x\n\n" for _ in range(20_000)) < MIB


def test_bytewise_feeding_of_a_large_event_needs_no_more_than_the_event() -> None:
    one = b"x"
    assert peak_memory(one for _ in range(MIB // 8)) < 3 * MIB // 8
