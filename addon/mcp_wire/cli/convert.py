"""`mcp-conformance convert`: captures that people already have, as redacted transcripts with what is found in them."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from mcp_wire.captures.conversion import AlreadyThere, Conversion, Converted
from mcp_wire.captures.kinds import STANDARD_INPUT, capture_in, opened
from mcp_wire.captures.replay import Index
from mcp_wire.captures.stored import Capture, UnreadableCapture
from mcp_wire.cli.arguments import add_redact_names_to, add_tuple_to, asserted_tuple, redactor_for
from mcp_wire.cli.streams import (
    DIFFERS,
    FORCE,
    STANDARD_OUTPUT,
    UsageError,
    abandon_standard_output,
    add_force_to,
    complain,
    reason,
    shown_name,
    unreadable,
    write_output,
)
from mcp_wire.judging.declaration import Rule
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.profiles import PROFILES, Profile
from mcp_wire.reports.model import Report
from mcp_wire.rules import rules_of
from mcp_wire.wire.strict_json import JsonValue

PROGRAM: Final = "mcp-conformance"
AUTO: Final = "auto"
WHOLE: Final = 0
INCOMPLETE: Final = 1
UNUSABLE: Final = 2


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "convert",
        help="make transcripts of flow files and HAR files",
        description="Make redacted transcripts of flow files of mitmproxy and of HAR files, and beside each what is "
        "found in it (NAME.expected.json). Exit codes: 0 everything was converted; 1 something was left out, as "
        "standard error says; 2 a capture cannot be read, or a file is there already and differs (then nothing is "
        "written).",
        allow_abbrev=False,
    )
    parser.add_argument("captures", nargs="+", metavar="CAPTURE", help="flow file or HAR file; - is standard input")
    parser.add_argument("--output", "-o", metavar="DIR", required=True, help="folder for the transcripts")
    parser.add_argument(
        "--profile",
        choices=(AUTO, *PROFILES),
        default=AUTO,
        metavar="PROFILE",
        help=f"profile to judge by: {', '.join(PROFILES)}; or {AUTO}, each conversation by its own evidence ({AUTO})",
    )
    parser.add_argument("--extended", action="store_true", help="judge by the extended rule set as well")
    add_force_to(parser)
    add_redact_names_to(parser)
    add_tuple_to(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Convert. Returns the exit code; raises UsageError where the folder cannot be written."""
    profile = None if options.profile == AUTO else PROFILES[options.profile]
    asserted = asserted_tuple(options)
    with contextlib.ExitStack() as files:
        captures: list[tuple[str, BinaryIO]] = []
        for name in options.captures:
            try:
                captures.append((name, files.enter_context(opened(name))))
            except (OSError, ValueError) as problem:
                complain(PROGRAM, f"{shown_name(name)}: {unreadable(problem)}")
        if len(captures) < len(options.captures):
            return UNUSABLE
        rules = rules_of(extended=options.extended)
        redactor = redactor_for(options)
        return converted(captures, options.output, rules, profile, asserted, redactor, force=options.force)


def converted(
    captures: Sequence[tuple[str, BinaryIO]],
    output: str,
    rules: Sequence[Rule] | None = None,
    profile: Profile | None = None,
    asserted: Mapping[str, JsonValue] | None = None,
    redactor: Callable[[], Redactor] = Redactor,
    *,
    force: bool = False,
) -> int:
    """Convert named, open captures into a folder. `rules` None: the default set.

    `asserted`: what an operator says of the interoperability tuple. `redactor`: makes what redacts one conversation.
    `force`: what is there already is replaced.

    Returns the exit code; raises UsageError.
    """
    if output in ("", STANDARD_OUTPUT) or "\0" in output:
        raise UsageError("--output names no folder")
    complaints = _Complaints()
    lines: list[str] = []
    indexed = _indexed(captures)
    if indexed is None:
        return UNUSABLE
    try:
        with Conversion(Path(output), rules, profile, complaints.hear, asserted, redactor) as conversion:
            for name, capture, index in indexed:
                complaints.about(name, index)
                made = conversion.convert(_stem(name), capture, index)
                _say_what_is_repeated(name, index)
                if not made:
                    complaints.hear(f"{shown_name(name)}: there is no MCP in it")
                lines += (_line(output, one) for one in made)
            conversion.commit(force=force)
    except AlreadyThere as problem:
        raise UsageError(_already_there(output, problem.names)) from problem
    except OSError as problem:
        raise UsageError(f"{shown_name(output)}: cannot be written: {reason(problem)}") from problem
    try:
        write_output(None, lines)
    except BrokenPipeError:
        abandon_standard_output()
    return INCOMPLETE if complaints.any else WHOLE


def _already_there(output: str, names: Sequence[str]) -> str:
    first = shown_name(str(Path(output) / names[0]))
    if len(names) == 1:
        return f"{first}: {DIFFERS}"
    others = f"{len(names) - 1} other file{'' if len(names) == 2 else 's'}"
    return f"{first} and {others} are there already and differ; nothing was written ({FORCE} replaces them)"


def _indexed(captures: Sequence[tuple[str, BinaryIO]]) -> list[tuple[str, Capture, Index]] | None:
    """Each capture, read once; None where one of them cannot be, which has then been complained of."""
    indexed: list[tuple[str, Capture, Index]] = []
    for name, file in captures:
        try:
            capture = capture_in(file)
            indexed.append((name, capture, Index(capture.places())))
        except (UnreadableCapture, OSError) as problem:
            why = problem if isinstance(problem, UnreadableCapture) else reason(problem)
            complain(PROGRAM, f"{shown_name(name)}: cannot be read: {why}")
    return indexed if len(indexed) == len(captures) else None


def _say_what_is_repeated(name: str, index: Index) -> None:
    """Nothing is missing for that, so it has no say in the exit code."""
    if index.first_repeated is not None:
        place = f"at byte {index.first_repeated.offset}"
        if index.repeated == 1:
            repeated = f"the recording {place} is there already"
        else:
            repeated = f"{index.repeated} recordings, the first {place}, are there already"
        complain(PROGRAM, f"{shown_name(name)}: {repeated}: each exchange counts once")


class _Complaints:
    """What was left out, as it is said on standard error."""

    def __init__(self) -> None:
        self.any = False

    def hear(self, sentence: str) -> None:
        self.any = True
        complain(PROGRAM, sentence)

    def about(self, name: str, index: Index) -> None:
        for left_out in index.left_out:
            self.hear(f"{shown_name(name)}: {left_out}: left out")
        if index.more_left_out:
            self.hear(f"{shown_name(name)}: {index.more_left_out} more were left out")


def _stem(name: str) -> str:
    return "capture" if name == STANDARD_INPUT else Path(name).stem or "capture"


def _line(folder: str, converted: Converted) -> str:
    exchanges = f"{converted.exchanges} exchange{'' if converted.exchanges == 1 else 's'}"
    return f"{shown_name(str(Path(folder) / converted.name))}: {exchanges}, {_counts(converted.report)}\n"


def _counts(report: Report) -> str:
    counts = dict.fromkeys(("error", "warning", "info"), 0)
    for finding in report.findings:
        counts[finding.level] += 1
    words = {"error": "error", "warning": "warning", "info": "note"}
    return ", ".join(f"{count} {words[level]}{'' if count == 1 else 's'}" for level, count in counts.items())
