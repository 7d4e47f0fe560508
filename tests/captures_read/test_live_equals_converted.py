"""A file that mitmproxy wrote beside the addon, converted, is the transcript that the addon wrote: every byte of it."""

from __future__ import annotations

import contextlib
import gzip
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme

from mcp_wire.cli.main import main
from tests.live.conftest import python_server
from tests.live.mcp import INITIALIZE, POST, RESULT
from tests.live.peers import EVENT_STREAM_HEAD, LAST_CHUNK, PATIENCE_S, Received, Server, ask, chunked, reset
from tests.peers.processes import run_to_end, serving
from tests.peers.proxy import TOOLS, mitmdump
from tests.peers.wiretap import Wiretap

pytestmark = pytest.mark.peers

__all__ = ["python_server"]

over = threading.Event()
"""Nobody needs the streams any more that never end."""


def tour(url: str, *arguments: str | Path) -> None:
    run_to_end([sys.executable, "-m", "tests.peers.python_client", url, *arguments])


def transcripts(folder: Path) -> dict[str, bytes]:
    """By their label, which names no file of origin."""
    return {
        path.name.removeprefix("flows."): path.read_bytes()
        for path in folder.glob("*.json")
        if not path.name.endswith(".expected.json")
    }


def assert_converted_equals_live(folder: Path) -> None:
    assert main(["convert", str(folder / "flows.mitm"), "--output", str(folder / "converted")]) == 0
    live = transcripts(folder / "output" / "transcripts")
    assert live
    assert transcripts(folder / "converted") == live
    reports = {
        report["transcript"].removeprefix("transcripts/"): report
        for report in json.loads((folder / "output" / "report.json").read_text())["conversations"]
    }
    for name in live:
        expected = json.loads((folder / "converted" / f"flows.{Path(name).stem}.expected.json").read_text())
        found = [{key: one[key] for key in ("code", "level", "path", "count")} for one in reports[name]["findings"]]
        assert expected["findings"] == found


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_tour(tmp_path: Path, python_server: Callable[..., int], mode: str) -> None:
    options = (f"save_stream_file={tmp_path / 'flows.mitm'}",)
    with mitmdump(f"http://127.0.0.1:{python_server()}", tmp_path, *options) as port:
        tour(f"http://127.0.0.1:{port}/mcp", "--tour", "python", "--mode", mode)
    assert_converted_equals_live(tmp_path)


def test_a_cut_connection(tmp_path: Path, python_server: Callable[..., int]) -> None:
    options = (f"save_stream_file={tmp_path / 'flows.mitm'}",)
    with (
        Wiretap(python_server(), b'"message":"step 2"').running() as server_side,
        mitmdump(f"http://127.0.0.1:{server_side.port}", tmp_path, *options) as port,
    ):
        tour(f"http://127.0.0.1:{port}/mcp", "--tour", "python")
    assert_converted_equals_live(tmp_path)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_http2_and_tls(tmp_path: Path, python_server: Callable[..., int], mode: str) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    port = python_server("--http2", str(tmp_path / "server.pem"), "--record", str(tmp_path / "sent.jsonl"))
    options = (
        f"ssl_verify_upstream_trusted_ca={tmp_path / 'authority.pem'}",
        f"save_stream_file={tmp_path / 'flows.mitm'}",
    )
    with mitmdump(f"https://127.0.0.1:{port}", tmp_path, *options) as proxy_port:
        certificate = tmp_path / "authority" / "mitmproxy-ca-cert.pem"
        further = ("--mode", mode, "--authority", certificate, "--record", tmp_path / "received.jsonl")
        tour(f"https://127.0.0.1:{proxy_port}/mcp", "--tour", "python", *further)
    assert_converted_equals_live(tmp_path)


# Endings and oddities that no tour has

