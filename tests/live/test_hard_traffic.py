"""Traffic and circumstances that want to break the observer, through a real mitmdump: all of it passes, byte for byte,
each is told of once, and memory stays below a ceiling."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.broken_judge import BROKEN
from tests.live.mcp import INITIALIZE, POST, RESULT
from tests.live.peers import EVENT_STREAM_HEAD, LAST_CHUNK, Received, Server, ask, chunked
from tests.peers.processes import REPOSITORY, serving
from tests.peers.proxy import ADDON, TOOLS

MIB = 1024 * 1024
CEILING = 384 * MIB
"""Of the proxy and of the judge, each: some 80 and 50 MiB at rest, and copies of a body or two (docs/limits.md)."""
RUN: str = "import os, sys; print('process', os.getpid(), flush=True); os.execv(sys.argv[1], sys.argv[1:])"
LIMITED: str = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)); " + RUN

Pieces = Callable[[], Iterator[bytes]]


class Proxy:
    """A running mitmdump, its files, and what its log says."""

    def __init__(self, folder: Path, port: int) -> None:
        self.port = port
        self.output = folder / "output"
        self._log = folder / "mitmdump.log"

    @property
    def log(self) -> str:
        return self._log.read_text()

    def peaks(self) -> list[int]:
        """The most memory that the proxy and its judge have had so far, in octets; nothing where nobody can say."""
        found = re.search(r"process (\d+)", self.log)
        if found is None or not Path("/proc/self/status").exists():
            return []
        proxy = int(found[1])
        children = Path(f"/proc/{proxy}/task/{proxy}/children").read_text().split()
        return [_peak(process) for process in (proxy, *map(int, children))]

    def told(self) -> list[Any]:
        """The lines of findings.jsonl, each of which is whole."""
        return [json.loads(line) for line in (self.output / "findings.jsonl").read_text().splitlines()]

    def exchange(self, path: str) -> Any:
        """The one exchange with this path, by the number of its endpoint: paths are redacted."""
        (transcript,) = (self.output / "transcripts").glob(f"*endpoint-{PATHS.index(path) + 1}.*")
        (exchange,) = json.loads(transcript.read_text())["exchanges"]
        return exchange


def _peak(process: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


@contextlib.contextmanager
def proxy(server: Server, folder: Path, *, script: Path = ADDON, run: str = RUN) -> Iterator[Proxy]:
    command: list[str | Path] = [sys.executable, "-c", run, TOOLS / "mitmdump", "-s", script]
    command += ["--mode", f"reverse:http://127.0.0.1:{server.port}@127.0.0.1:0"]
    for setting in (f"confdir={folder / 'authority'}", f"mcp_output={folder / 'output'}", "flow_detail=0"):
        command += ["--set", setting]
    with serving(command, folder / "mitmdump.log", r"listening at 127\.0\.0\.1:(\d+)") as port:
        yield Proxy(folder, int(port))


def stream(pieces: Pieces, coding: str = "") -> Callable[[Received], None]:
    """Answers with an event stream, a chunk for each piece."""
    lines = f"\r\nContent-Encoding: {coding}\r\n\r\n".encode() if coding else b"\r\n\r\n"

    def script(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD.replace(b"\r\n\r\n", lines))
        for piece in pieces():
            request.send(chunked(piece))
        request.send(LAST_CHUNK)

    return script


def whole(pieces: Pieces) -> Callable[[Received], None]:
    """Answers with JSON of a known length."""

    def script(request: Received) -> None:
        size = sum(map(len, pieces()))
        request.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % size)
        request.send(*pieces())

    return script


def digest(pieces: Iterator[bytes]) -> str:
    seen = hashlib.sha256()
    for piece in pieces:
        seen.update(piece)
    return seen.hexdigest()


def received(port: int, path: str) -> str:
    call = b'{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}'
    answer = ask(port, "POST", path, POST | {"MCP-Protocol-Version": "2025-11-25"}, call)
    length = answer.header("content-length")
    if length is not None:
        return digest(iter([answer.reader.exactly(int(length))]))
    return digest(answer.reader.chunks())


def gzip_bomb() -> Iterator[bytes]:
    """A megabyte that becomes a gigabyte."""
    coder = zlib.compressobj(9, wbits=31)
    for _ in range(1024):
        yield from filter(None, [coder.compress(bytes(MIB))])
    yield coder.flush()


def event_of_64_mib() -> Iterator[bytes]:
    yield b"data: "
    for _ in range(1024):
        yield b"0123456789abcdef" * 4096
    yield b"\n\n"


def body_of_64_mib() -> Iterator[bytes]:
    yield b'{"jsonrpc":"2.0","id":0,"result":{"x":"'
    for _ in range(1024):
        yield b"0123456789abcdef" * 4096
    yield b'"}}'


def depth_bomb() -> Iterator[bytes]:
    yield b"data: " + b"[" * 1_000_000 + b"\n\n"


def deep_body() -> Iterator[bytes]:
    yield b"[" * 4_000_000


def many_lines() -> Iterator[bytes]:
    for _ in range(100):
        yield b"data:a\n" * 9_000
    yield b"\n"


def unknown_coding() -> Iterator[bytes]:
    yield b"id: 1\ndata: {}\n\n"


CASES: dict[str, tuple[Callable[[Pieces], Callable[[Received], None]], Pieces, str]] = {
    "/unknown-coding": (lambda pieces: stream(pieces, "sdch"), unknown_coding, "unknown content coding"),
    "/gzip-bomb": (
        lambda pieces: stream(pieces, "gzip"),
        gzip_bomb,
        "decoded size exceeds 16 MiB and 500 times the coded size",
    ),
    "/event": (stream, event_of_64_mib, "an event of the stream is larger than this tool reads"),
    "/lines": (stream, many_lines, "an event of the stream is larger than this tool reads"),
    "/body": (whole, body_of_64_mib, "larger than 16 MiB"),
    "/depth": (stream, depth_bomb, ""),
    "/deep-body": (whole, deep_body, ""),
}
PATHS = list(CASES)


@pytest.mark.slow
def test_what_is_too_much_to_read_passes_and_is_told_of_once(tmp_path: Path) -> None:
    with Server().running() as server:
        for path, (answers, pieces, _) in CASES.items():
            server.scripts[path] = answers(pieces)
        with proxy(server, tmp_path) as running:
            for path, (_, pieces, _) in CASES.items():
                assert received(running.port, path) == digest(pieces()), path
            peaks = running.peaks()
    assert all(peak < CEILING for peak in peaks), peaks
    for path, (_, pieces, reason) in CASES.items():
        response = running.exchange(path)["response"]
        assert response["ended"] == "complete", path
        assert response["received_octets"] == sum(map(len, pieces())), path
        assert response.get("not_captured", "") == reason, path
    depth = running.exchange("/depth")["response"]["chunks"]
    assert len("".join(chunk["text"] for chunk in depth)) < 1_000
    assert len(running.exchange("/deep-body")["response"]["body_text"]) < 1_000
    assert [line for line in running.told() if line["code"] == "observer_error"] == []
    assert len(json.loads((running.output / "report.json").read_text())["conversations"]) == len(CASES)


def answer_ok(request: Received) -> None:
    length = b"Content-Length: %d\r\n\r\n" % len(RESULT)
    request.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + length + RESULT)


def test_a_rule_that_raises(tmp_path: Path) -> None:
    with Server().running() as server:
        server.scripts["/mcp"] = answer_ok
        with proxy(server, tmp_path, script=REPOSITORY / "tests/live/broken_addon.py") as running:
            for _ in range(5):
                assert ask(running.port, "POST", "/mcp", POST, INITIALIZE).reader.exactly(len(RESULT)) == RESULT
    said = f"The rule {BROKEN} failed with RuntimeError; it could not tell."
    (error,) = [line for line in running.told() if line["code"] == "observer_error"]
    assert error["message"] == said
    assert running.log.count(said) == 1
    assert "a rule that was broken for a test" not in running.log
    report = json.loads((running.output / "report.json").read_text())
    outcomes = [told["coverage"] for told in report["conversations"]]
    assert {coverage[BROKEN]["outcome"] for coverage in outcomes} == {"cannot_tell"}
    assert "satisfied" in {coverage["invalid_jsonrpc_body"]["outcome"] for coverage in outcomes}


def progress() -> Iterator[bytes]:
    for number in range(2_000):
        params = {"progressToken": 1, "progress": number, "message": f"a step of many, number {number}"}
        message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        yield b"data: %s\n\n" % json.dumps(message).encode()


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be told how large its files may become")
def test_a_full_disk(tmp_path: Path) -> None:
    """No file of the process may grow beyond 64 KiB: to whoever writes, that is a disk without room."""
    with Server().running() as server:
        server.scripts["/mcp"] = answer_ok
        server.scripts["/stream"] = stream(progress)
        with proxy(server, tmp_path, run=LIMITED) as running:
            for _ in range(2):
                assert ask(running.port, "POST", "/mcp", POST, INITIALIZE).reader.exactly(len(RESULT)) == RESULT
                assert received(running.port, "/stream") == digest(progress())
    said = "The output folder cannot be written (File too large)"
    assert running.log.count(said) <= 2  # when it happens, and perhaps in the summary at the end
    errors = [
        line["message"] for line in running.told() if line["code"] == "observer_error" and said in line["message"]
    ]
    assert len(errors) == 1
    # What could be written is whole.
    for transcript in (running.output / "transcripts").glob("*.json"):
        assert json.loads(transcript.read_text())["exchanges"]
