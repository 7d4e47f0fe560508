"""JSON Schema as tools use it: is a schema one, and does a value conform to it, as far as a transcript can tell.

Nothing is fetched, and the cost is bounded. Conformity is judged by what redaction keeps: types, members, items,
equality and counts. A keyword that reads the text or the size of a value (`pattern`, `minimum` ...) leaves the answer
open. `format` is an annotation. Sources: JSON Schema 2020-12, 2019-09 and draft-07; basic/index#json-schema-usage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from mcp_wire.wire.strict_json import JsonValue, LongInteger, is_integer, is_number

Dialect = Literal["2020-12", "2019-09", "draft-07"]
type JsonObject = dict[str, JsonValue]

DEFAULT_DIALECT: Final = "2020-12"
MAX_SUBSCHEMAS: Final = 5_000
"""Subschemas of one schema that are looked at."""
MAX_STEPS: Final = 20_000
"""Comparisons of a subschema or value with a value for one answer; beyond it the answer stays open."""
MAX_NESTING: Final = 60
MAX_FAULTS: Final = 3

_DIALECT: Final = re.compile(r"https?://json-schema\.org/(?:(draft/2020-12|draft/2019-09)/schema|(draft-07)/schema#?)")
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def dialect_of(schema: JsonObject) -> Dialect | None:
    """The dialect that a schema declares, 2020-12 where it declares none; None for one that is not known here."""
    declared = schema.get("$schema", None)
    if "$schema" not in schema:
        return DEFAULT_DIALECT
    found = _DIALECT.fullmatch(declared) if isinstance(declared, str) else None
    if found is None:
        return None
    name = (found[1] or found[2]).removeprefix("draft/")
    return "2020-12" if name == "2020-12" else "2019-09" if name == "2019-09" else "draft-07"


# --- is it a schema? ---


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """A keyword whose value its meta-schema does not allow. `reason` is a predicate without any value."""

    keyword: str
    reason: str


def faults_of_schema(schema: JsonObject, dialect: Dialect) -> list[SchemaFault]:
    """What makes a schema invalid in its dialect: the first few faults. Beyond the bounds nothing is looked at."""
    faults: list[SchemaFault] = []
    waiting: list[JsonValue] = [schema]
    looked_at = 0
    while waiting and looked_at < MAX_SUBSCHEMAS and len(faults) < MAX_FAULTS:
        subschema = waiting.pop()
        looked_at += 1
        if not isinstance(subschema, dict):
            continue
        for keyword, value in subschema.items():
            shape = _shape_of(keyword, dialect)
            if shape is None:
                continue
            if shape.fits(value):
                waiting.extend(shape.inside(value))
            else:
                faults.append(SchemaFault(keyword, shape.reason))
    return faults[:MAX_FAULTS]


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a meta-schema says of a keyword's value, and the subschemas in a value that fits."""

    fits: Callable[[JsonValue], bool]
    reason: str
    inside: Callable[[JsonValue], Iterable[JsonValue]] = lambda _: ()


def _is_schema(value: JsonValue) -> bool:
    return isinstance(value, dict | bool)


