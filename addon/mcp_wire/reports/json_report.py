"""`--report json`: keys sorted, the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_wire.judging.finding import Finding
from mcp_wire.judging.idempotency import CONFIRMATIONS, Decision
from mcp_wire.judging.recovery import Advice
from mcp_wire.reports.model import Accepted, NamedReport, Report, Results, RuleCoverage
from mcp_wire.wire.strict_json import JsonValue, dump_json

type JsonObject = dict[str, JsonValue]


def render(results: Results) -> str:
    """One conversation as a report of its own, several as one object (docs/transcript-format.md)."""
    folded = results.folded()
    if len(folded.reports) == 1:
        return report_text(folded.reports[0].report)
    return reports_text(folded.reports, folded.further)


def report_text(report: Report) -> str:
    """The report on one conversation as a JSON document."""
    return _text(report_object(report))


def reports_text(reports: Sequence[NamedReport], further: Sequence[Finding] = ()) -> str:
    """Reports on several transcripts as one JSON document. `further` findings belong to no single one of them."""
    findings: list[JsonValue] = [
        finding_object(finding) | {"transcript": named.transcript}
        for named in reports
        for finding in named.report.findings
    ]
    findings += [finding_object(finding) for finding in further]
    recovery: list[JsonValue] = [
        advice_object(advice) | {"transcript": named.transcript}
        for named in reports
        for advice in named.report.recovery
    ]
    return _text(
        {
            "valid": all(named.report.valid for named in reports) and not any(one.level == "error" for one in further),
            "findings": findings,
            "recovery": recovery,
            "conversations": [report_object(named.report) | {"transcript": named.transcript} for named in reports],
        }
    )


def report_object(report: Report) -> JsonObject:
    """The members of a report (docs/transcript-format.md)."""
    members: JsonObject = {
        "valid": report.valid,
        "profile": report.profile,
        "draft": report.draft,
        "normative": report.normative,
        **tuple_members(report),
        "findings": [finding_object(finding) for finding in report.findings],
        "recovery": [advice_object(advice) for advice in report.recovery],
        "coverage": {code: _coverage(coverage) for code, coverage in report.coverage.items()},
    }
    if report.findings_dropped:
        members["findings_dropped"] = report.findings_dropped
    if report.hidden:
        members["findings_hidden"] = report.hidden
    if report.accepted:
        members["accepted"] = [accepted_object(accepted) for accepted in report.accepted]
    return members


def tuple_members(report: Report) -> JsonObject:
    """What a report has of the interoperability tuple."""
    members: JsonObject = {"tuple": dict(report.interoperability_tuple)}
    if report.tuple_unknown:
        members["tuple_unknown"] = list(report.tuple_unknown)
    if report.tuple_contradicted:
        members["tuple_contradicted"] = dict(report.tuple_contradicted)
    return members


def finding_object(finding: Finding) -> JsonObject:
    """The members of one finding; what is not known is left out."""
    members: JsonObject = {
        "level": finding.level,
        "code": finding.code,
        "path": finding.path,
        "message": finding.message,
        "party": finding.party,
        "layer": finding.layer,
        "count": finding.count,
        "fix": finding.fix,
    }
    if finding.exchange is not None:
        members["exchange"] = finding.exchange
    if finding.citation is not None:
        members["citation"] = {
            "revision": finding.citation.revision,
            "section": finding.citation.section,
            "url": finding.citation.url,
        }
    if finding.last_path is not None:
        members["last_path"] = finding.last_path
    if finding.consequences:
        members["consequences"] = list(finding.consequences)
    return members


def accepted_object(accepted: Accepted) -> JsonObject:
    """The members of a finding that a baseline accepts."""
    members = finding_object(accepted.finding) | {"reason": accepted.reason}
    return members if accepted.date is None else members | {"date": accepted.date}


def advice_object(advice: Advice) -> JsonObject:
    """The members of one piece of recovery advice."""
    members: JsonObject = {
        "exchange": advice.exchange,
        "path": advice.path,
        "action": advice.action,
        "condition": advice.condition,
    }
    return members if advice.decision is None else members | {"decision": _decision(advice.decision)}


def _decision(decision: Decision) -> JsonObject:
    """What of it was said, and what it lacks."""
    said: JsonObject = {
        "tool": decision.tool,
        "server": decision.server,
        "exchange": decision.exchange,
        "owner": decision.owner,
        "date": decision.date,
        "attempts": decision.attempts,
        "rollback": decision.rollback,
        "duplicate_effect_guard": decision.duplicate_effect_guard,
    }
    members: JsonObject = {name: value for name, value in said.items() if value}
    members["confirmed"] = [name for name in CONFIRMATIONS if name in decision.confirmations]
    members["complete"] = decision.is_complete
    return members if decision.is_complete else members | {"missing": list(decision.missing)}


def _coverage(coverage: RuleCoverage) -> JsonObject:
    members: JsonObject = {
        "outcome": coverage.outcome,
        "judged": coverage.judged,
        "violated": coverage.violated,
        "satisfied": coverage.satisfied,
        "cannot_tell": coverage.cannot_tell,
    }
    if coverage.reasons:
        members["reasons"] = list(coverage.reasons)
    return members


def _text(value: JsonValue) -> str:
    return dump_json(value, sort_keys=True, indent=2) + "\n"
