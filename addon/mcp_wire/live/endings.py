"""How an exchange ended, read from what mitmproxy shows in its hooks: as far as it can be known, and no further.

mitmproxy reports the end of an HTTP/1 body by a FIN and by a RST alike, so the weaker word is used: `*_closed`. Only
HTTP/2 says `reset`. The texts of `flow.error` are mitmproxy's own; a text that is not known here claims nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mitmproxy import ctx, http
from mitmproxy.flow import Error
from mitmproxy.net.http import http1

from mcp_wire.live.marks import stored_ending
from mcp_wire.live.parts import Ending
from mcp_wire.wire.observation import Ended

_RESET: Final = re.compile(r"stream reset by client \((\w+)\)")  # said of either side
_CUT: Final = "peer closed connection without sending complete message body"
_SERVER_LEFT_EARLY: Final = ("server closed connection", "unexpected server response")
_REFUSED_BY_PROXY: Final = (
    "HTTP/1 protocol error",
    "HTTP/2 protocol error",
    "Cannot parse HTTP response",
    "Request body exceeds",
    "Response body exceeds",
    "Received ",
)
_CLIENT_LEFT: Final = "Client disconnected"
_GOAWAY: Final = re.compile(r"HTTP/2 connection closed: <ConnectionTerminated error_code:(?:0|\S*NO_ERROR)\b")
"""A peer that announces in an orderly way that it takes no further streams, and would have finished this one (RFC 9113
6.8). It is mitmproxy that ends them all."""
_DEFAULT_IDLE_LIMIT_S: Final = 600
"""mitmproxy's default `tcp_timeout`, which ends an idle exchange in the same words as a client that leaves."""
MAX_LAYERS: Final = 4_096


STILL_OPEN: Final = Ending(Ended.OPEN)
"""The capture stops before the exchange does: what becomes of it afterwards is nobody's observation."""
UNKNOWN: Final = Ending(None)


def of_response(flow: http.HTTPFlow) -> Ending:
    """The end of a flow whose `response` hook runs."""
    if flow.error is not None and flow.error.msg == Error.KILLED_MESSAGE:
        return Ending(Ended.PROXY_CLOSED)
    if _ends_with_connection(flow):
        # A FIN is its proper end, and a RST looks the same here.
        return Ending(Ended.SERVER_CLOSED, whole=True)
    return Ending(Ended.COMPLETE, whole=True)


def of_error(flow: http.HTTPFlow, *, idle: bool) -> Ending:
    """The end of a live flow whose `error` hook runs. `idle`: its client connection was silent up to `tcp_timeout`."""
    message = flow.error.msg if flow.error is not None else ""
    if message == Error.KILLED_MESSAGE or not flow.live or _is_refusal(message):
        return Ending(Ended.PROXY_CLOSED)
    # The client first: when it leaves, mitmproxy has closed the server's connection too.
    if not flow.client_conn.connected:
        return Ending(Ended.PROXY_CLOSED if idle else Ended.CLIENT_CLOSED)
    if not flow.server_conn.connected:
        return Ending(Ended.SERVER_CLOSED) if flow.server_conn.timestamp_tcp_setup is not None else UNKNOWN
    reset = _RESET.search(message)
    if reset is not None:
        return Ending(_reset_by(flow), reset_code=reset[1])
    return UNKNOWN


def of_stored(flow: http.HTTPFlow) -> Ending:
    """The end of a flow that was loaded from a file."""
    noted = stored_ending(flow.metadata)
    message = flow.error.msg if flow.error is not None else ""
    reset = _RESET.search(message)
    if noted is not None:
        whole = flow.error is None and noted is not Ended.OPEN
        return Ending(noted, whole=whole, reset_code=reset[1] if reset else None)
    if flow.error is None:
        if flow.response is None or flow.response.timestamp_end is None:
            return STILL_OPEN  # written while it was running
        return of_response(flow)
    if message == Error.KILLED_MESSAGE or _is_refusal(message):
        return Ending(Ended.PROXY_CLOSED)
    if reset is not None:
        return Ending(None, reset_code=reset[1])
    if message.startswith(_SERVER_LEFT_EARLY) or (_CUT in message and flow.response is not None):
        return Ending(Ended.SERVER_CLOSED)
    if message.startswith(_CLIENT_LEFT):
        # Long enough for an idle limit to have been the cause: then it is not known who closed.
        lasted = flow.error.timestamp - flow.request.timestamp_start
        return Ending(Ended.CLIENT_CLOSED) if lasted < _DEFAULT_IDLE_LIMIT_S else UNKNOWN
    return UNKNOWN


def _is_refusal(message: str) -> bool:
    """mitmproxy itself stopped: the peer broke HTTP's framing, or went away in order, or a limit was passed."""
    return (message.startswith(_REFUSED_BY_PROXY) and _CUT not in message) or _GOAWAY.match(message) is not None


def _ends_with_connection(flow: http.HTTPFlow) -> bool:
    """Neither a length nor chunks: the server's close is the end of the body (RFC 9112 6.3)."""
    response = flow.response
    if response is None or not (response.is_http10 or response.is_http11):
        return False
    try:
        return http1.expected_http_body_size(flow.request, response) == -1
    except ValueError:
        return False


def _reset_by(flow: http.HTTPFlow) -> Ended | None:
    """Which side sent the RST_STREAM. mitmproxy's public face does not tell, its inner state does."""
    try:
        proxyserver: Any = ctx.master.addons.get("proxyserver")  # type: ignore[no-untyped-call]
        handler = proxyserver.connections[flow.client_conn.id]
        for layer in _layers(handler.layer):
            if getattr(layer, "flow", None) is flow:
                by_client = layer.client_state.__name__ == "state_errored"
                return Ended.CLIENT_RESET if by_client else Ended.SERVER_RESET
    except Exception:
        pass
    return None


def _layers(start: Any) -> Iterator[Any]:
    """The layers of one client connection: those on the path of `start`, and of every stream that branches off it."""
    waiting = [start]
    seen: set[int] = set()
    while waiting and len(seen) < MAX_LAYERS:
        layer = waiting.pop()
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        yield layer
        waiting += layer.context.layers
        streams = getattr(layer, "streams", None)
        if isinstance(streams, Mapping):
            waiting += streams.values()
