"""Body values mirrored into `Mcp-Name` and `Mcp-Param-*` (2026-07-28 basic/transports/streamable-http).

Clauses: #value-encoding (text of a value, Base64 sentinel), #schema-extension (which parameters are designated),
#server-validation (comparison), #custom-headers-from-tool-parameters. `Mcp-Method` and `MCP-Protocol-Version` are
compared as they stand: the sentinel does not apply to them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from mcp_wire.wire.strict_json import MISSING, JsonValue, LongInteger, Missing, is_integer

PARAM_PREFIX: Final = "mcp-param-"
"""Lower-case start of the name of a header that mirrors a designated tool parameter."""

ANNOTATION: Final = "x-mcp-header"

SAFE_INTEGER: Final = 2**53 - 1
"""Designated integers lie within plus and minus this (#schema-extension)."""

_SENTINEL_START: Final = "=?base64?"
_SENTINEL_END: Final = "?="
_PLAIN: Final = re.compile(r"[\x20-\x7e]*")
_HEADER_TEXT: Final = re.compile(r"[\x20-\x7e\t]*")
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DECIMAL: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]{1,4}))?")


# --- the text of a value ---


def expected_text(value: JsonValue) -> str | None:
    """The text that mirrors a string, an integer or a boolean; None for what is not mirrored (null, others)."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, LongInteger):
        return value.text
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else None
    return str(value) if isinstance(value, int) else None


def is_safe_integer(value: JsonValue) -> bool:
    """An integer that a client may mirror; False for one out of range and for what is no integer."""
    if isinstance(value, LongInteger) or not is_integer(value):
        return False
    assert isinstance(value, int | float)
    return -SAFE_INTEGER <= value <= SAFE_INTEGER


# --- the sentinel ---


def looks_like_sentinel(text: str) -> bool:
    """It starts with `=?base64?` and ends with `?=`, in exactly this spelling and without overlap."""
    return (
        len(text) >= len(_SENTINEL_START) + len(_SENTINEL_END)
        and text.startswith(_SENTINEL_START)
        and text.endswith(_SENTINEL_END)
    )


def needs_encoding(text: str) -> bool:
    """Must this value be sent in the Base64 form?

    Yes for non-ASCII and control characters, for a space or tab at either end, and for what looks like a sentinel. A
    tab inside is not judged: the clause allows it in its list of octets, and forbids control characters next to it.
    """
    if looks_like_sentinel(text) or text != text.strip(" \t"):
        return True
    return _PLAIN.fullmatch(text.replace("\t", " ")) is None


def has_invalid_characters(raw: str) -> bool:
    """Does a header value hold characters that no field value may (RFC 9110 5.5, as #value-encoding narrows it)?"""
    return _HEADER_TEXT.fullmatch(raw) is None


@dataclass(frozen=True, slots=True)
class DecodedHeader:
    """What a mirrored header says. `text` is None where the sentinel's content is no Base64 of UTF-8."""

    text: str | None
    encoded: bool


def decode(header: str) -> DecodedHeader:
    """Read a header value (surrounding whitespace is dropped), decoding the Base64 form if it is used.

    Base64 is RFC 4648 4 with padding and nothing else in it. The empty content decodes to the empty text.
    """
    header = header.strip(" \t")
    if not looks_like_sentinel(header):
        return DecodedHeader(header, False)
    try:
        raw = base64.b64decode(content_of_sentinel(header).encode("ascii"), validate=True)
        return DecodedHeader(raw.decode("utf-8"), True)
    except (binascii.Error, ValueError):
        return DecodedHeader(None, True)


def encode(text: str) -> str:
    """The header value that a conforming client sends for a text."""
    if not needs_encoding(text):
        return text
    return sentinel_around(base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii"))


def content_of_sentinel(text: str) -> str:
    """What stands inside of a text that looks like a sentinel: Base64, if it is a good one."""
    return text[len(_SENTINEL_START) : -len(_SENTINEL_END)]


def sentinel_around(content: str) -> str:
    return f"{_SENTINEL_START}{content}{_SENTINEL_END}"


# --- comparison ---

Comparison = Literal["equal", "equal_number", "different", "undecodable", "not_comparable"]
"""`equal_number`: the same integer in another notation (42.0 for 42), which servers accept (#server-validation).
`not_comparable`: the body value is of a type that is not mirrored, or not of the declared type."""

ParameterType = Literal["string", "integer", "boolean"]

_PRIMITIVES: Final[dict[str, ParameterType]] = {"string": "string", "integer": "integer", "boolean": "boolean"}


def compare(header: str, value: JsonValue, declared: ParameterType = "string") -> Comparison:
    """Compare a header value with the value in the body that it mirrors, which is not null.

    Strings by code points: no normalisation, no case folding, no percent-decoding. Integers by their decimal value, at
    any length.
    """
    expected = expected_text(value)
    if expected is None or not _has_type(value, declared):
        return "not_comparable"
    text = decode(header).text
    if text is None:
        return "undecodable"
    if text == expected:
        return "equal"
    if declared == "integer":
        sent, wanted = _integer_value(text), _integer_value(expected)
        if sent is not None and sent == wanted:
            return "equal_number"
    return "different"


def _has_type(value: JsonValue, declared: ParameterType) -> bool:
    if declared == "string":
        return isinstance(value, str)
    if declared == "boolean":
        return isinstance(value, bool)
    return is_integer(value)


def _integer_value(text: str) -> str | None:
    """The decimal digits of an integral number, whatever its notation; None for anything else. Linear in its length."""
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return None
    sign, whole, fraction, exponent = found[1], found[2], found[3] or "", int(found[4] or 0)
    digits = whole + fraction
    point = len(whole) + exponent
    if digits[max(point, 0) :].strip("0"):
        return None
    integer = (digits[: max(point, 0)] + "0" * (point - len(digits))).lstrip("0")
    return f"{sign}{integer}" if integer else "0"


# --- designated parameters ---

AnnotationFault = Literal["empty", "not_a_string", "not_a_token", "repeated", "type_not_primitive", "not_reachable"]
"""Why an annotation makes its tool definition invalid (#schema-extension)."""


@dataclass(frozen=True, slots=True)
class Designated:
    """A parameter to be mirrored: the names of properties that lead to it, the header's name part, its type."""

    path: tuple[str, ...]
    name: str
    type: ParameterType

    @property
    def header(self) -> str:
        """The lower-case name of its header."""
        return PARAM_PREFIX + self.name.lower()


@dataclass(frozen=True, slots=True)
class Designation:
    """What a tool's inputSchema designates. With `faults` the definition is invalid and nothing is to be mirrored.

    `undecided`: some annotated property has no `type` or a list of them (`["string", "null"]`), of which the text does
    not speak; it is no fault, and not in `parameters`.
    """

    parameters: tuple[Designated, ...] = ()
    faults: tuple[AnnotationFault, ...] = ()
    undecided: bool = False

    @property
    def is_valid(self) -> bool:
        return not self.faults


def designated_parameters(input_schema: JsonValue) -> Designation:
    """Walk an inputSchema for `x-mcp-header`. Total, linear, without recursion; each fault is listed once.

    Only keywords that hold schemas are searched: an `x-mcp-header` inside a default, an example or an enum is data.
    """
    parameters: list[Designated] = []
    faults: dict[AnnotationFault, None] = {}
    names: set[str] = set()
    undecided = False
    for path, schema in _schemas(input_schema):
        if ANNOTATION not in schema:
            continue
        name = schema[ANNOTATION]
        if not path:  # None: left the chain of properties; (): the root, which is no parameter
            faults["not_reachable"] = None
        if not isinstance(name, str):
            faults["not_a_string"] = None
            continue
        if _TOKEN.fullmatch(name) is None:
            faults["not_a_token" if name else "empty"] = None
            continue
        if name.lower() in names:
            faults["repeated"] = None
        names.add(name.lower())
        declared = schema.get("type", MISSING)
        if declared is MISSING or isinstance(declared, list):
            undecided = True
            continue
        primitive = _PRIMITIVES.get(declared) if isinstance(declared, str) else None
        if primitive is None:
            faults["type_not_primitive"] = None
        else:
            parameters.append(Designated(path or (), name, primitive))
    return Designation(() if faults else tuple(parameters), tuple(faults), undecided)


def argument_at(arguments: JsonValue | Literal[Missing.MISSING], path: tuple[str, ...]) -> JsonValue | Missing:
    """The value at the exact path of property names; MISSING where a step is absent or no object."""
    value: JsonValue | Missing = arguments
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return MISSING
        value = value[name]
    return value


_SCHEMA: Final = frozenset(
    {
        "items",
        "additionalItems",
        "unevaluatedItems",
        "contains",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "contentSchema",
        "not",
        "if",
        "then",
        "else",
    }
)
_LIST_OF_SCHEMAS: Final = frozenset({"items", "prefixItems", "oneOf", "anyOf", "allOf"})
_MAP_OF_SCHEMAS: Final = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)

_Path = tuple[str, ...] | None
"""Names of properties from the root, () for the root itself; None once the way left the chain of `properties`."""


def _schemas(root: JsonValue) -> Iterator[tuple[_Path, dict[str, JsonValue]]]:
    """Every schema inside a schema with its path, in document order."""
    pending: list[tuple[_Path, JsonValue]] = [((), root)]
    while pending:
        path, schema = pending.pop()
        if not isinstance(schema, dict):
            continue
        yield path, schema
        inside: list[tuple[_Path, JsonValue]] = []
        for keyword, value in schema.items():
            if keyword in _MAP_OF_SCHEMAS and isinstance(value, dict):
                reachable = keyword == "properties" and path is not None
                for name, part in value.items():
                    inside.append(((*path, name) if reachable and path is not None else None, part))
            elif keyword in _LIST_OF_SCHEMAS and isinstance(value, list):
                inside.extend((None, part) for part in value)
            elif keyword in _SCHEMA:
                inside.append((None, value))
        pending.extend(reversed(inside))
