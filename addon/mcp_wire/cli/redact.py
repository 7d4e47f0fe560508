"""`mcp-conformance redact`: a raw transcript, journal or capture of someone else, cleaned."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final

from mcp_wire.captures.kinds import Kind, kind_of, opened
from mcp_wire.cli import convert
from mcp_wire.cli.arguments import add_redact_names_to, redactor_for
from mcp_wire.cli.copies import differences, transcript_in
from mcp_wire.cli.streams import (
    STANDARD_OUTPUT,
    UsageError,
    abandon_standard_output,
    add_force_to,
    complain,
    shown_name,
    unreadable,
    write_output,
)
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.transcript.assembly import assembled
from mcp_wire.transcript.journal import JournalRecord, decode, encode
from mcp_wire.transcript.rewriting import redacted_exchanges, redacted_header, redacted_records
from mcp_wire.transcript.writing import transcript_parts

PROGRAM: Final = "mcp-conformance"
WHOLE: Final = 0
INCOMPLETE: Final = 1
MAX_LINES_TOLD: Final = 100


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "redact",
        help="clean a transcript or a capture that was taken raw",
        description="Replace values by labels. A transcript or a journal becomes a transcript in the file OUT; a flow "
        "file or a HAR file becomes transcripts in the folder OUT, as `convert` makes them. Exit codes: 0 the copy "
        "tells and proves what the original did; 1 something was left out, as standard error says; 2 the input cannot "
        "be read, or OUT is there already and differs (then nothing is written).",
        allow_abbrev=False,
    )
    parser.add_argument("input", metavar="IN", help="transcript, journal, flow file or HAR file; - is standard input")
    parser.add_argument(
        "--output", "-o", metavar="OUT", required=True, help="where to write; - is standard output, for one transcript"
    )
    add_redact_names_to(parser)
    add_force_to(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Redact. Returns the exit code; raises UsageError."""
    name, output, force = options.input, options.output, options.force
    redactor = redactor_for(options)
    with contextlib.ExitStack() as files:
        try:
            file = files.enter_context(opened(name))
            kind = kind_of(file)
        except (OSError, ValueError) as problem:
            raise UsageError(f"{shown_name(name)}: {unreadable(problem)}") from problem
        if kind is Kind.JSON or kind is Kind.FINDINGS:
            return _transcript(name, file.read(), output, redactor(), force)
        if kind is Kind.JOURNAL:
            return _journal(name, file, output, redactor(), force)
        if kind is None:
            raise UsageError(f"{shown_name(name)}: is no transcript, journal, flow file or HAR file")
        if output == STANDARD_OUTPUT:
            raise UsageError(f"{shown_name(name)} is {kind}: --output names the folder for its transcripts")
        return convert.converted([(name, file)], output, redactor=redactor, force=force)


def _transcript(name: str, text: bytes, output: str, redactor: Redactor, force: bool) -> int:
    document = transcript_in(name, text)
    exchanges = redacted_exchanges(document, redactor)
    copy = "".join(transcript_parts(redacted_header(document, redactor), exchanges))
    changed = differences(document, copy)
    _write(output, [copy], force)
    for difference in changed:
        complain(PROGRAM, f"{shown_name(name)}: {difference}")
    return INCOMPLETE if changed else WHOLE


def _journal(name: str, file: BinaryIO, output: str, redactor: Redactor, force: bool) -> int:
    foreign = [number for number, line in enumerate(file, 1) if decode(line) is None]

    def records() -> Iterator[JournalRecord]:
        file.seek(0)
        return (record for line in file if (record := decode(line)) is not None)

    with tempfile.TemporaryFile() as redacted:
        for record in redacted_records(records, redactor):
            redacted.write(f"{encode(record)}\n".encode())
        _write(output, assembled(redacted), force)
    for number in foreign[:MAX_LINES_TOLD]:
        complain(PROGRAM, f"{shown_name(name)}: line {number}: cut off, or no record: left out")
    return INCOMPLETE if foreign else WHOLE


def _write(output: str, pieces: Iterable[str], force: bool) -> None:
    try:
        write_output(output, pieces, replace=force)
    except BrokenPipeError:
        abandon_standard_output()
