"""What happened on the wire, as the reports that show exchanges need it. Made from redacted observations and no others.

The exchanges are read and linked by the same reader and the same conversation as for judging, so that a report shows
the events, streams and calls that the rules saw. How much is kept is bounded (`Detail`); what is left out is counted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.exchange_reader import ExchangeReader
from mcp_wire.conversation.facts import Ending, Event, Exchange, Fact, Message, ResponseContent, ResponseHead
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.wire.body import Body
from mcp_wire.wire.observation import (
    ExchangeEnded,
    Milliseconds,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from mcp_wire.wire.sse_block import interpret
from mcp_wire.wire.strict_json import MISSING, JsonValue, dump_json

type HeaderLines = tuple[tuple[str, str], ...]
Mark = Literal["request", "notification", "response", "error", "batch", "data", "empty", "comment", "tail"]
"""What an event carried: a JSON-RPC message of that kind, several, other data, no data, comments only, or a cut end."""

MAX_LABEL: Final = 120
MAX_OPEN_EXCHANGES: Final = 4_096
MAX_CHUNKS_SHOWN: Final = 50_000


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a conversation is kept. Events and texts at the place of a finding are kept beyond it.

    `text`: characters of one body or event. `texts`: of all together. `events`, `exchanges`: how many.
    """

    text: int = 4_000
    texts: int = 8_000_000
    events: int = 20_000
    exchanges: int = 10_000


SHOWN: Final = Detail()
WHOLE: Final = Detail(text=1_000_000, texts=64_000_000, events=200_000, exchanges=50_000)


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a body or an event, perhaps only its beginning. `absent`: why there is none."""

    text: str
    left_out: int = 0
    absent: str | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was seen: milliseconds if known, and its place in the order of everything that was seen."""

    t_ms: Milliseconds | None
    position: int


@dataclass(frozen=True, slots=True)
class SeenChunk:
    at: Moment
    octets: int


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """One block of an event stream. `path` is that of findings about it; `text` its lines as they stood."""

    path: str
    at: Moment
    mark: Mark
    label: str
    event_type: str
    id: str | None
    retry_ms: int | None
    first_chunk: int
    last_chunk: int
    text: Text

    @property
    def data(self) -> str | None:
        """The values of its data lines, as far as they were kept."""
        return interpret(self.text.text.encode("utf-8", "surrogatepass")).data


@dataclass(slots=True)
class SeenExchange:
    """One exchange, as far as it was seen. `stream` is the index of the exchange that began its logical stream."""

    index: int
    id: str
    method: str
    target: str
    http_version: str | None
    started: Moment
    request_headers: HeaderLines
    request_body: Text
    label: str
    session: str | None = None
    concurrent_group: str | None = None
    server_side_of: str | None = None
    status: int | None = None
    head: Moment | None = None
    response_headers: HeaderLines = ()
    response_body: Text | None = None
    answer: str = ""
    is_event_stream: bool = False
    boundaries_observed: bool = True
    chunks: list[SeenChunk] = field(default_factory=list)
    events: list[SeenEvent] = field(default_factory=list)
    stream: int | None = None
    resumes: str | None = None
    """The event id in `Last-Event-ID`."""
    ended: str | None = None
    end: Moment | None = None
    reset_code: str | None = None
    chunk_count: int = 0
    event_count: int = 0

    @property
    def path(self) -> str:
        return f"/exchanges/{self.index}"

    @property
    def last_seen(self) -> Moment:
        """The latest moment at which something of it was seen."""
        moments = [self.started, *([self.head] if self.head else []), *([self.end] if self.end else [])]
        moments += [self.chunks[-1].at] if self.chunks else []
        return max(moments, key=lambda moment: moment.position)

    @property
    def events_left_out(self) -> int:
        return self.event_count - len(self.events)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The exchanges of one conversation, in the order of their requests."""

    exchanges: tuple[SeenExchange, ...] = ()
    exchanges_left_out: int = 0

    @property
    def is_timed(self) -> bool:
        """The beginning of every exchange is known; otherwise only the order is."""
        return all(exchange.started.t_ms is not None for exchange in self.exchanges)

    def exchange_at(self, path: str) -> SeenExchange | None:
        """The exchange that a finding's path points into."""
        number = exchange_number(path)
        if number is None:
            return None
        place = bisect_left(self.exchanges, number, key=lambda exchange: exchange.index)
        found = self.exchanges[place] if place < len(self.exchanges) else None
        return found if found is not None and found.index == number else None


