"""`mcp-conformance validate`: judge transcripts offline."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Final

from mcp_wire.cli.streams import (
    UsageError,
    abandon_standard_output,
    complain,
    read_input,
    shown_name,
    write_output,
)
from mcp_wire.cli.terminal import style_for
from mcp_wire.judging.finding import Finding, Level
from mcp_wire.reports import human_report, json_report
from mcp_wire.reports.model import NamedReport, has_findings_at
from mcp_wire.requirements import unexercised
from mcp_wire.rules import ALL_RULES, rules_of
from mcp_wire.transcript.reading import TranscriptInputError, read_document
from mcp_wire.validation import validate

type Run = Callable[[argparse.Namespace], int]

CONFORMING: Final = 0
FINDINGS: Final = 1
UNUSABLE: Final = 2


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "validate",
        help="judge transcripts",
        description="Judge transcripts. Exit codes: 0 conforming; 1 findings at or above --fail-on; "
        "2 an input that cannot be read or parsed (then nothing is written).",
        allow_abbrev=False,
    )
    parser.add_argument("transcripts", nargs="+", metavar="TRANSCRIPT", help="transcript file; - is standard input")
    parser.add_argument("--report", choices=("human", "json"), default="human", help="form of the report (human)")
    parser.add_argument("--fail-on", choices=("error", "warning"), default="error", help="level of exit code 1 (error)")
    parser.add_argument("--output", metavar="FILE", help="write the report to FILE instead of standard output")
    parser.add_argument("--extended", action="store_true", help="judge by the extended rule set as well")
    parser.add_argument(
        "--require",
        metavar="CODE,…",
        action="append",
        default=[],
        help="fail unless each of these rules came to a verdict at least once",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Validate and report. Returns the exit code; raises UsageError for what the options themselves get wrong."""
    required = _required(options.require)
    chosen = rules_of(extended=options.extended)
    reports: list[NamedReport] = []
    unusable = False
    for name in options.transcripts:
        try:
            document = read_document(read_input(name))
        except (UsageError, TranscriptInputError) as problem:
            message = f"{shown_name(name)}: {problem}" if isinstance(problem, TranscriptInputError) else str(problem)
            complain("mcp-conformance", message)
            unusable = True
            continue
        if not unusable:
            reports.append(NamedReport(shown_name(name), validate(document, chosen)))
    if unusable:
        return UNUSABLE
    further = unexercised(required, [named.report for named in reports], chosen)
    code = _exit_code(reports, further, options.fail_on)
    try:
        write_output(options.output, _text(options, reports, further))
    except BrokenPipeError:
        abandon_standard_output()
    return code


def _required(given: Iterable[str]) -> list[str]:
    codes = [code.strip() for part in given for code in part.split(",") if code.strip()]
    known = {rule.code for rule in ALL_RULES}
    for code in codes:
        if code not in known:
            raise UsageError(f"--require: {code} is no rule (mcp-conformance explain --all lists them)")
    return codes


def _exit_code(reports: Iterable[NamedReport], further: Iterable[Finding], fail_on: str) -> int:
    level: Level = "warning" if fail_on == "warning" else "error"
    findings = [finding for named in reports for finding in named.report.findings]
    return FINDINGS if has_findings_at([*findings, *further], level) else CONFORMING


def _text(options: argparse.Namespace, reports: list[NamedReport], further: list[Finding]) -> str:
    if len(reports) == 1:
        only = NamedReport(reports[0].transcript, reports[0].report.with_findings(further))
        if options.report == "json":
            return json_report.report_text(only.report)
        return human_report.report_text(only, style_for(options.output))
    if options.report == "json":
        return json_report.reports_text(reports, further)
    return human_report.reports_text(reports, further, style_for(options.output))
