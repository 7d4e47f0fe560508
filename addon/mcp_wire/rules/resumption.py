"""Reconnection, resumption and replay (transports#resumability-and-redelivery)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Request
from mcp_wire.judging.declaration import SATISFIED, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2025_03_26, R2025_06_18, R2026_07_28, SESSION_REVISIONS

BOOK: Final = RuleBook("recovery")
rule = BOOK.rule


@rule(
    "invalid_resume_method",
    level="error",
    levels={R2025_03_26: "warning", R2025_06_18: "warning"},
    party="client",
    layer="request_construction",
    revisions=SESSION_REVISIONS,
    cites="basic/transports#resumability-and-redelivery",
    says="A stream is resumed with GET and Last-Event-ID.",
    fix="GET the endpoint with Last-Event-ID; do not send the POST again.",
    exceptions="2025-03-26 and 2025-06-18 only say SHOULD: a warning there.",
    evidence="The request head.",
)
def resumption_is_by_get(request: Request, _conversation: Conversation) -> Verdicts:
    if "last-event-id" not in request.headers:
        return
    if request.method.upper() == "GET":
        yield SATISFIED
    elif request.method.upper() in ("POST", "DELETE"):
        yield Violated(
            request.method_path,
            f"Last-Event-ID was sent with {request.method.upper()}; a stream is resumed with GET.",
        )


@rule(
    "resumability_removed",
    level="error",
    party="client",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "changelog#major-changes"},
    says="Streams of 2026-07-28 cannot be resumed, so Last-Event-ID is not sent.",
    fix="Send the request again as a new one with a new id, if repeating it is safe; drop Last-Event-ID.",
    exceptions="The released text asks servers to ignore it. EventSource stacks add it after any event with an id.",
    evidence="The request head and the revision in force.",
)
def no_last_event_id(request: Request, _conversation: Conversation) -> Verdicts:
    if "last-event-id" in request.headers:
        yield Violated(
            request.headers_path,
            "Last-Event-ID was sent under 2026-07-28, which removed resumption; the released text tells the server to "
            "ignore it.",
        )
    else:
        yield SATISFIED
