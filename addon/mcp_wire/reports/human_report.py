"""The report for people: findings grouped by who must act and why, each with what was seen, the clause and the fix;
then recovery; then coverage."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_wire.judging.finding import Finding, Layer, Level, Party
from mcp_wire.judging.recovery import Advice
from mcp_wire.reports.evidence import excerpt
from mcp_wire.reports.model import SEVERITY, NamedReport, Report, Results
from mcp_wire.reports.words import (
    WHO_MUST_ACT,
    counted,
    coverage_sentences,
    layer_words,
    listed,
    printable,
    profile_words,
    tuple_rows,
    verdict,
)

DEFAULT_WIDTH: Final = 100

_COLOURS: Final[dict[Level, str]] = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "info": "\x1b[1;36m"}
_BOLD: Final = "\x1b[1m"
_DIM: Final = "\x1b[2m"
_PLAIN: Final = "\x1b[0m"
_INDENT: Final = "    "
_PART_WIDTH: Final = 17
"""Columns for the name of a part of the tuple."""


@dataclass(frozen=True, slots=True)
class Style:
    """How text is laid out: columns to fill, and whether the reader is a terminal that shows colours."""

    width: int = DEFAULT_WIDTH
    colour: bool = False

    def level(self, level: Level, text: str) -> str:
        return f"{_COLOURS[level]}{text}{_PLAIN}" if self.colour else text

    def bold(self, text: str) -> str:
        return f"{_BOLD}{text}{_PLAIN}" if self.colour else text

    def dim(self, text: str) -> str:
        return f"{_DIM}{text}{_PLAIN}" if self.colour else text

    def paragraph(self, text: str, first: str = "  ", others: str = "  ") -> list[str]:
        return textwrap.wrap(
            printable(text),
            max(self.width, 40),
            initial_indent=first,
            subsequent_indent=others,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def cut(self, text: str, indent: str) -> str:
        """One line that does not wrap."""
        room = max(self.width, 40) - len(indent)
        shown = printable(text)
        return indent + (shown if len(shown) <= room else shown[: room - 1] + "…")


PLAIN_STYLE: Final = Style()


def render(results: Results, style: Style = PLAIN_STYLE) -> str:
    """The report on one transcript, or those on several."""
    folded = results.folded()
    if len(folded.reports) == 1:
        return report_text(folded.reports[0], style)
    return reports_text(folded.reports, folded.further, style)


def report_text(named: NamedReport, style: Style = PLAIN_STYLE) -> str:
    """The report on one transcript."""
    return "\n".join(_report(named, style)) + "\n"


def reports_text(reports: Sequence[NamedReport], further: Sequence[Finding] = (), style: Style = PLAIN_STYLE) -> str:
    """The reports on several transcripts, and what belongs to no single one of them."""
    lines: list[str] = []
    for named in reports:
        lines += [*_report(named, style), ""]
    lines += _groups(further, None, style)
    good = sum(named.report.valid for named in reports)
    return "\n".join([*lines, style.bold(f"{good} of {counted(len(reports), 'transcript')} without errors.")]) + "\n"


def _report(named: NamedReport, style: Style) -> Iterator[str]:
    report = named.report
    yield style.bold(f"{printable(named.transcript)}: {verdict(report)}")
    yield from style.paragraph(profile_words(report))
    for part, known in tuple_rows(report):
        yield from style.paragraph(known, f"  {part:<{_PART_WIDTH}}", " " * (_PART_WIDTH + 2))
    if report.tuple_unknown:
        unknown = f"{', '.join(report.tuple_unknown)} (--tuple NAME=VALUE tells)"
        yield from style.paragraph(unknown, f"  {'not known':<{_PART_WIDTH}}", " " * (_PART_WIDTH + 2))
    yield ""
    yield from _groups(report.findings, named, style)
    yield from _not_listed(report, style)
    if report.recovery:
        yield style.bold("Recovery")
        for advice in report.recovery:
            yield from _advice(advice, style)
        yield ""
    yield from style.paragraph(coverage_sentences(report), "", "")


def _not_listed(report: Report, style: Style) -> Iterator[str]:
    if report.findings_dropped:
        yield from style.paragraph(f"{report.findings_dropped} further findings are not listed.", "")
        yield ""
    if report.hidden:
        yield from style.paragraph(f"{counted(report.hidden, 'finding')} of a lower level not shown.", "")
        yield ""
    if report.accepted:
        yield style.bold(f"Accepted by the baseline: {len(report.accepted)}")
        for one in report.accepted:
            dated = "" if one.date is None else f" ({one.date})"
            yield from style.paragraph(
                f"{one.finding.level} {one.finding.code} at {one.finding.path}: {one.reason}{dated}", "  ", _INDENT
            )
        yield ""


def _groups(findings: Iterable[Finding], named: NamedReport | None, style: Style) -> Iterator[str]:
    """Findings by root cause (who must act, in which layer the cause lies): gravest first, else as they were made."""
    groups: dict[tuple[Party, Layer], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.party, finding.layer), []).append(finding)
    for group in groups.values():
        group.sort(key=lambda finding: -SEVERITY[finding.level])
    for (party, layer), group in sorted(groups.items(), key=lambda item: -SEVERITY[item[1][0].level]):
        yield style.bold(f"{WHO_MUST_ACT[party][:1].upper()}{WHO_MUST_ACT[party][1:]}: {layer_words(layer)}")
        for finding in group:
            yield from _finding(finding, named, style)
            yield ""


def _finding(finding: Finding, named: NamedReport | None, style: Style) -> Iterator[str]:
    yield f"  {style.level(finding.level, finding.level)} {style.bold(finding.code)}"
    yield from style.paragraph(finding.message, _INDENT, _INDENT)
    yield from _labelled("at", _place(finding, named), style)
    seen = excerpt(finding, named.timeline if named is not None else None)
    for number, line in enumerate(seen):
        yield style.dim(style.cut(line, f"{_INDENT}{'' if number else 'seen':<7}"))
    if finding.citation is not None:
        yield from _labelled("clause", f"{finding.citation.revision} {finding.citation.section}", style)
        yield from _labelled("", finding.citation.url, style)
    yield from _labelled("fix", finding.fix, style)
    if finding.consequences:
        yield from _labelled("", f"explains {listed(finding.consequences)}", style)


def _labelled(label: str, text: str, style: Style) -> list[str]:
    return style.paragraph(text, f"{_INDENT}{label:<7}", _INDENT + " " * 7) if text else []


def _place(finding: Finding, named: NamedReport | None) -> str:
    line = named.line_of(finding.path) if named is not None else None
    where = "" if line is None else f", line {line}"
    exchange = "" if finding.exchange is None else f" (exchange {finding.exchange}{where})"
    times = f", {finding.count} times" if finding.count > 1 else ""
    last = "" if finding.last_path is None else f", last at {finding.last_path}"
    return f"{finding.path}{exchange}{times}{last}"


def _advice(advice: Advice, style: Style) -> Iterator[str]:
    yield from style.paragraph(f"{advice.path} (exchange {advice.exchange}): {advice.action}", "  ", _INDENT)
    yield from style.paragraph(advice.condition, _INDENT, _INDENT)
