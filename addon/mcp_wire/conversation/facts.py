"""What rules read: facts, each of which knows its evidence (exchange, place, time) and what it is linked to.

A fact does not change once rules have seen it (but for `Exchange.release`); the objects it is linked to (`Exchange`,
`Session`, `LogicalStream`, `Call`) go on collecting what follows. Paths are JSON pointers into the transcript of the
conversation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from mcp_wire.conversation.bounded import BoundedTable, Memory
from mcp_wire.conversation.digest import digest
from mcp_wire.protocol.gateways import is_gateway_answer
from mcp_wire.wire.body import Body
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.jsonrpc import Envelope
from mcp_wire.wire.media_types import accept_lists, essence
from mcp_wire.wire.observation import Ended, Milliseconds, Scheme
from mcp_wire.wire.sse import Block
from mcp_wire.wire.strict_json import MISSING, JsonReading, JsonValue, canonical

Sender = Literal["client", "server"]

EVENT_STREAM: Final = "text/event-stream"
JSON_MEDIA_TYPE: Final = "application/json"

MAX_CALLS_REMEMBERED: Final = 4_096
"""Calls kept with their messages, per requestor and session; answered ones are forgotten first."""
MAX_CALL_BYTES_REMEMBERED: Final = 16 * 1024 * 1024
"""Bytes of the messages in one table of calls, roughly."""

LATE: Final = "The id of one that was let go counts as new, and what comes late for it is not linked to it."
CLIENT_CALLS: Final = Memory("requests of the client", follows=LATE)
SERVER_CALLS: Final = Memory("requests of the server", follows=LATE)

MAX_EARLY_MESSAGES_REMEMBERED: Final = 16
MAX_ARRIVALS_REMEMBERED: Final = 64

MAX_BODY_BYTES_KEPT: Final = 64 * 1024
"""A body above this size is let go when its exchange has ended and has been judged."""
RELEASED: Final = Body.not_captured("let go after judging, to keep memory bounded")


class Arrival(NamedTuple):
    """When a block of an event stream was complete, and the chunks that brought its first and its last byte."""

    t_ms: Milliseconds | None
    first_chunk: int
    last_chunk: int


@dataclass(slots=True, eq=False)
class Exchange:
    """One HTTP request and its response, and everything that the conversation has linked to it so far."""

    index: int
    id: str
    concurrent_group: str | None
    idempotent: bool
    server_side_of: str | None = None
    """It was seen on the server's side of an intermediary, and carried on the exchange of this id: it is compared with
    that one, and not judged by itself."""
    request: Request = field(init=False)
    session: Session = field(init=False)
    head: ResponseHead | None = None
    content: ResponseContent | None = None
    events: int = 0
    """Complete blocks seen on the event stream so far."""
    chunks: int = 0
    dispatched: int = 0
    """Events that a client got from the event stream so far."""
    messages: int = 0
    """JSON-RPC messages that the response has carried so far."""
    stream: LogicalStream | None = None
    ending: Ending | None = None
    calls: list[Call] = field(default_factory=list)
    """The JSON-RPC requests that this exchange's POST carried."""
    arrivals: list[Arrival] = field(default_factory=list)
    """When the first blocks of the event stream were complete, in order."""
    latest_arrival: Arrival | None = None
    first_chunk_ms: Milliseconds | None = None
    """When the first chunk of the event stream came, whatever was in it."""
    latest_chunk_ms: Milliseconds | None = None
    latest_message_ms: Milliseconds | None = None
    """When the latest JSON-RPC message of the response came."""
    longest_silence_ms: Milliseconds = 0.0
    """Before the first chunk of an event stream, or between two chunks, as far as their times are known."""
    upstream: list[Exchange] = field(default_factory=list)
    """What an intermediary made of it, where its other side was seen as well: each request that it sent on."""
    is_primed: bool = False
    """Before anything else the event stream gave an id on an event without data, so that it can be resumed."""
    has_unread_events: bool = False
    """Some event was larger or deeper than is read, so that messages of its stream may have been missed."""
    has_unreadable_events: bool = False
    """The event stream brought content, whole or cut, that is no message."""
    unproven: list[Event | Message] = field(default_factory=list)
    """What the server sent here before it had shown that it speaks the revision in force (2026-07-28), up to a few."""
    has_lost_unproven: bool = False
    """It sent more than a few."""
    reissues: Reissues | None = None
    """Where its request was interrupted and sent again, or is such a repetition: all repetitions together."""

    @property
    def path(self) -> str:
        return f"/exchanges/{self.index}"

    @property
    def is_event_stream(self) -> bool:
        return self.head is not None and self.head.media_type == EVENT_STREAM

    @property
    def stream_path(self) -> str:
        return f"{self.path}/response/chunks"

    @property
    def is_open(self) -> bool:
        """No end was seen: the exchange is still running, or the capture stopped before it did."""
        return self.ending is None or self.ending.ended is Ended.OPEN

    @property
    def answered_by_gateway(self) -> bool:
        """The answer is a gateway's own, so that it says nothing of the server (`gateway_error_response`).

        While no more than the head is known, JSON may still turn out to be the server's: then False.
        """
        head, content = self.head, self.content
        if head is None or head.status < 400 or self.is_event_stream:
            return False
        behind = {upstream.head.status for upstream in self.upstream if upstream.head is not None}
        if behind:
            return head.status not in behind
        if not is_gateway_answer(head.status, head.headers):
            return False
        if head.media_type == JSON_MEDIA_TYPE and (content is None or not content.body.is_captured):
            return False
        return content is None or not content.messages

    @property
    def owes_nothing_but_202(self) -> bool:
        """Its POST carried notifications or responses only."""
        return self.request.method.upper() == "POST" and self.request.carries_only_notifications_or_responses

    @property
    def was_cut(self) -> bool:
        """The response ended before it was complete, as far as that was seen."""
        ending = self.ending
        if ending is None or ending.ended not in (None, Ended.COMPLETE):
            return True
        declared = self.head.content_length if self.head is not None else None
        received = self.received_octets
        return declared is not None and received is not None and received < declared

    @property
    def received_octets(self) -> int | None:
        """Octets of the response body as they were received, None where neither an edge nor a text tells."""
        if self.ending is not None and self.ending.received_octets is not None:
            return self.ending.received_octets
        if self.head is None or self.content is None or "content-encoding" in self.head.headers:
            return None
        body = self.content.body
        return len(body.text.encode("utf-8", "surrogatepass")) if body.text is not None else body.raw_size

    @property
    def is_whole(self) -> bool:
        """Everything that the response carried so far was captured and read."""
        return not self.has_unread_events and (self.content is None or self.content.body.is_captured)

    def release(self) -> None:
        """Let go of large bodies once every rule has read them; from then on they count as not captured."""
        self.unproven.clear()
        if self.request.body.raw_size is not None and self.request.body.raw_size > MAX_BODY_BYTES_KEPT:
            self.request.body = RELEASED
            self.request.messages = ()
        if self.content is not None and (self.content.body.raw_size or 0) > MAX_BODY_BYTES_KEPT:
            self.content.body = RELEASED
            self.content.messages = ()

    @property
    def unanswered_calls(self) -> list[Call]:
        """The client requests of this exchange that no response was seen for, on whatever stream."""
        return [call for call in self.calls if not call.responses]

    @property
    def waiting_calls(self) -> list[Call]:
        """The client requests, in flight, whose responses belong on the stream of this exchange: its own, or those of
        the POST that it resumes."""
        calls = self.stream.origin.calls if self.stream is not None else self.calls
        return [call for call in calls if call.is_in_flight]


