"""What was delivered on which concurrent stream, so that a broadcast can be told from two equal messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable
from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Exchange, LogicalStream, Message, Session
from mcp_wire.wire.strict_json import canonical

MAX_DELIVERIES_REMEMBERED: Final = 4_096


@dataclass(slots=True)
class Delivery:
    """A message on a stream, as far as comparing needs it."""

    stream: LogicalStream
    session: Session
    exchange: Exchange
    event_index: int

    @property
    def exchange_index(self) -> int:
        return self.exchange.index


@dataclass(slots=True)
class Deliveries:
    """The latest messages on event streams, by a digest of their canonical text."""

    latest: BoundedTable[bytes, list[Delivery]] = field(default_factory=lambda: BoundedTable(MAX_DELIVERIES_REMEMBERED))
    twins: dict[int, Delivery] = field(default_factory=dict)

    def take(self, message: Message) -> None:
        """Remember a message that came on an event stream, and whether a concurrent stream has carried it before."""
        self.twins.clear()
        event, stream = message.event, message.exchange.stream
        if event is None or stream is None:
            return
        text = digest(canonical(message.envelope.value))
        delivery = Delivery(stream, message.exchange.session, message.exchange, event.block.event_index)
        earlier = self.latest.get(text)
        if earlier is None:
            self.latest.put(text, [delivery])
            return
        for other in earlier:
            if other.stream is not stream and _were_concurrent(other, delivery):
                self.twins[id(message)] = other
                break
        if len(earlier) < 8:
            earlier.append(delivery)

    def twin_of(self, message: Message) -> Delivery | None:
        """The earlier delivery of an equal message on a concurrent stream; asked while the message is judged."""
        return self.twins.get(id(message))


def _were_concurrent(earlier: Delivery, later: Delivery) -> bool:
    group = earlier.exchange.concurrent_group
    if group is not None or later.exchange.concurrent_group is not None:
        return group == later.exchange.concurrent_group
    if earlier.session is not later.session or earlier.session.may_be_shared:
        return False
    # Without times an ended stream may or may not have overlapped; what is still open when the other speaks did.
    return earlier.exchange.ending is None
