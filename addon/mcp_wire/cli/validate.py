"""`mcp-conformance validate`: judge transcripts offline."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from mcp_wire.baseline import BaselineError, Entry, applied, baseline_text, read_baseline, stale, updated
from mcp_wire.captures.kinds import hint, hint_of_document
from mcp_wire.cli.arguments import (
    add_idempotency_to,
    add_redact_names_to,
    add_tuple_to,
    asserted_tuple,
    idempotency_decisions,
    redactor_for,
)
from mcp_wire.cli.copies import spare
from mcp_wire.cli.progress import Progress
from mcp_wire.cli.streams import (
    STANDARD_INPUT,
    UsageError,
    abandon_standard_output,
    complain,
    exists,
    read_input,
    shown_name,
    write_output,
)
from mcp_wire.cli.terminal import style_for
from mcp_wire.judging.declaration import Rule
from mcp_wire.judging.finding import LEVELS, Level
from mcp_wire.judging.idempotency import Decision, Decisions
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.reports import human_report
from mcp_wire.reports.forms import FORMS, Form
from mcp_wire.reports.model import NamedReport, Results, has_findings_at
from mcp_wire.requirements import unexercised
from mcp_wire.rules import ALL_RULES, own_findings, rules_of
from mcp_wire.transcript.places import exchange_lines
from mcp_wire.transcript.reading import TranscriptInputError, read_document
from mcp_wire.validation import redacted_timeline, validate
from mcp_wire.wire.strict_json import JsonValue

type Run = Callable[[argparse.Namespace], int]

CONFORMING: Final = 0
FINDINGS: Final = 1
UNUSABLE: Final = 2

EXPECTED: Final = ".expected.json"
"""The end of the names of files that hold what is expected of the transcript beside them (docs/captures.md)."""


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
    parser.add_argument("--report", choices=tuple(FORMS), default="human", help="form of the report (human)")
    parser.add_argument("--fail-on", choices=("error", "warning"), default="error", help="level of exit code 1 (error)")
    parser.add_argument(
        "--show",
        choices=LEVELS,
        default="info",
        help="lowest level that the report lists (info); says nothing about the exit code",
    )
    parser.add_argument("--output", metavar="FILE", help="write the report to FILE instead of standard output")
    parser.add_argument("--extended", action="store_true", help="judge by the extended rule set as well")
    parser.add_argument(
        "--select", metavar="CODE,…", action="append", default=[], help="judge by these rules and no others"
    )
    parser.add_argument("--ignore", metavar="CODE,…", action="append", default=[], help="do not judge by these rules")
    parser.add_argument(
        "--require",
        metavar="CODE,…",
        action="append",
        default=[],
        help="fail unless each of these rules came to a verdict at least once",
    )
    parser.add_argument("--baseline", metavar="FILE", help="findings that are accepted (docs/reports.md)")
    parser.add_argument(
        "--update-baseline",
        action="store_true",
        help="write --baseline anew, so that it accepts what would fail now and nothing that is gone",
    )
    add_redact_names_to(parser)
    add_idempotency_to(parser)
    add_tuple_to(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Validate and report. Returns the exit code; raises UsageError for what the options themselves get wrong."""
    required = _codes("--require", options.require)
    chosen = _chosen(options)
    baseline = _baseline(options)
    asserted = asserted_tuple(options)
    decisions = idempotency_decisions(options)
    if options.output is not None:
        spare(options.output, [*options.transcripts, *filter(None, (options.baseline, options.idempotency))])
    form = FORMS[options.report]
    fail_on: Level = "warning" if options.fail_on == "warning" else "error"
    names = _transcripts(options.transcripts)
    _say_which(decisions or (), names, options.idempotency)
    reports = _validated(names, chosen, form, asserted, redactor_for(options), decisions)
    if reports is None:
        return UNUSABLE
    if baseline is not None:
        reports = applied(baseline, reports)
    if baseline is not None and options.update_baseline:
        baseline = updated(baseline, reports, fail_on)
        write_output(options.baseline, baseline_text(baseline))
        reports = applied(baseline, reports)
    further = unexercised(required, [named.report for named in reports], chosen)
    if baseline is not None:
        further += stale(baseline, reports, chosen)
    results = Results(tuple(reports), tuple(further), fail_on)
    code = FINDINGS if has_findings_at(results.findings, fail_on) else CONFORMING
    try:
        write_output(options.output, _text(_shown(results, options.show), form, options.output))
    except BrokenPipeError:
        abandon_standard_output()
    return code


