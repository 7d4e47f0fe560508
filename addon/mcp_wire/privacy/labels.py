"""Labels that stand in for values: equal values get equal labels, different values different ones.

A label says nothing of its value but these properties, which verdicts hang on: non-ASCII characters, undecodable bytes,
lone surrogates, NUL, other control characters, whitespace at either end; for session ids also that one is malformed or
easily guessed, for names of tools that one is too long or has characters that none should have. It is never a hash, and
never as long as its value.

What already looks like a label stays as it is and keeps its number from others, so that redacting twice changes
nothing.
"""

from __future__ import annotations

import math
import re
from hashlib import blake2b
from typing import Final, Literal

from mcp_wire.protocol.session_ids import is_short, looks_counted
from mcp_wire.protocol.tool_names import MAX_TOOL_NAME_LENGTH, has_only_plain_characters
from mcp_wire.wire.strict_json import LongInteger

Kind = Literal["redacted", "session", "cursor", "id", "name", "tool", "method", "param", "host"]
"""What a value was first seen as. It only makes the prefix of the label."""

MAX_VALUES_REMEMBERED: Final = 65_536
"""Values whose label is known. Beyond it, those unused for longest are forgotten: seen again, they get a new label."""

MAX_IDENTIFIERS_REMEMBERED: Final = 131_072
"""The same for ids of sessions, events and requests and for names of tools, which rules compare over the whole of a
conversation."""

MAX_RECENT_NUMBERS: Final = 4_096
"""Integers whose label is found at once: long lists of numbers repeat them."""

MAX_LABELS_RESERVED: Final = 131_072
"""Numbers of labels that were found in the traffic itself, for one prefix."""

NUMBER_BASE: Final = 1_000_000_000_000
"""Labels of numbers begin here: too large to be in ordinary use, and an integer to every JSON reader."""

LARGE_NUMBER_BASE: Final = 9_100_000_000_000_000
"""Labels of integers that are beyond what a double keeps exactly begin here. They are even: doubles hold them."""

_SAFE_INTEGER: Final = 2**53 - 1
_MAX_ORDINAL: Final = 9_999_999

_IDENTIFIERS: Final = frozenset({"session", "cursor", "id", "tool"})
_OVERLONG: Final = "x" * MAX_TOOL_NAME_LENGTH
_LABEL: Final = re.compile(
    r"[ \t]?(?:(session|weak)[- ]([A-Z]{1,4})|(cursor|id|name|tool|method|param|host|redacted)-([1-9][0-9]{0,6})"
    rf"!?(?:-{_OVERLONG})?)(?:é?\ufffd?\ud800?\x00?[\n\x1f]?)[ \t]?"
)
_IN_TEXT: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:(session|weak)[- ]([A-Z]{1,4})|(cursor|id|name|tool|method|param|host|redacted)-"
    r"([1-9][0-9]{0,6})|(1[0-9]{12}|91[0-9]{14}))(?![A-Za-z0-9])"
)
_CONTROL: Final = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_OTHER_NON_ASCII: Final = re.compile("[^\x00-\x7f\ufffd\ud800-\udfff]")
_INTEGER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,4})?")
_NUMBER_LABEL_TEXT: Final = re.compile(r"(-?(?:1[0-9]{12}|91[0-9]{14}))(?:\.0+)?")


def is_label(value: object) -> bool:
    """Is this text one of our labels? What it stands for was longer or shorter: its length means nothing."""
    return isinstance(value, str) and len(value) <= 2 * MAX_TOOL_NAME_LENGTH and _LABEL.fullmatch(value) is not None


def is_strong_session_label(value: object) -> bool:
    """Is this a label of a session id that is not easily guessed? (The label of a weak one begins with `weak`.)"""
    return is_label(value) and isinstance(value, str) and not value.strip(" \t").startswith("weak")


def is_number_label(value: object) -> bool:
    """Is this number one of our labels?"""
    return isinstance(value, int | float) and not isinstance(value, bool) and _number_ordinal(abs(value)) is not None


