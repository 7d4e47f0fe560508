"""`mcp-conformance resplit`: the same transcript with other chunk boundaries or line ends, to try parsers with."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from typing import Final

from mcp_wire.cli.arguments import add_redact_names_to, redactor_for
from mcp_wire.cli.copies import differences, read_transcript
from mcp_wire.cli.streams import UsageError, abandon_standard_output, add_force_to, complain, shown_name, write_output
from mcp_wire.transcript.recutting import Cut, at_random, bytewise, linewise, recut, with_line_ends
from mcp_wire.transcript.rewriting import redacted_exchanges, redacted_header
from mcp_wire.transcript.writing import Recorded, transcript_parts
from mcp_wire.wire.observation import Milliseconds

PROGRAM: Final = "mcp-conformance"
SAME: Final = 0
DIFFERENT: Final = 1


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "resplit",
        help="give the streams of a transcript other chunks or line ends",
        description="Write the same transcript, redacted, with event streams that are cut elsewhere or end their lines "
        "differently. Exit codes: 0 the same is found in it; 1 not quite the same, as standard error says; 2 it cannot "
        "be read, or OUT is there already and differs (then nothing is written).",
        allow_abbrev=False,
    )
    parser.add_argument("transcript", metavar="TRANSCRIPT", help="transcript file; - is standard input")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--seed", type=int, metavar="N", help="cut and join at random; the same N gives the same chunks")
    how.add_argument("--bytewise", action="store_true", help="one octet a chunk")
    how.add_argument("--lines", action="store_true", help="one line a chunk")
    parser.add_argument("--crlf", choices=("cr", "lf", "crlf"), help="end every line so, before anything is cut")
    parser.add_argument("--output", "-o", metavar="OUT", help="write to OUT instead of standard output")
    add_redact_names_to(parser)
    add_force_to(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Resplit. Returns the exit code; raises UsageError."""
    if options.seed is None and not (options.bytewise or options.lines or options.crlf):
        raise UsageError("say how: --seed N, --bytewise, --lines or --crlf")
    document = read_transcript(options.transcript)
    redactor = redactor_for(options)()
    exchanges = redacted_exchanges(document, redactor)
    header = redacted_header(document, redactor)
    if options.crlf is not None:
        exchanges = [_whole(recut(exchange, with_line_ends(options.crlf))) for exchange in exchanges]
    # Joined chunks come later than they did. Where that changes what is found, none are joined.
    for joining in (True, False) if options.seed is not None else (False,):
        cut = list(_cut(exchanges, options, joining))
        copy = "".join(transcript_parts(header, cut))
        changed = differences(document, copy)
        if not changed:
            break
    try:
        write_output(options.output, copy, replace=options.force)
    except BrokenPipeError:
        abandon_standard_output()
    for difference in changed:
        complain(PROGRAM, f"{shown_name(options.transcript)}: {difference}")
    return DIFFERENT if changed else SAME


def _cut(exchanges: Sequence[Recorded], options: argparse.Namespace, joining: bool) -> Iterator[Recorded]:
    chance = random.Random(options.seed)
    for place, exchange in enumerate(exchanges):
        cut: Cut | None = None
        if options.seed is not None:
            cut = at_random(chance.random, _moments(exchanges, place), joining=joining)
        elif options.bytewise:
            cut = bytewise
        elif options.lines:
            cut = linewise
        yield exchange if cut is None else _whole(recut(exchange, cut))


def _whole(exchange: Recorded) -> Recorded:
    """With chunks that can be read more than once."""
    exchange.chunks = list(exchange.chunks)
    return exchange


def _moments(exchanges: Sequence[Recorded], place: int) -> Iterator[Milliseconds]:
    """When something was seen of the other exchanges."""
    for other in (*exchanges[:place], *exchanges[place + 1 :]):
        for seen in (other.request, other.response, *other.chunks, other.body, other.end):
            if seen is not None and seen.t_ms is not None:
                yield seen.t_ms
