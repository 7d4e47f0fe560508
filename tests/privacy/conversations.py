"""Conversations with a slot for a value in every place that traffic has, and what is said of a place when it is cut."""

from __future__ import annotations

import base64
import itertools
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from hypothesis import strategies as st

from mcp_wire.privacy.redactor import Redactor
from mcp_wire.wire.body import Body
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)

Slots = Mapping[str, str]

HEADERS: Final = (
    "Accept",
    "Accept-Encoding",
    "Accept-Language",
    "Access-Control-Request-Headers",
    "Age",
    "Allow",
    "Authorization",
    "Cache-Control",
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Type",
    "Cookie",
    "Date",
    "Forwarded",
    "Host",
    "Keep-Alive",
    "Last-Event-ID",
    "Location",
    "MCP-Protocol-Version",
    "Mcp-Method",
    "Mcp-Name",
    "Mcp-Param-Region",
    "Mcp-Session-Id",
    "Origin",
    "Proxy-Authorization",
    "Referer",
    "Retry-After",
    "Sec-Fetch-Site",
    "Server",
    "Set-Cookie",
    "Transfer-Encoding",
    "User-Agent",
    "Vary",
    "Via",
    "WWW-Authenticate",
    "X-Accel-Buffering",
    "X-Api-Key",
    "X-Cache",
    "X-Unheard-Of",
)
PREFIXES: Final = {
    "Authorization": ("", "Bearer ", "Basic ", "Odd "),
    "Content-Type": ("", "application/json; charset=", "application/", "text/event-stream; "),
    "Accept": ("", "application/json, ", "text/event-stream;q=", "text/"),
    "Cookie": ("", "sid=", "a=b; sid="),
    "Set-Cookie": ("sid=", "sid=x; Path=/; Domain="),
    "Host": ("", "localhost:", "user:pass@"),
    "Location": ("", "https://example.com/", "/login?next=", "https://", "/x#", "https://example.com/a?access_token="),
    "Origin": ("", "https://", "http://localhost:3000/"),
    "User-Agent": ("", "curl/", "Mozilla/5.0 (", "python-httpx/0.28 ("),
    "Server": ("", "nginx/", "nginx ("),
    "Via": ("", "1.1 ", "1.1 gateway ("),
    "WWW-Authenticate": ("", "Bearer ", 'Bearer realm="', 'Bearer resource_metadata="https://example.com/'),
    "Mcp-Name": ("", "=?base64?", "https://example.com/"),
    "Mcp-Param-Region": ("", "=?base64?", "1"),
    "Cache-Control": ("", "max-age=", "no-cache, "),
    "Content-Length": ("", "12, "),
    "MCP-Protocol-Version": ("", "2025-11-25"),
    "Mcp-Method": ("", "tools/", "notifications/"),
    "Vary": ("", "Accept, "),
}
PATHS: Final = (
    "/{}",
    "/mcp/{}",
    "/mcp?{}",
    "/mcp?access_token={}",
    "/mcp?{}=1",
    "/mcp#{}",
    "http://a.example/{}",
    "{}",
)


def header_value(slot: str, canary: str, number: int) -> str:
    prefixes = PREFIXES.get(slot, ("", "x-", '"'))
    return prefixes[number % len(prefixes)] + canary


MODERN_META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "example-client", "version": "1.4.0"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}

