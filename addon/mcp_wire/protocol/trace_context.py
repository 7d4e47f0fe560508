"""The formats of W3C Trace Context and Baggage: a replaced value is as valid as it was (2026-07-28 basic#meta)."""

from __future__ import annotations

import re
from typing import Final

_TRACE_PARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
_SPACE: Final = r"[ \t]*"
_STATE_VALUE: Final = r"[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
_STATE_MEMBER: Final = re.compile(rf"{_SPACE}(?:[a-z0-9][a-z0-9_*/@-]{{0,255}}={_STATE_VALUE})?{_SPACE}")
_TOKEN: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_PAIR: Final = rf"{_SPACE}{_TOKEN}{_SPACE}={_SPACE}[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*{_SPACE}"
_BAGGAGE_PAIR: Final = re.compile(_PAIR)
_BAGGAGE_PROPERTY: Final = re.compile(rf"{_PAIR}|{_SPACE}{_TOKEN}{_SPACE}")


def is_trace_parent(value: str) -> bool:
    """Version, trace id, parent id and flags; neither id is zero. Only versions above 00 may go on."""
    found = _TRACE_PARENT.fullmatch(value)
    if found is None or found[1] == "ff" or (found[1] == "00" and found[4] is not None):
        return False
    return bool(found[2].strip("0")) and bool(found[3].strip("0"))


def is_trace_state(value: str) -> bool:
    """Members `key=value` between commas; a member may be empty."""
    return all(_STATE_MEMBER.fullmatch(member) is not None for member in value.split(","))


def is_baggage(value: str) -> bool:
    """Members `key=value` between commas, each with properties behind semicolons."""
    for member in value.split(","):
        pair, *properties = member.split(";")
        if _BAGGAGE_PAIR.fullmatch(pair) is None:
            return False
        if any(_BAGGAGE_PROPERTY.fullmatch(part) is None for part in properties):
            return False
    return True
