"""What redaction keeps: types, shapes, equality, faults, and itself."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.mirrored_headers import compare, designated_parameters
from mcp_wire.protocol.mirrored_headers import encode as encode_mirrored
from mcp_wire.wire.body import NOT_CAPTURED, Body
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.media_types import accept_lists, charset, essence
from mcp_wire.wire.observation import ExchangeEnded, Observation, RequestSeen, ResponseBody, ResponseSeen
from mcp_wire.wire.strict_json import MAX_DEPTH, MISSING, is_integer
from tests.privacy.conversations import (
    FAULTY_TEXTS,
    REQUESTS,
    RESULTS,
    answered_by_body,
    canaries,
    chunks_of,
    planted,
    redact,
    request,
)

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(
        ["object", "tools/call", "2025-11-25", "redacted-1", "id-2", "text", "application/json", "42", "4.0"]
    ),
)
COMMON_NAMES = (
    *("jsonrpc", "id", "method", "params", "result", "error", "code", "message", "data", "_meta", "arguments", "name"),
    *("uri", "tools", "inputSchema", "properties", "type", "required", "content", "text", "structuredContent", "enum"),
    *("capabilities", "experimental", "x-mcp-header", "protocolVersion", "$ref", "inputRequests", "inputResponses"),
    *("progressToken", "traceparent", "cursor", "ttlMs", "clientInfo", "version", "items", "name-1"),
)
NAMES = st.one_of(st.text(max_size=5), st.sampled_from(COMMON_NAMES))
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5), max_leaves=25
)


def redacted_body(body: Body) -> Body:
    (seen,) = redact([request(body=body)])
    assert isinstance(seen, RequestSeen)
    return seen.body


def redacted_value(value: Any) -> Any:
    return redacted_body(Body.of_value(value)).value


def redacted_headers(*lines: tuple[str, str], body: Any = None, redactor: Redactor | None = None) -> Headers:
    (seen,) = redact([request(headers=lines, body=Body.of_value(body))], redactor)
    assert isinstance(seen, RequestSeen)
    return seen.headers


def same_shape(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(
            same_shape(one, other) for one, other in zip(left.values(), right.values(), strict=True)
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same_shape(one, other) for one, other in zip(left, right, strict=True))
    if isinstance(left, float) and isinstance(right, float):
        return math.isfinite(left) == math.isfinite(right) and is_integer(left) == is_integer(right)
    return type(left) is type(right) and (isinstance(left, str | int) or left is right)


# --- the redactor as a whole ---


@given(VALUES)
@settings(max_examples=300)
def test_json_keeps_types_and_shape(value: Any) -> None:
    assert same_shape(value, redacted_value(value))


@given(VALUES)
@settings(max_examples=300)
def test_a_redacted_value_stays(value: Any) -> None:
    once = redacted_body(Body.of_value(value))
    assert redacted_body(once) == once


@given(canaries().flatmap(planted))
@settings(max_examples=200)
def test_redacting_twice_changes_nothing(observations: list[Observation]) -> None:
    once = redact(observations)
    assert redact(once) == once


@given(st.lists(canaries().flatmap(planted), max_size=4))
@settings(max_examples=100)
def test_redacting_a_whole_conversation_twice_changes_nothing(parts: list[list[Observation]]) -> None:
    once = redact(observation for part in parts for observation in part)
    assert redact(once) == once


@given(canaries().flatmap(planted))
@settings(max_examples=200)
def test_the_same_observations_give_the_same_labels(observations: list[Observation]) -> None:
    assert redact(observations) == redact(observations)


def test_every_observation_comes_out_in_its_place() -> None:
    observations = answered_by_body(NOT_CAPTURED)
    assert [type(one) for one in redact(observations)] == [RequestSeen, ResponseSeen, ResponseBody, ExchangeEnded]
    assert redact(observations)[2] == observations[2]


# --- bodies ---


@pytest.mark.parametrize("number", range(len(FAULTY_TEXTS)))
@pytest.mark.parametrize("end", ["", "\ud800"])
def test_a_faulty_text_keeps_its_faults(number: int, end: str) -> None:
    body = Body.of_text(FAULTY_TEXTS[number]("x1y2z3 secret" + end))
    redacted = redacted_body(body)
    assert {fault.kind for fault in redacted.faults} == {fault.kind for fault in body.faults}
    assert (redacted.value is MISSING) == (body.value is MISSING)
    assert redacted_body(redacted) == redacted


@pytest.mark.parametrize("raw", [b"", b" \n ", b"\xff\xfe{}", b'{"a": "\xff"}', b"plain", b"12 34", b"[1, 2", b'{"a":'])
def test_a_text_stays_what_it_was(raw: bytes) -> None:
    body = Body.read(raw)
    redacted = redacted_body(body)
    assert redacted.is_empty == body.is_empty
    assert redacted.utf8 == body.utf8
    assert {fault.kind for fault in redacted.faults} == {fault.kind for fault in body.faults}
    assert redacted_body(redacted) == redacted


def test_numbers_of_any_length() -> None:
    body = redacted_body(Body.of_text('{"id": ' + "7" * 5000 + ', "params": [1e999, -1e999, ' + "3" * 400 + "]}"))
    assert body.has("out_of_range")
    assert isinstance(body.value, dict)
    assert is_integer(body.value["id"])
    assert "7777" not in str(body.value)
    assert "3333" not in str(body.text)


def test_too_deep_stays_too_deep() -> None:
    text = "[" * (MAX_DEPTH + 50) + '"secret"' + "]" * (MAX_DEPTH + 50)
    assert redacted_body(Body.of_text(text)).reading.too_deep
    value: Any = "secret"
    for _ in range(MAX_DEPTH + 50):
        value = [value]
    assert redacted_body(Body.of_value(value)).reading.too_deep


def test_ids_and_tokens() -> None:
    def message(identifier: Any) -> Any:
        return {
            "jsonrpc": "2.0",
            "id": identifier,
            "method": "ping",
            "params": {"_meta": {"progressToken": identifier}},
        }

    for stays in (0, -7, 1.0, 1.5, None, True, 999_999):
        assert redacted_value(message(stays)) == message(stays)
    assert redacted_value([message("abc"), message("7"), message("abc")]) == [
        message("id-1"),
        message("id-2"),
        message("id-1"),
    ]


def test_the_vocabulary_of_the_protocol_stays() -> None:
    value = {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "resultType": "complete",
            "tools": [
                {
                    "name": "get_weather",
                    "inputSchema": {
                        "type": "object",
                        "properties": {"type": {"type": "string", "format": "date-time", "minLength": 3}},
                        "required": ["type"],
                        "additionalProperties": False,
                        "$schema": "https://json-schema.org/draft/2020-12/schema",
                    },
                    "annotations": {"readOnlyHint": True, "idempotentHint": False},
                    "execution": {"taskSupport": "optional"},
                }
            ],
            "ttlMs": 60000,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "example-server", "version": "2.1.0"}},
        },
    }
    assert redacted_value(value) == value
    error = {"code": -32022, "message": "x", "data": {"supported": ["2025-11-25"], "requested": "2099-01-01"}}
    kept = redacted_value({"jsonrpc": "2.0", "id": None, "error": error})
    assert kept == {"jsonrpc": "2.0", "id": None, "error": {**error, "message": "redacted-1"}}


def test_names_in_schema_arguments_and_required_correspond() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "unit": {}}, "required": ["city"]}
    listed: Any = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "t", "inputSchema": schema}]}}
    called: Any = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "t", "arguments": {"city": "x"}},
    }
    seen = redact([*answered_by_body(Body.of_value(listed)), request(body=Body.of_value(called))])
    listing, call = seen[2], seen[-1]
    assert isinstance(listing, ResponseBody)
    assert isinstance(call, RequestSeen)
    new: Any = listing.body.value
    new_schema = new["result"]["tools"][0]["inputSchema"]
    arguments: Any = call.body.value
    name = next(iter(arguments["params"]["arguments"]))
    assert name == "name-1"
    assert next(iter(new_schema["properties"])) == name
    assert new_schema["required"] == [name]


def test_input_requests_and_responses_correspond() -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "result": {"inputRequests": {"where": {"method": "roots/list"}}}}
    answer = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"inputResponses": {"where": {"roots": []}}}}
    first, second = redacted_value([asked, answer])
    assert first["result"]["inputRequests"] == {"name-1": {"method": "roots/list"}}
    assert second["params"]["inputResponses"] == {"name-1": {"roots": []}}


@pytest.mark.parametrize(
    ("method", "shown"),
    [
        ("tools/call", "tools/call"),
        ("notifications/initialized", "notifications/initialized"),
        ("notifications/acme/done", "notifications/method-1"),
        ("acme/secret", "method-1"),
        ("", ""),
    ],
)
def test_methods(method: str, shown: str) -> None:
    assert redacted_value({"jsonrpc": "2.0", "id": 1, "method": method})["method"] == shown
    assert redacted_headers(("Mcp-Method", method)).get("Mcp-Method") == shown


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/protocolVersion"),
        ("progressToken", "progressToken"),
        ("com.acme/thing", "name-1/name"),
        ("com.acme/", "name-1/"),
        ("-acme/thing", "name-1-/name"),
        ("com.acme/thing_", "name-1/name-"),
        ("thing", "name-1"),
        ("thing!", "name-1-"),
        ("", ""),
    ],
)
def test_keys_of_meta_stay_valid_or_invalid(key: str, shown: str) -> None:
    value = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {key: True}}}
    once = redacted_value(value)
    assert once["params"]["_meta"] == {shown: True}
    assert redacted_value(once) == once


@pytest.mark.parametrize(
    ("given", "valid"),
    [
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", True),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", False),
        ("nonsense", False),
    ],
)
def test_trace_contexts_stay_valid_or_invalid(given: str, valid: bool) -> None:
    value = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {"traceparent": given}}}
    once = redacted_value(value)
    shown = once["params"]["_meta"]["traceparent"]
    assert shown != given
    assert (shown == f"00-{1:032x}-{1:016x}-01") == valid
    assert redacted_value(once) == once


def test_json_in_a_text_block_is_replaced_as_structured_content_is() -> None:
    data = {"city": "Paris", "days": [1, 2.5, None]}
    result = {"content": [{"type": "text", "text": json.dumps(data, indent=1)}], "structuredContent": data}
    new = redacted_value({"jsonrpc": "2.0", "id": 1, "result": result})["result"]
    assert json.loads(new["content"][0]["text"]) == new["structuredContent"]
    assert new["structuredContent"] == {"name-1": "redacted-1", "name-2": [10**12 + 1, 10**12 + 2.5, None]}


@pytest.mark.parametrize(
    ("reason", "stays"),
    [("the body was streamed", True), ("sk-proj-4f9aK2mQ7xLw8Zt3", False), ("a\nb", False), ("", False)],
)
def test_reasons_are_sentences(reason: str, stays: bool) -> None:
    body = Body.not_captured(reason)
    assert redacted_body(body).absence == (reason if stays else "not captured")


def test_binary_content_stays_base64_or_none() -> None:
    def shown(data: str) -> str:
        content = {"type": "image", "data": data, "mimeType": "image/png"}
        value = redacted_value({"jsonrpc": "2.0", "id": 1, "result": {"content": [content]}})
        (block,) = value["result"]["content"]
        assert redacted_value(value) == value
        return str(block["data"])

    assert shown("iVBORw0KGgo=") == "cmVkYWN0ZWQtMQ=="
    assert shown("iVBORw0KGgo") == "cmVkYWN0ZWQtMQ"
    assert shown("not base64!") == "redacted-1"


def test_a_tool_name_stays_unless_it_looks_like_a_key() -> None:
    def call(name: str) -> Any:
        return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}}

    for name in ("get_weather", "github:create/issue", "é", "två ord"):
        assert redacted_value(call(name)) == call(name)
        assert redacted_headers(("Mcp-Name", name), body=call(name)).get("mcp-name") == name
    for name in ("sk-proj-4f9aK2mQ7xLw8Zt3", "a\x01b", " a", ""):
        assert redacted_value(call(name)) != call(name) or not name
    long = redacted_value(call("n" * 129))["params"]["name"]
    assert len(long) > 128
    assert "nnn" not in long
    for name, label in (("sk_4f9aK2mQ7xLw8Zt3", "tool-1"), ("sk=4f9aK2mQ7xLw8Zt3", "tool-1!"), ("n" * 140, None)):
        shown = redacted_value(call(name))["params"]["name"]
        assert label is None or shown == label
        assert redacted_value(call(shown)) == call(shown)
        assert redacted_headers(("Mcp-Name", name), body=call(name)).get("mcp-name") == shown
    hidden = Redactor(keep_tool_names=False)
    assert redacted_headers(("Mcp-Name", "get_weather"), body=call("get_weather"), redactor=hidden).get("Mcp-Name") == (
        "tool-1"
    )


# --- header fields ---


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Accept", "application/json, text/event-stream;q=0.9", "application/json, text/event-stream;q=0.9"),
        ("Accept", "application/x-acme, */*; q=x", "application/redacted-1, */*; q=redacted-2"),
        ("Content-Type", 'application/json; charset="UTF-8"', 'application/json; charset="UTF-8"'),
        ("Content-Type", "acme", "redacted-1"),
        ("MCP-Protocol-Version", "2025-11-25", "2025-11-25"),
        ("MCP-Protocol-Version", "latest", "redacted-1"),
        ("Authorization", "Bearer abc.def==", "Bearer redacted-1"),
        ("Authorization", "abc", "redacted-1"),
        ("Cookie", "sid=abc; theme=abc", "name-1=redacted-1; name-2=redacted-1"),
        (
            "Set-Cookie",
            "sid=abc; Path=/; HttpOnly; Max-Age=5",
            "name-1=redacted-1; Path=/; HttpOnly; Max-Age=redacted-2",
        ),
        ("User-Agent", "python-httpx/0.28.1", "python-httpx/0.28.1"),
        ("User-Agent", "Mozilla/5.0 (X11; Linux) Gecko/20100101", "Mozilla/5.0 (redacted-1) Gecko/20100101"),
        ("Server", "nginx", "nginx"),
        ("Via", "1.1 proxy.corp.example (squid/4.10)", "1.1 redacted-1 (squid/4.10)"),
        ("Content-Length", "1234", "1234"),
        ("Content-Length", "12345678901234567", "9999999999999999"),
        ("Age", "00000000000000000000", "0000000000000000"),
        ("Retry-After", "30", "30"),
        ("Date", "Tue, 15 Nov 1994 08:12:31 GMT", "Tue, 15 Nov 1994 08:12:31 GMT"),
        ("Origin", "null", "null"),
        ("Origin", "http://localhost:6274", "http://localhost:6274"),
        ("Origin", "https://app.acme.com", "https://host-1.example"),
        ("Host", "10.1.2.3:8080", "host-1.internal:8080"),
        ("Host", "127.0.0.1:3000", "127.0.0.1:3000"),
        ("Location", "/login?next=%2Fmcp", "/login?name-1=redacted-1"),
        (
            "WWW-Authenticate",
            'Bearer realm="acme", error="invalid_token"',
            'Bearer realm="redacted-1", error="invalid_token"',
        ),
        ("Vary", "Origin, X-Acme", "Origin, X-Name-1"),
        ("X-Accel-Buffering", "no", "no"),
        ("X-Acme-Tenant", "acme", None),
        ("Cache-Control", "no-cache, max-age=60", "no-cache, max-age=60"),
    ],
)
def test_header_values(name: str, value: str, shown: str | None) -> None:
    once = redacted_headers((name, value))
    if shown is not None:
        assert once.raw == ((name, shown),)
    assert redacted_headers(*once.raw) == once


def test_header_names() -> None:
    once = redacted_headers(("X-Acme-Tenant", "a"), ("x-acme-tenant", "b"), ("acme", "c"), ("Mcp-Param-City", "d"))
    assert [name for name, _ in once] == ["X-Name-1", "x-name-1", "name-2", "Mcp-Param-param-1"]
    assert redacted_headers(*once.raw) == once


def test_two_spellings_stay_two() -> None:
    headers = Headers.from_object({"X-Acme": "a", "x-acme": "b", "ACCEPT": "text/html", "Accept": "*/*"})
    (seen,) = redact([RequestSeen("x-1", None, "POST", "/mcp", headers, Body.of_text(""))])
    assert isinstance(seen, RequestSeen)
    assert [name for name, _ in seen.headers] == ["X-Name-1", "x-name-1", "ACCEPT", "Accept"]
    assert seen.headers.clashes == ("accept", "x-name-1")


def test_one_value_one_label_wherever_it_is() -> None:
    secret = "s3cr3t-s3cr3t-s3cr3t"
    (seen,) = redact(
        [
            request(
                path=f"/mcp/{secret}?access_token={secret}",
                headers=[
                    ("Cookie", f"sid={secret}"),
                    ("Mcp-Session-Id", secret),
                    ("Authorization", f"Bearer {secret}"),
                    ("Last-Event-ID", secret),
                    ("X-Api-Key", secret),
                ],
                body=Body.of_value({"jsonrpc": "2.0", "id": secret, "method": "x", "params": {"a": secret, secret: 1}}),
            )
        ]
    )
    assert isinstance(seen, RequestSeen)
    assert seen.path == "/mcp/session-A?access_token=session-A"
    assert [value for _, value in seen.headers] == [
        "name-2=session-A",
        "session-A",
        "Bearer session-A",
        "session-A",
        "session-A",
    ]
    body: Any = seen.body.value
    assert body["id"] == "session-A"
    assert list(body["params"].items())[1] == ("session-A", 10**12 + 1)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["application/json", "text/event-stream", "text/html", "*/*", "APPLICATION/JSON", "acme/x", ""]
            ),
            st.sampled_from(["", ";q=0", ";q=0.5", "; q = 1", ";q=x", ";charset=utf-8;q=0", ';q="1"', ";a=b"]),
        ),
        max_size=4,
    )
)
def test_accept_lists_the_same_types(members: list[tuple[str, str]]) -> None:
    value = ",".join(media + parameters for media, parameters in members)
    shown = redacted_headers(("Accept", value)).get("accept")
    for media in ("application/json", "text/event-stream", "text/html"):
        assert accept_lists(shown, media) == accept_lists(value, media)


@pytest.mark.parametrize(
    "value", ["application/json", "Application/JSON;charset=latin1", "x/y; charset=utf-16", "json", " ", "a/b/c"]
)
def test_content_type_says_the_same(value: str) -> None:
    shown = redacted_headers(("Content-Type", value)).get("content-type")
    assert (essence(shown) is None) == (essence(value) is None)
    assert (essence(shown) == "application/json") == (essence(value) == "application/json")
    assert (charset(shown) in (None, "utf-8")) == (charset(value) in (None, "utf-8"))


# --- mirrored values ---

ARGUMENTS = st.one_of(
    st.text(max_size=4),
    st.sampled_from(["Zürich", " a", "a ", "=?base64?YQ==?=", "42", "042", "4.2e1", "true", "a\nb", "\ud800"]),
    st.integers(-50, 50),
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
)
MIRRORS = st.one_of(
    st.sampled_from(
        ["42", "42.0", "4.2e1", "042", "true", "False", "=?base64?WsO8cmljaA==?=", "=?base64?%?=", "é", " a ", ""]
    ),
    st.sampled_from(["=?base64?YQ==?=", "=?BASE64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="]),
)
TYPES: tuple[Any, ...] = ("string", "integer", "boolean")


@given(ARGUMENTS, MIRRORS, st.booleans())
@settings(max_examples=250)
def test_a_mirrored_parameter_compares_as_before(value: Any, mirror: str, encode: bool) -> None:
    if encode and isinstance(value, str):
        mirror = encode_mirrored(value)
    body: Any = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "t", "arguments": {"city": value}},
    }
    (seen,) = redact([request(body=Body.of_value(body), headers=[("Mcp-Param-City", mirror)])])
    assert isinstance(seen, RequestSeen)
    new: Any = seen.body.value
    ((_, new_value),) = new["params"]["arguments"].items()
    ((_, header),) = seen.headers
    for declared in TYPES:
        assert compare(header, new_value, declared) == compare(mirror, value, declared)


@given(st.text(max_size=5), MIRRORS, st.sampled_from(["tools/call", "prompts/get", "resources/read"]))
def test_a_mirrored_name_compares_as_before(name: str, mirror: str, method: str) -> None:
    member = "uri" if method == "resources/read" else "name"
    body: Any = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {member: name}}
    for header in (mirror, name):
        (seen,) = redact([request(body=Body.of_value(body), headers=[("Mcp-Name", header)])])
        assert isinstance(seen, RequestSeen)
        new: Any = seen.body.value
        shown = seen.headers.get("mcp-name") or ""
        assert compare(shown, new["params"][member]) == compare(header, name)


ANNOTATIONS = st.one_of(
    st.sampled_from(["Region", "region", "REGION", "Method", "", "a b", "é", "a:b", 5, None, "param-1", "a\n"]),
    st.text(max_size=3),
)


@given(st.lists(st.tuples(ANNOTATIONS, st.sampled_from(["string", "integer", "number", "x", 5])), max_size=4))
@settings(max_examples=200)
def test_annotations_keep_their_faults(annotations: list[tuple[Any, Any]]) -> None:
    properties = {
        f"p{number}": {"type": declared, "x-mcp-header": name} for number, (name, declared) in enumerate(annotations)
    }
    schema: Any = {"type": "object", "properties": properties}
    listed: Any = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "t", "inputSchema": schema}]}}
    new: Any = redacted_value(listed)
    before = designated_parameters(schema)
    after = designated_parameters(new["result"]["tools"][0]["inputSchema"])
    assert after.faults == before.faults
    assert [(parameter.type, len(parameter.path)) for parameter in after.parameters] == [
        (parameter.type, len(parameter.path)) for parameter in before.parameters
    ]
    for parameter, new_parameter in zip(before.parameters, after.parameters, strict=True):
        lines = redacted_headers((f"Mcp-Param-{parameter.name}", "x"), redactor=_after(listed))
        assert new_parameter.header in lines


def _after(value: Any) -> Redactor:
    redactor = Redactor()
    redactor.feed(request(body=Body.of_value(value)))
    return redactor


# --- messages ---


def shown(redactor: Redactor, pairs: Iterable[tuple[str, object]]) -> list[str]:
    return [redactor.show(Evidence(kind, value)) for kind, value in pairs]


def test_messages_use_the_labels_of_the_transcript() -> None:
    redactor = Redactor()
    body: Any = {
        "jsonrpc": "2.0",
        "id": "abc",
        "method": "tools/call",
        "params": {"name": "get_weather", "arguments": {"a": "b"}},
    }
    redact([request(headers=[("Mcp-Session-Id", "0123456789abcdef")], body=Body.of_value(body))], redactor)
    assert shown(
        redactor,
        [
            ("session", "0123456789abcdef"),
            ("header:mcp-session-id", "0123456789abcdef"),
            ("id", "abc"),
            ("id", 1),
            ("id", "1"),
            ("id", None),
            ("token", 1.5),
            ("name", "get_weather"),
            ("name", "other"),
            ("method", "tools/call"),
            ("method", "PUT"),
            ("method", "acme/x"),
            ("version", "2025-11-25"),
            ("version", "new"),
            ("text", "b"),
            ("cursor", "e-1"),
            ("uri", "https://example.com/mcp/secret"),
            ("header:accept", "application/json"),
        ],
    ) == [
        "session-A",
        "session-A",
        '"id-1"',
        "1",
        '"id-2"',
        "null",
        "1.5",
        "get_weather",
        "name-2",
        "tools/call",
        "PUT",
        "method-1",
        "2025-11-25",
        "redacted-2",
        "redacted-1",
        "cursor-1",
        "https://host-1.example/mcp/redacted-3",
        "application/json",
    ]


@given(st.sampled_from(["text", "id", "header:accept", "uri", "x"]), st.one_of(VALUES, st.binary(), st.just(object())))
def test_a_message_is_one_short_line(kind: str, value: object) -> None:
    text = Redactor().show(Evidence(kind, value))
    assert text.isprintable()
    assert len(text) <= 201


# --- hostile input ---


@given(st.text(), st.text(), st.text(), st.binary())
@settings(max_examples=300)
def test_nothing_makes_it_raise(name: str, value: str, path: str, raw: bytes) -> None:
    redacted = redact([request(headers=[(name, value)], path=path, body=Body.read(raw))])
    assert redact(redacted) == redacted
    assert len(redacted) == 1
    assert chunks_of(redacted) == []


@pytest.mark.parametrize("number", range(len(REQUESTS)))
def test_requests_keep_their_shape(number: int) -> None:
    value = REQUESTS[number]("x1")
    assert same_shape(value, redacted_value(value))
    assert json.dumps(redacted_value(redacted_value(value))) == json.dumps(redacted_value(value))


@pytest.mark.parametrize("number", range(len(RESULTS)))
def test_results_keep_their_shape(number: int) -> None:
    value = {"jsonrpc": "2.0", "id": 1, "result": RESULTS[number]("x1")}
    assert same_shape(value, redacted_value(value))
