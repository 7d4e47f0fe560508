"""Codes of rules that somebody typed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(code: str, known: Iterable[str]) -> str | None:
    """`did you mean …?` with the known code that is most like this one; None where none is."""
    near = difflib.get_close_matches(code, known, n=1)
    return f"did you mean {near[0]}?" if near else None
