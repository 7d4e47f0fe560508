"""Schemas of tools: no verdict that a full validator contradicts, and bounded work."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.json_schema import MAX_STEPS, conforms, dialect_of, faults_of_schema
from mcp_wire.wire.body import Body
from mcp_wire.wire.observation import ResponseBody

VALIDATORS: dict[str, Any] = {
    "2020-12": jsonschema.Draft202012Validator,
    "2019-09": jsonschema.Draft201909Validator,
    "draft-07": jsonschema.Draft7Validator,
}
DECLARED = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft-07": "http://json-schema.org/draft-07/schema#",
}

NAMES = st.sampled_from(["a", "b", "name", "id"])
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, "", "a", "b", "true"])
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
TYPES = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    counts = st.integers(0, 3)
    several = st.lists(inner, min_size=1, max_size=3)
    by_name = st.dictionaries(NAMES, inner, max_size=3)
    names = st.lists(NAMES, unique=True, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(SCALARS, min_size=1, max_size=3),
            "const": VALUES,
            "properties": by_name,
            "required": names,
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), inner, max_size=1),
            "propertyNames": st.sampled_from([True, {"maxLength": 1}]),
            "minProperties": counts,
            "maxProperties": counts,
            "dependentRequired": st.dictionaries(NAMES, names, max_size=2),
            "dependentSchemas": by_name,
            "items": inner,
            "prefixItems": several,
            "minItems": counts,
            "maxItems": counts,
            "uniqueItems": st.booleans(),
            "contains": inner,
            "minContains": counts,
            "maxContains": counts,
            "allOf": several,
            "anyOf": several,
            "oneOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "minimum": st.integers(-2, 2),
            "maxLength": counts,
            "pattern": st.sampled_from(["^a", "."]),
            "unevaluatedProperties": st.booleans(),
            "$ref": st.sampled_from(["#", "#/$defs/d", "#/$defs/none"]),
            "$defs": st.fixed_dictionaries({"d": st.sampled_from([{"type": "string"}, {"required": ["a"]}])}),
        },
    )


SCHEMAS = st.recursive(st.booleans() | st.fixed_dictionaries({"type": TYPES}), _schemas, max_leaves=8)


@given(_schemas(SCHEMAS), VALUES, st.sampled_from(["2020-12", "2019-09", "draft-07"]))
def test_a_full_validator_says_the_same(schema: Any, value: Any, dialect: str) -> None:
    schema = {"$schema": DECLARED[dialect], **schema}
    answer = conforms(schema, value)
    if answer is None:
        return
    try:
        expected = VALIDATORS[dialect](schema).is_valid(value)
    except (RecursionError, jsonschema.exceptions._WrappedReferencingError):
        return
    assert answer is expected


@given(_schemas(SCHEMAS), VALUES)
def test_redaction_keeps_the_answer(schema: Any, value: Any) -> None:
    tool = {"name": "sum", "inputSchema": {"type": "object"}, "outputSchema": schema}
    message: Any = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool], "structuredContent": value}}
    [told] = Redactor().feed(ResponseBody("x-1", None, Body.of_value(message)))
    assert isinstance(told, ResponseBody)
    redacted: Any = told.body.value
    result = redacted["result"]
    assert conforms(result["tools"][0]["outputSchema"], result["structuredContent"]) is conforms(schema, value)


ANYTHING = st.recursive(
    SCALARS | TYPES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=4
)
KEYWORDS = sorted(
    {
        *("type", "enum", "required", "properties", "additionalProperties", "items", "prefixItems", "allOf", "anyOf"),
        *("not", "minLength", "multipleOf", "minimum", "uniqueItems", "title", "description", "$ref", "$defs"),
        *("definitions", "dependencies", "dependentRequired", "examples", "format", "deprecated", "minContains"),
        *("contentSchema", "then", "propertyNames", "patternProperties", "additionalItems", "readOnly"),
    }
)


@given(st.dictionaries(st.sampled_from(KEYWORDS), ANYTHING | SCHEMAS, max_size=4), st.sampled_from(sorted(DECLARED)))
def test_the_meta_schema_says_the_same(schema: dict[str, Any], dialect: str) -> None:
    valid = not list(VALIDATORS[dialect](VALIDATORS[dialect].META_SCHEMA).iter_errors(schema))
    assert (faults_of_schema(schema, dialect) == []) is valid  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("declared", "dialect"),
    [
        (None, "2020-12"),
        (DECLARED["2020-12"], "2020-12"),
        (DECLARED["2019-09"], "2019-09"),
        (DECLARED["draft-07"], "draft-07"),
        ("https://json-schema.org/draft-07/schema", "draft-07"),
        ("http://json-schema.org/draft-04/schema#", None),
        ("https://example.com/my-dialect", None),
        (7, None),
    ],
)
def test_dialects(declared: Any, dialect: str | None) -> None:
    assert dialect_of({} if declared is None else {"$schema": declared}) == dialect
    assert conforms({"type": "string"} | ({} if declared is None else {"$schema": declared}), 1) is (
        False if dialect else None
    )


@pytest.mark.parametrize(
    ("schema", "value", "answer"),
    [
        ({"type": "string", "pattern": "^a"}, "b", None),
        ({"type": "string", "pattern": "^a"}, 1, False),
        ({"type": "number", "minimum": 5}, 1, None),
        ({"minimum": 5}, "text", True),
        ({"$ref": "https://example.com/schema"}, 1, None),
        ({"$ref": "#/$defs/d", "$defs": {"d": {"type": "string"}}}, 1, False),
        ({"properties": {"a": {"$ref": "#"}}, "required": ["a"]}, {"a": {"a": {}}}, False),
        ({"type": "strin"}, 1, None),
        ({"properties": []}, {}, None),
        ({"const": 1}, 1.0, True),
        ({"const": 1}, True, False),
        ({"format": "email", "type": "string"}, "no address", True),
    ],
)
def test_answers(schema: Any, value: Any, answer: bool | None) -> None:
    assert conforms(schema, value) is answer


def test_work_is_bounded() -> None:
    explosive: Any = {"$defs": {"d": {"anyOf": [{"$ref": "#/$defs/d"}] * 4}}, "$ref": "#/$defs/d"}
    assert conforms(explosive, 1) is None
    wide: Any = {"enum": [[number] for number in range(MAX_STEPS)]}
    assert conforms({"items": wide}, [[-1]] * 100) is None
    assert conforms({"uniqueItems": True}, list(range(1_000))) is None
    deep: Any = {"type": "string"}
    for _ in range(150):
        deep = {"not": deep}
    assert conforms(deep, "a") is None
    assert faults_of_schema(deep, "2020-12") == []
