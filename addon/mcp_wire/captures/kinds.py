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
from mcp_wire.wire.strict_json import JsonValue, read_json

BEGINNING_OCTETS: Final = 64 * 1024
STANDARD_INPUT: Final = "-"

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_HAR: Final = re.compile(rb'\s*\{\s*"log"\s*:')
_FLOWS: Final = re.compile(rb"[0-9]{1,12}:(?:\Z|([0-9]{1,4})(?:\Z|:(?:\Z|([a-z_]+))))")
"""A record is a dictionary; the name of its first member stands behind its length. A time of day has no names in it."""
_COMPRESSED: Final = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"BZh", b"7z\xbc\xaf\x27\x1c")
"""gzip, ZIP, Zstandard, xz, bzip2, 7z."""
_NO_CAPTURE: Final = "it is neither a flow file of mitmproxy nor a HAR file"


class Kind(StrEnum):
    FLOWS = "a flow file"
    HAR = "a HAR file"
    JOURNAL = "a journal"
    FINDINGS = "a list of findings"
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
    return _kind(beginning)


def is_compressed(file: BinaryIO) -> bool:
    """Is it packed by a common means, so that nobody sees what is in it? The file is at its beginning afterwards."""
    file.seek(0)
    beginning = file.read(8)
    file.seek(0)
    return beginning.startswith(_COMPRESSED)


def hint(text: bytes) -> str | None:
    """What a file is that cannot be read as a transcript, and which command takes it; None where that does not show.

    A clause for the name of the file: "is a journal; …".
    """
    kind = _kind(text[:BEGINNING_OCTETS])
    return None if kind is None else _HINTS.get(kind)


def hint_of_document(value: JsonValue) -> str | None:
    """The same for JSON that was read; None for a transcript as well."""
    members = value if isinstance(value, dict) else {}
    if "exchanges" in members:
        return None
    for names, told in _DOCUMENTS:
        if names <= members.keys():
            return told
    return None


_HINTS: Final = {
    Kind.FLOWS: "is a flow file of mitmproxy; make transcripts of it with `mcp-conformance convert`",
    Kind.HAR: "is a HAR file; make transcripts of it with `mcp-conformance convert`",
    Kind.JOURNAL: "is a journal; make a transcript of it with `mcp-conformance redact`",
    Kind.FINDINGS: "holds one finding a line, as findings.jsonl does; take the files in transcripts/ instead",
}
_REPORT: Final = "is a report, not a transcript; take the transcript that it is about"
_DOCUMENTS: Final = (
    ({"log"}, _HINTS[Kind.HAR]),
    ({"journal"}, _HINTS[Kind.JOURNAL]),
    ({"code", "level"}, _HINTS[Kind.FINDINGS]),
    ({"findings", "coverage"}, _REPORT),
    ({"conversations", "findings"}, _REPORT),
    ({"version", "runs"}, _REPORT),
    ({"findings", "recovery"}, "holds what is expected of a transcript; take the transcript beside it"),
    ({"accepted"}, "is a baseline, not a transcript; `validate --baseline` takes it"),
    ({"decisions"}, "holds decisions, not a transcript; `validate --idempotency` takes it"),
)
"""By names of members, the first that fits."""


def _kind(beginning: bytes) -> Kind | None:
    flows = _FLOWS.match(beginning)
    if flows and (flows[2] is None or flows.end() == len(beginning) or len(flows[2]) == int(flows[1])):
        return Kind.FLOWS
    text = beginning.removeprefix(_BYTE_ORDER_MARK)
    if _HAR.match(text):
        return Kind.HAR
    if not text.lstrip().startswith(b"{"):
        return None
    line, end, _ = text.partition(b"\n")
    if end and decode(line) is not None:
        return Kind.JOURNAL
    return Kind.FINDINGS if end and _is_finding(line) else Kind.JSON


def _is_finding(line: bytes) -> bool:
    reading = read_json(line)
    return reading.strict and isinstance(reading.value, dict) and isinstance(reading.value.get("code"), str)


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
        case Kind.FINDINGS:
            raise UnreadableCapture("it holds one finding a line, as findings.jsonl does, and no traffic")
        case None:
            raise UnreadableCapture(_NO_CAPTURE)