class Labels:
    """The labels of one conversation. Memory is bounded; every call is linear in the length of its value."""

    def __init__(self) -> None:
        self._identifiers = _Remembered(MAX_IDENTIFIERS_REMEMBERED)
        self._texts = _Remembered(MAX_VALUES_REMEMBERED)
        self._numbers = _Remembered(MAX_VALUES_REMEMBERED)
        self._recent: dict[int, int] = {}
        self._ordinals: dict[str, _Ordinals] = {}

    def reserve(self, text: str) -> None:
        """Keep the numbers of the labels that stand in a text from other values, before these are met."""
        for word, letters, prefix, digits, number in _IN_TEXT.findall(text):
            if number:
                self._claim_number(int(number))
            else:
                self._of(word or prefix).claim(_ordinal_of_letters(letters) if word else int(digits))

    def text(self, value: str, kind: Kind = "redacted") -> str:
        """The label of a text; an empty text and one of nothing but whitespace stay."""
        if not value or value.isspace():
            return value
        key = _key(value)
        label = self._identifiers.get(key) or self._texts.get(key)
        if label is not None and kind == "session" and label != value and _hides_a_fault(value, label):
            # Where it is no session id, it keeps the label that it has: event ids are compared with each other.
            key = _key(f"session {value}")
            label = self._identifiers.get(key)
        if label is None:
            label = self._own(value) or self._new(value, kind)
            (self._identifiers if kind in _IDENTIFIERS else self._texts).put(key, label)
        return label

    def number(self, value: float | LongInteger, *, lasting: bool = False) -> int | float:
        """The label of a number, of the same type: equal numbers (1 and 1.0) get equal labels. Not for booleans.

        Zero, NaN and infinities stay; a number beyond the integers that doubles keep stays beyond them; the sign stays.
        `lasting`: it is an id, whose label is kept as long as those of ids that are texts.
        """
        if lasting or type(value) is not int:
            return self._number(value, lasting)
        label = self._recent.get(value)
        if label is None:
            if len(self._recent) >= MAX_RECENT_NUMBERS:
                self._recent.clear()
            label = self._recent[value] = int(self._number(value))
        return label

    def _number(self, value: float | LongInteger, lasting: bool = False) -> int | float:
        if isinstance(value, LongInteger):
            return self._numbered(value.text, large=True, negative=value.text.startswith("-"), lasting=lasting)
        if value == 0 or (isinstance(value, float) and not math.isfinite(value)):
            return value
        integral = isinstance(value, int) or value.is_integer()
        if _number_ordinal(abs(value)) is not None and self._claim_number(abs(value)):
            return value
        negative = value < 0
        if integral:
            label = self._numbered(
                str(int(value)), large=abs(value) > _SAFE_INTEGER, negative=negative, lasting=lasting
            )
            return float(label) if isinstance(value, float) else label
        label = self._numbered(repr(value), large=False, negative=negative, lasting=lasting)
        return label - 0.5 if negative else label + 0.5

    def integer_text(self, text: str) -> str | None:
        """The label of a text that says an integer, in whatever notation; None for any other text.

        It says the label of that integer. Different notations of one integer (42, 42.0, 4.2e1) stay different texts.
        """
        if _NUMBER_LABEL_TEXT.fullmatch(text):
            digits = text.lstrip("-").partition(".")[0]
            if self._claim_number(int(digits)):
                return text
        plain = _plain_integer(text)
        if plain is None:
            return None
        digits = plain.lstrip("-")
        large = len(digits) > 16 or int(digits) > _SAFE_INTEGER
        if plain == "0" or (not large and _number_ordinal(int(digits)) is not None and self._claim_number(int(digits))):
            label = plain
        else:
            label = str(self._numbered(plain, large=large, negative=plain.startswith("-")))
        if text == plain:
            return label
        key = _key(f"{plain} {text}")
        notation = self._numbers.get(key)
        if notation is None:
            count = self._ordinals.setdefault(f"notation of {label}", _Ordinals()).next()
            notation = f"{label}.{'0' * count}"
            self._numbers.put(key, notation)
        return notation

    def _own(self, value: str) -> str | None:
        found = _LABEL.fullmatch(value) if len(value) <= 2 * MAX_TOOL_NAME_LENGTH else None
        if found is None:
            return None
        if found[1]:
            prefix, ordinal = found[1], _ordinal_of_letters(found[2])
        else:
            prefix, ordinal = found[3], int(found[4])
        return value if self._of(prefix).claim(ordinal) else None

    def _new(self, value: str, kind: Kind) -> str:
        inner = value.strip(" \t")
        before = value[: len(value) - len(value.lstrip(" \t"))][:1]
        after = value[len(value.rstrip(" \t")) :][:1]
        if kind == "session":
            prefix = "weak" if _is_guessable(inner) else "session"
            joint = " " if " " in inner or "\t" in inner else "-"
            label = f"{prefix}{joint}{_letters(self._of(prefix).next())}"
        else:
            label = f"{kind}-{self._of(kind).next()}"
            if kind == "tool":
                label += ("" if has_only_plain_characters(value) else "!") + (
                    f"-{_OVERLONG}" if len(value) > MAX_TOOL_NAME_LENGTH else ""
                )
        return f"{before}{label}{_markers(inner)}{after}"

    def _of(self, prefix: str) -> _Ordinals:
        return self._ordinals.setdefault(prefix, _Ordinals())

    def _numbered(self, text: str, *, large: bool, negative: bool, lasting: bool = False) -> int:
        key, lasting_key = _key(text), _key(f"number {text}")
        known = self._numbers.get(key) or self._identifiers.get(lasting_key)
        if known is None:
            ordinal = self._of("large number" if large else "number").next()
            size = LARGE_NUMBER_BASE + 2 * ordinal if large else NUMBER_BASE + ordinal
            known = str(-size if negative else size)
            self._numbers.put(key, known)
        if lasting:
            self._identifiers.put(lasting_key, known)
        return int(known)

    def _claim_number(self, size: float) -> bool:
        ordinal = _number_ordinal(size)
        if ordinal is None:
            return False
        return self._of("large number" if size > _SAFE_INTEGER else "number").claim(ordinal)


