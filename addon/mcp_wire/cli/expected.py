"""`mcp-conformance validate --expected`: transcripts as regression tests."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Final

from mcp_wire.cli.inputs import read_transcript
from mcp_wire.cli.progress import Progress
from mcp_wire.cli.streams import STANDARD_INPUT, UsageError, complain, read_input, shown_name
from mcp_wire.expectations import Expectation, ExpectationError, differences, expected_name, read_expectation
from mcp_wire.judging.finding import Level
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.reports.words import counted
from mcp_wire.rules import rules_of
from mcp_wire.validation import validate

_NOT_TOGETHER: Final = (
    "report",
    "fail_on",
    "output",
    "select",
    "ignore",
    "require",
    "baseline",
    "update_baseline",
    "idempotency",
)
"""Options that would change what is found, or how it is told."""


def refuse_with_expected(options: argparse.Namespace) -> None:
    """Raises UsageError for the first option that `--expected` cannot go with."""
    for name in _NOT_TOGETHER:
        if getattr(options, name):
            raise UsageError(f"--expected does not go with --{name.replace('_', '-')}")


def compared(
    names: Sequence[str], new_redactor: Callable[[], Redactor], lowest: Level, *, extended: bool
) -> list[str] | None:
    """A line for each difference between what is found and what is expected, and none where there is none.

    Each transcript is judged by the rule set that its expectation states, or by all rules (`extended`); findings below
    `lowest` do not count. None: an input cannot be used, which has then been complained of.
    """
    lines: list[str] = []
    unusable = False
    with Progress(len(names)) as progress:
        for name in names:
            expectation = _expectation(name)
            read = None if name == STANDARD_INPUT else read_transcript(name)
            if read is None or expectation is None:
                unusable = True
            elif not unusable:
                _, document = read
                rules = rules_of(extended=extended or expectation.extended)
                report = validate(document, rules, new_redactor(), progress.within)
                lines += [f"{shown_name(name)}: {line}\n" for line in differences(expectation, report, lowest)]
            progress.part_done()
    return None if unusable else lines


def as_expected(number: int) -> str:
    """The line that stands where there is no difference."""
    return f"{counted(number, 'transcript')}: what is found is what is expected.\n"


def _expectation(name: str) -> Expectation | None:
    if name == STANDARD_INPUT:
        complain("mcp-conformance", "--expected takes files, not standard input")
        return None
    file = expected_name(name)
    try:
        return read_expectation(read_input(file))
    except UsageError as problem:
        complain("mcp-conformance", str(problem))
    except ExpectationError as problem:
        complain("mcp-conformance", f"{shown_name(file)}: {problem}")
    return None
