"""The report for people: each finding with who must act, where, by which clause, how; then recovery; then coverage."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_wire.judging.finding import LEVELS, Finding, Level
from mcp_wire.judging.recovery import Advice
from mcp_wire.protocol.profiles import PROFILES, UNDETERMINED
from mcp_wire.reports.model import NamedReport, Report, has_findings_at
from mcp_wire.reports.words import WHO_MUST_ACT, counted, layer_words, listed, printable
from mcp_wire.wire.strict_json import JsonValue

DEFAULT_WIDTH: Final = 100
MAX_UNCERTAIN_RULES_NAMED: Final = 4

_COLOURS: Final[dict[Level, str]] = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "info": "\x1b[1;36m"}
_BOLD: Final = "\x1b[1m"
_PLAIN: Final = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Style:
    """How text is laid out: columns to fill, and whether the reader is a terminal that shows colours."""

    width: int = DEFAULT_WIDTH
    colour: bool = False

    def level(self, level: Level, text: str) -> str:
        return f"{_COLOURS[level]}{text}{_PLAIN}" if self.colour else text

    def bold(self, text: str) -> str:
        return f"{_BOLD}{text}{_PLAIN}" if self.colour else text

    def paragraph(self, text: str, first: str = "  ", others: str = "  ") -> list[str]:
        return textwrap.wrap(
            printable(text),
            max(self.width, 40),
            initial_indent=first,
            subsequent_indent=others,
            break_long_words=False,
            break_on_hyphens=False,
        )


PLAIN_STYLE: Final = Style()


def report_text(named: NamedReport, style: Style = PLAIN_STYLE) -> str:
    """The report on one transcript."""
    return "\n".join(_report(named, style)) + "\n"


def reports_text(reports: Sequence[NamedReport], further: Sequence[Finding] = (), style: Style = PLAIN_STYLE) -> str:
    """The reports on several transcripts, and what belongs to no single one of them."""
    lines: list[str] = []
    for named in reports:
        lines += [*_report(named, style), ""]
    for finding in further:
        lines += [*_finding(finding, style), ""]
    good = sum(named.report.valid for named in reports)
    verdict = f"{good} of {counted(len(reports), 'transcript')} without errors."
    return "\n".join([*lines, style.bold(verdict)]) + "\n"


def _report(named: NamedReport, style: Style) -> Iterator[str]:
    report = named.report
    yield style.bold(f"{printable(named.transcript)}: {_verdict(report)}")
    yield from style.paragraph(_profile(report))
    about = _tuple(report)
    if about:
        yield from style.paragraph(about)
    yield ""
    for level in LEVELS:
        for finding in report.findings:
            if finding.level == level:
                yield from _finding(finding, style)
                yield ""
    if report.findings_dropped:
        yield from style.paragraph(f"{report.findings_dropped} further findings are not listed.", "")
        yield ""
    if report.recovery:
        yield style.bold("Recovery")
        for advice in report.recovery:
            yield from _advice(advice, style)
        yield ""
    yield from style.paragraph(_coverage(report), "", "")


def _verdict(report: Report) -> str:
    levels = Counter(finding.level for finding in report.findings)
    parts = [counted(levels[level], level, "info" if level == "info" else None) for level in LEVELS if levels[level]]
    return listed(parts) if parts else "no findings"


def _profile(report: Report) -> str:
    if report.profile == UNDETERMINED:
        return "no revision was ever named, so only rules that hold in every revision were judged"
    if report.profile not in PROFILES:
        return "not judged: no profile that is known here"
    remarks = ", ".join((*(["a draft"] if report.draft else []), *([] if report.normative else ["not normative"])))
    return f"judged as {report.profile}" + (f" ({remarks})" if remarks else "")


def _tuple(report: Report) -> str:
    named = report.interoperability_tuple
    parts = [f"{side} {peer}" for side in ("client", "server") if (peer := _peer(named.get(side)))]
    hops = named.get("intermediaries")
    via = [hop for hop in hops if isinstance(hop, str)] if isinstance(hops, list) else []
    return " · ".join([*parts, *([f"via {', '.join(via)}"] if via else [])])


def _peer(value: JsonValue | None) -> str:
    if not isinstance(value, dict):
        return ""
    return " ".join(part for name in ("name", "version") if isinstance(part := value.get(name), str))


def _finding(finding: Finding, style: Style) -> Iterator[str]:
    head = f"{style.level(finding.level, finding.level)} {style.bold(finding.code)}"
    yield f"{head}: {WHO_MUST_ACT[finding.party]} ({layer_words(finding.layer)})"
    yield from style.paragraph(finding.message)
    yield from style.paragraph(_place(finding), "  at     ", "         ")
    if finding.citation is not None:
        citation = finding.citation
        yield from style.paragraph(f"{citation.revision} {citation.section}", "  clause ", "         ")
        yield from style.paragraph(citation.url, "         ", "         ")
    yield from style.paragraph(finding.fix, "  fix    ", "         ")
    if finding.consequences:
        yield from style.paragraph(f"explains {listed(finding.consequences)}", "         ", "         ")


def _place(finding: Finding) -> str:
    exchange = "" if finding.exchange is None else f" (exchange {finding.exchange})"
    times = f", {finding.count} times" if finding.count > 1 else ""
    last = "" if finding.last_path is None else f", last at {finding.last_path}"
    return f"{finding.path}{exchange}{times}{last}"


def _advice(advice: Advice, style: Style) -> Iterator[str]:
    yield from style.paragraph(f"{advice.path} (exchange {advice.exchange}): {advice.action}", "  ", "    ")
    yield from style.paragraph(advice.condition, "    ", "    ")


def _coverage(report: Report) -> str:
    outcomes = Counter(coverage.outcome for coverage in report.coverage.values())
    judged = outcomes["satisfied"] + outcomes["violated"]
    parts = [f"{outcomes['satisfied']} satisfied", f"{outcomes['violated']} violated"]
    sentences = [f"Of {counted(len(report.coverage), 'rule')}, {judged} came to a verdict: {listed(parts)}."]
    rest = []
    if outcomes["cannot_tell"]:
        rest.append(f"{outcomes['cannot_tell']} could not tell ({_uncertain(report)})")
    if outcomes["not_observed"]:
        rest.append(f"{outcomes['not_observed']} had nothing to judge")
    if outcomes["not_applicable"]:
        rest.append(f"{outcomes['not_applicable']} are not part of this profile")
    if rest:
        sentences.append(f"{listed(rest)}.")
    if not has_findings_at(report.findings, "error"):
        sentences.append("No error was seen on the wire; that certifies neither peer.")
    return " ".join(sentences)


def _uncertain(report: Report) -> str:
    uncertain = [(code, one.reasons) for code, one in report.coverage.items() if one.outcome == "cannot_tell"]
    named = [f"{code}: {reasons[0]}" if reasons else code for code, reasons in uncertain[:MAX_UNCERTAIN_RULES_NAMED]]
    more = len(uncertain) - len(named)
    return "; ".join(named) + (f"; and {more} more" if more else "")
