from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.conversation.profile_selection import InitializeWatch, Negotiated, evidence_of, profile_name
from mcp_wire.wire.body import Body
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)

META = "io.modelcontextprotocol/protocolVersion"


def request(body: Any, *headers: tuple[str, str]) -> RequestSeen:
    return RequestSeen("x", None, "POST", "/mcp", Headers(headers), Body.read(json.dumps(body).encode()))


def call(meta: Any = None, method: str = "tools/list") -> dict[str, Any]:
    params = {} if meta is None else {"_meta": {META: meta}}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("2025-03-26", "stable-2025-03-26"),
        ("2025-06-18", "stable-2025-06-18"),
        ("2025-11-25", "stable-2025-11-25"),
        ("2026-07-28", "stable-2026-07-28"),
        ("2024-11-05", "stable-2024-11-05"),
        ("2099-01-01", "stable-2099-01-01"),
        ("draft-2026-07-28", "unknown"),
        ("2025-11-25 ", "unknown"),
        ("٢٠٢٥-11-25", "unknown"),
        ("../../etc/passwd", "unknown"),
        ("", "unknown"),
    ],
)
def test_a_version_is_never_mapped_to_another(version: str, name: str) -> None:
    assert profile_name(version) == name


@pytest.mark.parametrize(
    ("body", "headers", "named", "modern"),
    [
        (call(), [], None, False),
        (call(), [("MCP-Protocol-Version", "2025-06-18")], "2025-06-18", False),
        (call(), [("mcp-protocol-version", " 2026-07-28 ")], "2026-07-28", True),
        (call("2026-07-28"), [], "2026-07-28", True),
        (call("2026-07-28"), [("MCP-Protocol-Version", "2025-11-25")], "2026-07-28", True),
        (call("2025-11-25"), [("MCP-Protocol-Version", "2026-07-28")], "2026-07-28", True),
        (call("2099-01-01"), [("MCP-Protocol-Version", "2025-11-25")], "2099-01-01", False),
        (call(20260728), [], "", False),
        ([call(), call("2026-07-28")], [], "2026-07-28", True),
        (call(), [("MCP-Protocol-Version", "2025-06-18"), ("MCP-Protocol-Version", "2025-11-25")], None, False),
        (call(), [("MCP-Protocol-Version", "2025-06-18"), ("mcp-protocol-version", "2025-06-18")], "2025-06-18", False),
    ],
)
def test_what_a_request_names(body: Any, headers: list[tuple[str, str]], named: str | None, modern: bool) -> None:
    evidence = evidence_of(request(body, *headers))
    assert (evidence.named, evidence.names_modern) == (named, modern)


def test_a_response_or_a_params_array_names_nothing() -> None:
    bodies: tuple[Any, ...] = ({"jsonrpc": "2.0", "id": 1, "result": {"_meta": {META: "2026-07-28"}}}, [], 5, "x", None)
    for body in bodies:
        assert evidence_of(request(body)).named is None
    assert evidence_of(request({"jsonrpc": "2.0", "id": 1, "method": "x", "params": ["2026-07-28"]})).named is None


def test_initialize_is_a_request_and_not_a_notification() -> None:
    assert evidence_of(request(call(method="initialize"))).is_initialize
    assert not evidence_of(request({"jsonrpc": "2.0", "method": "initialize"})).is_initialize


INITIALIZE = request(call(method="initialize"))
RESULT = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18"}}


def head(status: int = 200, content_type: str = "application/json", session: str | None = None) -> ResponseSeen:
    lines = [("Content-Type", content_type)] + ([("Mcp-Session-Id", session)] if session else [])
    return ResponseSeen("x", None, status, Headers(lines))


def test_a_json_result_names_version_and_session() -> None:
    watch = InitializeWatch(INITIALIZE)
    assert watch.feed(head(session="s")) is None
    assert watch.session_id == "s"
    assert watch.feed(ResponseBody("x", None, Body.read(json.dumps(RESULT).encode()))) == Negotiated("2025-06-18")


@given(st.lists(st.integers(0, 400), max_size=8))
def test_an_event_stream_names_the_version_wherever_it_is_cut(cuts: list[int]) -> None:
    log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "é"}}
    stream = b": hello\n\nid: 1\ndata:\n\n" + b"".join(
        b"data: " + json.dumps(message, ensure_ascii=False).encode() + b"\r\n\r\n" for message in (log, RESULT)
    )
    points = sorted({0, len(stream), *(cut % len(stream) for cut in cuts)})
    watch = InitializeWatch(INITIALIZE)
    outcomes = [watch.feed(head(content_type="text/event-stream; charset=utf-8"))]
    outcomes += [watch.feed(ResponseChunk("x", None, stream[a:b])) for a, b in itertools.pairwise(points)]
    assert [outcome for outcome in outcomes if outcome is not None] == [Negotiated("2025-06-18")]


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}},
        {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 5}},
        {"jsonrpc": "2.0", "id": 1, "result": []},
    ],
)
def test_an_error_or_a_result_without_version_negotiates_nothing(body: Any) -> None:
    watch = InitializeWatch(INITIALIZE)
    watch.feed(head())
    assert watch.feed(ResponseBody("x", None, Body.read(json.dumps(body).encode()))) == Negotiated(None)


def test_an_answer_to_another_id_decides_nothing_and_the_end_does() -> None:
    watch = InitializeWatch(INITIALIZE)
    watch.feed(head(400, session="s"))
    assert watch.session_id is None  # a refusal opens no session
    other = {"jsonrpc": "2.0", "id": "1", "result": {"protocolVersion": "2025-06-18"}}
    assert watch.feed(ResponseBody("x", None, Body.read(json.dumps(other).encode()))) is None
    assert watch.feed(ExchangeEnded("x", None, Ended.COMPLETE)) == Negotiated(None)
