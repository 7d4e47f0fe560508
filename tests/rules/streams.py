"""Events for stream tests: what a server writes, and the chunk that brings it at a time."""

from __future__ import annotations

import json
from typing import Any

from tests.rules.talk import Json, modern_result

DONE: Json = {"content": []}


def event(message: Json | str, id: str | None = None, *, retry: int | None = None, at: float | None = None) -> Any:
    """One event; `message` "" gives the empty data of a priming event."""
    lines = [] if id is None else [f"id: {id}"]
    lines += [] if retry is None else [f"retry: {retry}"]
    lines.append(f"data: {message if isinstance(message, str) else json.dumps(message)}")
    return timed("\n".join(lines) + "\n\n", at)


def timed(text: str, at: float | None = None) -> Any:
    return text if at is None else {"t_ms": at, "text": text}


def comment(at: float | None = None) -> Any:
    return timed(": keep-alive\n\n", at)


def primed(id: str = "e-0", *, retry: int | None = 1_000, at: float | None = None) -> Any:
    return event("", id, retry=retry, at=at)


def answered(id: Any, result: Json | None = None) -> Json:
    return {"jsonrpc": "2.0", "id": id, "result": DONE if result is None else result}


def modern_answer(id: Any) -> Json:
    return answered(id, modern_result(**DONE))


def failed(id: Any, code: int = -32603) -> Json:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "failed"}}


def told(method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def progressed(token: Any, value: Any) -> Json:
    return told("notifications/progress", progressToken=token, progress=value)


def asked(id: Any, method: str = "ping") -> Json:
    return {"jsonrpc": "2.0", "id": id, "method": method}


def calling(token: Any = None, name: str = "sum", **arguments: Any) -> Json:
    """The params of a tools/call."""
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return {"name": name, "arguments": arguments, **meta}