def _are_schemas(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _is_map_of_schemas(value: JsonValue) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


def _are_names(value: JsonValue) -> bool:
    if not isinstance(value, list):
        return False
    names = [name for name in value if isinstance(name, str)]
    return len(names) == len(value) == len(set(names))


def _is_type(value: JsonValue) -> bool:
    if isinstance(value, str):
        return value in _TYPES
    return _are_names(value) and bool(value) and isinstance(value, list) and all(name in _TYPES for name in value)


def _is_count(value: JsonValue) -> bool:
    if isinstance(value, LongInteger):
        return not value.text.startswith("-")
    return is_integer(value) and isinstance(value, int | float) and value >= 0


def _is_positive(value: JsonValue) -> bool:
    if isinstance(value, LongInteger):
        return not value.text.startswith("-")
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _of_map(value: JsonValue) -> Iterable[JsonValue]:
    return value.values() if isinstance(value, dict) else ()


def _of_list(value: JsonValue) -> Iterable[JsonValue]:
    return value if isinstance(value, list) else ()


_SCHEMA: Final = _Shape(_is_schema, "is no schema", lambda value: (value,))
_SCHEMAS: Final = _Shape(_are_schemas, "is no list of schemas", _of_list)
_MAP: Final = _Shape(_is_map_of_schemas, "is no object of schemas", _of_map)
_SCHEMA_OR_LIST: Final = _Shape(
    lambda value: _is_schema(value) or _are_schemas(value),
    "is neither a schema nor a list of schemas",
    lambda value: value if isinstance(value, list) else (value,),
)
_DEPENDENCIES: Final = _Shape(
    lambda value: isinstance(value, dict) and all(_is_schema(one) or _are_names(one) for one in value.values()),
    "is no object of schemas and lists of names",
    _of_map,
)
_NAMES: Final = _Shape(_are_names, "is no list of distinct names")
_MAP_OF_NAMES: Final = _Shape(
    lambda value: isinstance(value, dict) and all(map(_are_names, value.values())), "is no object of lists of names"
)
_COUNT: Final = _Shape(_is_count, "is no number that counts something")
_NUMBER: Final = _Shape(is_number, "is no number")
_FLAG: Final = _Shape(lambda value: isinstance(value, bool), "is no boolean")
_TEXT: Final = _Shape(lambda value: isinstance(value, str), "is no string")
_LIST: Final = _Shape(lambda value: isinstance(value, list), "is no array")

_COMMON: Final[dict[str, _Shape]] = {
    "type": _Shape(_is_type, "names no type of JSON"),
    "multipleOf": _Shape(_is_positive, "is no number above zero"),
    "enum": _LIST,
    "examples": _LIST,
    "required": _NAMES,
    **dict.fromkeys(("properties", "patternProperties"), _MAP),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _SCHEMAS),
    **dict.fromkeys(("additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"), _SCHEMA),
    **dict.fromkeys(("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum"), _NUMBER),
    **dict.fromkeys(
        ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"),
        _COUNT,
    ),
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly"), _FLAG),
    **dict.fromkeys(
        ("$schema", "$id", "$ref", "$comment", "title", "description", "pattern", "format"),
        _TEXT,
    ),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), _TEXT),
    "definitions": _MAP,
    "dependencies": _DEPENDENCIES,
}
_SINCE_2019_09: Final[dict[str, _Shape]] = {
    **dict.fromkeys(("$defs", "dependentSchemas"), _MAP),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties", "contentSchema"), _SCHEMA),
    **dict.fromkeys(("maxContains", "minContains"), _COUNT),
    "dependentRequired": _MAP_OF_NAMES,
    "deprecated": _FLAG,
    "$anchor": _TEXT,
}
_SHAPES: Final[dict[Dialect, dict[str, _Shape]]] = {
    "draft-07": {**_COMMON, "items": _SCHEMA_OR_LIST, "additionalItems": _SCHEMA},
    "2019-09": {**_COMMON, **_SINCE_2019_09, "items": _SCHEMA_OR_LIST, "additionalItems": _SCHEMA},
    "2020-12": {**_COMMON, **_SINCE_2019_09, "items": _SCHEMA, "prefixItems": _SCHEMAS, "$dynamicRef": _TEXT},
}


def _shape_of(keyword: str, dialect: Dialect) -> _Shape | None:
    return _SHAPES[dialect].get(keyword)


# --- does a value conform to it? ---


def conforms(schema: JsonObject, value: JsonValue) -> bool | None:
    """Does the value conform to the schema? None where that hangs on what a transcript does not keep, or on more than
    is looked at (another dialect, references that leave the schema, very large schemas and values)."""
    dialect = dialect_of(schema)
    return None if dialect is None else _Conformity(schema, dialect).of(schema, value, 0)


type _Answer = bool | None


