"""A small session of MCP, as a flow file and as HAR entries of several producers would have it."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

from mitmproxy import connection, http
from mitmproxy.addons.savehar import SaveHar
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


# HAR, as each producer writes it


def har(creator: str, entries: Iterable[Json]) -> bytes:
    log = {"version": "1.2", "creator": {"name": creator, "version": "1"}, "pages": [], "entries": list(entries)}
    return json.dumps({"log": log}, ensure_ascii=False, indent=1).encode()


def date_of(seconds: float, timespec: str = "milliseconds", zone: str = "Z") -> str:
    when = datetime.fromtimestamp(STARTED_S + seconds, UTC)
    if zone != "Z":
        when = when.astimezone(timezone(timedelta(hours=2)))
    return when.isoformat(timespec=timespec).replace("+00:00", "Z")


def pairs(lines: dict[str, str]) -> list[Json]:
    return [{"name": name, "value": value} for name, value in lines.items()]


def chrome_entry(spoken: Spoken) -> Json:
    """DevTools: pseudo-headers of HTTP/2, a text without charset taken for windows-1252, its own `_` members."""
    begun, answered, ended = spoken.times
    text = spoken.response
    if spoken.media_type == "text/event-stream":
        text = "".join(_windows_1252(octet) for octet in text.encode())
    entry: Json = {
        "_connectionId": "12",
        "_initiator": {"type": "script"},
        "_priority": "High",
        "_resourceType": "fetch",
        "cache": {},
        "connection": "443",
        "request": {
            "method": spoken.method,
            "url": f"https://mcp.example.com{spoken.path}",
            "httpVersion": "h2",
            "headers": [
                {"name": ":authority", "value": "mcp.example.com"},
                {"name": ":path", "value": spoken.path},
                *pairs({name.lower(): value for name, value in spoken.request_headers.items()}),
            ],
            "queryString": [],
            "cookies": [],
            "headersSize": -1,
            "bodySize": len(spoken.body),
        },
        "response": {
            "status": spoken.status,
            "statusText": "",
            "httpVersion": "h2",
            "headers": pairs({name.lower(): value for name, value in spoken.answer_headers.items()}),
            "cookies": [],
            "content": {
                "size": len(spoken.response.encode()),
                "mimeType": spoken.media_type or "x-unknown",
                "text": text,
            },
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
            "_transferSize": 100,
            "_error": None,
        },
        "serverIPAddress": "192.0.2.1",
        "startedDateTime": date_of(begun - 0.002),
        "time": (ended - begun) * 1000,
        "timings": {
            "blocked": 1,
            "dns": -1,
            "ssl": -1,
            "connect": -1,
            "send": 1,
            "wait": (answered - begun) * 1000,
            "receive": (ended - answered) * 1000,
        },
    }
    if spoken.request is not None:
        entry["request"]["postData"] = {"mimeType": "application/json", "text": spoken.body.decode()}
    return entry


def _windows_1252(octet: int) -> str:
    return bytes((octet,)).decode("cp1252", "ignore") or chr(octet)


def firefox_entry(spoken: Spoken) -> Json:
    """Firefox: a local time zone, the port as `connection`, a body that is missing where there was none."""
    begun, answered, ended = spoken.times
    content: Json = {"mimeType": spoken.media_type, "size": len(spoken.response.encode())}
    if spoken.response:
        content["text"] = spoken.response
    return {
        "startedDateTime": date_of(begun, zone="+02:00"),
        "request": {
            "bodySize": len(spoken.body),
            "method": spoken.method,
            "url": f"https://mcp.example.com{spoken.path}",
            "httpVersion": "HTTP/2",
            "headers": pairs(spoken.request_headers),
            "cookies": [],
            "queryString": [],
            "headersSize": 500,
            "postData": {"mimeType": "application/json", "params": [], "text": spoken.body.decode()},
        },
        "response": {
            "status": spoken.status,
            "statusText": "OK",
            "httpVersion": "HTTP/2",
            "headers": pairs(spoken.answer_headers),
            "cookies": [],
            "content": content,
            "redirectURL": "",
            "headersSize": 300,
            "bodySize": len(spoken.response.encode()) + 300,
        },
        "cache": {},
        "timings": {
            "blocked": 0,
            "dns": 0,
            "connect": 0,
            "ssl": 0,
            "send": 0,
            "wait": round((answered - begun) * 1000),
            "receive": round((ended - answered) * 1000),
        },
        "time": round((ended - begun) * 1000),
        "_securityState": "secure",
        "serverIPAddress": "192.0.2.1",
        "connection": "443",
    }


def charles_entry(spoken: Spoken) -> Json:
    """Charles: a status of its own, null where it knows nothing, base64 for what is not plain text."""
    begun, answered, ended = spoken.times
    content: Json = {"size": len(spoken.response.encode()), "mimeType": spoken.media_type or None}
    if spoken.response:
        content |= {"text": base64.b64encode(spoken.response.encode()).decode(), "encoding": "base64"}
    return {
        "startedDateTime": date_of(begun),
        "time": round((ended - begun) * 1000),
        "request": {
            "method": spoken.method,
            "url": f"https://mcp.example.com{spoken.path}",
            "httpVersion": "HTTP/2.0",
            "cookies": [],
            "headers": [{"name": ":method", "value": spoken.method}, *pairs(spoken.request_headers)],
            "queryString": [],
            "postData": {"mimeType": "application/json", "text": spoken.body.decode()},
            "headersSize": 289,
            "bodySize": len(spoken.body),
        },
        "response": {
            "_charlesStatus": "COMPLETE",
            "status": spoken.status,
            "statusText": None,
            "httpVersion": "HTTP/2.0",
            "cookies": [],
            "headers": [{"name": ":status", "value": str(spoken.status)}, *pairs(spoken.answer_headers)],
            "content": content,
            "redirectURL": None,
            "headersSize": 0,
            "bodySize": len(spoken.response.encode()),
        },
        "serverIPAddress": "192.0.2.1",
        "cache": {},
        "timings": {
            "connect": -1,
            "ssl": None,
            "send": 0,
            "wait": round((answered - begun) * 1000),
            "receive": round((ended - answered) * 1000),
        },
    }


def mitmproxy_har(spoken: Iterable[Spoken]) -> bytes:
    """By mitmproxy's own writer."""
    made = SaveHar().make_har([flow_of(one) for one in spoken])
    return json.dumps(made, indent=4).encode()
