"""What the subscriptions of 2026-07-28 asked for, and how their streams went on (basic/patterns/subscriptions)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Limit, Memory
from mcp_wire.conversation.facts import Ending, Exchange, Message
from mcp_wire.protocol.methods import LISTEN_FILTERS
from mcp_wire.protocol.resource_uris import Resources
from mcp_wire.wire.strict_json import JsonValue

MAX_SUBSCRIPTIONS_REMEMBERED: Final = 4_096
"""Subscriptions kept at the same time; ended ones are forgotten first, and of a forgotten one nothing is said."""
MAX_FILTER_BYTES_REMEMBERED: Final = 8 * 1024 * 1024
"""Characters of the URIs in remembered filters."""
MAX_RESOURCES_REMEMBERED: Final = 1_000
"""URIs of one filter; of a longer one it is not said what it lacks."""

SUBSCRIPTIONS: Final = Memory(
    "open subscriptions",
    (
        "subscription_ack_missing",
        "subscription_id_mismatch",
        "unrequested_notification",
        "request_scoped_on_listen",
        "listen_closed_without_result",
        "no_keepalive_on_listen",
        "resource_update_not_subscribed",
        "list_change_not_notified",
    ),
)
FILTERED_RESOURCES: Final = Memory("URIs of a subscription's filter", ("resource_update_not_subscribed",))

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
RESOURCE_SUBSCRIPTIONS: Final = "resourceSubscriptions"


@dataclass(frozen=True, slots=True)
class Filter:
    """A SubscriptionFilter, read as far as it can be.

    `kinds`: for each kind of notification (`toolsListChanged` ...) whether it is asked for; None where its value does
    not say. `is_there` False: there is no filter at all.
    """

    kinds: dict[str, bool | None]
    resources: Resources | None
    named: frozenset[str]
    """The members that are there, of those that the specification defines."""
    is_there: bool = True
    is_too_long: bool = False
    """It names more resources than are read."""

    @classmethod
    def of(cls, value: JsonValue) -> Filter:
        """Read `params.notifications` of a listen request or of an acknowledgment. Total."""
        if not isinstance(value, dict):
            return cls(dict.fromkeys(LISTEN_FILTERS.values()), None, frozenset(), is_there=False)
        kinds = {kind: _flag(value.get(kind, False)) for kind in LISTEN_FILTERS.values()}
        uris = value.get(RESOURCE_SUBSCRIPTIONS)
        resources = None
        is_too_long = isinstance(uris, list) and len(uris) > MAX_RESOURCES_REMEMBERED
        if isinstance(uris, list) and not is_too_long:
            named = [uri for uri in uris if isinstance(uri, str)]
            if len(named) == len(uris):
                kinds[RESOURCE_SUBSCRIPTIONS] = bool(named)
                resources = Resources.of(named)
        named_kinds = frozenset(kind for kind in kinds if kind in value)
        return cls(kinds, resources, named_kinds, is_too_long=is_too_long)


def _flag(value: JsonValue) -> bool | None:
    return value if isinstance(value, bool) else None


@dataclass(slots=True)
class Subscription:
    """One `subscriptions/listen` and its stream, as far as verdicts need it."""

    id_key: tuple[str, ...] | None
    filter: Filter
    granted: Filter | None = None
    """What the acknowledgment grants; None while there is none."""
    is_answered: bool = False
    """There was a response: the graceful end, or a refusal."""
    is_cancelled: bool = False
    """The server sent `notifications/cancelled` on the stream."""
    first_path: str | None = None
    """Where the first message of the response was."""
    is_over: bool = False


@dataclass(slots=True)
class Subscriptions:
    """The subscriptions of all clients, by exchange: each has a response stream of its own."""

    _by_exchange: BoundedTable[str, Subscription] = field(
        default_factory=lambda: BoundedTable(
            MAX_SUBSCRIPTIONS_REMEMBERED,
            is_done=lambda one: one.is_over,
            done_is_spent=True,
            weight_ceiling=MAX_FILTER_BYTES_REMEMBERED,
            memory=SUBSCRIPTIONS,
        )
    )
    _resources_limit: Limit = field(default_factory=lambda: Limit(FILTERED_RESOURCES, f"{MAX_RESOURCES_REMEMBERED:,}"))

    def of(self, exchange: Exchange) -> Subscription | None:
        """The subscription whose response this exchange carries."""
        return self._by_exchange.get(exchange.id)

    def take(self, message: Message) -> None:
        """Learn from a message of 2026-07-28, of either side."""
        if message.sender == "client":
            if message.is_request and message.method == LISTEN and not message.in_batch:
                self._open(message)
            return
        found = self.of(message.exchange)
        if found is None:
            return
        found.first_path = found.first_path or message.path
        if message.is_response:
            found.is_answered = True
        elif message.method == ACKNOWLEDGED and found.granted is None:
            found.granted = Filter.of(message.params.get("notifications"))
            if found.granted.is_too_long:
                self._resources_limit.lose()
        elif message.method == "notifications/cancelled":
            found.is_cancelled = True

    def take_ending(self, ending: Ending) -> None:
        found = self.of(ending.exchange)
        if found is not None:
            found.is_over = True

    def _open(self, request: Message) -> None:
        asked = Filter.of(request.params.get("notifications"))
        weight = sum(map(len, asked.resources.uris)) if asked.resources is not None else 0
        if asked.is_too_long:
            self._resources_limit.lose()
        self._by_exchange.put(request.exchange.id, Subscription(request.envelope.id_key, asked), weight)
