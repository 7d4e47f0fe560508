"""`--report sarif`: SARIF 2.1.0 for code scanning. Rules and their help come from the declarations.

A run without results is written as well: alerts of an earlier run close by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote

from mcp_wire.judging.declaration import Rule
from mcp_wire.judging.finding import Finding, Level
from mcp_wire.reports.explanation import explanations_text
from mcp_wire.reports.identity import fingerprints
from mcp_wire.reports.json_report import JsonObject, advice_object, tuple_members
from mcp_wire.reports.model import Accepted, NamedReport, Report, Results
from mcp_wire.reports.words import WHO_MUST_ACT, counted, layer_words, printable
from mcp_wire.rules import ALL_RULES, own_findings
from mcp_wire.rules.own_findings import REPORT_TRUNCATED
from mcp_wire.wire.strict_json import JsonValue, dump_json

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT: Final = "mcpConformance/v1"
MAX_RESULTS: Final = 5_000
"""Code scanning shows no more of one run; what comes after the limit is counted in one more result."""
MAX_RULE_HELP: Final = 10_000

_LEVELS: Final[dict[Level, str]] = {"error": "error", "warning": "warning", "info": "note"}


def render(results: Results) -> str:
    """One SARIF run over all transcripts. Keys sorted, the same results give the same bytes."""
    run = _Run(results)
    return (
        dump_json(
            {"$schema": SCHEMA, "version": "2.1.0", "runs": [run.as_object()]},
            sort_keys=True,
            indent=1,
        )
        + "\n"
    )


class _Run:
    def __init__(self, results: Results) -> None:
        self._results = results
        self._rules: dict[str, int] = {}
        self._codes: list[str] = []

    def as_object(self) -> JsonObject:
        listed: list[JsonValue] = []
        unlisted = sum(named.report.findings_dropped for named in self._results.reports)
        for result in self._all():
            if len(listed) < MAX_RESULTS:
                listed.append(result)
            else:
                unlisted += 1
        if unlisted:
            listed.append(self._truncation(unlisted))
        return {
            "tool": {
                "driver": {
                    "name": "mcp-conformance",
                    "rules": [_descriptor(code) for code in self._codes],
                }
            },
            "columnKind": "unicodeCodePoints",
            "results": listed,
            "artifacts": [
                {"location": {"uri": _uri(named.transcript)}, "properties": _about(named.report)}
                for named in self._results.reports
            ],
            "properties": {
                "recovery": [
                    advice_object(advice) | {"transcript": named.transcript}
                    for named in self._results.reports
                    for advice in named.report.recovery
                ]
            },
        }

    def _all(self) -> Iterator[JsonObject]:
        for named in self._results.reports:
            accepted = {id(one.finding): one for one in named.report.accepted}
            findings = [*named.report.findings, *(one.finding for one in named.report.accepted)]
            for finding, fingerprint in fingerprints(named.transcript, findings):
                yield self._result(finding, fingerprint, named, accepted.get(id(finding)))
        for finding, fingerprint in fingerprints("", self._results.further):
            yield self._result(finding, fingerprint, None, None)

    def _result(
        self, finding: Finding, fingerprint: str, named: NamedReport | None, accepted: Accepted | None
    ) -> JsonObject:
        members: JsonObject = {
            "ruleId": finding.code,
            "ruleIndex": self._rule(finding.code),
            "level": _LEVELS[finding.level],
            "message": {"text": _sentence(finding)},
            "occurrenceCount": max(finding.count, 1),
            "partialFingerprints": {FINGERPRINT: fingerprint},
            "properties": _properties(finding),
        }
        members["locations"] = [self._location(finding, named)]
        if accepted is not None:
            dated = "" if accepted.date is None else f" ({accepted.date})"
            members["suppressions"] = [
                {"kind": "external", "status": "accepted", "justification": f"{accepted.reason}{dated}"}
            ]
        return members

    def _location(self, finding: Finding, named: NamedReport | None) -> JsonObject:
        if named is None:
            # What concerns the run as a whole still needs a place to be shown at.
            first = self._results.reports[0].transcript if self._results.reports else "run"
            return {"physicalLocation": {"artifactLocation": {"uri": _uri(first)}, "region": {"startLine": 1}}}
        return {
            "physicalLocation": {
                "artifactLocation": {"uri": _uri(named.transcript)},
                "region": {"startLine": named.line_of(finding.path) or 1},
            },
            "logicalLocations": [{"fullyQualifiedName": finding.path or "/", "kind": "element"}],
        }

    def _truncation(self, unlisted: int) -> JsonObject:
        message = f"{counted(unlisted, 'further finding')} of this run {'is' if unlisted == 1 else 'are'} not listed."
        return {
            "ruleId": REPORT_TRUNCATED,
            "ruleIndex": self._rule(REPORT_TRUNCATED),
            "level": "note",
            "message": {"text": message},
            "locations": [self._location(_NOWHERE, None)],
            "partialFingerprints": {FINGERPRINT: REPORT_TRUNCATED},
        }

    def _rule(self, code: str) -> int:
        if code not in self._rules:
            self._rules[code] = len(self._codes)
            self._codes.append(code)
        return self._rules[code]


_NOWHERE: Final = Finding(REPORT_TRUNCATED, "info", "pipeline", "capture_pipeline", "/", "", None, None, "")


def _sentence(finding: Finding) -> str:
    return f"{printable(finding.message)} {WHO_MUST_ACT[finding.party].capitalize()}: {printable(finding.fix)}"


def _properties(finding: Finding) -> JsonObject:
    members: JsonObject = {"party": finding.party, "layer": finding.layer, "path": finding.path}
    if finding.exchange is not None:
        members["exchange"] = finding.exchange
    if finding.last_path is not None:
        members["lastPath"] = finding.last_path
    if finding.citation is not None:
        members["clause"] = finding.citation.url
    if finding.consequences:
        members["consequences"] = list(finding.consequences)
    return members


def _about(report: Report) -> JsonObject:
    return {
        "profile": report.profile,
        "normative": report.normative,
        "valid": report.valid,
        **tuple_members(report),
    }


def _descriptor(code: str) -> JsonObject:
    """`reportingDescriptor` (SARIF 3.49) from the declarations of a code."""
    declared = [rule for rule in (*ALL_RULES, *own_findings.BOOK.rules) if rule.code == code]
    if not declared:
        return {"id": code}
    first = declared[0]
    members: JsonObject = {
        "id": code,
        "name": "".join(part.capitalize() for part in code.split("_")),
        "shortDescription": {"text": first.says},
        "fullDescription": {"text": " ".join(dict.fromkeys(rule.says for rule in declared))},
        "help": {"text": explanations_text(declared)[:MAX_RULE_HELP], "markdown": _markdown(declared)[:MAX_RULE_HELP]},
        "defaultConfiguration": {"level": _LEVELS[first.level]},
        "properties": {"tags": [*sorted({first.layer, first.party, first.family.replace(" ", "_")})]},
    }
    urls = [citation.url for rule in declared for citation in rule.citations]
    if urls:
        members["helpUri"] = urls[0]
    return members


def _markdown(declared: Iterable[Rule]) -> str:
    parts: list[str] = []
    for rule in declared:
        parts.append(f"**{rule.says}** {WHO_MUST_ACT[rule.party].capitalize()} ({layer_words(rule.layer)}).")
        parts.append(f"**Fix.** {rule.fix}")
        if rule.evidence:
            parts.append(f"**Evidence.** {rule.evidence}")
        if rule.exceptions:
            parts.append(f"**Except.** {rule.exceptions}")
        parts += [f"- [{one.revision} {one.section}]({one.url})" for one in rule.citations]
    return "\n\n".join(parts)


def _uri(name: str) -> str:
    """A transcript's name as a URI reference, a relative one where the name is relative."""
    return quote(name, safe="/._-~", errors="replace")
