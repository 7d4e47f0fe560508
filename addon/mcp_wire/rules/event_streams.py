"""Event stream framing (WHATWG HTML, server-sent events)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Event
from mcp_wire.judging.declaration import SATISFIED, CannotTell, Evidence, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28
from mcp_wire.wire.jsonrpc import classify, is_valid_seed_envelope
from mcp_wire.wire.observation import Ended
from mcp_wire.wire.strict_json import MISSING

BOOK: Final = RuleBook("sse")
rule = BOOK.rule

WHATWG: Final = "WHATWG HTML"
INTERPRETATION: Final = "https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation"
ERROR_ID_OPTIONAL: Final = (R2025_11_25, R2026_07_28)

SENDING: Final = {
    R2025_03_26: "basic/transports#sending-messages-to-the-server",
    R2025_06_18: "basic/transports#sending-messages-to-the-server",
    R2025_11_25: "basic/transports#sending-messages-to-the-server",
    R2026_07_28: "basic/transports/streamable-http#receiving-messages",
}


@rule(
    "incomplete_sse_event",
    level="error",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites={WHATWG: INTERPRETATION},
    says="A stream that the server ends does not stop in the middle of an event.",
    fix="End every event with a blank line and flush it before closing.",
    exceptions=(
        "Only where the server ended the stream itself, or nothing is known of the end. Cut by a reset from the "
        "server's side it is a symptom (info) of `truncated_response`. A trailing comment or line end loses nothing."
    ),
    evidence="The end of the stream, and who ended it.",
)
def last_event_is_complete(event: Event, _conversation: Conversation) -> Verdicts:
    if event.block.complete:
        yield SATISFIED
        return
    if all(field.kind in ("comment", "ignored") for field in event.block.fields):
        return
    ending = event.exchange.ending
    ended = ending.ended if ending is not None else None
    message = "The stream ends in the middle of an event; receivers discard that part, and its id is no cursor."
    if ended in (None, Ended.COMPLETE, Ended.SERVER_CLOSED):
        yield Violated(event.path, message)
    elif ended is Ended.SERVER_RESET:
        yield Violated(event.path, message, level="info", party="either")
    else:
        yield CannotTell("the stream was not ended by the server")


def _is_judged_as_message(event: Event) -> bool:
    return event.block.dispatched and bool(event.block.data) and event.block.event_type != "endpoint"


@rule(
    "invalid_sse_json",
    level="error",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites=SENDING,
    says="The data of an event, if there is any, is strict JSON.",
    fix="Serialise one JSON value an event; escape line ends; no NaN or Infinity.",
    exceptions="Empty data (a priming event) is legal. A nesting beyond this tool's limit is the tool's, not a fault.",
    evidence="A complete event.",
)
def data_is_strict_json(event: Event, conversation: Conversation) -> Verdicts:
    if not _is_judged_as_message(event) or conversation.legacy_transport:
        return
    reading = event.reading
    if reading is None or reading.has("too_deep"):
        yield CannotTell("the event is larger or deeper than this tool reads")
    elif reading.strict:
        yield SATISFIED
    elif not reading.has("invalid_utf8"):
        kinds = ", ".join(sorted({fault.kind.replace("_", " ") for fault in reading.faults}))
        yield Violated(event.path, f"The event's data is not strict JSON ({kinds}).")


@rule(
    "invalid_sse_jsonrpc",
    level="error",
    party="server",
    layer="response_framing",
    cites=SENDING,
    says="An event carries one JSON-RPC message.",
    fix="Put exactly one JSON-RPC 2.0 message into each event.",
    exceptions=(
        "2025-03-26 allows a batch. Empty data is legal. From 2025-11-25 on an error response may leave out its id."
    ),
    evidence="A complete event whose data is JSON.",
    consequence_of=("invalid_sse_json",),
)
def event_carries_one_message(event: Event, conversation: Conversation) -> Verdicts:
    if not _is_judged_as_message(event) or conversation.legacy_transport:
        return
    reading = event.reading
    if reading is None or reading.has("too_deep"):
        yield CannotTell("the event is larger or deeper than this tool reads")
        return
    if reading.value is MISSING:
        return
    envelope = classify(reading.value)
    optional = conversation.revision in ERROR_ID_OPTIONAL
    if envelope.kind == "batch":
        if conversation.revision != R2025_03_26:
            return
        members = envelope.members
        valid = bool(members) and all(is_valid_seed_envelope(member, error_id_optional=optional) for member in members)
    else:
        valid = is_valid_seed_envelope(envelope, error_id_optional=optional)
    if valid:
        yield SATISFIED
    else:
        why = ", ".join(fault.replace("_", " ") for fault in envelope.faults) or "no kind of message"
        yield Violated(event.path, f"The event's data is not one JSON-RPC 2.0 message ({why}).")


@rule(
    "invalid_sse_retry",
    level="error",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites={WHATWG: INTERPRETATION},
    says="A retry field is ASCII digits.",
    fix="Send the delay in milliseconds as digits 0-9 only.",
    exceptions="A number of any length is legal. Receivers ignore a malformed retry, so the intended delay is lost.",
    evidence="A complete block.",
)
def retry_is_digits(event: Event, _conversation: Conversation) -> Verdicts:
    block = event.block
    if not block.complete:
        return
    invalid = block.retry_invalid
    if invalid is not None:
        yield Violated(
            event.path, "The retry field {} is not ASCII digits; receivers ignore it.", (Evidence("text", invalid),)
        )
    elif block.retry_ms is not None:
        yield SATISFIED


@rule(
    "ignored_sse_id_nul",
    level="warning",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites={WHATWG: INTERPRETATION},
    says="An event id has no NUL.",
    fix="Remove U+0000 from event ids.",
    exceptions="Receivers ignore the field: the id before it stays the cursor.",
    evidence="A complete block.",
)
def id_has_no_nul(event: Event, _conversation: Conversation) -> Verdicts:
    if not event.block.complete or not event.block.has_id:
        return
    if event.block.id_has_nul:
        yield Violated(event.path, "An id field contains U+0000; receivers ignore it.")
    else:
        yield SATISFIED


@rule(
    "event_id_removed",
    level="error",
    party="server",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "changelog#major-changes"},
    says="Streams of 2026-07-28 cannot be resumed, so events carry no id.",
    fix="Do not send ids on 2026-07-28 streams.",
    exceptions="The changelog removes event ids; the transport page has no MUST NOT of its own.",
    evidence="A complete block and the revision in force.",
)
def no_event_id(event: Event, _conversation: Conversation) -> Verdicts:
    if not event.block.complete:
        return
    if event.block.id is not None:
        yield Violated(event.path, "An event of a 2026-07-28 stream has an id; that revision removed resumption.")
    elif event.block.dispatched:
        yield SATISFIED
