"""Words that every text for people shares, and text that cannot harm the terminal it is shown on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mcp_wire.judging.finding import Layer, Party

WHO_MUST_ACT: Final[dict[Party, str]] = {
    "client": "the client must act",
    "server": "the server must act",
    "intermediary": "an intermediary must act",
    "either": "one of the peers must act",
    "pipeline": "the capture must be repaired",
}


def layer_words(layer: Layer) -> str:
    """`request_construction` as words."""
    return layer.replace("_", " ")


def printable(text: str) -> str:
    """One line without control or formatting characters: ids and names come from files that anybody may have made."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape", "replace").decode() for char in text)


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def listed(items: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *rest, last = items
    return f"{', '.join(rest)} and {last}" if rest else last
