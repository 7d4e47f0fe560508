"""What the proxy and the judge's process say to each other, and how it is framed on the pipes between them.

Both are this program, and the pipes are theirs alone; so the frames are pickles.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from mcp_wire.judging.finding import Finding
from mcp_wire.judging.idempotency import Decision
from mcp_wire.reports.exchange_notes import ExchangeNotes

_LENGTH: Final = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class Opening:
    """The proxy's first word: by what to judge, and where to write. `profile` None: by evidence."""

    output: Path
    profile: str | None
    extended: bool
    reports: tuple[str, ...] = ()
    """Forms of the report, beside report.json."""
    decisions: tuple[Decision, ...] | None = None
    """About repeating requests; None where nobody has given any."""
    redact_names: bool = False
    tuple_words: tuple[str, ...] = ()
    """See `Settings`."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The output folder is ready."""


@dataclass(frozen=True, slots=True)
class Refused:
    """There will be no judging. `why` is a clause: "it cannot be written (Read-only file system)"."""

    why: str


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence for the log, at a level of the `logging` module. It holds nothing from the wire."""

    level: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Reported:
    """A new finding, for a log line or a user interface. Everything in it is redacted.

    `flow` is the exchange as the edge named it, None where the finding is about none (or an old one). `transcript` is
    the file name within the output folder, None for what concerns no conversation.
    """

    finding: Finding
    flow: str | None
    transcript: str | None
    profile: str | None
    what: str = ""
    """HTTP method and JSON-RPC method of the exchange."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What there is to say of one exchange as of now. `flow`: as in `Reported`. Everything in it is redacted."""

    flow: str
    notes: ExchangeNotes


@dataclass(frozen=True, slots=True)
class Explained:
    """For each code of a rule, what the rule is about."""

    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Finished:
    """Everything that was handed over is judged, and these files are written, named within the output folder."""

    exchanges: int = 0
    conversations: int = 0
    files: tuple[str, ...] = ()
    complete: bool = True
    """Nothing went wrong on the way."""


Message = Opened | Refused | Said | Reported | Noted | Explained | Finished


def framed(content: object) -> bytes:
    """One frame: the length of a pickle, and the pickle."""
    data = pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


def raw_frames(stream: IO[bytes]) -> Iterator[bytes]:
    """The frames of a stream, up to its end, still closed. One that the other side did not finish is left out."""
    while len(head := stream.read(_LENGTH.size)) == _LENGTH.size:
        (length,) = _LENGTH.unpack(head)
        data = stream.read(length)
        if len(data) < length:
            return
        yield data


def opened(frame: bytes) -> Any:
    """What a frame holds."""
    return pickle.loads(frame)


def frames(stream: IO[bytes]) -> Iterator[Any]:
    """What the frames of a stream hold, up to its end."""
    return map(opened, raw_frames(stream))
