"""Strict JSON (RFC 8259, with the interoperability advice of RFC 7493) that goes on reading where it can.

A judge needs two things from one text: everything that is wrong with it, and the value that a lenient peer would have
read from it. The ordinary text is read by the standard library's C scanner; only a text with something unusual in it
is read a second time by the slow reader below, which is iterative and says what is wrong and where. Both are linear in
the length of the text, and neither depends on the caller's stack or on the interpreter's limits.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import field
from enum import Enum
from itertools import accumulate
from json.decoder import scanstring  # type: ignore[attr-defined]  # public in fact, absent from the type stubs
from json.encoder import c_make_encoder, encode_basestring, encode_basestring_ascii  # type: ignore[attr-defined]
from typing import Any, Final, Literal

from mcp_wire.wire.records import record


class Missing(Enum):
    """The type of `MISSING`, which stands where there is no JSON value: `None` is JSON's null."""

    MISSING = "missing"

    def __bool__(self) -> Literal[False]:
        return False


MISSING: Final = Missing.MISSING


class LongInteger:
    """An integer too long for the interpreter to convert in linear time, kept as its digits.

    Integers of any length are JSON (RFC 8259 6). It is deliberately no `int`: converting is quadratic, and printing
    such an int raises. `text` is the number as written; JSON leaves one way to write an integer, so equal numbers
    have equal texts.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text: Final = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LongInteger) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"LongInteger({len(self.text)} characters)"


type JsonValue = bool | int | float | str | LongInteger | list[JsonValue] | dict[str, JsonValue] | None

MAX_DEPTH: Final = 200
"""Containers inside one another. RFC 8259 9 lets a reader set a limit; deeper texts are not judged, nor blamed."""

MAX_INTEGER_LENGTH: Final = 640
"""Characters up to which an integer becomes an `int`: what Python converts under every setting of its own limit."""

FaultKind = Literal[
    "invalid_utf8",
    "bom",
    "syntax",
    "trailing_data",
    "duplicate_key",
    "not_a_number",
    "out_of_range",
    "lone_surrogate",
    "too_deep",
]

NOTES: Final[frozenset[FaultKind]] = frozenset({"lone_surrogate"})
"""Faults that leave a text strict JSON.

