"""The parts of an observation as JSON members, there and back; transcripts and journals share these forms."""

from __future__ import annotations

import base64
from typing import Final

from mcp_wire.transcript.document import (
    JsonObject,
    base64_bytes,
    bytes_of,
    headers_of,
    is_status,
    octets_of,
)
from mcp_wire.wire.body import EMPTY, NOT_CAPTURED, Body
from mcp_wire.wire.headers import Headers, field_name
from mcp_wire.wire.observation import Ended, ExchangeEnded, Milliseconds, RequestSeen, ResponseSeen, Scheme
from mcp_wire.wire.strict_json import MISSING, JsonValue

TIME_DECIMALS: Final = 3
"""Microseconds: edges give strictly increasing times at this resolution."""

BODYLESS_METHODS: Final = frozenset({"GET", "HEAD"})
BODYLESS_STATUSES: Final = frozenset({204, 205, 304})
"""RFC 9110 15.3.5, 15.3.6, 15.4.5: no content by themselves."""


def time_form(t_ms: Milliseconds) -> int | float:
    """Milliseconds with at most three decimals; a whole number without a point."""
    rounded = round(t_ms, TIME_DECIMALS)
    return int(rounded) if rounded == int(rounded) else rounded


def timed(name: str, t_ms: Milliseconds | None) -> JsonObject:
    """A member with a time, or none where the time is not known."""
    return {} if t_ms is None else {name: time_form(t_ms)}