@dataclass(slots=True, eq=False)
class Reissues:
    """How often one interrupted request was sent again until it was answered, by what may be the same client."""

    latest: Exchange
    count: int = 1


@dataclass(slots=True)
class Request:
    """The request of an exchange, complete (or complete but for a body that was not captured)."""

    exchange: Exchange
    t_ms: Milliseconds | None
    method: str
    target: str
    headers: Headers
    body: Body
    http_version: str | None
    messages: tuple[Message, ...] = ()
    scheme: Scheme | None = None
    """That of the URL which the client asked for, where that is known."""

    @property
    def headers_path(self) -> str:
        return f"{self.exchange.path}/request/headers"

    @property
    def body_path(self) -> str:
        return f"{self.exchange.path}/request/body"

    @property
    def method_path(self) -> str:
        return f"{self.exchange.path}/request/method"

    @property
    def version_header(self) -> str | None:
        return self.headers.get("mcp-protocol-version")

    @property
    def session_id(self) -> str | None:
        return self.headers.get("mcp-session-id")

    @property
    def last_event_id(self) -> str | None:
        return self.headers.get("last-event-id")

    @property
    def is_page_visit(self) -> bool:
        """Somebody opened the endpoint in a browser: a GET that asks for HTML and has no header of MCP."""
        has_mcp_header = self.version_header or self.session_id or self.last_event_id
        is_get = self.method.upper() == "GET"
        return is_get and not has_mcp_header and accept_lists(self.headers.joined("accept"), "text/html")

    @property
    def is_initialize(self) -> bool:
        return any(message.is_request and message.method == "initialize" for message in self.messages)

    @property
    def carries_request(self) -> bool:
        """At least one JSON-RPC request is in the body: the response owes JSON or an event stream."""
        return any(message.is_request for message in self.messages)

    @property
    def carries_only_notifications_or_responses(self) -> bool:
        """The body was read, and 202 without content is what the response owes."""
        return bool(self.messages) and all(message.is_notification or message.is_response for message in self.messages)