def exchange_number(path: str) -> int | None:
    """The place in the transcript of the exchange that a path points into; None where it points into none."""
    parts = path.split("/", 3)
    if len(parts) < 3 or parts[1] != "exchanges" or not (parts[2].isascii() and parts[2].isdigit()):
        return None
    return int(parts[2])


def timeline_of(
    observations: Iterable[Observation],
    profile: str | None,
    *,
    places: Iterable[str] = (),
    complete_from_start: bool = False,
    detail: Detail = SHOWN,
) -> Timeline:
    """The timeline of redacted observations. `places`: paths of findings, whose evidence is kept in any case."""
    builder = _Builder(profile, frozenset(places), complete_from_start, detail)
    for observation in observations:
        builder.take(observation)
    return builder.timeline()


class _Builder:
    def __init__(self, profile: str | None, places: frozenset[str], complete_from_start: bool, detail: Detail) -> None:
        self._conversation = Conversation(
            PROFILES.get(profile or ""), payloads_whole=True, complete_from_start=complete_from_start
        )
        self._places = places
        self._numbers = {number for place in places if (number := exchange_number(place)) is not None}
        self._detail = detail
        self._texts_left = detail.texts
        self._events_left = detail.events
        self._seen: dict[str, SeenExchange] = {}
        self._readers: dict[str, ExchangeReader] = {}
        self._position = 0
        self._count = 0
        self._left_out = 0

    def timeline(self) -> Timeline:
        exchanges = sorted(self._seen.values(), key=lambda exchange: exchange.index)
        return Timeline(tuple(exchanges), self._left_out)

    def take(self, observation: Observation) -> None:
        """Read one observation. Never raises: what cannot be read is left out, as in judging."""
        try:
            self._take(observation)
        except Exception:
            self._readers.pop(observation.exchange, None)

    def _take(self, observation: Observation) -> None:
        at = Moment(observation.t_ms, self._position)
        self._position += 1
        if isinstance(observation, RequestSeen):
            self._begin(observation, at)
            return
        reader = self._readers.get(observation.exchange)
        if reader is None:
            return
        seen = self._seen.get(observation.exchange)
        match observation:
            case ResponseSeen():
                facts = reader.response(observation)
            case ResponseChunk():
                facts = reader.chunk(observation)
                if seen is not None:
                    self._chunk(seen, observation, at)
            case ResponseBody():
                facts = reader.body(observation)
            case ExchangeEnded():
                facts = reader.end(observation)
        taken = []
        for fact in facts:
            self._conversation.take(fact)
            taken.append(fact)
        if seen is not None:
            # Only now is every message linked to the call that it answers.
            for fact in taken:
                self._show(seen, fact, at)
        if isinstance(observation, ExchangeEnded):
            reader.exchange.release()
            del self._readers[observation.exchange]

    def _begin(self, observation: RequestSeen, at: Moment) -> None:
        index = self._count if observation.index is None else observation.index
        self._count = max(self._count, index) + 1
        wanted = len(self._seen) < self._detail.exchanges or index in self._numbers
        if observation.exchange in self._readers or len(self._readers) >= MAX_OPEN_EXCHANGES:
            wanted = False
        if not wanted:
            self._left_out += 1
        if observation.exchange in self._readers or len(self._readers) >= MAX_OPEN_EXCHANGES:
            return
        reader = self._readers[observation.exchange] = ExchangeReader(index, observation)
        for fact in reader.request(observation):
            self._conversation.take(fact)
        if wanted:
            self._seen[observation.exchange] = self._request(observation, reader.exchange, at)

    def _request(self, seen: RequestSeen, exchange: Exchange, at: Moment) -> SeenExchange:
        request = exchange.request
        return SeenExchange(
            index=exchange.index,
            id=seen.exchange,
            method=seen.method,
            target=seen.path,
            http_version=seen.http_version,
            started=at,
            request_headers=seen.headers.raw,
            request_body=self._body(seen.body, request.body_path),
            label=_messages_label(request.messages),
            session=request.session_id,
            concurrent_group=seen.concurrent_group,
            server_side_of=seen.server_side_of,
            resumes=request.last_event_id,
        )

    def _show(self, seen: SeenExchange, fact: Fact, at: Moment) -> None:
        match fact:
            case ResponseHead():
                seen.status, seen.head = fact.status, at
                seen.response_headers = fact.headers.raw
                seen.is_event_stream = fact.exchange.is_event_stream
                seen.boundaries_observed = fact.boundaries_observed
                stream = fact.exchange.stream
                if seen.is_event_stream and stream is not None:
                    seen.stream = stream.origin.index
            case ResponseContent():
                seen.response_body = self._body(fact.body, fact.path)
                seen.answer = _messages_label(fact.messages)
            case Event():
                self._event(seen, fact, at)
            case Ending():
                seen.end = at
                seen.ended = fact.ended.value if fact.ended is not None else None
                if seen.ended is None and fact.disconnected:
                    seen.ended = "disconnected"
                seen.reset_code = fact.reset_code
            case _:
                pass

    def _chunk(self, seen: SeenExchange, chunk: ResponseChunk, at: Moment) -> None:
        seen.chunk_count += 1
        if len(seen.chunks) < MAX_CHUNKS_SHOWN:
            seen.chunks.append(SeenChunk(at, len(chunk.data)))

    def _event(self, seen: SeenExchange, event: Event, at: Moment) -> None:
        seen.event_count += 1
        if self._events_left <= 0 and event.path not in self._places:
            return
        self._events_left -= 1
        block = event.block
        mark, label = _event_words(event)
        text = block.raw.decode(errors="replace") if not block.too_large else ""
        seen.events.append(
            SeenEvent(
                path=event.path,
                at=at,
                mark=mark,
                label=label[:MAX_LABEL],
                event_type=block.event_type,
                id=block.id,
                retry_ms=block.retry_ms,
                first_chunk=block.first_chunk,
                last_chunk=block.last_chunk,
                text=self._text(text.rstrip("\r\n"), event.path),
            )
        )

    def _body(self, body: Body, path: str) -> Text:
        if body.absence is not None:
            return Text("", absent=body.absence)
        if body.text is not None:
            return self._text(body.text, path)
        return self._text("" if body.value is MISSING else dump_json(body.value), path)

    def _text(self, text: str, path: str) -> Text:
        kept = text[: self._detail.text]
        if len(kept) > self._texts_left and not any(place.startswith(path) for place in self._places):
            return Text("", left_out=len(text))
        self._texts_left -= len(kept)
        return Text(kept, left_out=len(text) - len(kept))


