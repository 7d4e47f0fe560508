"""Headers that mirror the body: what is compared, with which definition, and where no verdict is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.talk import META, Json, Modern, found, json_answer, legacy, modern, outcome, refusal, stream, tool

REGION = {"type": "string", "x-mcp-header": "Region"}
COUNT = {"type": "integer", "x-mcp-header": "Count"}
DRY = {"type": "boolean", "x-mcp-header": "Dry-Run"}
DEPLOY = tool("deploy", region=REGION, count=COUNT, dry=DRY)
CHANGED = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'

PARAMETERS = ("param_header_mismatch", "param_header_unexpected", "header_value_encoding_invalid")
CLIENT = ("method_header_mismatch", "name_header_mismatch", "body_version_mismatch", *PARAMETERS)


def mismatch(id: int) -> Json:
    return json_answer({"jsonrpc": "2.0", "id": id, "error": {"code": -32020, "message": "Header mismatch"}}, 400)


def codes(talk: Modern, *of: str) -> list[str]:
    return [one.split()[0] for one in found(talk, *(of or CLIENT))]


@pytest.mark.parametrize(
    ("arguments", "headers", "expected"),
    [
        ({"region": "eu-1"}, {"mcp-param-region": "eu-1"}, []),
        ({"region": "eu-1"}, {"Mcp-Param-Region": " eu-1\t"}, []),
        ({"region": "eu-1"}, {"Mcp-Param-Region": "=?base64?ZXUtMQ==?="}, []),  # encoded without need
        ({"region": "eu-1"}, {"Mcp-Param-Region": "EU-1"}, ["param_header_mismatch"]),
        ({"region": "eu-1"}, {}, ["param_header_mismatch"]),
        ({"region": ""}, {"Mcp-Param-Region": ""}, []),
        ({"region": ""}, {}, []),  # some proxies drop empty fields
        ({"region": 7}, {}, []),  # not of the declared type
        ({"region": "a\tb"}, {"Mcp-Param-Region": "a\tb"}, []),  # the text is ambiguous
        ({"region": "=?BASE64?eA==?="}, {"Mcp-Param-Region": "=?BASE64?eA==?="}, []),  # no sentinel
        ({"region": "=?base64?eA==?="}, {"Mcp-Param-Region": "=?base64?eA==?="}, ["param_header_mismatch"]),
        ({"region": " eu-1"}, {"Mcp-Param-Region": "eu-1"}, ["header_value_encoding_invalid"]),
        ({"region": "öst"}, {"Mcp-Param-Region": "öst"}, ["header_value_encoding_invalid"]),
        ({"region": "x"}, {"Mcp-Param-Region": "=?base64?eA?="}, ["header_value_encoding_invalid"]),  # no padding
        ({"region": "x"}, {"Mcp-Param-Region": "=?base64?/w==?="}, ["header_value_encoding_invalid"]),  # no UTF-8
        ({"count": 42}, {"Mcp-Param-Count": "42.0"}, []),
        ({"count": 42.0}, {"Mcp-Param-Count": "42"}, []),
        ({"count": -7}, {"Mcp-Param-Count": "-7"}, []),
        ({"count": 42}, {"Mcp-Param-Count": "43"}, ["param_header_mismatch"]),
        ({"count": 4.5}, {}, []),  # no integer
        ({"count": 2**53}, {"Mcp-Param-Count": str(2**53)}, ["param_header_mismatch"]),
        ({"count": 10**30}, {}, ["param_header_mismatch"]),
        ({"dry": False}, {"Mcp-Param-Dry-Run": "false"}, []),
        ({"dry": False}, {"Mcp-Param-Dry-Run": "False"}, ["param_header_mismatch"]),
        ({"dry": None}, {}, []),
        ({"dry": None}, {"Mcp-Param-Dry-Run": "false"}, ["param_header_unexpected"]),
        ({}, {"Mcp-Param-Region": "eu-1"}, ["param_header_unexpected"]),
        ({}, {"Mcp-Param-Zone": "a"}, []),  # explained by no definition
    ],
)
def test_parameters(arguments: Json, headers: Json, expected: list[str]) -> None:
    assert codes(modern().list(DEPLOY).call("deploy", arguments, headers=headers)) == expected


def test_nested_parameters_are_found_by_their_exact_path() -> None:
    nested = tool(
        "deploy", target={"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}}
    )
    talk = modern().list(nested).call("deploy", {"zone": "a", "target": {"zone": "b"}}, headers={"Mcp-Param-Zone": "b"})
    assert codes(talk) == []
    assert outcome(talk, "param_header_mismatch") == "satisfied"


@pytest.mark.parametrize(
    "talk",
    [
        modern().call("deploy", {"region": "eu-1"}),  # no definition was seen
        modern().call("deploy", {"region": "eu-1"}).list(DEPLOY),  # it came too late
        modern().list(DEPLOY, meta={META + "clientInfo": {"name": "other"}}).call("deploy", {"region": "eu-1"}),
        modern().list(DEPLOY, headers={"Authorization": "Bearer other"}).call("deploy", {"region": "eu-1"}),
        modern().list(DEPLOY, headers={"User-Agent": "other"}).call("deploy", {"region": "eu-1"}),
        modern().list(DEPLOY).list(tool("deploy")).call("deploy", {"region": "eu-1"}),  # defined anew
        modern().list(DEPLOY).ask(answer=stream(CHANGED)).call("deploy", {"region": "eu-1"}),  # perhaps out of date
        modern(shape=False).list(DEPLOY).call("deploy", {"region": "eu-1"}),  # cut by hand
        modern().list(tool("deploy", r={"type": "number", "x-mcp-header": "R"})).call("deploy", {"r": 0.5}),
    ],
)  # fmt: skip
def test_no_verdict_without_the_definition_of_this_client(talk: Modern) -> None:
    assert codes(talk, *PARAMETERS) == []


@pytest.mark.parametrize(
    ("method", "params", "name", "expected"),
    [
        ("tools/call", {"name": "sum"}, "sum", []),
        ("prompts/get", {"name": "greet"}, "greet", []),
        ("resources/read", {"uri": "file:///a%20b"}, "file:///a%20b", []),
        ("resources/read", {"uri": "file:///a%20b"}, "file:///a b", ["name_header_mismatch"]),
        ("tools/call", {"name": "sum"}, "SUM", ["name_header_mismatch"]),
        ("tools/call", {"name": "sum"}, None, ["name_header_mismatch"]),
        ("tools/call", {"name": 7}, None, []),  # a fault of the schema
        ("tools/list", {}, None, []),
        ("tools/list", {}, "everything", []),
        ("com.example/run", {"name": "x"}, None, []),
        ("tools/call", {"name": "é"}, "=?base64?w6k=?=", []),
        ("tools/call", {"name": "é"}, "=?base64?6Q==?=", ["header_value_encoding_invalid"]),  # Latin-1
    ],
)
def test_names(method: str, params: Json, name: str | None, expected: list[str]) -> None:
    talk = modern().ask(method, params, headers={"Mcp-Name": name})
    assert codes(talk, "name_header_mismatch", "header_value_encoding_invalid") == expected


def test_notifications_owe_no_headers() -> None:
    talk = modern().ask().post({"jsonrpc": "2.0", "method": "notifications/x"}, {"status": 202, "headers": {}})
    assert codes(talk, *CLIENT, "protocol_version_mismatch", "client_capabilities_missing") == []


def test_notifications_owe_headers_in_the_archived_draft() -> None:
    talk = modern(profile="draft-2026-07-28", shape=False)
    talk.post({"jsonrpc": "2.0", "method": "notifications/x"}, {"status": 202, "headers": {}})
    assert codes(talk, *CLIENT, "protocol_version_mismatch") == [
        "body_version_mismatch",
        "method_header_mismatch",
        "protocol_version_mismatch",
    ]


def test_initialize_in_a_modern_conversation_owes_nothing_of_it() -> None:
    talk = modern(version="2025-11-25").initialize(answer=refusal())
    of = (*CLIENT, "protocol_version_mismatch", "client_capabilities_missing", "client_info_missing")
    assert codes(talk, *of) == []


def test_absent_meta_proves_nothing_in_a_transcript_cut_by_hand() -> None:
    talk = modern(shape=False).ask(meta={META + "protocolVersion": None})
    assert outcome(talk, "body_version_mismatch") == "cannot_tell"
    talk.profile = "draft-2026-07-28"
    assert codes(talk, "body_version_mismatch") == ["body_version_mismatch"]


def test_header_on_two_lines_is_not_compared() -> None:
    talk = modern().ask()
    lines = [[name, value] for name, value in talk.exchanges[0]["request"]["headers"].items()]
    talk.exchanges[0]["request"]["headers"] = [*lines, ["mcp-method", "tools/call"]]
    assert codes(talk) == []


# What the server owes


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({}, ["header_mismatch_not_rejected"]),
        ({"error": {"code": -32020, "message": "no"}}, ["header_mismatch_not_rejected"]),  # with status 200
        ({"error": {"code": -32020, "message": "no"}, "status": 400}, []),
        ({"error": {"code": -32600, "message": "no"}, "status": 400}, ["header_mismatch_not_rejected"]),
        ({"error": {"code": -32602, "message": "no"}, "status": 400}, []),
        ({"error": {"code": -32022, "message": "no"}, "status": 400}, []),
        ({"error": {"code": -32601, "message": "no"}, "status": 404}, []),
        ({"error": {"code": -32000, "message": "no"}, "status": 401}, []),
        ({"error": {"code": -32603, "message": "no"}, "status": 500}, []),
        ({"answer": refusal()}, []),  # perhaps an intermediary's
    ],
)
def test_mismatch_is_refused(answer: Json, expected: list[str]) -> None:
    talk = modern().ask().call(headers={"Mcp-Name": "other"}, **answer)
    assert codes(talk, "header_mismatch_not_rejected") == expected


def test_server_of_an_earlier_revision_owes_nothing() -> None:
    result = json_answer({"jsonrpc": "2.0", "id": 1, "result": {"content": []}})
    talk = modern().call(headers={"Mcp-Name": "other"}, id=1, answer=result)
    assert codes(talk, "header_mismatch_not_rejected", "server_info_missing") == []
    assert outcome(talk, "header_mismatch_not_rejected") == "cannot_tell"


@pytest.mark.parametrize(("versions", "expected"), [(["2026-07-28"], 1), (["2026-07-28", "2025-06-18"], 0)])
def test_missing_version_header_is_judged_at_a_modern_only_server(versions: list[str], expected: int) -> None:
    discovered = {"supportedVersions": versions, "capabilities": {}, "ttlMs": 0, "cacheScope": "public"}
    talk = modern().ask("server/discover", result=discovered).ask(headers={"MCP-Protocol-Version": None})
    assert len(codes(talk, "header_mismatch_not_rejected")) == expected


# Definitions


@pytest.mark.parametrize(
    ("schema", "level"),
    [
        ({"type": "string", "x-mcp-header": "Method"}, None),
        ({"type": "string", "x-mcp-header": ""}, "error"),
        ({"type": "string", "x-mcp-header": 7}, "error"),
        ({"type": "string", "x-mcp-header": "a b"}, "error"),
        ({"type": "string", "x-mcp-header": "a\r\nb"}, "error"),
        ({"type": "number", "x-mcp-header": "A"}, "error"),
        ({"type": "object", "x-mcp-header": "A"}, "error"),
        ({"type": ["string", "null"], "x-mcp-header": "A"}, "info"),
        ({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}, "error"),
        ({"anyOf": [{"type": "string", "x-mcp-header": "A"}]}, "error"),
        ({"type": "string", "default": {"x-mcp-header": ""}}, None),  # data, no schema
    ],
)
def test_annotations(schema: Json, level: str | None) -> None:
    expected = [] if level is None else [f"invalid_tool_header_annotation {level} /exchanges/0/response/body"]
    assert found(modern().list(tool("deploy", a=schema)), "invalid_tool_header_annotation") == expected


def test_annotations_are_unknown_to_earlier_revisions() -> None:
    listed = {"tools": [tool("deploy", a={"type": "number", "x-mcp-header": "A"})]}
    assert found(legacy().begin().ask(result=listed), "invalid_tool_header_annotation") == []


@pytest.mark.parametrize(
    ("name", "secret"),
    [("Password", True), ("X-Api-Key", True), ("Client-Secret", True), ("AccessToken", True), ("Token", True),
     ("Page-Token", False), ("Max-Tokens", False), ("Region", False), ("Key", False), ("Secretary", False)],
)  # fmt: skip
def test_secret_names(name: str, secret: bool) -> None:
    talk = modern().list(tool("deploy", a={"type": "string", "x-mcp-header": name}))
    assert bool(found(talk, "sensitive_param_header")) is secret


@pytest.mark.parametrize(
    "between",
    [
        lambda talk: talk.list(DEPLOY),
        lambda talk: talk.call("deploy", {"region": "other"}, headers={"Mcp-Param-Region": "other"}),
    ],
)
def test_repeated_call_after_a_refusal(between: Any) -> None:
    def refused(talk: Modern) -> Modern:
        number = len(talk.exchanges)
        return talk.call("deploy", {"region": "eu-1"}, id=number, answer=mismatch(number))

    talk = refused(refused(modern().list(DEPLOY)))
    assert codes(talk, "tools_list_not_refreshed") == ["tools_list_not_refreshed"]
    asked_again = refused(between(refused(modern().list(DEPLOY))))
    refreshed = between(modern()).exchanges[0]["request"]["body"]["method"] == "tools/list"
    assert bool(codes(asked_again, "tools_list_not_refreshed")) is not refreshed


def test_refused_number_in_another_notation() -> None:
    talk = modern().list(DEPLOY).call(
        "deploy", {"count": 42, "region": "a"}, headers={"Mcp-Param-Count": "42.0"}, id=5, answer=mismatch(5)
    )  # fmt: skip
    assert codes(talk, "numeric_header_rejected") == []  # the region is missing: reason enough