A lone surrogate escape (`"\\ud800"`) is within the grammar of RFC 8259, which only calls what receivers make of it
unpredictable (8.2); it is RFC 7493 2.1 that forbids it, and MCP does not name RFC 7493. A byte order mark is no such
case: RFC 8259 8.1 forbids senders to add it to a networked text (MUST NOT), and merely lets receivers ignore it.
Repeated names count as faults although RFC 8259 4 says SHOULD: two receivers would read two different messages.
"""


@record
class JsonFault:
    """One thing wrong with a text.

    `offset` counts characters from the start of the text (bytes, for `invalid_utf8`); None where only a value was
    looked at. It says where, never what, and two faults of one kind are equal wherever they are.
    """

    kind: FaultKind
    offset: int | None = field(default=None, compare=False)


@record
class JsonReading:
    """What was read. `faults` holds the first fault of each kind, in the order found; `value` is given wherever a
    lenient reader would have read one (last name wins, NaN and infinities as floats, undecodable bytes as U+FFFD)."""

    value: JsonValue | Literal[Missing.MISSING]
    faults: tuple[JsonFault, ...] = ()

    @property
    def strict(self) -> bool:
        """The text is strict JSON: no fault, notes (see `NOTES`) apart."""
        return not self.faults or all(fault.kind in NOTES for fault in self.faults)

    @property
    def too_deep(self) -> bool:
        """Our own limit ended the reading: no verdict on this text is possible."""
        return self.has("too_deep")

    def has(self, kind: FaultKind) -> bool:
        return bool(self.faults) and any(fault.kind == kind for fault in self.faults)


def read_json(text: str | bytes, *, max_depth: int = MAX_DEPTH) -> JsonReading:
    """Read one JSON text. Never raises for its content.

    An empty text is a syntax fault. `max_depth` above the default is safe for this function, but deep values are a
    burden on whoever walks them by recursion.
    """
    faults: dict[FaultKind, JsonFault] = {}
    if isinstance(text, bytes):
        raw = text
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            faults["invalid_utf8"] = JsonFault("invalid_utf8", error.start)
            text = raw.decode(errors="replace")
        may_hold_raw_surrogates = False
    else:
        may_hold_raw_surrogates = not text.isascii()
    if _depth_is_within(text, max_depth):
        try:
            value: JsonValue = (_FAST if len(text) > MAX_INTEGER_LENGTH else _FAST_SHORT).decode(text)
            if "\\u" in text and _SURROGATE_ESCAPE.search(text):
                # Joined pairs survive this, lone halves raise UnicodeEncodeError, which is a ValueError.
                _LOOSE.encode(value).encode()
            if may_hold_raw_surrogates:
                text.encode()
        except (ValueError, RecursionError):
            pass  # Something is unusual; the careful reader says what.
        else:
            return JsonReading(value, tuple(faults.values())) if faults else JsonReading(value)
    return _read_carefully(text, max_depth, faults)


def faults_of_value(value: JsonValue) -> tuple[JsonFault, ...]:
    """The faults that a text of this value has to have: what a value alone can still show (no offsets)."""
    faults: dict[FaultKind, JsonFault] = {}
    for depth, item in walk(value):
        if depth > MAX_DEPTH:
            return (JsonFault("too_deep"),)
        kind: FaultKind | None = None
        if isinstance(item, str):
            if not item.isascii() and _SURROGATE.search(item):
                kind = "lone_surrogate"
        elif isinstance(item, float) and not math.isfinite(item):
            kind = "not_a_number"
        if kind is not None:
            faults.setdefault(kind, JsonFault(kind))
    return tuple(faults.values())


def walk(value: JsonValue) -> Iterator[tuple[int, JsonValue]]:
    """Every value and every member name inside, with its depth in containers, in document order, without recursion.

    A container comes before its content, with the depth that its content has.
    """
    stack: list[Iterator[JsonValue]] = [iter((value,))]
    while stack:
        for item in stack[-1]:
            if isinstance(item, dict):
                yield len(stack), item
                stack.append(iter([part for member in item.items() for part in member]))
                break
            if isinstance(item, list):
                yield len(stack), item
                stack.append(iter(item))
                break
            yield len(stack) - 1, item
        else:
            stack.pop()


def is_integer(value: object) -> bool:
    """An integral JSON number, however written (JSON Schema 2020-12 4.2.3: 1.0 is an integer); never a boolean."""
    if isinstance(value, bool):
        return False
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int | LongInteger)


def is_number(value: object) -> bool:
    """A JSON number of any kind; never a boolean."""
    return isinstance(value, int | float | LongInteger) and not isinstance(value, bool)


def canonical(value: JsonValue) -> str:
    """One text for equal values: names sorted, 1, 1.0 and true distinct. Total: also for NaN and infinities."""
    try:
        return _canonical(value)
    except (_UnusualError, RecursionError):
        return "".join(_write(value, sort_keys=True, indent=None, allow_nan=True))


def dump_json(value: JsonValue, *, sort_keys: bool = False, indent: int | None = None) -> str:
    """Write a value as strict JSON, the same text every time.

    Non-ASCII text stays readable, but U+2028 and U+2029 (line ends to some readers), controls of text direction (they
    can make a terminal show another order) and lone surrogates (no UTF-8 can hold them) are written as escapes. Raises
    ValueError for NaN and infinities, which JSON cannot say.
    """
    try:
        text = _writer(sort_keys, indent)(value)
    except (_UnusualError, RecursionError):
        text = "".join(_write(value, sort_keys=sort_keys, indent=indent, allow_nan=False))
    return text if text.isascii() else _ESCAPED_IN_OUTPUT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# --- the fast reader: any hook that meets something unusual raises, and keeps no state ---


class _UnusualError(ValueError):
    pass


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _UnusualError
    return members


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _UnusualError
    return number


def _integer(text: str) -> int | LongInteger:
    return int(text) if len(text) <= MAX_INTEGER_LENGTH else LongInteger(text)


def _unusual(_: object) -> Any:
    raise _UnusualError


_FAST: Final = json.JSONDecoder(
    object_pairs_hook=_unique_members, parse_float=_finite, parse_int=_integer, parse_constant=_unusual
)
# No integer in it can be too long, so that each need not be looked at.
_FAST_SHORT: Final = json.JSONDecoder(object_pairs_hook=_unique_members, parse_float=_finite, parse_constant=_unusual)


def _prepared(encoder: json.JSONEncoder) -> Callable[[JsonValue], str]:
    """What `encoder.encode` does, with its C part made once and not for each value."""
    if c_make_encoder is None or encoder.indent is not None:
        return encoder.encode
    string = encode_basestring_ascii if encoder.ensure_ascii else encode_basestring
    separators = (encoder.key_separator, encoder.item_separator)
    write = c_make_encoder(
        None, encoder.default, string, None, *separators, encoder.sort_keys, encoder.skipkeys, encoder.allow_nan
    )
    return lambda value: "".join(write(value, 0))


_LOOSE: Final = json.JSONEncoder(ensure_ascii=False, default=lambda _: None, check_circular=False)
_canonical: Final = _prepared(
    json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_unusual, check_circular=False)
)
_WRITERS: Final[dict[tuple[bool, int | None], Callable[[JsonValue], str]]] = {}

_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPED_IN_OUTPUT: Final = re.compile("[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# Possessive, and content with an end that may lack: no input makes it look at a character twice.
_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NO_BRACKETS: Final = re.compile(r"[^][{}]++")
_STEP: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


def _depth_is_within(text: str, max_depth: int) -> bool:
    if text.count("[") + text.count("{") <= max_depth:
        return True
    brackets = _NO_BRACKETS.sub("", _STRING.sub("", text))
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0) <= max_depth


def _writer(sort_keys: bool, indent: int | None) -> Callable[[JsonValue], str]:
    key = (sort_keys, indent)
    writer = _WRITERS.get(key)
    if writer is None:
        writer = _WRITERS[key] = _prepared(
            json.JSONEncoder(
                sort_keys=sort_keys,
                indent=indent,
                separators=(",", ":") if indent is None else (",", ": "),
                ensure_ascii=False,
                allow_nan=False,
                check_circular=False,
                default=_unusual,
            )
        )
    return writer


# --- the careful reader ---

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*+)((?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?)")
_LITERALS: Final[tuple[tuple[str, JsonValue], ...]] = (("null", None), ("true", True), ("false", False))
_CONSTANTS: Final[tuple[tuple[str, float], ...]] = (
    ("NaN", math.nan),
    ("Infinity", math.inf),
    ("-Infinity", -math.inf),
)


class _FatalError(Exception):
    """There is no value to read."""

    def __init__(self, kind: FaultKind, offset: int) -> None:
        self.fault: Final = JsonFault(kind, offset)


def _read_carefully(text: str, max_depth: int, faults: dict[FaultKind, JsonFault]) -> JsonReading:
    value: JsonValue | Literal[Missing.MISSING] = MISSING
    start = 0
    if text.startswith("\ufeff"):
        faults["bom"] = JsonFault("bom", 0)
        start = 1
    try:
        value = _CarefulReader(text, max_depth, faults).read(start)
    except _FatalError as error:
        faults[error.fault.kind] = error.fault
    return JsonReading(value, tuple(faults.values()))


class _CarefulReader:
    __slots__ = ("_faults", "_max_depth", "_text")

    def __init__(self, text: str, max_depth: int, faults: dict[FaultKind, JsonFault]) -> None:
        self._text = text
        self._max_depth = max_depth
        self._faults = faults

    def read(self, at: int) -> JsonValue:
        value, at = self._value(self._skip(at))
        at = self._skip(at)
        if at != len(self._text):
            raise _FatalError("trailing_data", at)
        return value

    def _value(self, at: int) -> tuple[JsonValue, int]:
        text = self._text
        open_containers: list[list[JsonValue] | dict[str, JsonValue]] = []
        names: list[str] = []
        while True:
            character = text[at : at + 1]
            value: JsonValue
            if character in ("{", "["):
                if len(open_containers) == self._max_depth:
                    raise _FatalError("too_deep", at)
                at = self._skip(at + 1)
                if character == "{":
                    members: dict[str, JsonValue] = {}
                    if text[at : at + 1] != "}":
                        open_containers.append(members)
                        name, at = self._name(at, members)
                        names.append(name)
                        continue
                    value = members
                else:
                    items: list[JsonValue] = []
                    if text[at : at + 1] != "]":
                        open_containers.append(items)
                        continue
                    value = items
                at += 1
            else:
                value, at = self._scalar(at, character)
            # The value is complete: put it where it belongs, and close what it completes.
            while True:
                if not open_containers:
                    return value, at
                container = open_containers[-1]
                at = self._skip(at)
                follows = text[at : at + 1]
                if isinstance(container, dict):
                    container[names.pop()] = value
                    if follows == ",":
                        name, at = self._name(self._skip(at + 1), container)
                        names.append(name)
                        break
                    if follows != "}":
                        raise _FatalError("syntax", at)
                else:
                    container.append(value)
                    if follows == ",":
                        at = self._skip(at + 1)
                        break
                    if follows != "]":
                        raise _FatalError("syntax", at)
                value = open_containers.pop()
                at += 1

    def _name(self, at: int, members: dict[str, JsonValue]) -> tuple[str, int]:
        if self._text[at : at + 1] != '"':
            raise _FatalError("syntax", at)
        name, after = self._string(at)
        if name in members:
            self._note("duplicate_key", at)
        after = self._skip(after)
        if self._text[after : after + 1] != ":":
            raise _FatalError("syntax", after)
        return name, self._skip(after + 1)

    def _string(self, at: int) -> tuple[str, int]:
        try:
            content, after = scanstring(self._text, at + 1, True)
        except json.JSONDecodeError as error:
            raise _FatalError("syntax", error.pos) from None
        if not content.isascii() and _SURROGATE.search(content):
            self._note("lone_surrogate", at)
        return content, after

    def _scalar(self, at: int, character: str) -> tuple[JsonValue, int]:
        if character == '"':
            return self._string(at)
        number = _NUMBER.match(self._text, at)
        if number is not None:
            if not number[1]:
                return _integer(number[0]), number.end()
            value = float(number[0])
            if math.isinf(value):
                self._note("out_of_range", at)
            return value, number.end()
        for literal, meaning in _LITERALS:
            if self._text.startswith(literal, at):
                return meaning, at + len(literal)
        for literal, not_a_number in _CONSTANTS:
            if self._text.startswith(literal, at):
                self._note("not_a_number", at)
                return not_a_number, at + len(literal)
        raise _FatalError("syntax", at)

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found is not None else at

    def _note(self, kind: FaultKind, offset: int) -> None:
        # The first of each kind is enough: a hostile text must not buy memory with its faults.
        if kind not in self._faults:
            self._faults[kind] = JsonFault(kind, offset)


# --- the careful writer ---


def _write(value: JsonValue, *, sort_keys: bool, indent: int | None, allow_nan: bool) -> Iterator[str]:
    scalar = _canonical if allow_nan else _writer(False, None)
    colon = ":" if indent is None else ": "

    def line(depth: int) -> str:
        return "" if indent is None else "\n" + " " * (indent * depth)

    stack: list[tuple[Iterator[tuple[str, JsonValue]], str]] = []
    pending: list[tuple[str, JsonValue]] = [("", value)]
    first = True
    while True:
        if pending:
            prefix, item = pending.pop()
        else:
            if not stack:
                return
            members, close = stack[-1]
            following = next(members, None)
            if following is None:
                stack.pop()
                yield line(len(stack)) + close
                first = False
                continue
            yield line(len(stack)) if first else "," + line(len(stack))
            prefix, item = following
        yield prefix
        first = False
        if isinstance(item, dict) and item:
            pairs = sorted(item.items(), key=lambda pair: pair[0]) if sort_keys else item.items()
            stack.append((((scalar(name) + colon, member) for name, member in pairs), "}"))
            yield "{"
            first = True
        elif isinstance(item, list) and item:
            stack.append(((("", member) for member in item), "]"))
            yield "["
            first = True
        elif isinstance(item, LongInteger):
            yield item.text
        else:
            yield scalar(item)
