"""An owner's decisions that a request may be sent again, as far as they are complete.

A decision is for one tool or for one exchange, holds the four confirmations without which nothing is repeated, and the
bounds within which it is. What a decision leaves out counts as not confirmed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, get_args

Confirmation = Literal["no_duplicate_effect", "no_unseen_commit", "retry_policy_permits", "fresh_jsonrpc_id"]
CONFIRMATIONS: Final[tuple[Confirmation, ...]] = get_args(Confirmation)

MAX_ATTEMPTS: Final = 3
"""Repetitions of one request that a decision may allow. Who needs more has to find out first why these failed."""

_NOT_CONFIRMED: Final[dict[Confirmation, str]] = {
    "no_duplicate_effect": "the confirmation that repeating cannot duplicate an external effect",
    "no_unseen_commit": "the confirmation that the server did not commit an unseen result",
    "retry_policy_permits": "the confirmation that the retry policy permits it",
    "fresh_jsonrpc_id": "the confirmation that a fresh JSON-RPC id will be generated",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision. It is about a `tool` (perhaps of the `server` of that name only), or about an `exchange` of a
    `transcript`, which is named as its file is, without the folder. `date`: YYYY-MM-DD. `attempts` 0, and empty texts:
    not said."""

    tool: str | None = None
    server: str | None = None
    exchange: str | None = None
    transcript: str | None = None
    owner: str = ""
    date: str = ""
    confirmations: frozenset[Confirmation] = frozenset()
    attempts: int = 0
    rollback: str = ""
    duplicate_effect_guard: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """What it takes to be complete, in words, in the order of the documentation."""
        missing = [words for name, words in _NOT_CONFIRMED.items() if name not in self.confirmations]
        bounds = {
            "an owner": self.owner,
            "the date of the decision": self.date,
            "the number of attempts": 0 < self.attempts <= MAX_ATTEMPTS,
            "a rollback": self.rollback,
            "a guard against a duplicate effect": self.duplicate_effect_guard,
        }
        return (*missing, *(words for words, said in bounds.items() if not said))

    @property
    def is_complete(self) -> bool:
        return not self.missing

    @property
    def about(self) -> tuple[str | None, ...]:
        """Two decisions of which this is equal are about the same thing."""
        return self.tool, self.server, self.exchange, self.transcript


class Decisions:
    """The decisions that hold for one transcript: those about its exchanges, and those about tools."""

    def __init__(self, decisions: Iterable[Decision], transcript: str) -> None:
        self._by_exchange: dict[str, Decision] = {}
        self._by_tool: dict[tuple[str, str | None], Decision] = {}
        for decision in decisions:
            if decision.tool is not None:
                self._by_tool[decision.tool, decision.server] = decision
            elif decision.exchange is not None and decision.transcript == transcript:
                self._by_exchange[decision.exchange] = decision

    def of_exchange(self, exchange: str) -> Decision | None:
        return self._by_exchange.get(exchange)

    def of_tool(self, tool: str, server: str | None) -> Decision | None:
        """The decision about a tool of the server of this name (None: it is not known)."""
        named = self._by_tool.get((tool, server)) if server is not None else None
        return named or self._by_tool.get((tool, None))

    def are_about(self, tool: str) -> bool:
        """There is a decision about a tool of this name, of whatever server."""
        return any(name == tool for name, _ in self._by_tool)
