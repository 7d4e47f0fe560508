"""Mirrored headers: the specification's own examples, the sentinel, numbers, and where annotations may stand."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.protocol.mirrored_headers import (
    SAFE_INTEGER,
    DecodedHeader,
    Designated,
    Designation,
    ParameterType,
    argument_at,
    compare,
    decode,
    designated_parameters,
    encode,
    expected_text,
    has_invalid_characters,
    is_safe_integer,
    looks_like_sentinel,
    needs_encoding,
)
from mcp_wire.wire.strict_json import MISSING, JsonValue, LongInteger

# The table of #value-encoding.
SPECIFICATION_EXAMPLES = [
    ("us-west1", "us-west1"),
    ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
]


@pytest.mark.parametrize(("value", "header"), SPECIFICATION_EXAMPLES)
def test_the_examples_of_the_specification(value: str, header: str) -> None:
    assert encode(value) == header
    assert decode(header) == DecodedHeader(value, encoded=header != value)
    assert needs_encoding(value) is (header != value)
    assert compare(header, value) == "equal"


@given(st.text(st.characters(codec="utf-8")))
def test_what_is_encoded_is_decoded_and_can_be_sent(text: str) -> None:
    header = encode(text)
    assert not has_invalid_characters(header)
    assert header == header.strip()
    assert decode(header).text == text
    assert compare(header, text) == "equal"
    assert compare(header + "x", text) == "different"


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("", False),
        ("a b", False),
        ("~!\"'", False),
        ("a\tb", False),
        ("\t", True),
        (" ", True),
        ("a ", True),
        ("\ta", True),
        ("a\x7f", True),
        ("a\x00b", True),
        ("a\r\nb", True),
        ("é", True),
        ("\u00a0", True),
        ("\ud800", True),
        ("=?base64??=", True),
        ("=?base64?=", False),
        ("=?base64?x", False),
        ("x?=", False),
        ("=?BASE64?eA==?=", False),
        ("=?utf-8?q?x?=", False),
    ],
)
def test_what_needs_encoding(text: str, needed: bool) -> None:
    assert needs_encoding(text) is needed


def test_the_two_ends_of_a_sentinel_do_not_overlap() -> None:
    assert not looks_like_sentinel("=?base64?=")
    assert looks_like_sentinel("=?base64??=")


@pytest.mark.parametrize(
    ("header", "text", "encoded"),
    [
        (" plain\t", "plain", False),
        ("=?base64??=", "", True),
        ("=?base64?eA==?=", "x", True),
        (" =?base64?eA==?= ", "x", True),
        ("=?base64?eA?=", None, True),  # no padding
        ("=?base64?eA==", "=?base64?eA==", False),  # no end: a literal
        ("=?BASE64?eA==?=", "=?BASE64?eA==?=", False),
        ("=?base64?e A==?=", None, True),
        ("=?base64?eA==\n?=", None, True),
        ("=?base64?_-8=?=", None, True),  # the alphabet for URLs
        ("=?base64?/w==?=", None, True),  # no UTF-8
        ("=?base64?7aCA?=", None, True),  # a surrogate is no UTF-8
        ("=?base64?é?=", None, True),
        ("=?base64?=?=", None, True),
        ("=?base64?eA==eA==?=", None, True),
    ],
)
def test_decoding(header: str, text: str | None, encoded: bool) -> None:
    assert decode(header) == DecodedHeader(text, encoded)
    if text is None:
        assert compare(header, "x") == "undecodable"


@pytest.mark.parametrize(
    ("raw", "invalid"),
    [("a b\tc", False), ("", False), ("é", True), ("a\x7f", True), ("a\x00", True), ("a\nb", True)],
)
def test_invalid_characters(raw: str, invalid: bool) -> None:
    assert has_invalid_characters(raw) is invalid


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x"),
        ("", ""),
        (42, "42"),
        (-7, "-7"),
        (42.0, "42"),
        (-0.0, "0"),
        (True, "true"),
        (False, "false"),
        (LongInteger("1" * 700), "1" * 700),
        (1.5, None),
        (None, None),
        ([], None),
        ({}, None),
    ],
)
def test_the_text_of_a_value(value: JsonValue, text: str | None) -> None:
    assert expected_text(value) == text


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        (SAFE_INTEGER, True),
        (-SAFE_INTEGER, True),
        (SAFE_INTEGER + 1, False),
        (-SAFE_INTEGER - 1, False),
        (float(2**53), False),
        (1.0, True),
        (1.5, False),
        (True, False),
        (LongInteger("1" * 700), False),
        ("1", False),
    ],
)
def test_safe_integers(value: JsonValue, safe: bool) -> None:
    assert is_safe_integer(value) is safe


@pytest.mark.parametrize(
    ("header", "value", "declared", "outcome"),
    [
        ("us", "us", "string", "equal"),
        (" us ", "us", "string", "equal"),
        ("US", "us", "string", "different"),
        ("e\u0301", "é", "string", "different"),
        ("a%20b", "a b", "string", "different"),
        ("us, us", "us", "string", "different"),
        ("", "", "string", "equal"),
        ("x", "", "string", "different"),
        ("42", "42.0", "string", "different"),
        ("42", 42, "integer", "equal"),
        ("42", 42.0, "integer", "equal"),
        ("42.0", 42, "integer", "equal_number"),
        ("4.2e1", 42, "integer", "equal_number"),
        ("420e-1", 42, "integer", "equal_number"),
        ("042", 42, "integer", "equal_number"),
        ("-0", 0, "integer", "equal_number"),
        ("0.0e9", 0, "integer", "equal_number"),
        ("42.5", 42, "integer", "different"),
        ("+42", 42, "integer", "different"),
        ("43", 42, "integer", "different"),
        ("-42", 42, "integer", "different"),
        ("", 42, "integer", "different"),
        ("\u0664\u0662", 42, "integer", "different"),
        ("1e99999", 42, "integer", "different"),
        ("9007199254740993", 2**53, "integer", "different"),
        ("9007199254740993", 2**53 + 1, "integer", "equal"),
        ("1" * 700 + ".0", LongInteger("1" * 700), "integer", "equal_number"),
        ("=?base64?NDI=?=", 42, "integer", "equal"),
        ("true", True, "boolean", "equal"),
        ("True", True, "boolean", "different"),
        ("1", True, "boolean", "different"),
        ("1", True, "integer", "not_comparable"),
        ("1", 1, "string", "not_comparable"),
        ("1", "1", "integer", "not_comparable"),
        ("1.5", 1.5, "integer", "not_comparable"),
        ("null", None, "string", "not_comparable"),
    ],
)
def test_comparison(header: str, value: JsonValue, declared: ParameterType, outcome: str) -> None:
    assert compare(header, value, declared) == outcome


@given(st.integers(), st.integers(0, 30))
def test_integers_in_any_notation(number: int, zeros: int) -> None:
    sign, digits = ("-", str(-number)) if number < 0 else ("", str(number))
    notations = [f"{sign}{digits}.{'0' * (zeros + 1)}", f"{sign}{digits}{'0' * zeros}e-{zeros}"]
    for notation in notations:
        assert compare(notation, number, "integer") in ("equal", "equal_number")
        assert compare(notation, number + 1, "integer") == "different"


# --- designated parameters --------------------------------------------------------------------------------------------


def schema(**properties: JsonValue) -> JsonValue:
    return {"type": "object", "properties": properties}


def annotated(name: JsonValue, of: JsonValue = "string") -> dict[str, JsonValue]:
    return {"type": of, "x-mcp-header": name}


def test_reachable_primitives_are_designated() -> None:
    walked = designated_parameters(
        schema(
            region=annotated("Region"),
            plain={"type": "string"},
            inner=schema(count=annotated("Count", "integer"), deep=schema(dry=annotated("Dry-Run", "boolean"))),
        )
    )
    assert walked == Designation(
        (
            Designated(("region",), "Region", "string"),
            Designated(("inner", "count"), "Count", "integer"),
            Designated(("inner", "deep", "dry"), "Dry-Run", "boolean"),
        )
    )
    assert walked.is_valid
    assert walked.parameters[2].header == "mcp-param-dry-run"


@pytest.mark.parametrize(
    ("input_schema", "faults"),
    [
        (schema(a=annotated("")), ("empty",)),
        (schema(a=annotated(5)), ("not_a_string",)),
        (schema(a=annotated(None)), ("not_a_string",)),
        (schema(a=annotated("My Header")), ("not_a_token",)),
        (schema(a=annotated("a\r\nX: y")), ("not_a_token",)),
        (schema(a=annotated("Größe")), ("not_a_token",)),
        (schema(a=annotated("X\n")), ("not_a_token",)),
        (schema(a=annotated("Region"), b=annotated("REGION")), ("repeated",)),
        (schema(a=annotated("R", "number")), ("type_not_primitive",)),
        (schema(a=annotated("R", "object")), ("type_not_primitive",)),
        (schema(a=annotated("R", "null")), ("type_not_primitive",)),
        (schema(a=annotated("R", {})), ("type_not_primitive",)),
        ({"type": "object", "x-mcp-header": "R"}, ("not_reachable", "type_not_primitive")),
        (schema(a={"type": "array", "items": annotated("R")}), ("not_reachable",)),
        (schema(a={"type": "array", "items": [annotated("R")]}), ("not_reachable",)),
        (schema(a={"type": "array", "prefixItems": [annotated("R")]}), ("not_reachable",)),
        (schema(a={"type": "array", "items": schema(b=annotated("R"))}), ("not_reachable",)),
        (schema(a={"additionalProperties": annotated("R")}), ("not_reachable",)),
        (schema(a={"patternProperties": {"x": annotated("R")}}), ("not_reachable",)),
        ({"oneOf": [schema(a=annotated("R"))]}, ("not_reachable",)),
        ({"anyOf": [{}, schema(a=annotated("R"))]}, ("not_reachable",)),
        ({"allOf": [schema(a=annotated("R"))]}, ("not_reachable",)),
        ({"not": schema(a=annotated("R"))}, ("not_reachable",)),
        ({"if": {}, "then": schema(a=annotated("R"))}, ("not_reachable",)),
        ({"else": schema(a=annotated("R"))}, ("not_reachable",)),
        ({"$defs": {"T": annotated("R")}}, ("not_reachable",)),
        ({"definitions": {"T": annotated("R")}}, ("not_reachable",)),
        ({"dependentSchemas": {"T": annotated("R")}}, ("not_reachable",)),
        (
            schema(a=annotated(""), b=annotated("x y"), c=annotated("R", "number")),
            ("empty", "not_a_token", "type_not_primitive"),
        ),
    ],
)
def test_annotations_that_make_a_definition_invalid(input_schema: JsonValue, faults: tuple[str, ...]) -> None:
    walked = designated_parameters(input_schema)
    assert walked.faults == faults
    assert not walked.is_valid
    assert walked.parameters == ()


@pytest.mark.parametrize(
    "input_schema",
    [
        None,
        True,
        [],
        {},
        {"properties": []},
        {"properties": {"a": True}},
        # A property of that name, and data that looks like an annotation, are none.
        {"type": "object", "properties": {"x-mcp-header": {"type": "string"}}},
        schema(a={"type": "object", "default": {"x-mcp-header": 5}, "examples": [{"x-mcp-header": ""}]}),
        schema(a={"enum": [{"x-mcp-header": ""}], "const": {"x-mcp-header": ""}}),
        {"dependencies": {"a": ["b"]}, "required": ["x-mcp-header"]},
    ],
)
def test_nothing_designated(input_schema: JsonValue) -> None:
    assert designated_parameters(input_schema) == Designation()


def test_a_type_that_the_text_does_not_cover_is_left_open() -> None:
    for input_schema in (schema(a=annotated("R", ["string", "null"])), schema(a={"x-mcp-header": "R"})):
        assert designated_parameters(input_schema) == Designation(undecided=True)


def test_deep_schemas_are_walked_without_recursion() -> None:
    deep: JsonValue = annotated("R")
    for _ in range(5_000):
        deep = {"not": deep}
    assert designated_parameters(deep).faults == ("not_reachable",)


JSON_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["string", "integer", "Name", "", "a b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "x-mcp-header", "items", "oneOf", "$defs", "a"]), inner
        )
    ),
    max_leaves=15,
)


@given(JSON_VALUES)
def test_total(input_schema: JsonValue) -> None:
    walked = designated_parameters(input_schema)
    assert not (walked.faults and walked.parameters)
    for parameter in walked.parameters:
        found: JsonValue = input_schema
        for name in parameter.path:
            assert isinstance(found, dict)
            properties = found["properties"]
            assert isinstance(properties, dict)
            found = properties[name]
        assert isinstance(found, dict)
        assert (found["x-mcp-header"], found["type"]) == (parameter.name, parameter.type)


def test_arguments_are_read_at_the_exact_path() -> None:
    arguments: JsonValue = {"a": {"b": [1], "c": None}}
    assert argument_at(arguments, ("a", "b")) == [1]
    assert argument_at(arguments, ("a", "c")) is None
    assert argument_at(arguments, ("a", "x")) is MISSING
    assert argument_at(arguments, ("a", "b", "0")) is MISSING
    assert argument_at(MISSING, ("a",)) is MISSING
    assert argument_at(arguments, ()) == arguments


def test_base64_is_the_standard_alphabet() -> None:
    text = "??>>" * 3
    header = f"=?base64?{base64.b64encode(text.encode()).decode()}?="
    assert "/" in header or "+" in header
    assert decode(header).text == text
