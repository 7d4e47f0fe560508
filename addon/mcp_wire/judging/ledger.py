"""Verdicts folded into findings and coverage: repetitions become a count, consequences go under their root."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from mcp_wire.conversation.bounded import Limit, Loss, Memory
from mcp_wire.judging.declaration import CannotTell, Rule, Satisfied, Verdict, Violated
from mcp_wire.judging.finding import Finding
from mcp_wire.judging.occurrences import Occurrences
from mcp_wire.wire.evidence import Evidence

Outcome = Literal["violated", "satisfied", "not_observed", "not_applicable", "cannot_tell"]

OBSERVER_ERROR: Final = "observer_error"
EVIDENCE_FORGOTTEN: Final = "evidence_forgotten"
EVIDENCE_FORGOTTEN_FIX: Final = "Capture a shorter stretch, or fewer clients at once, to have all of it judged."
MAX_CODES_NAMED: Final = 6
MAX_REASONS: Final = 4
MAX_ROOTS_REMEMBERED: Final = 10_000
MAX_FINDINGS: Final = 2_000
"""Different findings kept for one conversation; what comes after is counted in `dropped`."""

ROOTS: Final = Memory("exchanges with faults that explain others", follows="What they explain may be reported as well.")


@dataclass(slots=True)
class Coverage:
    """How often a rule was judged, and how that came out."""

    violated: int = 0
    satisfied: int = 0
    cannot_tell: int = 0
    reasons: list[str] = field(default_factory=list)

    @property
    def judged(self) -> int:
        return self.violated + self.satisfied + self.cannot_tell

    @property
    def outcome(self) -> Outcome:
        if self.violated:
            return "violated"
        if self.cannot_tell:
            return "cannot_tell" if not self.satisfied else "satisfied"
        return "satisfied" if self.satisfied else "not_observed"


@dataclass(slots=True)
class _Place:
    """The occurrences of one finding in one exchange."""

    exchange: str | None
    first_path: str
    last_path: str
    message: str
    count: int = 1


@dataclass(slots=True)
class _Entry:
    finding: Finding
    roots: tuple[str, ...] = ()
    """Codes that would explain this finding where they were found in the same exchange."""
    places: dict[str | None, _Place] = field(default_factory=dict)


class Ledger:
    """The findings of one conversation.

    `show` turns evidence into text that may leave the process. It is called once for each *new* finding.
    """

    def __init__(self, rules: Iterable[Rule], revision: str | None, show: Callable[[Evidence], str]) -> None:
        rules = tuple(rules)
        self._revision = revision
        self._show = show
        self._root_codes = frozenset(root for rule in rules for root in rule.consequence_of)
        self.roots_limit = Limit(ROOTS, f"{MAX_ROOTS_REMEMBERED:,}")
        self._entries: dict[tuple[str, str, str, str], _Entry] = {}
        self._codes_by_exchange: dict[str | None, set[str]] = {}
        self._broken_rules: set[str] = set()
        self.coverage: dict[str, Coverage] = {rule.code: Coverage() for rule in rules}
        self.dropped = 0
        self.occurrences: Occurrences | None = None
        """Made where somebody wants to know what was found in single exchanges."""

    def watch_occurrences(self) -> Occurrences:
        """From now on, keep what is found in each single exchange."""
        self.occurrences = Occurrences(self._message, self._revision)
        return self.occurrences

    def coverage_of(self, rule: Rule) -> Coverage:
        coverage = self.coverage.get(rule.code)
        if coverage is None:
            coverage = self.coverage[rule.code] = Coverage()
        return coverage

    def record(self, rule: Rule, verdict: Verdict, exchange: str | None) -> Finding | None:
        """Take one verdict. Returns the finding if this is the first time that it is made."""
        coverage = self.coverage_of(rule)
        match verdict:
            case Satisfied():
                coverage.satisfied += 1
                return None
            case CannotTell(reason):
                coverage.cannot_tell += 1
                if reason not in coverage.reasons and len(coverage.reasons) < MAX_REASONS:
                    coverage.reasons.append(reason)
                return None
            case Violated():
                coverage.violated += 1
                return self._violated(rule, verdict, verdict.exchange or exchange)

    def failed(self, rule: Rule, problem: BaseException, path: str, exchange: str | None) -> Finding | None:
        """A rule threw. Reported once a rule; its outcome becomes `cannot_tell`."""
        coverage = self.coverage_of(rule)
        coverage.cannot_tell += 1
        if rule.code in self._broken_rules:
            return None
        self._broken_rules.add(rule.code)
        if "the rule itself failed" not in coverage.reasons:
            coverage.reasons.append("the rule itself failed")
        return self.observer_error(
            f"The rule {rule.code} failed with {type(problem).__name__}; it could not tell.", path, exchange
        )

    def observer_error(self, message: str, path: str, exchange: str | None) -> Finding | None:
        """The observer, not a peer, is at fault. `message` must hold nothing from the wire."""
        key = (OBSERVER_ERROR, "", "", message)
        if key in self._entries:
            self._entries[key].finding.count += 1
            return None
        finding = Finding(
            code=OBSERVER_ERROR,
            level="info",
            party="pipeline",
            layer="capture_pipeline",
            path=path,
            message=message,
            exchange=exchange,
            citation=None,
            fix="Report it together with the transcript; the verdicts of other rules stand.",
        )
        self._entries[key] = _Entry(finding)
        return finding

    def forgotten(self, loss: Loss, times: int, path: str, exchange: str | None) -> Finding | None:
        """A limit made something unknown, which no rule in force may have a use for. Reported once a kind, counted."""
        memory = loss.memory
        key = (EVIDENCE_FORGOTTEN, "", "", memory.what)
        known = self._entries.get(key)
        if known is not None:
            known.finding.count += times
            known.finding.last_path = path
            return None
        asking = [code for code in memory.rules if code in self.coverage]
        if not asking and not memory.follows:
            return None
        follows = memory.follows or f"Where the rest would be needed, nothing is said by {_named(asking)}."
        finding = Finding(
            code=EVIDENCE_FORGOTTEN,
            level="info",
            party="pipeline",
            layer="capture_pipeline",
            path=path,
            message=f"Not all {memory.what} could be kept: the limit is {loss.limit}. {follows}",
            exchange=exchange,
            citation=None,
            fix=EVIDENCE_FORGOTTEN_FIX,
            count=times,
        )
        self._entries[key] = _Entry(finding)
        return finding

    def _violated(self, rule: Rule, verdict: Violated, exchange: str | None) -> Finding | None:
        level = verdict.level or rule.level_in(self._revision)
        party = verdict.party or rule.party
        self._remember(exchange, rule.code)
        if self.occurrences is not None:
            self.occurrences.take(rule, verdict, level, party, exchange)
        key = (rule.code, level, party, verdict.about)
        entry = self._entries.get(key)
        if entry is not None:
            entry.finding.count += 1
            entry.finding.last_path = verdict.path
            self._place(entry, verdict, exchange)
            return None
        if len(self._entries) >= MAX_FINDINGS:
            self.dropped += 1
            return None
        finding = Finding(
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
        self._entries[key] = entry = _Entry(finding, rule.consequence_of)
        self._place(entry, verdict, exchange)
        return None if self._root_of(entry, exchange) else finding

    def _message(self, verdict: Violated) -> str:
        return verdict.message.format(*map(self._show, verdict.evidence)) if verdict.evidence else verdict.message

    def _remember(self, exchange: str | None, code: str) -> None:
        if code not in self._root_codes:
            return
        codes = self._codes_by_exchange.get(exchange)
        if codes is None:
            if len(self._codes_by_exchange) >= MAX_ROOTS_REMEMBERED:
                self.roots_limit.lose()
                return
            codes = self._codes_by_exchange[exchange] = set()
        codes.add(code)

    def _place(self, entry: _Entry, verdict: Violated, exchange: str | None) -> None:
        if not entry.roots:
            return
        place = entry.places.get(exchange)
        if place is not None:
            place.count += 1
            place.last_path = verdict.path
        elif len(entry.places) < MAX_ROOTS_REMEMBERED:
            entry.places[exchange] = _Place(exchange, verdict.path, verdict.path, self._message(verdict))
        else:
            self.roots_limit.lose()

    def _root_of(self, entry: _Entry, exchange: str | None) -> str | None:
        codes = self._codes_by_exchange.get(exchange, ())
        return next((root for root in entry.roots if root in codes), None)

    def findings(self) -> list[Finding]:
        """All findings so far, in the order in which they were first made, consequences folded under their roots."""
        explained: dict[str, set[str]] = {}
        kept: list[Finding] = []
        for entry in self._entries.values():
            left: list[_Place] = []
            for place in entry.places.values():
                root = self._root_of(entry, place.exchange)
                if root is None:
                    left.append(place)
                else:
                    explained.setdefault(root, set()).add(entry.finding.code)
            if len(left) == len(entry.places):
                kept.append(replace(entry.finding))
            elif left:
                kept.append(
                    replace(
                        entry.finding,
                        path=left[0].first_path,
                        exchange=left[0].exchange,
                        message=left[0].message,
                        count=sum(place.count for place in left),
                        last_path=left[-1].last_path,
                    )
                )
        for finding in kept:
            finding.consequences = tuple(sorted(explained.get(finding.code, ())))
            if finding.last_path == finding.path:
                finding.last_path = None
        return kept


def _named(codes: list[str]) -> str:
    named = ", ".join(codes[:MAX_CODES_NAMED])
    return named if len(codes) <= MAX_CODES_NAMED else f"{named} and {len(codes) - MAX_CODES_NAMED} other rules"
