"""Judge MCP transcripts, explain rules, make transcripts of captures, guard secrets. Exit code 2: unusable input."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Final, NoReturn

from mcp_wire.cli import convert, explain, guard, redact, resplit, validate
from mcp_wire.cli.arguments import OneLineParser
from mcp_wire.cli.streams import UsageError, abandon_standard_output, complain

PROGRAM: Final = "mcp-conformance"
UNUSABLE: Final = 2
INTERRUPTED: Final = 130
"""128 and the number of SIGINT, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = OneLineParser(prog=PROGRAM, description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=OneLineParser)
    for command in (validate, explain, convert, redact, resplit, guard):
        command.add_to(commands)
    try:
        options = parser.parse_args(arguments)
        run: validate.Run = options.run
        with _ended_cleanly():
            return run(options)
    except UsageError as problem:
        complain(PROGRAM, str(problem))
        return UNUSABLE
    except BrokenPipeError:
        abandon_standard_output()
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED


@contextlib.contextmanager
def _ended_cleanly() -> Iterator[None]:
    """Whoever ends the process (`kill`, a closed terminal) leaves nothing half-written behind, as Ctrl-C does not."""
    replaced = []
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
            # What ignores a signal (nohup) goes on ignoring it.
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end)
                replaced.append(number)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
