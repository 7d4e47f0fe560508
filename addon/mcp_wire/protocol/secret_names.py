"""Names of parameters that say that their values are secret (2026-07-28 server/tools#x-mcp-header)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_SECRET_WORDS: Final = frozenset(
    {"password", "passwd", "passphrase", "secret", "credential", "credentials", "authorization", "apikey", "ssn"}
)
_SECRET_PAIRS: Final = frozenset(
    {
        *(("api", "key"), ("access", "key"), ("private", "key"), ("secret", "key")),
        *((word, "token") for word in ("access", "auth", "bearer", "refresh", "session", "id")),
    }
)


def names_a_secret(name: str) -> bool:
    """A guess, by whole words: `Access-Token` does, `Page-Token` and `Max-Tokens` do not."""
    words = [word.lower() for word in _WORD.findall(name)]
    if words == ["token"] or not _SECRET_WORDS.isdisjoint(words):
        return True
    return not _SECRET_PAIRS.isdisjoint(pairwise(words))
