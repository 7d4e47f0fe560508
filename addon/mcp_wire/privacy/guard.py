"""Any text, however long, looked through for secrets that show themselves: in which line, and of which kind."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import BinaryIO, Final

from mcp_wire.privacy.assignments import assigned_secrets_in
from mcp_wire.privacy.secret_search import Sighting, secrets_in

BLOCK_OCTETS: Final = 1024 * 1024
"""Octets that are read at once."""
OVERLAP: Final = 16 * 1024
"""Characters of a line longer than that which are looked at twice, so that no secret is missed where it is cut."""

_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LINE_END: Final = re.compile(r"\n")


def secrets_by_line(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """Line (from 1) and kind of each secret in a file, each kind once a line. Raises what reading the file raises.

    Text is UTF-8, or what its byte order mark says; what is none is read as far as it goes.
    """
    told: set[tuple[int, str]] = set()
    for first, text in _pieces(file):
        told = {(line, kind) for line, kind in told if line >= first}
        line, counted_to = first, 0
        for sighting in _sightings(text):
            line += text.count("\n", counted_to, sighting.at)
            counted_to = max(counted_to, sighting.at)
            if (line, sighting.kind) not in told:
                told.add((line, sighting.kind))
                yield line, sighting.kind


def _sightings(text: str) -> list[Sighting]:
    """In the order of their places; a secret that shows itself is not told once more for its name."""
    found, assigned = secrets_in(text), list(assigned_secrets_in(text))
    if found and assigned:
        ends = [end.start() for end in _LINE_END.finditer(text)]
        told = {bisect_left(ends, sighting.at) for sighting in found}
        assigned = [sighting for sighting in assigned if bisect_left(ends, sighting.at) not in told]
    return sorted([*found, *assigned], key=lambda sighting: sighting.at)


def _pieces(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """The text in pieces that end with a line or, in a longer line, overlap; each with the number of its first line."""
    block = file.read(BLOCK_OCTETS)
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if block.startswith(mark)), "utf-8")
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    line, kept = 1, ""
    while block:
        following = file.read(BLOCK_OCTETS)
        text = kept + decoder.decode(block, final=not following)
        block = following
        end = len(text) if not following else text.rfind("\n") + 1
        if end:
            yield line, text[:end]
            line += text.count("\n", 0, end)
            kept = text[end:]
        elif len(text) > 2 * OVERLAP:
            yield line, text
            kept = text[-OVERLAP:]
        else:
            kept = text
