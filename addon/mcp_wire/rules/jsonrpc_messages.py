"""JSON-RPC messages: envelopes, batches, ids, methods and error codes, in both directions."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import JSON_MEDIA_TYPE, Ending, Event, Exchange, Message, Request, Sender
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.error_codes import (
    INVALID_REQUEST,
    MODERN_CODES,
    PARSE_ERROR,
    RESOURCE_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
)
from mcp_wire.protocol.methods import is_defined_anywhere, method_of
from mcp_wire.protocol.profiles import (
    ALL_REVISIONS,
    MODERN_REVISIONS,
    R2025_03_26,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
)
from mcp_wire.protocol.schemas import check_message
from mcp_wire.wire.body import Body
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.jsonrpc import Envelope, classify, is_valid_seed_envelope
from mcp_wire.wire.media_types import charset
from mcp_wire.wire.strict_json import MISSING, canonical

BOOK: Final = RuleBook("jsonrpc")
rule = BOOK.rule

JSON_RPC: Final = "JSON-RPC 2.0"
BATCHES_REMOVED: Final = (R2025_06_18, R2025_11_25, R2026_07_28)

# Bad bytes are `message_not_utf8`; a lone surrogate escape is grammatical JSON.
NOT_THE_SYNTAX: Final = frozenset({"invalid_utf8", "lone_surrogate"})
# Reasons to refuse a POST that have nothing to do with its being a batch.
UNRELATED_REFUSALS: Final = frozenset({401, 403, 404, 413, 429})
UNREADABLE_BATCH_CODES: Final = (INVALID_REQUEST, PARSE_ERROR)

RETIRED_CODES: Final = frozenset({RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED})
MAX_FAULTS_SHOWN: Final = 3


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
    if body.has("too_deep"):
        yield CannotTell("the body is deeper than this tool reads")
        return
    fault = _fault_of(body, batches=conversation.revision == R2025_03_26)
    if fault is None:
        yield SATISFIED
    else:
        yield Violated(request.body_path, f"The POST body is not one JSON-RPC 2.0 message: {fault}.")


def _fault_of(body: Body, *, batches: bool) -> str | None:
    """Why a body is no message, None where it is one."""
    if body.is_empty:
        return "it is empty"
    if body.value is MISSING:
        return "it is not JSON"
    kinds = sorted({fault.kind.replace("_", " ") for fault in body.faults if fault.kind not in NOT_THE_SYNTAX})
    if kinds:
        return f"it is not strict JSON ({', '.join(kinds)})"
    envelope = classify(body.value)
    if envelope.kind == "batch":
        if not batches:
            return "it is an array"
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


@rule(
    "message_not_utf8",
    level="error",
    party="either",
    layer="response_framing",
    version_neutral=True,
    cites={
        R2025_03_26: "basic/transports",
        R2025_06_18: "basic/transports",
        R2025_11_25: "basic/transports",
        R2026_07_28: "basic/transports#messages",
    },
    says="JSON-RPC messages are encoded in UTF-8.",
    fix="Encode as UTF-8, and declare no other charset.",
    exceptions="A character cut between two chunks is whole. What a cut response lost is `truncated_response`.",
    evidence="The bytes of a whole body or of a complete event, after content decoding.",
)
def messages_are_utf8(fact: Request | Event | Ending, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    if isinstance(fact, Request):
        if fact.body.is_captured and not fact.body.is_empty and fact.method.upper() == "POST":
            declared = charset(fact.headers.get("content-type"))
            yield from _utf8(fact.body.utf8, declared, fact.body_path, "client")
    elif isinstance(fact, Event):
        if fact.block.complete and not fact.block.too_large:
            yield from _utf8(not fact.block.invalid_utf8, None, fact.path, "server")
    else:
        head, content = fact.exchange.head, fact.exchange.content
        if head is None or content is None or head.media_type != JSON_MEDIA_TYPE or fact.exchange.was_cut:
            return
        if content.body.is_captured and not content.body.is_empty:
            declared = charset(head.headers.get("content-type"))
            yield from _utf8(content.body.utf8, declared, content.path, "server")


def _utf8(is_utf8: bool, declared: str | None, path: str, sender: Sender) -> Verdicts:
    if not is_utf8:
        yield Violated(path, "The message holds bytes that are not UTF-8.", party=sender)
    elif declared is not None and declared not in ("utf-8", "utf8", "us-ascii"):
        yield Violated(path, "The message is declared to be in another charset than UTF-8.", party=sender)
    else:
        yield SATISFIED


@rule(
    "batch_removed_in_profile",
    level="error",
    party="either",
    layer="profile_mixing",
    revisions=BATCHES_REMOVED,
    cites={
        R2025_06_18: "changelog#major-changes",
        R2025_11_25: "basic/transports#sending-messages-to-the-server",
        R2026_07_28: "basic/transports/streamable-http#sending-messages",
    },
    says="From 2025-06-18 on there are no JSON-RPC batches.",
    fix="Send one message a POST and one an event.",
    exceptions="An array that answers a batch is the tolerance of the server; the batch is the fault.",
    evidence="A whole body, or a complete event.",
)
def no_batches(fact: Request | Event | Ending, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    if isinstance(fact, Request):
        if fact.method.upper() == "POST" and fact.body.is_json:
            yield from _batch(fact.body.value, fact.body_path, "client")
        return
    if _has_batch(fact.exchange.request.body.value):
        return
    if isinstance(fact, Event):
        if fact.reading is not None and fact.reading.value is not MISSING:
            yield from _batch(fact.reading.value, fact.path, "server")
    elif fact.exchange.content is not None and fact.exchange.content.body.is_json:
        yield from _batch(fact.exchange.content.body.value, fact.exchange.content.path, "server")


def _has_batch(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(member, dict) and "jsonrpc" in member for member in value)


def _batch(value: object, path: str, sender: Sender) -> Verdicts:
    if _has_batch(value):
        yield Violated(path, "Messages are sent as a batch, which this revision does not have.", party=sender)
    elif isinstance(value, dict):
        yield SATISFIED


@rule(
    "invalid_batch",
    level="error",
    party="client",
    layer="request_construction",
    revisions=(R2025_03_26,),
    cites={R2025_03_26: "basic/transports#sending-messages-to-the-server"},
    says="A batch holds requests and notifications, or responses; it is not empty, and initialize is not in it.",
    fix="Send responses apart from requests, and initialize alone.",
    exceptions="Requests and notifications may share one array.",
    evidence="The whole request body.",
)
def batch_is_well_made(request: Request, _conversation: Conversation) -> Verdicts:
    if request.method.upper() != "POST" or not isinstance(request.body.value, list):
        return
    fault = _fault_of_batch(request, classify(request.body.value))
    yield SATISFIED if fault is None else Violated(request.body_path, f"The batch {fault}.")


def _fault_of_batch(request: Request, batch: Envelope) -> str | None:
    kinds = {member.kind for member in batch.members}
    responses = kinds & {"response", "error_response"}
    if not batch.members:
        return "is empty"
    if "invalid" in kinds:
        return "has a member that is no JSON-RPC message"
    if responses and kinds - responses:
        return "mixes responses with requests or notifications"
    return "contains initialize" if request.is_initialize else None


@rule(
    "batch_rejected",
    level="error",
    party="server",
    layer="response_framing",
    revisions=(R2025_03_26,),
    cites={R2025_03_26: "basic#batching"},
    says="A server of 2025-03-26 takes batches.",
    fix="Accept arrays, or negotiate 2025-06-18 or later.",
    exceptions="401, 403, 404, 413 and 429 have reasons of their own.",
    evidence="An initialize result that names 2025-03-26, a well-made batch, and its refusal.",
)
def batch_is_taken(ending: Ending, _conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    request, head = exchange.request, exchange.head
    if head is None or not isinstance(request.body.value, list) or request.method.upper() != "POST":
        return
    batch = classify(request.body.value)
    if _fault_of_batch(request, batch) or not all(is_valid_seed_envelope(member) for member in batch.members):
        return
    if exchange.session.negotiated_version != R2025_03_26:
        yield CannotTell("no initialize result shows that 2025-03-26 was negotiated")
    elif head.is_success:
        refused = exchange.content is not None and any(
            message.error_code in UNREADABLE_BATCH_CODES and not message.in_batch
            for message in exchange.content.messages
        )
        yield Violated(head.status_path, "A batch was answered with one error.") if refused else SATISFIED
    elif 400 <= head.status < 500 and head.status not in UNRELATED_REFUSALS:
        yield Violated(head.status_path, f"A well-made batch was refused with {head.status}.")


@rule(
    "request_id_invalid",
    level="error",
    party="either",
    layer="payload",
    version_neutral=True,
    cites="basic#requests",
    says="A request id is a string or an integer, never null.",
    fix="Use a string or an integer as id.",
    exceptions="1.0 is an integer. Integers beyond 2^53 are legal.",
    evidence="The whole message.",
)
def request_id_is_string_or_integer(message: Message, conversation: Conversation) -> Verdicts:
    if not message.is_request or conversation.legacy_transport or _is_notification_method(message):
        return
    faults = [fault for fault in message.envelope.faults if fault.startswith("id_")]
    if faults:
        what = {"id_null": "null", "id_fractional": "a fraction"}.get(faults[0], "neither a string nor an integer")
        yield Violated(message.path, f"The request id is {what}.", party=message.sender)
    else:
        yield SATISFIED


@rule(
    "notification_has_id",
    level="error",
    party="either",
    layer="payload",
    version_neutral=True,
    cites="basic#notifications",
    says="A notification has no id.",
    fix="Remove the id.",
    exceptions="Only the reserved prefix `notifications/` proves that a notification was meant.",
    evidence="The whole message.",
)
def notification_has_no_id(message: Message, _conversation: Conversation) -> Verdicts:
    if not _is_notification_method(message):
        return
    if message.envelope.id_present:
        yield Violated(message.path, "A notification carries an id.", party=message.sender)
    else:
        yield SATISFIED


def _is_notification_method(message: Message) -> bool:
    return message.method is not None and message.method.startswith("notifications/")


@rule(
    "request_id_reused",
    level="error",
    party="either",
    layer="payload",
    cites="basic#requests",
    says="A requestor does not use a request id twice in one session (2026-07-28: not while it is in flight).",
    fix="Count ids upwards within the session, or use UUIDs.",
    exceptions=(
        "Client and server have id spaces of their own. The same request sent again before it was answered is "
        "`post_replayed_same_id`. Without a session id several clients may share the capture; then nothing is said."
    ),
    evidence="Both requests, in one session of one client.",
)
def request_id_is_new(message: Message, conversation: Conversation) -> Verdicts:
    call = message.call
    if call is None or not message.is_request or conversation.legacy_transport or _is_notification_method(message):
        return
    session = message.exchange.session
    if call.earlier is None:
        yield SATISFIED
    elif message.method == "initialize":
        return
    elif conversation.revision in MODERN_REVISIONS:
        yield CannotTell("this revision has no sessions, so another client may have sent the earlier request")
    elif session.may_be_shared or (session.id is None and not conversation.complete_from_start):
        yield CannotTell("without a session id another client may have sent the earlier request")
    elif call.earlier_was_answered or not _is_same_request(message, call.earlier):
        if message.sender == "server" and _was_redelivered(message.exchange):
            yield CannotTell("it came on a resumed stream, so it may be the earlier request again")
        else:
            yield Violated(message.path, "The id of an earlier request was used again.", party=message.sender)


def _is_same_request(one: Message, other: Message) -> bool:
    """Same method and same params, `_meta` aside."""
    return one.method == other.method and _comparable(one) == _comparable(other)


def _comparable(message: Message) -> str:
    return canonical({name: value for name, value in message.params.items() if name != "_meta"})


def _was_redelivered(exchange: Exchange) -> bool:
    return exchange.request.last_event_id is not None


@rule(
    "response_id_mismatch",
    level="error",
    party="server",
    layer="stream_routing",
    version_neutral=True,
    cites={
        R2025_03_26: "basic#responses",
        R2025_06_18: "basic#responses",
        R2025_11_25: "basic#result-responses",
        R2026_07_28: "basic#result-responses",
    },
    says="A response carries the id of a request that its receiver sent, with its JSON type.",
    fix='Echo the id of the request as it came: 7 stays 7, and does not become "7".',
    exceptions=(
        "An error without id, or with null, may answer a request that could not be read, and is fine in the body of a "
        "4xx or 5xx. An id that belongs to another request in flight is `response_on_wrong_stream`. Where requests may "
        "have been missed, nothing is said."
    ),
    evidence="The POST that opened the stream, or a session seen from its start.",
)
def response_answers_a_request(message: Message, conversation: Conversation) -> Verdicts:
    if not message.is_response or conversation.legacy_transport:
        return
    if message.call is not None:
        yield SATISFIED
    elif message.sender == "client":
        yield from _client_response(message, conversation)
    elif message.exchange.owes_nothing_but_202:
        return
    elif message.envelope.names_no_request:
        yield from _response_without_id(message)
    else:
        yield from _server_response(message, conversation)


def _client_response(message: Message, conversation: Conversation) -> Verdicts:
    session = message.exchange.session
    if message.envelope.names_no_request:
        return
    seen_whole = session.from_start and conversation.complete_from_start and not conversation.has_unread_streams
    if not seen_whole or session.may_be_shared or session.calls["server"].forgotten:
        yield CannotTell("requests of the server may have been missed")
    else:
        yield Violated(message.path, "The response carries an id that the server never used.", party="client")


def _response_without_id(message: Message) -> Verdicts:
    head, request = message.exchange.head, message.exchange.request
    if head is None or head.status >= 400 or not message.exchange.calls:
        return
    if all(not call.request.envelope.faults for call in message.exchange.calls) and request.body.strict:
        yield Violated(message.path, "A readable request was answered with an error that has no id.")


def _server_response(message: Message, conversation: Conversation) -> Verdicts:
    exchange, session = message.exchange, message.exchange.session
    origin = exchange.stream.origin if exchange.stream is not None else exchange
    if session.calls["client"].forgotten:
        yield CannotTell("requests of the client may have been forgotten")
    elif conversation.unread_post is not None:
        yield CannotTell("the request that it answers may be in a body that was not captured")
    elif origin.calls or (origin.request.method.upper() == "POST" and origin.request.body.is_json):
        yield Violated(message.path, "The response carries an id that its request did not have.")
    elif session.from_start and not session.may_be_shared:
        yield Violated(message.path, "The response carries an id that the client never used.")
    else:
        yield CannotTell("the request that it answers may have been missed")


@rule(
    "duplicate_response",
    level="error",
    party="either",
    layer="stream_routing",
    version_neutral=True,
    cites={JSON_RPC: "https://www.jsonrpc.org/specification#response_object"},
    says="A request gets exactly one response.",
    fix="Send one response a request.",
    exceptions="Redelivery on a stream resumed with Last-Event-ID is legal. Errors without an id do not count.",
    evidence="The request and both responses, in one session.",
    consequence_of=("replay_from_other_stream", "cached_mcp_response", "cross_stream_duplicate"),
)
def response_is_the_only_one(message: Message, conversation: Conversation) -> Verdicts:
    call = message.call
    if call is None or not message.is_response or conversation.legacy_transport:
        return
    if len(call.responses) < 2 or call.responses[0] is message:
        yield SATISFIED
    elif _was_redelivered(message.exchange) or _was_redelivered(call.responses[0].exchange):
        yield CannotTell("a resumed stream may deliver a response again")
    elif message.sender == "client" and conversation.has_unread_streams:
        yield CannotTell("the server may have asked again on a stream that was not read whole")
    elif message.sender == "server" and conversation.unread_post is not None:
        yield CannotTell("the request may have been sent again in a body that was not captured")
    elif call.request.exchange is not message.exchange and message.exchange.session.may_be_shared:
        yield CannotTell("without a session id it may answer another client's request with the same id")
    else:
        yield Violated(message.path, "The request had its response already.", party=message.sender)


@rule(
    "method_not_in_profile",
    level="warning",
    party="either",
    layer="profile_mixing",
    cites={
        R2025_03_26: "schema#clientrequest",
        R2025_06_18: "schema#clientrequest",
        R2025_11_25: "schema#clientrequest",
        R2026_07_28: "changelog#major-changes",
    },
    says="A method is used in the revisions that define it, by the side that may send it.",
    fix="Use what the revision has instead, or negotiate a revision that has the method.",
    exceptions=(
        "Methods that no revision defines are extensions. An `initialize` without a modern header is traffic of an "
        "earlier revision. Requests of the server in 2026-07-28 are `server_request_removed`. Absence is no MUST NOT: "
        "a warning."
    ),
    evidence="The whole message and the revision in force.",
)
def method_is_of_this_revision(message: Message, conversation: Conversation) -> Verdicts:
    method, revision = message.method, conversation.revision
    if method is None or revision is None or not is_defined_anywhere(method) or conversation.legacy_transport:
        return
    if method_of(revision, message.sender, method) is not None:
        yield SATISFIED
        return
    if revision in MODERN_REVISIONS:
        header = message.exchange.request.version_header
        if message.sender == "server" and message.is_request:
            return
        if method.startswith("tasks/") or (message.sender == "client" and header != R2026_07_28):
            yield CannotTell("it may belong to another revision or to an extension")
            return
    yield Violated(
        message.path,
        f"{{}} is not a method of the {message.sender} in {revision}.",
        (Evidence("method", method),),
        party=message.sender,
        about=method,
    )


@rule(
    "invalid_message_schema",
    level="error",
    party="either",
    layer="payload",
    cites=dict.fromkeys(ALL_REVISIONS, "schema"),
    says="Messages have the shape that the revision's schema gives them.",
    fix="Build messages from the schema of the revision in force.",
    exceptions=(
        "More members than the schema has are allowed. Faults that have a rule of their own are told there. schema.ts "
        "decides where schema.json differs. In a transcript that a person may have cut nothing is said."
    ),
    evidence="The whole message; for a result also the request that it answers.",
    consequence_of=("notification_has_id", "response_id_mismatch", "request_id_invalid", "invalid_response_jsonrpc"),
)
def message_has_the_schemas_shape(message: Message, conversation: Conversation) -> Verdicts:
    revision = conversation.revision
    if revision is None or conversation.legacy_transport or (message.event is None and message.in_batch):
        return
    if message.sender == "server" and revision in MODERN_REVISIONS and not conversation.server_is_modern:
        yield CannotTell("nothing shows that the server speaks this revision")
        return
    answered = message.call.method if message.call is not None else None
    faults = check_message(revision, message.sender, message.envelope, answered)
    faults = [fault for fault in faults if fault.code is None]
    if not faults:
        if message.method is not None or answered is not None:
            yield SATISFIED
    elif not conversation.payloads_whole:
        yield CannotTell("members may have been removed from this transcript by hand")
    else:
        shown = "; ".join(f"{fault.pointer or 'the message'} {fault.reason}" for fault in faults[:MAX_FAULTS_SHOWN])
        more = f"; and {len(faults) - MAX_FAULTS_SHOWN} more" if len(faults) > MAX_FAULTS_SHOWN else ""
        yield Violated(
            message.path,
            "{}: " + shown.replace("{", "{{").replace("}", "}}") + more + ".",
            (Evidence("method", message.method or answered),),
            party=message.sender,
            about=str(message.method or answered),
        )


@rule(
    "reserved_error_code",
    level="error",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic#error-codes"},
    says="Error codes that MCP reserves are used as the revision defines them.",
    fix="Use -32602 for a resource that was not found; take own codes from outside -32768 to -32000.",
    exceptions="Codes in sessions of an earlier revision follow that revision.",
    evidence="The error, the revision in force, and that the server speaks it.",
)
def reserved_code_is_defined(message: Message, conversation: Conversation) -> Verdicts:
    code = message.error_code
    if code is None or message.sender != "server" or not message.is_error:
        return
    if not (-32099 <= code <= -32020 or code in RETIRED_CODES):
        return
    if code in MODERN_CODES:
        yield SATISFIED
    elif not conversation.server_is_modern:
        yield CannotTell("nothing shows that the server speaks this revision")
    elif code in RETIRED_CODES:
        yield Violated(message.path, f"The error code {code} was retired before this revision.")
    else:
        yield Violated(message.path, f"The error code {code} is reserved, and this revision does not define it.")


@rule(
    "legacy_error_code",
    level="warning",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic#error-codes"},
    says="New code leaves the error codes -32019 to -32000 alone.",
    fix="Take error codes from outside the range that JSON-RPC reserves.",
    exceptions="Existing uses in SDKs are tolerated by the text: a warning. -32002 is `reserved_error_code`.",
    evidence="The error, the revision in force, and that the server speaks it.",
)
def legacy_range_is_left_alone(message: Message, conversation: Conversation) -> Verdicts:
    code = message.error_code
    if code is None or message.sender != "server" or not message.is_error:
        return
    if not -32019 <= code <= -32000 or code in RETIRED_CODES:
        yield SATISFIED
    elif not conversation.server_is_modern:
        yield CannotTell("nothing shows that the server speaks this revision")
    else:
        yield Violated(message.path, f"The error code {code} is from the range of legacy implementations.")
