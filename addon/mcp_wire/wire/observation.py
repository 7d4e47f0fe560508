"""What an edge saw, in the order in which it saw it.

Every edge (live proxy, flow file, HAR, transcript document) translates into these five records and hands them to the
same core. Times are milliseconds on the capture's own clock, relative to its first exchange; `None` means unknown.
An edge with a clock gives strictly increasing times, so that time alone restores the order of a written transcript.
"""

from dataclasses import field
from enum import StrEnum
from typing import Literal

from mcp_wire.wire.body import Body
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.records import record

Milliseconds = float
Scheme = Literal["http", "https"]


class Ended(StrEnum):
    """How a response ended, as far as it can be known (FORMAT: `response.ended`)."""

    COMPLETE = "complete"
    SERVER_CLOSED = "server_closed"
    SERVER_RESET = "server_reset"
    CLIENT_CLOSED = "client_closed"
    CLIENT_RESET = "client_reset"
    PROXY_CLOSED = "proxy_closed"
    OPEN = "open"


@record
class RequestSeen:
    """A whole request: head and body, or the head and the statement that its body was not captured.

    `scheme`: that of the URL which the client asked for, where an edge knows it (a tap that the client takes for the
    server does not). `concurrent_group` and `idempotent` are assertions of the operator; no edge infers them.
    `server_side_of`: this is what an intermediary made of the exchange of that id, seen on its other side. `index` is
    the place of the exchange in the transcript that told of it; None where the order of the requests gives the place.
    """

    exchange: str
    t_ms: Milliseconds | None
    method: str
    path: str
    headers: Headers
    body: Body
    http_version: str | None = None
    concurrent_group: str | None = None
    idempotent: bool = False
    server_side_of: str | None = None
    index: int | None = field(default=None, compare=False)
    scheme: Scheme | None = None


@record
class ResponseSeen:
    """A response head.

    `boundaries_observed` is False where the chunks were not seen as they arrived. `http_version`: that of the hop which
    the response came from, where it is another one than the request's.
    """

    exchange: str
    t_ms: Milliseconds | None
    status: int
    headers: Headers
    boundaries_observed: bool = True
    http_version: str | None = None


@record
class ResponseChunk:
    """Bytes of an event stream that arrived together, after content decoding (which may leave none)."""

    exchange: str
    t_ms: Milliseconds | None
    data: bytes


@record
class ResponseBody:
    """The whole body of a response that is no event stream; or, on an event stream, that the rest was not captured."""

    exchange: str
    t_ms: Milliseconds | None
    body: Body


@record
class ExchangeEnded:
    """The end of an exchange.

    `ended` is None when nothing is known about it. `disconnected` is the operator's own word for "before its proper
    end". `received_octets` counts the body before content decoding, where an edge counted it. `reset_code` is the
    error code of an HTTP/2 RST_STREAM, where it was seen.
    """

    exchange: str
    t_ms: Milliseconds | None
    ended: Ended | None
    disconnected: bool | None = None
    received_octets: int | None = None
    reset_code: str | None = None


Observation = RequestSeen | ResponseSeen | ResponseChunk | ResponseBody | ExchangeEnded
