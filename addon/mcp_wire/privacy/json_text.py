"""JSON texts: only names and scalars are replaced, and everything around them stays where it was.

Faults stay the faults that they were: NaN, repeated names, numbers out of range, lone surrogates, bytes that are not
UTF-8, something behind the value, nesting that is too deep.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, Final

from mcp_wire.privacy.json_redaction import JsonRedaction, JsonTree, Members, TooDeepError
from mcp_wire.privacy.labels import Labels
from mcp_wire.wire.records import record
from mcp_wire.wire.strict_json import MAX_DEPTH, MAX_INTEGER_LENGTH, MISSING, LongInteger, read_json

TOO_DEEP: Final = b"[" * (MAX_DEPTH + 1)
"""Stands in for a text that nobody reads."""

_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[^\s\[\]{},:"]++', re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NUMBERS: Final = (int, float, LongInteger)
_NO_NUMBERS: Final = (b"NaN", b"Infinity", b"-Infinity")
_BYTE_ORDER_MARK: Final = "\ufeff"


@record
class Replacement:
    """The bytes from `start` to `end` of a text become `new`. Replacements come in order and do not overlap."""

    start: int
    end: int
    new: bytes


def redact_json(data: bytes, redaction: JsonRedaction) -> list[Replacement] | None:
    """What to replace in a JSON text; None where there is no JSON to speak of, so that all of it is to be replaced.

    No replacement reaches over a line end, except the one for a text that is too deep.
    """
    text = _decoded(data)
    reading = read_json(text)
    if reading.too_deep:
        return [Replacement(0, len(data), TOO_DEEP)]
    try:
        if reading.value is not MISSING:
            tree: JsonTree = reading.value  # type: ignore[assignment]  # dict is invariant; nothing is written to it
            if reading.has("duplicate_key"):
                tree, _ = _read(text)
            start = len(_BYTE_ORDER_MARK.encode()) if text.startswith(_BYTE_ORDER_MARK) else 0
            return _aligned(data, start, len(data), redaction.tokens(tree))
        if reading.has("trailing_data"):
            return _before_trailing_data(data, text, redaction)
    except (TooDeepError, RecursionError):
        return [Replacement(0, len(data), TOO_DEEP)]
    except ValueError:
        pass  # Tokens and values do not correspond; then nothing of it stays.
    return None


def apply(data: bytes, replacements: Sequence[Replacement]) -> bytes:
    """The text with the replacements made."""
    parts: list[bytes] = []
    position = 0
    for replacement in replacements:
        parts += (data[position : replacement.start], replacement.new)
        position = replacement.end
    parts.append(data[position:])
    return b"".join(parts)


def redact_lines(data: bytes, labels: Labels, start: int = 0) -> list[Replacement]:
    """Every line from `start` on becomes a label; blank ones stay."""
    found = []
    for line in re.finditer(rb"[^\r\n]+", data[start:]):
        inner = line[0].strip(b" \t")
        if inner:
            at = start + line.start() + line[0].index(inner)
            found.append(Replacement(at, at + len(inner), label_bytes(inner, labels)))
    return found


def label_bytes(raw: bytes, labels: Labels) -> bytes:
    """The label of a text in bytes; what was no UTF-8 becomes something that is none either."""
    text = _decoded(raw)
    label = labels.text(text)
    return raw if label == text else with_invalid_bytes(label, raw)


def with_invalid_bytes(text: str, raw: bytes) -> bytes:
    """The bytes of a text that replaces `raw`, its U+FFFD turned into a byte that is no UTF-8 if `raw` has such."""
    data = text.encode("utf-8", "surrogatepass")
    if "\ufffd" in text and not _is_utf8(raw):
        return data.replace(b"\xef\xbf\xbd", b"\xff")
    return data


def _aligned(data: bytes, start: int, end: int, told: list[JsonTree]) -> list[Replacement]:
    replacements = []
    changes = iter(told)
    for token, before, after in zip(_TOKEN.finditer(data, start, end), changes, changes, strict=True):
        if after is before and (isinstance(after, bool) or not isinstance(after, _NUMBERS)):
            continue
        written = _written(token[0], before, after)
        if written is not None:
            replacements.append(Replacement(token.start(), token.end(), written))
    return replacements


def _before_trailing_data(data: bytes, text: str, redaction: JsonRedaction) -> list[Replacement] | None:
    tree, after = _read(text)
    end = len(text[:after].encode("utf-8", "surrogatepass"))
    if text.encode("utf-8", "surrogatepass") != data:
        # What is no UTF-8 was read as U+FFFD; to find the place in the bytes, it is read as itself.
        text = data.decode("utf-8", "surrogateescape")
        end = len(text[: _read(text)[1]].encode("utf-8", "surrogateescape"))
    start = len(_BYTE_ORDER_MARK.encode()) if text.startswith(_BYTE_ORDER_MARK) else 0
    return _aligned(data, start, end, redaction.tokens(tree)) + redact_lines(data, redaction.labels, end)


def _written(token: bytes, before: JsonTree, after: JsonTree) -> bytes | None:
    """The new token; None where the old one stays."""
    if isinstance(after, str):
        if before == after:
            return None
        if token.isascii():
            return encode_basestring_ascii(after).encode()
        text = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", encode_basestring(after))
        return with_invalid_bytes(text, token)
    if isinstance(after, bool) or not isinstance(after, _NUMBERS):
        return None
    # A number that stays is written anew all the same: a mantissa of zero and an exponent can spell anything.
    if isinstance(after, float) and not math.isfinite(after):
        written = token if token in _NO_NUMBERS else b"-1e999" if after < 0 else b"1e999"
    else:
        written = after.text.encode() if isinstance(after, LongInteger) else repr(after).encode()
    return None if written == token else written


def _integer(text: str) -> int | LongInteger:
    return int(text) if len(text) <= MAX_INTEGER_LENGTH else LongInteger(text)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=Members, parse_int=_integer)
_SPACE: Final = re.compile(r"[ \t\n\r]*")


def _read(text: str) -> tuple[Any, int]:
    """A value with its repeated names, and where it ended. Raises ValueError where there is none."""
    start = 1 if text.startswith(_BYTE_ORDER_MARK) else 0
    found = _SPACE.match(text, start)
    return _DECODER.raw_decode(text, found.end() if found else start)


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
