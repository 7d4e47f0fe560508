"""Which revision an exchange is to be judged by, and where the evidence of it is missing, unknown or contradictory."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Event, Message, Request
from mcp_wire.judging.declaration import SATISFIED, RuleBook, Verdicts, Violated
from mcp_wire.protocol.meta_keys import META_VERSION
from mcp_wire.protocol.profiles import (
    ALL_REVISIONS,
    MODERN_REVISIONS,
    R2025_03_26,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
)
from mcp_wire.wire.evidence import Evidence

BOOK: Final = RuleBook("profile")
rule = BOOK.rule


@rule(
    "unknown_protocol_version",
    level="info",
    party="either",
    layer="profile_mixing",
    version_neutral=True,
    cites={
        R2025_03_26: "basic/lifecycle#version-negotiation",
        R2025_06_18: "basic/lifecycle#version-negotiation",
        R2025_11_25: "basic/lifecycle#version-negotiation",
        R2026_07_28: "basic/versioning#protocol-version-negotiation",
    },
    says="The protocol version that is named or negotiated is one that this tool has a profile for.",
    fix="Nothing is wrong by itself: judge the traffic with a version of the tool that knows the revision.",
    exceptions=(
        "A newer revision, or 2024-11-05 over Streamable HTTP, is no fault of anybody. An unknown version is never "
        "mapped to the nearest known one: only rules that hold in every revision speak."
    ),
    evidence="`_meta` of a request, else its MCP-Protocol-Version header; or an InitializeResult.",
)
def version_is_known(message: Message, conversation: Conversation) -> Verdicts:
    version, path = _deciding_version(message)
    if version is None or conversation.legacy_transport:
        return
    if version in ALL_REVISIONS:
        yield SATISFIED
    else:
        shown = Evidence("version", version)
        yield Violated(path, "There is no profile for protocol version {}; it is not judged by one.", (shown,))


def _deciding_version(message: Message) -> tuple[str | None, str]:
    """The version that a message names for itself, and where; (None, "") where it names none."""
    request = message.exchange.request
    if message.sender == "client":
        version = message.meta.get(META_VERSION)
        if isinstance(version, str):
            return version, request.body_path
        if message.method == "initialize" or request.headers.repeated("mcp-protocol-version"):
            return None, ""
        return request.version_header, request.headers_path
    if message.call is not None and message.call.method == "initialize" and message.result is not None:
        version = message.result.get("protocolVersion")
        return (version, message.path) if isinstance(version, str) else (None, "")
    return None, ""


@rule(
    "profile_undetermined",
    level="info",
    party="either",
    layer="profile_mixing",
    version_neutral=True,
    cites={
        R2025_03_26: "basic/lifecycle#version-negotiation",
        R2025_06_18: "basic/transports#protocol-version-header",
        R2025_11_25: "basic/transports#protocol-version-header",
        R2026_07_28: "basic/transports/streamable-http#protocol-version-header",
    },
    says="Something on the wire says which revision governs an exchange.",
    fix="Capture from the initialize exchange on, or name the profile yourself.",
    exceptions=(
        "That a server may take a request without the header for 2025-03-26 is no proof of what the client speaks. One "
        "finding; its count says how many exchanges only rules that hold in every revision have judged."
    ),
    evidence="The request, and whether an InitializeResult was seen before it.",
)
def revision_is_known(request: Request, conversation: Conversation) -> Verdicts:
    if conversation.profile is not None:
        yield SATISFIED
        return
    names_a_version = request.version_header is not None or any(META_VERSION in part.meta for part in request.messages)
    negotiated = request.is_initialize or request.exchange.session.negotiated_version is not None
    if not names_a_version and not negotiated and not conversation.legacy_transport:
        yield Violated(
            request.exchange.path,
            "Nothing says which revision this exchange follows; only rules that hold in every revision judge it.",
        )


@rule(
    "conflicting_version_evidence",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#protocol-version-header"},
    says="MCP-Protocol-Version and the protocolVersion in `_meta` of a request are the same.",
    fix="Send one version, in the header and in `_meta`.",
    exceptions=(
        "Requests only. A header on two lines has no single value and is `duplicate_header`; where one of the two is "
        "missing, `protocol_version_mismatch` or `body_version_mismatch` speaks."
    ),
    evidence="The request head and the whole request body.",
)
def header_and_meta_agree(message: Message, _conversation: Conversation) -> Verdicts:
    if message.sender != "client" or not message.is_request:
        return
    request = message.exchange.request
    header, meta = request.version_header, message.meta.get(META_VERSION)
    if header is None or not isinstance(meta, str) or request.headers.repeated("mcp-protocol-version"):
        return
    if header == meta:
        yield SATISFIED
    else:
        yield Violated(
            request.headers_path,
            "MCP-Protocol-Version is {}, and `_meta` of the same request says {}.",
            (Evidence("version", header), Evidence("version", meta)),
        )


@rule(
    "legacy_http_sse_transport",
    level="info",
    party="either",
    layer="profile_mixing",
    version_neutral=True,
    cites={
        R2025_03_26: "basic/transports#backwards-compatibility",
        R2025_06_18: "basic/transports#backwards-compatibility",
        R2025_11_25: "basic/transports#backwards-compatibility",
        R2026_07_28: "basic/transports/streamable-http#http-sse-transport-2024-11-05",
    },
    says="A GET stream is one of Streamable HTTP, not of the HTTP+SSE transport of 2024-11-05.",
    fix="Nothing is judged there. The old transport is deprecated: move to Streamable HTTP.",
    exceptions=(
        "Told by an `endpoint` event that opens the stream of a GET. From then on the conversation is left alone: the "
        "event's data is a URI, POSTs go elsewhere, and responses come on the GET stream. A conversation with sessions "
        "of Streamable HTTP is judged on all the same."
    ),
    evidence="The first event of the stream of a GET.",
)
def get_stream_is_streamable_http(event: Event, conversation: Conversation) -> Verdicts:
    exchange = event.exchange
    if exchange.request.method.upper() != "GET" or not event.block.dispatched or exchange.dispatched != 1:
        return
    if event.block.event_type == "endpoint":
        alone = "this is the HTTP+SSE transport of 2024-11-05, which is left alone"
        mixed = "the HTTP+SSE transport of 2024-11-05 begins so, but here sessions of Streamable HTTP are in use"
        told = alone if conversation.legacy_transport else mixed
        yield Violated(event.path, f"The stream opens with an `endpoint` event: {told}.")
    else:
        yield SATISFIED
