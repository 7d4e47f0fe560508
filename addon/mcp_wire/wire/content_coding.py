"""Content codings, undone chunk by chunk (RFC 9110 8.4; RFC 1950, 1951, 1952, 7932, 8878, 9659).

Every chunk gives what it completes, at once: a server that flushes per event is decoded per event. Nothing in the bytes
makes a decoder raise. A decoder that cannot go on says why in `failed`, and from then on gives nothing.

What comes out does not depend on how the input was cut, with one exception: brotli and zstd decoders take the output of
the call in which they find a fault with them, so up to SLICE_BYTES of sound input before that fault may be lost.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Final, Protocol

import brotli  # type: ignore[import-untyped]

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

EXPANSION_ALLOWANCE_BYTES: Final = 16 * 1024 * 1024
EXPANSION_RATIO: Final = 500
"""A stream may grow to EXPANSION_ALLOWANCE_BYTES + EXPANSION_RATIO times its input; beyond that it is taken for a bomb.

The bound follows the input, so a stream of days is never cut for its length. Ordinary JSON shrinks to a tenth or a
twentieth; status events of 5 KiB that hardly differ, flushed one by one, were measured at 1:83 (gzip) and 1:330 (zstd).
A deflate bomb gives 1030 times its input, a brotli or zstd bomb far more, so all of them stop within two allowances.
What the bound does cut wrongly: more than some 40 MB of such events of 15 KiB and up, in br or zstd. The allowance is
for one message of blank image or padding; an event above that size is not kept anyway.
"""

SLICE_BYTES: Final = 4096
"""Input is decoded in slices that begin at multiples of this offset, and the bound is taken at the slice's end.

So the verdict "bomb" depends on the bytes only, not on their chunks, and is passed before a slice can grow far.
"""

PIECE_BYTES: Final = 64 * 1024
"""The most that one call of a decompressor gives (brotli: somewhat more), however much is waiting."""

MAX_CODINGS: Final = 4
"""More codings on top of each other are nothing that a server does; each costs its own window of memory."""

_ZSTD_WINDOW_LOG: Final = 23  # 8 MiB: the most that a sender of the `zstd` content coding may ask for (RFC 9659)


_BOMB: Final = (
    f"decoded size exceeds {EXPANSION_ALLOWANCE_BYTES // 1024 // 1024} MiB and {EXPANSION_RATIO} times the coded size"
)


def decoder_for(content_encoding: str | None) -> Decoder:
    """A decoder for one body with this Content-Encoding (repeated lines joined with ", "; None without the header).

    An unknown coding gives a decoder that has failed already. It is not named: header content stays out of reasons.
    """
    codings = []
    for member in (content_encoding or "").split(","):
        coding = member.strip(" \t").lower()
        coding = _ALIASES.get(coding, coding)
        if coding and coding != "identity":
            codings.append(coding)
    if not all(coding in _STAGES for coding in codings):
        return Decoder((), failed="unknown content coding")
    if len(codings) > MAX_CODINGS:
        return Decoder((), failed=f"more than {MAX_CODINGS} content codings")
    return Decoder(tuple(codings))


class Decoder:
    """Undoes the codings of one body.

    codings     the codings that it undoes, in the order in which they were applied; empty for identity
    failed      why nothing more comes (one line, free of body and header content), else None
    truncated   after `end`: the input stopped inside its coding, as it does when a connection is cut
    """

    __slots__ = ("_produced", "_received", "_stages", "codings", "failed", "truncated")

    def __init__(self, codings: tuple[str, ...], failed: str | None = None) -> None:
        self.codings = codings
        self.failed = failed
        self.truncated = False
        self._stages: list[_Stage] = [] if failed else [_STAGES[coding]() for coding in reversed(codings)]
        self._received = 0
        self._produced = 0

    def feed(self, data: bytes) -> bytes:
        """What this chunk decodes to, possibly nothing. At most the allowance plus the ratio times `data` at once."""
        if self.failed is None and not self._stages:
            return data
        return b"".join(self.pieces(data))

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """The same as `feed`, in pieces of bounded size. To be exhausted before the next chunk is fed."""
        if self.failed is None and not self._stages:
            if data:
                yield data
            return
        position = 0
        while position < len(data) and self.failed is None:
            end = position + SLICE_BYTES - self._received % SLICE_BYTES
            piece = data[position:end]
            slice_end = (self._received // SLICE_BYTES + 1) * SLICE_BYTES
            self._received += len(piece)
            yield from self._slice(piece, EXPANSION_ALLOWANCE_BYTES + EXPANSION_RATIO * slice_end)
            position = end

    def end(self) -> None:
        """The body is over. Sets `truncated`; there is never anything left to give."""
        self.truncated = (
            self.failed is None and self._received > 0 and not all(stage.at_boundary for stage in self._stages)
        )

    def _slice(self, data: bytes, bound: int) -> Iterator[bytes]:
        try:
            for output in self._through(0, data, bound):
                room = bound - self._produced
                self._produced += len(output)
                if len(output) > room:
                    if room:
                        yield output[:room]
                    raise _Fault(_BOMB)
                yield output
        except _Fault as fault:
            self.failed = str(fault)
            self._stages = []

    def _through(self, number: int, data: bytes, bound: int) -> Iterator[bytes]:
        if number == len(self._stages):
            yield data
            return
        for output in self._stages[number].pieces(data):
            if output:
                yield from self._through(number + 1, output, bound)


class _Fault(Exception):
    """The coded data cannot be decoded further. The text names no byte of it."""


class _Stage(Protocol):
    """One coding being undone. `pieces` may raise _Fault, after giving what was sound before the fault."""

    def pieces(self, data: bytes) -> Iterator[bytes]: ...

    @property
    def at_boundary(self) -> bool:
        """Nothing is missing if the input ends here."""
        ...


class _Inflater(Protocol):
    """zlib's decompression object (its class has no public name)."""

    @property
    def eof(self) -> bool: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...
    def copy(self) -> _Inflater: ...


