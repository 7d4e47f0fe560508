"""What was delivered on which concurrent stream, so that a broadcast can be told from two equal messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Limit, Memory
from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Exchange, LogicalStream, Message, Session
from mcp_wire.wire.observation import Milliseconds
from mcp_wire.wire.records import record
from mcp_wire.wire.strict_json import canonical

MAX_DELIVERIES_REMEMBERED: Final = 4_096
MAX_DELIVERED_BYTES_REMEMBERED: Final = 16 * 1024 * 1024
"""Of the exchanges that the deliveries belong to, roughly."""
ENTRY_BYTES: Final = 1_024
MAX_EQUAL_DELIVERIES: Final = 8

DELIVERIES: Final = Memory("messages on open streams", ("cross_stream_duplicate",))
EQUAL_DELIVERIES: Final = Memory("streams that carried the same message", ("cross_stream_duplicate",))


@record
class Delivery:
    """A message on a stream, as far as comparing needs it."""

    stream: LogicalStream
    session: Session
    exchange: Exchange
    event_index: int
    t_ms: Milliseconds | None

    @property
    def exchange_index(self) -> int:
        return self.exchange.index

    @property
    def may_repeat_a_lost_stream(self) -> bool:
        """It came on a GET that resumes a stream which was not seen: what it carries may be a redelivery."""
        return self.exchange.request.last_event_id is not None and self.stream.origin is self.exchange


@dataclass(slots=True)
class Deliveries:
    """The latest messages on event streams, by a digest of their canonical text."""

    latest: BoundedTable[bytes, list[Delivery]] = field(
        default_factory=lambda: BoundedTable(
            MAX_DELIVERIES_REMEMBERED,
            is_done=_are_spent,
            done_is_spent=True,
            oldest_asked=1,
            weight_ceiling=MAX_DELIVERED_BYTES_REMEMBERED,
            memory=DELIVERIES,
        )
    )
    _equal_limit: Limit = field(default_factory=lambda: Limit(EQUAL_DELIVERIES, f"{MAX_EQUAL_DELIVERIES}"))
    _message: Message | None = None
    _twin: Delivery | None = None

    def take(self, message: Message) -> None:
        """Remember a message that came on an event stream, and whether a concurrent stream has carried it before."""
        self._message, self._twin = message, None
        event, exchange = message.event, message.exchange
        if event is None or exchange.stream is None:
            return
        text = digest(canonical(message.envelope.value)) if message.in_batch else event.data_digest
        delivery = Delivery(exchange.stream, exchange.session, exchange, event.block.event_index, message.t_ms)
        earlier = self.latest.get(text)
        if earlier is None:
            self.latest.put(text, [delivery], ENTRY_BYTES + (exchange.request.body.raw_size or 0))
            return
        self._twin = next((other for other in earlier if _were_concurrent(other, delivery)), None)
        if any(other.exchange is exchange for other in earlier):
            return  # what one stream carries twice is no broadcast
        if len(earlier) >= MAX_EQUAL_DELIVERIES:
            gone = next((other for other in earlier if _is_spent(other)), None)
            if gone is None:
                self._equal_limit.lose()
                return
            earlier.remove(gone)
        earlier.append(delivery)

    def twin_of(self, message: Message) -> Delivery | None:
        """The earlier delivery of an equal message on a concurrent stream; asked while the message is judged."""
        return self._twin if self._message is message else None


def _is_spent(delivery: Delivery) -> bool:
    """Nothing that comes now was delivered at the same time."""
    return delivery.exchange.ending is not None and delivery.exchange.concurrent_group is None


def _are_spent(deliveries: list[Delivery]) -> bool:
    return all(map(_is_spent, deliveries))


def _were_concurrent(earlier: Delivery, later: Delivery) -> bool:
    if earlier.stream is later.stream:
        return False
    group = earlier.exchange.concurrent_group
    if group is not None or later.exchange.concurrent_group is not None:
        return group == later.exchange.concurrent_group
    if earlier.session is not later.session or earlier.session.may_be_shared:
        return False
    if earlier.may_repeat_a_lost_stream or later.may_repeat_a_lost_stream:
        return False
    # Without times an ended stream may or may not have overlapped; what is still open when the other speaks did.
    return earlier.exchange.ending is None