def _all(answers: Iterable[_Answer]) -> _Answer:
    """False as soon as one is False; None where one is open."""
    is_open = False
    for answer in answers:
        if answer is False:
            return False
        is_open = is_open or answer is None
    return None if is_open else True


def _any(answers: Iterable[_Answer]) -> _Answer:
    is_open = False
    for answer in answers:
        if answer:
            return True
        is_open = is_open or answer is None
    return None if is_open else False


def _not(answer: _Answer) -> _Answer:
    return None if answer is None else not answer


_READS_TEXT: Final = ("pattern", "maxLength", "minLength")
_READS_SIZE: Final = ("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf")
_OPEN_FOR_OBJECTS: Final = ("unevaluatedProperties", "propertyNames")


class _Conformity:
    """One question. `of` recurs along schema and value together, bounded in depth and steps."""

    __slots__ = ("_dialect", "_root", "_steps")

    def __init__(self, root: JsonObject, dialect: Dialect) -> None:
        self._root = root
        self._dialect = dialect
        self._steps = 0

    def of(self, schema: JsonValue, value: JsonValue, depth: int) -> _Answer:
        self._steps += 1
        if self._steps > MAX_STEPS or depth > MAX_NESTING:
            return None
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict) or (depth and "$id" in schema):
            return None
        if self._dialect == "draft-07" and "$ref" in schema:
            return self._reference(schema["$ref"], value, depth)
        return _all(self._keywords(schema, value, depth + 1))

    def _keywords(self, schema: JsonObject, value: JsonValue, depth: int) -> Iterator[_Answer]:
        if "type" in schema:
            yield _has_type(value, schema["type"])
        if "enum" in schema:
            listed = schema["enum"]
            yield _any(self._equal(value, one) for one in listed) if isinstance(listed, list) else None
        if "const" in schema:
            yield self._equal(value, schema["const"])
        if "$ref" in schema:
            yield self._reference(schema["$ref"], value, depth)
        if "$dynamicRef" in schema or "$recursiveRef" in schema:
            yield None
        yield from self._combinations(schema, value, depth)
        if isinstance(value, str) and any(keyword in schema for keyword in _READS_TEXT):
            yield None
        if is_number(value) and any(keyword in schema for keyword in _READS_SIZE):
            yield None
        if isinstance(value, dict):
            yield from self._members(schema, value, depth)
        if isinstance(value, list):
            yield from self._items(schema, value, depth)

    def _reference(self, reference: JsonValue, value: JsonValue, depth: int) -> _Answer:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        target: JsonValue = self._root
        for step in reference.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict) and name in target and "%" not in name:
                target = target[name]
            else:
                return None
        return self.of(target, value, depth + 1)

    def _combinations(self, schema: JsonObject, value: JsonValue, depth: int) -> Iterator[_Answer]:
        for keyword in ("allOf", "anyOf", "oneOf"):
            if keyword in schema:
                arms = schema[keyword]
                if not isinstance(arms, list) or not arms:
                    yield None
                    continue
                answers = (self.of(arm, value, depth) for arm in arms)
                yield _all(answers) if keyword == "allOf" else _any(answers) if keyword == "anyOf" else _one(answers)
        if "not" in schema:
            yield _not(self.of(schema["not"], value, depth))
        if "if" in schema:
            condition = self.of(schema["if"], value, depth)
            branches = [
                self.of(schema[branch], value, depth) if branch in schema else True for branch in ("then", "else")
            ]
            if condition is None:
                yield branches[0] if branches[0] == branches[1] else None
            else:
                yield branches[0] if condition else branches[1]

    def _members(self, schema: JsonObject, value: JsonObject, depth: int) -> Iterator[_Answer]:
        self._steps += len(value)
        properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        if not isinstance(properties, dict) or not isinstance(patterns, dict):
            yield None
            return
        yield from (self.of(properties[name], member, depth) for name, member in value.items() if name in properties)
        if patterns and value:
            yield None
        extra = [member for name, member in value.items() if name not in properties]
        if "additionalProperties" in schema and extra and schema["additionalProperties"] is not True:
            others = schema["additionalProperties"]
            yield None if patterns else _all(self.of(others, member, depth) for member in extra)
        if value and any(schema.get(keyword, True) is not True for keyword in _OPEN_FOR_OBJECTS):
            yield None
        yield _has_names(value, schema.get("required", []))
        yield _counts(len(value), schema.get("minProperties"), schema.get("maxProperties"))
        for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            dependent = schema.get(keyword, {})
            if not isinstance(dependent, dict):
                yield None
                continue
            for name in dependent.keys() & value.keys():
                needed = dependent[name]
                yield _has_names(value, needed) if isinstance(needed, list) else self.of(needed, value, depth)

    def _items(self, schema: JsonObject, value: list[JsonValue], depth: int) -> Iterator[_Answer]:
        self._steps += len(value)
        yield _counts(len(value), schema.get("minItems"), schema.get("maxItems"))
        tuple_form = schema.get("prefixItems" if self._dialect == "2020-12" else "items")
        first = tuple_form if isinstance(tuple_form, list) else []
        yield from (self.of(one, item, depth) for one, item in zip(first, value, strict=False))
        rest: JsonValue = True
        if self._dialect == "2020-12" or not isinstance(schema.get("items"), list):
            rest = schema.get("items", True)
        else:
            rest = schema.get("additionalItems", True)
        if rest is not True:
            yield from (self.of(rest, item, depth) for item in value[len(first) :])
        if schema.get("unevaluatedItems", True) is not True and value:
            yield None
        if schema.get("uniqueItems") is True:
            pairs = (self._equal(one, other) for place, one in enumerate(value) for other in value[:place])
            yield _not(_any(pairs))
        if "contains" in schema:
            yield self._contains(schema, value, depth)

    def _contains(self, schema: JsonObject, value: list[JsonValue], depth: int) -> _Answer:
        answers = [self.of(schema["contains"], item, depth) for item in value]
        if None in answers:
            return None
        return _counts(answers.count(True), schema.get("minContains", 1), schema.get("maxContains"))

    def _equal(self, one: JsonValue, other: JsonValue) -> _Answer:
        """Equal as JSON Schema has it: 1 is 1.0, and true is not 1."""
        waiting = [(one, other)]
        while waiting:
            left, right = waiting.pop()
            self._steps += 1
            if self._steps > MAX_STEPS:
                return None
            if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
                waiting.extend(zip(left, right, strict=True))
            elif isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
                waiting.extend((left[name], right[name]) for name in left)
            elif isinstance(left, bool) or isinstance(right, bool):
                if left is not right:
                    return False
            elif isinstance(left, list | dict) or isinstance(right, list | dict) or left != right:
                return False
        return True


def _one(answers: Iterable[_Answer]) -> _Answer:
    found = list(answers)
    if found.count(True) > 1:
        return False
    return None if None in found else True in found


def _has_type(value: JsonValue, named: JsonValue) -> _Answer:
    names = named if isinstance(named, list) else [named]
    if not names or not all(isinstance(name, str) and name in _TYPES for name in names):
        return None
    return any(_is_of(value, name) for name in names)


def _is_of(value: JsonValue, name: JsonValue) -> bool:
    match name:
        case "integer":
            return is_integer(value)
        case "number":
            return is_number(value)
        case "boolean":
            return isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return value is None


def _has_names(value: JsonObject, needed: JsonValue) -> _Answer:
    if not isinstance(needed, list):
        return None
    return all(isinstance(name, str) and name in value for name in needed)


def _counts(count: int, least: JsonValue, most: JsonValue) -> _Answer:
    answers: list[_Answer] = []
    for bound, is_least in ((least, True), (most, False)):
        if bound is None:
            continue
        if not isinstance(bound, int | float) or isinstance(bound, bool):
            answers.append(None)
        else:
            answers.append(count >= bound if is_least else count <= bound)
    return _all(answers)
