"""JSON from a file of any size, walked member by member: what is wanted is kept, everything else is passed over.

The shape is followed only as far as is needed to find the end of each value. Whether a value is sound JSON shows when
it is read, so that one that is not costs nothing but itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

BLOCK_OCTETS: Final = 256 * 1024
MAX_NAME_OCTETS: Final = 4 * 1024

_BLANK: Final = re.compile(rb"[ \t\r\n]*+")
_SCALAR: Final = re.compile(rb"[^,\]}\s]*+")
_STRING_PART: Final = re.compile(rb'[^"\\]*+(?:\\[\s\S][^"\\]*+)*+')
_INSIDE: Final = re.compile(rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"[^"\[\]{}]*+)*+')
_CLOSING: Final = {ord("{"): ord("}"), ord("["): ord("]")}
_QUOTE: Final = ord('"')


class DamagedJson(Exception):
    """The text breaks off, or is no JSON, at this offset; where the next value begins cannot be known."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"at byte {offset}")
        self.offset = offset


class JsonStream:
    """A position in a JSON text. `members` and `items` stop at each value; the caller takes it or skips it.

    Holds one block, and whatever the caller keeps. Every method raises DamagedJson.
    """

    def __init__(self, file: BinaryIO, offset: int = 0) -> None:
        file.seek(offset)
        self._file = file
        self._buffer = b""
        self._base = offset
        self._at = 0

    @property
    def offset(self) -> int:
        """Of the next octet that was not taken."""
        return self._base + self._at

    def skip_byte_order_mark(self) -> None:
        self._more()
        if self._buffer.startswith(b"\xef\xbb\xbf"):
            self._at = 3

    def next(self) -> int | None:
        """The octet that comes next, behind blanks; None at the end. It is not taken."""
        while True:
            found = _BLANK.match(self._buffer, self._at)
            assert found is not None
            self._at = found.end()
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return None

    def members(self) -> Iterator[str]:
        """The names of an object's members, each with the stream before its value."""
        self._expect("{")
        if self._ends("}"):
            return
        while True:
            yield self._name()
            if not self._goes_on("}"):
                return

    def items(self) -> Iterator[None]:
        """Once for each item of an array, with the stream before it."""
        self._expect("[")
        if self._ends("]"):
            return
        while True:
            if self.next() is None:
                raise DamagedJson(self.offset)
            yield None
            if not self._goes_on("]"):
                return

    def skip(self) -> None:
        self._pass(None, 0)

    def take(self, limit: int) -> bytes | None:
        """The text of the value; None where it has more octets than `limit`, and then it is skipped."""
        kept = bytearray()
        return bytes(kept) if self._pass(kept, limit) else None

    def _name(self) -> str:
        if self.next() != _QUOTE:
            raise DamagedJson(self.offset)
        at = self.offset
        text = self.take(MAX_NAME_OCTETS)
        self._expect(":")
        try:
            name = "" if text is None else json.loads(text)
        except ValueError:
            raise DamagedJson(at) from None
        return str(name)

    def _pass(self, kept: bytearray | None, limit: int) -> bool:
        """Take one value. Was all of it kept?"""
        first = self.next()
        if first is None or first in b",:]}":
            raise DamagedJson(self.offset)
        keeping = _Keeping(kept, limit)
        if first == _QUOTE:
            self._string(keeping)
        elif first in _CLOSING:
            self._nested(keeping)
        else:
            self._consume(_SCALAR, keeping)
        return keeping.whole

    def _nested(self, keeping: _Keeping) -> None:
        expected: list[int] = []
        while True:
            self._consume(_INSIDE, keeping)
            if self._at >= len(self._buffer):
                raise DamagedJson(self.offset)
            octet = self._buffer[self._at]
            if octet == _QUOTE:  # a string that goes on behind this block
                self._string(keeping)
                continue
            self._advance(self._at + 1, keeping)
            if octet in _CLOSING:
                expected.append(_CLOSING[octet])
            elif octet != expected.pop():
                raise DamagedJson(self.offset - 1)
            if not expected:
                return

    def _string(self, keeping: _Keeping) -> None:
        self._advance(self._at + 1, keeping)
        while True:
            found = _STRING_PART.match(self._buffer, self._at)
            assert found is not None
            self._advance(found.end(), keeping)
            if self._buffer[self._at : self._at + 1] == b'"':
                self._advance(self._at + 1, keeping)
                return
            # At the end of the block, or at a backslash before it.
            if not self._more():
                raise DamagedJson(self.offset)

    def _consume(self, pattern: re.Pattern[bytes], keeping: _Keeping) -> None:
        """Take as much as matches, over as many blocks as that may be."""
        while True:
            found = pattern.match(self._buffer, self._at)
            assert found is not None
            self._advance(found.end(), keeping)
            if self._at < len(self._buffer) or not self._more():
                return

    def _advance(self, end: int, keeping: _Keeping) -> None:
        keeping.add(self._buffer, self._at, end)
        self._at = end

    def _more(self) -> bool:
        """Let go of what was taken, and read another block."""
        block = self._file.read(BLOCK_OCTETS)
        self._base += self._at
        self._buffer = self._buffer[self._at :] + block
        self._at = 0
        return bool(block)

    def _expect(self, mark: str) -> None:
        if self.next() != ord(mark):
            raise DamagedJson(self.offset)
        self._at += 1

    def _ends(self, mark: str) -> bool:
        if self.next() != ord(mark):
            return False
        self._at += 1
        return True

    def _goes_on(self, closing: str) -> bool:
        if self._ends(","):
            return True
        self._expect(closing)
        return False


class _Keeping:
    """What is kept of a value, up to a limit."""

    __slots__ = ("_kept", "_limit", "whole")

    def __init__(self, kept: bytearray | None, limit: int) -> None:
        self._kept = kept
        self._limit = limit
        self.whole = kept is not None

    def add(self, buffer: bytes, start: int, end: int) -> None:
        if not self.whole:
            return
        assert self._kept is not None
        if len(self._kept) + end - start > self._limit:
            self.whole = False
            self._kept.clear()
        else:
            self._kept += memoryview(buffer)[start:end]
