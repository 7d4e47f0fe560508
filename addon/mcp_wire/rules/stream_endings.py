"""How a stream begins, ends, and names its events (transports#sending-messages-to-the-server)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import CaptureEnd, Ending, Event, Exchange, Message, ResponseHead
from mcp_wire.conversation.interruptions import Interruption
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.gateways import names_gateway
from mcp_wire.protocol.meta_keys import META_RELATED_TASK
from mcp_wire.protocol.profiles import (
    MODERN_REVISIONS,
    R2025_11_25,
    R2026_07_28,
    SESSION_REVISIONS,
)
from mcp_wire.rules.clauses import RECEIVING
from mcp_wire.rules.proven import UNPROVEN, is_proven
from mcp_wire.wire.observation import Ended, Milliseconds

BOOK: Final = RuleBook("stream")
rule = BOOK.rule

FORGOTTEN: Final = CannotTell("requests in flight had to be forgotten, and with them what answered or cancelled them")
TASK_METHODS: Final = frozenset({"tasks/get", "tasks/result"})
UNREADABLE: Final = (
    "incomplete_sse_event",
    "invalid_sse_json",
    "invalid_sse_jsonrpc",
    "sse_ignored_line",
    "message_not_utf8",
    "response_id_mismatch",
    "truncated_response",
)
"""What explains that a response was not found on its stream."""

CLOSE_GRACE_MS: Final = 5_000.0
"""How long after its response a stream may stay open."""


@rule(
    "stream_closed_without_response",
    level="warning",
    levels={R2026_07_28: "error"},
    party="server",
    layer="stream_routing",
    cites={**RECEIVING, R2026_07_28: "basic/patterns#request-and-response"},
    says="A request's stream carries its response before the server ends it.",
    fix="Send the response before the stream ends, or (2025-11-25) event ids and `retry`, so that clients poll.",
    exceptions=(
        "Only where the server ended the body properly: a connection that broke is `truncated_response`. Not where the "
        "client cancelled the request or deletes the session, nor where the session turns out to be over (404 next). "
        "2025-11-25: not once an event id was sent, for then the client polls. Streams of subscriptions/listen and of "
        "task requests have their own rules. An idle limit of a proxy can look like a proper end. 2026-07-28: an "
        "error, because nothing can deliver the response any more."
    ),
    evidence="The POST, its stream from the first byte to a proper end, and a sign of life of the session after it.",
    consequence_of=UNREADABLE,
)
def response_comes_before_the_end(fact: Ending | ResponseHead | CaptureEnd, conversation: Conversation) -> Verdicts:
    if isinstance(fact, Ending):
        yield from _answered_in_time(fact)
    for interruption in conversation.interruptions.settled:
        exchange = interruption.exchange
        if not _owes_response(interruption, conversation):
            continue
        if not exchange.is_whole:
            yield CannotTell("part of the stream was not captured or not read")
        elif conversation.may_have_lost_calls(exchange.session):
            yield FORGOTTEN
        elif conversation.unread_post is not None:
            yield CannotTell("a POST that was not captured may have cancelled the request")
        elif conversation.is_modern and not is_proven(conversation):
            yield UNPROVEN
        else:
            yield Violated(
                exchange.stream_path,
                "The server ended the stream without the response to its request.",
                exchange=exchange.id,
            )


def _owes_response(interruption: Interruption, conversation: Conversation) -> bool:
    exchange = interruption.exchange
    if exchange.head is None or not exchange.head.is_success or conversation.legacy_transport:
        return False
    if conversation.revision == R2025_11_25 and interruption.cursor is not None:
        return False
    methods = {call.method for call in interruption.waiting_calls}
    if conversation.revision == R2025_11_25:
        methods -= TASK_METHODS
    return bool(methods - {"subscriptions/listen"})


def _answered_in_time(ending: Ending) -> Verdicts:
    stream = ending.exchange.stream
    if stream is not None and stream.completed is not None and stream.completed.exchange is ending.exchange:
        yield SATISFIED


@rule(
    "stream_not_closed_after_response",
    level="warning",
    party="server",
    layer="stream_routing",
    version_neutral=True,
    cites=RECEIVING,
    says="A server ends a request's stream once the response is sent.",
    fix="End the stream right after the response.",
    exceptions=(
        "Up to five seconds are granted, and an end of the capture before that is not judged. Comments after the "
        "response are harmless, but the stream is still open. Messages about tasks may follow a response in "
        "2025-11-25. A resumed stream is judged like the stream that it resumes."
    ),
    evidence="The request and its response on one stream; then a further message, or times.",
    consequence_of=("progress_after_completion", "duplicate_response", "replay_from_other_stream"),
)
def stream_ends_with_its_response(fact: Message | Event | Ending, conversation: Conversation) -> Verdicts:
    exchange = fact.exchange
    completed = exchange.stream.completed if exchange.stream is not None else None
    if (
        completed is None
        or completed.exchange is not exchange
        or conversation.legacy_transport
        or _began_task(completed)
    ):
        return
    if isinstance(fact, Message):
        if fact is not completed and fact.event is not completed.event and not _is_about_task(fact):
            yield Violated(fact.path, "A message follows the final response on its stream.")
        return
    if isinstance(fact, Event):
        if not fact.block.complete or fact.messages:
            return
        now = fact.t_ms
    else:
        now = conversation.now_ms if fact.ended is Ended.OPEN else fact.t_ms
    yield from _open_for_too_long(fact, completed, now)


def _open_for_too_long(fact: Event | Ending, completed: Message, now: Milliseconds | None) -> Verdicts:
    assert completed.event is not None
    lasted = now - completed.t_ms if now is not None and completed.t_ms is not None else None
    stream = fact.exchange.stream
    assert stream is not None
    if lasted is not None and lasted >= CLOSE_GRACE_MS:
        if stream.found_left_open:
            return
        stream.found_left_open = True
        yield Violated(
            completed.path,
            f"The stream was still open {CLOSE_GRACE_MS / 1000:.0f} s after the final response.",
            about="left open",
        )
    elif not isinstance(fact, Ending):
        return
    elif fact.by_server and fact.ended is not Ended.SERVER_RESET:
        yield SATISFIED
    elif lasted is None or fact.ended is Ended.OPEN:
        yield CannotTell("the capture does not show for how long the stream stayed open")


def _began_task(response: Message) -> bool:
    return response.result is not None and isinstance(response.result.get("task"), dict)


def _is_about_task(message: Message) -> bool:
    result = message.result or {}
    meta = result.get("_meta")
    related = META_RELATED_TASK in message.meta or (isinstance(meta, dict) and META_RELATED_TASK in meta)
    return related or message.method == "notifications/tasks/status"


@rule(
    "missing_priming_event",
    level="warning",
    party="server",
    layer="stream_routing",
    revisions=(R2025_11_25,),
    cites=RECEIVING[R2025_11_25],
    says="A POST's stream begins with an event that has an id and empty data, so that the client can reconnect.",
    fix="Send `id: <cursor>` and an empty `data:` first.",
    exceptions=(
        "Not for GET streams. Comments and blocks without data may come before it, and an id on such a block serves "
        "the same end. A server may go by the version that the request names: initialize for another version and "
        "requests with another version header, or none, are not judged."
    ),
    evidence="The first event of the stream, and the version that the request names.",
)
def stream_begins_with_priming_event(event: Event, conversation: Conversation) -> Verdicts:
    exchange, block = event.exchange, event.block
    if not block.dispatched or exchange.dispatched != 1 or conversation.legacy_transport:
        return
    if exchange.request.method.upper() != "POST" or not exchange.request.carries_request:
        return
    if _version_named_by(exchange) != R2025_11_25 or exchange.head is None or exchange.head.status != 200:
        return
    if exchange.is_primed:
        yield SATISFIED
    else:
        yield Violated(event.path, "The stream does not begin with an event that has an id and empty data.")


def _version_named_by(exchange: Exchange) -> str | None:
    request = exchange.request
    if not request.is_initialize:
        return request.version_header
    asked = (message.params.get("protocolVersion") for message in request.messages if message.method == "initialize")
    version = next(asked, None)
    return version if isinstance(version, str) else None


@rule(
    "close_without_retry",
    level="warning",
    party="server",
    layer="stream_routing",
    revisions=(R2025_11_25,),
    cites=RECEIVING[R2025_11_25],
    says="A server that closes a connection before its stream is done tells clients by `retry` when to come back.",
    fix="Send `retry: <milliseconds>` before closing; with the priming event, say.",
    exceptions=(
        "Only a proper end by the server, after an event id: connections that broke are not deliberate. Not where the "
        "client cancelled the request or deletes the session. A `retry` given earlier on the same stream still holds. "
        "A GET stream may simply be ended: it is judged only once the client has resumed it."
    ),
    evidence="The whole stream and its proper end; for a GET also the GET that resumed it.",
    consequence_of=("invalid_sse_retry",),
)
def early_close_gives_retry(fact: Ending | ResponseHead | CaptureEnd, conversation: Conversation) -> Verdicts:
    closed = [one.exchange for one in conversation.interruptions.settled if one.waiting_calls]
    for exchange in (*closed, *_resumed_listening_stream(fact)):
        stream = exchange.stream
        if stream is None or stream.cursor is None or conversation.legacy_transport:
            continue
        if stream.retry_ms is not None:
            yield SATISFIED
        elif not exchange.is_whole:
            yield CannotTell("part of the stream was not captured or not read")
        else:
            yield Violated(
                exchange.stream_path,
                "The server closed a stream that goes on, and no `retry` told when to come back.",
                exchange=exchange.id,
            )


def _resumed_listening_stream(fact: Ending | ResponseHead | CaptureEnd) -> Iterator[Exchange]:
    """The part of a standalone GET stream that was ended by the server and is resumed by this answer."""
    if not isinstance(fact, ResponseHead) or not fact.exchange.is_event_stream or not fact.is_success:
        return
    stream = fact.exchange.stream
    if stream is None or not stream.is_standalone or len(stream.exchanges) < 2:
        return
    before = stream.exchanges[-2]
    if before.ending is not None and before.ending.ended is Ended.COMPLETE and before is not fact.exchange:
        yield before


@rule(
    "duplicate_event_id",
    level="error",
    party="server",
    layer="stream_routing",
    revisions=SESSION_REVISIONS,
    cites="basic/transports#resumability-and-redelivery",
    says="An event id is given to one event of a session only.",
    fix="Make ids unique over all streams of a session: a stream's own number and a counter, say.",
    exceptions=(
        "The same id with the same data is a redelivery, which is what ids are for; JSON may be written differently. "
        "Empty ids and ids with NUL are none. Without a session id only the events of one stream are compared, unless "
        "the whole capture is known to be one client's."
    ),
    evidence="Two complete events with data, in one session.",
)
def event_id_is_unique(event: Event, conversation: Conversation) -> Verdicts:
    block = event.block
    if not block.id or not block.dispatched or block.too_large or conversation.legacy_transport:
        return
    earlier = conversation.event_ids.earlier_than(event)
    if earlier is None or earlier.data_digest is None or earlier.data_digest == event.data_digest:
        yield SATISFIED
    elif event.exchange.session.may_be_shared and earlier.exchange is not event.exchange:
        yield CannotTell("without a session id several clients may share the capture")
    else:
        where = f"exchange {earlier.exchange.index}"
        yield Violated(event.path, f"The id of this event was given to another event before (in {where}).")


@rule(
    "x_accel_buffering_missing",
    level="warning",
    party="server",
    layer="response_framing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#receiving-messages"},
    says="An event stream asks proxies not to buffer it.",
    fix="Send `X-Accel-Buffering: no` with every event stream.",
    exceptions=(
        "nginx takes the header for itself: where the answer shows that an intermediary passed it on, nothing is said."
    ),
    evidence="The head of an event stream, a server that speaks 2026-07-28, and no trace of an intermediary.",
)
def stream_asks_not_to_be_buffered(ending: Ending, conversation: Conversation) -> Verdicts:
    head = ending.exchange.head
    if head is None or not ending.exchange.is_event_stream or not head.is_success:
        return
    if (head.headers.get("x-accel-buffering") or "").lower() == "no":
        yield SATISFIED
    elif names_gateway(head.headers):
        yield CannotTell("an intermediary may have taken the header")
    elif not is_proven(conversation):
        yield UNPROVEN
    else:
        yield Violated(head.headers_path, "The event stream has no `X-Accel-Buffering: no`.")