SESSION = {**POST, "Mcp-Session-Id": "8c5f0e4b-3f2d-4e56-9a77-2f8f5a1f1b0c", "MCP-Protocol-Version": "2025-11-25"}
CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{}}}'
JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def script(request: Received) -> None:
    case = request.path.partition("?")[2]
    if b'"initialize"' in request.body:
        head = JSON_HEAD + b"Mcp-Session-Id: %s\r\n" % SESSION["Mcp-Session-Id"].encode()
        request.send(head + b"Content-Length: %d\r\n\r\n" % len(RESULT), RESULT)
    elif request.method == "GET" or case == "never-ends":
        request.send(EVENT_STREAM_HEAD, chunked(b": one\n\n"))
        over.wait(PATIENCE_S)
    elif case == "cut":
        request.send(EVENT_STREAM_HEAD, chunked(b"id: 1\nda"))
        raise EOFError
    elif case == "gzip":
        packed = gzip.compress(b"data: {}\n\n")
        request.send(EVENT_STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n"))
        request.send(*(chunked(packed[at : at + 7]) for at in range(0, len(packed), 7)), LAST_CHUNK)
    elif case == "close":
        request.send(JSON_HEAD + b"Connection: close\r\n\r\n", b"{}")
        raise EOFError
    elif case == "short":
        request.send(JSON_HEAD + b"Content-Length: 10\r\n\r\n", b"{}")
        raise EOFError
    elif case == "silent":
        raise EOFError
    elif case == "early":
        request.send(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
    else:
        request.send(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("scope", ["", "~u /"], ids=["by evidence", "chosen by the operator"])
def test_every_ending(tmp_path: Path, scope: str) -> None:
    options = [f"save_stream_file={tmp_path / 'flows.mitm'}", "stream_large_bodies=64", f"mcp_scope={scope}"]
    over.clear()
    with Server().running() as server, contextlib.ExitStack() as open_streams:
        server.scripts["/mcp"] = script
        with mitmdump(f"http://127.0.0.1:{server.port}", tmp_path, *options) as port:
            assert ask(port, "POST", "/mcp", POST, INITIALIZE).reader.exactly(len(RESULT)) == RESULT
            for number, case in enumerate(("cut", "gzip", "close", "short", "silent", "early"), 1):
                with contextlib.suppress(EOFError):
                    headers = {**SESSION, "Connection": "close"}
                    ask(port, "POST", f"/mcp?{case}", headers, CALL % number).reader.rest()
            left = ask(port, "GET", "/mcp?token=hidden", {**SESSION, "Accept": "text/event-stream"})
            assert left.reader.chunk() == b": one\n\n"
            reset(left.socket)
            foreign = b'{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}'
            assert ask(port, "POST", "/mcp", POST, foreign).status == 202
            for number in (20, 21):
                still = ask(port, "POST", "/mcp?never-ends", SESSION, CALL % number)
                open_streams.callback(still.socket.close)
                assert still.reader.chunk() == b": one\n\n"
        over.set()
    assert_converted_equals_live(tmp_path)


# Without the addon

STREAMS = """
def responseheaders(flow):
    if flow.response.headers.get("content-type", "").startswith("text/event-stream"):
        flow.response.stream = True
"""


@contextlib.contextmanager
def plain_mitmdump(upstream: str, folder: Path, *options: str) -> Iterator[int]:
    """mitmproxy as people run it for event streams: a script that lets them through, and nothing of ours."""
    script = folder / "streams.py"
    script.write_text(STREAMS)
    settings = [f"confdir={folder / 'authority'}", *options]
    command: list[str | Path] = [TOOLS / "mitmdump", "-s", script, "--mode", f"reverse:{upstream}@127.0.0.1:0"]
    command += (part for setting in settings for part in ("--set", setting))
    with serving(command, folder / "plain.log", r"listening at 127\.0\.0\.1:(\d+)") as port:
        yield int(port)


@pytest.mark.parametrize("stored", ["true", "false"])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_plain_mitmproxy_saw_the_same(
    tmp_path: Path, python_server: Callable[..., int], mode: str, stored: str
) -> None:
    plain = (f"save_stream_file={tmp_path / 'plain.mitm'}", f"store_streamed_bodies={stored}")
    cut_after = b'"message":"step 2"' if mode == "legacy" else b""
    with (
        Wiretap(python_server(), cut_after).running() as tap,
        plain_mitmdump(f"http://127.0.0.1:{tap.port}", tmp_path, *plain) as behind,
        mitmdump(f"http://127.0.0.1:{behind}", tmp_path, "mcp_extended=true") as port,
    ):
        tour(f"http://127.0.0.1:{port}/mcp", "--tour", "python", "--mode", mode)
    assert main(["convert", "--extended", str(tmp_path / "plain.mitm"), "--output", str(tmp_path / "converted")]) == 0
    # What the addon found beside it: a chunk that is no event, and the half of an event that the cut left behind. The
    # one needs boundaries, the other a body that mitmproxy throws away when a stream is cut.
    live = json.loads((tmp_path / "output" / "report.json").read_text())
    cut = {"sse_chunk_coalesced", "incomplete_sse_event", "truncated_response"} if cut_after else set()
    assert {one["code"] for one in live["findings"]} == cut
    found = [
        one["code"]
        for path in (tmp_path / "converted").glob("*.expected.json")
        for one in json.loads(path.read_text())["findings"]
    ]
    assert found == (["truncated_response"] if cut_after else [])
