"""Media types in Content-Type and Accept (RFC 9110 8.3.1, 12.5.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_TOKEN: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_ESSENCE: Final = re.compile(rf"{_TOKEN}/{_TOKEN}")
_QVALUE: Final = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")
_OPTIONAL_WHITESPACE: Final = " \t"


def essence(content_type: str | None) -> str | None:
    """`type/subtype` in lower case, without parameters; None where there is none (absent, empty, malformed)."""
    if content_type is None:
        return None
    media_type = content_type.partition(";")[0].strip(_OPTIONAL_WHITESPACE)
    return media_type.lower() if _ESSENCE.fullmatch(media_type) else None


def charset(content_type: str | None) -> str | None:
    """The value of the first `charset` parameter, lower-case and unquoted; None when none is declared."""
    if content_type is None:
        return None
    for parameter in list(_split(content_type, ";"))[1:]:
        name, equals, value = parameter.partition("=")
        if equals and name.strip(_OPTIONAL_WHITESPACE).lower() == "charset":
            return _unquoted(value.strip(_OPTIONAL_WHITESPACE)).lower()
    return None


def accept_lists(accept: str | None, media_type: str) -> bool:
    """Does an Accept value (repeated lines joined) list exactly this media type with a weight above zero?

    The MCP transports ask the client to *list* the types, so wildcards do not count. A member whose weight is zero or
    breaks the qvalue grammar (RFC 9110 12.4.2) does not count either. Parameters other than q are ignored; q is looked
    for in any position, and the first one is the weight (12.5.1).
    """
    if accept is None:
        return False
    wanted = media_type.lower()
    for member in _split(accept, ","):
        media_range, *parameters = _split(member, ";")
        if media_range.strip(_OPTIONAL_WHITESPACE).lower() == wanted and _weight_counts(parameters):
            return True
    return False


def _weight_counts(parameters: list[str]) -> bool:
    for parameter in parameters:
        name, equals, value = parameter.strip(_OPTIONAL_WHITESPACE).partition("=")
        if name.rstrip(_OPTIONAL_WHITESPACE).lower() == "q":
            # No whitespace is allowed around "=", and a weight is never a quoted string.
            well_formed = equals and name == name.rstrip(_OPTIONAL_WHITESPACE) and _QVALUE.fullmatch(value)
            return bool(well_formed) and float(value) > 0
    return True


def _split(text: str, separator: str) -> Iterator[str]:
    """The parts between separators, a separator inside a quoted string being none."""
    if '"' not in text:
        yield from text.split(separator)
        return
    start = 0
    quoted = escaped = False
    for position, character in enumerate(text):
        if escaped:
            escaped = False
        elif quoted:
            escaped = character == "\\"
            quoted = character != '"'
        elif character == '"':
            quoted = True
        elif character == separator:
            yield text[start:position]
            start = position + 1
    yield text[start:]


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL)
    return value
