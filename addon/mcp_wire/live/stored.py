"""A flow of which all is there, taken apart into what was seen of it: when it was, as far as the file tells."""

from __future__ import annotations

from collections.abc import Iterator

from mitmproxy import http
from mitmproxy.proxy.mode_specs import ReverseMode

from mcp_wire.live import endings
from mcp_wire.live.clock import Microseconds
from mcp_wire.live.marks import (
    IN_SCOPE,
    NO_REQUEST_BODY,
    NO_RESPONSE_BODY,
    SeenTimes,
    reason,
    received_octets,
    seen_times,
    stored_chunks,
)
from mcp_wire.live.messages import head_of, headers, origin_of, target
from mcp_wire.live.parts import MAX_BODY_OCTETS, TOO_LARGE, EndPart, HeadPart, LostPart, Part, RequestPart, pieces_of
from mcp_wire.transcript.forms import scheme_of
from mcp_wire.wire.observation import Scheme

NOT_IN_THE_FILE = "the file does not hold it"


def was_observed(flow: http.HTTPFlow) -> bool:
    """This addon was there when the flow passed, and recognised it as MCP."""
    return seen_times(flow.metadata) is not None


def begun_us(flow: http.HTTPFlow) -> Microseconds:
    """When its request was complete, in microseconds since 1970: the time of its first part."""
    seen = seen_times(flow.metadata)
    return seen.request_us if seen is not None else _us(flow.request.timestamp_end or flow.request.timestamp_start)


def request_part(
    flow: http.HTTPFlow, raw: bytes | None, why_not: str = NOT_IN_THE_FILE, *, exact_scope: bool = False
) -> RequestPart:
    """The request of a flow; `raw` is its body, None where it was not captured."""
    request = flow.request
    if raw is not None and len(raw) > MAX_BODY_OCTETS:
        raw, why_not = None, TOO_LARGE
    return RequestPart(
        origin_of(flow),
        request.method,
        target(flow),
        request.http_version,
        headers(request),
        raw,
        why_not,
        exact_scope=exact_scope,
        scheme=_asked_scheme(flow),
    )


def _asked_scheme(flow: http.HTTPFlow) -> Scheme | None:
    """None in reverse mode: there the client asks for the proxy's own URL, whatever the server's is."""
    if isinstance(flow.client_conn.proxy_mode, ReverseMode):
        return None
    return scheme_of(flow.request.scheme)


def stored_request(flow: http.HTTPFlow) -> RequestPart:
    why_not = reason(flow.metadata, NO_REQUEST_BODY)
    raw = flow.request.raw_content if why_not is None else None
    in_scope = flow.metadata.get(IN_SCOPE) is True
    return request_part(flow, raw, why_not or NOT_IN_THE_FILE, exact_scope=in_scope)


def stored_parts(flow: http.HTTPFlow, request: RequestPart) -> Iterator[tuple[Microseconds, Part]]:
    """The parts of one flow with their times since 1970, which never run backwards, whatever the file says."""
    seen = seen_times(flow.metadata)
    return _guessed(flow, request) if seen is None else _remembered(flow, request, seen)


def _remembered(flow: http.HTTPFlow, request: RequestPart, seen: SeenTimes) -> Iterator[tuple[Microseconds, Part]]:
    """As it was told when it passed."""
    at = seen.request_us
    yield at, request
    ending = endings.of_stored(flow)
    passed = received_octets(flow.metadata)
    if flow.response is None or seen.head_us is None:
        yield seen.ended_us, EndPart(ending, passed, None, NOT_IN_THE_FILE)
        return
    at = seen.head_us
    head, body = head_of(flow), flow.response.raw_content
    if not head.events:
        yield at, head
        why_not = reason(flow.metadata, NO_RESPONSE_BODY)
        octets = passed if passed is not None or body is None else len(body)
        yield seen.ended_us, EndPart(ending, octets, body if why_not is None else None, why_not or NOT_IN_THE_FILE)
        return
    yield from _stream(flow, head, body, passed, at, seen.ended_us)
    yield seen.ended_us, EndPart(ending, passed, None, NOT_IN_THE_FILE)


def _guessed(flow: http.HTTPFlow, request: RequestPart) -> Iterator[tuple[Microseconds, Part]]:
    """As it can be made out of what mitmproxy notes by itself."""
    at = begun_us(flow)
    yield at, request
    ending = endings.of_stored(flow)
    response = flow.response
    if response is None:
        yield max(at, _us(flow.error.timestamp) if flow.error is not None else at), EndPart(ending, None, None, "")
        return
    at = max(at, _us(response.timestamp_start))
    over = response.timestamp_end or (flow.error.timestamp if flow.error is not None else None)
    ended = max(at, _us(over)) if over is not None else at
    head, body = head_of(flow), response.raw_content
    passed = received_octets(flow.metadata)
    if head.events:
        for when, part in _stream(flow, head, body, passed, at, None):
            yield when, part
            ended = max(ended, when)
    else:
        yield at, head
    whole = ending.whole and body is not None and (passed is None or passed <= len(body))
    octets = passed if passed is not None else (len(body) if body is not None else None)
    yield ended, EndPart(ending, octets, body if whole else None, "the file does not hold the whole body")


def _stream(
    flow: http.HTTPFlow,
    head: HeadPart,
    body: bytes | None,
    passed: int | None,
    at: Microseconds,
    ended_us: Microseconds | None,
) -> Iterator[tuple[Microseconds, Part]]:
    cut_short = body is None or (passed is not None and passed > len(body))
    chunks, observed = stored_chunks(body or b"", flow.metadata)
    yield at, HeadPart(head.status, head.headers, True, observed and not cut_short, head.http_version)
    for chunk in chunks:
        at = max(at, chunk.wall_us if chunk.wall_us is not None else at)
        at = at if ended_us is None else min(at, ended_us)
        for data in (chunk.data,) if observed else pieces_of(chunk.data):
            yield at, data
    if cut_short:
        yield at, LostPart("the file does not hold the whole stream")


def _us(seconds: float) -> Microseconds:
    return round(seconds * 1_000_000)
