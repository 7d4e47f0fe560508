"""A redacted event stream: the same blocks, fields and verdicts, cut where the original was cut."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wire.privacy import stream_redaction
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.wire import sse
from mcp_wire.wire.observation import Ended, ExchangeEnded, ResponseBody, ResponseChunk
from mcp_wire.wire.sse import Block, EventStreamReader
from mcp_wire.wire.strict_json import read_json
from tests.privacy.conversations import STREAMS, answered_by_stream, chunks_of, cut, redact, redact_stream

KNOWN_FIELDS = {"data", "event", "id", "retry", ""}


def blocks_of(chunks: Sequence[bytes]) -> list[Block]:
    reader = EventStreamReader()
    blocks = [block for number, data in enumerate(chunks) for block in reader.feed(data, chunk=number)]
    tail = reader.end()
    return [*blocks, tail] if tail else blocks


def structure(block: Block) -> tuple[Any, ...]:
    """What a verdict could hang on, values left aside."""
    json = read_json(block.data) if block.dispatched and block.data else None
    return (
        block.index,
        block.event_index,
        block.complete,
        block.dispatched,
        block.leading_bom,
        block.line_ends,
        block.invalid_utf8,
        block.misplaced_bom,
        block.id_has_nul,
        block.retry_ms,
        block.retry_invalid is None,
        block.cut_in_line,
        block.event_type == "message",
        block.data is None or not block.data,
        (block.id is None, block.id == ""),
        tuple((field.kind, field.name if field.name in KNOWN_FIELDS else None, field.faults) for field in block.fields),
        # Where there is no JSON at all, what else is wrong with it goes with the text.
        json and (json.has("syntax") or {fault.kind for fault in json.faults}, type(json.value)),
    )


def equalities(values: Sequence[str | None]) -> list[bool]:
    return [one == other for one, other in itertools.combinations(values, 2)]


LINES = st.one_of(
    st.sampled_from(
        [
            b"data: {}",
            b'data: {"jsonrpc":"2.0","id":1,"result":{"a":"secret"}}',
            b'data: {"a":',
            b'data: "secret"}',
            'data: {"jsonrpc": "2.0", "method": "x", "params": ["é☃", "\\u00e9", 1.5]}'.encode(),
            b'data: {"a": NaN, "a": 1e999}',
            b'data: "\\ud800"',
            b"data",
            b"data:",
            b"data: ",
            b"data:  x",
            b"data: secret \xff\xfe",
            "data: é☃😀".encode(),
            b"event: message",
            b"event: secret",
            b"event",
            b"id: 1",
            b"id: 2",
            b"id:",
            b"id: a\0b",
            "id: é".encode(),
            b"id: \xff",
            b"id: \xfe",
            b"retry: 1000",
            b"retry: 1s",
            b"retry: secret",
            b"retry:",
            b"retry: 99999999999999999999999999",
            b": secret",
            b":",
            b": ping",
            b'{"jsonrpc": "2.0"}',
            b"secret",
            b"Data: secret",
            "\ufeffdata: secret".encode(),
            "\ufeffid: 1".encode(),
            b"",
            b"",
            b"",
        ]
    ),
    st.binary(max_size=6).map(lambda raw: raw.replace(b"\r", b"").replace(b"\n", b"")),
)
STREAM = st.builds(
    lambda bom, lines, last: bom + b"".join(line + end for line, end in lines) + last,
    st.sampled_from([b"", "\ufeff".encode(), b"\xef\xbb"]),
    st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"])), max_size=14),
    st.sampled_from([b"", b"\n\n", b"data", b"data: x", b"ret"]),
)
CUTS = st.lists(st.integers(0, 400), max_size=10)


@given(STREAM, CUTS)
@settings(max_examples=300)
def test_blocks_keep_their_structure(stream: bytes, cuts: list[int]) -> None:
    chunks = cut(stream, cuts)
    redacted = redact_stream(chunks)
    assert len(redacted) == len(chunks)
    before, after = blocks_of(chunks), blocks_of(redacted)
    assert [structure(block) for block in after] == [structure(block) for block in before]
    assert equalities([block.id for block in after]) == equalities([block.id for block in before])
    assert equalities([block.last_event_id for block in after]) == equalities([block.last_event_id for block in before])
    dispatched = [(block.data, other.data) for block, other in zip(before, after, strict=True) if block.dispatched]
    assert equalities([data for _, data in dispatched]) == equalities([data for data, _ in dispatched])


@given(STREAM, CUTS)
@settings(max_examples=200)
def test_redacting_twice_changes_nothing(stream: bytes, cuts: list[int]) -> None:
    once = redact_stream(cut(stream, cuts))
    assert redact_stream(once) == once


@given(STREAM, CUTS)
@settings(max_examples=300)
def test_the_cuts_do_not_change_the_text(stream: bytes, cuts: list[int]) -> None:
    assert b"".join(redact_stream(cut(stream, cuts))) == b"".join(redact_stream([stream]))


def places(stream: bytes, position: int) -> tuple[bool, ...]:
    """What kind of place a boundary is in."""
    before, after = stream[:position], stream[position:]
    return (
        before[-1:] == b"\r" and after[:1] == b"\n",
        before[-1:] not in (b"", b"\r", b"\n") and after[:1] not in (b"", b"\r", b"\n"),
        0x80 <= (after[:1] or b"\0")[0] < 0xC0,
        before.count(b'"') % 2 == 1,
    )


CUTTABLE = (
    'event: message\r\nid: 17é\r\ndata: {"jsonrpc":"2.0","id":5,\r\ndata:"result":{"naïve key":"some text ☃",'
    '"n":123456,"f":1.25}}\r\n\r\n: a comment ☃\r\n\r\n'
).encode()


@pytest.mark.parametrize("position", range(1, len(CUTTABLE)))
def test_a_boundary_stays_one_of_its_kind(position: int) -> None:
    first, second = redact_stream([CUTTABLE[:position], CUTTABLE[position:]])
    assert places(first + second, len(first)) == places(CUTTABLE, position)
    assert first.count(b"\r\n") == CUTTABLE[:position].count(b"\r\n")


def test_a_boundary_inside_a_token_is_inside_the_same_token() -> None:
    stream = b'data: {"first":"aaaaaaaaaaaaaaaaaaaa","second":"bbbbbbbbbbbbbbbbbbbb"}\n\n'
    at = stream.index(b"bbbb") + 10
    assert redact_stream([stream[:at], stream[at:]]) == [
        b'data: {"name-1":"redacted-1","name-2":"redac',
        b'ted-2"}\n\n',
    ]


def test_whitespace_and_layout_stay() -> None:
    stream = b'data: {\ndata:   "id" : 1 ,\ndata:\t"x":[ true,null ] }\nid:7\n\n'
    assert redact_stream([stream]) == [b'data: {\ndata:   "id" : 1 ,\ndata:\t"name-1":[ true,null ] }\nid:cursor-1\n\n']


@pytest.mark.parametrize(
    ("stream", "redacted"),
    [
        (b": keep-alive\n\n", b": keep-alive\n\n"),
        (b": ping - 2025-06-01 10:00\n\n", b": redacted-1\n\n"),
        (
            b"event: endpoint\ndata: /messages?sessionId=abc\n\n",
            b"event: endpoint\ndata: /messages?sessionId=redacted-1\n\n",
        ),
        (b"id: abc\ndata:\n\nid: abc\ndata:\n\n", b"id: cursor-1\ndata:\n\nid: cursor-1\ndata:\n\n"),
        (b"id: a\0b\n\n", b"id: cursor-1\0\n\n"),
        (b"retry: 3000\n\n", b"retry: 3000\n\n"),
        (b"retry: 3s\n\n", b"retry: 3s\n\n"),
        (b"retry: soon\n\n", b"retry: redacted-1\n\n"),
        (b'{"id": 1}\n\n', b"redacted-1: redacted-2\n\n"),
        (b"data: {oops\n\n", b"data: redacted-1\n\n"),
        (b"data: abc\nid: 1", b"data: redacted-1\nid: cursor-1"),
        (b"data: \xff\n\n", b"data: redacted-1\xff\n\n"),
        (b"data: \n\n", b"data: \n\n"),
    ],
)
def test_lines(stream: bytes, redacted: bytes) -> None:
    assert redact_stream([stream]) == [redacted]


def test_chunks_come_when_their_blocks_are_complete() -> None:
    redactor = Redactor()
    observations = answered_by_stream([b"data: ", b"1\n", b"\ndata: 2", b"\n\n", b"", b": x"])
    told = [[one.data for one in redactor.feed(seen) if isinstance(one, ResponseChunk)] for seen in observations]
    assert told[2:] == [
        [],
        [],
        [b"data: ", b"1000000000001\n"],
        [b"\ndata: 1000000000002", b"\n\n"],
        [b""],
        [],
        [b": redacted-1"],
    ]


def test_times_and_order_stay() -> None:
    chunks = [b"da", b"ta: {", b"}\n\n: ", b"x\n\n"]
    times = [(one.t_ms, one.exchange) for one in redact(answered_by_stream(chunks)) if isinstance(one, ResponseChunk)]
    assert times == [(0.0, "x-1"), (1.0, "x-1"), (2.0, "x-1"), (3.0, "x-1")]


def test_streams_share_their_labels() -> None:
    first = answered_by_stream([b"id: abc\ndata:\n\n"], "x-1")
    second = answered_by_stream([b"id: abc\ndata:\n\nid: abd\n\n"], "x-2")
    interleaved = [one for pair in zip(first, second, strict=True) for one in pair]
    assert chunks_of(redact(interleaved)) == [b"id: cursor-1\ndata:\n\n", b"id: cursor-1\ndata:\n\nid: cursor-2\n\n"]


@pytest.mark.parametrize("number", range(len(STREAMS)))
def test_byte_by_byte(number: int) -> None:
    stream = STREAMS[number]("s3cr3t").encode()
    chunks = [stream[at : at + 1] for at in range(len(stream))]
    redacted = redact_stream(chunks)
    assert len(redacted) == len(chunks)
    assert b"".join(redacted) == b"".join(redact_stream([stream]))


def given_up(chunks: list[bytes]) -> tuple[list[bytes], list[str | None]]:
    """The chunks that come out, and what is said of what was not captured."""
    redacted = redact(answered_by_stream(chunks))
    absences = [one.body.absence for one in redacted if isinstance(one, ResponseBody)]
    return chunks_of(redacted), absences


TOO_LARGE = ["an event of the stream is larger than this tool reads"]


def test_from_a_block_that_is_too_large_on_a_stream_is_not_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 2_000)
    before, after = b"data: {}\n\n", b"data: {}\n\n"
    large = [b"id: abc\nretry: 7\ndata: "] + [b"s3cr3t" * 10] * 100 + [b"\n\n"]
    chunks, absences = given_up([before, *large, after])
    assert chunks == [before] + [b""] * len(large)
    assert absences == TOO_LARGE


def test_a_block_that_would_become_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_redaction, "MAX_EVENT_BYTES", 2_000)
    chunks, absences = given_up([b"id: abc\ndata: [", b"1,", *(b"2," for _ in range(500)), b"3]\n\n"])
    assert b"".join(chunks) == b""
    assert absences == TOO_LARGE


def test_a_tail_that_is_too_large_is_not_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 2_000)
    chunks, absences = given_up([b"id: abc\ndata: " + b"s3cr3t" * 1000])
    assert chunks == [b""]
    assert absences == TOO_LARGE


def test_very_many_chunks_of_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_redaction, "MAX_WAITING_CHUNKS", 10)
    chunks = [b"data: "] + [b"x"] * 100 + [b"\n\n"]
    redacted = redact_stream(chunks)
    assert len(redacted) == len(chunks)
    assert b"".join(redacted) == b"data: redacted-1\n\n"


def test_memory_does_not_grow_with_the_stream() -> None:
    redactor = Redactor()
    start, *_ = answered_by_stream([])
    redactor.feed(start)
    event = b'id: %d\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}\n\n'
    tracemalloc.start()
    for number in range(3_000):
        redactor.feed(ResponseChunk("x-1", None, event % (number % 50)))
    before, _ = tracemalloc.get_traced_memory()
    for number in range(3_000):
        redactor.feed(ResponseChunk("x-1", None, event % (number % 50)))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 100_000
    assert redactor.feed(ExchangeEnded("x-1", None, Ended.COMPLETE)) == [ExchangeEnded("x-1", None, Ended.COMPLETE)]
