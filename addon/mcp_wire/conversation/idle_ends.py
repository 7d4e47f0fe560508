"""After how much silence streams were ended before they had done their work."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.facts import Ending, Exchange
from mcp_wire.wire.observation import Milliseconds

MAX_ENDS_REMEMBERED: Final = 32
SHORTEST_SILENCE_MS: Final = 10_000.0
AGREEMENT: Final = 0.02
"""Silences that differ by less than this share are taken for the same timer's."""


@dataclass(slots=True)
class IdleEnds:
    """The latest silences at the ends of streams that neither the client ended nor were over anyway."""

    agreeing: list[Milliseconds] = field(default_factory=list)
    """The silences that agree with the one before the latest end, itself the last; empty where that was due or busy."""
    _silences: deque[Milliseconds] = field(default_factory=lambda: deque(maxlen=MAX_ENDS_REMEMBERED))

    def take(self, ending: Ending) -> None:
        """Learn from the end of any exchange."""
        self.agreeing = []
        exchange = ending.exchange
        if not exchange.is_event_stream or exchange.is_open or was_due(ending):
            return
        silence = _silence_before(ending)
        if silence is not None and silence >= SHORTEST_SILENCE_MS:
            self.agreeing = [other for other in self._silences if abs(other - silence) <= AGREEMENT * silence]
            self.agreeing.append(silence)
            self._silences.append(silence)


def was_due(ending: Ending) -> bool:
    """The client ended it, or the stream had nothing left to do."""
    exchange = ending.exchange
    return ending.by_client or exchange.session.deleted is not None or _had_done_its_work(exchange)


def _had_done_its_work(exchange: Exchange) -> bool:
    calls = exchange.stream.origin.calls if exchange.stream is not None else exchange.calls
    return bool(calls) and not any(call.is_in_flight for call in calls)


def _silence_before(ending: Ending) -> Milliseconds | None:
    exchange = ending.exchange
    last = exchange.latest_arrival.t_ms if exchange.latest_arrival is not None else None
    if last is None and exchange.head is not None:
        last = exchange.head.t_ms
    return None if last is None or ending.t_ms is None else ending.t_ms - last
