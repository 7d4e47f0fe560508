"""JSON laid out for reading, with every token as it stood, and with marks at the places where its text was cut.

Nothing is parsed: tokens are told apart, and put on lines by their brackets. So numbers keep their notation, repeated
names stay, and what is not quite JSON is laid out as far as it goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

MAX_STRING: Final = 2_000
"""Characters of one token that are shown."""
MAX_DEPTH: Final = 40
"""Indentation does not grow beyond it."""
INDENT: Final = "  "

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_OPENING: Final = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Cut:
    """A mark to be shown before the character at this position (after the last one, at the length of the text)."""

    position: int
    mark: str


def laid_out(text: str, cuts: Sequence[Cut] = (), *, max_lines: int) -> Iterator[str]:
    """The lines of a JSON text. `cuts` are in ascending order. Of more than `max_lines`, the last says how much is not
    shown. Total: whatever the text is, everything but whitespace between tokens is on the lines.
    """
    layout = _Layout(text, cuts)
    for number, line in enumerate(layout.lines()):
        if number == max_lines:
            yield f"… {len(text) - layout.line_start} more characters" + layout.cuts_left()
            return
        yield line


class _Layout:
    def __init__(self, text: str, cuts: Sequence[Cut]) -> None:
        self._text = text
        self._cuts = cuts
        self._next_cut = 0
        self.line_start = 0
        """Where in the text the line begins that was given out last."""

    def lines(self) -> Iterator[str]:
        depth = 0
        line = ""
        previous = ""
        begun = end = 0
        for token in _TOKEN.finditer(self._text):
            value = token.group()
            breaks = bool(line) and _breaks(previous, value)
            if value in ("}", "]") and previous not in _OPENING:
                depth = max(0, depth - 1)
            if breaks:
                self.line_start = begun
                yield line
                line = ""
            if not line:
                line = INDENT * min(depth, MAX_DEPTH)
                begun = token.start()
            elif token.start() > end and previous != ":" and value != ":":
                line += " "
            line += self._shown(token.start(), value)
            if value == ":":
                line += " "
            if value in _OPENING:
                depth += 1
            elif value in ("}", "]") and previous in _OPENING:
                depth = max(0, depth - 1)
            previous, end = value, token.end()
        line += self._marks(len(self._text) + 1)
        if line:
            self.line_start = begun
            yield line

    def cuts_left(self) -> str:
        """What to say of the marks that were not given out, where a text is not shown to its end."""
        left = [cut for cut in self._cuts if cut.position >= self.line_start]
        return f", with {''.join(cut.mark for cut in left[:8])}{'…' if len(left) > 8 else ''}" if left else ""

    def _shown(self, start: int, token: str) -> str:
        end = start + len(token)
        pieces = [self._marks(start + 1)]
        position = start
        limit = start + MAX_STRING
        while self._next_cut < len(self._cuts) and self._cuts[self._next_cut].position < end:
            cut = self._cuts[self._next_cut]
            if cut.position > limit:
                break
            pieces.append(self._text[position : cut.position])
            position = cut.position
            pieces.append(self._marks(cut.position + 1))
        if end <= limit:
            pieces.append(self._text[position:end])
        else:
            pieces.append(f"{self._text[position:limit]}… {end - limit} more characters")
            pieces.append(self._marks(end))
        return "".join(pieces)

    def _marks(self, before: int) -> str:
        marks = ""
        while self._next_cut < len(self._cuts) and self._cuts[self._next_cut].position < before:
            marks += self._cuts[self._next_cut].mark
            self._next_cut += 1
        return marks


def _breaks(previous: str, token: str) -> bool:
    """Does a new line begin before this token?"""
    if previous in _OPENING:
        return token != _OPENING[previous]
    return previous == "," or token in ("}", "]")


def with_marks(text: str, cuts: Sequence[Cut]) -> str:
    """A text as it stands, with its marks in it."""
    pieces = []
    position = 0
    for cut in cuts:
        pieces += [text[position : cut.position], cut.mark]
        position = cut.position
    return "".join([*pieces, text[position:]])