def _transcripts(names: Sequence[str]) -> list[str]:
    """The inputs; of several, without the files of expectations that stand beside fixtures and match the same `*`."""
    kept = [name for name in names if not name.endswith(EXPECTED)]
    if not kept or len(names) == 1:
        return list(names)
    if len(kept) < len(names):
        complain("mcp-conformance", f"{len(names) - len(kept)} files named *{EXPECTED} are no transcripts: left out")
    return kept


def _say_which(decisions: Iterable[Decision], names: Iterable[str], file: str) -> None:
    """A decision about an exchange must not hold for two of them. Raises UsageError."""
    named = [os.path.basename(name) for name in names]
    for number, decision in enumerate(decisions):
        if decision.transcript is not None and named.count(decision.transcript) > 1:
            raise UsageError(f"{shown_name(file)}: decisions/{number} is about several of these transcripts")


def _validated(
    names: Sequence[str],
    chosen: tuple[Rule, ...],
    form: Form,
    asserted: Mapping[str, JsonValue],
    new_redactor: Callable[[], Redactor],
    decisions: tuple[Decision, ...] | None,
) -> list[NamedReport] | None:
    """A report for each transcript; None where one of them cannot be used, which has then been complained of."""
    reports: list[NamedReport] = []
    unusable = False
    with Progress(len(names)) as progress:
        for name in names:
            try:
                text = read_input(name)
                document = read_document(text)
            except (UsageError, TranscriptInputError) as problem:
                message = str(problem)
                if isinstance(problem, TranscriptInputError):
                    why = hint(text) or str(problem)
                    message = f"{shown_name(name)}: {why}"
                complain("mcp-conformance", message)
                unusable = True
                continue
            other = hint_of_document(document.value)
            if other is not None:
                complain("mcp-conformance", f"{shown_name(name)}: {other}")
            if not unusable:
                redactor = new_redactor()
                here = None if decisions is None else Decisions(decisions, os.path.basename(name))
                report = validate(document, chosen, redactor, progress.within, asserted, here)
                timeline = None if form.detail is None else redacted_timeline(document, report, redactor, form.detail)
                lines = exchange_lines(text.decode("utf-8", "replace"))
                reports.append(NamedReport(shown_name(name), report, timeline, lines))
            progress.part_done()
    return None if unusable else reports


def _chosen(options: argparse.Namespace) -> tuple[Rule, ...]:
    selected, ignored = _codes("--select", options.select), _codes("--ignore", options.ignore)
    # Who names a rule of the extended set wants it.
    rules = [rule for rule in ALL_RULES if rule.code in selected] if selected else rules_of(extended=options.extended)
    return tuple(rule for rule in rules if rule.code not in ignored)


def _codes(option: str, given: Iterable[str]) -> list[str]:
    codes = [code.strip() for part in given for code in part.split(",") if code.strip()]
    known = {rule.code for rule in ALL_RULES}
    for code in codes:
        if code not in known:
            raise UsageError(f"{option}: {shown_name(code)} is no rule (mcp-conformance explain --all lists them)")
    return codes


def _baseline(options: argparse.Namespace) -> Sequence[Entry] | None:
    """The entries of the baseline; None without one. A baseline that is to be made need not be there yet."""
    name = options.baseline
    if name is None:
        if options.update_baseline:
            raise UsageError("--update-baseline needs --baseline FILE, the file to write")
        return None
    if name == STANDARD_INPUT:
        raise UsageError("--baseline takes a file, not standard input")
    if options.update_baseline and not exists(name):
        return ()
    try:
        return read_baseline(read_input(name), {rule.code for rule in (*ALL_RULES, *own_findings.BOOK.rules)})
    except BaselineError as problem:
        raise UsageError(f"{shown_name(name)} is no baseline: {problem}") from problem


def _shown(results: Results, lowest: Level) -> Results:
    """The results without the findings that are not to be listed; how many they are is said."""
    reports = []
    for named in results.reports:
        listed = tuple(finding for finding in named.report.findings if has_findings_at([finding], lowest))
        hidden = len(named.report.findings) - len(listed)
        reports.append(replace(named, report=replace(named.report, findings=listed, hidden=hidden)))
    further = tuple(finding for finding in results.further if has_findings_at([finding], lowest))
    return replace(results, reports=tuple(reports), further=further)


def _text(results: Results, form: Form, output: str | None) -> str:
    if form.name == "human":
        return human_report.render(results, style_for(output))
    return form.render(results)
