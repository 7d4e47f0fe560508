"""HAR files (http://www.softwareishard.com/blog/har-12-spec/) of any size, entry by entry."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from mcp_wire.captures.har_entry import BrokenEntry, exchange_of_entry
from mcp_wire.captures.json_stream import DamagedJson, JsonStream
from mcp_wire.captures.stored import LeftOut, Place, StoredExchange, UnreadableCapture

MAX_ENTRY_OCTETS: Final = 64 * 1024 * 1024
"""A larger entry is left out: it is read whole, several times its size in memory."""
MAX_CREATOR_OCTETS: Final = 64 * 1024


class HarFile:
    """A HAR file, open and seekable. See Capture."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.creator = ""
        """The name of the producer in lower case, as far as it was read; "" where there is none."""

    def places(self) -> Iterator[Place | LeftOut]:
        stream = JsonStream(self._file)
        number, offset = 0, 0
        try:
            for offset in _entries(stream, self._note_creator):
                number += 1
                yield from self._place(f"entry {number}, at byte {offset}", offset, stream.take(MAX_ENTRY_OCTETS))
        except DamagedJson:
            if not number:
                raise UnreadableCapture("it is cut off or damaged before its first entry") from None
            yield LeftOut(f"entry {number} or the next, at byte {offset}", "cut off or damaged; nothing follows")

    def exchange(self, place: Place) -> StoredExchange:
        text = JsonStream(self._file, place.offset).take(MAX_ENTRY_OCTETS)
        assert text is not None
        exchange = exchange_of_entry(text, place.offset, self.creator)
        assert exchange is not None
        return exchange

    def _place(self, where: str, offset: int, text: bytes | None) -> Iterator[Place | LeftOut]:
        if text is None:
            yield LeftOut(where, f"larger than {MAX_ENTRY_OCTETS // 1024 // 1024} MiB")
            return
        try:
            exchange = exchange_of_entry(text, offset, self.creator)
        except BrokenEntry as problem:
            yield LeftOut(where, str(problem))
        else:
            if exchange is not None:
                yield Place(exchange.parts[0][0], offset)

    def _note_creator(self, text: bytes | None) -> None:
        try:
            creator = json.loads(text or b"null")
        except (ValueError, RecursionError):
            return
        name = creator.get("name") if isinstance(creator, dict) else None
        self.creator = name.lower() if isinstance(name, str) else ""


def _entries(stream: JsonStream, note_creator: Callable[[bytes | None], None]) -> Iterator[int]:
    """The offset of each entry, with the stream before it. Raises UnreadableCapture and DamagedJson."""
    stream.skip_byte_order_mark()
    found = is_transcript = False
    for member in stream.members():
        is_transcript |= member == "exchanges"
        if member != "log" or stream.next() != ord("{"):
            stream.skip()
            continue
        for name in stream.members():
            if name == "entries" and stream.next() == ord("["):
                found = True
                for _ in stream.items():
                    yield stream.offset
            elif name == "creator":
                note_creator(stream.take(MAX_CREATOR_OCTETS))
            else:
                stream.skip()
    if is_transcript and not found:
        raise UnreadableCapture(
            "it is a transcript already; `mcp-conformance redact` cleans it, and `validate` judges it"
        )
    if not found:
        raise UnreadableCapture("it is JSON, but no HAR file: it has no log.entries")
