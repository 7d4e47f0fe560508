"""Demands on coverage (`--require`): a run that never exercised a named rule has proved nothing about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mcp_wire.judging.declaration import Rule
from mcp_wire.judging.finding import Finding
from mcp_wire.judging.ledger import Ledger
from mcp_wire.reports.model import Report, RuleCoverage
from mcp_wire.rules import own_findings
from mcp_wire.rules.own_findings import Requirement


def unexercised(
    codes: Iterable[str],
    reports: Sequence[Report],
    chosen: Iterable[Rule],
    why_not_chosen: Callable[[str], str] = lambda code: "it was not chosen",
) -> list[Finding]:
    """One finding for each code whose rule came to no verdict in any of the reports.

    `chosen`: the rules that ran. `why_not_chosen`: tells of a code whose rule did not why, as a clause.
    """
    declared = next(rule for rule in own_findings.BOOK.rules if Requirement in rule.facts)
    ran = {rule.code for rule in chosen}
    ledger = Ledger([declared], None, lambda _: "")
    for code in dict.fromkeys(codes):
        coverages = [report.coverage[code] for report in reports if code in report.coverage]
        requirement = Requirement(
            code,
            any(coverage.was_exercised for coverage in coverages),
            _otherwise(coverages) if code in ran else why_not_chosen(code),
        )
        for verdict in declared.judge(requirement, None):
            ledger.record(declared, verdict, None)
    return ledger.findings()


def _otherwise(coverages: Sequence[RuleCoverage]) -> str:
    reasons = sorted({reason for coverage in coverages for reason in coverage.reasons})
    if reasons:
        return f"it could not tell ({'; '.join(reasons)})"
    if coverages and all(coverage.outcome == "not_applicable" for coverage in coverages):
        return "the profile does not have it"
    return "nothing that it judges was observed"
