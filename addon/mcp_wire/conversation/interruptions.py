"""Requests whose exchange ended without their response, and what became of them.

Sources: 2025-11-25 basic/transports#sending-messages-to-the-server (item 6) and #resumability-and-redelivery;
2026-07-28 basic/transports/streamable-http#cancellation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Limit, Memory
from mcp_wire.conversation.clients import client_mark
from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Call, Ending, Exchange, Message, Reissues, Request, ResponseHead, Session
from mcp_wire.wire.observation import Ended, Milliseconds
from mcp_wire.wire.strict_json import canonical

MAX_INTERRUPTIONS_REMEMBERED: Final = 1_024
MAX_INTERRUPTED_BYTES_REMEMBERED: Final = 16 * 1024 * 1024
MAX_WAITING: Final = 64
"""Ends that wait for a sign of life of their session, and streams that wait for their client, at the same time."""

CUT_REQUESTS: Final = Memory(
    "requests that were cut", ("post_replayed_same_id", "reissue_may_duplicate_effect", "blind_post_replay")
)
CUT_STREAMS: Final = Memory("streams that were cut", ("poll_not_resumed",))
UNEXPLAINED_ENDS: Final = Memory(
    "streams whose end waits for an explanation", ("stream_closed_without_response", "close_without_retry")
)
POLLS: Final = Memory("streams that wait for their client to come back", ("poll_not_resumed",))

REPEATABLE_METHODS: Final = frozenset({"tools/call", "prompts/get", "resources/read", "completion/complete"})
"""Requests that a client does not send again and again as a matter of routine."""
POLLING_GRACE_MS: Final = 30_000.0
POLLING_PATIENCE: Final = 10
"""A stream counts as left alone after this many times its `retry`, or after the grace if that is longer."""


@dataclass(slots=True, eq=False)
class Interruption:
    """A POST that ended although some of its requests had no response and were not cancelled."""

    exchange: Exchange
    t_ms: Milliseconds | None
    resumed: Exchange | None = None
    """The first GET that named an event of its stream, whatever became of it."""
    repeated: Message | None = None
    """The first request with the same method and params that followed."""

    @property
    def waiting_calls(self) -> list[Call]:
        return [call for call in self.exchange.calls if call.is_in_flight]

    @property
    def cursor(self) -> str | None:
        return self.exchange.stream.cursor if self.exchange.stream is not None else None

    def deadline_ms(self) -> Milliseconds | None:
        """When its client should long have been back."""
        if self.t_ms is None:
            return None
        retry = (self.exchange.stream.retry_ms if self.exchange.stream is not None else None) or 0
        return self.t_ms + max(POLLING_PATIENCE * retry, POLLING_GRACE_MS)


@dataclass(slots=True)
class Interruptions:
    """The latest interruptions, and what the fact that is being judged says of them."""

    settled: list[Interruption] = field(default_factory=list)
    """Streams that the server ended unanswered and without an excuse, as is certain now."""
    overdue: list[Interruption] = field(default_factory=list)
    """Streams that the client of the request being judged has left alone for too long."""
    any_left_by_client: bool = False
    """Some request was interrupted by its own client."""
    _repeated: Interruption | None = None
    _message: Message | None = None
    _by_request: BoundedTable[tuple[object, bytes], Interruption] = field(
        default_factory=lambda: BoundedTable(
            MAX_INTERRUPTIONS_REMEMBERED,
            is_done=_is_over,
            done_is_spent=True,
            weight_ceiling=MAX_INTERRUPTED_BYTES_REMEMBERED,
            memory=CUT_REQUESTS,
        )
    )
    _by_exchange: BoundedTable[Exchange, Interruption] = field(
        default_factory=lambda: BoundedTable(
            MAX_INTERRUPTIONS_REMEMBERED,
            is_done=_is_back,
            done_is_spent=True,
            weight_ceiling=MAX_INTERRUPTED_BYTES_REMEMBERED,
            memory=CUT_STREAMS,
        )
    )
    _ends: deque[Interruption] = field(default_factory=deque)
    _polls: deque[Interruption] = field(default_factory=deque)
    _ends_limit: Limit = field(default_factory=lambda: Limit(UNEXPLAINED_ENDS, f"{MAX_WAITING}"))
    _polls_limit: Limit = field(default_factory=lambda: Limit(POLLS, f"{MAX_WAITING}"))

    def repeated_by(self, message: Message) -> Interruption | None:
        """The interruption of the same request, sent by the same client; asked while the message is judged."""
        return self._repeated if self._message is message else None

    def take_request(self, request: Request) -> None:
        self._next()
        exchange = request.exchange
        if request.method.upper() == "GET" and exchange.stream is not None:
            interrupted = self._by_exchange.get(exchange.stream.origin)
            if interrupted is not None:
                interrupted.resumed = interrupted.resumed or exchange
        if self._polls and request.t_ms is not None:
            self._look_after(exchange.session, request.t_ms)

    def take_message(self, message: Message) -> None:
        """A request of the client: does it repeat one that was interrupted?"""
        self._next()
        if message.method not in REPEATABLE_METHODS or not self._by_request:
            return
        found = self._by_request.get(_key(message))
        if found is not None and found.exchange is not message.exchange and found.waiting_calls:
            self._message, self._repeated = message, found
            found.repeated = found.repeated or message
            _count_reissue(found.exchange, message.exchange)

    def take_head(self, head: ResponseHead) -> None:
        """A sign of life of its session: the streams that ended before it did not end because the session was over."""
        self._next()
        if self._ends and head.exchange.session.id is not None:
            session = head.exchange.session
            over = head.status == 404 and head.exchange.request.session_id == session.id
            if over or head.status < 400:
                ends = [end for end in self._ends if end.exchange.session is session]
                for end in ends:
                    self._ends.remove(end)
                self._settle([] if over else ends)

    def take_ending(self, ending: Ending) -> None:
        self._next()
        exchange = ending.exchange
        if exchange.request.method.upper() != "POST" or not _was_interrupted(ending):
            return
        self.any_left_by_client = self.any_left_by_client or ending.by_client
        interruption = Interruption(exchange, ending.t_ms)
        weight = exchange.request.body.raw_size or 0
        self._by_exchange.put(exchange, interruption, weight)
        for call in interruption.waiting_calls:
            if call.method in REPEATABLE_METHODS:
                self._by_request.put(_key(call.request), interruption, weight)
        if ending.ended is not Ended.COMPLETE or not exchange.is_event_stream or exchange.session.deleting is not None:
            return
        if interruption.cursor is not None and ending.t_ms is not None:
            _wait(self._polls, interruption, _is_back, self._polls_limit)
        if exchange.session.id is None:
            self._settle([interruption])
        else:
            _wait(self._ends, interruption, _is_over, self._ends_limit)

    def take_capture_end(self) -> None:
        self._next()
        self._settle([end for end in self._ends if not end.exchange.session.is_terminated])
        self._ends.clear()

    def _next(self) -> None:
        self._message = None
        if self.settled:
            self.settled = []
        if self.overdue:
            self.overdue = []

    def _settle(self, ends: list[Interruption]) -> None:
        self.settled = [end for end in ends if end.waiting_calls]

    def _look_after(self, session: Session, now_ms: Milliseconds) -> None:
        for poll in list(self._polls):
            deadline = poll.deadline_ms()
            forgotten = poll.exchange not in self._by_exchange  # then its resumption would not be noticed
            if forgotten or _is_back(poll) or deadline is None:
                self._polls.remove(poll)
            elif poll.exchange.session is session and now_ms > deadline:
                self._polls.remove(poll)
                self.overdue.append(poll)


def _is_over(interruption: Interruption) -> bool:
    return not interruption.waiting_calls


def _is_back(poll: Interruption) -> bool:
    return _is_over(poll) or poll.resumed is not None or poll.repeated is not None


def _wait(
    queue: deque[Interruption], interruption: Interruption, is_over: Callable[[Interruption], bool], limit: Limit
) -> None:
    if len(queue) >= MAX_WAITING:
        gone = next(filter(is_over, queue), queue[0])
        queue.remove(gone)
        if not is_over(gone):
            limit.lose()
    queue.append(interruption)


def _was_interrupted(ending: Ending) -> bool:
    """It is known to have ended, with a request in flight: by its end, by the operator's word, or by a whole body."""
    exchange = ending.exchange
    has_body = exchange.content is not None and exchange.content.body.is_captured
    if ending.ended is Ended.OPEN or (ending.ended is None and not ending.disconnected and not has_body):
        return False
    return any(call.is_in_flight for call in exchange.calls)


def _count_reissue(interrupted: Exchange, again: Exchange) -> None:
    known = interrupted.reissues
    if known is None:
        interrupted.reissues = again.reissues = Reissues(again)
    elif known.latest is not again and not all(call.is_answered for call in known.latest.calls):
        # Once a repetition is answered, the same request is a new intention.
        known.latest, known.count = again, known.count + 1
        again.reissues = known


def _key(message: Message) -> tuple[object, bytes]:
    """Equal for the same request of what may be the same client: method and params, `_meta` aside."""
    session = message.exchange.session
    client: object = client_mark(message.exchange.request) if session.may_be_shared else session
    params = {name: value for name, value in message.params.items() if name != "_meta"}
    return client, digest(f"{message.method}\n{canonical(params)}")
