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

_NOT_HEADED: Final = Decoder((), failed="no response head was seen")


class Exchanges:
    """The exchanges that run, each from its RequestPart to its EndPart."""

    def __init__(self) -> None:
        self._running: dict[str, _Exchange] = {}

    def take(self, entry: Entry) -> Iterator[tuple[Origin, Observation]]:
        """The observations that this part makes. Of an exchange that is not MCP, none."""
        name, at, part = entry
        if isinstance(part, AskPart):
            return
        if isinstance(part, RequestPart):
            self._running[name] = _Exchange(name, part.origin)
        exchange = self._running.get(name)
        if exchange is None:
            return
        try:
            for observation in exchange.take(at, part):
                yield exchange.origin, observation
        except BaseException:
            self._running.pop(name, None)
            raise
        if exchange.is_foreign or isinstance(part, EndPart):
            self._running.pop(name, None)


@dataclass(slots=True)
class _Exchange:
    name: str
    origin: Origin
    is_foreign: bool = False
    """It is another protocol's, on the same endpoint."""
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
                yield from self._lost(at, part.why)
            case EndPart():
                yield from self._end(at, part)

    def _request(self, at: Microseconds, part: RequestPart) -> Iterator[Observation]:
        body = body_of(part)
        if not part.exact_scope and is_foreign(part.headers, body):
            self.is_foreign = True
            return
        yield RequestSeen(self.name, milliseconds(at), part.method, part.target, part.headers, body, part.http_version)

    def _chunk(self, at: Microseconds, data: bytes) -> Iterator[Observation]:
        if self._failed or not self._headed:
            return
        decoded = self._decoder.feed(data)
        if decoded or self._decoder.failed is None:
            yield ResponseChunk(self.name, milliseconds(at), decoded)
        if self._decoder.failed is not None:
            yield from self._lost(at + 1, self._decoder.failed)

    def _lost(self, at: Microseconds, why: str) -> Iterator[Observation]:
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