@dataclass(slots=True)
class ResponseHead:
    """Status and header fields of a response."""

    exchange: Exchange
    t_ms: Milliseconds | None
    status: int
    headers: Headers
    boundaries_observed: bool
    http_version: str | None = None
    """That of the hop which it came from; None where it is not known."""

    @property
    def media_type(self) -> str | None:
        return essence(self.headers.get("content-type"))

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def content_length(self) -> int | None:
        """Content-Length in octets, None where it is absent or not a number."""
        value = self.headers.get("content-length")
        return int(value) if value is not None and value.isascii() and value.isdigit() and len(value) < 16 else None

    @property
    def headers_path(self) -> str:
        return f"{self.exchange.path}/response/headers"

    @property
    def status_path(self) -> str:
        return f"{self.exchange.path}/response/status"

    @property
    def session_id(self) -> str | None:
        return self.headers.get("mcp-session-id")


@dataclass(slots=True)
class ResponseContent:
    """The whole body of a response that is no event stream (or the statement that it was not captured)."""

    exchange: Exchange
    t_ms: Milliseconds | None
    body: Body
    messages: tuple[Message, ...] = ()

    @property
    def path(self) -> str:
        return f"{self.exchange.path}/response/body"


@dataclass(slots=True)
class Event:
    """One block of an event stream: a dispatched event, a block without data, or the discarded tail."""

    exchange: Exchange
    t_ms: Milliseconds | None
    block: Block
    reading: JsonReading | None
    """What strict JSON reading made of the data; None where there is no data to read (absent, empty, too large)."""
    messages: tuple[Message, ...] = ()
    _data_digest: bytes | None = field(default=None, repr=False)

    @property
    def path(self) -> str:
        return f"{self.exchange.path}/response/chunks/{self.block.event_index}"

    @property
    def data_digest(self) -> bytes:
        """Equal for events that carry the same: the same JSON value, however it is written, or else the same text."""
        if self._data_digest is None:
            value = self.reading.value if self.reading is not None else MISSING
            text = (self.block.data or "") if value is MISSING else canonical(value)
            self._data_digest = digest(text)
        return self._data_digest


