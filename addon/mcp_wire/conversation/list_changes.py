"""Lists that were found changed while the client could be told of it, and whether it was.

Sources: #list-changed-notification of server/tools, server/prompts and server/resources.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import Limit, Memory
from mcp_wire.conversation.clients import client_mark
from mcp_wire.conversation.facts import CaptureEnd, Exchange, Fact, Message, Session
from mcp_wire.conversation.listings import LISTS, Listing, Listings
from mcp_wire.conversation.subscriptions import Subscriptions
from mcp_wire.protocol.methods import LISTEN_FILTERS
from mcp_wire.wire.observation import Milliseconds

MAX_CHANGES_PENDING: Final = 64
PENDING_CHANGES: Final = Memory("changed lists whose notification may still come", ("list_change_not_notified",))
NOTIFICATION_GRACE_MS: Final = 5_000.0
"""So long after a list was found changed its notification may still come."""


@dataclass(slots=True)
class ListChange:
    """A list that was found changed. `told`: the client was told in time; None where the capture does not show it."""

    found: Message
    before: Listing
    channels: list[Exchange]
    """Streams that could have carried the notification ever since the list before."""
    told: bool | None = None


@dataclass(slots=True)
class ListChanges:
    """Changes whose notification may still come, and those that are decided by the fact at hand."""

    decided: list[ListChange] = field(default_factory=list)
    _pending: list[ListChange] = field(default_factory=list)
    _pending_limit: Limit = field(default_factory=lambda: Limit(PENDING_CHANGES, f"{MAX_CHANGES_PENDING}"))

    def take(self, fact: Fact, now_ms: Milliseconds | None, listings: Listings) -> None:
        """Decide what is overdue. Called for every fact, before it is linked."""
        self.decided = []
        if not self._pending:
            return
        for change in list(self._pending):
            changes = listings.changes_told(change.before.owner, change.before.method)
            if changes > change.before.changes:
                change.told = True
            elif (
                not any(channel.ending is None for channel in change.channels)
                or isinstance(fact, CaptureEnd)
                or listings.forgot_changes
            ):
                change.told = None
            elif _is_overdue(change, now_ms):
                change.told = False
            else:
                continue
            self._pending.remove(change)
            self.decided.append(change)

    def take_listing(
        self, message: Message, listings: Listings, open_streams: Iterable[Exchange], subscriptions: Subscriptions
    ) -> None:
        """A list is complete: expect a notification if it is another one than before, and could be announced."""
        now, before = listings.completed, listings.previous
        if now is None or before is None or now.names == before.names or before.t_ms is None:
            return
        channels = [one for one in open_streams if _could_carry(one, before, subscriptions)]
        if channels and len(self._pending) >= MAX_CHANGES_PENDING:
            self._pending_limit.lose()
        elif channels:
            self._pending.append(ListChange(message, before, channels))


def _is_overdue(change: ListChange, now_ms: Milliseconds | None) -> bool:
    found = change.found.t_ms
    return found is not None and now_ms is not None and now_ms - found > NOTIFICATION_GRACE_MS


def _could_carry(stream: Exchange, before: Listing, subscriptions: Subscriptions) -> bool:
    """The stream is open since the list before was complete, and its server said that it would tell of changes."""
    head, kind = stream.head, LISTS[before.method]
    if head is None or head.t_ms is None or before.t_ms is None or head.t_ms > before.t_ms:
        return False
    if isinstance(before.owner, Session):
        offered = (before.owner.server_capabilities or {}).get(kind.member)
        is_get = stream.request.method.upper() == "GET" and stream.request.last_event_id is None
        tells = isinstance(offered, dict) and offered.get("listChanged") is True
        return tells and is_get and stream.session is before.owner
    subscription = subscriptions.of(stream)
    granted = subscription.granted if subscription is not None else None
    tells = granted is not None and granted.kinds.get(LISTEN_FILTERS[kind.notification]) is True
    return tells and client_mark(stream.request) == before.owner
