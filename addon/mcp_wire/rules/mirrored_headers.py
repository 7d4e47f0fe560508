"""Request headers that mirror the body (2026-07-28 basic/transports/streamable-http#standard-request-headers)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import META_VERSION, Request
from mcp_wire.judging.declaration import SATISFIED, CannotTell, Evidence, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2026_07_28

BOOK: Final = RuleBook("headers")
rule = BOOK.rule


@rule(
    "method_header_mismatch",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#standard-request-headers"},
    says="Mcp-Method repeats the JSON-RPC method of the body, letter for letter.",
    fix="Copy `method` into Mcp-Method, unencoded.",
    exceptions="Requests only: the revision leaves the headers of notification POSTs undefined.",
    evidence="The request head and the whole request body.",
)
def method_header_mirrors_body(request: Request, _conversation: Conversation) -> Verdicts:
    if request.method.upper() != "POST":
        return
    if not request.body.is_captured:
        yield CannotTell("the request body was not captured")
        return
    for message in request.messages:
        if not message.is_request or message.in_batch:
            continue
        header = request.headers.get("mcp-method")
        if header == message.method:
            yield SATISFIED
        elif header is None:
            yield Violated(
                request.headers_path,
                "The request has no Mcp-Method header; the body says {}.",
                (Evidence("method", message.method),),
            )
        else:
            yield Violated(
                request.headers_path,
                "Mcp-Method is {}; the body says {}.",
                (Evidence("method", header), Evidence("method", message.method)),
            )


@rule(
    "body_version_mismatch",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic#meta"},
    says="Every request names its protocol version in `_meta`.",
    fix='Send `"io.modelcontextprotocol/protocolVersion": "2026-07-28"` in `params._meta` of every request.',
    exceptions=(
        "Requests only. Where the header names another revision than `_meta`, `conflicting_version_evidence` speaks. "
        "In a transcript that a person may have cut, an absent `_meta` proves nothing (the archived draft profile "
        "keeps judging it, as it always did)."
    ),
    evidence="The whole request body.",
    consequence_of=("conflicting_version_evidence",),
)
def meta_names_version(request: Request, conversation: Conversation) -> Verdicts:
    if request.method.upper() != "POST":
        return
    if not request.body.is_captured:
        yield CannotTell("the request body was not captured")
        return
    for message in request.messages:
        if not message.is_request:
            continue
        version = message.meta.get(META_VERSION)
        if version == R2026_07_28:
            yield SATISFIED
        elif version is None:
            archived = conversation.profile is not None and conversation.profile.archived
            if not conversation.payloads_whole and not archived:
                yield CannotTell("members may have been removed from this transcript by hand")
            else:
                yield Violated(request.body_path, f"`params._meta` does not name {META_VERSION}.")
        else:
            yield Violated(
                request.body_path,
                "`params._meta` names protocol version {} under 2026-07-28.",
                (Evidence("version", version),),
            )
