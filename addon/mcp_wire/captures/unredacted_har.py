"""What redaction would still change in a HAR file that this tool wrote itself (`--report har`).

Such a file has labels in it where any other has what passed; so the others are raw, whatever stands in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from mcp_wire.captures.har import HarFile
from mcp_wire.captures.har_entry import THIS_TOOL
from mcp_wire.captures.stored import LeftOut, StoredExchange, UnreadableCapture
from mcp_wire.live.exchange import Exchanges
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.transcript.journal import encode

_BLOCK_OCTETS: Final = 1024 * 1024
_REQUEST: Final = b'"request"'

UNREAD: Final = "entry that cannot be read, so that it cannot be redacted"
UNREDACTED: Final = "entry that redaction changes"


def has_traffic(file: BinaryIO) -> bool:
    """Is there any request in a file that begins as HAR files do? Others begin so, too."""
    file.seek(0)
    before = b""
    while block := file.read(_BLOCK_OCTETS):
        if _REQUEST in before + block:
            return True
        before = block[-len(_REQUEST) :]
    return False


def is_own(file: BinaryIO) -> bool:
    """Did this tool write it?"""
    capture = HarFile(file)
    try:
        for _ in capture.places():
            break
    except UnreadableCapture:
        return False
    return capture.creator == THIS_TOOL


def unredacted_in_har(file: BinaryIO, redactor: Redactor) -> Iterator[tuple[str, str]]:
    """Place and kind of what is not redacted. `redactor`: a new one, which says what counts."""
    file.seek(0)
    for line in file:
        redactor.reserve(line.decode(errors="replace"))
    capture = HarFile(file)
    for number, place in enumerate(list(capture.places()), 1):
        if isinstance(place, LeftOut):
            yield place.where, UNREAD
        elif _changes(capture.exchange(place), number, redactor):
            yield f"entry {number}, at byte {place.offset}", UNREDACTED


def _changes(exchange: StoredExchange, number: int, redactor: Redactor) -> bool:
    exchanges = Exchanges()
    seen = [one for at, part in exchange.parts for _, one in exchanges.take((f"x-{number}", at, part))]
    redacted = [copy for one in seen for copy in redactor.feed(one)]
    return list(map(encode, seen)) != list(map(encode, redacted))
