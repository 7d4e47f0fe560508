"""Baselines: findings that somebody has accepted, each with the reason. An entry that is not needed any more is told.

    {"accepted": [{"code": "close_without_retry", "scope": "captures/*.json", "reason": "…", "date": "2026-09-01"}]}

`scope` is the name of a transcript as it is given to `validate`, or a pattern (`*`, `?`, `[…]`); behind a `#` it may
have a pattern for the path of the finding: `captures/a.json#/exchanges/0/*`. `date` is the day of acceptance; it is for
people, since the same input has to give the same verdict on every day.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final

from mcp_wire.judging.declaration import Rule
from mcp_wire.judging.finding import Finding, Level
from mcp_wire.judging.ledger import Ledger
from mcp_wire.reports.model import Accepted, NamedReport, Report, has_findings_at
from mcp_wire.reports.words import printable
from mcp_wire.rules import own_findings
from mcp_wire.rules.own_findings import BaselineEntry
from mcp_wire.wire.json_complaints import complaint
from mcp_wire.wire.strict_json import JsonValue, dump_json, read_json

UNEXPLAINED: Final = "accepted without a stated reason"
"""The reason of an entry that --update-baseline made, until a person writes a better one."""

_MEMBERS: Final = frozenset({"code", "scope", "reason", "date"})
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PATTERN: Final = re.compile(r"([*?\[])")


class BaselineError(ValueError):
    """The text is no baseline. The message says where and what should be there, in one clause."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One accepted fault."""

    code: str
    scope: str
    reason: str
    date: str | None = None

    def concerns(self, transcript: str) -> bool:
        return fnmatchcase(transcript, self.scope.partition("#")[0])

    def accepts(self, finding: Finding, transcript: str) -> bool:
        place = self.scope.partition("#")[2]
        return (
            finding.code == self.code and self.concerns(transcript) and (not place or fnmatchcase(finding.path, place))
        )


def read_baseline(text: str | bytes, codes: Collection[str]) -> tuple[Entry, ...]:
    """The entries of a baseline. `codes`: those that there are. Raises BaselineError."""
    reading = read_json(text)
    wrong = complaint(text, reading, "baseline")
    if wrong is not None:
        raise BaselineError(wrong)
    document = reading.value
    accepted = document.get("accepted") if isinstance(document, dict) else None
    if not isinstance(accepted, list):
        raise BaselineError("it is no object with a list of accepted findings in `accepted`")
    return tuple(_entry(member, f"accepted/{number}", codes) for number, member in enumerate(accepted))


def baseline_text(entries: Iterable[Entry]) -> str:
    """A baseline file; the same entries give the same bytes."""
    accepted: list[JsonValue] = []
    for entry in entries:
        members: dict[str, JsonValue] = {"code": entry.code, "scope": entry.scope, "reason": entry.reason}
        accepted.append(members if entry.date is None else members | {"date": entry.date})
    return dump_json({"accepted": accepted}, indent=2) + "\n"


def applied(entries: Sequence[Entry], reports: Iterable[NamedReport]) -> list[NamedReport]:
    """The reports with the accepted findings apart from those that count."""
    return [replace(named, report=_applied(entries, named)) for named in reports]


def stale(entries: Sequence[Entry], reports: Sequence[NamedReport], chosen: Iterable[Rule]) -> list[Finding]:
    """A finding for each entry that accepted nothing, although its transcripts were validated and its rule was run."""
    declared = next(rule for rule in own_findings.BOOK.rules if BaselineEntry in rule.facts)
    ledger = Ledger([declared], None, lambda evidence: printable(str(evidence.value)))
    ran = {rule.code for rule in (*chosen, *own_findings.BOOK.rules)}
    for number, entry in enumerate(entries):
        if entry.code not in ran or not any(entry.concerns(named.transcript) for named in reports):
            continue
        needed = any(
            entry.accepts(accepted.finding, named.transcript) for named in reports for accepted in named.report.accepted
        )
        fact = BaselineEntry(f"/accepted/{number}", entry.code, entry.scope, needed)
        for verdict in declared.judge(fact, None):
            ledger.record(declared, verdict, None)
    return ledger.findings()


def updated(entries: Sequence[Entry], reports: Iterable[NamedReport], level: Level) -> list[Entry]:
    """The entries that accept what is there now: those still needed, and new ones for findings of this level and above.

    `reports` are those that `applied` gave. Entries for transcripts that were not validated stay as they are.
    """
    named_reports = list(reports)
    kept = [
        entry
        for entry in entries
        if not any(entry.concerns(named.transcript) for named in named_reports)
        or any(
            entry.accepts(accepted.finding, named.transcript)
            for named in named_reports
            for accepted in named.report.accepted
        )
    ]
    new = dict.fromkeys(
        Entry(finding.code, _literal(named.transcript), UNEXPLAINED)
        for named in named_reports
        for finding in named.report.findings
        if has_findings_at([finding], level)
    )
    return [*kept, *new]


def _applied(entries: Sequence[Entry], named: NamedReport) -> Report:
    left: list[Finding] = []
    accepted: list[Accepted] = []
    for finding in named.report.findings:
        entry = next((one for one in entries if one.accepts(finding, named.transcript)), None)
        if entry is None:
            left.append(finding)
        else:
            accepted.append(Accepted(finding, entry.reason, entry.date))
    return replace(named.report, findings=tuple(left), accepted=(*named.report.accepted, *accepted))


def _entry(value: JsonValue, place: str, codes: Collection[str]) -> Entry:
    if not isinstance(value, dict):
        raise BaselineError(f"{place} is no object")
    for name in ("code", "scope", "reason"):
        member = value.get(name)
        if not isinstance(member, str) or not member.strip():
            raise BaselineError(f"{place} has no {name}")
    unknown = next(_unknown(value), None)
    if unknown is not None:
        raise BaselineError(f"{place} has a member {unknown}, which means nothing here")
    date = value.get("date")
    if date is not None and not (isinstance(date, str) and _DATE.fullmatch(date)):
        raise BaselineError(f"{place} has a date that is not written YYYY-MM-DD")
    code, scope, reason = str(value["code"]), str(value["scope"]), str(value["reason"])
    if code not in codes:
        raise BaselineError(f"{place} names {printable(code)}, which is no rule")
    return Entry(code, scope, reason, date)


def _unknown(members: dict[str, JsonValue]) -> Iterator[str]:
    yield from (printable(name) for name in members if name not in _MEMBERS)


def _literal(name: str) -> str:
    """A pattern that matches this name only."""
    return _PATTERN.sub(r"[\1]", name)
