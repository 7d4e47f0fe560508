"""`mcp-conformance resplit`: other chunks and line ends, and the same is found."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_wire.cli.main import main
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import read_document
from mcp_wire.transcript.recutting import JOIN_WITHIN_MS, Cut, at_random, bytewise, linewise, with_line_ends
from mcp_wire.transcript.rewriting import redacted_exchanges, redacted_header
from mcp_wire.transcript.writing import transcript_parts
from mcp_wire.validation import validate
from mcp_wire.wire.observation import ResponseChunk
from mcp_wire.wire.sse import EventStreamReader
from tests.privacy.test_verdicts_survive import TRANSCRIPTS, document_of

type Json = dict[str, Any]

STREAMED = [path for path in TRANSCRIPTS if '"chunks"' in path.read_text()]
WAYS: dict[str, Cut] = {"bytewise": bytewise, "lines": linewise}

chunks_of_bytes = st.lists(
    st.lists(
        st.sampled_from([b"data: {}", b"\n", b"\r", b"\r\n", b"id: 1", b": c", b"\xe2\x82", b"\xac", b"x"]), max_size=6
    ).map(b"".join),
    max_size=6,
)


def chunked(pieces: Sequence[bytes], times: Sequence[float | None] | None = None) -> list[ResponseChunk]:
    return [ResponseChunk("x-1", times[number] if times else None, data) for number, data in enumerate(pieces)]


def joined(chunks: Sequence[ResponseChunk]) -> bytes:
    return b"".join(chunk.data for chunk in chunks)


def events(chunks: Sequence[ResponseChunk]) -> list[tuple[object, ...]]:
    """What a client gets, and when."""
    reader = EventStreamReader()
    return [
        (chunk.t_ms, block.data, block.event_type, block.id, block.comments, block.event_index)
        for number, chunk in enumerate(chunks)
        for block in reader.feed(chunk.data, chunk=number)
    ]


@given(chunks_of_bytes, st.integers(0, 2**32), st.booleans())
def test_octets_stay(pieces: list[bytes], seed: int, joining: bool) -> None:
    chunks = chunked(pieces)
    for cut in (bytewise, linewise, at_random(random.Random(seed).random, (), joining=joining)):
        assert joined(list(cut(chunks))) == joined(chunks)


@given(chunks_of_bytes)
def test_one_octet_a_chunk(pieces: list[bytes]) -> None:
    assert all(len(chunk.data) <= 1 for chunk in bytewise(chunked(pieces)))


@given(chunks_of_bytes)
@example([b"\r", b"", b"\n"])
def test_one_line_a_chunk(pieces: list[bytes]) -> None:
    lines = [chunk.data for chunk in linewise(chunked(pieces)) if chunk.data]
    assert all(re.fullmatch(rb"[^\r\n]*(?:\r\n|\r|\n)", line) for line in lines[:-1])
    assert lines == re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", joined(chunked(pieces)))


@given(chunks_of_bytes, st.sampled_from(["cr", "lf", "crlf"]))
def test_line_ends_change_and_nothing_else(pieces: list[bytes], line_end: Any) -> None:
    chunks = chunked(pieces, [float(number) for number in range(len(pieces))])
    changed = list(with_line_ends(line_end)(chunks))
    wanted = {"cr": b"\r", "lf": b"\n", "crlf": b"\r\n"}[line_end]
    assert joined(changed) == re.sub(rb"\r\n|\r|\n", wanted, joined(chunks))
    assert [chunk.t_ms for chunk in changed] == [chunk.t_ms for chunk in chunks]
    assert list(with_line_ends(line_end)(changed)) == changed
    assert [event[:-1] for event in events(changed)] == [event[:-1] for event in events(chunks)]


@given(chunks_of_bytes, st.integers(0, 2**32), st.lists(st.floats(0, 20), min_size=6, max_size=6))
def test_times_stay_but_for_what_is_joined(pieces: list[bytes], seed: int, gaps: list[float]) -> None:
    times = [sum(gaps[: number + 1]) for number in range(len(pieces))]
    chunks = chunked(pieces, times)
    strictly = list(at_random(random.Random(seed).random, (), joining=False)(chunks))
    assert events(strictly) == events(chunks)
    assert {chunk.t_ms for chunk in strictly} == set(times)
    loosely = list(at_random(random.Random(seed).random, ())(chunks))
    for (early, *what), (late, *same) in zip(events(chunks), events(loosely), strict=True):
        assert what == same
        assert isinstance(early, float) and isinstance(late, float)
        assert early <= late <= early + JOIN_WITHIN_MS
    assert [chunk.t_ms for chunk in loosely[:1]] == times[:1]


def test_nothing_is_joined_across_what_another_exchange_shows() -> None:
    chunks = chunked([b"a", b"b", b"c", b"d"], [0.0, 1.0, 2.0, 3.0])
    for seed in range(50):
        random_cut = at_random(random.Random(seed).random, [1.5])
        assert not any(b"bc" in chunk.data for chunk in random_cut(chunks))
    pieces = {chunk.data for seed in range(50) for chunk in at_random(random.Random(seed).random, [5.0])(chunks)}
    assert b"bc" in pieces


# What is found in it


def verdict(document: Document) -> list[tuple[str, str, str, int]]:
    return sorted((one.code, one.level, one.path, one.count) for one in validate(document).findings)


def written(path: Path, tmp_path: Path) -> Path:
    """A transcript as a file of its own, redacted, so that only what resplit does is looked at."""
    document = document_of(path)
    redactor = Redactor()
    exchanges = redacted_exchanges(document, redactor)
    copy = tmp_path / "transcript.json"
    copy.write_text("".join(transcript_parts(redacted_header(document, redactor), exchanges)))
    return copy


@pytest.mark.parametrize(
    "options",
    [
        ["--seed", "1"],
        ["--crlf", "cr"],
        *(
            pytest.param(options, marks=pytest.mark.slow)
            for options in (
                ["--seed", "20260728"],
                ["--bytewise"],
                ["--lines"],
                ["--crlf", "lf"],
                ["--crlf", "crlf", "--bytewise"],
            )
        ),
    ],
    ids="".join,
)
def test_the_same_is_found_in_every_case_and_fixture(options: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    for path in STREAMED:
        transcript = written(path, tmp_path)
        assert main(["resplit", str(transcript), *options, "--force", "-o", str(out)]) == 0, path
        assert verdict(read_document(out.read_bytes())) == verdict(read_document(transcript.read_bytes())), path


@given(st.sampled_from(STREAMED), st.integers(0, 2**63))
@settings(max_examples=60)
def test_the_same_is_found_for_any_seed(tmp_path_factory: pytest.TempPathFactory, path: Path, seed: int) -> None:
    folder = tmp_path_factory.mktemp("resplit")
    transcript = written(path, folder)
    assert main(["resplit", str(transcript), "--seed", str(seed), "--force", "-o", str(folder / "out.json")]) == 0
    assert verdict(read_document((folder / "out.json").read_bytes())) == verdict(read_document(transcript.read_bytes()))


# The command


def transcript_of(chunks: list[Any], **members: Any) -> Json:
    request = {"method": "GET", "path": "/mcp", "headers": {"Accept": "text/event-stream"}}
    response = {"status": 200, "headers": {"Content-Type": "text/event-stream"}, "chunks": chunks} | members
    return {
        "profile": "stable-2025-11-25",
        "exchanges": [{"id": "x-1", "request": request, "response": response}],
    }


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., tuple[int, Json, str]]]:
    def resplit(transcript: Json, *options: str) -> tuple[int, Json, str]:
        source = tmp_path / "in.json"
        source.write_text(json.dumps(transcript))
        code = main(["resplit", str(source), *options])
        told = capsys.readouterr()
        return code, json.loads(told.out) if told.out else {}, told.err

    yield resplit


def chunks_in(transcript: Json) -> list[Any]:
    chunks: list[Any] = transcript["exchanges"][0]["response"]["chunks"]
    return chunks


def joined_text(chunks: list[Any]) -> str:
    pieces = [
        chunk.encode()
        if isinstance(chunk, str)
        else base64.b64decode(chunk["base64"])
        if "base64" in chunk
        else chunk["text"].encode()
        for chunk in chunks
    ]
    return b"".join(pieces).decode()


def test_bytewise(run: Callable[..., tuple[int, Json, str]]) -> None:
    code, out, _ = run(transcript_of(["id: é\n", {"t_ms": 3, "text": "data\n\n"}]), "--bytewise")
    assert code == 0
    assert joined_text(chunks_in(out)) == "id: cursor-1é\ndata\n\n"
    assert chunks_in(out)[12:] == [
        *({"base64": "ww=="}, {"base64": "qQ=="}, "\n"),
        *({"t_ms": 3, "text": letter} for letter in "data\n\n"),
    ]


def test_lines(run: Callable[..., tuple[int, Json, str]]) -> None:
    _, out, _ = run(transcript_of(["id: 1\nda", "ta:\n\n: x"]), "--lines")
    assert chunks_in(out) == ["id: cursor-1\n", "data:\n", "\n", ": redacted-1"]


def test_line_ends(run: Callable[..., tuple[int, Json, str]]) -> None:
    _, out, _ = run(transcript_of(["id: 1\r", "\ndata:\n", "\r"]), "--crlf", "crlf")
    assert chunks_in(out) == ["id: cursor-1\r\n", "data:\r\n", "\r\n"]
    _, out, _ = run(transcript_of(["id: 1\n\n"]), "--crlf", "crlf", "--bytewise")
    assert chunks_in(out)[-4:] == ["\r", "\n", "\r", "\n"]


def test_a_seed_says_it_all(run: Callable[..., tuple[int, Json, str]]) -> None:
    transcript = transcript_of(["id: 1\nretry: 5000\ndata:\n\n", "id: 2\ndata:\n\n", "id: 3\ndata:\n\n"])
    assert run(transcript, "--seed", "7") == run(transcript, "--seed", "7")
    different = {json.dumps(run(transcript, "--seed", str(seed))[1]) for seed in range(10)}
    assert len(different) == 10


def test_what_else_is_there_stays(run: Callable[..., tuple[int, Json, str]]) -> None:
    transcript = transcript_of(["data:\n\n"], chunk_boundaries="unknown", ended="complete")
    transcript["exchanges"].append(
        {
            "id": "x-2",
            "started_ms": 5,
            "request": {"method": "DELETE", "headers": {}},
            "response": {"status": 405, "headers": {}},
        }
    )
    _, out, _ = run(transcript, "--seed", "1")
    assert out["exchanges"][0]["response"]["chunk_boundaries"] == "unknown"
    assert out["exchanges"][0]["response"]["ended"] == "complete"
    assert [one["id"] for one in out["exchanges"]] == ["x-1", "x-2"]
    assert "payloads" not in out


def test_no_secret_survives(run: Callable[..., tuple[int, Json, str]]) -> None:
    secret = "qX7fKz02LmWv9RbTc5JdYs8P"
    stream = (
        f'id: {secret}\ndata: {{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{secret}"}}}}\n\n'
    )
    for options in (["--bytewise"], ["--lines"], ["--seed", "1"], ["--crlf", "cr"]):
        _, out, err = run(transcript_of([stream]), *options)
        assert out
        assert secret not in joined_text(chunks_in(out)) + json.dumps(out) + err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], "say how: --seed N, --bytewise, --lines or --crlf"),
        (["--seed", "x"], "argument --seed: invalid int value: 'x' (try mcp-conformance resplit --help)"),
        (
            ["--seed", "1", "--lines"],
            "argument --lines: not allowed with argument --seed (try mcp-conformance resplit --help)",
        ),
    ],
)
def test_options_that_make_no_sense(
    run: Callable[..., tuple[int, Json, str]], options: list[str], complaint: str
) -> None:
    assert run(transcript_of([]), *options) == (2, {}, f"mcp-conformance: {complaint}\n")


def test_what_is_no_transcript(run: Callable[..., tuple[int, Json, str]], tmp_path: Path) -> None:
    code, out, err = run({"profile": "stable-2025-11-25"}, "--lines")
    assert (code, out) == (2, {})
    assert err.endswith("is no transcript; a transcript is an object with a list of exchanges\n")
    code, out, err = run({"log": {"entries": []}}, "--lines")
    assert (code, out) == (2, {})
    assert err.endswith("is a HAR file; make transcripts of it with `mcp-conformance convert`\n")
