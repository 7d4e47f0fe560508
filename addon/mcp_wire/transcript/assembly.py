"""A transcript from a journal, without holding either in memory.

The journal is read twice: once to learn where the records of each exchange stand (eight bytes a chunk), once to write
them exchange by exchange. What a crash tore off is left out; what has no end was still running.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from mcp_wire.transcript.journal import JournalHeader, decode
from mcp_wire.transcript.writing import Recorded, transcript_parts
from mcp_wire.wire.observation import (
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)


@dataclass(slots=True)
class _Places:
    """Offsets of the records of one exchange in the journal."""

    request: int
    response: int | None = None
    chunks: array[int] = field(default_factory=lambda: array("Q"))
    body: int | None = None
    end: int | None = None


def assemble(journal: BinaryIO, write: Callable[[str], object]) -> int:
    """Write the transcript that a journal tells, piece by piece. Returns the number of exchanges written.

    `journal` has to be seekable; its first record has to be a header, or the transcript names no revision. The text
    is the one that `transcript_text` gives for the same observations. Raises only what the two files raise.
    """
    header, places = _index(journal)
    for part in transcript_parts(header, _recorded(journal, places)):
        write(part)
    return len(places)


def assembled(journal: BinaryIO) -> Iterator[str]:
    """The same text, as pieces that are read from the journal when they are asked for."""
    header, places = _index(journal)
    yield from transcript_parts(header, _recorded(journal, places))


def journal_header(journal: BinaryIO) -> JournalHeader:
    """The last header of a journal."""
    return _index(journal)[0]


def _index(journal: BinaryIO) -> tuple[JournalHeader, list[_Places]]:
    header = JournalHeader()
    places: dict[str, _Places] = {}
    journal.seek(0)
    offset = 0
    for line in journal:
        record = decode(line)
        if isinstance(record, JournalHeader):
            header = record
        elif record is not None:
            _note(places, record, offset)
        offset += len(line)
    return header, list(places.values())


def _note(places: dict[str, _Places], record: Observation, offset: int) -> None:
    if isinstance(record, RequestSeen):
        places.setdefault(record.exchange, _Places(offset))
        return
    found = places.get(record.exchange)
    if found is None:
        return
    match record:
        case ResponseSeen():
            found.response = offset if found.response is None else found.response
        case ResponseChunk():
            found.chunks.append(offset)
        case ResponseBody():
            found.body = offset if found.body is None else found.body
        case ExchangeEnded():
            found.end = offset if found.end is None else found.end


def _recorded(journal: BinaryIO, places: list[_Places]) -> Iterator[Recorded]:
    for place in places:
        request = _at(journal, place.request, RequestSeen)
        if request is None:
            continue
        yield Recorded(
            request,
            _at(journal, place.response, ResponseSeen),
            (chunk for offset in place.chunks if (chunk := _at(journal, offset, ResponseChunk)) is not None),
            _at(journal, place.body, ResponseBody),
            _at(journal, place.end, ExchangeEnded),
        )


def _at[Kind: Observation](journal: BinaryIO, offset: int | None, kind: type[Kind]) -> Kind | None:
    if offset is None:
        return None
    journal.seek(offset)
    record = decode(journal.readline())
    return record if isinstance(record, kind) else None
