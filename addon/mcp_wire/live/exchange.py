"""One exchange on its way from what the hooks saw to observations. Runs after the bytes have gone on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from mcp_wire.live.clock import Microseconds, milliseconds
from mcp_wire.live.directory import Origin
from mcp_wire.live.endings import Ending
from mcp_wire.live.recognition import Recogniser, is_foreign
from mcp_wire.wire.body import Body
from mcp_wire.wire.content_coding import Decoder, decoder_for
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import (
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from mcp_wire.wire.sse import EventStreamReader

MAX_BODY_OCTETS: Final = 16 * 1024 * 1024
"""A larger body is passed on like any other and is "not captured"."""
MAX_PROBATION_OCTETS: Final = 64 * 1024
MAX_PROBATION_PARTS: Final = 256
"""How much of a stream that may be the 2024-11-05 transport is held while its first event is awaited."""


@dataclass(frozen=True, slots=True)
class RequestPart:
    """A request. `raw` None: its body was not captured, for the reason given. `body`: `raw`, if it is read already."""

    method: str
    target: str
    http_version: str
    headers: Headers
    raw: bytes | None
    why_not: str = ""
    body: Body | None = None


@dataclass(frozen=True, slots=True)
class HeadPart:
    """A response head. `events`: an event stream follows. `http_version`: the server's, where it is another one."""

    status: int
    headers: Headers
    events: bool
    boundaries_observed: bool
    http_version: str | None = None


@dataclass(frozen=True, slots=True)
class LostPart:
    """From here on the content of the stream was not captured."""

    why: str


@dataclass(frozen=True, slots=True)
class EndPart:
    """The end. `body`: the whole body, where it is no event stream; None: not captured, for the reason given."""

    ending: Ending
    received_octets: int | None
    body: bytes | None
    why_not: str


Part = RequestPart | HeadPart | LostPart | EndPart | bytes
"""bytes: one chunk of an event stream, still content-coded."""


@dataclass(slots=True)
class Exchange:
    """Turns the parts of one exchange, in order, into observations.

    `on_probation`: nothing is said until the first event has shown that this is the transport of 2024-11-05.
    `exact_scope`: the operator chose it, so that its body is not asked whether it is MCP.
    """

    origin: Origin
    recogniser: Recogniser
    new_id: Callable[[], str]
    on_probation: bool = False
    exact_scope: bool = False
    id: str = ""
    silent: bool = False
    """It turned out not to be MCP."""
    _events: bool = False
    _headed: bool = False
    _decoder: Decoder | None = None
    _failed: bool = False
    _held: list[tuple[Microseconds, Part]] = field(default_factory=list)
    _held_octets: int = 0
    _first_event: EventStreamReader | None = None

    def take(self, at: Microseconds, part: Part) -> Iterator[Observation]:
        """The observations that this part makes."""
        if self.silent:
            return
        if self.on_probation:
            yield from self._hold(at, part)
        else:
            yield from self._observe(at, part)

    def _observe(self, at: Microseconds, part: Part) -> Iterator[Observation]:
        match part:
            case bytes():
                yield from self._chunk(at, part)
            case RequestPart():
                yield from self._request(at, part)
            case HeadPart():
                self._headed, self._events = True, part.events
                self._decoder = decoder_for(part.headers.joined("content-encoding"))
                yield ResponseSeen(
                    self.id, milliseconds(at), part.status, part.headers, part.boundaries_observed, part.http_version
                )
            case LostPart():
                yield from self._lost(at, part.why)
            case EndPart():
                yield from self._end(at, part)

    def _request(self, at: Microseconds, part: RequestPart) -> Iterator[Observation]:
        body = part.body if part.body is not None else read_body(part.headers, part.raw, part.why_not)
        if not self.exact_scope and is_foreign(part.headers, body):
            self.silent = True
            return
        self.id = self.id or self.new_id()
        yield RequestSeen(self.id, milliseconds(at), part.method, part.target, part.headers, body, part.http_version)

    def _chunk(self, at: Microseconds, data: bytes) -> Iterator[Observation]:
        if self._failed or self._decoder is None:
            return
        decoded = self._decoder.feed(data)
        if decoded or self._decoder.failed is None:
            yield ResponseChunk(self.id, milliseconds(at), decoded)
        if self._decoder.failed is not None:
            yield from self._lost(at + 1, self._decoder.failed)

    def _lost(self, at: Microseconds, why: str) -> Iterator[Observation]:
        if not self._failed:
            self._failed = True
            yield ResponseBody(self.id, milliseconds(at), Body.not_captured(why))

    def _end(self, at: Microseconds, part: EndPart) -> Iterator[Observation]:
        if self._headed and not self._events:
            assert self._decoder is not None
            yield ResponseBody(self.id, milliseconds(at), _decoded(self._decoder, part.body, part.why_not))
        ending = part.ending
        yield ExchangeEnded(
            self.id,
            milliseconds(at + 1),
            ending.ended,
            received_octets=part.received_octets if self._headed else None,
            reset_code=ending.reset_code,
        )

    def _hold(self, at: Microseconds, part: Part) -> Iterator[Observation]:
        self._held.append((at, part))
        if isinstance(part, HeadPart):
            self._decoder = decoder_for(part.headers.joined("content-encoding"))
            self._first_event = EventStreamReader()
        elif isinstance(part, bytes) and self._decoder is not None and self._first_event is not None:
            self._held_octets += len(part)
            for block in self._first_event.feed(self._decoder.feed(part), chunk=0):
                if block.dispatched:
                    if block.event_type == "endpoint" and self.recogniser.legacy_stream(
                        self.origin.endpoint, block.data or ""
                    ):
                        yield from self._release()
                    else:
                        self._forget()
                    return
            too_much = self._held_octets > MAX_PROBATION_OCTETS or len(self._held) > MAX_PROBATION_PARTS
            if too_much or self._decoder.failed is not None:
                self._forget()
        elif isinstance(part, LostPart | EndPart):
            self._forget()

    def _release(self) -> Iterator[Observation]:
        held, self._held = self._held, []
        self.on_probation, self._first_event = False, None
        for at, part in held:
            yield from self._observe(at, part)

    def _forget(self) -> None:
        self.silent = True
        self._held, self._first_event, self._decoder = [], None, None


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


TOO_LARGE: Final = f"larger than {MAX_BODY_OCTETS // 1024 // 1024} MiB"
