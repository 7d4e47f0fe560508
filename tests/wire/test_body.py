"""A body read from bytes, from a transcript's `body` and from its `body_text` is the same body."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_wire.wire.body import EMPTY, NOT_CAPTURED, Body
from mcp_wire.wire.strict_json import MAX_DEPTH, MISSING, JsonValue, dump_json, read_json

VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)


def written(body: Body) -> Body:
    """The body after it went through a transcript."""
    if body.text is not None:
        return Body.of_text(body.text, utf8=body.utf8)
    assert body.value is not MISSING
    value = read_json(dump_json(body.value)).value
    assert value is not MISSING
    return Body.of_value(value)


@given(VALUES)
def test_json_through_a_transcript(value: JsonValue) -> None:
    raw = dump_json(value).encode()
    body = Body.read(raw)
    assert body.text is None
    assert body.is_json
    assert body.strict
    assert body.raw_size == len(raw)
    assert body == Body.of_value(value) == Body.of_text(raw.decode()) == written(body)


@given(st.binary(max_size=40))
@example(b"")
@example(b'{"a":NaN}')
@example(b'{"a":1,"a":2}')
@example(b'{"a":"\xff"}')
@example(b'{"a":"\xff","b":NaN}')
@example(b"\xef\xbb\xbf{}")
@example(b'["\\ud800"]')
@example(b'["\\ud800", NaN]')
@example(b"[1e999]")
@example(b"{oops")
@example(b'{"a":1} trailing')
@example(b" ")
@example(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))
def test_any_bytes_through_a_transcript(raw: bytes) -> None:
    body = Body.read(raw)
    assert written(body) == body
    assert body.is_captured
    assert body.is_empty is (raw == b"")
    assert body.utf8 is (raw.decode(errors="ignore").encode() == raw)
    assert body.strict is (body.is_json and body.reading.strict)
    assert (body.text is None) is (body.is_json and body.strict)


@pytest.mark.parametrize(
    ("raw", "value", "text", "kinds"),
    [
        (b'{"a":1}', {"a": 1}, None, []),
        (b'["\\ud800"]', ["\ud800"], None, ["lone_surrogate"]),
        (b'{"a":1,"a":2}', {"a": 2}, '{"a":1,"a":2}', ["duplicate_key"]),
        (b'["\xff"]', ["\ufffd"], '["\ufffd"]', ["invalid_utf8"]),
        (b"{oops", MISSING, "{oops", ["syntax"]),
        (b"\xef\xbb\xbf[]", [], "\ufeff[]", ["bom"]),
        (b" ", MISSING, " ", ["syntax"]),
        (b"", MISSING, "", []),
    ],
)
def test_what_is_kept(raw: bytes, value: JsonValue, text: str | None, kinds: list[str]) -> None:
    body = Body.read(raw)
    assert (body.value, body.text) == (value, text)
    assert [fault.kind for fault in body.faults] == kinds
    for kind in kinds:
        assert body.has(kind)  # type: ignore[arg-type]


def test_empty_is_no_json_and_not_the_same_as_unknown() -> None:
    assert Body.read(b"") == Body.of_text("") == EMPTY
    assert EMPTY.is_empty
    assert not EMPTY.is_json
    assert not EMPTY.strict
    assert EMPTY != NOT_CAPTURED
    assert not NOT_CAPTURED.is_captured
    assert not NOT_CAPTURED.is_empty
    assert not NOT_CAPTURED.is_json
    assert Body.not_captured("too large").absence == "too large"
    assert Body.not_captured("too large") == NOT_CAPTURED


def test_null_is_a_value() -> None:
    body = Body.read(b"null")
    assert body.is_json
    assert body.value is None
    assert body != EMPTY


@pytest.mark.parametrize(("left", "right"), [("1", "1.0"), ("1", "true"), ("[0]", "[false]"), ('{"a":1}', '{"a":"1"}')])
def test_json_types_count(left: str, right: str) -> None:
    assert Body.of_text(left) != Body.of_text(right)
    assert Body.of_value(json.loads(left)) != Body.of_value(json.loads(right))


def test_the_order_of_members_does_not_count() -> None:
    assert Body.read(b'{"a":1,"b":2}') == Body.read(b'{ "b":2, "a":1 }')


def test_a_value_too_deep_to_judge_is_treated_as_its_text_would_be() -> None:
    deep: JsonValue = 1
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    body = Body.of_value(deep)
    assert not body.is_json
    assert body.has("too_deep")
    assert body == Body.read(dump_json(deep).encode())


def test_a_body_is_not_hashable_and_equals_nothing_else() -> None:
    assert Body.read(b"1") != 1
    with pytest.raises(TypeError):
        hash(EMPTY)
