"""What the command line reads and writes: whole inputs, whole outputs, or one sentence why not."""

from __future__ import annotations

import argparse
import filecmp
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mcp_wire.reports.words import printable

STANDARD_INPUT: Final = "-"
STANDARD_OUTPUT: Final = "-"

FORCE: Final = "--force"
DIFFERS: Final = f"is there already and differs; nothing was written ({FORCE} replaces it)"


class UsageError(Exception):
    """The command cannot do what it was asked. The message is one sentence for standard error."""


def read_input(name: str) -> bytes:
    """The bytes of a file, or of standard input for `-`. Raises UsageError."""
    try:
        if name == STANDARD_INPUT:
            if sys.stdin is None:
                raise UsageError("standard input is closed")
            return sys.stdin.buffer.read()
        return Path(name).read_bytes()
    except (OSError, ValueError) as problem:
        raise UsageError(f"{shown_name(name)}: {unreadable(problem, name)}") from problem


def unreadable(problem: BaseException, name: str = "") -> str:
    """What is wrong with an input. `name`: of a folder that may be that of a live run, whose transcripts are wanted."""
    if not isinstance(problem, IsADirectoryError):
        return f"cannot be read: {reason(problem)}"
    folder = Path(name, "transcripts") if name and Path(name, "transcripts").is_dir() else Path(name)
    such_as = f", such as {printable(str(folder))}/*.json" if name else ""
    return f"is a folder; name the files in it{such_as}"


def exists(name: str) -> bool:
    """There is something under this name."""
    try:
        return os.path.lexists(name)
    except ValueError:
        return False


def write_output(name: str | None, text: str | Iterable[str], *, replace: bool = True) -> None:
    """Write a text, or its pieces, to a file (whole or not at all, readable by the owner only) or to standard output.

    `name` None or `-`: standard output. `replace` false: a file that is there stays, and may only be the same already.
    Raises UsageError where that is not possible, and BrokenPipeError where the reader of standard output has left.
    """
    pieces = (piece.encode(errors="backslashreplace") for piece in ((text,) if isinstance(text, str) else text))
    if name is None or name == STANDARD_OUTPUT:
        _write_standard_output(pieces)
        return
    try:
        _write_file(Path(name), pieces, replace)
    except (OSError, ValueError) as problem:
        raise UsageError(f"{shown_name(name)}: cannot be written: {reason(problem)}") from problem


def add_force_to(parser: argparse.ArgumentParser) -> None:
    """Add `--force`, for commands that make a copy of what may be nowhere else."""
    parser.add_argument(FORCE, action="store_true", help="replace files that are there already and differ")


def complain(command: str, message: str) -> None:
    """One line on standard error."""
    if sys.stderr is not None:
        line = f"{command}: {message}\n"
        sys.stderr.write(line.encode(errors="backslashreplace").decode())
        sys.stderr.flush()


def shown_name(name: str) -> str:
    """A file name that cannot break the line it stands in."""
    if name == STANDARD_INPUT:
        return "standard input"
    return printable(name)


def abandon_standard_output() -> None:
    """Nobody reads standard output any more: let the interpreter flush into nowhere when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _write_standard_output(pieces: Iterable[bytes]) -> None:
    if sys.stdout is None:
        raise UsageError("standard output is closed")
    try:
        sys.stdout.flush()
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as problem:
        abandon_standard_output()
        raise UsageError(f"standard output cannot be written: {reason(problem)}") from problem


def _write_file(path: Path, pieces: Iterable[bytes], replace: bool) -> None:
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        # A device or a pipe is written to; replacing it by a file is not what anybody means.
        with open(path, "wb") as device:
            device.writelines(pieces)
        return
    target = path.resolve() if path.is_symlink() else path
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        if not replace and target.exists():
            if not filecmp.cmp(temporary, target, shallow=False):
                raise UsageError(f"{shown_name(str(path))}: {DIFFERS}")
            os.unlink(temporary)
            return
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def reason(problem: BaseException) -> str:
    """Why a file cannot be used, without its name."""
    return problem.strerror if isinstance(problem, OSError) and problem.strerror else type(problem).__name__
