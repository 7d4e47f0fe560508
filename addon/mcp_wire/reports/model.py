"""A report: what was found in one conversation, what to do about it, and how far the rules could judge.

The members are those of `--report json` (docs/transcript-format.md); their names are held on to by other people's
scripts. Nothing in it comes from the wire unredacted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from mcp_wire.judging.finding import Finding, Level
from mcp_wire.judging.ledger import Coverage, Outcome
from mcp_wire.judging.recovery import Advice
from mcp_wire.reports.timeline import Timeline, exchange_number
from mcp_wire.transcript.tuple_parts import unknown_parts
from mcp_wire.wire.strict_json import JsonValue

SEVERITY: Final[dict[Level, int]] = {"error": 2, "warning": 1, "info": 0}


@dataclass(frozen=True, slots=True)
class RuleCoverage:
    """How often one rule was judged in a conversation and how that came out. `reasons`: why it could not tell."""

    outcome: Outcome
    judged: int = 0
    violated: int = 0
    satisfied: int = 0
    cannot_tell: int = 0
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, coverage: Coverage) -> RuleCoverage:
        return cls(
            coverage.outcome,
            coverage.judged,
            coverage.violated,
            coverage.satisfied,
            coverage.cannot_tell,
            tuple(coverage.reasons),
        )

    @property
    def was_exercised(self) -> bool:
        """The rule came to a verdict at least once."""
        return bool(self.violated or self.satisfied)


NOT_APPLICABLE: Final = RuleCoverage("not_applicable")


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that a baseline lets pass. `date`: when it was accepted, as the baseline says."""

    finding: Finding
    reason: str
    date: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The report on one conversation. `profile` None: the document named none."""

    profile: str | None
    findings: tuple[Finding, ...]
    recovery: tuple[Advice, ...] = ()
    coverage: Mapping[str, RuleCoverage] = field(default_factory=dict)
    draft: bool = False
    normative: bool = False
    interoperability_tuple: Mapping[str, JsonValue] = field(default_factory=dict)
    tuple_contradicted: Mapping[str, JsonValue] = field(default_factory=dict)
    """What an operator states of the tuple, and the traffic or the transcript shows otherwise."""
    findings_dropped: int = 0
    """Different findings that were made beyond the number that is kept."""
    accepted: tuple[Accepted, ...] = ()
    """Findings that do not count, because a baseline accepts them."""
    hidden: int = 0
    """Findings that count, and that the reader did not want to see (`--show`)."""

    @property
    def tuple_unknown(self) -> tuple[str, ...]:
        """Parts of the interoperability tuple that nobody has told."""
        return unknown_parts(self.interoperability_tuple)

    @property
    def valid(self) -> bool:
        """There is no finding of level error."""
        return not has_findings_at(self.findings, "error")

    def with_findings(self, further: Iterable[Finding]) -> Report:
        """The same report with findings that are not the judge's own."""
        return replace(self, findings=(*self.findings, *further))


@dataclass(frozen=True, slots=True)
class NamedReport:
    """A report and the name of the transcript that it is about, as it was given.

    `timeline`: what happened on the wire, where the form of the report shows it. `lines`: for each exchange, the line
    of the transcript on which it begins, from 1; empty where that is not known.
    """

    transcript: str
    report: Report
    timeline: Timeline | None = None
    lines: tuple[int, ...] = ()

    def line_of(self, path: str) -> int | None:
        """The line of the transcript on which the exchange begins that a path points into."""
        number = exchange_number(path)
        return self.lines[number] if number is not None and number < len(self.lines) else None


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that one report is about: conversations, and findings that belong to no single one of them.

    `fail_on`: the level from which on a finding makes the run fail.
    """

    reports: tuple[NamedReport, ...]
    further: tuple[Finding, ...] = ()
    fail_on: Level = "error"

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*(finding for named in self.reports for finding in named.report.findings), *self.further)

    def folded(self) -> Results:
        """With the further findings in the only report, where there is just one."""
        if len(self.reports) != 1 or not self.further:
            return self
        [only] = self.reports
        return replace(self, reports=(replace(only, report=only.report.with_findings(self.further)),), further=())


def has_findings_at(findings: Iterable[Finding], level: Level) -> bool:
    """There is a finding of this level or a graver one."""
    return any(SEVERITY[finding.level] >= SEVERITY[level] for finding in findings)