def data_form(data: bytes) -> JsonObject:
    """The bytes of a chunk: `text` where they are UTF-8 by themselves, else `base64`."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def data_of(members: JsonObject) -> bytes | None:
    """The bytes of a chunk, None where the members tell of none."""
    return bytes_of(members["text"]) if "text" in members else base64_bytes(members.get("base64"))


def headers_form(headers: Headers) -> JsonValue:
    """An object, or a list of pairs where a name repeats. Two spellings that came from an object go back into one."""
    names = [name for name, _ in headers.raw]
    if len({field_name(name) for name in names}) == len(names) or (headers.clashes and len(set(names)) == len(names)):
        return dict(headers.raw)
    return [[name, value] for name, value in headers.raw]


def body_form(body: Body) -> JsonObject:
    """The members that tell a body: `body`, or `body_text` (perhaps with `body_utf8`), or `not_captured`."""
    if body.absence is not None:
        return {"not_captured": body.absence}
    if body.text is not None:
        return {"body_text": body.text} if body.utf8 else {"body_text": body.text, "body_utf8": False}
    if body.value is MISSING or body.value is None:
        # A bare null as `body` would read like a body that is missing.
        return {"body_text": "null"}
    return {"body": body.value}


def body_of(part: JsonObject, if_absent: Body = NOT_CAPTURED) -> Body:
    """The body that a request or response tells of; `if_absent` where no member tells any."""
    reason = part.get("not_captured")
    if isinstance(reason, str):
        return Body.not_captured(reason)
    if "body" in part:
        return Body.of_value(part["body"])
    text = part.get("body_text")
    if isinstance(text, str):
        return Body.of_text(text, utf8=part.get("body_utf8") is not False)
    raw = base64_bytes(part.get("body_base64"))
    return if_absent if raw is None else Body.read(raw)


def request_form(seen: RequestSeen) -> JsonObject:
    """The members of `request`."""
    members: JsonObject = {"method": seen.method}
    if seen.path:
        members["path"] = seen.path
    if seen.scheme is not None:
        members["scheme"] = seen.scheme
    if seen.http_version is not None:
        members["http_version"] = seen.http_version
    return members | {"headers": headers_form(seen.headers)} | body_form(seen.body)


def asserted_form(seen: RequestSeen) -> JsonObject:
    """What was said of the exchange as a whole."""
    members: JsonObject = {}
    if seen.concurrent_group is not None:
        members["concurrent_group"] = seen.concurrent_group
    if seen.idempotent:
        members["idempotent"] = True
    if seen.server_side_of is not None:
        members["server_side_of"] = seen.server_side_of
    return members


def request_of(
    request: JsonObject, asserted: JsonObject, exchange: str, t_ms: Milliseconds | None, index: int | None = None
) -> RequestSeen | None:
    """A request from its members and those of its exchange; None where it has no method or no headers to read."""
    method, headers = request.get("method"), headers_of(request.get("headers"))
    if not isinstance(method, str) or headers is None:
        return None
    bodyless = method.upper() in BODYLESS_METHODS
    null_for_none = bodyless and request.get("body", MISSING) is None
    return RequestSeen(
        exchange=exchange,
        t_ms=t_ms,
        method=method,
        path=text_of(request, "path") or "",
        headers=headers,
        body=EMPTY if null_for_none else body_of(request, EMPTY if bodyless or says_empty(headers) else NOT_CAPTURED),
        http_version=text_of(request, "http_version"),
        concurrent_group=text_of(asserted, "concurrent_group") or None,
        idempotent=asserted.get("idempotent") is True,
        server_side_of=text_of(asserted, "server_side_of"),
        index=index,
        scheme=scheme_of(request.get("scheme")),
    )


def scheme_of(value: object) -> Scheme | None:
    """`http` or `https`; None for anything else."""
    match value:
        case "http" | "https":
            return value
        case _:
            return None


def response_form(seen: ResponseSeen) -> JsonObject:
    """The members of `response` that its head gives."""
    members: JsonObject = {"status": seen.status}
    if seen.http_version is not None:
        members["http_version"] = seen.http_version
    members["headers"] = headers_form(seen.headers)
    if not seen.boundaries_observed:
        members["chunk_boundaries"] = "unknown"
    return members


def response_of(response: JsonObject, exchange: str, t_ms: Milliseconds | None) -> ResponseSeen | None:
    """A response head; None where it has no status or no headers to read."""
    headers, status = headers_of(response.get("headers")), response.get("status")
    if headers is None or not isinstance(status, int) or not is_status(status):
        return None
    observed = response.get("chunk_boundaries") != "unknown"
    return ResponseSeen(exchange, t_ms, status, headers, observed, text_of(response, "http_version"))


def response_body_of(response: JsonObject, head: ResponseSeen, method: str) -> Body:
    """The body of a response that is no event stream. Where none is told, the head may say that there was none."""
    empty = head.status in BODYLESS_STATUSES or method.upper() == "HEAD" or says_empty(head.headers)
    return body_of(response, EMPTY if empty else NOT_CAPTURED)


def ending_form(seen: ExchangeEnded) -> JsonObject:
    """The members that tell how an exchange ended."""
    members: JsonObject = {}
    if seen.disconnected is not None:
        members["disconnected"] = seen.disconnected
    if seen.ended is not None:
        members["ended"] = seen.ended.value
    if seen.received_octets is not None:
        members["received_octets"] = seen.received_octets
    if seen.reset_code is not None:
        members["reset_code"] = seen.reset_code
    return members


def ending_of(members: JsonObject, exchange: str, t_ms: Milliseconds | None) -> ExchangeEnded:
    """The end of an exchange; what has a wrong form is taken as unknown."""
    ended, disconnected = text_of(members, "ended"), members.get("disconnected")
    return ExchangeEnded(
        exchange=exchange,
        t_ms=t_ms,
        ended=Ended(ended) if ended in _ENDED else None,
        disconnected=disconnected if isinstance(disconnected, bool) else None,
        received_octets=octets_of(members.get("received_octets")),
        reset_code=text_of(members, "reset_code"),
    )


_ENDED: Final = frozenset(Ended)


def says_empty(headers: Headers) -> bool:
    """The head itself says that no content follows (RFC 9112 6.3)."""
    return headers.all("content-length") == ("0",) and "transfer-encoding" not in headers


def text_of(members: JsonObject, name: str) -> str | None:
    """A string member, None where it is absent or no string."""
    value = members.get(name)
    return value if isinstance(value, str) else None
