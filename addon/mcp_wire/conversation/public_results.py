"""Results that may be cached for everybody, as given to different credentials (2026-07-28
server/utilities/caching#cache-scope-field)."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Limit, Memory
from mcp_wire.conversation.clients import authorization_mark
from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Message
from mcp_wire.protocol.methods import method_of
from mcp_wire.protocol.profiles import R2026_07_28
from mcp_wire.wire.observation import Milliseconds
from mcp_wire.wire.strict_json import JsonValue, canonical

MAX_REQUESTS_REMEMBERED: Final = 1_024
MAX_COMPARED_BYTES: Final = 256 * 1024
"""Of one result; what a larger one says is not compared."""
PUBLIC_RESULTS: Final = Memory("results that may be cached for everybody", ("public_cache_varies_by_auth",))

MAX_TTL_MS: Final = 24 * 60 * 60 * 1000.0
"""A longer lifetime counts as a day, which no capture outlasts."""
ALTERNATIONS: Final = 4
"""Results in turns (A, B, A, B) that show that the credentials, and not the time, make the difference."""


@dataclass(frozen=True, slots=True)
class Given:
    """One public result: to whom, what (a digest that is only compared), when, and for how long it was fresh."""

    credentials: bytes
    content: bytes
    t_ms: Milliseconds
    ttl_ms: float


@dataclass(slots=True)
class PublicResults:
    """The latest public results of each request, method and params without `_meta` being equal."""

    _latest: BoundedTable[bytes, list[Given]] = field(
        default_factory=lambda: BoundedTable(MAX_REQUESTS_REMEMBERED, memory=PUBLIC_RESULTS)
    )
    _size_limit: Limit = field(
        default_factory=lambda: Limit(PUBLIC_RESULTS, f"{MAX_COMPARED_BYTES // 1024} KiB for one of them")
    )
    _varies: dict[int, bool] = field(default_factory=dict)

    def take(self, message: Message) -> None:
        """Remember a cacheable result of 2026-07-28, if it is public."""
        self._varies.clear()
        call, result = message.call, message.result
        if message.sender != "server" or call is None or result is None or result.get("cacheScope") != "public":
            return
        method = method_of(R2026_07_28, "client", call.method or "")
        ttl = result.get("ttlMs")
        if method is None or not method.cacheable or isinstance(ttl, bool) or not isinstance(ttl, int | float):
            return
        if message.t_ms is None:
            return
        if _size(message) > MAX_COMPARED_BYTES:
            self._size_limit.lose()
            return
        params = {name: value for name, value in call.request.params.items() if name != "_meta"}
        asked = digest(canonical([call.method, params]))
        credentials = authorization_mark(call.request.exchange.request)
        given = Given(credentials, _content(result), message.t_ms, min(float(ttl), MAX_TTL_MS))
        latest = [*(self._latest.get(asked) or []), given]
        self._latest.put(asked, latest[-ALTERNATIONS:])
        if len({given.credentials for given in latest}) > 1:
            self._varies[id(message)] = _alternates(latest[-ALTERNATIONS:])

    def varies_with(self, message: Message) -> bool | None:
        """Do the results of this request go with the credentials? None where nothing was compared. Asked while the
        message is judged."""
        return self._varies.get(id(message))


def _alternates(given: list[Given]) -> bool:
    if len(given) < ALTERNATIONS:
        return False
    first, second, third, fourth = given
    return (
        first.credentials == third.credentials != second.credentials == fourth.credentials
        and first.content == third.content != second.content == fourth.content
        and all(later.t_ms - one.t_ms < min(one.ttl_ms, later.ttl_ms) for one, later in pairwise(given))
    )


def _content(result: dict[str, JsonValue]) -> bytes:
    """Equal for results that say the same, in whatever order their lists are."""
    members: dict[str, JsonValue] = {}
    for name, value in result.items():
        if name not in ("_meta", "ttlMs"):
            members[name] = sorted(map(canonical, value)) if isinstance(value, list) else value  # type: ignore[assignment]
    return digest(canonical(members))


def _size(message: Message) -> int:
    content = message.exchange.content
    return len(message.event.block.raw) if message.event is not None else (content.body.raw_size or 0) if content else 0
