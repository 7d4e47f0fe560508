"""Requests that had no response when their exchange was over, or when the capture ended.

A client that gives up closes its connection and says so in another exchange (`notifications/cancelled`), or comes back
for the rest (Last-Event-ID). Either may follow the close, so that what an end means is known a little later.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import Limit, Memory
from mcp_wire.conversation.facts import CaptureEnd, Ending, Fact, ResponseHead
from mcp_wire.wire.observation import Ended, Milliseconds

MAX_ENDS_WAITING: Final = 64
"""Ends of unanswered requests that wait for an explanation at the same time."""
EXPLANATION_GRACE_MS: Final = 5_000.0
"""How long after its end a cancellation may follow, and after the stream's `retry` a resumption: longer than one round
trip takes."""

UNANSWERED: Final = Memory("ends of unanswered requests that wait for an explanation", ("request_left_unanswered",))


@dataclass(slots=True)
class UnansweredRequests:
    """The latest ends of exchanges whose requests had no response."""

    settled: list[Ending] = field(default_factory=list)
    """Ends that, as is certain now, were neither a cancellation nor followed by a resumption."""
    _waiting: deque[Ending] = field(default_factory=deque)
    _limit: Limit = field(default_factory=lambda: Limit(UNANSWERED, f"{MAX_ENDS_WAITING}"))

    def take(self, fact: Fact, now_ms: Milliseconds | None) -> None:
        """Learn from any fact, once it is linked. Messages of a request come before its head, so that a cancellation is
        known when its head or end is taken."""
        if self.settled:
            self.settled = []
        if isinstance(fact, Ending) and not _is_for_others(fact) and _is_unexplained(fact):
            if fact.ended is Ended.OPEN:  # what still runs ends last: nothing more will be learned of it
                self.settled.append(fact)
            else:
                self._wait(fact)
        if isinstance(fact, CaptureEnd):
            self.settled = [end for end in self._waiting if _is_unexplained(end)]
            self._waiting.clear()
        elif isinstance(fact, Ending | ResponseHead):
            for end in [end for end in self._waiting if _is_overdue(end, now_ms)]:
                self._waiting.remove(end)
                if _is_unexplained(end):
                    self.settled.append(end)

    def _wait(self, ending: Ending) -> None:
        if len(self._waiting) >= MAX_ENDS_WAITING:
            gone = next((end for end in self._waiting if not _is_unexplained(end)), None)
            if gone is None:
                self._waiting.popleft()
                self._limit.lose()
            else:
                self._waiting.remove(gone)
        self._waiting.append(ending)


def _is_overdue(ending: Ending, now_ms: Milliseconds | None) -> bool:
    if ending.t_ms is None or now_ms is None:
        return False
    stream = ending.exchange.stream
    retry = stream.retry_ms if stream is not None and stream.cursor is not None else None
    return now_ms - ending.t_ms >= EXPLANATION_GRACE_MS + (retry or 0)


def _is_for_others(ending: Ending) -> bool:
    """Nothing is known of the end, or the answer is whole and judged as such (unless the session was being deleted)."""
    exchange = ending.exchange
    if ending.ended is Ended.COMPLETE:
        return not exchange.is_event_stream or exchange.session.deleting is None
    return ending.ended is None


def _is_unexplained(ending: Ending) -> bool:
    """Some request of its stream still waits, and nobody has come back for it."""
    exchange = ending.exchange
    resumed = exchange.stream is not None and exchange.stream.current is not exchange
    return not resumed and bool(exchange.waiting_calls)
