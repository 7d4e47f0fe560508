"""What was found in each single exchange.

The ledger folds a conversation: one finding a fault, wherever it was repeated. Whoever looks at one exchange wants to
know of the repetitions there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable
from mcp_wire.judging.declaration import Rule, Violated
from mcp_wire.judging.finding import Finding, Level, Party

MAX_EXCHANGES: Final = 4_096
"""Exchanges of one conversation whose own findings are known."""
MAX_FINDINGS: Final = 64
"""Different findings of one exchange."""


@dataclass(slots=True)
class _Found:
    findings: dict[tuple[str, Level, Party, str], Finding] = field(default_factory=dict)
    roots: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For a code, those that explain it where they were found as well."""


class Occurrences:
    """The findings of each exchange. `message` makes the text of a verdict; it is called once for each new finding."""

    def __init__(self, message: Callable[[Violated], str], revision: str | None) -> None:
        self._message = message
        self._revision = revision
        self._found: BoundedTable[str, _Found] = BoundedTable(MAX_EXCHANGES)
        self._changed: dict[str, None] = {}

    def take(self, rule: Rule, verdict: Violated, level: Level, party: Party, exchange: str | None) -> None:
        if exchange is None:
            return
        found = self._found.get(exchange)
        if found is None:
            found = _Found()
            self._found.put(exchange, found)
        key = (rule.code, level, party, verdict.about)
        finding = found.findings.get(key)
        if finding is not None:
            finding.count += 1
            finding.last_path = verdict.path
            if finding.count & (finding.count - 1):  # a count is news at powers of two only
                return
        elif len(found.findings) < MAX_FINDINGS:
            found.roots[rule.code] = rule.consequence_of
            found.findings[key] = Finding(
                code=rule.code,
                level=level,
                party=party,
                layer=rule.layer,
                path=verdict.path,
                message=self._message(verdict),
                exchange=exchange,
                citation=rule.citation_in(self._revision),
                fix=rule.fix,
            )
        else:
            return
        self._changed[exchange] = None

    def of(self, exchange: str) -> list[Finding]:
        """The findings of one exchange as of now, without those that others of them explain."""
        found = self._found.get(exchange)
        if found is None:
            return []
        codes = {finding.code for finding in found.findings.values()}
        return [replace(finding) for finding in found.findings.values() if codes.isdisjoint(found.roots[finding.code])]

    def changed(self) -> list[str]:
        """The exchanges of which there is news since this was asked last."""
        changed = list(self._changed)
        self._changed.clear()
        return changed
