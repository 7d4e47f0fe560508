"""`--report markdown`: what one pastes into a bug report, in GitHub-flavoured Markdown.

Everything from the wire or from a file stands in code or is escaped; nothing of it becomes markup, a link, a mention or
a reference. The whole stays below the length that GitHub takes; what had to go is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mcp_wire.judging.finding import LEVELS, Finding
from mcp_wire.judging.recovery import Advice
from mcp_wire.reports.evidence import excerpt
from mcp_wire.reports.model import NamedReport, Report, Results
from mcp_wire.reports.sequence_diagram import concerned, sequence_diagram
from mcp_wire.reports.timeline import Timeline
from mcp_wire.reports.words import (
    WHO_MUST_ACT,
    counted,
    coverage_sentences,
    layer_words,
    printable,
    profile_words,
    tuple_rows,
    verdict,
)

MAX_LENGTH: Final = 65_536
"""GitHub takes no longer body of an issue or a comment. Counted in octets here, which is never too few."""
RESERVED: Final = 600
"""For the sentence that says what was left out, and for the fence that may have to be closed."""

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>~|&$]|^[#+=-]|^[0-9]+(?=[.)])|:(?=[+\-\w]+:))")
_REFERENCE: Final = re.compile(r"([@#])(?=\w)")
_LINK: Final = re.compile(r"(?i)(https?|ftp|mailto|xmpp|www)(?=[:.])")
BREAK: Final = "\u200b"
"""Zero width: it keeps GitHub from making a mention, a reference or a link of what stands around it."""


def render(results: Results) -> str:
    """One document, cut at a paragraph where it would become too long."""
    folded = results.folded()
    blocks = [block for named in folded.reports for block in _report(named, len(folded.reports) > 1)]
    blocks += [_finding(finding, None) for finding in folded.further]
    kept: list[str] = []
    length = 0
    for number, block in enumerate(blocks):
        length += len(block.encode("utf-8", "replace")) + 2
        if length > MAX_LENGTH - RESERVED:
            kept.append(_truncation(results, kept, len(blocks) - number))
            break
        kept.append(block)
    return "\n\n".join(kept) + "\n"


def text(value: str) -> str:
    """Text in which nothing is markup."""
    shown = _SPECIAL.sub(_escaped, _LINK.sub(rf"\1{BREAK}", printable(value)))
    return _REFERENCE.sub(rf"\1{BREAK}", shown)


def code(value: str) -> str:
    """One line of code, whatever backticks are in it."""
    shown = printable(value)
    fence = "`" * (_longest_run(shown) + 1)
    padded = f" {shown} " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else shown
    return f"{fence}{padded}{fence}"


def fenced(lines: Sequence[str], language: str = "text") -> str:
    """A block of code, whatever backticks are in it."""
    shown = [printable(line) for line in lines]
    fence = "`" * max(3, _longest_run("\n".join(shown)) + 1)
    return "\n".join([f"{fence}{language}", *shown, fence])


def _report(named: NamedReport, many: bool) -> Iterator[str]:
    report = named.report
    title = f"MCP conformance of {code(named.transcript)}" if many else "MCP conformance report"
    yield f"## {title}: {verdict(report)}"
    yield _about(named)
    if report.findings and named.timeline is not None:
        yield from _diagram(named.timeline, report)
    for level in LEVELS:
        for finding in report.findings:
            if finding.level == level:
                yield _finding(finding, named)
    if report.hidden or report.findings_dropped:
        yield f"{counted(report.hidden + report.findings_dropped, 'further finding')} not listed."
    if report.recovery:
        yield "### Recovery\n\n" + "\n".join(map(_advice, report.recovery))
    if report.accepted:
        rows = [
            f"- {one.finding.level} {code(one.finding.code)} at {code(one.finding.path)}: {text(one.reason)}"
            + (f" ({text(one.date)})" if one.date else "")
            for one in report.accepted
        ]
        yield "### Accepted by the baseline\n\n" + "\n".join(rows)
    yield f"<details><summary>What could be judged</summary>\n\n{text(coverage_sentences(report))}\n\n</details>"


def _about(named: NamedReport) -> str:
    rows = [("transcript", code(named.transcript)), ("profile", text(profile_words(named.report)))]
    rows += [(part, code(known)) for part, known in tuple_rows(named.report)]
    if named.report.tuple_unknown:
        rows.append(("not known", ", ".join(map(code, named.report.tuple_unknown))))
    # In a table a bar ends the cell even within code.
    table = "\n".join(f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in rows)
    return f"| | |\n|---|---|\n{table}"


def _diagram(timeline: Timeline, report: Report) -> Iterator[str]:
    exchanges = concerned(timeline, report.findings)
    if exchanges:
        yield f"```mermaid\n{sequence_diagram(exchanges, report.findings)}\n```"


def _finding(finding: Finding, named: NamedReport | None) -> str:
    parts = [
        f"### {finding.level}: {code(finding.code)}\n",
        f"{text(finding.message)}\n",
        f"- **Who must act:** {WHO_MUST_ACT[finding.party]} ({layer_words(finding.layer)})",
        f"- **Where:** {_place(finding)}",
    ]
    if finding.citation is not None:
        citation = finding.citation
        parts.append(f"- **Clause:** [{text(f'{citation.revision} {citation.section}')}]({citation.url})")
    # The fix is our own text, and may have code in it.
    parts.append(f"- **Fix:** {finding.fix}")
    if finding.consequences:
        parts.append(f"- **Explains:** {', '.join(map(code, finding.consequences))}")
    seen = excerpt(finding, named.timeline if named is not None else None)
    if seen:
        parts.append(f"\n{fenced(seen)}")
    return "\n".join(parts)


def _place(finding: Finding) -> str:
    exchange = "" if finding.exchange is None else f", exchange {code(finding.exchange)}"
    times = "" if finding.count == 1 else f", {finding.count} times"
    last = "" if finding.last_path is None else f", last at {code(finding.last_path)}"
    return f"{code(finding.path)}{exchange}{times}{last}"


def _advice(advice: Advice) -> str:
    place = f"{code(advice.path)} (exchange {code(advice.exchange)})"
    return f"- {code(advice.action)} for {place}: {text(advice.condition)}"


def _truncation(results: Results, kept: Sequence[str], parts: int) -> str:
    shown = sum(block.startswith(tuple(f"### {level}: " for level in LEVELS)) for block in kept)
    total = len(results.findings)
    return (
        f"**Cut here:** {counted(parts, 'part')} of this report, with {counted(total - shown, 'finding')} of {total}, "
        f"did not fit into the {MAX_LENGTH} characters that an issue takes. The other report forms have everything."
    )


def _escaped(found: re.Match[str]) -> str:
    # A number at the beginning would be a list: there it is the mark behind it that is escaped.
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"


def _longest_run(value: str) -> int:
    return max((len(run) for run in re.findall(r"`+", value)), default=0)
