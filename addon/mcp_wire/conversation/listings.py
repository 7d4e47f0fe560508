"""Whole lists of tools, prompts and resources, page by page, and how they differ from one time to the next.

Sources: server/tools, server/prompts and server/resources, #list-changed-notification and (2026-07-28) #capabilities.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Limit, Memory
from mcp_wire.conversation.clients import authorization_mark, client_key
from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Message, Session
from mcp_wire.wire.observation import Milliseconds
from mcp_wire.wire.strict_json import JsonValue

MAX_LISTS_REMEMBERED: Final = 1_024
MAX_NAMES_IN_A_LIST: Final = 10_000
MAX_EARLIER_LISTS: Final = 4

BEGUN_LISTS: Final = Memory(
    "lists of which more pages are to come",
    ("tool_name_invalid", "list_change_not_notified", "list_order_unstable", "list_varies_per_connection"),
)
LATEST_LISTS: Final = Memory("latest lists of each client", ("list_change_not_notified",))
EARLIER_LISTS: Final = Memory(
    "latest lists for each authorization", ("list_order_unstable", "list_varies_per_connection")
)
TOLD_CHANGES: Final = Memory(
    "clients that were told of changed lists", ("list_change_not_notified", "list_varies_per_connection")
)
LONG_LISTS: Final = Memory(
    "names of one list",
    ("tool_name_invalid", "list_change_not_notified", "list_order_unstable", "list_varies_per_connection"),
)

Client = Session | bytes


@dataclass(frozen=True, slots=True)
class ListKind:
    """`member` of the result holds the items and names the capability, `identity` of an item names it."""

    member: str
    identity: str
    notification: str


LISTS: Final = {
    "tools/list": ListKind("tools", "name", "notifications/tools/list_changed"),
    "prompts/list": ListKind("prompts", "name", "notifications/prompts/list_changed"),
    "resources/list": ListKind("resources", "uri", "notifications/resources/list_changed"),
}
_NOTIFICATIONS: Final = {kind.notification: method for method, kind in LISTS.items()}


@dataclass(frozen=True, slots=True)
class Listing:
    """One whole list, from its first page to its last. Names are kept as digests that are only compared."""

    owner: Client
    method: str
    names: bytes
    """Equal for the same set of names."""
    order: bytes
    """Equal for the same names in the same order."""
    has_twins: bool
    asked_ms: Milliseconds | None
    t_ms: Milliseconds | None
    changes: int
    """`changes_told` when the client asked for the first page."""


@dataclass(slots=True)
class _Chain:
    """A list of which only the first pages are known. `awaits`: the cursor that continues it."""

    names: list[str]
    awaits: str
    asked_ms: Milliseconds | None
    changes: int


@dataclass(slots=True)
class Listings:
    """The latest lists of each client, and of each authorization."""

    completed: Listing | None = None
    """The list that the message at hand completes."""
    earlier: tuple[Listing, ...] = ()
    """What the same authorization was given before, the latest last (2026-07-28)."""
    previous: Listing | None = None
    """What the same client was given before."""
    _chains: BoundedTable[tuple[Client, str], _Chain] = field(
        default_factory=lambda: BoundedTable(MAX_LISTS_REMEMBERED, memory=BEGUN_LISTS)
    )
    _latest: BoundedTable[tuple[Client, str], Listing] = field(
        default_factory=lambda: BoundedTable(MAX_LISTS_REMEMBERED, memory=LATEST_LISTS)
    )
    _by_authorization: BoundedTable[tuple[bytes, str], deque[Listing]] = field(
        default_factory=lambda: BoundedTable(MAX_LISTS_REMEMBERED, memory=EARLIER_LISTS)
    )
    _changes: BoundedTable[tuple[Client, str], int] = field(
        default_factory=lambda: BoundedTable(MAX_LISTS_REMEMBERED, memory=TOLD_CHANGES)
    )
    _earlier_limit: Limit = field(
        default_factory=lambda: Limit(EARLIER_LISTS, f"{MAX_EARLIER_LISTS} different ones in a row")
    )
    _names_limit: Limit = field(default_factory=lambda: Limit(LONG_LISTS, f"{MAX_NAMES_IN_A_LIST:,}"))
    _told: int = 0

    def take(self, message: Message, *, is_modern: bool) -> None:
        """Learn from a message of the server."""
        self.completed, self.earlier, self.previous = None, (), None
        if message.sender != "server":
            return
        if message.method in _NOTIFICATIONS:
            self._changed(message, _NOTIFICATIONS[message.method], is_modern)
        elif message.call is not None and message.call.method in LISTS and message.result is not None:
            self._page(message, message.call.method, message.result, is_modern)

    def changes_told(self, owner: Client, method: str) -> int:
        """A number that grows with every notification of a change of this list that the client gets."""
        return self._changes.get((owner, method)) or 0

    @property
    def forgot_changes(self) -> bool:
        """A client may have been told of a change, and it is not known any more."""
        return self._changes.forgotten > 0

    def _changed(self, message: Message, method: str, is_modern: bool) -> None:
        owner = client_key(message.exchange.request, is_modern=is_modern)
        self._told += 1
        self._changes.put((owner, method), self._told)

    def _page(self, message: Message, method: str, result: dict[str, JsonValue], is_modern: bool) -> None:
        assert message.call is not None
        request = message.call.request
        key = client_key(request.exchange.request, is_modern=is_modern), method
        chain, cursor = self._chains.get(key), request.params.get("cursor")
        self._chains.discard(key)
        if "cursor" not in request.params:
            chain = _Chain([], "", request.t_ms, self.changes_told(*key))
        elif chain is None or chain.awaits != cursor:
            return
        items = result.get(LISTS[method].member)
        if not isinstance(items, list):
            return
        if len(chain.names) + len(items) > MAX_NAMES_IN_A_LIST:
            self._names_limit.lose()
            return
        chain.names.extend(_names(items, LISTS[method].identity))
        following = result.get("nextCursor")
        if isinstance(following, str):
            chain.awaits = following
            self._chains.put(key, chain)
        elif "nextCursor" not in result:
            self._complete(message, key, chain, request)

    def _complete(self, message: Message, key: tuple[Client, str], chain: _Chain, request: Message) -> None:
        names = sorted(chain.names)
        listing = Listing(
            owner=key[0],
            method=key[1],
            names=digest("\n".join(names)),
            order=digest("\n".join(chain.names)),
            has_twins=len(set(names)) < len(names),
            asked_ms=chain.asked_ms,
            t_ms=message.t_ms,
            changes=chain.changes,
        )
        self.completed, self.previous = listing, self._latest.get(key)
        self._latest.put(key, listing)
        mark = authorization_mark(request.exchange.request), key[1]
        before = self._by_authorization.get(mark)
        if before is None:
            before = deque()
            self._by_authorization.put(mark, before)
        self.earlier = tuple(before)
        before.append(listing)
        if len(before) > MAX_EARLIER_LISTS:
            oldest = before.popleft()
            if all(one.names != oldest.names for one in before):
                self._earlier_limit.lose()


def _names(items: Iterable[JsonValue], identity: str) -> Iterable[str]:
    for item in items:
        name = item.get(identity) if isinstance(item, dict) else None
        yield name if isinstance(name, str) else ""
