"""Where the exchanges of a transcript stand in its text, for tools that show findings beside it."""

from __future__ import annotations

import json
import re
from typing import Final

_BLANK: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


def exchange_lines(text: str) -> tuple[int, ...]:
    """For each exchange of a strict JSON text, the line (from 1) on which it begins; () where that cannot be told."""
    try:
        return _lines(text)
    except (ValueError, IndexError, RecursionError):
        return ()


def _lines(text: str) -> tuple[int, ...]:
    position = _after(text, _skip(text, 0), "{")
    while text[position] != "}":
        name, position = _DECODER.raw_decode(text, position)
        position = _after(text, _skip(text, position), ":")
        if name == "exchanges" and text[position] == "[":
            return _of_list(text, position + 1)
        _, position = _DECODER.raw_decode(text, position)
        position = _skip(text, position)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return ()


def _of_list(text: str, position: int) -> tuple[int, ...]:
    lines: list[int] = []
    line, counted_to = 1, 0
    position = _skip(text, position)
    while text[position] != "]":
        line += text.count("\n", counted_to, position)
        counted_to = position
        lines.append(line)
        _, position = _DECODER.raw_decode(text, position)
        position = _skip(text, position)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return tuple(lines)


def _after(text: str, position: int, mark: str) -> int:
    if text[position] != mark:
        raise ValueError(mark)
    return _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    assert found is not None
    return found.end()
