"""Exchanges that were seen on both sides of an intermediary, brought together once both have ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from mcp_wire.conversation.facts import Exchange, Relayed

MAX_UPSTREAM_REMEMBERED: Final = 8
"""Requests that one exchange was sent on as; a further one is not compared."""


def relayed(ended: Exchange, recent: Iterable[Exchange]) -> Iterator[Relayed]:
    """What can be compared now that this exchange has ended. `recent`: the exchanges of the client's side."""
    if ended.server_side_of is None:
        for number, upstream in enumerate(ended.upstream):
            yield _relayed(ended, number, upstream)
        return
    exchange = next((other for other in recent if other.id == ended.server_side_of), None)
    if exchange is None or len(exchange.upstream) >= MAX_UPSTREAM_REMEMBERED:
        return
    exchange.upstream.append(ended)
    if exchange.ending is not None:
        yield _relayed(exchange, len(exchange.upstream) - 1, ended)


def _relayed(exchange: Exchange, number: int, upstream: Exchange) -> Relayed:
    t_ms = upstream.ending.t_ms if upstream.ending is not None else None
    return Relayed(exchange, upstream, t_ms, tuple(exchange.upstream[:number]))
