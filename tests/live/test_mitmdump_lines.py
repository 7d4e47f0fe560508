"""What mitmdump says: one line a finding as it happens, a summary at the end, and the view where flows are printed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mitmproxy.io import FlowReader

from tests.live.mcp import INITIALIZE, POST
from tests.live.peers import EVENT_STREAM_HEAD, LAST_CHUNK, Received, Server, ask, chunked
from tests.peers.proxy import mitmdump
from tests.peers.web import mitmweb

pytestmark = pytest.mark.peers

SESSION = "c0ffee00c0ffee00c0ffee00c0ffee00"
STABLE = POST | {"Mcp-Session-Id": SESSION, "MCP-Protocol-Version": "2025-11-25"}
CANARY = "canary-91b3e5a7c2"


def script(received: Received) -> None:
    message = json.loads(received.body)
    identifier = message.get("id")
    match message["method"]:
        case "initialize":
            result: object = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "serverInfo": {"name": "s", "version": "1"},
            }
            text = json.dumps({"jsonrpc": "2.0", "id": identifier, "result": result}).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: {SESSION}\r\n"
            received.send(f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text)
        case "tools/call":
            wrong = {"jsonrpc": "2.0", "id": CANARY, "result": {"content": []}}
            data = f"id: e-1\ndata:\n\nid: e-2\ndata: {json.dumps(wrong)}\n\n".encode()
            received.send(EVENT_STREAM_HEAD, chunked(data[:30], data[30:]), LAST_CHUNK)
        case _:
            received.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok")


@contextmanager
def proxied(folder: Path, *options: str) -> Iterator[int]:
    upstream = Server()
    upstream.scripts["/mcp"] = script
    with upstream.running(), mitmdump(f"http://127.0.0.1:{upstream.port}", folder, *options) as port:
        yield port


def talk(port: int) -> None:
    ask(port, "POST", "/mcp", POST, INITIALIZE).reader.exactly(10)
    for _ in range(3):
        ask(port, "POST", "/mcp", STABLE, b'{"jsonrpc":"2.0","method":"notifications/initialized"}').reader.exactly(2)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow", "arguments": {"k": CANARY}}}
    list(ask(port, "POST", "/mcp", STABLE, json.dumps(call).encode()).reader.chunks())


def said(folder: Path) -> list[str]:
    """What mitmdump said, without its times and its colours."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", (folder / "mitmdump.log").read_text())
    return [re.sub(r"^\[\d\d:\d\d:\d\d\.\d{3}\] ?", "", line) for line in text.split("\n")]


def test_one_line_a_finding_and_a_summary_at_the_end(tmp_path: Path) -> None:
    with proxied(tmp_path, "flow_detail=0") as port:
        talk(port)
    lines = said(tmp_path)
    named = "of stable-2025-11-25.endpoint-1.session-1"
    expected = (
        f"error accepted_status_not_202 · POST notifications/initialized, x-2 {named} · server · "
        "A POST without requests was answered 200 instead of 202."
    )
    assert lines.count(expected) == 1
    wrong = [
        line
        for line in lines
        if line.startswith(f"error response_id_mismatch · POST tools/call slow, x-5 {named} · server · ")
    ]
    assert len(wrong) == 1
    start = next(number for number, line in enumerate(lines) if line.startswith("5 MCP exchanges in 1 conversation: "))
    summary = lines[start:]
    assert re.match(r"5 MCP exchanges in 1 conversation: \d+ errors( and \d+ \w+)?\.$", summary[0])
    assert "  error accepted_status_not_202 · server" in summary
    written = f"Written to {tmp_path / 'output'}: report.json, findings.jsonl and 1 transcript in transcripts/."
    assert written in summary
    text = "\n".join(lines)
    assert CANARY not in text
    assert SESSION not in text


def test_other_traffic_is_met_with_silence_until_the_end(tmp_path: Path) -> None:
    upstream = Server()
    upstream.scripts["/api"] = lambda received: received.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    with upstream.running(), mitmdump(f"http://127.0.0.1:{upstream.port}", tmp_path, "flow_detail=0") as port:
        ask(port, "POST", "/api", {"Content-Type": "application/json"}, b"{}").reader.exactly(2)
    about_mcp = [line for line in said(tmp_path) if "MCP" in line or "Written" in line]
    assert len(about_mcp) == 1
    assert about_mcp[0].startswith("No MCP exchange was seen, so nothing was judged.")


def test_the_view_is_chosen_where_flows_are_printed(tmp_path: Path) -> None:
    with proxied(tmp_path, "flow_detail=3") as port:
        talk(port)
    text = "\n".join(line.strip() for line in said(tmp_path))
    assert "Headers, and what the body says" in text
    assert "200 text/event-stream\n" in text
    assert "⟨1⟩" in text
    assert "── event 1 · +" in text


def test_a_flow_file_shows_what_was_found_when_it_is_read_again(tmp_path: Path) -> None:
    """What is saved while traffic runs is redacted, and is judged again where it is read with the addon."""
    saved = tmp_path / "saved.mitm"
    with proxied(tmp_path, "flow_detail=0", f"save_stream_file={saved}") as port:
        talk(port)
    with saved.open("rb") as file:
        flows = list(FlowReader(file).stream())
    assert len(flows) == 5
    carried = json.dumps([[flow.comment, flow.marked, repr(flow.metadata)] for flow in flows])
    assert CANARY not in carried
    assert SESSION not in carried
    again = tmp_path / "again"
    again.mkdir()
    with mitmdump("http://127.0.0.1:9", again, "flow_detail=0", f"rfile={saved}"):
        pass
    live, read = said(tmp_path), said(again)
    found = [line for line in live if line.startswith("error ")]
    assert found
    assert [line for line in read if line.startswith("error ")] == found
    looked_at = tmp_path / "looked-at"
    looked_at.mkdir()
    with mitmweb("http://127.0.0.1:9", looked_at, f"rfile={saved}") as web:
        flow = web.commented("response_id_mismatch", "tools/call slow", "2 events / 2 chunks", "session-A")
        text = web.text(flow["id"], "response")
    assert "⟨1⟩" in text
    assert "  █ error response_id_mismatch: the server must act" in text.partition("── event 1")[2]
    assert "Ended after" in text
