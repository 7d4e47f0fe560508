"""Which kind of file it is: by what stands in it, whatever its name."""

from __future__ import annotations

import contextlib
import errno
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from enum import StrEnum
from typing import BinaryIO, Final

from mcp_wire.captures.stored import Capture, UnreadableCapture
from mcp_wire.transcript.journal import decode

BEGINNING_OCTETS: Final = 64 * 1024
STANDARD_INPUT: Final = "-"

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_HAR: Final = re.compile(rb'\s*\{\s*"log"\s*:')
_FLOWS: Final = re.compile(rb"[0-9]{1,12}:")


class Kind(StrEnum):
    FLOWS = "a flow file"
    HAR = "a HAR file"
    JOURNAL = "a journal"
    JSON = "a transcript"
    """Any other JSON object."""


@contextlib.contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """A file, or standard input for `-`, that can be read twice. Raises OSError, ValueError for what is no name."""
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise OSError(errno.EBADF, "it is closed")
        with _copy_of(sys.stdin.buffer) as copy:
            yield copy
        return
    with open(name, "rb") as file:
        if file.seekable():
            yield file
            return
        with _copy_of(file) as copy:
            yield copy


@contextlib.contextmanager
def _copy_of(source: BinaryIO) -> Iterator[BinaryIO]:
    # A file without a name, so that nothing is left of it whatever happens.
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(source, copy)
        copy.seek(0)
        yield copy


def kind_of(file: BinaryIO) -> Kind | None:
    """None where it is none of those that can be read. The file is at its beginning before and after."""
    beginning = file.read(BEGINNING_OCTETS)
    file.seek(0)
    if _FLOWS.match(beginning):
        return Kind.FLOWS
    text = beginning.removeprefix(_BYTE_ORDER_MARK)
    if _HAR.match(text):
        return Kind.HAR
    if not text.lstrip().startswith(b"{"):
        return None
    line, end, _ = text.partition(b"\n")
    return Kind.JOURNAL if end and decode(line) is not None else Kind.JSON


def capture_in(file: BinaryIO) -> Capture:
    """The capture that an open file holds. Raises UnreadableCapture where it holds none."""
    match kind_of(file):
        case Kind.FLOWS:
            # mitmproxy takes its time to load, and is not needed for anything else.
            from mcp_wire.captures.flow_file import FlowFile

            return FlowFile(file)
        case Kind.HAR | Kind.JSON:
            from mcp_wire.captures.har import HarFile

            return HarFile(file)
        case Kind.JOURNAL:
            raise UnreadableCapture("it is a journal; `mcp-conformance redact` makes a transcript of it")
        case None:
            raise UnreadableCapture("it is neither a flow file of mitmproxy nor a HAR file")
