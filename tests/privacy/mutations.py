"""Transcripts with something changed in them: values, names, lines and bytes, chosen so that rules care."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

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
from mcp_wire.wire.strict_json import MISSING

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 1.5, 1.0, 2**60, 1e300, [], {}, [1], {"a": 1}),
    *("", "x", "a b", "é", " a", "a ", "a\nb", "a\0b", "\ud800", "x" * 200, "1", "42", "42.0", "nonsense"),
    *("tools/call", "ping", "initialize", "notifications/x", "notifications/initialized", "server/discover"),
    *("2025-11-25", "2026-07-28", "2025-06-18", "1999-01-01", "v1", "complete", "input_required", "object", "string"),
    *("=?base64?YQ==?=", "=?base64?%?=", "https://a.example/b/c", "https://a.example/b", "file:///x", "/rel"),
    *("text", "user", "info", "error", "private", "accept", "form", "url", "YWJj", "YWJj=", "image/png"),
    *("session-A", "redacted-1", "id-1", "name-1", "cursor-1", "tool-1", "1000000000001", 10**12 + 1, 10.0**12 + 1.5),
    *("weak-A", "http://host-1.example/redacted-2", "1000-00-01", 91 * 10**14 + 2, 4155551234, 0.4155551234),
    *(-32000, -32020, -32021, -32022, -32601, -32602),
)
NAMES: Final = (
    *(
        "id",
        "method",
        "params",
        "result",
        "error",
        "jsonrpc",
        "name",
        "uri",
        "_meta",
        "cursor",
        "nextCursor",
        "code",
        "x",
    ),
    *("message", "data", "tools", "content", "type", "progressToken", "requestId", "inputRequests", "inputResponses"),
    *("requestState", "resultType", "ttlMs", "cacheScope", "supported", "x-mcp-header", "inputSchema", "arguments"),
    *("name-1", "redacted-1", "protocolVersion", "capabilities", "level", "notifications", "resourceSubscriptions"),
    *("io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/protocolVersion"),
)
HEADER_VALUES: Final = (
    *("", "x", "application/json", "text/event-stream", "application/json, text/event-stream", "*/*", "text/html"),
    *("application/json;q=0, text/event-stream", "application/json; charset=utf-16", "application/x y", "2024-11-05"),
    *("2025-11-25", "2026-07-28", "2025-06-18", "bad", "tools/call", "ping", "=?base64?YQ==?=", "=?base64?%?=", "é"),
    *("a b", " a ", "1", "42", "0", "7", "99999", "gzip", "identity", "nginx", "nginx/1.2", "Apache", "session-A"),
    *("demo17", "12345678901234567", "http://evil.example", "http://localhost:1", "localhost:3000", "example.com"),
    *("redacted-1", "host-1.example", "weak-A", "cursor-1", "1999-01-01", "9000-00-01", "1000-00-01", "4155551234"),
    *("1.1 intranet", "max-age=4155551234", "999999999999999", "9999999999999999", "0", "2030-13-45"),
    *("null", "Bearer abc", "Bearer", "no", "yes", "HIT", "POST", "close", "chunked"),
)
HEADER_NAMES: Final = (
    *("Accept", "Content-Type", "MCP-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region"),
    *("Last-Event-ID", "Origin", "Host", "Authorization", "Cookie", "Content-Length", "Content-Encoding", "Via", "Age"),
    *("Accept-Encoding", "Transfer-Encoding", "X-Accel-Buffering", "Server", "X-Cache", "Allow", "Location", "CF-Ray"),
    *("WWW-Authenticate", "Access-Control-Allow-Origin", "User-Agent", "Connection", "X-Odd"),
)
LINES: Final = (
    *(
        b": c\n",
        b"id: 1\n",
        b"id: 2\n",
        b"id:\n",
        b"retry: x\n",
        b"retry: 10\n",
        b"retry: 4155551234\n",
        b"id: cursor-1\n",
        b"event: ping\n",
        b"event: x\n",
        b"\n",
    ),
    *(b"junk\n", b"data: NaN\n\n", b"data: \n\n", b"data: [1]\n\n", b"id: a\0b\n", b"\xff\n", b"\xef\xbb\xbf"),
    *(b'data: "x"\n\n', b'data: {"a":1,"a":2}\n\n'),
)
BODIES: Final = (
    *(Body.of_text(text) for text in ("", "oops", "[1,2", '{"a":NaN}', "<html>x</html>")),
    Body.read(b"\xff"),
    Body.not_captured("x"),
)
STATUSES: Final = (200, 202, 301, 400, 401, 404, 405, 500, 502)


def mutated(observations: Iterable[Observation], seed: int) -> list[Observation]:
    """The observations with one to five changes. The same seed makes the same changes."""
    chooser = random.Random(seed)
    changed = list(observations)
    for _ in range(chooser.choice([1, 1, 2, 3, 5])):
        if changed:
            place = chooser.randrange(len(changed))
            changed[place] = _changed(changed[place], chooser)
    return changed


def _changed(observation: Observation, chooser: random.Random) -> Observation:
    match observation:
        case RequestSeen() | ResponseSeen() if chooser.random() < 0.5:
            return replace(observation, headers=_headers(observation.headers, chooser))
        case RequestSeen() | ResponseBody():
            return replace(observation, body=_body(observation.body, chooser))
        case ResponseSeen():
            return replace(observation, status=chooser.choice(STATUSES))
        case ResponseChunk():
            return replace(observation, data=_chunk(observation.data, chooser))
        case ExchangeEnded():
            return replace(observation, ended=chooser.choice([*Ended, None]))
    return observation


def _headers(headers: Headers, chooser: random.Random) -> Headers:
    lines = list(headers)
    change = chooser.random()
    if lines and change < 0.4:
        place = chooser.randrange(len(lines))
        lines[place] = (lines[place][0], chooser.choice(HEADER_VALUES))
    elif lines and change < 0.55:
        del lines[chooser.randrange(len(lines))]
    elif lines and change < 0.65:
        lines.append(chooser.choice(lines))
    else:
        lines.append((chooser.choice(HEADER_NAMES), chooser.choice(HEADER_VALUES)))
    return Headers(lines)


def _body(body: Body, chooser: random.Random) -> Body:
    if body.value is MISSING or chooser.random() < 0.15:
        return chooser.choice(BODIES)
    value = _value(body.value, chooser)
    return Body.of_value(value) if chooser.random() < 0.5 else Body.read(json.dumps(value).encode())


def _value(value: Any, chooser: random.Random) -> Any:
    value = copy.deepcopy(value)
    containers = list(_containers(value))
    if not containers:
        return chooser.choice(VALUES)
    container = chooser.choice(containers)
    new = copy.deepcopy(chooser.choice(VALUES))
    change = chooser.random()
    if isinstance(container, list):
        if container and change < 0.5:
            container[chooser.randrange(len(container))] = new
        else:
            container.append(copy.deepcopy(chooser.choice(container)) if container and change < 0.7 else new)
        return value
    name = chooser.choice(list(container)) if container else "x"
    if not container or change > 0.85:
        container[chooser.choice(NAMES)] = new
    elif change < 0.5:
        container[name] = new
    elif change < 0.65:
        del container[name]
    elif change < 0.75:
        container[chooser.choice(NAMES)] = container.pop(name)
    else:
        other = chooser.choice(containers)
        if isinstance(other, dict) and other:
            container[name] = copy.deepcopy(other[chooser.choice(list(other))])
    return value


def _containers(value: Any) -> Iterable[Any]:
    if isinstance(value, dict | list):
        yield value
        for member in value.values() if isinstance(value, dict) else value:
            yield from _containers(member)


def _chunk(data: bytes, chooser: random.Random) -> bytes:
    change = chooser.random()
    start = data.find(b"data: {")
    if change < 0.35 and start >= 0:
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        try:
            value = json.loads(data[start + 6 : end])
        except ValueError:
            return data
        written = json.dumps(_value(value, chooser), ensure_ascii=chooser.random() < 0.5)
        return data[: start + 6] + written.encode("utf-8", "replace") + data[end:]
    if change < 0.6:
        return chooser.choice(LINES) + data
    place = chooser.randrange(len(data) + 1)
    if change < 0.75:
        return data[:place] + data[place + 1 :]
    if change < 0.85:
        return data + data
    return data[:place] + bytes([chooser.randrange(256)]) + data[place:]