def _messages_label(messages: Sequence[Message]) -> str:
    if not messages:
        return ""
    if len(messages) == 1:
        return _message_label(messages[0])[:MAX_LABEL]
    return f"batch of {len(messages)}: {', '.join(_message_label(message) for message in messages)}"[:MAX_LABEL]


def _message_label(message: Message) -> str:
    envelope = message.envelope
    identifier = "" if envelope.id is MISSING else f" · id {_identifier(envelope.id)}"
    if message.is_response:
        what = f"error {message.error_code}" if message.is_error else "result"
        call = message.call
        of = f" of {call.method}" if call is not None and call.method else ""
        return f"{what}{of}{identifier}"
    name = message.params.get("name")
    named = f" {name}" if isinstance(name, str) and name else ""
    return f"{message.method or message.kind}{named}{identifier}"


def _identifier(value: JsonValue | object) -> str:
    return dump_json(value)  # type: ignore[arg-type]  # ids are JSON values


def _event_words(event: Event) -> tuple[Mark, str]:
    block, messages = event.block, event.messages
    if not block.complete:
        return "tail", "cut before its end"
    if len(messages) > 1:
        return "batch", _messages_label(messages)
    if messages:
        [message] = messages
        label = _message_label(message)
        if message.is_response:
            return ("error" if message.is_error else "response"), label
        return ("request" if message.is_request else "notification"), label
    if block.too_large:
        return "data", "too large to be read"
    if block.data:
        return "data", "data that is no JSON-RPC message"
    if block.dispatched or block.id is not None or block.retry_ms is not None:
        return "empty", "no data, only an id" if block.id is not None else "no data"
    return "comment", next(iter(block.comments), "").strip() or "comment"


def logical_streams(timeline: Timeline) -> Iterator[tuple[SeenExchange, ...]]:
    """The exchanges of each logical stream, in order: the one that began it, then those that resumed it."""
    streams: dict[int, list[SeenExchange]] = {}
    for exchange in timeline.exchanges:
        if exchange.stream is not None:
            streams.setdefault(exchange.stream, []).append(exchange)
    yield from map(tuple, streams.values())
