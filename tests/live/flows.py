"""Flows of mitmproxy's own making, as they are while traffic runs and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mitmproxy import connection, http

from mcp_wire.live.marks import ENDED, RECEIVED, TIMES, MarkedChunks, SeenTimes

STARTED_S = 1_700_000_000.0


def flow(
    request: bytes | None = b"",
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    live: bool = True,
) -> http.HTTPFlow:
    """A flow whose request has come."""
    client = connection.Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2))
    made = http.HTTPFlow(client, connection.Server(address=("127.0.0.1", 3)), live=live)
    made.request = http.Request.make(method, "http://127.0.0.1:3/mcp", request or b"", _headers(headers or {}))
    made.request.raw_content = request
    made.request.timestamp_start = made.request.timestamp_end = STARTED_S
    return made


def answered(
    made: http.HTTPFlow, body: bytes | None, *, headers: Mapping[str, str] | None = None, status: int = 200
) -> http.HTTPFlow:
    """With a response that runs."""
    made.response = http.Response.make(status)
    made.response.headers = _headers(headers or {"Content-Type": "application/json"})
    made.response.raw_content = body
    made.response.timestamp_start = STARTED_S
    made.response.timestamp_end = None
    return made


def streamed(made: http.HTTPFlow, pieces: Sequence[bytes], **headers: str) -> http.HTTPFlow:
    """With an event stream that came in these pieces, 100 ms after each other, and runs."""
    answered(
        made, b"".join(pieces), headers={"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **headers}
    )
    marks = MarkedChunks()
    for number, piece in enumerate(pieces, 1):
        marks.add(round(STARTED_S * 1_000_000) + 100_000 * number, len(piece))
    made.metadata.update(marks.as_metadata)
    return made


def ended(made: http.HTTPFlow, how: str = "complete") -> http.HTTPFlow:
    """Over, and seen to its end, two seconds after its request."""
    assert made.response is not None
    started = round(STARTED_S * 1_000_000)
    made.response.timestamp_end = STARTED_S + 2
    made.metadata[ENDED] = how
    made.metadata[RECEIVED] = len(made.response.raw_content or b"")
    made.metadata[TIMES] = SeenTimes(started, started + 1, started + 2_000_000).packed()
    return made


def _headers(lines: Mapping[str, str]) -> http.Headers:
    return http.Headers([(name.encode(), value.encode("utf-8", "surrogateescape")) for name, value in lines.items()])
