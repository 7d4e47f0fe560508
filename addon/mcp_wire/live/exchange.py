"""From the parts of exchanges to observations. Runs where the judge runs, after the bytes have gone on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcp_wire.live.clock import Microseconds, milliseconds
from mcp_wire.live.directory import Origin
from mcp_wire.live.parts import (
    MAX_BODY_OCTETS,
    TOO_LARGE,
    AskPart,
    EndPart,
    Entry,
    HeadPart,
    LostPart,
    OverPart,
    Part,
    RequestPart,
)
from mcp_wire.live.recognition import is_foreign
from mcp_wire.wire.body import Body
from mcp_wire.wire.content_coding import Decoder, decoder_for
from mcp_wire.wire.headers import NO_HEADERS, Headers
from mcp_wire.wire.observation import (
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from mcp_wire.wire.sse import MAX_EVENT_BYTES

MAX_UNFINISHED_OCTETS: Final = 256 * 1024 * 1024
"""Of events that are not complete yet, over all streams; a stream whose event grows beyond it is read no further. One
alone is bounded by what an event may be; thousands at a time are not."""
TOO_MUCH_UNFINISHED: Final = "too many events were unfinished at the same time"

_NOT_HEADED: Final = Decoder((), failed="no response head was seen")
_BLANK_LINES: Final = (b"\n\n", b"\n\r", b"\r\r")


class Exchanges:
    """The exchanges that run, each from its RequestPart to its EndPart."""

    def __init__(self) -> None:
        self._running: dict[str, _Exchange] = {}
        self._unfinished = 0

    def take(self, entry: Entry) -> Iterator[tuple[Origin, Observation]]:
        """The observations that this part makes. Of an exchange that is not MCP, none."""
        name, at, part = entry
        if isinstance(part, AskPart | OverPart):
            return
        if isinstance(part, RequestPart):
            self._running[name] = _Exchange(name, part.origin)
        exchange = self._running.get(name)
        if exchange is None:
            return
        before, over = exchange.unfinished, True
        try:
            for observation in exchange.take(at, part):
                yield exchange.origin, observation
            over = exchange.is_foreign or isinstance(part, EndPart)
        finally:
            if over:
                del self._running[name]
            self._unfinished += (0 if over else exchange.unfinished) - before
        if not over and self._unfinished > MAX_UNFINISHED_OCTETS and exchange.unfinished > before:
            self._unfinished -= exchange.unfinished
            for observation in exchange.give_up(at + 1, TOO_MUCH_UNFINISHED):
                yield exchange.origin, observation


@dataclass(slots=True)
class _Exchange:
    name: str
    origin: Origin
    is_foreign: bool = False
    """It is another protocol's, on the same endpoint."""
    unfinished: int = 0
    """Octets since the last blank line of its event stream, as far as they are kept."""
    _latest: bytes = b""
    _events: bool = False
    _headed: bool = False
    _decoder: Decoder = _NOT_HEADED
    _failed: bool = False

    def take(self, at: Microseconds, part: Part) -> Iterator[Observation]:
        match part:
            case bytes():
                yield from self._chunk(at, part)
            case RequestPart():
                yield from self._request(at, part)
            case HeadPart():
                self._headed, self._events = True, part.events
                self._decoder = decoder_for(part.content_encoding)
                yield ResponseSeen(
                    self.name, milliseconds(at), part.status, part.headers, part.boundaries_observed, part.http_version
                )
            case LostPart():
                yield from self.give_up(at, part.why)
            case EndPart():
                yield from self._end(at, part)

    def _request(self, at: Microseconds, part: RequestPart) -> Iterator[Observation]:
        body = body_of(part)
        if not part.exact_scope and is_foreign(part.headers, body):
            self.is_foreign = True
            return
        yield RequestSeen(
            self.name,
            milliseconds(at),
            part.method,
            part.target,
            part.headers,
            body,
            part.http_version,
            scheme=part.scheme,
        )

    def _chunk(self, at: Microseconds, data: bytes) -> Iterator[Observation]:
        if self._failed or not self._headed:
            return
        decoded = self._decoder.feed(data)
        if decoded or self._decoder.failed is None:
            self._note_unfinished(decoded)
            yield ResponseChunk(self.name, milliseconds(at), decoded)
        if self._decoder.failed is not None:
            yield from self.give_up(at + 1, self._decoder.failed)

    def _note_unfinished(self, data: bytes) -> None:
        text = self._latest + data
        end = max(map(text.rfind, _BLANK_LINES))
        unfinished = len(text) - end - 2 if end >= 0 else self.unfinished + len(data)
        self.unfinished = min(unfinished, MAX_EVENT_BYTES)
        self._latest = text[-1:]

    def give_up(self, at: Microseconds, why: str) -> Iterator[Observation]:
        """From here on the content of the response is not captured."""
        self.unfinished = 0
        if not self._failed:
            self._failed = True
            yield ResponseBody(self.name, milliseconds(at), Body.not_captured(why))

    def _end(self, at: Microseconds, part: EndPart) -> Iterator[Observation]:
        if self._headed and not self._events:
            yield ResponseBody(self.name, milliseconds(at), _decoded(self._decoder, part.body, part.why_not))
        ending = part.ending
        yield ExchangeEnded(
            self.name,
            milliseconds(at + 1),
            ending.ended,
            received_octets=part.received_octets if self._headed else None,
            reset_code=ending.reset_code,
        )


def body_of(part: RequestPart) -> Body:
    """The body of a request. Never raises for its content."""
    return read_body(NO_HEADERS if part.decoded else part.headers, part.raw, part.why_not)


def read_body(headers: Headers, raw: bytes | None, why_not: str) -> Body:
    """A body from its bytes as they were on the wire, still content-coded. Never raises for their content."""
    return _decoded(decoder_for(headers.joined("content-encoding")), raw, why_not)


def _decoded(decoder: Decoder, raw: bytes | None, why_not: str) -> Body:
    if raw is None:
        return Body.not_captured(why_not)
    if not raw:
        return Body.read(raw)
    pieces = bytearray()
    for piece in decoder.pieces(raw):
        pieces += piece
        if len(pieces) > MAX_BODY_OCTETS:
            return Body.not_captured(TOO_LARGE)
    decoder.end()
    if decoder.failed is not None:
        return Body.not_captured(decoder.failed)
    if decoder.truncated:
        return Body.not_captured("the content coding is incomplete")
    return Body.read(bytes(pieces))
