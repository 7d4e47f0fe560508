"""One conversation: the state that links its exchanges. Facts go in, and come out linked.

A conversation is what one transcript holds: the exchanges of one client with one endpoint under one profile. State is
bounded everywhere; where a bound made it forget, the table concerned says so (`forgotten`), rules that would need the
lost part cannot tell, and `losses` has a word of it for the judge.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Limit, Loss, Memory, limits_in
from mcp_wire.conversation.deliveries import Deliveries
from mcp_wire.conversation.event_ids import EventIds
from mcp_wire.conversation.facts import (
    Call,
    CaptureEnd,
    Ending,
    Event,
    Exchange,
    Fact,
    LogicalStream,
    Message,
    Relayed,
    Request,
    ResponseContent,
    ResponseHead,
    Session,
)
from mcp_wire.conversation.handshake import watch_handshake
from mcp_wire.conversation.idle_ends import IdleEnds
from mcp_wire.conversation.interruptions import Interruptions
from mcp_wire.conversation.list_changes import ListChanges
from mcp_wire.conversation.listings import Listings
from mcp_wire.conversation.log_levels import LogLevels
from mcp_wire.conversation.pages import Pages
from mcp_wire.conversation.progress_tokens import ProgressTokens
from mcp_wire.conversation.public_results import PublicResults
from mcp_wire.conversation.relays import MAX_RECENT_EXCHANGES, Relays
from mcp_wire.conversation.resource_subscriptions import ResourceSubscriptions
from mcp_wire.conversation.round_trips import RoundTrips
from mcp_wire.conversation.server_era import ServerEra
from mcp_wire.conversation.session_ids import SessionIds
from mcp_wire.conversation.subscriptions import Subscriptions
from mcp_wire.conversation.tasks import Tasks
from mcp_wire.conversation.tool_definitions import ToolDefinitions
from mcp_wire.conversation.tool_hints import ToolHints
from mcp_wire.conversation.tool_interfaces import ToolInterfaces
from mcp_wire.conversation.unanswered import UnansweredRequests
from mcp_wire.protocol.error_codes import INVALID_PARAMS, METHOD_NOT_FOUND, MODERN_CODES, RESOURCE_NOT_FOUND
from mcp_wire.protocol.profiles import Profile
from mcp_wire.wire.jsonrpc import id_key
from mcp_wire.wire.observation import Milliseconds

MAX_SESSIONS_REMEMBERED: Final = 1_024
MAX_STREAM_PARTS: Final = 16

MAX_UNPROVEN_FACTS: Final = 64
"""Of a server that has not yet shown which revision it speaks, over all exchanges."""

SESSIONS: Final = Memory(
    "sessions", follows="What goes on in one that was let go is judged as if the capture had joined it midway."
)
UNPROVEN: Final = Memory(
    "messages of a server that had not yet shown its revision", follows="What goes beyond is not judged by it."
)

ABOUT_THE_CALL: Final = frozenset({METHOD_NOT_FOUND, INVALID_PARAMS, RESOURCE_NOT_FOUND})
"""A 404 with one of these errors is about what was asked for, and not about the session."""
RESUMPTION_REFUSALS: Final = frozenset({400, 404, 405})
"""No streams here, or none with this event id; what else is refused with 4xx may work later."""


@dataclass(slots=True)
class Conversation:
    """The linked state of one conversation.

    `profile` None: no evidence of a revision; only version-neutral rules speak. `payloads_whole`: no person has cut
    members out of params, results or `_meta` (live traffic, and transcripts marked `"payloads": "shape"`).
    `complete_from_start`: the capture saw the conversation's first exchange.
    """

    profile: Profile | None
    payloads_whole: bool
    complete_from_start: bool
    now_ms: Milliseconds | None = None
    """The time of the latest observation."""
    exchanges: int = 0
    recent: deque[Exchange] = field(default_factory=lambda: deque(maxlen=MAX_RECENT_EXCHANGES))
    open_streams: dict[str, Exchange] = field(default_factory=dict)
    """Event streams whose end has not been seen, by exchange id."""
    sessions: BoundedTable[str, Session] = field(
        default_factory=lambda: BoundedTable(MAX_SESSIONS_REMEMBERED, memory=SESSIONS)
    )
    sessionless: Session = field(default_factory=Session)
    """What carries no session id and belongs to no session that is known to be without one."""
    event_ids: EventIds = field(default_factory=EventIds)
    progress: ProgressTokens = field(default_factory=ProgressTokens)
    interruptions: Interruptions = field(default_factory=Interruptions)
    unanswered: UnansweredRequests = field(default_factory=UnansweredRequests)
    unproven_facts: int = 0
    unproven_limit: Limit = field(default_factory=lambda: Limit(UNPROVEN, f"{MAX_UNPROVEN_FACTS}"))
    delivered: Deliveries = field(default_factory=Deliveries)
    server_is_modern: bool = False
    """The server has shown that it speaks 2026-07-28: a resultType, a -3202x error, a server/discover result."""
    session_ids: SessionIds = field(default_factory=SessionIds)
    era: ServerEra = field(default_factory=ServerEra)
    tools: ToolDefinitions = field(default_factory=ToolDefinitions)
    subscriptions: Subscriptions = field(default_factory=Subscriptions)
    round_trips: RoundTrips = field(default_factory=RoundTrips)
    pages: Pages = field(default_factory=Pages)
    public_results: PublicResults = field(default_factory=PublicResults)
    log_levels: LogLevels = field(default_factory=LogLevels)
    tool_hints: ToolHints = field(default_factory=ToolHints)
    idle_ends: IdleEnds = field(default_factory=IdleEnds)
    interfaces: ToolInterfaces = field(default_factory=ToolInterfaces)
    listings: Listings = field(default_factory=Listings)
    list_changes: ListChanges = field(default_factory=ListChanges)
    tasks: Tasks = field(default_factory=Tasks)
    resource_subscriptions: ResourceSubscriptions = field(default_factory=ResourceSubscriptions)
    relays: Relays = field(default_factory=Relays)
    first_initialize: Exchange | None = None
    latest_initialize: Exchange | None = None
    unread_post: Exchange | None = None
    """The first POST whose body was not captured: it may have carried anything."""
    has_gaps: bool = False
    """Some response was not captured whole, so that messages of the server may have been missed."""
    has_unread_streams: bool = False
    """Some event stream was not captured or not read whole, so that events or requests of the server may be missing."""
    answers_posts: bool = False
    """Some POST was answered 2xx, so that the endpoint exists and speaks."""
    legacy_transport: bool = False
    """An `endpoint` event was seen: the 2024-11-05 HTTP+SSE transport, which is recognised and left alone."""

    losses: dict[Loss, int] = field(default_factory=dict)
    """What limits made unknown, and how often, since the judge took them out."""

    revision: str | None = field(init=False)
    is_modern: bool = field(init=False)
    """Judged by 2026-07-28, under whichever name."""

    def __post_init__(self) -> None:
        self.revision = self.profile.revision if self.profile is not None else None
        self.is_modern = self.profile is not None and self.profile.is_modern
        self.progress.done_is_spent = self.is_modern
        self._keep_calls(self.sessionless)
        self._listen(self)

    def _keep_calls(self, session: Session) -> None:
        """In 2026-07-28 only calls in flight are asked for: it has no sessions in which an id could be used up."""
        for calls in session.calls.values():
            calls.done_is_spent = self.is_modern

    def _listen(self, owner: object) -> None:
        for limit in limits_in(owner):
            limit.tell = self.note_loss

    def note_loss(self, loss: Loss) -> None:
        self.losses[loss] = self.losses.get(loss, 0) + 1

    def is_one_client(self, session: Session) -> bool:
        """Everything in this session comes from one client, whose `initialize` was seen."""
        if session.id is not None:
            return session.from_start
        return session.initializes == 1 and self.complete_from_start

    def may_have_lost_calls(self, session: Session) -> bool:
        """A request of its client that was in flight is forgotten: what came for it since may not be linked to it."""
        return session.calls["client"].forgotten_undone > 0 or self.sessions.forgotten > 0

    def take(self, fact: Fact) -> None:
        """Link one fact into the state. Called before the rules read it."""
        if fact.t_ms is not None and (self.now_ms is None or fact.t_ms > self.now_ms):
            self.now_ms = fact.t_ms
        if isinstance(fact, Message | Ending | CaptureEnd):
            self.list_changes.take(fact, self.now_ms, self.listings)
        match fact:
            case Request():
                self._request(fact)
            case ResponseHead():
                self._head(fact)
            case Event():
                self._event(fact)
            case Message():
                self._message(fact)
            case Ending():
                self._ending(fact)
            case ResponseContent():
                self.has_gaps = self.has_gaps or not fact.body.is_captured
                if fact.exchange.is_event_stream and not fact.body.is_captured:
                    self.has_unread_streams = True
            case CaptureEnd():
                self.interruptions.take_capture_end()
            case Relayed():
                pass
        self.unanswered.take(fact, self.now_ms)
        if self.is_modern and not self.server_is_modern and isinstance(fact, Event | Message):
            self._hold_unproven(fact)

    def _hold_unproven(self, fact: Event | Message) -> None:
        if not isinstance(fact, Event) and fact.sender != "server":
            return
        if self.unproven_facts < MAX_UNPROVEN_FACTS:
            self.unproven_facts += 1
            fact.exchange.unproven.append(fact)
        else:
            fact.exchange.has_lost_unproven = True

    def _request(self, request: Request) -> None:
        exchange = request.exchange
        self.exchanges += 1
        self.recent.append(exchange)
        exchange.session = session = self._session_of(request)
        session.exchanges += 1
        session.first_exchange = session.first_exchange or exchange
        session.latest_exchange = exchange
        if request.is_initialize:
            session.initializes += 1
            session.initialize = session.initialize or exchange
            self.first_initialize = self.first_initialize or exchange
            self.latest_initialize = exchange
        if request.method.upper() == "POST" and not request.body.is_captured:
            self.unread_post = self.unread_post or exchange
        if "authorization" in request.headers:
            session.authorized = session.authorized or exchange
        if self.is_modern:
            self.era.take_request(request)
        method = request.method.upper()
        if method == "DELETE":
            session.deleting = session.deleting or exchange
        elif method == "GET":
            resumed = self.event_ids.given(session, request.last_event_id)
            if resumed is not None:
                exchange.stream = resumed.stream
        self.interruptions.take_request(request)

    def _session_of(self, request: Request) -> Session:
        if request.is_initialize:
            # A new session, whatever id the request carries: its own id comes with the answer.
            if self.sessionless.initialize is None and self.sessionless.exchanges == 0:
                return self.sessionless
            if self.sessions or self.sessionless.id is not None:
                return self._new_session()
            return self.sessionless
        session_id = request.session_id
        if session_id is not None:
            session = self.sessions.get(session_id)
            if session is None:
                session = self._new_session(session_id)
                self.sessions.put(session_id, session)
            return session
        # A transcript is one conversation: what carries no id belongs to its only session, if it has just one.
        if len(self.sessions) == 1 and not self.sessions.forgotten:
            return next(self.sessions.values())
        return self.sessionless

    def _new_session(self, session_id: str | None = None) -> Session:
        session = Session(session_id)
        self._keep_calls(session)
        self._listen(session)
        return session

    def _head(self, head: ResponseHead) -> None:
        self.session_ids.take(head)
        exchange = head.exchange
        request = exchange.request
        session = exchange.session
        if head.session_id and request.is_initialize and head.is_success and session.id is None:
            session.id = head.session_id
            self.sessions.put(head.session_id, session)
            if session is self.sessionless:
                self.sessionless = self._new_session()
        if request.method.upper() == "GET" and head.status in RESUMPTION_REFUSALS:
            if head.status == 405:
                session.get_not_allowed = session.get_not_allowed or exchange
            if exchange.stream is not None:
                exchange.stream.resumption_refused = exchange
        if request.session_id is not None and request.session_id == session.id:
            if head.status == 404 and request.method.upper() == "POST":
                session.refused = session.refused or exchange
            elif head.status in (400, 404) and request.method.upper() == "GET" and request.last_event_id is None:
                session.refused_get = exchange
        if head.is_success and request.session_id is not None and request.session_id == session.id:
            session.outlived_refusal = session.outlived_refusal or _was_sent_after(request, session.refused)
        if request.method.upper() == "DELETE" and head.is_success and request.session_id is not None:
            session.deleted = session.deleted or exchange
        if head.is_success and "authorization" not in request.headers:
            session.served_unauthorized = session.served_unauthorized or exchange
        if request.method.upper() == "POST" and head.is_success:
            self.answers_posts = True
        if exchange.is_event_stream:
            self.open_streams[exchange.id] = exchange
            if exchange.stream is None:
                exchange.stream = LogicalStream(exchange)
            parts = exchange.stream.exchanges
            parts.append(exchange)
            if len(parts) > MAX_STREAM_PARTS:
                del parts[1]
        self.interruptions.take_head(head)

    def _event(self, event: Event) -> None:
        block, stream = event.block, event.exchange.stream
        if block.too_large or (event.reading is not None and event.reading.has("too_deep")):
            self.has_gaps = self.has_unread_streams = event.exchange.has_unread_events = True
        if not event.messages and block.has_content:
            event.exchange.has_unreadable_events = True
        if stream is None or not block.complete:
            return
        self.event_ids.take(event, stream)
        if block.id is not None:
            stream.cursor = block.id or None
            is_empty = not block.data and not block.too_large
            if block.id and is_empty and event.exchange.dispatched <= block.dispatched:
                event.exchange.is_primed = True
        if block.retry_ms is not None:
            stream.retry_ms = block.retry_ms
        if self._opens_legacy_transport(event):
            self.legacy_transport = True

    def _opens_legacy_transport(self, event: Event) -> bool:
        """The first event of a GET is `endpoint`, and nothing before it was Streamable HTTP."""
        exchange, block = event.exchange, event.block
        if block.event_type != "endpoint" or not block.dispatched or exchange.dispatched != 1:
            return False
        if exchange.request.method.upper() != "GET" or exchange.session.id is not None:
            return False
        return exchange.session.initialize_answered is None and not self.sessions

    def _message(self, message: Message) -> None:
        exchange, session = message.exchange, message.exchange.session
        if message.sender == "server":
            exchange.messages += 1
            exchange.latest_message_ms = message.t_ms
            self.delivered.take(message)
            if session.refused is exchange and message.error_code in ABOUT_THE_CALL:
                session.refused = None
        if message.is_request:
            message.call = self._open_call(session, message)
        elif message.is_response:
            message.call = self._answered_call(session, message)
            if message.call is not None and len(message.call.responses) < 2:
                message.call.responses.append(message)
            self._complete_stream(message)
            self.tool_hints.take(message)
            self._learn_from_response(session, message)
        elif message.method == "notifications/cancelled":
            call = self.cancelled_call(message)
            if call is not None and call.cancelled is None and self.may_cancel(message.sender, call):
                call.cancelled = message
        redelivered = message.event is not None and self.event_ids.was_delivered_before(message.event)
        self.progress.take(message, redelivered=redelivered)
        if message.sender == "client" and message.is_request:
            self.interruptions.take_message(message)
        watch_handshake(session, message)
        self.era.take(message, server_is_modern=self.server_is_modern)
        if self.profile is not None:
            self.pages.take(message, self.profile.revision)
            self.interfaces.take(message, is_modern=self.is_modern)
            self.listings.take(message, is_modern=self.is_modern)
        if self.is_modern:
            self.tools.take(message)
            self.subscriptions.take(message)
            self.round_trips.take(message, history_is_whole=self._history_is_whole)
            self.public_results.take(message)
        else:
            self.log_levels.take(message)
            self.tasks.take(message)
            self.resource_subscriptions.take(message)
        if self.listings.completed is not None:
            self.list_changes.take_listing(message, self.listings, self.open_streams.values(), self.subscriptions)

    @property
    def _history_is_whole(self) -> bool:
        return self.complete_from_start and not self.has_gaps and self.unread_post is None

    def _open_call(self, session: Session, message: Message) -> Call | None:
        key = message.envelope.id_key
        if key is None:
            return None
        table = session.calls[message.sender]
        earlier = table.get(key)
        call = Call(message)
        if earlier is not None:
            call.earlier, call.earlier_was_answered = earlier.request, earlier.is_answered
        table.put(key, call, weight=message.size)
        if message.sender == "client":
            message.exchange.calls.append(call)
        return call

    def _answered_call(self, session: Session, message: Message) -> Call | None:
        """The call that a response answers. Several clients may use the same ids: the own exchange goes first."""
        key = message.envelope.id_key
        if key is None:
            return None
        exchange = message.exchange
        if message.sender == "client":
            return session.calls["server"].get(key)
        own = list(exchange.calls)
        if exchange.stream is not None:
            own += exchange.stream.origin.calls
        for call in own:
            if call.request.envelope.id_key == key:
                return call
        if exchange.request.method.upper() == "POST" and not exchange.request.body.is_captured:
            # It answers what was not captured, and an earlier request of the same id is another one.
            return None
        return session.calls["client"].get(key)

    def _complete_stream(self, response: Message) -> None:
        """Note when the last request of a POST was answered on the stream that the POST began."""
        stream, call = response.exchange.stream, response.call
        if stream is None or stream.completed is not None or call is None or response.event is None:
            return
        calls = stream.origin.calls
        if call in calls and all(one.responses for one in calls):
            stream.completed = response

    def cancelled_call(self, message: Message) -> Call | None:
        """The call that a `notifications/cancelled` names: its sender's, or where that has none, the client's."""
        if "requestId" not in message.params:
            return None
        key = id_key(message.params["requestId"])
        session = message.exchange.session
        call = session.calls[message.sender].get(key)
        if call is None and message.sender == "server":
            own = message.exchange.stream.origin.calls if message.exchange.stream is not None else []
            named = (one for one in own if one.request.envelope.id_key == key)
            call = next(named, None) or session.calls["client"].get(key)
        return call

    def may_cancel(self, sender: str, call: Call) -> bool:
        """Its own requests; in 2026-07-28 a server also cancels a subscription, which is the client's request."""
        return call.sender == sender or (self.is_modern and call.method == "subscriptions/listen")

    def _learn_from_response(self, session: Session, message: Message) -> None:
        if message.sender != "server":
            return
        result, call = message.result, message.call
        if message.error_code in MODERN_CODES or (result is not None and "resultType" in result):
            self.server_is_modern = True
        if call is None:
            return
        if call.method == "server/discover" and result is not None:
            self.server_is_modern = True
        if call.method == "initialize" and call.sender == "client" and session.initialize_answered is None:
            session.initialize_answered = message
            capabilities = call.request.params.get("capabilities")
            session.client_capabilities = capabilities if isinstance(capabilities, dict) else None
            if result is not None:
                version, capabilities = result.get("protocolVersion"), result.get("capabilities")
                session.negotiated_version = version if isinstance(version, str) else None
                session.server_capabilities = capabilities if isinstance(capabilities, dict) else None

    def _ending(self, ending: Ending) -> None:
        if ending.exchange.has_lost_unproven and self.server_is_modern:
            self.unproven_limit.lose()  # while nothing proves the revision, nothing would be said of them
        self.open_streams.pop(ending.exchange.id, None)
        self.idle_ends.take(ending)
        self.subscriptions.take_ending(ending)
        self.interruptions.take_ending(ending)


def _was_sent_after(request: Request, answered: Exchange | None) -> bool:
    """As far as times show it: False where they are not known."""
    head = answered.head if answered is not None else None
    return head is not None and head.t_ms is not None and request.t_ms is not None and request.t_ms > head.t_ms
