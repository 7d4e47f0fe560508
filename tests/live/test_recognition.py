"""MCP by evidence, and silence for everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_wire.live.recognition import Recogniser, Verdict, endpoint_of, is_foreign
from mcp_wire.wire.body import Body
from mcp_wire.wire.headers import NO_HEADERS, Headers
from tests.live.mcp import GET, INITIALIZE, POST

ENDPOINT = "http://example.test:80/mcp"


def head(method: str, headers: dict[str, str], target: str = "/mcp", recogniser: Recogniser | None = None) -> Verdict:
    recogniser = recogniser or Recogniser()
    return recogniser.head(endpoint_of("http", "example.test", 80, target), method, target, Headers(headers.items()))


def message(method: str, params: Any = None, **more: Any) -> Body:
    value = {"jsonrpc": "2.0", "id": 1, "method": method, **more}
    if params is not None:
        value["params"] = params
    return Body.read(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {**POST, "Mcp-Session-Id": "s"}),
        ("POST", {**POST, "MCP-Protocol-Version": "2025-06-18"}),
        ("POST", {"Mcp-Method": "tools/call"}),
        ("GET", {**GET, "MCP-Protocol-Version": "2025-06-18"}),
        ("GET", {"mcp-session-id": "s"}),
        ("DELETE", {"Mcp-Session-Id": "s"}),
        ("PUT", {"Mcp-Session-Id": "s"}),
        ("OPTIONS", {"Access-Control-Request-Headers": "content-type, mcp-protocol-version"}),
    ],
)
def test_headers_that_are_evidence(method: str, headers: dict[str, str]) -> None:
    assert head(method, headers) is Verdict.MCP


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        ("GET", "/.well-known/oauth-protected-resource/mcp", {"MCP-Protocol-Version": "2025-06-18"}),
        ("GET", "/tenant/.well-known/openid-configuration", {"MCP-Protocol-Version": "2025-06-18"}),
        ("GET", "/authorize?client_id=x", {"MCP-Protocol-Version": "2025-06-18"}),
        ("GET", "/", {"Accept": "text/html"}),
        ("GET", "/mcp", {"Accept": "*/*"}),
        ("DELETE", "/mcp", {}),
        ("OPTIONS", "/mcp", {"Access-Control-Request-Headers": "content-type"}),
        ("GET", "/mcp", {**GET, "Upgrade": "websocket"}),
        ("POST", "/messages?sessionId=1", {"Content-Type": "application/json"}),
        ("POST", "/messages/?session_id=1", {"Content-Type": "application/json", "Accept": "*/*"}),
    ],
)
def test_requests_that_are_not_mcp(method: str, target: str, headers: dict[str, str]) -> None:
    assert head(method, headers, target) is Verdict.OTHER


def test_what_only_more_can_decide() -> None:
    assert head("POST", POST) is Verdict.BODY_DECIDES
    assert head("POST", {"Content-Type": "application/x-www-form-urlencoded"}, "/token") is Verdict.BODY_DECIDES
    version = {"Content-Type": "application/x-www-form-urlencoded", "MCP-Protocol-Version": "2025-06-18"}
    assert head("POST", version, "/token") is Verdict.BODY_DECIDES
    assert head("GET", GET) is Verdict.FIRST_EVENT_DECIDES
    assert head("GET", {**GET, "Last-Event-ID": "7"}) is Verdict.FIRST_EVENT_DECIDES


@pytest.mark.parametrize(
    "body",
    [
        Body.read(INITIALIZE),
        message("tools/list"),
        message("tools/call", {"name": "x"}),
        message("server/discover", {}),
        message("subscriptions/listen", {}),
        message("notifications/initialized"),
        message("notifications/cancelled", {"requestId": 1}),
        message("tasks/get", {"taskId": "t"}),
        Body.read(b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]'),
    ],
)
def test_bodies_that_are_evidence(body: Body) -> None:
    assert Recogniser().body(body)


@pytest.mark.parametrize(
    "body",
    [
        message("message/send", {"message": {}}),
        message("message/stream", {"message": {}}),
        message("tasks/get", {"id": "t"}),
        message("tasks/list"),
        message("eth_blockNumber", []),
        message("initialize", {"processId": 1, "rootUri": None, "capabilities": {}}),
        message("textDocument/hover", {}),
        message("ping"),
        message("tools/unheard_of"),
        message("tools/list", jsonrpc="1.0"),
        Body.read(b'{"jsonrpc":"2.0","id":1,"result":{}}'),
        Body.read(b"{oops"),
        Body.read(b""),
        Body.read(b"grant_type=authorization_code&code=x"),
        Body.read(b'{"redirect_uris":["http://localhost"],"client_name":"c"}'),
        Body.read(b'{"model":"m","stream":true,"tools":[]}'),
        Body.not_captured("it was streamed"),
    ],
)
def test_bodies_that_are_none(body: Body) -> None:
    assert not Recogniser().body(body)


def test_what_follows_on_a_known_endpoint_is_mcp() -> None:
    recogniser = Recogniser()
    recogniser.answered(ENDPOINT, 200, NO_HEADERS)
    assert head("GET", {"Accept": "*/*"}, recogniser=recogniser) is Verdict.MCP
    assert head("POST", {}, "/mcp?key=1", recogniser=recogniser) is Verdict.MCP
    assert head("PUT", {}, recogniser=recogniser) is Verdict.MCP
    assert head("POST", POST, "/mcp/other", recogniser=recogniser) is Verdict.BODY_DECIDES
    assert head("GET", {"Sec-Fetch-Mode": "navigate"}, recogniser=recogniser) is Verdict.OTHER


@pytest.mark.parametrize("status", [301, 307, 404, 405, 501, 502, 503])
def test_a_probe_that_was_refused_makes_no_endpoint(status: int) -> None:
    recogniser = Recogniser()
    recogniser.answered(ENDPOINT, status, NO_HEADERS)
    assert not recogniser.is_known(ENDPOINT)
    recogniser.answered(ENDPOINT, status, Headers([("Mcp-Session-Id", "s")]))
    assert recogniser.is_known(ENDPOINT)


@pytest.mark.parametrize("status", [200, 202, 400, 401, 403, 406, 415])
def test_an_answer_makes_it_one(status: int) -> None:
    recogniser = Recogniser()
    recogniser.answered(ENDPOINT, status, NO_HEADERS)
    assert recogniser.is_known(ENDPOINT)


def test_other_protocols_on_a_known_endpoint() -> None:
    assert is_foreign(NO_HEADERS, message("message/send", {}))
    assert is_foreign(NO_HEADERS, message("eth_call", []))
    assert is_foreign(NO_HEADERS, Body.read(b'{"redirect_uris":["http://localhost"]}'))
    assert not is_foreign(NO_HEADERS, message("tools/unheard_of"))
    assert not is_foreign(Headers([("Mcp-Session-Id", "s")]), message("message/send", {}))
    assert not is_foreign(NO_HEADERS, Body.read(b"{oops"))
    assert not is_foreign(NO_HEADERS, Body.not_captured("it was streamed"))


@pytest.mark.parametrize(
    ("data", "posted"),
    [
        ("/messages?sessionId=1", "/messages"),
        ("http://example.test/messages/?session_id=1", "/messages/"),
        ("http://example.test:80/sse/m", "/sse/m"),
        ("?sessionId=1", "/mcp"),
    ],
)
def test_the_transport_of_2024_11_05_is_left_alone(data: str, posted: str) -> None:
    recogniser = Recogniser()
    assert recogniser.legacy_stream(ENDPOINT, data)
    assert head("POST", {**POST, "MCP-Protocol-Version": "2024-11-05"}, posted, recogniser) is Verdict.OTHER


@pytest.mark.parametrize("data", ["", "{}", "hello", "http://other.test/messages", "http://[bad", "javascript:x"])
def test_another_event_named_endpoint_is_not_it(data: str) -> None:
    assert not Recogniser().legacy_stream(ENDPOINT, data)


def test_endpoints_have_no_query_and_one_spelling() -> None:
    assert endpoint_of("http", "Example.TEST", 80, "/Mcp?x=1") == "http://example.test:80/Mcp"
    assert endpoint_of("https", "::1", 443, "/") == "https://[::1]:443/"
