"""How a server answers: status and media type."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import EVENT_STREAM, JSON_MEDIA_TYPE, ResponseHead
from mcp_wire.judging.declaration import SATISFIED, CannotTell, Evidence, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import (
    R2025_03_26,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
    SESSION_REVISIONS,
)

BOOK: Final = RuleBook("response")
rule = BOOK.rule


@rule(
    "invalid_response_content_type",
    level="error",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites={
        R2025_03_26: "basic/transports#sending-messages-to-the-server",
        R2025_06_18: "basic/transports#sending-messages-to-the-server",
        R2025_11_25: "basic/transports#sending-messages-to-the-server",
        R2026_07_28: "basic/transports/streamable-http#receiving-messages",
    },
    says="A request is answered 200 with application/json or text/event-stream.",
    fix="Label the answer application/json or text/event-stream.",
    exceptions="Only where the POST carried a request; an answered notification is `accepted_status_not_202`.",
    evidence="The response head and a request body that was captured.",
)
def answer_is_json_or_event_stream(head: ResponseHead, conversation: Conversation) -> Verdicts:
    request = head.exchange.request
    if request.method.upper() != "POST" or head.status != 200 or conversation.legacy_transport:
        return
    if head.media_type in (JSON_MEDIA_TYPE, EVENT_STREAM):
        yield SATISFIED
        return
    if not request.body.is_captured:
        yield CannotTell("the request body was not captured, so it may be a notification")
        return
    if not request.carries_request:
        return
    if head.headers.get("content-type") is None:
        yield Violated(head.headers_path, "The 200 answer to a request has no Content-Type.")
        return
    content_type = Evidence("header:content-type", head.headers.get("content-type"))
    yield Violated(head.headers_path, "The 200 answer to a request has Content-Type {}.", (content_type,))


@rule(
    "invalid_get_response_content_type",
    level="error",
    party="server",
    layer="response_framing",
    revisions=SESSION_REVISIONS,
    cites="basic/transports#listening-for-messages-from-the-server",
    says="A successful GET is answered with text/event-stream.",
    fix="Answer with text/event-stream, or with 405 where the endpoint offers no stream.",
    exceptions="Only for a GET that asked for an event stream or carries an MCP header.",
    evidence="Request and response head.",
)
def get_is_answered_by_event_stream(head: ResponseHead, conversation: Conversation) -> Verdicts:
    if not _is_stream_request(head) or not head.is_success or conversation.legacy_transport:
        return
    if head.media_type == EVENT_STREAM:
        yield SATISFIED
    elif head.headers.get("content-type") is None:
        yield Violated(head.headers_path, f"The GET was answered {head.status} without a Content-Type.")
    else:
        content_type = Evidence("header:content-type", head.headers.get("content-type"))
        yield Violated(
            head.headers_path, f"The GET was answered {head.status} with Content-Type {{}}.", (content_type,)
        )


@rule(
    "invalid_get_response_status",
    level="error",
    party="server",
    layer="response_framing",
    revisions=SESSION_REVISIONS,
    cites="basic/transports#listening-for-messages-from-the-server",
    says="A GET stream has status 200.",
    fix="Use 200 with a stream, or 405.",
    exceptions="Only for a GET that asked for an event stream or carries an MCP header.",
    evidence="Request and response head.",
)
def get_stream_has_status_200(head: ResponseHead, conversation: Conversation) -> Verdicts:
    if not _is_stream_request(head) or not head.is_success or conversation.legacy_transport:
        return
    if head.status == 200:
        yield SATISFIED
    else:
        yield Violated(head.status_path, f"The GET was answered {head.status}; a stream has status 200.")


def _is_stream_request(head: ResponseHead) -> bool:
    request = head.exchange.request
    if request.method.upper() != "GET":
        return False
    asked = EVENT_STREAM in (request.headers.joined("accept") or "").lower()
    return asked or bool(request.session_id or request.version_header or request.last_event_id)
