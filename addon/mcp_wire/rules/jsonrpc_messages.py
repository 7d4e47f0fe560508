"""JSON-RPC messages: the envelope of what clients POST."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Request
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28
from mcp_wire.wire.body import Body
from mcp_wire.wire.jsonrpc import classify, is_valid_seed_envelope

BOOK: Final = RuleBook("jsonrpc")
rule = BOOK.rule


@rule(
    "invalid_jsonrpc_body",
    level="error",
    party="client",
    layer="request_construction",
    cites={
        R2025_03_26: "basic#messages",
        R2025_06_18: "basic#messages",
        R2025_11_25: "basic#messages",
        R2026_07_28: "basic#messages",
    },
    says="A POST carries one JSON-RPC 2.0 message.",
    fix='Send one object with `"jsonrpc": "2.0"` that is a request, a notification or a response.',
    exceptions="2025-03-26 allows batches. A body that was not captured is not judged.",
    evidence="The whole request body.",
)
def post_carries_one_message(request: Request, conversation: Conversation) -> Verdicts:
    if request.method.upper() != "POST":
        return
    body = request.body
    if not body.is_captured:
        yield CannotTell("the request body was not captured")
        return
    fault = _fault_of(body, batches=conversation.revision == R2025_03_26)
    if fault is None:
        yield SATISFIED
    elif fault:
        yield Violated(request.body_path, f"The POST body is not one JSON-RPC 2.0 message: {fault}.")


def _fault_of(body: Body, *, batches: bool) -> str | None:
    """Why a body is no message, "" where another rule speaks of it, None where it is one."""
    if body.is_empty:
        return "it is empty"
    if body.value is None and not body.is_json:
        return "it is not JSON"
    if not body.is_json:
        return "it is not JSON"
    if not body.strict:
        # A duplicate key, NaN or a bad byte is told by the rule about strict JSON; the envelope may still be judged.
        kinds = ", ".join(sorted({fault.kind.replace("_", " ") for fault in body.faults}))
        return f"it is not strict JSON ({kinds})"
    envelope = classify(body.value)  # type: ignore[arg-type]
    if envelope.kind == "batch":
        if not batches:
            return "" if envelope.members else "it is an empty array"
        broken = [member for member in envelope.members if not is_valid_seed_envelope(member)]
        return f"a member of the batch is none ({', '.join(broken[0].faults)})" if broken else None
    if is_valid_seed_envelope(envelope):
        return None
    return ", ".join(fault.replace("_", " ") for fault in envelope.faults) or "it is none of the kinds"


@rule(
    "draft_response_post_removed",
    level="error",
    party="client",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#sending-messages"},
    says="Under 2026-07-28 a client POSTs requests and notifications only, never responses.",
    fix="Answer an `input_required` result by sending the request again with inputResponses.",
    exceptions="A response inside a session of an earlier revision on the same endpoint belongs to that revision.",
    evidence="The whole request body and the revision in force.",
)
def no_response_is_posted(request: Request, _conversation: Conversation) -> Verdicts:
    if request.method.upper() != "POST" or not request.body.is_captured:
        return
    value = request.body.value
    if not isinstance(value, dict):
        return
    if isinstance(value.get("method"), str):
        yield SATISFIED
    elif "result" in value or "error" in value:
        yield Violated(request.body_path, "A JSON-RPC response was POSTed under 2026-07-28.")
    else:
        yield Violated(
            request.body_path,
            "The POST body has no method; under 2026-07-28 only requests and notifications may be sent.",
        )
