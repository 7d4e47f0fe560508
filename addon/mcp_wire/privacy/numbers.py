"""Numbers that stay, by what they count. A number that nobody would count by could be anything, and becomes a label.

The label is as large or small, as whole or fractional and of the same sign as far as rules ask for that.
"""

from __future__ import annotations

from typing import Final, Literal

from mcp_wire.privacy.allow_lists import (
    A_DAY_MS,
    A_YEAR_MS,
    AN_HOUR_MS,
    KNOWN_BOUNDS,
    LARGEST_BOUND,
    LARGEST_CODE,
    LARGEST_ID,
    LARGEST_TOKENS,
)
from mcp_wire.wire.strict_json import LongInteger

Counting = Literal["progress", "id", "code", "milliseconds", "share", "tokens", "bound"]
"""What a number counts."""

COUNTINGS: Final[frozenset[str]] = frozenset({"progress", "id", "code", "milliseconds", "share", "tokens", "bound"})

_MAX_PROGRESS: Final = 10**19
_DECIMALS: Final = 3


def kept_number(value: float | LongInteger, counting: str) -> int | float | None:
    """The number that stays, None where it becomes a label. Numbers between 0 and 1 are rounded to hundredths."""
    if isinstance(value, LongInteger):
        return None
    if value != value or abs(value) == float("inf"):
        return value
    size = abs(value)
    match counting:
        case "progress":
            return value if isinstance(value, float) or size < _MAX_PROGRESS else None
        case "id":
            return value if size <= LARGEST_ID and _is_short(value) else None
        case "code":
            return value if size <= LARGEST_CODE and _is_short(value) else None
        case "milliseconds":
            usual = size <= A_DAY_MS or (size <= A_YEAR_MS and size % AN_HOUR_MS == 0)
            return value if usual and _is_short(value) else None
        case "share":
            return round(value, 2) if 0 <= value <= 1 else None
        case "tokens":
            return value if size <= LARGEST_TOKENS and _is_short(value) else None
        case "bound":
            return value if (size <= LARGEST_BOUND and _is_short(value)) or size in KNOWN_BOUNDS else None
        case _:
            return None


def _is_short(value: float) -> bool:
    return isinstance(value, int) or round(value, _DECIMALS) == value
