"""`mcp-conformance guard`: is there anything in these files that must not be published?"""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import BinaryIO, Final

from mcp_wire.captures.kinds import STANDARD_INPUT, Kind, is_compressed, kind_of, opened
from mcp_wire.captures.unredacted_har import has_traffic, is_own, unredacted_in_har
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


WHAT_INSTEAD: Final = "make transcripts of it with `mcp-conformance convert`, and publish those"

VERSION_CONTROL: Final = frozenset({".git", ".hg", ".svn", ".bzr", ".jj"})
"""Folders that are not looked through: what was committed is no file any more."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "guard",
        help="look for secrets before anything is published",
        description="Look through transcripts, journals, fixtures, reports or any other text for secrets that show "
        "themselves; in transcripts and journals, also for everything that redaction would replace. Flow files and HAR "
        "files are raw: they are found whatever stands in them. Of a folder, every file below it. Each place is "
        'told, what stands there never. A transcript that was written by hand says so with `"values": "invented"`. '
        "Exit codes: 0 nothing was found; 1 something was; 2 a file cannot be read.",
        allow_abbrev=False,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="any file or folder; - is standard input")
    add_redact_names_to(parser, "names of tools must not be there either, in transcripts and journals")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Guard. Returns the exit code."""
    redactor = redactor_for(options)
    lines: list[str] = []
    files = 0
    names, unusable = _files(options.files)
    for name in names:
        try:
            with opened(name) as file:
                if is_compressed(file):
                    complain(PROGRAM, f"{shown_name(name)}: is compressed, and was not looked into")
                found = list(islice(_places(file, redactor()), MAX_PLACES_TOLD + 1))
        except (OSError, ValueError) as problem:
            complain(PROGRAM, f"{shown_name(name)}: cannot be read: {reason(problem)}")
            unusable = True
            continue
        files += bool(found)
        lines += [f"{shown_name(name)}: {place}: {kind}\n" for place, kind in found[:MAX_PLACES_TOLD]]
        if len(found) > MAX_PLACES_TOLD:
            lines.append(f"{shown_name(name)}: there is more\n")
    if files:
        lines.append(f"{counted(files, 'file')} of {len(names)} not fit to be published. {WHAT_TO_DO}\n")
    try:
        write_output(None, lines)
    except BrokenPipeError:
        abandon_standard_output()
    return UNUSABLE if unusable else FOUND if files else CLEAN


def _files(names: Iterable[str]) -> tuple[list[str], bool]:
    """The files to look through, those of folders in sorted order; and whether a folder cannot be read."""
    files: list[str] = []
    problems: list[OSError] = []
    for name in names:
        if name == STANDARD_INPUT or "\0" in name or not os.path.isdir(name):
            files.append(name)
            continue
        before = len(files)
        for folder, inner, here in os.walk(name, onerror=problems.append):
            inner[:] = sorted(one for one in inner if one not in VERSION_CONTROL)
            paths = (os.path.join(folder, one) for one in sorted(here))
            files += (path for path in paths if stat.S_ISREG(os.lstat(path).st_mode))
        if len(files) == before and not problems:
            complain(PROGRAM, f"{shown_name(name)}: there is no file in it")
    for problem in problems:
        complain(PROGRAM, f"{shown_name(str(problem.filename))}: cannot be read: {reason(problem)}")
    return files, bool(problems)


def _places(file: BinaryIO, redactor: Redactor) -> Iterator[tuple[str, str]]:
    """Place and kind of everything that was found: a JSON pointer in a transcript, a line in any other file."""
    kind = kind_of(file)
    # What cannot be read as a transcript is guarded as a text.
    document = transcript_held(file) if kind is Kind.JSON else None
    file.seek(0)
    if document is not None:
        yield from _once((found.place, found.kind) for found in unredacted_in(document, redactor))
        return
    if kind is Kind.HAR and not has_traffic(file):
        kind = None
    if kind is Kind.FLOWS or (kind is Kind.HAR and not is_own(file)):
        yield f"raw capture ({kind.removeprefix('a ')})", WHAT_INSTEAD
    elif kind is Kind.HAR:
        yield from unredacted_in_har(file, redactor)
    file.seek(0)
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
