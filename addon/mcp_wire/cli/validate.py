"""`mcp-conformance validate`: judge transcripts offline."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from mcp_wire.baseline import BaselineError, Entry, applied, baseline_text, read_baseline, stale, updated
from mcp_wire.cli.arguments import (
    add_idempotency_to,
    add_redact_names_to,
    add_tuple_to,
    asserted_tuple,
    idempotency_decisions,
    redactor_for,
)
from mcp_wire.cli.codes import nearest
from mcp_wire.cli.copies import spare
from mcp_wire.cli.expected import as_expected, compared, refuse_with_expected
from mcp_wire.cli.inputs import read_transcript
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
from mcp_wire.expectations import EXPECTED
from mcp_wire.judging.declaration import Rule
from mcp_wire.judging.finding import LEVELS, Level
from mcp_wire.judging.idempotency import Decision, Decisions
from mcp_wire.judging.recovery import NO_DECISION
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.reports import human_report
from mcp_wire.reports.forms import FORMS, Form
from mcp_wire.reports.model import NamedReport, Results, has_findings_at
from mcp_wire.reports.words import listed
from mcp_wire.requirements import unexercised
from mcp_wire.rules import ALL_RULES, own_findings, rules_of
from mcp_wire.transcript.places import exchange_lines
from mcp_wire.validation import redacted_timeline, validate
from mcp_wire.wire.strict_json import JsonValue

type Run = Callable[[argparse.Namespace], int]

CONFORMING: Final = 0
FINDINGS: Final = 1
UNUSABLE: Final = 2

MAX_UNMATCHED_NAMED: Final = 8
"""Decisions that one line names."""


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
    parser.add_argument("--report", choices=tuple(FORMS), help="form of the report (human)")
    parser.add_argument("--fail-on", choices=("error", "warning"), help="level of exit code 1 (error)")
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
    parser.add_argument(
        "--expected",
        action="store_true",
        help="compare what is found with NAME.expected.json beside each NAME.json, as convert writes them; no report; "
        "code 1 if something differs (docs/captures.md)",
    )
    add_redact_names_to(parser)
    add_idempotency_to(parser)
    add_tuple_to(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Validate and report. Returns the exit code; raises UsageError for what the options themselves get wrong."""
    if options.expected:
        return _compare(options)
    required = _codes("--require", options.require)
    chosen = _chosen(options)
    baseline = _baseline(options)
    asserted = asserted_tuple(options)
    decisions = idempotency_decisions(options)
    if options.output is not None:
        spare(options.output, [*options.transcripts, *filter(None, (options.baseline, options.idempotency))])
    form = FORMS[options.report or "human"]
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
    if decisions is not None:
        _say_unmatched(decisions, reports, options)
    further = unexercised(required, [named.report for named in reports], chosen, _why_not_chosen(options))
    if baseline is not None:
        further += stale(baseline, reports, chosen)
    results = Results(tuple(reports), tuple(further), fail_on)
    code = FINDINGS if has_findings_at(results.findings, fail_on) else CONFORMING
    try:
        write_output(options.output, _text(_shown(results, options.show), form, options.output))
    except BrokenPipeError:
        abandon_standard_output()
    return code


def _compare(options: argparse.Namespace) -> int:
    """What `--expected` asks for. Returns the exit code; raises UsageError."""
    refuse_with_expected(options)
    asserted_tuple(options)
    names = _transcripts(options.transcripts, quietly=True)
    lines = compared(names, redactor_for(options), options.show, extended=options.extended)
    if lines is None:
        return UNUSABLE
    try:
        write_output(None, lines or as_expected(len(names)))
    except BrokenPipeError:
        abandon_standard_output()
    return FINDINGS if lines else CONFORMING


def _transcripts(names: Sequence[str], *, quietly: bool = False) -> list[str]:
    """The inputs; of several, without the files of expectations that stand beside fixtures and match the same `*`."""
    kept = [name for name in names if not name.endswith(EXPECTED)]
    if not kept or len(names) == 1:
        return list(names)
    if len(kept) < len(names) and not quietly:
        complain("mcp-conformance", f"{len(names) - len(kept)} files named *{EXPECTED} are no transcripts: left out")
    return kept


def _say_which(decisions: Iterable[Decision], names: Iterable[str], file: str) -> None:
    """A decision about an exchange must not hold for two of them. Raises UsageError."""
    named = [os.path.basename(name) for name in names]
    for number, decision in enumerate(decisions):
        if decision.transcript is not None and named.count(decision.transcript) > 1:
            raise UsageError(f"{shown_name(file)}: decisions/{number} is about several of these transcripts")


def _say_unmatched(decisions: Sequence[Decision], reports: Sequence[NamedReport], options: argparse.Namespace) -> None:
    """Name the decisions that changed nothing where one was asked for: there may be a mistake in their names."""
    given = [advice for named in reports for advice in named.report.recovery]
    matched = {advice.decision for advice in given}
    one_is_missing = any(NO_DECISION in advice.condition for advice in given)
    names = {os.path.basename(named.transcript) for named in reports}
    unmatched = [
        f"decisions/{number}"
        for number, decision in enumerate(decisions)
        if decision not in matched
        and (one_is_missing if decision.transcript is None else shown_name(decision.transcript) in names)
    ]
    if unmatched:
        what = listed(unmatched[:MAX_UNMATCHED_NAMED])
        more = len(unmatched) - MAX_UNMATCHED_NAMED
        others = f", and {more} more," if more > 0 else ""
        hidden = "; those about tools do not count with --redact-names" if options.redact_names else ""
        complain(
            "mcp-conformance",
            f"{shown_name(options.idempotency)}: {what}{others} matched nothing: no recovery advice hangs on "
            f"{'it' if len(unmatched) == 1 else 'them'}{hidden}",
        )


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
            read = read_transcript(name)
            if read is None:
                unusable = True
            elif not unusable:
                text, document = read
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


def _why_not_chosen(options: argparse.Namespace) -> Callable[[str], str]:
    """Tells of a rule that was not run why it was not, and what makes it run."""
    selected, ignored = _codes("--select", options.select), _codes("--ignore", options.ignore)

    def why(code: str) -> str:
        if code in ignored:
            return "--ignore leaves it out"
        if selected:
            return "--select does not name it"
        return "it belongs to the extended set, which was not chosen (--extended chooses it)"

    return why


def _codes(option: str, given: Iterable[str]) -> list[str]:
    codes = [code.strip() for part in given for code in part.split(",") if code.strip()]
    known = {rule.code for rule in ALL_RULES}
    if given and not codes:
        # As an unset variable in a script would have it: nothing would be asked for, and nobody would notice.
        raise UsageError(f"{option} names no rule")
    for code in codes:
        if code not in known:
            near = nearest(code, known) or "mcp-conformance explain --all lists them"
            raise UsageError(f"{option}: {shown_name(code)} is no rule ({near})")
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
