"""How a client builds its HTTP requests: method, Accept, Content-Type, protocol version header."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import EVENT_STREAM, JSON_MEDIA_TYPE, Request
from mcp_wire.judging.declaration import SATISFIED, CannotTell, Evidence, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import (
    MODERN_REVISIONS,
    R2025_03_26,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
)
from mcp_wire.wire.media_types import accept_lists

BOOK: Final = RuleBook("request")
rule = BOOK.rule

MCP_METHODS: Final = ("POST", "GET", "DELETE")
# CORS preflights and probes are ordinary HTTP beside MCP, not MCP requests.
ORDINARY_HTTP_METHODS: Final = ("OPTIONS", "HEAD")


def _is(request: Request, method: str) -> bool:
    return request.method.upper() == method


@rule(
    "invalid_post_accept",
    level="error",
    party="client",
    layer="request_construction",
    version_neutral=True,
    cites={
        R2025_03_26: "basic/transports#sending-messages-to-the-server",
        R2025_06_18: "basic/transports#sending-messages-to-the-server",
        R2025_11_25: "basic/transports#sending-messages-to-the-server",
        R2026_07_28: "basic/transports/streamable-http#sending-messages",
    },
    says="Every POST lists both application/json and text/event-stream in Accept, each with a weight above zero.",
    fix="Send `Accept: application/json, text/event-stream` on every POST, notifications and responses included.",
    exceptions="Wildcards do not list a type. Repeated Accept lines are read as one list.",
    evidence="The request head.",
)
def post_lists_both_media_types(request: Request, conversation: Conversation) -> Verdicts:
    if not _is(request, "POST") or conversation.legacy_transport:
        return
    accept = request.headers.joined("accept")
    missing = [media for media in (JSON_MEDIA_TYPE, EVENT_STREAM) if not accept_lists(accept, media)]
    if not missing:
        yield SATISFIED
        return
    shown = "The POST has no Accept header" if accept is None else "The POST's Accept is {}"
    evidence = () if accept is None else (Evidence("header:accept", accept),)
    yield Violated(request.headers_path, f"{shown}; it does not list {' and '.join(missing)}.", evidence)


@rule(
    "invalid_get_accept",
    level="error",
    party="client",
    layer="request_construction",
    cites={
        R2025_03_26: "basic/transports#listening-for-messages-from-the-server",
        R2025_06_18: "basic/transports#listening-for-messages-from-the-server",
        R2025_11_25: "basic/transports#listening-for-messages-from-the-server",
        R2026_07_28: "basic/transports/streamable-http#earlier-streamable-http-revisions",
    },
    says="A GET lists text/event-stream in Accept.",
    fix="Send `Accept: text/event-stream` on the GET that opens or resumes a stream.",
    exceptions="In 2026-07-28 the GET itself is the finding. A page visit (text/html, no MCP header) is no MCP.",
    evidence="The request head.",
    consequence_of=("get_removed_in_profile",),
)
def get_lists_event_stream(request: Request, conversation: Conversation) -> Verdicts:
    if not _is(request, "GET") or conversation.legacy_transport:
        return
    accept = request.headers.joined("accept")
    if accept_lists(accept, EVENT_STREAM):
        yield SATISFIED
    elif not _looks_like_a_page_visit(request):
        shown = "The GET has no Accept header" if accept is None else "The GET's Accept is {}"
        evidence = () if accept is None else (Evidence("header:accept", accept),)
        yield Violated(request.headers_path, f"{shown}; it does not list text/event-stream.", evidence)


def _looks_like_a_page_visit(request: Request) -> bool:
    has_mcp_header = request.version_header or request.session_id or request.last_event_id
    return not has_mcp_header and accept_lists(request.headers.joined("accept"), "text/html")


@rule(
    "unsupported_http_method",
    level="error",
    party="client",
    layer="request_construction",
    version_neutral=True,
    cites={
        R2025_03_26: "basic/transports#streamable-http",
        R2025_06_18: "basic/transports#streamable-http",
        R2025_11_25: "basic/transports#streamable-http",
        R2026_07_28: "basic/transports/streamable-http#sending-messages",
    },
    says="An MCP endpoint is used with POST, GET and DELETE.",
    fix="Send JSON-RPC messages with POST.",
    exceptions="OPTIONS (CORS preflight) and HEAD are ordinary HTTP.",
    evidence="The request line.",
)
def method_is_one_of_three(request: Request, _conversation: Conversation) -> Verdicts:
    method = request.method.upper()
    if method in MCP_METHODS:
        yield SATISFIED
    elif method not in ORDINARY_HTTP_METHODS:
        yield Violated(request.method_path, "The endpoint was addressed with {}.", (Evidence("method", method),))


@rule(
    "protocol_version_mismatch",
    level="error",
    party="client",
    layer="request_construction",
    revisions=(R2025_06_18, R2025_11_25, R2026_07_28),
    cites={
        R2025_06_18: "basic/transports#protocol-version-header",
        R2025_11_25: "basic/transports#protocol-version-header",
        R2026_07_28: "basic/transports/streamable-http#protocol-version-header",
    },
    says="A POST after initialization carries MCP-Protocol-Version.",
    fix="Send `MCP-Protocol-Version` with the revision in force on every request after initialize.",
    exceptions=(
        "Never on `initialize`. Not on notification and response POSTs of 2026-07-28, whose headers that revision "
        "leaves undefined. A value that differs from the negotiated one is `protocol_version_not_negotiated`; one that "
        "differs from the body's `_meta` is `conflicting_version_evidence`."
    ),
    evidence="The request head, and a body that was captured (to know that it is no initialize).",
)
def post_names_version(request: Request, conversation: Conversation) -> Verdicts:
    if not _is(request, "POST") or request.is_initialize or conversation.legacy_transport:
        return
    if request.version_header is not None:
        yield SATISFIED
        return
    if not request.body.is_captured:
        yield CannotTell("the body was not captured, so it may be an initialize")
        return
    if conversation.profile is not None and conversation.profile.is_modern and not request.carries_request:
        return
    if not request.messages:
        return
    yield Violated(request.headers_path, "The POST has no MCP-Protocol-Version header.")


@rule(
    "get_removed_in_profile",
    level="error",
    party="client",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#earlier-streamable-http-revisions"},
    says="2026-07-28 has no GET stream.",
    fix="Use subscriptions/listen by POST; keep GET for sessions of an earlier revision.",
    exceptions="Only on exchanges whose own revision is 2026-07-28.",
    evidence="The request line and the revision in force.",
)
def get_is_gone(request: Request, conversation: Conversation) -> Verdicts:
    yield from _removed_method(request, conversation, "GET")


@rule(
    "delete_removed_in_profile",
    level="error",
    party="client",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#earlier-streamable-http-revisions"},
    says="2026-07-28 has no sessions, so there is nothing to DELETE.",
    fix="Drop the DELETE; keep it for sessions of an earlier revision.",
    exceptions="Only on exchanges whose own revision is 2026-07-28.",
    evidence="The request line and the revision in force.",
)
def delete_is_gone(request: Request, conversation: Conversation) -> Verdicts:
    yield from _removed_method(request, conversation, "DELETE")


def _removed_method(request: Request, conversation: Conversation, method: str) -> Verdicts:
    if _is(request, "POST"):
        yield SATISFIED
        return
    if not _is(request, method):
        return
    # A GET or DELETE without a version may belong to a session of an earlier revision on the same endpoint; where a
    # person pinned the archived profile, that person has said which revision it is.
    archived = conversation.profile is not None and conversation.profile.archived
    if request.version_header != R2026_07_28 and not archived:
        yield CannotTell("the request names no revision; it may belong to a session of an earlier one")
        return
    yield Violated(
        request.method_path,
        f"A {method} was sent under 2026-07-28, which is POST only; the released text asks the server to answer 405.",
    )
