"""The headers of a request against its body."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wire.reports.header_checks import header_checks
from mcp_wire.wire.body import Body
from mcp_wire.wire.headers import Headers

STABLE = "stable-2025-11-25"
MODERN = "stable-2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def call(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def checked(headers: dict[str, str], body: Any, profile: str | None = None) -> list[tuple[str, str | None, str, str]]:
    checks = header_checks(Headers(headers.items()), Body.of_value(body), profile)
    return [(check.name, check.value, check.agreement, check.remark) for check in checks]


@pytest.mark.parametrize(
    ("headers", "body", "profile", "expected"),
    [
        (
            {"MCP-Protocol-Version": "2025-11-25"},
            {"jsonrpc": "2.0", "id": 1, "method": "ping"},
            STABLE,
            [("MCP-Protocol-Version", "2025-11-25", "agrees", "the revision in force")],
        ),
        (
            {"mcp-protocol-version": "2025-06-18"},
            {"jsonrpc": "2.0", "id": 1, "method": "ping"},
            STABLE,
            [("MCP-Protocol-Version", "2025-06-18", "differs", "the revision in force is 2025-11-25")],
        ),
        (
            {},
            {"jsonrpc": "2.0", "id": 1, "method": "ping"},
            STABLE,
            [("MCP-Protocol-Version", None, "alone", "the revision in force is 2025-11-25")],
        ),
        (
            {},
            {"method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
            None,
            [("MCP-Protocol-Version", None, "alone", "initialize offers 2025-11-25 in its body")],
        ),
        (
            {"Mcp-Method": "tools/call", "Mcp-Name": "slow", "MCP-Protocol-Version": "2026-07-28"},
            call(name="slow", _meta=META),
            MODERN,
            [
                ("MCP-Protocol-Version", "2026-07-28", "agrees", "_meta names the same"),
                ("Mcp-Method", "tools/call", "agrees", "the body says the same"),
                ("Mcp-Name", "slow", "agrees", "params.name is the same"),
            ],
        ),
        (
            {"Mcp-Method": "tools/list", "Mcp-Name": "=?base64?c2xvdw==?="},
            call(name="fast", _meta=META),
            MODERN,
            [
                ("MCP-Protocol-Version", None, "differs", "_meta names 2026-07-28"),
                ("Mcp-Method", "tools/list", "differs", "the body says tools/call"),
                ("Mcp-Name", "=?base64?c2xvdw==?=", "differs", "params.name is fast (decoded: slow)"),
            ],
        ),
        (
            {},
            call(name="slow", _meta=META),
            MODERN,
            [
                ("MCP-Protocol-Version", None, "differs", "_meta names 2026-07-28"),
                ("Mcp-Method", None, "differs", "the body says tools/call"),
                ("Mcp-Name", None, "differs", "params.name is slow"),
            ],
        ),
        (
            {"Mcp-Param-Region": "eu", "Mcp-Param-Other": "x", "Mcp-Param-Count": "42.0"},
            call(arguments={"region": "us", "count": 42}),
            None,
            [
                ("Mcp-Param-Region", "eu", "differs", "arguments.region is us"),
                (
                    "Mcp-Param-Other",
                    "x",
                    "unknown",
                    "no argument has this name; the tool's definition says what it mirrors",
                ),
                ("Mcp-Param-Count", "42.0", "agrees", "arguments.count is the same"),
            ],
        ),
        (
            {"Mcp-Session-Id": "s-1", "Accept": "application/json", "X-Other": "y", "Last-Event-ID": "e-7"},
            None,
            None,
            [
                ("Mcp-Session-Id", "s-1", "alone", ""),
                ("Accept", "application/json", "alone", ""),
                ("Last-Event-ID", "e-7", "alone", ""),
            ],
        ),
    ],
)
def test_headers_are_held_against_the_body(
    headers: dict[str, str], body: Any, profile: str | None, expected: list[tuple[str, str | None, str, str]]
) -> None:
    assert checked(headers, body, profile) == expected


def test_a_body_that_was_not_captured_cannot_be_compared() -> None:
    headers = Headers([("Mcp-Method", "ping"), ("Mcp-Name", "x")])
    checks = list(header_checks(headers, Body.not_captured("too large"), MODERN))
    assert [(check.name, check.agreement) for check in checks] == [("Mcp-Method", "unknown"), ("Mcp-Name", "unknown")]
