"""Names of exchanges and overlaps that tell nothing, and so stay: public words, small numbers, and our own numbering.

No pattern tells a word of the trade from a user, a tenant or a password, so the words are listed.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_wire.privacy.allow_lists import EXCHANGE_WORDS

OF_EXCHANGES: Final = "x"
OF_OVERLAPS: Final = "overlap"
"""What our own names begin with."""

MAX_PARTS: Final = 6
MAX_DIGITS: Final = 4
"""Digits in a name that stays; our own numbers may go as far as there are names."""

_SEPARATOR: Final = re.compile(r"[-_]")
_PART: Final = re.compile(r"([A-Za-z]*)([0-9]*)")
_OWN: Final = re.compile(rf"(?:{OF_EXCHANGES}|{OF_OVERLAPS})-([1-9][0-9]{{0,8}})")


def is_plain(name: str, names: int = 0) -> bool:
    """A name that tells nothing: public words and at most four digits, or a number of ours among so many `names`."""
    own = _OWN.fullmatch(name)
    if own is not None and int(own[1]) <= names:
        return True
    parts = _SEPARATOR.split(name)
    if len(parts) > MAX_PARTS:
        return False
    letters = digits = 0
    for part in parts:
        found = _PART.fullmatch(part)
        if not part or found is None:
            return False
        digits += len(found[2])
        letters += len(found[1]) == 1
        if len(found[1]) > 1 and found[1].lower() not in EXCHANGE_WORDS:
            return False
    return digits <= MAX_DIGITS and letters <= 1
