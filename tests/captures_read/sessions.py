"""A small session of MCP, as a flow file and as HAR entries of several producers would have it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from mitmproxy import connection, http
from mitmproxy.flow import Flow
from mitmproxy.io import FlowWriter

SESSION_ID: Final = "8c5f0e4b-3f2d-4e56-9a77-2f8f5a1f1b0c"
STARTED_S: Final = 1_700_000_000.0
SECRET: Final = "sk-Zk3vQ9xT7bLmN2pR"

type Json = dict[str, Any]


@dataclass(frozen=True)
class Spoken:
    """One exchange. Times in seconds since the session began: request complete, response head, end."""

    method: str
    request: Json | None
    status: int
    response: str = ""
    media_type: str = ""
    times: tuple[float, float, float] = (0.0, 0.1, 0.2)
    path: str = "/mcp"
    headers: dict[str, str] = field(default_factory=dict)
    response_headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        return b"" if self.request is None else json.dumps(self.request, ensure_ascii=False).encode()

    @property
    def request_headers(self) -> dict[str, str]:
        lines = {"Host": "mcp.example.com", "Accept": "application/json, text/event-stream", "User-Agent": "probe/1.0"}
        if self.request is not None:
            lines["Content-Type"] = "application/json"
        return lines | self.headers

    @property
    def answer_headers(self) -> dict[str, str]:
        return ({"Content-Type": self.media_type} if self.media_type else {}) | self.response_headers


IN_SESSION: Final = {"Mcp-Session-Id": SESSION_ID, "MCP-Protocol-Version": "2025-11-25"}
CLIENT: Final = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1.0"}}
SERVER: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "2"},
}


def event(message: Json, identifier: str = "") -> str:
    return (f"id: {identifier}\n" if identifier else "") + f"data: {json.dumps(message, ensure_ascii=False)}\n\n"


def session() -> list[Spoken]:
    """initialize, initialized, and a call whose answer is a stream, with text that is not ASCII and a secret."""
    arguments = {"query": "Grüße, 世界", "token": SECRET}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": arguments}}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": f"naïve 文字 {SECRET}"}]}}
    return [
        Spoken(
            "POST",
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": CLIENT},
            200,
            json.dumps({"jsonrpc": "2.0", "id": 0, "result": SERVER}),
            "application/json",
            (0.0, 0.1, 0.11),
            response_headers={"Mcp-Session-Id": SESSION_ID},
        ),
        Spoken(
            "POST",
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            202,
            times=(0.2, 0.21, 0.21),
            headers=IN_SESSION,
            response_headers={"Content-Length": "0"},
        ),
        Spoken(
            "POST",
            call,
            200,
            "id: e-1\nretry: 1000\ndata:\n\n" + event(answer, "e-2"),
            "text/event-stream",
            (0.3, 0.35, 1.5),
            path="/mcp?key=" + SECRET,
            headers={**IN_SESSION, "Authorization": f"Bearer {SECRET}"},
        ),
    ]


def flow_of(spoken: Spoken, **metadata: Any) -> http.HTTPFlow:
    client = connection.Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2))
    flow = http.HTTPFlow(client, connection.Server(address=("mcp.example.com", 443)))
    lines = [(name.encode(), value.encode()) for name, value in spoken.request_headers.items()]
    flow.request = http.Request.make(
        spoken.method, f"https://mcp.example.com{spoken.path}", spoken.body, http.Headers(lines)
    )
    begun, answered, ended = (STARTED_S + at for at in spoken.times)
    flow.request.timestamp_start = flow.request.timestamp_end = begun
    answer_lines = [(name.encode(), value.encode()) for name, value in spoken.answer_headers.items()]
    flow.response = http.Response.make(spoken.status, spoken.response.encode(), http.Headers(answer_lines))
    flow.response.timestamp_start, flow.response.timestamp_end = answered, ended
    flow.metadata.update(metadata)
    return flow


def flow_file(flows: Iterable[Flow]) -> bytes:
    written = io.BytesIO()
    writer = FlowWriter(written)  # type: ignore[no-untyped-call]
    for flow in flows:
        writer.add(flow)
    return written.getvalue()
