"""Command line parsing with one line of complaint and exit code 2, which is what scripts can rely on."""

from __future__ import annotations

import argparse
from typing import NoReturn

from mcp_wire.cli.streams import UsageError
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


def asserted_tuple(options: argparse.Namespace) -> dict[str, JsonValue]:
    """What `--tuple` says. Raises UsageError."""
    try:
        return asserted_parts(options.tuple)
    except TupleError as problem:
        raise UsageError(f"--tuple: {problem}") from problem
