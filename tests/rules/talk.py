"""Transcripts for rule tests, told exchange by exchange: only what a test is about is spelled out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from mcp_wire.rules import rules_of
from mcp_wire.transcript.document import Document
from mcp_wire.validation import validate

BOTH = "application/json, text/event-stream"
SESSION = "5f0c7a1e-9b64-4d2f-8a37-c1e6b2d90f45"
CLIENT_INFO = {"name": "example-client", "version": "1.4.0"}
SERVER_INFO = {"name": "example-server", "version": "2.1.0"}
META = "io.modelcontextprotocol/"

type Json = dict[str, Any]
type Fields = Mapping[str, str | None]
"""Header fields over the usual ones; None takes one away."""


@dataclass(slots=True)
class Talk:
    """A transcript in the making."""

    profile: str
    complete: bool = True
    shape: bool = True
    version: str | None = None
    session: str | None = SESSION
    exchanges: list[Json] = field(default_factory=list)

    def document(self) -> Json:
        made: Json = {"profile": self.profile, "exchanges": self.exchanges}
        return (
            made
            | ({"payloads": "shape"} if self.shape else {})
            | ({"complete_from_start": True} if self.complete else {})
        )

    def add(self, method: str, headers: Fields, body: Any = None, answer: Json | None = None, **members: Any) -> Self:
        """One exchange. `at` and `until` are its times; `path` its target."""
        request: Json = {"method": method, "path": members.pop("path", "/mcp")}
        request["headers"] = {name: value for name, value in headers.items() if value is not None}
        if body is not None:
            request["body"] = body
        exchange: Json = {"id": members.pop("id", f"x-{len(self.exchanges)}"), "request": request}
        for name, member in (("at", "started_ms"), ("until", "ended_ms")):
            if name in members:
                exchange[member] = members.pop(name)
        if answer is not None:
            exchange["response"] = answer
        self.exchanges.append(exchange | members)
        return self

    def usual(self, headers: Fields | None) -> dict[str, str | None]:
        named = {"MCP-Protocol-Version": self.version} if self.version else {}
        return {**named, "Mcp-Session-Id": self.session, **(headers or {})}

    def post(self, body: Any, answer: Json, headers: Fields | None = None, **members: Any) -> Self:
        usual = {"Accept": BOTH, "Content-Type": "application/json", **self.usual(headers)}
        return self.add("POST", usual, body, answer, **members)

    def initialize(self, headers: Fields | None = None, *, client: Json | None = None, server: Json | None = None,
                   requested: str | None = None, answered: str | None = None, answer: Json | None = None,
                   id: int = 0, **members: Any) -> Self:  # fmt: skip
        params = {
            "protocolVersion": requested or self.version,
            "capabilities": client or {},
            "clientInfo": CLIENT_INFO,
        }
        result = {
            "protocolVersion": answered or self.version,
            "capabilities": {"tools": {}} if server is None else server,
            "serverInfo": SERVER_INFO,
        }
        given = json_answer({"jsonrpc": "2.0", "id": id, "result": result})
        if self.session:
            given["headers"]["Mcp-Session-Id"] = self.session
        over = {"MCP-Protocol-Version": None, "Mcp-Session-Id": None, **(headers or {})}
        body = {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}
        return self.post(body, given if answer is None else answer, over, **members)

    def notify(self, method: str = "notifications/initialized", params: Json | None = None,
               headers: Fields | None = None, **members: Any) -> Self:  # fmt: skip
        body = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
        return self.post(body, {"status": 202, "headers": {}}, headers, **members)

    def begin(self, **initialize: Any) -> Self:
        return self.initialize(**initialize).notify()

    def ask(self, method: str = "tools/list", params: Json | None = None, *, result: Json | None = None,
            error: Json | None = None, status: int = 200, answer: Json | None = None, headers: Fields | None = None,
            id: Any = None, **members: Any) -> Self:  # fmt: skip
        number = 100 + len(self.exchanges) if id is None else id
        body = {"jsonrpc": "2.0", "id": number, "method": method} | ({} if params is None else {"params": params})
        said = {"error": error} if error is not None else {"result": {"tools": []} if result is None else result}
        given = json_answer({"jsonrpc": "2.0", "id": number, **said}, status)
        return self.post(body, given if answer is None else answer, headers, **members)

    def get(self, answer: Json | None = None, headers: Fields | None = None, **members: Any) -> Self:
        refused = {"status": 405, "headers": {"Allow": "POST"}}
        usual = {"Accept": "text/event-stream", **self.usual(headers)}
        return self.add("GET", usual, None, refused if answer is None else answer, **members)


def legacy(version: str = "2025-11-25", **members: Any) -> Talk:
    usual: Json = {"profile": f"stable-{version}", "version": version}
    return Talk(**(usual | members))


@dataclass(slots=True)
class Modern(Talk):
    """A transcript of 2026-07-28: every request has its headers and `_meta`, every result what it owes."""

    def ask(self, method: str = "tools/list", params: Json | None = None, *, meta: Json | None = None,
            result: Json | None = None, headers: Fields | None = None, **members: Any) -> Self:  # fmt: skip
        own: Json = {
            META + "protocolVersion": "2026-07-28",
            META + "clientInfo": CLIENT_INFO,
            META + "clientCapabilities": {},
        }
        own.update(meta or {})
        params = dict(params or {}) | {"_meta": {name: value for name, value in own.items() if value is not None}}
        mirrored: Json = {"Mcp-Method": method, "Mcp-Name": params.get("name", params.get("uri"))}
        over = {"MCP-Protocol-Version": "2026-07-28", **mirrored, **(headers or {})}
        given = {"tools": [], "ttlMs": 0, "cacheScope": "private"} if result is None else result
        return Talk.ask(self, method, params, result=modern_result(**given), headers=over, **members)

    def call(self, tool: str = "sum", arguments: Json | None = None, **members: Any) -> Self:
        members.setdefault("result", {"content": []})
        return self.ask("tools/call", {"name": tool, "arguments": arguments or {}}, **members)

    def list(self, *tools: Json, **members: Any) -> Self:
        return self.ask(result={"tools": list(tools), "ttlMs": 0, "cacheScope": "private"}, **members)


def modern(**members: Any) -> Modern:
    usual: Json = {"profile": "stable-2026-07-28", "complete": False, "session": None}
    return Modern(**(usual | members))


def modern_result(**members: Any) -> Json:
    return {"resultType": "complete", **members, "_meta": {META + "serverInfo": SERVER_INFO}}


def json_answer(body: Any, status: int = 200) -> Json:
    return {"status": status, "headers": {"Content-Type": "application/json"}, "body": body}


def refusal(status: int = 400) -> Json:
    return {"status": status, "headers": {"Content-Type": "text/plain"}, "body_text": "no"}


def stream(*chunks: Any, ended: str = "open") -> Json:
    return {
        "status": 200,
        "headers": {"Content-Type": "text/event-stream"},
        "chunks": list(chunks),
        "ended": ended,
    }


def tool(name: str = "deploy", /, **properties: Json) -> Json:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


def found(talk: Talk, *codes: str) -> list[str]:
    """The findings of these codes as `code level path`, those of the extended set included, sorted."""
    report = validate(Document(talk.document()), rules_of(extended=True))
    assert "observer_error" not in {finding.code for finding in report.findings}
    return sorted(f"{one.code} {one.level} {one.path}" for one in report.findings if one.code in codes)


def outcome(talk: Talk, code: str) -> str:
    return validate(Document(talk.document()), rules_of(extended=True)).coverage[code].outcome
