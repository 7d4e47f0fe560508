"""Event stream framing (WHATWG HTML, server-sent events)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Ending, Event
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import (
    MODERN_REVISIONS,
    R2025_03_26,
    R2025_11_25,
    R2026_07_28,
    SESSION_REVISIONS,
)
from mcp_wire.rules.clauses import RECEIVING
from mcp_wire.rules.proven import once_proven
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.jsonrpc import classify, is_valid_seed_envelope
from mcp_wire.wire.observation import Ended
from mcp_wire.wire.sse import Block, Field
from mcp_wire.wire.strict_json import MISSING

BOOK: Final = RuleBook("sse")
rule = BOOK.rule

WHATWG: Final = "WHATWG HTML"
INTERPRETATION: Final = "https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation"
PARSING: Final = "https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream"
PROCESSING: Final = "https://html.spec.whatwg.org/multipage/server-sent-events.html#sse-processing-model"
KNOWN_FIELDS: Final = ("event", "data", "id", "retry")
ERROR_ID_OPTIONAL: Final = (R2025_11_25, R2026_07_28)


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
def last_event_is_complete(event: Event, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    if event.block.complete:
        yield SATISFIED
        return
    if all(field.kind in ("comment", "ignored") for field in event.block.fields):
        return
    ending = event.exchange.ending
    ended = ending.ended if ending is not None else None
    message = "The stream ends in the middle of an event; receivers discard that part"
    # Later revisions resume nothing, so that an id means nothing there.
    message += ", and its id is no cursor." if conversation.revision in SESSION_REVISIONS else "."
    if ended in (None, Ended.COMPLETE, Ended.SERVER_CLOSED):
        yield Violated(event.exchange.stream_path, message)
    elif ended is Ended.SERVER_RESET:
        yield Violated(event.exchange.stream_path, message, level="info", party="either")
    else:
        yield CannotTell("the stream was not ended by the server")


def _is_judged_as_message(event: Event) -> bool:
    """Other types than `message` do not reach who listens for messages: `sse_event_type_unexpected` tells of them."""
    return event.block.dispatched and bool(event.block.data) and event.block.event_type == "message"


@rule(
    "invalid_sse_json",
    level="error",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites=RECEIVING,
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
    cites=RECEIVING,
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
def retry_is_digits(event: Event, conversation: Conversation) -> Verdicts:
    block = event.block
    if not block.complete or conversation.legacy_transport:
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
def id_has_no_nul(event: Event, conversation: Conversation) -> Verdicts:
    if not event.block.complete or not event.block.has_id or conversation.legacy_transport:
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
    evidence="A complete block, the revision in force, and that the server speaks it.",
)
def no_event_id(fact: Event | Ending, conversation: Conversation) -> Verdicts:
    yield from once_proven(fact, Event, conversation, _id_of_event)


def _id_of_event(event: Event, _conversation: Conversation) -> Verdicts:
    if not event.block.complete:
        return
    if event.block.id is not None:
        yield Violated(event.path, "An event of a 2026-07-28 stream has an id; that revision removed resumption.")
    elif event.block.dispatched:
        yield SATISFIED


@rule(
    "sse_bom_misplaced",
    level="warning",
    party="server",
    layer="response_framing",
    version_neutral=True,
    rule_set="extended",
    cites={WHATWG: PARSING},
    says="A byte order mark stands nowhere but at the very start of a stream.",
    fix="Write no byte order mark when buffers are put together.",
    exceptions=(
        "One mark as the first character of the stream is legal. Inside a value U+FEFF is text like any other. At the "
        "start of a line it becomes part of the field name, so that receivers ignore the whole line."
    ),
    evidence="A block with all its lines.",
)
def byte_order_mark_is_first(event: Event, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    if event.block.misplaced_bom:
        yield Violated(event.path, "A line begins with U+FEFF; receivers take it for a field that they do not know.")
    elif event.block.leading_bom:
        yield SATISFIED


@rule(
    "sse_ignored_line",
    level="warning",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites={WHATWG: INTERPRETATION},
    says="Every line of a stream is a comment or one of the fields event, data, id and retry.",
    fix="Put `data: ` before every line of the payload.",
    exceptions=(
        "The standard lets receivers ignore unknown fields, so a private one is legal and does nothing: one finding a "
        "stream. A last line that was cut is judged only where no continuation could make it a known field."
    ),
    evidence="The lines of a block. Names are case-sensitive: `Data:` is ignored.",
    consequence_of=("sse_bom_misplaced",),
)
def no_line_is_ignored(event: Event, conversation: Conversation) -> Verdicts:
    block = event.block
    if conversation.legacy_transport or block.too_large:
        return
    ignored = [field for field in block.ignored_lines if not (block.cut_in_line and _may_go_on(field, block))]
    if not ignored:
        if block.complete:
            yield SATISFIED
        return
    yield Violated(
        event.path,
        "A line of the stream is no field that receivers know (JSON without `data:` before it, say); they ignore it "
        "without a word.",
    )


def _may_go_on(field: Field, block: Block) -> bool:
    """The line was cut by the end of the stream, and could have become a known field."""
    return field is block.fields[-1] and any(known.startswith(field.name) for known in KNOWN_FIELDS)


@rule(
    "sse_event_type_unexpected",
    level="warning",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites={WHATWG: INTERPRETATION, **RECEIVING},
    says="Events that carry messages have the type `message`, or none, which means the same.",
    fix="Leave out the `event` field, or set it to `message`.",
    exceptions=(
        "MCP defines no event types; listeners for `message` never see such an event. Without data it carries nothing, "
        "and `endpoint` belongs to the transport of 2024-11-05."
    ),
    evidence="A complete event with data.",
)
def event_type_is_message(event: Event, conversation: Conversation) -> Verdicts:
    block = event.block
    if not block.dispatched or not block.data or block.event_type == "endpoint" or conversation.legacy_transport:
        return
    if block.event_type == "message":
        yield SATISFIED
    else:
        event_type = Evidence("text", event.block.event_type)
        yield Violated(event.path, "The event has the type {}; listeners for messages do not see it.", (event_type,))


@rule(
    "sse_on_non_200_status",
    level="warning",
    party="server",
    layer="response_framing",
    version_neutral=True,
    rule_set="extended",
    cites={WHATWG: PROCESSING, **RECEIVING},
    says="An event stream has status 200.",
    fix="Send refusals as application/json, and streams with 200.",
    exceptions=(
        "MCP has no sentence against it for POST; most clients take any other status for a failure and never read the "
        "stream. A GET answered 2xx is `invalid_get_response_status`. A stream without events is not judged."
    ),
    evidence="The response head, and an event.",
)
def stream_has_status_200(event: Event, conversation: Conversation) -> Verdicts:
    exchange = event.exchange
    head = exchange.head
    if head is None or exchange.events != 1 or not event.block.complete or conversation.legacy_transport:
        return
    if head.status == 200:
        yield SATISFIED
    elif not (head.is_success and exchange.request.method.upper() == "GET"):
        yield Violated(head.status_path, f"An event stream was sent with status {head.status}.")