@dataclass(slots=True)
class Message:
    """One JSON-RPC message (or one member of a batch), in whichever direction."""

    exchange: Exchange
    t_ms: Milliseconds | None
    sender: Sender
    envelope: Envelope
    path: str
    event: Event | None = None
    in_batch: bool = False
    call: Call | None = None
    """For a request: the call that it opened. For a response: the call that it answers, None if nothing matches."""
    kind: str = field(init=False)
    is_request: bool = field(init=False)
    is_notification: bool = field(init=False)
    is_response: bool = field(init=False)
    method: str | None = field(init=False)
    params: dict[str, JsonValue] = field(init=False)
    """The params object; an empty one where params are absent or no object."""
    result: dict[str, JsonValue] | None = field(init=False)
    """The result object; None where there is none."""

    def __post_init__(self) -> None:
        # Every rule asks for some of these, so they are worked out once.
        envelope = self.envelope
        self.kind = kind = envelope.kind
        self.is_request = kind == "request"
        self.is_notification = kind == "notification"
        self.is_response = kind in ("response", "error_response")
        self.method = envelope.method
        self.params = envelope.params if isinstance(envelope.params, dict) else {}
        self.result = envelope.result if isinstance(envelope.result, dict) else None

    @property
    def size(self) -> int:
        """Bytes of what carried it (event or body), roughly; 0 where only a transcript tells of a body."""
        if self.event is not None:
            return len(self.event.block.raw)
        return (self.exchange.request.body.raw_size or 0) if self.sender == "client" else 0

    @property
    def is_error(self) -> bool:
        return self.kind == "error_response"

    @property
    def meta(self) -> dict[str, JsonValue]:
        """`params._meta` of a request or notification; empty where it is absent or no object."""
        value = self.params.get("_meta")
        return value if isinstance(value, dict) else {}

    @property
    def error_code(self) -> int | None:
        error = self.envelope.error
        code = error.get("code") if isinstance(error, dict) else None
        return code if isinstance(code, int) and not isinstance(code, bool) else None

    @property
    def error_data(self) -> dict[str, JsonValue]:
        error = self.envelope.error
        data = error.get("data") if isinstance(error, dict) else None
        return data if isinstance(data, dict) else {}


@dataclass(slots=True, eq=False)
class Call:
    """One JSON-RPC request, from its sending on, in either direction."""

    request: Message
    earlier: Message | None = None
    """An earlier request of the same requestor in the same session with the same id."""
    earlier_was_answered: bool = False
    """That earlier request had its response when this one was sent."""
    responses: list[Message] = field(default_factory=list)
    """At most two are kept: the response, and the first that should not have followed it."""
    cancelled: Message | None = None
    """The `notifications/cancelled` that named it, from a party that may cancel it."""
    latest_progress: Decimal | None = None
    """The latest value of a `notifications/progress` with the token of this request."""

    @property
    def sender(self) -> Sender:
        return self.request.sender

    @property
    def method(self) -> str | None:
        return self.request.method

    @property
    def is_answered(self) -> bool:
        return bool(self.responses)

    @property
    def is_in_flight(self) -> bool:
        return not self.responses and self.cancelled is None


def _is_over(call: Call) -> bool:
    return not call.is_in_flight


CallTable = BoundedTable[tuple[str, ...], Call]
"""Calls of one requestor in one session by `Envelope.id_key`: 1 and "1" are different ids."""


def _call_table(memory: Memory) -> CallTable:
    return BoundedTable(MAX_CALLS_REMEMBERED, _is_over, weight_ceiling=MAX_CALL_BYTES_REMEMBERED, memory=memory)


def _call_tables() -> dict[Sender, CallTable]:
    return {"client": _call_table(CLIENT_CALLS), "server": _call_table(SERVER_CALLS)}


@dataclass(slots=True, eq=False)
class Session:
    """One session of the 2025 revisions, or everything that carries no session id (transports#session-management).

    `initialize` is None where the session was joined midway: then nothing is known of what was negotiated.
    """

    id: str | None = None
    initialize: Exchange | None = None
    initializes: int = 0
    negotiated_version: str | None = None
    client_capabilities: dict[str, JsonValue] | None = None
    server_capabilities: dict[str, JsonValue] | None = None
    initialize_answered: Message | None = None
    """The response (result or error) to `initialize`."""
    initialized: Message | None = None
    """The first `notifications/initialized` (sent as a request by mistake, it still announces the client)."""
    early_requests: list[Message] = field(default_factory=list)
    """The first client requests, pings apart, that were sent while `initialize` was unanswered."""
    unready_request: Message | None = None
    """The first client request, pings apart, that followed the InitializeResult before the client was initialized."""
    overdue: Message | None = None
    """The first client message that came so late after `unready_request` that the notification was overdue."""
    early_server_requests: list[Message] = field(default_factory=list)
    """The first server requests, pings apart, that came before the client was initialized."""
    authorized: Exchange | None = None
    """The first exchange whose request carried Authorization."""
    served_unauthorized: Exchange | None = None
    """The first exchange that was answered 2xx although its request carried no Authorization."""
    deleting: Exchange | None = None
    """The first DELETE, whatever became of it."""
    deleted: Exchange | None = None
    """The DELETE that the server accepted (2xx)."""
    refused: Exchange | None = None
    """The first POST with this session id that was answered 404, for another reason than the call that it carried."""
    outlived_refusal: bool = False
    """A request that was sent after that 404 succeeded, so that the session was alive."""
    get_not_allowed: Exchange | None = None
    """The first GET that was answered 405: the server offers no streams to listen to or to resume."""
    refused_get: Exchange | None = None
    """The latest GET with this session id, resuming nothing, that was answered 400 or 404."""
    exchanges: int = 0
    first_exchange: Exchange | None = None
    latest_exchange: Exchange | None = None
    calls: dict[Sender, CallTable] = field(default_factory=_call_tables)

    @property
    def from_start(self) -> bool:
        """The capture saw the session's `initialize`, so that its history is whole."""
        return self.initialize is not None

    @property
    def may_be_shared(self) -> bool:
        """Several clients may stand behind it: it has no id, and not exactly one `initialize` was seen."""
        return self.id is None and self.initializes != 1

    @property
    def is_terminated(self) -> bool:
        return self.deleted is not None or self.refused is not None


