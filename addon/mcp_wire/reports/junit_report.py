"""`--report junit`: one test case for each rule and conversation, in the XML that CI systems read (Jenkins' schema).

A case fails where a finding of its rule is at or above the level that fails the run. What was not observed, could not
be told or is not part of the profile is skipped, and says why: a run that proved nothing must not look like a pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from mcp_wire.judging.finding import Finding, Level
from mcp_wire.judging.ledger import Outcome
from mcp_wire.reports.evidence import excerpt
from mcp_wire.reports.model import Accepted, NamedReport, Report, Results, RuleCoverage, has_findings_at
from mcp_wire.reports.words import WHO_MUST_ACT, printable, tuple_rows

SUITE_OF_THE_RUN: Final = "the run itself"
_NOT_JUDGED: Final[dict[Outcome, str]] = {
    "not_observed": "not observed: nothing that the rule judges occurred",
    "not_applicable": "not applicable: the profile does not have this rule",
    "cannot_tell": "cannot tell",
}


@dataclass(frozen=True, slots=True)
class _Case:
    """`notes` are findings below the failing level, and whatever else a passing case has to say."""

    code: str
    failures: tuple[Finding, ...] = ()
    skipped: str | None = None
    notes: str = ""


def render(results: Results) -> str:
    """A `testsuites` document; a suite a conversation, and one for findings that belong to none."""
    suites = [(named.transcript, _cases(named, results.fail_on), named) for named in results.reports]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', _opening(suites, results)]
    for name, cases, named in suites:
        lines += _suite(name, cases, named)
    if results.further:
        lines += _suite(SUITE_OF_THE_RUN, _cases_of_findings(results.further, results.fail_on), None)
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _opening(suites: Sequence[tuple[str, list[_Case], NamedReport]], results: Results) -> str:
    cases = [case for _, cases, _ in suites for case in cases]
    cases += _cases_of_findings(results.further, results.fail_on)
    return (
        f'<testsuites name="mcp-conformance" tests="{len(cases)}" failures="{_failed(cases)}" errors="0" disabled="0">'
    )


def _suite(name: str, cases: Sequence[_Case], named: NamedReport | None) -> Iterator[str]:
    skipped = sum(case.skipped is not None for case in cases)
    yield (
        f' <testsuite name={_quoted(name)} tests="{len(cases)}" failures="{_failed(cases)}" errors="0" '
        f'skipped="{skipped}">'
    )
    if named is not None:
        unknown = ", ".join(named.report.tuple_unknown)
        rows = [("profile", named.report.profile or ""), *tuple_rows(named.report)]
        yield "  <properties>"
        for part, known in (*rows, *([("not known", unknown)] if unknown else [])):
            yield f"   <property name={_quoted(part)} value={_quoted(known)}/>"
        yield "  </properties>"
    for case in cases:
        yield from _case(case, name, named)
    yield from _advice(named)
    yield " </testsuite>"


def _advice(named: NamedReport | None) -> Iterator[str]:
    if named is None:
        return
    lines = [f"{one.path} (exchange {one.exchange}): {one.action}: {one.condition}" for one in named.report.recovery]
    if named.report.findings_dropped:
        lines.append(f"{named.report.findings_dropped} further findings were not kept.")
    if lines:
        yield f"  <system-out>{_text(lines)}</system-out>"


def _case(case: _Case, suite: str, named: NamedReport | None) -> Iterator[str]:
    opening = f"  <testcase classname={_quoted(suite)} name={_quoted(case.code)}"
    if case.skipped is None and not case.failures and not case.notes:
        yield f"{opening}/>"
        return
    yield f"{opening}>"
    if case.skipped is not None:
        yield f"   <skipped>{_text([case.skipped])}</skipped>"
    for finding in case.failures:
        yield f"   <failure type={_quoted(finding.level)} message={_quoted(finding.message)}>{_details(finding, named)}"
        yield "   </failure>"
    if case.notes:
        yield f"   <system-out>{_text(case.notes.splitlines())}</system-out>"
    yield "  </testcase>"


def _details(finding: Finding, named: NamedReport | None) -> str:
    lines = [*_place(finding), *excerpt(finding, named.timeline if named is not None else None)]
    if finding.citation is not None:
        lines.append(f"clause: {finding.citation.revision} {finding.citation.section} {finding.citation.url}")
    lines.append(f"fix ({WHO_MUST_ACT[finding.party]}): {finding.fix}")
    return "\n" + _text(lines)


def _place(finding: Finding) -> Iterator[str]:
    exchange = "" if finding.exchange is None else f" (exchange {finding.exchange})"
    times = "" if finding.count == 1 else f", {finding.count} times"
    yield f"at {finding.path}{exchange}{times}"
    if finding.consequences:
        yield f"explains {', '.join(finding.consequences)}"


def _cases(named: NamedReport, fail_on: Level) -> list[_Case]:
    report = named.report
    explained = {code: finding.code for finding in report.findings for code in finding.consequences}
    by_code: dict[str, list[Finding]] = {}
    for finding in report.findings:
        by_code.setdefault(finding.code, []).append(finding)
    accepted: dict[str, list[Accepted]] = {}
    for one in report.accepted:
        accepted.setdefault(one.finding.code, []).append(one)
    cases = []
    for code in sorted(report.coverage.keys() | by_code.keys() | accepted.keys()):
        found = by_code.get(code, [])
        lets_pass = accepted.get(code, [])
        if found:
            cases.append(_case_of(code, found, lets_pass, fail_on))
        elif lets_pass:
            cases.append(_Case(code, skipped="\n".join(_acceptance(one) for one in lets_pass)))
        else:
            cases.append(_Case(code, skipped=_why_skipped(report, report.coverage[code], explained.get(code))))
    return cases


def _cases_of_findings(findings: Sequence[Finding], fail_on: Level) -> list[_Case]:
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)
    return [_case_of(code, found, [], fail_on) for code, found in by_code.items()]


def _case_of(code: str, found: Sequence[Finding], accepted: Sequence[Accepted], fail_on: Level) -> _Case:
    failures = tuple(finding for finding in found if has_findings_at([finding], fail_on))
    notes = [
        f"{finding.level}: {finding.message} {'; '.join(_place(finding))}. Fix: {finding.fix}"
        for finding in found
        if finding not in failures
    ]
    return _Case(code, failures, notes="\n".join([*notes, *map(_acceptance, accepted)]))


def _acceptance(accepted: Accepted) -> str:
    dated = "" if accepted.date is None else f" on {accepted.date}"
    finding = accepted.finding
    return f"accepted{dated} ({accepted.reason}): {finding.level}: {finding.message} at {finding.path}"


def _why_skipped(report: Report, coverage: RuleCoverage, root: str | None) -> str | None:
    """Why a rule without a finding of its own did not pass; None where it did."""
    match coverage.outcome:
        case "satisfied":
            return None
        case "violated" if root is not None:
            return f"explained by {root}"
        case "violated":
            return "violated; its finding is not listed here"
        case "cannot_tell":
            return f"cannot tell: {'; '.join(coverage.reasons)}"
        case outcome:
            return _NOT_JUDGED[outcome]


def _failed(cases: Sequence[_Case]) -> int:
    return sum(bool(case.failures) for case in cases)


def _text(lines: Sequence[str]) -> str:
    # Only what prints is legal and harmless in XML 1.0; escapes stand for the rest.
    return "\n".join(escape(printable(line)) for line in lines)


def _quoted(text: str) -> str:
    return quoteattr(printable(text))
