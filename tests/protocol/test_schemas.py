"""Message shapes: the official models, and each erratum by which we depart from them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import mcp_types.methods as official
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from mcp_wire.protocol import schema_errata, schemas
from mcp_wire.protocol.methods import Party
from mcp_wire.protocol.profiles import ALL_REVISIONS, R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28
from mcp_wire.protocol.schemas import BOUNDED_NUMBERS, CLOSED_VOCABULARIES, SchemaFault, can_judge, check_message
from mcp_wire.wire.jsonrpc import Envelope, classify
from mcp_wire.wire.strict_json import JsonValue, LongInteger

MISSING = "required member is missing"
NULL = "is null, where the member may only be left out"
NO_WORD = "is none of the allowed values"
NO_SHAPE = "fits none of the allowed shapes"

META: JsonValue = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
TOOL: JsonValue = {"name": "t", "inputSchema": {"type": "object"}}
FORM: JsonValue = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
HINTS: dict[str, JsonValue] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def request(method: str, params: Any = ..., **more: Any) -> Envelope:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method, **more}
    return classify(message if params is ... else {**message, "params": params})


def notification(method: str, params: Any = ...) -> Envelope:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    return classify(message if params is ... else {**message, "params": params})


def response(result: Any) -> Envelope:
    return classify({"jsonrpc": "2.0", "id": 1, "result": result})


def faults(revision: str, sender: Party, envelope: Envelope, method: str | None = None) -> list[tuple[str, str]]:
    assert can_judge(revision, sender, envelope, method)
    return [(fault.pointer, fault.reason) for fault in check_message(revision, sender, envelope, method)]


# --- what is judged ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("revision", "sender", "envelope", "method"),
    [
        (R2025_11_25, "client", request("vendor/thing", 5), None),
        (R2025_11_25, "client", request("roots/list"), None),
        (R2025_11_25, "client", request("tasks/get", {}), None),
        (R2025_11_25, "server", response({}), None),
        (R2025_11_25, "server", response({}), "vendor/thing"),
        (R2025_11_25, "server", response({"task": {}}), "tools/call"),
        (R2025_11_25, "client", response({"task": {}}), "elicitation/create"),
        (R2025_11_25, "server", classify({"jsonrpc": "2.0", "id": 1, "error": {}}), "tools/call"),
        (R2025_11_25, "server", classify([]), "tools/call"),
        (R2025_11_25, "server", classify("x"), None),
        (R2026_07_28, "server", request("roots/list"), None),
        (R2026_07_28, "server", response({"resultType": "task"}), "tools/call"),
        (R2026_07_28, "server", response({"resultType": "input_required"}), "tools/list"),
        ("1999-01-01", "client", request("ping"), None),
    ],
)
def test_no_schema_no_verdict(revision: str, sender: Party, envelope: Envelope, method: str | None) -> None:
    assert not can_judge(revision, sender, envelope, method)
    assert check_message(revision, sender, envelope, method) == []


@pytest.mark.parametrize(
    ("revision", "sender", "envelope", "method"),
    [
        (R2025_03_26, "client", request("ping"), None),
        (R2025_03_26, "client", request("tools/list", {"cursor": "c", "x": None}), None),
        (R2025_11_25, "client", request("tools/list"), None),
        (
            R2025_11_25,
            "client",
            request(
                "initialize",
                {"protocolVersion": "x", "capabilities": {"vendor": 5}, "clientInfo": {"name": "n", "version": ""}},
            ),
            None,
        ),
        (R2025_11_25, "client", request("tools/call", {"name": "t", "task": {"ttl": 1}}), None),
        (R2025_11_25, "client", notification("notifications/initialized"), None),
        (R2025_11_25, "server", notification("notifications/cancelled", {}), None),
        (R2025_11_25, "server", notification("notifications/message", {"level": "info", "data": None}), None),
        (R2025_11_25, "server", response({"content": [{"type": "text", "text": ""}], "x": 5}), "tools/call"),
        (R2025_11_25, "server", response({"tools": [TOOL]}), "tools/list"),
        (R2025_11_25, "server", response({}), "ping"),
        (R2025_11_25, "client", response({"roots": []}), "roots/list"),
        (R2026_07_28, "client", request("server/discover", {"_meta": META}), None),
        (R2026_07_28, "server", response({**HINTS, "tools": [TOOL]}), "tools/list"),
        (R2026_07_28, "server", response({"resultType": "complete", "content": []}), "tools/call"),
        (
            R2026_07_28,
            "server",
            response(
                {
                    "resultType": "input_required",
                    "inputRequests": {"a": {"method": "elicitation/create", "params": FORM}},
                }
            ),
            "tools/call",
        ),
    ],
)
def test_conforming_messages(revision: str, sender: Party, envelope: Envelope, method: str | None) -> None:
    assert faults(revision, sender, envelope, method) == []


@pytest.mark.parametrize(
    ("revision", "sender", "envelope", "method", "expected"),
    [
        (R2025_11_25, "client", request("tools/call", {"arguments": {}}), None, [("/params/name", MISSING)]),
        (R2025_11_25, "client", request("tools/call"), None, [("/params", MISSING)]),
        (R2025_11_25, "client", request("tools/call", []), None, [("/params", "is not an object")]),
        (R2025_11_25, "client", request("tools/list", []), None, [("/params", "is not an object")]),
        (R2025_11_25, "client", request("tools/list", {"cursor": 5}), None, [("/params/cursor", "is not a string")]),
        (
            R2025_11_25,
            "client",
            request("initialize", {"capabilities": [], "clientInfo": {"name": 1}}),
            None,
            [
                ("/params/capabilities", "is not an object"),
                ("/params/clientInfo/name", "is not a string"),
                ("/params/clientInfo/version", MISSING),
                ("/params/protocolVersion", MISSING),
            ],
        ),
        (R2025_11_25, "client", request("logging/setLevel", {"level": "loud"}), None, [("/params/level", NO_WORD)]),
        (
            R2025_11_25,
            "client",
            request("prompts/get", {"name": "p", "arguments": {"secret": 5}}),
            None,
            [("/params/arguments/*", "is not a string")],
        ),
        (R2025_11_25, "server", response({}), "tools/call", [("/result/content", MISSING)]),
        (R2025_11_25, "server", response([]), "tools/call", [("/result", "is not an object")]),
        (R2025_11_25, "server", response(None), "ping", [("/result", "is not an object")]),
        (R2025_11_25, "server", response({"content": {}}), "tools/call", [("/result/content", "is not an array")]),
        (
            R2025_11_25,
            "server",
            response({"content": [], "isError": "false"}),
            "tools/call",
            [("/result/isError", "is not a boolean")],
        ),
        (
            R2025_11_25,
            "server",
            response({"content": [], "structuredContent": [1]}),
            "tools/call",
            [("/result/structuredContent", "is not an object")],
        ),
        (
            R2025_11_25,
            "server",
            response({"resources": [{"uri": "u", "name": "n", "annotations": {"priority": 2, "audience": ["me"]}}]}),
            "resources/list",
            [
                ("/result/resources/0/annotations/audience/0", NO_WORD),
                ("/result/resources/0/annotations/priority", "is above the allowed range"),
            ],
        ),
        (
            R2026_07_28,
            "server",
            response({"resultType": "complete", "completion": {"values": ["x"] * 101}}),
            "completion/complete",
            [("/result/completion/values", "has too many items")],
        ),
        (R2026_07_28, "server", response({"resultType": "complete"}), "tools/call", [("/result/content", MISSING)]),
        (
            R2026_07_28,
            "server",
            response({"resultType": "input_required", "inputRequests": []}),
            "tools/call",
            [("/result/inputRequests", "is not an object")],
        ),
        (
            R2026_07_28,
            "server",
            response({**HINTS, "tools": [], "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "n"}}}),
            "tools/list",
            [("/result/_meta/io.modelcontextprotocol~1serverInfo/version", MISSING)],
        ),
    ],
)
def test_faulty_messages(
    revision: str, sender: Party, envelope: Envelope, method: str | None, expected: list[tuple[str, str]]
) -> None:
    assert faults(revision, sender, envelope, method) == expected


def test_a_request_without_id_and_a_notification_with_one() -> None:
    assert faults(R2025_11_25, "client", notification("tools/list")) == [("/id", MISSING)]
    # The id of a notification is the subject of another finding.
    assert faults(R2025_11_25, "client", request("notifications/initialized")) == []


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "text"}, [("/result/content/0/text", MISSING)]),
        (
            {"type": "image", "data": 5},
            [("/result/content/0/data", "is not a string"), ("/result/content/0/mimeType", MISSING)],
        ),
        ({"type": "video"}, [("/result/content/0/type", NO_WORD)]),
        ({"text": "x"}, [("/result/content/0/type", MISSING)]),
        ({"type": "resource", "resource": {"uri": "u"}}, [("/result/content/0/resource", NO_SHAPE)]),
        ({"type": "resource", "resource": {"text": "t"}}, [("/result/content/0/resource/uri", MISSING)]),
        ("x", [("/result/content/0", "is not an object")]),
        (None, [("/result/content/0", "is not an object")]),
    ],
)
def test_a_union_is_judged_by_the_arm_that_was_meant(block: JsonValue, expected: list[tuple[str, str]]) -> None:
    assert faults(R2025_11_25, "server", response({"content": [block]}), "tools/call") == expected


def test_nothing_of_the_message_is_told() -> None:
    secret = "s3cret/~key"
    told = check_message(
        R2025_11_25, "client", request("prompts/get", {"name": 5, "arguments": {secret: [secret], secret * 2: {}}})
    )
    assert [fault.pointer for fault in told] == ["/params/arguments/*", "/params/name"]
    assert secret not in str(told)


# --- errata: mcp-types is stricter ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sender", "envelope", "method"),
    [
        (
            "client",
            response({"action": "accept", "content": {"pi": 3.14, "n": 1, "b": True, "s": ""}}),
            "elicitation/create",
        ),
        ("server", response({"resources": [{"uri": "u", "name": "n", "size": 1.5}]}), "resources/list"),
        ("server", response({"completion": {"values": [], "total": 1.0}}), "completion/complete"),
        ("server", response({"completion": {"values": [], "total": LongInteger("1" * 700)}}), "completion/complete"),
        ("server", notification("notifications/progress", {"progressToken": 1.5, "progress": 0.5}), None),
        (
            "server",
            notification("notifications/progress", {"progressToken": 1, "progress": LongInteger("1" * 700)}),
            None,
        ),
        ("server", notification("notifications/cancelled", {"requestId": LongInteger("1" * 700)}), None),
        ("server", response({"content": [{"type": "text", "text": "\ud800"}]}), "tools/call"),
    ],
)
def test_number_is_any_number_and_string_is_any_string(sender: Party, envelope: Envelope, method: str | None) -> None:
    assert faults(R2025_11_25, sender, envelope, method) == []


def test_a_boolean_and_a_text_are_no_number() -> None:
    for total in (True, "1"):
        told = faults(
            R2025_11_25, "server", response({"completion": {"values": [], "total": total}}), "completion/complete"
        )
        assert told == [("/result/completion/total", "is not a number")]


LATER = [
    ({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "title": 5}]}, "tools/list", R2025_06_18),
    ({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": []}]}, "tools/list", R2025_06_18),
    ({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "_meta": None}]}, "tools/list", R2025_06_18),
    ({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "icons": None}]}, "tools/list", R2025_11_25),
    ({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "icons": [{"src": 5}]}]}, "tools/list", R2025_11_25),
    ({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "execution": "x"}]}, "tools/list", R2025_11_25),
    ({"content": [], "structuredContent": [1]}, "tools/call", R2025_06_18),
    ({"content": [{"type": "text", "text": "", "_meta": 5}]}, "tools/call", R2025_06_18),
]


@pytest.mark.parametrize(("result", "method", "first"), LATER)
@pytest.mark.parametrize("revision", [R2025_03_26, R2025_06_18, R2025_11_25])
def test_members_that_a_revision_does_not_define_hold_anything(
    result: JsonValue, method: str, first: str, revision: str
) -> None:
    assert (faults(revision, "server", response(result), method) == []) is (revision < first)


def test_capabilities_that_a_revision_does_not_define_hold_anything() -> None:
    later: list[tuple[JsonValue, str]] = [
        ({"elicitation": []}, R2025_06_18),
        ({"sampling": {"tools": True}}, R2025_11_25),
    ]
    for capabilities, first in later:
        params: JsonValue = {
            "protocolVersion": "",
            "capabilities": capabilities,
            "clientInfo": {"name": "", "version": ""},
        }
        for revision in (R2025_03_26, R2025_06_18, R2025_11_25):
            assert (faults(revision, "client", request("initialize", params)) == []) is (revision < first)


# --- errata: mcp-types is more lenient --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sender", "envelope", "method", "pointers"),
    [
        ("client", request("tools/list", {"cursor": None}), None, ["/params/cursor"]),
        ("client", request("tools/call", {"name": "t", "arguments": None}), None, ["/params/arguments"]),
        ("client", request("ping", {"_meta": {"progressToken": None}}), None, ["/params/_meta/progressToken"]),
        ("client", notification("notifications/initialized", None), None, ["/params"]),
        ("server", response({"tools": [TOOL], "nextCursor": None}), "tools/list", ["/result/nextCursor"]),
        (
            "server",
            response(
                {"tools": [TOOL, {"name": "t", "inputSchema": {"type": "object"}, "title": None, "annotations": None}]}
            ),
            "tools/list",
            ["/result/tools/1/annotations", "/result/tools/1/title"],
        ),
        (
            "server",
            response({"content": [], "_meta": None, "isError": None}),
            "tools/call",
            ["/result/_meta", "/result/isError"],
        ),
    ],
)
def test_null_is_no_way_to_leave_out_a_member(
    sender: Party, envelope: Envelope, method: str | None, pointers: list[str]
) -> None:
    assert faults(R2025_11_25, sender, envelope, method) == [(pointer, NULL) for pointer in pointers]


def test_null_is_a_value_where_anything_is() -> None:
    assert (
        faults(
            R2026_07_28,
            "server",
            response({"resultType": "complete", "content": [], "structuredContent": None}),
            "tools/call",
        )
        == []
    )
    assert faults(R2025_11_25, "client", request("tools/call", {"name": "t", "arguments": {"a": None}})) == []


@pytest.mark.parametrize("revision", [R2025_03_26, R2025_06_18, R2025_11_25])
def test_shapes_that_came_later(revision: str) -> None:
    link = response({"content": [{"type": "resource_link", "uri": "u", "name": "n"}]})
    expected = [("/result/content/0/type", NO_WORD)] if revision < R2025_06_18 else []
    assert faults(revision, "server", link, "tools/call") == expected

    sampled: dict[str, JsonValue] = {"role": "user", "model": "m"}
    listed = response({**sampled, "content": [{"type": "text", "text": ""}]})
    expected = [("/result/content", "is not an object")] if revision < R2025_11_25 else []
    assert faults(revision, "client", listed, "sampling/createMessage") == expected

    used = response({**sampled, "content": {"type": "tool_use", "id": "1", "name": "t", "input": {}}})
    expected = [("/result/content/type", NO_WORD)] if revision < R2025_11_25 else []
    assert faults(revision, "client", used, "sampling/createMessage") == expected

    cancelled = notification("notifications/cancelled", {"reason": "x"})
    expected = [("/params/requestId", MISSING)] if revision < R2025_11_25 else []
    assert faults(revision, "client", cancelled) == expected


@pytest.mark.parametrize("revision", [R2025_06_18, R2025_11_25])
def test_elicitation_of_two_revisions(revision: str) -> None:
    by_url = request("elicitation/create", {"mode": "url", "message": "m", "url": "u", "elicitationId": "e"})
    expected = [("/params/requestedSchema", MISSING)] if revision < R2025_11_25 else []
    assert faults(revision, "server", by_url) == expected

    answer = response({"action": "accept", "content": {"choices": ["a"]}})
    expected = [("/result/content/*", NO_SHAPE)] if revision < R2025_11_25 else []
    assert faults(revision, "client", answer, "elicitation/create") == expected

    empty = response({"action": "accept", "content": {"choice": None}})
    assert faults(revision, "client", empty, "elicitation/create") == [("/result/content/*", NO_SHAPE)]


# --- faults that have a finding of their own --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("revision", "sender", "envelope", "method", "codes"),
    [
        (R2025_11_25, "client", request("tools/list", None), None, ["invalid_jsonrpc_body"]),
        (R2025_11_25, "client", request("tools/call", None), None, ["invalid_jsonrpc_body"]),
        (R2025_11_25, "client", request("tools/call", []), None, [None]),
        (R2025_11_25, "client", request("tools/call"), None, [None]),
        (R2025_11_25, "client", request("ping", {"_meta": {"progressToken": {}}}), None, ["progress_token_invalid"]),
        (R2025_11_25, "server", response({"tools": [{"name": "t"}]}), "tools/list", ["tool_definition_invalid"]),
        (R2026_07_28, "client", request("tools/list"), None, ["body_version_mismatch"]),
        (R2026_07_28, "client", request("tools/list", {}), None, ["body_version_mismatch"]),
        (
            R2026_07_28,
            "client",
            request("tools/list", {"_meta": {}}),
            None,
            ["client_capabilities_missing", "body_version_mismatch"],
        ),
        (
            R2026_07_28,
            "server",
            response({"tools": [], "ttlMs": -1, "cacheScope": "all"}),
            "tools/list",
            ["cache_hints_invalid", "result_type_invalid", "cache_hints_invalid"],
        ),
        (
            R2026_07_28,
            "server",
            response({"resultType": "complete"}),
            "subscriptions/listen",
            ["subscription_id_mismatch"],
        ),
        (
            R2026_07_28,
            "server",
            response({"resultType": "input_required", "inputRequests": {"a": {"method": "tools/call", "params": {}}}}),
            "tools/call",
            ["input_request_invalid_method"],
        ),
    ],
)
def test_codes(revision: str, sender: Party, envelope: Envelope, method: str | None, codes: list[str | None]) -> None:
    assert [fault.code for fault in check_message(revision, sender, envelope, method)] == codes


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_a_huge_message_is_judged_by_the_start_of_its_lists() -> None:
    good: JsonValue = {"type": "text", "text": ""}
    huge = response({"content": [good, {"type": "text"}, *[good] * schemas.MAX_NODES]})
    assert faults(R2025_11_25, "server", huge, "tools/call") == [("/result/content/1/text", MISSING)]
    bad = response({"content": [{"type": "text"}] * 3_000})
    told = faults(R2025_11_25, "server", bad, "tools/call")
    assert told == [(f"/result/content/{i}/text", MISSING) for i in range(schemas.MAX_FAULTS)]


def test_free_form_parts_may_be_large() -> None:
    rows: JsonValue = {"rows": [[i, {}] for i in range(schemas.MAX_NODES)]}
    large = response({"content": [], "structuredContent": rows, "isError": "no"})
    assert faults(R2025_11_25, "server", large, "tools/call") == [("/result/isError", "is not a boolean")]


def test_what_stays_too_large_is_not_judged() -> None:
    wide: JsonValue = {str(i): {"type": 5} for i in range(schemas.MAX_NODES + 1)}
    tool: JsonValue = {"name": 5, "inputSchema": {"type": "object", "properties": wide}}
    assert check_message(R2025_11_25, "server", response({"tools": [tool]}), "tools/list") == []


# --- any JSON ---------------------------------------------------------------------------------------------------------

JSON_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(["text", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["_meta", "name", "content", "type", "text", "tools", "inputSchema", "\udc00", "resultType"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)
KEYS: list[tuple[str, str]] = sorted(
    key for table in (official.CLIENT_REQUESTS, official.SERVER_REQUESTS) for key in table if key[1] in ALL_REVISIONS
)


@given(st.sampled_from(KEYS), JSON_VALUES)
def test_total_deterministic_and_discreet(key: tuple[str, str], value: JsonValue) -> None:
    method, revision = key
    senders: tuple[Party, ...] = ("client", "server")
    for sender in senders:
        for envelope, asked in ((request(method, value), None), (response(value), method)):
            told = check_message(revision, sender, envelope, asked)
            assert told == check_message(revision, sender, envelope, asked)
            assert len(set(told)) == len(told)
            for fault in told:
                assert fault.pointer.startswith(("/params", "/result"))
                fault.pointer.encode()


# --- the tables -------------------------------------------------------------------------------------------------------


def models() -> Iterator[type[BaseModel]]:
    packages = {inspect.getmodule(model) for model in official.CLIENT_REQUESTS.values()}
    for package in packages:
        for model in vars(package).values():
            if inspect.isclass(model) and issubclass(model, BaseModel):
                yield model


def words(annotation: Any) -> set[str]:
    if get_origin(annotation) is Literal:
        return {word for word in get_args(annotation) if isinstance(word, str)}
    return set().union(*(words(part) for part in get_args(annotation)))


def test_closed_vocabularies_are_those_of_the_models() -> None:
    found: dict[str, set[str]] = {}
    for model in models():
        for name, field in model.model_fields.items():
            found.setdefault(field.alias or name, set()).update(words(field.annotation))
    found = {name: allowed for name, allowed in found.items() if allowed and name not in ("jsonrpc", "method")}
    found["resultType"] = {"complete", "input_required"}
    assert {name: set(allowed) for name, allowed in CLOSED_VOCABULARIES.items()} == found


def test_bounded_numbers_are_those_of_the_models() -> None:
    found = {
        field.alias or name
        for model in models()
        for name, field in model.model_fields.items()
        if any(hasattr(constraint, "ge") or hasattr(constraint, "le") for constraint in field.metadata)
    }
    assert found == BOUNDED_NUMBERS


def test_errata_name_what_exists() -> None:
    members = {
        (model.__name__, field.alias or name) for model in models() for name, field in model.model_fields.items()
    }
    for table in (
        schema_errata.LATER_MEMBERS,
        schema_errata.LATER_LISTS,
        schema_errata.LATER_OPTIONAL,
        schema_errata.SCALAR_VALUES,
    ):
        assert set(table) <= members
    assert set(schema_errata.LATER_SHAPES) <= {owner for owner, _ in members}


def test_faults_are_values() -> None:
    assert SchemaFault("/params", MISSING) == SchemaFault("/params", MISSING, None)


# --- shapes that are remembered ---------------------------------------------------------------------------------------

WORDS: list[JsonValue] = ["text", "image", "user", "info", "x", "", None, True, 0, 1, 0.5, -1, LongInteger("1" * 700)]
MEMBERS = ["type", "text", "role", "level", "data", "content", "priority", "annotations", "name", "arguments", "_meta"]
PAYLOADS: st.SearchStrategy[JsonValue] = st.recursive(
    st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4),
    max_leaves=12,
)


CARRIERS: list[tuple[Party, str | None, str | None]] = [
    ("server", "notifications/message", None),
    ("client", "tools/call", None),
    ("client", "completion/complete", None),
    ("server", None, "tools/call"),
    ("server", None, "prompts/get"),
    ("client", None, "sampling/createMessage"),
]


@given(st.data(), st.sampled_from(ALL_REVISIONS))
def test_what_is_remembered_of_one_message_is_true_of_the_next(data: st.DataObject, revision: str) -> None:
    """Payloads that differ in single values only: each gets the verdict that it gets by itself."""
    sender, method, answered = data.draw(st.sampled_from(CARRIERS))
    payload = data.draw(PAYLOADS)
    for _ in range(3):
        envelope = response(payload) if method is None else request(method, payload)
        expected = schemas._faults_of(revision, sender, envelope, answered)
        assert check_message(revision, sender, envelope, answered) == expected
        assert check_message(revision, sender, envelope, answered) == expected
        payload = _with_another_value(payload, data)


def _with_another_value(value: JsonValue, data: st.DataObject) -> JsonValue:
    if isinstance(value, dict) and value:
        name = data.draw(st.sampled_from(sorted(value)))
        return value | {name: _with_another_value(value[name], data)}
    if isinstance(value, list) and value:
        return [_with_another_value(value[0], data), *value[1:]]
    return data.draw(st.sampled_from(WORDS))


def test_a_value_that_is_asked_for_is_part_of_the_shape() -> None:
    for level, expected in (("info", []), ("loud", [("/params/level", NO_WORD)]), ("info", [])):
        assert (
            faults(R2025_11_25, "server", notification("notifications/message", {"level": level, "data": 1}))
            == expected
        )


def test_the_memory_of_shapes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "MAX_SHAPES_REMEMBERED", 10)
    schemas._KNOWN_SOUND.clear()
    for number in range(100):
        assert (
            check_message(R2025_11_25, "client", request("tools/call", {"name": "t", "arguments": {str(number): 1}}))
            == []
        )
        assert len(schemas._KNOWN_SOUND) <= 10
    schemas._KNOWN_SOUND.clear()
    huge: list[JsonValue] = [
        {"name": "t", "arguments": {str(n): 1 for n in range(1_000)}},
        {"name": "t", "x" * 10_000: 1},
    ]
    for params in huge:
        assert check_message(R2025_11_25, "client", request("tools/call", params)) == []
    assert not schemas._KNOWN_SOUND
