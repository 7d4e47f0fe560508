"""Which event ids were given out, to whom and for what (2025-11-25 basic/transports#resumability-and-redelivery)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Memory
from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Event, Exchange, LogicalStream, Session
from mcp_wire.wire.records import record

MAX_EVENT_IDS_REMEMBERED: Final = 32_768
MAX_EVENT_ID_BYTES_REMEMBERED: Final = 64 * 1024 * 1024
"""Of the exchanges that the ids belong to, roughly: each id counts as much as its event, which an answer is kept of as
long, and as the request that began its stream."""
ENTRY_BYTES: Final = 1_024

EVENT_IDS: Final = Memory(
    "event ids",
    (
        "last_event_id_never_issued",
        "duplicate_event_id",
        "replay_from_other_stream",
        "progress_not_increasing",
        "progress_after_completion",
        "poll_not_resumed",
        "blind_post_replay",
        "response_on_get_stream",
        "unrelated_message_on_stream",
        "stream_not_closed_after_response",
        "stream_closed_without_response",
        "retry_delay_not_respected",
        "close_without_retry",
        "cross_stream_duplicate",
        "idle_timeout_suspected",
    ),
)
OWNERS: Final = Memory("sessions that event ids belong to", told_by=EVENT_IDS.what)


@record
class IssuedEventId:
    """Where an event id was first seen: on which logical stream, and with which data (None: on no event at all).

    An id may be committed by a block without data, which moves the cursor and delivers nothing.
    """

    stream: LogicalStream
    exchange: Exchange
    path: str
    data_digest: bytes | None


@dataclass(slots=True)
class EventIds:
    """The ids of complete blocks, by session; kept as digests that are only compared."""

    forgotten_any: bool = False
    _issued: BoundedTable[tuple[Session, bytes], IssuedEventId] = field(
        default_factory=lambda: BoundedTable(
            MAX_EVENT_IDS_REMEMBERED, weight_ceiling=MAX_EVENT_ID_BYTES_REMEMBERED, memory=EVENT_IDS
        )
    )
    _sessions: BoundedTable[bytes, Session] = field(
        default_factory=lambda: BoundedTable(MAX_EVENT_IDS_REMEMBERED, memory=OWNERS)
    )
    _event: Event | None = None
    _earlier: IssuedEventId | None = None

    def take(self, event: Event, stream: LogicalStream) -> None:
        """Remember the id of a complete block, and what it was given to before."""
        self._event, self._earlier = event, None
        block, exchange = event.block, event.exchange
        if not block.id:
            return
        key = (exchange.session, digest(block.id))
        self._earlier = self._issued.get(key)
        if self._earlier is None:
            data = event.data_digest if block.dispatched and not block.too_large else None
            weight = ENTRY_BYTES + (stream.origin.request.body.raw_size or 0) + block.end - block.start
            self._issued.put(key, IssuedEventId(stream, exchange, event.path, data), weight)
            self._sessions.put(key[1], exchange.session)
            self.forgotten_any = self._issued.forgotten > 0

    def given(self, session: Session, event_id: str | None) -> IssuedEventId | None:
        """What this session's id was first given to; None where it never was, as far as is remembered."""
        return self._issued.get((session, digest(event_id))) if event_id else None

    def was_given_to_another(self, session: Session, event_id: str) -> bool:
        """Another session of this conversation got the id."""
        other = self._sessions.get(digest(event_id))
        return other is not None and other is not session

    def earlier_than(self, event: Event) -> IssuedEventId | None:
        """What the id of this event was given to before; asked while the event or its messages are judged."""
        return self._earlier if self._event is event else None

    def was_delivered_before(self, event: Event) -> bool:
        """The same event, by id and data, was seen before: this is its redelivery on a resumed stream."""
        earlier = self.earlier_than(event)
        return earlier is not None and earlier.data_digest == event.data_digest
