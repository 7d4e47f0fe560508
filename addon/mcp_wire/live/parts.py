"""What the hooks saw of one exchange, part by part, on its way to the judge: not judged, and not even decoded yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mcp_wire.live.clock import Microseconds
from mcp_wire.live.directory import Origin
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import Ended

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

    `exact_scope`: the operator chose it, so that its body is not asked whether it is MCP.
    """

    origin: Origin
    method: str
    target: str
    http_version: str
    headers: Headers
    raw: bytes | None
    why_not: str = ""
    exact_scope: bool = False


@dataclass(frozen=True, slots=True)
class HeadPart:
    """A response head. `events`: an event stream follows. `http_version`: the server's, where it is another one."""

    status: int
    headers: Headers
    events: bool
    boundaries_observed: bool
    http_version: str | None = None


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


Part = RequestPart | HeadPart | LostPart | EndPart | bytes
"""bytes: one chunk of an event stream, still content-coded."""

Entry = tuple[str, Microseconds, Part]
"""A part, when it was seen, and the name of its exchange."""
