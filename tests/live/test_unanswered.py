"""A call that hangs until its client gives up and tidies up: the run tells of it, and so does its transcript."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from mcp_wire.transcript.reading import read_document
from mcp_wire.validation import validate
from tests.live.mcp import INITIALIZE, POST, RESULT
from tests.live.peers import EVENT_STREAM_HEAD, Received, Server, ask, send
from tests.live.proxy import PATIENCE_S
from tests.peers.proxy import mitmdump

SESSION = "c0ffee00c0ffee00c0ffee00c0ffee00"
STABLE = POST | {"Mcp-Session-Id": SESSION, "MCP-Protocol-Version": "2025-11-25"}
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
CODE, STOP = "request_left_unanswered", "do-not-replay"


def body(id: int) -> bytes:
    params = {"name": "deploy", "arguments": {}}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode()


@pytest.mark.peers
def test_a_client_that_times_out_and_deletes_its_session(tmp_path: Path) -> None:
    over, asked = threading.Event(), threading.Event()

    def script(received: Received) -> None:
        if b'"initialize"' in received.body:
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: {SESSION}\r\n"
            received.send(head.encode(), b"Content-Length: %d\r\n\r\n" % len(RESULT), RESULT)
        elif received.method == "DELETE":
            received.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        elif b"tools/call" not in received.body:
            received.send(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
        else:
            if b'"id": 1,' in received.body:
                received.send(EVENT_STREAM_HEAD)
            else:
                asked.set()
            over.wait(PATIENCE_S)

    upstream = Server()
    upstream.scripts["/mcp"] = script
    with upstream.running(), mitmdump(f"http://127.0.0.1:{upstream.port}", tmp_path) as port:
        ask(port, "POST", "/mcp", POST, INITIALIZE).reader.exactly(10)
        ask(port, "POST", "/mcp", STABLE, INITIALIZED)
        ask(port, "POST", "/mcp", STABLE, body(1)).socket.close()
        with send(port, "POST", "/mcp", STABLE, body(2)):
            assert asked.wait(PATIENCE_S)
        assert ask(port, "DELETE", "/mcp", STABLE).status == 200
        over.set()
    output = tmp_path / "output"
    live = json.loads((output / "report.json").read_text())["conversations"][0]
    [note] = [one for one in live["findings"] if one["code"] == CODE]
    assert (note["level"], note["count"], note["exchange"]) == ("info", 2, "x-3")
    assert "until the client left, which does not cancel it. Its stream was opened and brought no" in note["message"]
    assert [(one["exchange"], one["action"]) for one in live["recovery"]] == [("x-3", STOP), ("x-4", STOP)]
    assert all("Its session is over" in one["condition"] for one in live["recovery"])
    [transcript] = (output / "transcripts").glob("*.json")
    report = validate(read_document(transcript.read_bytes()))
    assert [(one.code, one.message, one.count) for one in report.findings if one.code == CODE] == [
        (CODE, note["message"], 2)
    ]
    assert [(one.exchange, one.condition) for one in report.recovery] == [
        (one["exchange"], one["condition"]) for one in live["recovery"]
    ]
