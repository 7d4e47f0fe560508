"""What the hooks saw of one exchange, part by part, on its way to the judge: not judged, and not even decoded yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcp_wire.live.clock import Microseconds
from mcp_wire.live.directory import Origin
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import Ended, Scheme

MAX_PIECE_OCTETS: Final = 1024 * 1024
"""A longer stream that was stored whole is judged in pieces: what is judged at once is in memory, event by event."""

MAX_BODY_OCTETS: Final = 16 * 1024 * 1024
"""A larger body is passed on like any other and is "not captured"."""
TOO_LARGE: Final = f"larger than {MAX_BODY_OCTETS // 1024 // 1024} MiB"
TOO_FAST: Final = "it came faster than it could be judged"


@dataclass(frozen=True, slots=True)
class Ending:
    """`ended` None: it ended, and nothing is known of how. `whole`: the body came to its own end."""

    ended: Ended | None
    whole: bool = False
    reset_code: str | None = None


@dataclass(frozen=True, slots=True)
class RequestPart:
    """A request. `raw` None: its body was not captured, for the reason given.

    `exact_scope`: the operator chose it, so that its body is not asked whether it is MCP. `decoded`: the content coding
    is undone already, whatever the headers say. `scheme`: that of the URL which the client itself asked for.
    """

    origin: Origin
    method: str
    target: str
    http_version: str
    headers: Headers
    raw: bytes | None
    why_not: str = ""
    exact_scope: bool = False
    decoded: bool = False
    scheme: Scheme | None = None


@dataclass(frozen=True, slots=True)
class HeadPart:
    """A response head. `events`: an event stream follows. `http_version`: the server's, where it is another one.

    `decoded`: the content coding of what follows is undone already, whatever the headers say.
    """

    status: int
    headers: Headers
    events: bool
    boundaries_observed: bool
    http_version: str | None = None
    decoded: bool = False

    @property
    def content_encoding(self) -> str | None:
        """What is still to be undone."""
        return None if self.decoded else self.headers.joined("content-encoding")


@dataclass(frozen=True, slots=True)
class LostPart:
    """From here on the content of the stream was not captured."""

    why: str


@dataclass(frozen=True, slots=True)
class EndPart:
    """The end. `body`: the whole body, where it is no event stream; None: not captured, for the reason given."""

    ending: Ending
    received_octets: int | None
    body: bytes | None
    why_not: str


@dataclass(frozen=True, slots=True)
class AskPart:
    """No part of any exchange: the edge asks how far those that run have come."""


@dataclass(frozen=True, slots=True)
class OverPart:
    """No part of any exchange, and the last one: everything that was seen has been handed over."""


Part = RequestPart | HeadPart | LostPart | EndPart | bytes
"""bytes: one chunk of an event stream, still content-coded unless its HeadPart says otherwise."""

Entry = tuple[str, Microseconds, Part | AskPart | OverPart]
"""A part, when it was seen, and the name of its exchange."""


def pieces_of(stream: bytes) -> Iterator[bytes]:
    """A stream of which nobody knows how it was cut, cut behind lines where that is possible."""
    begin = 0
    while begin < len(stream):
        end = begin + MAX_PIECE_OCTETS
        if end < len(stream):
            end = stream.rfind(b"\n", begin, end) + 1 or end
        yield stream[begin:end]
        begin = end
