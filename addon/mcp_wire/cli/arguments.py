"""Command line parsing with one line of complaint and exit code 2, which is what scripts can rely on."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import NoReturn

from mcp_wire.cli.streams import STANDARD_INPUT, UsageError, read_input, shown_name
from mcp_wire.idempotency_file import IdempotencyError, read_decisions
from mcp_wire.judging.idempotency import Decision
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.transcript.tuple_parts import PARTS
from mcp_wire.transcript.tuple_words import TupleError, asserted_parts
from mcp_wire.wire.strict_json import JsonValue


class OneLineParser(argparse.ArgumentParser):
    """Raises UsageError instead of printing its usage."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{' '.join(message.split())} (try {self.prog} --help)")


def add_tuple_to(parser: argparse.ArgumentParser) -> None:
    """Add `--tuple`, for parts of the interoperability tuple that the traffic does not show."""
    parser.add_argument(
        "--tuple",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"what is known of {', '.join(PARTS)} and the traffic does not show, as in sdk=python-sdk/2.3.0 (may be "
        "given again)",
    )


def add_idempotency_to(parser: argparse.ArgumentParser) -> None:
    """Add `--idempotency`, for the decisions without which nothing is to be sent again."""
    parser.add_argument(
        "--idempotency",
        metavar="FILE",
        help="owners' decisions about what may be sent again after it was cut, for the recovery advice "
        "(docs/idempotency.md)",
    )


def idempotency_decisions(options: argparse.Namespace) -> tuple[Decision, ...] | None:
    """What the file of `--idempotency` says; None without one. Raises UsageError."""
    name: str | None = options.idempotency
    if name is None:
        return None
    if name == STANDARD_INPUT:
        raise UsageError("--idempotency takes a file, not standard input")
    try:
        return read_decisions(read_input(name))
    except IdempotencyError as problem:
        raise UsageError(f"{shown_name(name)}: {problem}") from problem


def asserted_tuple(options: argparse.Namespace) -> dict[str, JsonValue]:
    """What `--tuple` says. Raises UsageError."""
    try:
        return asserted_parts(options.tuple)
    except TupleError as problem:
        raise UsageError(f"--tuple: {problem}") from problem


def add_redact_names_to(parser: argparse.ArgumentParser, help: str = "replace the names of tools as well") -> None:
    """Add `--redact-names`."""
    parser.add_argument("--redact-names", action="store_true", help=help)


def redactor_for(options: argparse.Namespace) -> Callable[[], Redactor]:
    """Makes what redacts one conversation, as `--redact-names` says."""
    return functools.partial(Redactor, keep_tool_names=not options.redact_names)
