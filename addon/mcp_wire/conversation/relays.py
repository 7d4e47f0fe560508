"""Exchanges that were seen on both sides of an intermediary, brought together once both have ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import Limit, Memory
from mcp_wire.conversation.facts import Exchange, Relayed

MAX_RECENT_EXCHANGES: Final = 256
"""Exchanges of the client's side that are looked through for the one that was sent on."""
MAX_UPSTREAM_REMEMBERED: Final = 8
"""Requests that one exchange was sent on as; a further one is not compared."""

SENT_ON: Final = Memory(
    "exchanges to be compared with what an intermediary sent on",
    ("sse_compressed", "response_buffered", "mcp_header_altered", "intermediary_replayed_post"),
)


@dataclass(slots=True)
class Relays:
    """Finds the exchange that an intermediary sent on."""

    _recent_limit: Limit = field(default_factory=lambda: Limit(SENT_ON, f"the latest {MAX_RECENT_EXCHANGES}"))
    _upstream_limit: Limit = field(
        default_factory=lambda: Limit(SENT_ON, f"{MAX_UPSTREAM_REMEMBERED} requests made of one")
    )

    def of(self, ended: Exchange, recent: Sequence[Exchange]) -> Iterator[Relayed]:
        """What can be compared now that this exchange has ended. `recent`: the exchanges of the client's side."""
        if ended.server_side_of is None:
            for number, upstream in enumerate(ended.upstream):
                yield _relayed(ended, number, upstream)
            return
        exchange = next((other for other in recent if other.id == ended.server_side_of), None)
        if exchange is None:
            if len(recent) >= MAX_RECENT_EXCHANGES:
                self._recent_limit.lose()
            return
        if len(exchange.upstream) >= MAX_UPSTREAM_REMEMBERED:
            self._upstream_limit.lose()
            return
        exchange.upstream.append(ended)
        if exchange.ending is not None:
            yield _relayed(exchange, len(exchange.upstream) - 1, ended)


def _relayed(exchange: Exchange, number: int, upstream: Exchange) -> Relayed:
    t_ms = upstream.ending.t_ms if upstream.ending is not None else None
    return Relayed(exchange, upstream, t_ms, tuple(exchange.upstream[:number]))
