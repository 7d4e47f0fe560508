"""How a client builds its HTTP requests: method, Accept, Content-Type, protocol version header."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import EVENT_STREAM, JSON_MEDIA_TYPE, Exchange, Request
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.meta_keys import META_VERSION
from mcp_wire.protocol.profiles import (
    MODERN_REVISIONS,
    R2025_03_26,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
)
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.media_types import accept_lists, essence

BOOK: Final = RuleBook("request")
rule = BOOK.rule

MCP_METHODS: Final = ("POST", "GET", "DELETE")
# CORS preflights and probes are ordinary HTTP beside MCP, not MCP requests.
ORDINARY_HTTP_METHODS: Final = ("OPTIONS", "HEAD")
METHOD_CHANGING_REDIRECTS: Final = (301, 302, 303)
VERSION_HEADER_REVISIONS: Final = (R2025_06_18, R2025_11_25)
"""The revisions of sessions that have the version header."""


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
    exceptions=(
        "In 2026-07-28 the GET itself is the finding (the archived draft profile goes on to judge both). A page visit "
        "(text/html, no MCP header) is no MCP. Wildcards do not list a type."
    ),
    evidence="The request head.",
)
def get_lists_event_stream(request: Request, conversation: Conversation) -> Verdicts:
    if not _is(request, "GET") or conversation.legacy_transport:
        return
    if conversation.is_modern and not _is_archived(conversation):
        return
    accept = request.headers.joined("accept")
    if accept_lists(accept, EVENT_STREAM):
        yield SATISFIED
    elif not request.is_page_visit:
        shown = "The GET has no Accept header" if accept is None else "The GET's Accept is {}"
        evidence = () if accept is None else (Evidence("header:accept", accept),)
        yield Violated(request.headers_path, f"{shown}; it does not list text/event-stream.", evidence)


def _is_archived(conversation: Conversation) -> bool:
    return conversation.profile is not None and conversation.profile.archived


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
def method_is_one_of_three(request: Request, conversation: Conversation) -> Verdicts:
    method = request.method.upper()
    if conversation.legacy_transport:
        return
    if method in MCP_METHODS:
        yield SATISFIED
    elif method not in ORDINARY_HTTP_METHODS:
        yield Violated(request.method_path, "The endpoint was addressed with {}.", (Evidence("method", method),))


@rule(
    "jsonrpc_message_not_posted",
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
    says="Every JSON-RPC message is sent in the body of a POST.",
    fix="POST every message.",
    exceptions=(
        "Not where a redirect (301, 302, 303) of the same body preceded: many HTTP stacks then change the method by "
        "themselves."
    ),
    evidence="A request body that was captured.",
    consequence_of=("unsupported_http_method",),
)
def messages_are_posted(request: Request, conversation: Conversation) -> Verdicts:
    if not request.messages or conversation.legacy_transport:
        return
    if _is(request, "POST"):
        yield SATISFIED
    elif any(_was_redirected(earlier, request) for earlier in conversation.recent):
        yield CannotTell("a redirect may have changed the method of the POST before it")
    else:
        shown = Evidence("method", request.method)
        yield Violated(request.method_path, "A JSON-RPC message was sent with {}.", (shown,))


def _was_redirected(earlier: Exchange, request: Request) -> bool:
    if earlier is request.exchange or earlier.head is None or earlier.head.status not in METHOD_CHANGING_REDIRECTS:
        return False
    return _is(earlier.request, "POST") and earlier.request.body == request.body


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
    says="A POST after initialization carries MCP-Protocol-Version, and it names the revision in force.",
    fix="Send `MCP-Protocol-Version` with the revision in force on every request after initialize.",
    exceptions=(
        "Never on `initialize`, nor while the session's InitializeResult has not been delivered. Not on notification "
        "POSTs of 2026-07-28, whose headers that revision leaves undefined. Where it is known what was negotiated, a "
        "differing value is the lesser fault `protocol_version_not_negotiated`; one that differs from the `_meta` of "
        "the same request is `conflicting_version_evidence`. A header on two lines is `duplicate_header`."
    ),
    evidence="The request head, and a body that was captured (to know that it is no initialize).",
    consequence_of=("conflicting_version_evidence",),
)
def post_names_version(request: Request, conversation: Conversation) -> Verdicts:
    if not _is(request, "POST") or request.is_initialize or conversation.legacy_transport:
        return
    if request.headers.repeated("mcp-protocol-version"):
        return
    if request.version_header is not None:
        yield from _names_revision_in_force(request, conversation)
    elif not request.body.is_captured:
        yield CannotTell("the body was not captured, so it may be an initialize")
    elif request.messages and _owes_version(request, conversation):
        yield Violated(request.headers_path, "The POST has no MCP-Protocol-Version header.")


def _names_revision_in_force(request: Request, conversation: Conversation) -> Verdicts:
    if conversation.is_modern and not _is_archived(conversation) and not request.carries_request:
        return
    negotiated = request.exchange.session.negotiated_version
    if request.version_header == conversation.revision or (negotiated is not None and not conversation.is_modern):
        yield SATISFIED
    else:
        yield Violated(
            request.headers_path,
            f"MCP-Protocol-Version is {{}}; the revision in force is {conversation.revision}.",
            (Evidence("version", request.version_header),),
        )


def _owes_version(request: Request, conversation: Conversation) -> bool:
    if conversation.is_modern:
        return request.carries_request or _is_archived(conversation)
    session = request.exchange.session
    # "Subsequent requests" are those after the answer to an initialize; a session joined midway has had its answer.
    return session.initialize is None or session.initialize_answered is not None


@rule(
    "missing_protocol_version_header",
    level="error",
    party="client",
    layer="request_construction",
    revisions=VERSION_HEADER_REVISIONS,
    cites="basic/transports#protocol-version-header",
    says="GET and DELETE carry MCP-Protocol-Version too.",
    fix="Send the negotiated version on GET and DELETE as well; a browser's EventSource cannot, use fetch there.",
    exceptions=(
        "POST is judged by `protocol_version_mismatch`. Not judged where the session's InitializeResult was not "
        "captured, where several clients may share the conversation, or where 2025-03-26 was negotiated."
    ),
    evidence="The request head and the session's InitializeResult.",
)
def get_and_delete_name_version(request: Request, conversation: Conversation) -> Verdicts:
    if not (_is(request, "GET") or _is(request, "DELETE")) or conversation.legacy_transport:
        return
    if "mcp-protocol-version" in request.headers:
        yield SATISFIED
        return
    session = request.exchange.session
    if request.is_page_visit:
        return
    if session.negotiated_version is None or session.may_be_shared:
        yield CannotTell("what this client negotiated was not captured")
    elif session.negotiated_version in VERSION_HEADER_REVISIONS:
        method = request.method.upper()
        yield Violated(request.headers_path, f"The {method} has no MCP-Protocol-Version header.")


@rule(
    "protocol_version_not_negotiated",
    level="warning",
    party="client",
    layer="request_construction",
    revisions=VERSION_HEADER_REVISIONS,
    cites="basic/transports#protocol-version-header",
    says="MCP-Protocol-Version names the version that was negotiated.",
    fix="Keep the negotiated version with the session and send exactly that.",
    exceptions=(
        "Not on `initialize`. A request that names a version in `_meta` follows 2026-07-28 and is no part of the "
        "session. A header on two lines is `duplicate_header`."
    ),
    evidence="The request head and the InitializeResult of the same session.",
)
def header_names_negotiated_version(request: Request, conversation: Conversation) -> Verdicts:
    version = request.version_header
    if version is None or request.is_initialize or conversation.legacy_transport:
        return
    if request.headers.repeated("mcp-protocol-version") or any(META_VERSION in part.meta for part in request.messages):
        return
    session = request.exchange.session
    if session.negotiated_version is None or session.may_be_shared:
        yield CannotTell("what this client negotiated was not captured")
    elif version == session.negotiated_version:
        yield SATISFIED
    elif conversation.unread_post is not None:
        yield CannotTell("a POST that was not captured may have negotiated another version")
    else:
        yield Violated(
            request.headers_path,
            "MCP-Protocol-Version is {}; {} was negotiated.",
            (Evidence("version", version), Evidence("version", session.negotiated_version)),
        )


@rule(
    "invalid_request_content_type",
    level="warning",
    party="client",
    layer="request_construction",
    version_neutral=True,
    cites={"RFC 9110": "https://www.rfc-editor.org/rfc/rfc9110#section-8.3"},
    says="The body of a POST is labelled application/json.",
    fix="Send `Content-Type: application/json`.",
    exceptions=(
        "No revision states a MUST for it; the warning rests on RFC 9110. Parameters such as `charset=utf-8` are fine. "
        "A header on two lines is `duplicate_header`."
    ),
    evidence="The request head, and a body that was captured and is not empty.",
)
def post_is_labelled_json(request: Request, conversation: Conversation) -> Verdicts:
    if not _is(request, "POST") or conversation.legacy_transport or request.headers.repeated("content-type"):
        return
    content_type = request.headers.get("content-type")
    if essence(content_type) == JSON_MEDIA_TYPE:
        yield SATISFIED
    elif not request.body.is_captured:
        yield CannotTell("the request body was not captured, so there may be none to label")
    elif request.body.is_empty:
        return
    elif content_type is None:
        yield Violated(request.headers_path, "The POST has a body and no Content-Type.")
    else:
        shown = Evidence("header:content-type", content_type)
        yield Violated(request.headers_path, "The POST's Content-Type is {}.", (shown,))


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
    if request.version_header != R2026_07_28 and not _is_archived(conversation):
        yield CannotTell("the request names no revision; it may belong to a session of an earlier one")
        return
    yield Violated(
        request.method_path,
        f"A {method} was sent under 2026-07-28, which is POST only; the released text asks the server to answer 405.",
    )
