"""What expands without end, or is too large to read, is judged live as offline: in any coding, whole or cut."""

from __future__ import annotations

import itertools
import json
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest

from mcp_wire.live.directory import Origin
from mcp_wire.live.exchange import Exchanges
from mcp_wire.live.observer import Observer, ObserverSettings
from mcp_wire.live.output import OutputFolder
from mcp_wire.live.parts import Ending, EndPart, HeadPart, Part, RequestPart
from mcp_wire.rules import rules_of
from mcp_wire.transcript.reading import read_document
from mcp_wire.validation import validate
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import Ended
from tests.live.mcp import INITIALIZE, POST, RESULT

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIB = 1024 * 1024
COMPLETE = Ending(Ended.COMPLETE, whole=True)
ORIGIN = Origin("http://example.test:80/mcp", "c-1", "HTTP/1.1")
CALL = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}'
PROGRESS = b'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n'
BOMB = "decoded size exceeds 16 MiB and 500 times the coded size"
LONG = "an event of the stream is larger than this tool reads"


def deflated(wbits: int) -> Callable[[bytes], bytes]:
    def compress(data: bytes) -> bytes:
        coder = zlib.compressobj(wbits=wbits)
        return coder.compress(data) + coder.flush()

    return compress


def br(data: bytes) -> bytes:
    return bytes(brotli.compress(data, quality=1))


def zs(data: bytes) -> bytes:
    return zstd.compress(data, 1)


CODINGS: dict[str, Sequence[Callable[[bytes], bytes]]] = {
    "gzip": [deflated(31)],
    "deflate": [deflated(15)],
    "br": [br],
    "zstd": [zs],
    "br, gzip": [br, deflated(31)],
}
STREAMS = {
    "nothing but zeros": (bytes(40 * MIB), BOMB),
    "zeros behind events": (3 * PROGRESS + bytes(40 * MIB), BOMB),
    "one event": (PROGRESS + b"data: " + bytes(17 * MIB) + b"\n\n" + PROGRESS, LONG),
}


def request(body: bytes, *further: tuple[str, str]) -> RequestPart:
    return RequestPart(ORIGIN, "POST", "/mcp", "HTTP/1.1", Headers([*POST.items(), *further]), body)


def judged(folder: Path, parts: Sequence[Part]) -> tuple[list[object], list[str | None]]:
    """An initialize and an exchange of these parts: findings, the same live and offline, and what was not captured."""
    observer, exchanges = Observer(ObserverSettings(rules_of()), OutputFolder(folder)), Exchanges()
    head = HeadPart(200, Headers([("Content-Type", "application/json")]), False, True)
    first: list[Part] = [request(INITIALIZE), head, EndPart(COMPLETE, len(RESULT), RESULT, "")]
    named = [*(("x-1", part) for part in first), *(("x-2", part) for part in parts)]
    for at, (name, part) in zip(itertools.count(0, 10), named, strict=False):
        for origin, observation in exchanges.take((name, at, part)):
            observer.observe(origin, observation)
    observer.finish()
    (live,) = json.loads((folder / "report.json").read_text())["conversations"]
    text = (folder / live["transcript"]).read_bytes()
    offline = validate(read_document(text), rules_of())
    found: list[object] = [[finding.code, finding.path, finding.count] for finding in offline.findings]
    assert [[finding["code"], finding["path"], finding["count"]] for finding in live["findings"]] == found
    exchange = json.loads(text)["exchanges"][1]
    return found, [exchange[side].get("not_captured") for side in ("request", "response")]


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("stream", STREAMS)
def test_a_stream(tmp_path: Path, coding: str, stream: str) -> None:
    data, reason = STREAMS[stream]
    for encode in CODINGS[coding]:
        data = encode(data)
    head = HeadPart(200, Headers([("Content-Type", "text/event-stream"), ("Content-Encoding", coding)]), True, True)
    protocol = ("MCP-Protocol-Version", "2025-11-25")
    results = [
        judged(tmp_path / name, [request(CALL, protocol), head, *chunks, EndPart(COMPLETE, len(data), None, "")])
        for name, chunks in (("whole", [data]), ("cut", [data[:5], data[5:]]))
    ]
    assert results[0] == results[1]
    assert results[0][1] == [None, reason]


@pytest.mark.parametrize("coding", CODINGS)
def test_bodies(tmp_path: Path, coding: str) -> None:
    data = b'{"jsonrpc":"2.0","id":2,"result":{"x":"' + bytes(40 * MIB)
    for encode in CODINGS[coding]:
        data = encode(data)
    protocol, encoding = ("MCP-Protocol-Version", "2025-11-25"), ("Content-Encoding", coding)
    head = HeadPart(200, Headers([("Content-Type", "application/json"), encoding]), False, True)
    parts: list[Part] = [request(data, protocol, encoding), head, EndPart(COMPLETE, len(data), data, "")]
    _, missing = judged(tmp_path, parts)
    assert set(missing) <= {BOMB, "larger than 16 MiB"}
