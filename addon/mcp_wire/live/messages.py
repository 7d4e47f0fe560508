"""mitmproxy's messages in our words."""

from __future__ import annotations

from mitmproxy import http

from mcp_wire.conversation.facts import EVENT_STREAM
from mcp_wire.live.directory import Origin
from mcp_wire.live.parts import HeadPart
from mcp_wire.live.recognition import endpoint_of
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.media_types import essence


def origin_of(flow: http.HTTPFlow) -> Origin:
    request = flow.request
    return Origin(
        endpoint=endpoint(flow),
        connection=flow.client_conn.id,
        http_version=request.http_version,
        tls=flow.client_conn.tls_version,
    )


def endpoint(flow: http.HTTPFlow) -> str:
    """The endpoint as its client names it; in transparent modes the address alone would be an IP number."""
    request = flow.request
    return endpoint_of(request.scheme, request.pretty_host, request.port, target(flow))


def target(flow: http.HTTPFlow) -> str:
    return _text(flow.request.data.path)


def headers(message: http.Message) -> Headers:
    return Headers((_text(name), _text(value)) for name, value in message.headers.fields)


def head_of(flow: http.HTTPFlow, *, boundaries_observed: bool = True) -> HeadPart:
    """The response head of a flow that has one."""
    assert flow.response is not None
    lines = headers(flow.response)
    events = essence(lines.get("content-type")) == EVENT_STREAM
    version = flow.response.http_version
    other_version = version if version != flow.request.http_version else None
    return HeadPart(flow.response.status_code, lines, events, boundaries_observed, other_version)


def _text(octets: bytes) -> str:
    """Header octets as text: UTF-8 where they are that, else each octet its own character. Never a lone surrogate."""
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets.decode("latin-1")