class _Gzip:
    """Members follow one another (RFC 1952 2.2). Zero bytes behind one are padding, as the gzip program reads them."""

    def __init__(self) -> None:
        self._member: _Inflater | None = None
        self._members = 0

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._member is None:
                if self._members:
                    data = data.lstrip(b"\0")
                    if not data:
                        return
                self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)
                self._members += 1
            self._member, data = yield from _inflate(self._member, data, "gzip")

    @property
    def at_boundary(self) -> bool:
        return self._member is None


class _Deflate:
    """The zlib format (RFC 9110 8.4.1.2), or bare deflate data, which some senders take the coding to mean."""

    def __init__(self) -> None:
        self._head = b""
        self._stream: _Inflater | None = None
        self._finished = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._finished and data:
            raise _Fault("data behind the end of the deflate stream")
        if self._stream is None and data:
            data = self._head + data
            if len(data) == 1 and data[0] & 0x0F == zlib.DEFLATED:
                self._head = data
                return
            is_zlib = data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
            self._stream = zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
        if self._stream is not None:
            self._stream, data = yield from _inflate(self._stream, data, "deflate")
            if self._stream is None:
                self._finished = True
                yield from self.pieces(data)

    @property
    def at_boundary(self) -> bool:
        return self._finished


def _inflate(inflater: _Inflater, data: bytes, coding: str) -> Generator[bytes, None, tuple[_Inflater | None, bytes]]:
    """Give what `data` decodes to; return the object, or None and the rest of `data` behind the end of its stream."""
    while True:
        # A call that finds a fault takes the output before it along; the copy gives that output, byte for byte.
        before = inflater.copy()
        try:
            output = inflater.decompress(data, PIECE_BYTES)
        except zlib.error:
            yield from _up_to_the_fault(before, data)
            raise _Fault(f"malformed {coding} data") from None
        yield output
        data = inflater.unconsumed_tail
        if inflater.eof:
            return None, inflater.unused_data
        # A full piece may hide more output even where all input is taken.
        if not data and len(output) < PIECE_BYTES:
            return inflater, b""


def _up_to_the_fault(inflater: _Inflater, data: bytes) -> Iterator[bytes]:
    for position in range(len(data)):
        rest = data[position : position + 1]
        while True:
            try:
                output = inflater.decompress(rest, PIECE_BYTES)
            except zlib.error:
                return
            yield output
            rest = inflater.unconsumed_tail
            if not rest and len(output) < PIECE_BYTES:
                break


class _BrotliDecompressor(Protocol):
    def process(self, data: bytes, output_buffer_limit: int) -> bytes: ...
    def is_finished(self) -> bool: ...


class _Brotli:
    def __init__(self) -> None:
        self._decompressor: _BrotliDecompressor = brotli.Decompressor()

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while True:
            try:
                output = self._decompressor.process(data, output_buffer_limit=PIECE_BYTES)
            except brotli.error:
                raise _Fault("malformed br data, or data behind its end") from None
            # Neither a piece below the limit nor can_accept_more_data() shows that nothing waits: one ring buffer comes
            # at a time. Only an empty piece does.
            if not output:
                return
            yield output
            data = b""
            if self._decompressor.is_finished():
                return

    @property
    def at_boundary(self) -> bool:
        return self._decompressor.is_finished()


class _Zstandard:
    """Frames follow one another, skippable ones among them (RFC 8878 3.1)."""

    def __init__(self) -> None:
        self._frame: zstd.ZstdDecompressor | None = None

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._frame is None:
                self._frame = zstd.ZstdDecompressor(
                    options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
                )
            while True:
                try:
                    output = self._frame.decompress(data, PIECE_BYTES)
                except zstd.ZstdError:
                    raise _Fault("malformed zstd data, or a window above 8 MiB") from None
                yield output
                data = b""
                if self._frame.eof:
                    data = self._frame.unused_data
                    self._frame = None
                    break
                if self._frame.needs_input:
                    return

    @property
    def at_boundary(self) -> bool:
        return self._frame is None


_STAGES: Final[dict[str, Callable[[], _Stage]]] = {
    "gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstandard,
}
_ALIASES: Final = {"x-gzip": "gzip"}  # RFC 9110 8.4.1.3