class _Ordinals:
    """Numbers of the labels of one prefix: given out in order, except those that were found in the traffic."""

    __slots__ = ("_found_only", "_last", "_new", "_reserved")

    def __init__(self) -> None:
        self._last = 0
        self._reserved: set[int] = set()
        self._new = False  # a number has been given out
        self._found_only = 0  # up to this one, none was given out

    def next(self) -> int:
        self._new = True
        self._last += 1
        while self._last in self._reserved:
            self._last += 1
        return self._last

    def claim(self, ordinal: int) -> bool:
        """Keep a number from others. False when another value has it already."""
        if ordinal in self._reserved or ordinal <= self._found_only:
            return True
        if ordinal <= self._last:
            return False
        self._reserved.add(ordinal)
        if len(self._reserved) > MAX_LABELS_RESERVED:
            self._last = max(self._reserved)
            self._reserved.clear()
            if not self._new:
                self._found_only = self._last
        return True


class _Remembered:
    """Labels by value, in two generations: what was used since the last turn survives the next."""

    __slots__ = ("_old", "_size", "_young")

    def __init__(self, size: int) -> None:
        self._size = size // 2
        self._young: dict[str | bytes, str] = {}
        self._old: dict[str | bytes, str] = {}

    def get(self, key: str | bytes) -> str | None:
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self.put(key, found)
        return found

    def put(self, key: str | bytes, label: str) -> None:
        if len(self._young) >= self._size:
            self._old, self._young = self._young, {}
        self._young[key] = label


def _key(value: str) -> str | bytes:
    if len(value) <= 64:
        return value
    return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=24).digest()


def _hides_a_fault(session_id: str, label: str) -> bool:
    """The value was seen as something else first, and its label does not say what is wrong with it as a session id."""
    if label.strip(" \t").startswith(("session", "weak")):
        return False
    inner = session_id.strip(" \t")
    return _is_guessable(inner) or " " in inner or "\t" in inner


def _is_guessable(value: str) -> bool:
    if is_strong_session_label(value):  # a label, and taken
        return False
    return is_short(value) or looks_counted(value)


def undecodable_part(value: str) -> str:
    """What a label has at its end to say that the value was not all text: U+FFFD, a lone surrogate, both or neither."""
    return ("\ufffd" if "\ufffd" in value else "") + ("\ud800" if _SURROGATE.search(value) else "")


def _markers(value: str) -> str:
    markers = ""
    if not value.isascii():
        if _OTHER_NON_ASCII.search(value):
            markers += "é"
        markers += undecodable_part(value)
    if "\0" in value:
        markers += "\0"
    if "\n" in value or "\r" in value:
        markers += "\n"
    elif _CONTROL.search(value):
        markers += "\x1f"
    return markers


def _plain_integer(text: str) -> str | None:
    """The digits of an integral decimal number without leading zeros, None for any other text. Linear."""
    if not text or _INTEGER.fullmatch(text) is None:
        return None
    negative = text.startswith("-")
    mantissa, _, exponent = text.lstrip("-").lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    point = len(whole) + int(exponent or 0)
    if digits[max(point, 0) :].strip("0"):
        return None
    integer = (digits[: max(point, 0)] + "0" * (point - len(digits))).lstrip("0")
    return f"{'-' if negative else ''}{integer}" if integer else "0"


def _number_ordinal(size: float) -> int | None:
    """The ordinal of a number that looks like a label (its sign and its half left aside), None for any other."""
    if NUMBER_BASE < size <= NUMBER_BASE + _MAX_ORDINAL:
        whole = int(size)
        return whole - NUMBER_BASE if whole > NUMBER_BASE and size - whole in (0, 0.5) else None
    if LARGE_NUMBER_BASE < size <= LARGE_NUMBER_BASE + 2 * _MAX_ORDINAL:
        ordinal, odd = divmod(int(size) - LARGE_NUMBER_BASE, 2)
        return None if odd else ordinal
    return None


def _letters(ordinal: int) -> str:
    letters = ""
    while ordinal:
        ordinal, letter = divmod(ordinal - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def _ordinal_of_letters(letters: str) -> int:
    ordinal = 0
    for letter in letters:
        ordinal = ordinal * 26 + ord(letter) - ord("A") + 1
    return ordinal
