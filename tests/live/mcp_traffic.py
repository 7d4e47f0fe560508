"""Small MCP exchanges as observations, for tests that need no proxy."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_wire.live.directory import Origin
from mcp_wire.wire.body import EMPTY, Body
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

ENDPOINT = "http://127.0.0.1:3000/mcp"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "example-client", "version": "1.4.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
BOTH = "application/json, text/event-stream"


def origin(connection: str = "c-1", endpoint: str = ENDPOINT) -> Origin:
    return Origin(endpoint=endpoint, connection=connection, http_version="HTTP/1.1")


@dataclass(frozen=True)
class Step:
    """One observation and where it was made."""

    origin: Origin
    observation: Observation


@dataclass
class Exchange:
    """The observations of one exchange, in order and without times."""

    steps: list[Step]

    @property
    def id(self) -> str:
        return self.steps[0].observation.exchange

    @property
    def request(self) -> Step:
        return self.steps[0]

    @property
    def answer(self) -> list[Step]:
        return self.steps[1:]


_numbers = itertools.count(1)


def exchange(
    body: Any = None,
    *,
    method: str = "POST",
    version: str | None = None,
    session: str | None = None,
    more: Iterable[tuple[str, str]] = (),
    agent: str | None = "example-client/1.4",
    connection: str = "c-1",
    endpoint: str = ENDPOINT,
    status: int = 200,
    answer: Any = None,
    events: Sequence[bytes] | None = None,
    minted: str | None = None,
    ended: Ended | None = Ended.COMPLETE,
    name: str | None = None,
) -> Exchange:
    """One exchange: `answer` is a JSON body, `events` the chunks of an event stream, neither is an empty body."""
    key = name or f"flow-{next(_numbers)}"
    where = origin(connection, endpoint)
    headers = [("Accept", BOTH if method != "GET" else "text/event-stream")]
    if body is not None:
        headers.append(("Content-Type", "application/json"))
    if version is not None:
        headers.append(("MCP-Protocol-Version", version))
    if session is not None:
        headers.append(("Mcp-Session-Id", session))
    if agent is not None:
        headers.append(("User-Agent", agent))
    headers += more
    seen: list[Observation] = [
        RequestSeen(
            key,
            None,
            method,
            "/mcp",
            Headers(headers),
            Body.read(json.dumps(body).encode()) if body is not None else EMPTY,
            "HTTP/1.1",
        )
    ]
    response = [("Mcp-Session-Id", minted)] if minted is not None else []
    if events is not None:
        response.append(("Content-Type", "text/event-stream"))
        seen.append(ResponseSeen(key, None, status, Headers(response)))
        seen += [ResponseChunk(key, None, data) for data in events]
    else:
        if answer is not None:
            response.append(("Content-Type", "application/json"))
        else:
            response.append(("Content-Length", "0"))
        seen.append(ResponseSeen(key, None, status, Headers(response)))
        seen.append(ResponseBody(key, None, Body.read(json.dumps(answer).encode()) if answer is not None else EMPTY))
    if ended is not None:
        seen.append(ExchangeEnded(key, None, ended))
    return Exchange([Step(where, observation) for observation in seen])


def event(message: Any, id: str | None = None) -> bytes:
    head = f"id: {id}\n" if id is not None else ""
    return f"{head}event: message\ndata: {json.dumps(message)}\n\n".encode()


def initialize(
    version: str = "2025-11-25",
    *,
    minted: str | None = None,
    sse: bool = False,
    requested: str | None = None,
    **more: Any,
) -> Exchange:
    request = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": requested or version,
            "capabilities": {},
            "clientInfo": {"name": "example-client", "version": "1.4.0"},
        },
    }
    result = {
        "jsonrpc": "2.0",
        "id": 0,
        "result": {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "example-server", "version": "2.1.0"},
        },
    }
    if sse:
        priming = [b"id: e-0\nretry: 1000\ndata:\n\n"] if version == "2025-11-25" else []
        return exchange(request, minted=minted, events=[*priming, event(result, "e-1")], **more)
    return exchange(request, minted=minted, answer=result, **more)


def initialized(**more: Any) -> Exchange:
    return exchange({"jsonrpc": "2.0", "method": "notifications/initialized"}, status=202, **more)


def tools_list(number: int = 1, *, sse: bool = False, **more: Any) -> Exchange:
    request = {"jsonrpc": "2.0", "id": number, "method": "tools/list"}
    result = {"jsonrpc": "2.0", "id": number, "result": {"tools": []}}
    if sse:
        return exchange(request, events=[event(result)], **more)
    return exchange(request, answer=result, **more)


def modern(
    number: int = 1, *, meta: dict[str, Any] | None = META, version: str | None = "2026-07-28", **more: Any
) -> Exchange:
    params = {"_meta": meta} if meta is not None else {}
    request = {"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": params}
    result = {
        "jsonrpc": "2.0",
        "id": number,
        "result": {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"},
    }
    return exchange(request, version=version, more=[("Mcp-Method", "tools/list")], answer=result, **more)


def delete(session: str, **more: Any) -> Exchange:
    return exchange(method="DELETE", session=session, status=200, **more)


@dataclass
class Clock:
    """Gives observations their times: a step of `by` milliseconds each."""

    now: float = 1_000.0
    by: float = 1.0
    given: list[Step] = field(default_factory=list)

    def stamp(self, steps: Iterable[Step]) -> list[Step]:
        stamped = []
        for step in steps:
            self.now += self.by
            stamped.append(Step(step.origin, replace(step.observation, t_ms=self.now)))
        return stamped


def in_turn(*exchanges: Exchange) -> list[Step]:
    """One exchange after the other, with times."""
    return Clock().stamp(step for one in exchanges for step in one.steps)
