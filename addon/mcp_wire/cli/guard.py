"""`mcp-conformance guard`: is there anything in these files that must not be published?"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import BinaryIO, Final

from mcp_wire.captures.kinds import Kind, kind_of, opened
from mcp_wire.cli.arguments import add_redact_names_to, redactor_for
from mcp_wire.cli.copies import transcript_held
from mcp_wire.cli.streams import abandon_standard_output, complain, reason, shown_name, write_output
from mcp_wire.privacy.guard import secrets_by_line
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.reports.words import counted
from mcp_wire.transcript.unredacted import unredacted_in, unredacted_in_journal

PROGRAM: Final = "mcp-conformance"
CLEAN: Final = 0
FOUND: Final = 1
UNUSABLE: Final = 2

MAX_PLACES_TOLD: Final = 1_000
"""Places in one file that are told; a raw capture has more than anybody reads."""

WHAT_TO_DO: Final = "Do not publish: stop, quarantine, rotate, recapture (docs/quarantine.md)."


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "guard",
        help="look for secrets before anything is published",
        description="Look through transcripts, journals, fixtures, reports or any other text for secrets that show "
        "themselves; in transcripts and journals, also for everything that redaction would replace. Each place is "
        'told, what stands there never. A transcript that was written by hand says so with `"values": "invented"`. '
        "Exit codes: 0 nothing was found; 1 something was; 2 a file cannot be read.",
        allow_abbrev=False,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="any file; - is standard input")
    add_redact_names_to(parser, "names of tools must not be there either, in transcripts and journals")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Guard. Returns the exit code."""
    redactor = redactor_for(options)
    lines: list[str] = []
    files = places = 0
    unusable = False
    for name in options.files:
        try:
            with opened(name) as file:
                found = list(islice(_places(file, redactor()), MAX_PLACES_TOLD + 1))
        except (OSError, ValueError) as problem:
            complain(PROGRAM, f"{shown_name(name)}: cannot be read: {reason(problem)}")
            unusable = True
            continue
        files += bool(found)
        places += len(found)
        lines += [f"{shown_name(name)}: {place}: {kind}\n" for place, kind in found[:MAX_PLACES_TOLD]]
        if len(found) > MAX_PLACES_TOLD:
            lines.append(f"{shown_name(name)}: there is more\n")
    if files:
        lines.append(f"{counted(files, 'file')} of {len(options.files)} not fit to be published. {WHAT_TO_DO}\n")
    try:
        write_output(None, lines)
    except BrokenPipeError:
        abandon_standard_output()
    return UNUSABLE if unusable else FOUND if files else CLEAN


def _places(file: BinaryIO, redactor: Redactor) -> Iterator[tuple[str, str]]:
    """Place and kind of everything that was found: a JSON pointer in a transcript, a line in any other file."""
    kind = kind_of(file)
    # What cannot be read as a transcript is guarded as a text.
    document = transcript_held(file) if kind is Kind.JSON else None
    file.seek(0)
    if document is not None:
        yield from _once((found.place, found.kind) for found in unredacted_in(document, redactor))
        return
    by_line = ((f"line {line}", secret) for line, secret in secrets_by_line(file))
    if kind is not Kind.JOURNAL:
        yield from by_line
        return
    told = set()
    for place, secret in by_line:
        told.add(place)
        yield place, secret
    unredacted = unredacted_in_journal(lambda: _from_start(file), redactor)
    yield from ((found.place, found.kind) for found in unredacted if found.place not in told)


def _from_start(file: BinaryIO) -> BinaryIO:
    file.seek(0)
    return file


def _once(places: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    yield from dict.fromkeys(places)
