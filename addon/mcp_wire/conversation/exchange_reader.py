"""From observations to facts: one reader an exchange, incremental, with no memory of other exchanges."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_wire.conversation.facts import (
    EVENT_STREAM,
    MAX_ARRIVALS_REMEMBERED,
    Arrival,
    Ending,
    Event,
    Exchange,
    Fact,
    Message,
    Request,
    ResponseContent,
    ResponseHead,
    Sender,
)
from mcp_wire.wire.body import EVENT_TOO_LARGE
from mcp_wire.wire.jsonrpc import classify
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    Milliseconds,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from mcp_wire.wire.sse import Block, EventStreamReader
from mcp_wire.wire.strict_json import MISSING, JsonReading, JsonValue, read_json


class ExchangeReader:
    """Reads one exchange. Each method takes one observation and yields the facts that it completes, in wire order."""

    __slots__ = ("_events", "_http_version", "exchange")

    def __init__(self, index: int, seen: RequestSeen) -> None:
        self.exchange = Exchange(index, seen.exchange, seen.concurrent_group, seen.idempotent, seen.server_side_of)
        self._http_version = seen.http_version
        self._events: EventStreamReader | None = None

    def request(self, seen: RequestSeen) -> Iterator[Fact]:
        exchange = self.exchange
        exchange.request = request = Request(
            exchange, seen.t_ms, seen.method, seen.path, seen.headers, seen.body, seen.http_version
        )
        request.scheme = seen.scheme
        request.messages = messages_of(seen.body.value, exchange, seen.t_ms, "client", request.body_path)
        yield request
        yield from request.messages

    def response(self, seen: ResponseSeen) -> Iterator[Fact]:
        version = seen.http_version or self._http_version
        head = ResponseHead(self.exchange, seen.t_ms, seen.status, seen.headers, seen.boundaries_observed, version)
        self.exchange.head = head
        if head.media_type == EVENT_STREAM:
            self._events = EventStreamReader()
        yield head

    def chunk(self, seen: ResponseChunk) -> Iterator[Fact]:
        if self._events is None:
            return
        number = self.exchange.chunks
        if not number:
            self.exchange.first_chunk_ms = seen.t_ms
        self._note_silence(seen.t_ms)
        self.exchange.chunks += 1
        for block in self._events.feed(seen.data, chunk=number):
            if block.too_large:
                yield self._given_up(seen.t_ms)
                return
            yield from self._event(block, seen.t_ms)

    def _note_silence(self, t_ms: Milliseconds | None) -> None:
        exchange = self.exchange
        since = exchange.latest_chunk_ms
        if since is None and exchange.head is not None:
            since = exchange.head.t_ms
        if since is not None and t_ms is not None:
            exchange.longest_silence_ms = max(exchange.longest_silence_ms, t_ms - since)
        exchange.latest_chunk_ms = t_ms

    def body(self, seen: ResponseBody) -> Iterator[Fact]:
        content = ResponseContent(self.exchange, seen.t_ms, seen.body)
        self.exchange.content = content
        if not seen.body.is_captured:
            self._events = None  # what a stream brought of its next event may be all that was missing of it
        content.messages = messages_of(seen.body.value, self.exchange, seen.t_ms, "server", content.path)
        yield content
        yield from content.messages

    def end(self, seen: ExchangeEnded) -> Iterator[Fact]:
        ending = Ending(self.exchange, seen.t_ms, seen.ended, seen.disconnected, seen.received_octets, seen.reset_code)
        self.exchange.ending = ending
        # A stream that still runs has no discarded tail: its last block may yet be completed.
        if self._events is not None and seen.ended is not Ended.OPEN:
            tail = self._events.end()
            if tail is not None and tail.too_large:
                yield self._given_up(seen.t_ms)
            elif tail is not None:
                yield Event(self.exchange, seen.t_ms, tail, None)
        self._events = None
        yield ending

    def _given_up(self, t_ms: Milliseconds | None) -> ResponseContent:
        """An event beyond the bounds may have been anything, so from it on the stream counts as not captured."""
        self._events = None
        self.exchange.content = ResponseContent(self.exchange, t_ms, EVENT_TOO_LARGE)
        return self.exchange.content

    def _event(self, block: Block, t_ms: Milliseconds | None) -> Iterator[Fact]:
        reading: JsonReading | None = None
        if block.dispatched and block.data:
            reading = read_json(block.data)
        event = Event(self.exchange, t_ms, block, reading)
        if reading is not None:
            event.messages = messages_of(reading.value, self.exchange, t_ms, "server", event.path, event)
        self.exchange.events += 1
        self.exchange.latest_arrival = arrival = Arrival(t_ms, block.first_chunk, block.last_chunk)
        if len(self.exchange.arrivals) < MAX_ARRIVALS_REMEMBERED:
            self.exchange.arrivals.append(arrival)
        self.exchange.dispatched += block.dispatched
        yield event
        yield from event.messages


def messages_of(
    value: JsonValue | object,
    exchange: Exchange,
    t_ms: Milliseconds | None,
    sender: Sender,
    path: str,
    event: Event | None = None,
) -> tuple[Message, ...]:
    """The JSON-RPC messages in a parsed body or event; an array counts as a batch. Nothing for what is no message."""
    if value is MISSING:
        return ()
    members = value if isinstance(value, list) else [value]
    in_batch = isinstance(value, list)
    messages = []
    for member in members:
        envelope = classify(member)  # type: ignore[arg-type]
        if envelope.kind in ("request", "notification", "response", "error_response"):
            messages.append(Message(exchange, t_ms, sender, envelope, path, event, in_batch))
    return tuple(messages)