REQUESTS: Final[Sequence[Callable[[str], Any]]] = (
    lambda x: {"jsonrpc": "2.0", "id": x, "method": "tools/list", "params": {"cursor": x}},
    lambda x: {"jsonrpc": "2.0", "id": 1, "method": x, "params": {x: x}},
    lambda x: {"jsonrpc": x, "id": 1, "method": "ping"},
    lambda x: {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": x, "arguments": {"a": x, x: 1}}},
    lambda x: {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "arguments": [x, {x: [x]}]}},
    lambda x: {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": x, "arguments": {"topic": x}}},
    lambda x: {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": f"file:///{x}/{x}?{x}#{x}"}},
    lambda x: {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": f"{x}://{x}"}},
    lambda x: {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": x,
            "capabilities": {"experimental": {x: {x: x}}, "roots": {"listChanged": True}, x: {}},
            "clientInfo": {"name": x, "version": x, "title": x, x: x, "icons": [{"src": x, "mimeType": x}]},
        },
    },
    lambda x: {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "t",
            "_meta": {
                **MODERN_META,
                "progressToken": x,
                "traceparent": f"00-{'1' * 32}-{'2' * 16}-{x}",
                "tracestate": f"a={x}",
                "baggage": x,
                f"com.example/{x}": x,
                f"{x}.example/y": [x],
                "io.modelcontextprotocol/logLevel": x,
                f"io.modelcontextprotocol/{x}": x,
            },
            "inputResponses": {x: {"action": x, "content": {x: x, "type": x}}},
            "requestState": x,
        },
    },
    lambda x: {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": x, "reason": x}},
    lambda x: {"jsonrpc": "2.0", "method": f"notifications/{x}", "params": x},
    lambda x: {"jsonrpc": "2.0", "id": 1, "result": {"roots": [{"uri": f"file:///home/{x}", "name": x}]}},
    lambda x: {"jsonrpc": "2.0", "id": 1, "error": {"code": x, "message": x, "data": {x: x, "supported": [x]}}},
    lambda x: {"jsonrpc": "2.0", "id": [x], "error": x},
    lambda x: [{"jsonrpc": "2.0", "id": 1, "method": "ping", x: x}, x, [x]],
    lambda x: {x: {x: x}},
    lambda x: x,
)

RESULTS: Final[Sequence[Callable[[str], Any]]] = (
    lambda x: {
        "tools": [
            {
                "name": x,
                "title": x,
                "description": x,
                "inputSchema": {
                    "type": "object",
                    "$schema": f"https://json-schema.org/{x}",
                    "$id": x,
                    "properties": {
                        x: {"type": x, "format": x, "pattern": x, "x-mcp-header": x, "default": x, "enum": [x]},
                        "b": {"$ref": f"#/$defs/{x}"},
                    },
                    "required": [x],
                    "$defs": {x: {"type": ["string", x], "const": {x: x}}},
                    "dependencies": {x: [x]},
                    x: x,
                },
                "annotations": {"title": x, "readOnlyHint": True},
                "_meta": {x: x},
            }
        ],
        "nextCursor": x,
        "ttlMs": 5,
        "cacheScope": x,
    },
    lambda x: {
        "content": [
            {"type": "text", "text": x},
            {"type": "image", "data": base64.b64encode(x.encode()).decode(), "mimeType": f"image/{x}"},
            {"type": x, "data": x},
            {"type": "resource", "resource": {"uri": f"https://{x}/{x}", "blob": x, "mimeType": x}},
        ],
        "structuredContent": {x: {x: [x, 5]}},
        "isError": False,
    },
    lambda x: {
        "protocolVersion": "2025-11-25",
        "capabilities": {"extensions": {f"a.b/{x}": {x: x}}},
        "serverInfo": {"name": x, "version": x},
        "instructions": x,
    },
    lambda x: {"resultType": x, "inputRequests": {x: {"method": x, "params": {"message": x}}}, "requestState": x},
    lambda x: {"prompts": [{"name": x, "arguments": [{"name": x, "description": x}]}]},
    lambda x: {"messages": [{"role": x, "content": {"type": "text", "text": x}}], "model": x, "stopReason": x},
    lambda x: {"completion": {"values": [x], "total": 1, "hasMore": False}},
    lambda x: {"task": {"taskId": x, "status": x, "createdAt": x, "statusMessage": x, "ttl": 5}},
    lambda x: {x: x},
    lambda x: x,
)

FAULTY_TEXTS: Final[Sequence[Callable[[str], str]]] = (
    lambda x: f'{{"a": NaN, "{x}": "{x}"}}',
    lambda x: f'{{"{x}": 1, "{x}": "{x}"}}',
    lambda x: f'{{"jsonrpc": "2.0", "id": 1e999, "result": "{x}"}}',
    lambda x: f'{{"result": "{x}\\ud800"}}',
    lambda x: f'{{"result": "{x}"}} {x}',
    lambda x: f'{{"result": "{x}',
    lambda x: f"<html><body>{x}</body></html>",
    lambda x: f" {x}\n{x} ",
    lambda x: f'\ufeff{{"result": "{x}"}}',
    lambda x: "[" * 300 + f'"{x}"' + "]" * 300,
)

STREAMS: Final[Sequence[Callable[[str], str]]] = (
    lambda x: f": {x}\n\n",
    lambda x: f"event: {x}\ndata: {x}\n\n",
    lambda x: f"id: {x}\ndata:\n\n",
    lambda x: f"id: {x}\0\ndata: 1\n\n",
    lambda x: f"retry: {x}\n\n",
    lambda x: f"{x}\n{x}: {x}\nDATA: {x}\n\n",
    lambda x: f'{{"jsonrpc": "2.0", "result": "{x}"}}\n\n',
    lambda x: f"data: {x[:9]}\ndata: {x[9:]}\n\n",
    lambda x: f'data: {{"jsonrpc": "2.0",\ndata: "id": "{x}",\ndata:"result": {{"{x}": "é{x}"}}}}\n\n',
    lambda x: f'data: {{"{x}": 1}} {x}\n\n',
    lambda x: f"event: endpoint\ndata: /messages?sessionId={x}\n\n",
    lambda x: f"id: {x}\r\ndata: ☃{x}\r\n\r\n",
    lambda x: f"\ufeff{x}: 1\n\ufeffdata: {x}\n\n",
    lambda x: f"data: {x}\nid: {x}",
    lambda x: f"\r\r\r{x}\rdata",
)


# --- how a value can be hidden ---


def json_escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


def percent_encoded(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def base64_encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def windows(text: str, size: int = 7) -> set[str]:
    """What must not be found of a secret: no part of this length."""
    return {text[start : start + size].lower() for start in range(len(text) - size + 1)}


@st.composite
def canaries(draw: st.DrawFn) -> str:
    """A secret of 24 characters, as keys look: never a word, to which shrinking would lead."""
    chooser = random.Random(draw(st.integers(0, 2**32)))
    secret = chooser.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", k=24)
    for place in chooser.sample(range(2, 20), k=3):
        secret[place] = chooser.choice("0123456789")
    return "".join(secret)


def cut(stream: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(edges)]


# --- observations ---


def request(
    body: Body | None = None,
    headers: Iterable[tuple[str, str]] = (("Content-Type", "application/json"),),
    path: str = "/mcp",
    exchange: str = "x-1",
) -> RequestSeen:
    return RequestSeen(exchange, None, "POST", path, Headers(headers), body or Body.of_text(""))


def answered_by_stream(chunks: Iterable[bytes], exchange: str = "x-1") -> list[Observation]:
    return [
        request(exchange=exchange),
        ResponseSeen(exchange, None, 200, Headers([("Content-Type", "text/event-stream")])),
        *(ResponseChunk(exchange, float(number), chunk) for number, chunk in enumerate(chunks)),
        ExchangeEnded(exchange, None, Ended.COMPLETE),
    ]


def answered_by_body(body: Body, seen: RequestSeen | None = None) -> list[Observation]:
    return [
        seen or request(),
        ResponseSeen("x-1", None, 200, Headers([("Content-Type", "application/json")])),
        ResponseBody("x-1", None, body),
        ExchangeEnded("x-1", None, Ended.COMPLETE),
    ]


def redact(observations: Iterable[Observation], redactor: Redactor | None = None) -> list[Observation]:
    redactor = redactor or Redactor()
    out = [redacted for observation in observations for redacted in redactor.feed(observation)]
    assert redactor.failures == 0
    return out


def chunks_of(observations: Iterable[Observation]) -> list[bytes]:
    return [observation.data for observation in observations if isinstance(observation, ResponseChunk)]


def redact_stream(chunks: Iterable[bytes]) -> list[bytes]:
    return chunks_of(redact(answered_by_stream(chunks)))


def text_of(observations: Iterable[Observation]) -> str:
    """Everything that a file could hold of these observations."""
    parts: list[str] = []
    for observation in observations:
        match observation:
            case RequestSeen():
                parts += (observation.method, observation.path, str(observation.http_version))
                parts += (part for line in observation.headers for part in line)
                parts.append(_body(observation.body))
            case ResponseSeen():
                parts.append(str(observation.http_version))
                parts += (part for line in observation.headers for part in line)
            case ResponseBody():
                parts.append(_body(observation.body))
            case ExchangeEnded():
                parts.append(str(observation.reset_code))
            case ResponseChunk():
                pass
    parts.append(b"".join(chunks_of(observations)).decode(errors="replace"))
    return "\n".join(parts)


def _body(body: Body) -> str:
    if body.text is not None:
        return body.text
    return json.dumps(body.value, ensure_ascii=False, default=str) if body.is_json else ""


@st.composite
def planted(draw: st.DrawFn, canary: str) -> list[Observation]:
    """A conversation that holds a value in one of the places that traffic has, hidden in one of the usual ways."""
    kind = draw(st.sampled_from(["header", "response header", "path", "request", "result", "text", "stream", "event"]))
    number = draw(st.integers(0, 50))
    if kind in ("header", "response header"):
        slot = draw(st.sampled_from(HEADERS))
        hidden = draw(st.sampled_from([canary, percent_encoded(canary), base64_encoded(canary), f"é{canary}"]))
        value = header_value(slot, hidden, number)
        if value.startswith("=?base64?"):
            value += "?="
        headers = [(slot, value), ("X-" + canary, "1")]
        if kind == "header":
            return [request(headers=headers, body=Body.of_value({"jsonrpc": "2.0", "id": 1, "method": "ping"}))]
        return [request(), ResponseSeen("x-1", None, 200, Headers(headers))]
    if kind == "path":
        path = PATHS[number % len(PATHS)]
        return [
            request(path=path.format(draw(st.sampled_from([canary, percent_encoded(canary), quote("é" + canary)]))))
        ]
    if kind == "text":
        return answered_by_body(Body.read(FAULTY_TEXTS[number % len(FAULTY_TEXTS)](canary).encode("utf-8", "replace")))
    if kind == "stream":
        stream = STREAMS[number % len(STREAMS)](canary).encode()
        return answered_by_stream(cut(stream, draw(st.lists(st.integers(0, 200), max_size=8))))
    if kind == "request":
        text = json.dumps(REQUESTS[number % len(REQUESTS)](canary))
    else:
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": RESULTS[number % len(RESULTS)](canary)})
    if draw(st.booleans()):
        text = text.replace(canary, json_escaped(canary))
    if kind == "request":
        return [request(body=Body.read(text.encode()))]
    if kind == "result":
        return answered_by_body(Body.read(text.encode()))
    event = f"event: message\nid: 7\ndata: {text}\n\n".encode()
    return answered_by_stream(cut(event, draw(st.lists(st.integers(0, 2000), max_size=8))))
