"""Envelopes: kinds, faults, ids."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.wire.jsonrpc import Envelope, classify, id_key, is_valid_seed_envelope
from mcp_wire.wire.strict_json import MISSING, JsonValue, LongInteger

V = {"jsonrpc": "2.0"}
ERROR = {"code": -32600, "message": "no"}
LONG = LongInteger("1" * 700)

# name, value, kind, faults, valid as the seed sees it
ENVELOPES: list[tuple[str, Any, str, tuple[str, ...], bool]] = [
    ("request", {**V, "id": 1, "method": "m"}, "request", (), True),
    ("request with params", {**V, "id": "a", "method": "m", "params": {}}, "request", (), True),
    ("empty method", {**V, "id": 1, "method": ""}, "request", (), True),
    ("integral id", {**V, "id": 1.0, "method": "m"}, "request", (), True),
    ("long id", {**V, "id": LONG, "method": "m"}, "request", (), True),
    ("null id", {**V, "id": None, "method": "m"}, "request", ("id_null",), True),
    ("fractional id", {**V, "id": 1.5, "method": "m"}, "request", ("id_fractional",), True),
    ("infinite id", {**V, "id": math.inf, "method": "m"}, "request", ("id_fractional",), True),
    ("boolean id", {**V, "id": True, "method": "m"}, "request", ("id_type",), False),
    ("object as id", {**V, "id": {}, "method": "m"}, "request", ("id_type",), False),
    ("array as params", {**V, "id": 1, "method": "m", "params": []}, "request", ("params_array",), True),
    ("null params", {**V, "id": 1, "method": "m", "params": None}, "request", ("params_type",), False),
    ("string as params", {**V, "method": "m", "params": "x"}, "notification", ("params_type",), False),
    ("notification", {**V, "method": "notifications/x"}, "notification", (), True),
    ("no version", {"id": 1, "method": "m"}, "request", ("jsonrpc_version",), False),
    ("wrong version", {"jsonrpc": "1.0", "id": 1, "result": {}}, "response", ("jsonrpc_version",), False),
    ("version as number", {"jsonrpc": 2.0, "id": 1, "result": {}}, "response", ("jsonrpc_version",), False),
    ("method is no string", {**V, "id": 1, "method": 5}, "invalid", ("method_type",), False),
    ("null method", {**V, "id": 1, "method": None}, "invalid", ("method_type",), False),
    ("method and result", {**V, "id": 1, "method": "m", "result": {}}, "invalid", ("method_and_response",), False),
    ("method and error", {**V, "method": "m", "error": ERROR}, "invalid", ("method_and_response",), False),
    ("response", {**V, "id": 1, "result": {}}, "response", (), True),
    ("extra members", {**V, "id": 1, "result": {}, "x": 1}, "response", (), True),
    ("null result", {**V, "id": 1, "result": None}, "response", ("result_type",), True),
    ("array as result", {**V, "id": 1, "result": []}, "response", ("result_type",), True),
    ("result without id", {**V, "result": {}}, "response", ("id_absent",), False),
    ("result with null id", {**V, "id": None, "result": {}}, "response", ("id_null",), True),
    ("error response", {**V, "id": 1, "error": ERROR}, "error_response", (), True),
    ("error with data", {**V, "id": 1, "error": {**ERROR, "data": None}}, "error_response", (), True),
    ("error with null id", {**V, "id": None, "error": ERROR}, "error_response", (), True),
    ("error without id", {**V, "error": ERROR}, "error_response", (), False),
    ("error is null", {**V, "id": 1, "error": None}, "error_response", ("error_shape",), False),
    ("error is empty", {**V, "id": 1, "error": {}}, "error_response", ("error_code", "error_message"), False),
    ("code as string", {**V, "id": 1, "error": {**ERROR, "code": "1"}}, "error_response", ("error_code",), False),
    ("fractional code", {**V, "id": 1, "error": {**ERROR, "code": 1.5}}, "error_response", ("error_code",), False),
    ("boolean code", {**V, "id": 1, "error": {**ERROR, "code": True}}, "error_response", ("error_code",), False),
    ("integral code", {**V, "id": 1, "error": {**ERROR, "code": -32600.0}}, "error_response", (), True),
    (
        "null message",
        {**V, "id": 1, "error": {"code": 1, "message": None}},
        "error_response",
        ("error_message",),
        False,
    ),
    ("both", {**V, "id": 1, "result": {}, "error": ERROR}, "invalid", ("both_result_and_error",), False),
    ("neither", {**V, "id": 1}, "invalid", ("neither",), False),
    ("nothing", {}, "invalid", ("jsonrpc_version", "neither"), False),
    ("heartbeat", {"type": "ping"}, "invalid", ("jsonrpc_version", "neither"), False),
    ("string", "x", "invalid", ("not_an_object",), False),
    ("null", None, "invalid", ("not_an_object",), False),
    ("number", 1, "invalid", ("not_an_object",), False),
]


@pytest.mark.parametrize(
    ("value", "kind", "faults", "valid"), [row[1:] for row in ENVELOPES], ids=[row[0] for row in ENVELOPES]
)
def test_envelopes(value: JsonValue, kind: str, faults: tuple[str, ...], valid: bool) -> None:
    envelope = classify(value)
    assert envelope.kind == kind
    assert envelope.faults == faults
    assert envelope.value is value
    assert is_valid_seed_envelope(envelope) is valid
    assert envelope.is_message is (kind != "invalid")


def test_members_are_told_apart_from_null() -> None:
    request = classify({**V, "id": None, "method": "m", "params": None})
    assert (request.id, request.params, request.result, request.error) == (None, None, MISSING, MISSING)
    assert request.id_present
    assert request.id_key == ("null",)
    notification = classify({**V, "method": "m"})
    assert (notification.id, notification.params) == (MISSING, MISSING)
    assert not notification.id_present
    assert notification.id_key is None
    response = classify({**V, "id": "a", "result": None})
    assert (response.method, response.result, response.error) == (None, None, MISSING)
    assert response.id_key == ("string", "a")


def test_a_method_that_is_no_string_is_not_offered() -> None:
    assert classify({**V, "method": ["m"]}).method is None


@pytest.mark.parametrize(
    ("value", "names_none", "valid_if_optional"),
    [
        ({**V, "error": ERROR}, True, True),
        ({**V, "id": None, "error": ERROR}, True, True),
        ({**V, "id": "server-error", "error": ERROR}, False, True),
        ({**V, "error": {}}, True, False),
        ({**V, "result": {}}, False, False),
        ({**V, "id": None, "result": {}}, False, True),
        ({**V, "id": None, "method": "m"}, False, True),
    ],
)
def test_answers_to_what_could_not_be_read(value: JsonValue, names_none: bool, valid_if_optional: bool) -> None:
    envelope = classify(value)
    assert envelope.names_no_request is names_none
    assert is_valid_seed_envelope(envelope, error_id_optional=True) is valid_if_optional


def test_batches() -> None:
    batch = classify([{**V, "id": 1, "method": "m"}, {**V, "method": "n"}, [], 5])
    assert batch.kind == "batch"
    assert [member.kind for member in batch.members] == ["request", "notification", "invalid", "invalid"]
    assert batch.members[2].faults == ("not_an_object",)
    assert not is_valid_seed_envelope(batch)
    assert not batch.is_message
    assert classify([]) == Envelope("batch", [])


# --- ids --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (0, -0.0, True),
        (10**17, 1e17, True),
        (1, "1", False),
        ("1", "1.0", False),
        (1, True, False),
        (0, False, False),
        (None, "null", False),
        (None, 0, False),
        (1.5, "1.5", False),
        (1.5, 1.5, True),
        (2**53, 2**53 + 1, False),
        (2**53 + 1, float(2**53), False),
        (LONG, LongInteger("1" * 700), True),
        (LONG, "1" * 700, False),
        ({"a": 1}, {"a": 1}, True),
        ([1], [1.5], False),
        ("é", "e\u0301", False),
    ],
)
def test_same_id(left: JsonValue, right: JsonValue, same: bool) -> None:
    assert (id_key(left) == id_key(right)) is same


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300, LONG, {"a": [None]}, "\ud800", True])
def test_every_value_has_a_key(value: JsonValue) -> None:
    assert {id_key(value): 1}[id_key(value)] == 1


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False), st.integers() | st.text(max_size=3))
def test_numbers_are_the_same_id_exactly_when_equal(left: int | float, right: int | str) -> None:
    assert (id_key(left) == id_key(right)) is (left == right)


JSON_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just("2.0") | st.just(LONG),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "code", "message"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_total(value: JsonValue) -> None:
    envelope = classify(value)
    if envelope.kind == "batch":
        assert isinstance(value, list)
        assert len(envelope.members) == len(value)
    elif envelope.kind == "invalid":
        assert envelope.faults
    else:
        assert isinstance(value, dict)
        assert (envelope.kind in ("request", "notification")) is ("method" in value)
        assert envelope.id_present is ("id" in value)
    if is_valid_seed_envelope(envelope):
        assert is_valid_seed_envelope(envelope, error_id_optional=True)
        assert isinstance(value, dict)
        assert value["jsonrpc"] == "2.0"
        assert envelope.is_message
