"""Which resources a session has subscribed to (2025-11-25 server/resources#subscriptions)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Limit, Memory
from mcp_wire.conversation.facts import Call, Message, Session
from mcp_wire.protocol.resource_uris import Resources

MAX_SUBSCRIPTIONS_REMEMBERED: Final = 1_000
"""Of one session; of one with more it is not said what it lacks."""
MAX_SESSIONS_REMEMBERED: Final = 1_024

SUBSCRIBED: Final = Memory("resource subscriptions of sessions", ("resource_update_without_subscription",))


@dataclass(slots=True)
class Subscribed:
    """The URIs that one session asked for, with the request that did; refused ones are left out when they are asked."""

    calls: dict[str, Call] = field(default_factory=dict)
    is_whole: bool = True

    def resources(self) -> Resources | None:
        """What it has subscribed to by now; None where that is not known any more."""
        if not self.is_whole:
            return None
        refused = {uri for uri, call in self.calls.items() if call.responses and call.responses[0].is_error}
        return Resources.of(uri for uri in self.calls if uri not in refused)


@dataclass(slots=True)
class ResourceSubscriptions:
    """The subscriptions of all sessions. An `unsubscribe` takes nothing away: what it crossed may still arrive."""

    _by_session: BoundedTable[Session, Subscribed] = field(
        default_factory=lambda: BoundedTable(MAX_SESSIONS_REMEMBERED, memory=SUBSCRIBED)
    )
    _a_session_limit: Limit = field(
        default_factory=lambda: Limit(SUBSCRIBED, f"{MAX_SUBSCRIPTIONS_REMEMBERED:,} of one session")
    )

    def of(self, session: Session) -> Subscribed | None:
        """None where the session was not seen to subscribe to anything."""
        return self._by_session.get(session)

    @property
    def forgotten(self) -> int:
        return self._by_session.forgotten

    def take(self, message: Message) -> None:
        """Learn from a request of the client."""
        uri, call = message.params.get("uri"), message.call
        if message.method != "resources/subscribe" or not isinstance(uri, str) or call is None:
            return
        subscribed = self.of(message.exchange.session)
        if subscribed is None:
            subscribed = Subscribed()
            self._by_session.put(message.exchange.session, subscribed)
        if len(subscribed.calls) < MAX_SUBSCRIPTIONS_REMEMBERED:
            subscribed.calls[uri] = call
        else:
            subscribed.is_whole = False
            self._a_session_limit.lose()