@dataclass(slots=True, eq=False)
class LogicalStream:
    """One stream of events: the exchange that began it and the GETs that resumed it.

    Source: transports#resumability-and-redelivery (2025-03-26 to 2025-11-25).
    """

    origin: Exchange
    exchanges: list[Exchange] = field(default_factory=list)
    """The exchanges that carried it, the origin first; of very many only the latest few."""
    cursor: str | None = None
    """The last event id committed by a complete block; an empty id resets it to None (WHATWG 9.2.6)."""
    retry_ms: int | None = None
    completed: Message | None = None
    """The response on this stream with which every request of the POST that began it was answered."""
    resumption_refused: Exchange | None = None
    """The latest GET that named an event of this stream and was answered 400, 404 or 405."""
    found_left_open: bool = False
    """It was already found that the server did not end it: its further keep-alives are no further faults."""

    @property
    def is_standalone(self) -> bool:
        """It began with a GET that resumed nothing."""
        return self.origin.request.method.upper() == "GET"

    @property
    def current(self) -> Exchange:
        return self.exchanges[-1] if self.exchanges else self.origin


UNPROCESSED: Final = frozenset({"REFUSED_STREAM", "0x7", "7"})
"""An HTTP/2 error code, by its name or number."""


@dataclass(slots=True)
class Ending:
    """The end of an exchange. `ended` None: nothing is known about how (and, offline, whether) it ended."""

    exchange: Exchange
    t_ms: Milliseconds | None
    ended: Ended | None
    disconnected: bool | None
    received_octets: int | None
    reset_code: str | None

    @property
    def path(self) -> str:
        return f"{self.exchange.path}/response"

    @property
    def proves_unprocessed(self) -> bool:
        """REFUSED_STREAM in place of an answer: no processing had occurred (RFC 9113 8.7). Behind a response head it is
        no such proof, and a client's own proves nothing of its server."""
        code = self.reset_code or ""
        refused = code in UNPROCESSED or code.upper() in UNPROCESSED
        return refused and self.exchange.head is None and self.ended is not Ended.CLIENT_RESET

    @property
    def by_server(self) -> bool:
        """The server's side ended it, properly or not (the side of the tap that faces the server)."""
        return self.ended in (Ended.COMPLETE, Ended.SERVER_CLOSED, Ended.SERVER_RESET)

    @property
    def by_client(self) -> bool:
        return self.ended in (Ended.CLIENT_CLOSED, Ended.CLIENT_RESET)


@dataclass(slots=True)
class Relayed:
    """An exchange and what an intermediary made of it, both seen to their ends."""

    exchange: Exchange
    upstream: Exchange
    t_ms: Milliseconds | None
    earlier: tuple[Exchange, ...] = ()
    """What the intermediary had sent on for the same exchange before."""


@dataclass(slots=True)
class CaptureEnd:
    """Nothing more will be seen of this conversation. `t_ms` is the time of its last observation."""

    t_ms: Milliseconds | None


Fact = Request | ResponseHead | ResponseContent | Event | Message | Ending | Relayed | CaptureEnd
