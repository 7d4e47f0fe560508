"""Which message belongs on which stream (transports#multiple-connections, #listening-for-messages-from-the-server)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.deliveries import Delivery
from mcp_wire.conversation.facts import CaptureEnd, Ending, Exchange, Message
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.methods import LISTEN_FILTERS
from mcp_wire.protocol.profiles import (
    MODERN_REVISIONS,
    R2025_03_26,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
    SESSION_REVISIONS,
)
from mcp_wire.rules.clauses import LISTENING, RECEIVING, RESUMING
from mcp_wire.rules.proven import once_proven
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.observation import Milliseconds

BOOK: Final = RuleBook("stream")
rule = BOOK.rule


BROADCAST_MS: Final = 1_000.0
"""Equal notifications on two listening streams within this time look like one that was broadcast."""
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
ONLY_ON_LISTEN: Final = frozenset({*LISTEN_FILTERS, ACKNOWLEDGED})
CLIENTS_UNKNOWN: Final = CannotTell("without a session id several clients may share the capture")


@rule(
    "cross_stream_duplicate",
    level="error",
    party="server",
    layer="stream_routing",
    cites={
        R2025_03_26: "basic/transports#multiple-connections",
        R2025_06_18: "basic/transports#multiple-connections",
        R2025_11_25: "basic/transports#multiple-connections",
        R2026_07_28: "basic/transports/streamable-http#receiving-messages",
    },
    says="Each message is sent on exactly one of several concurrent streams.",
    fix="Choose one stream for each message; never broadcast.",
    exceptions=(
        "Concurrent means: overlapping streams of one session (or of one operator-asserted concurrent_group). "
        "Redelivery on the stream that resumes the other is legal. Without an id two equal notifications may be two "
        "real events: a warning where the operator groups the streams or where two listening streams carry them within "
        "a second, else info. 2026-07-28 has no clause against broadcasting: only grouped streams are judged there."
    ),
    evidence="Two streams of one session that were open at the same time.",
    consequence_of=("replay_from_other_stream",),
)
def message_is_on_one_stream(message: Message, conversation: Conversation) -> Verdicts:
    if message.sender != "server" or message.event is None or conversation.legacy_transport:
        return
    twin = conversation.delivered.twin_of(message)
    if twin is None:
        yield SATISFIED
        return
    where = f"event {twin.event_index} of exchange {twin.exchange_index}"
    if message.envelope.id_present:
        yield Violated(message.path, f"The same message was sent on another concurrent stream ({where}).")
    else:
        yield Violated(
            message.path,
            f"An equal notification was sent on another concurrent stream ({where}); whether it is the same one "
            "must be checked by hand.",
            level="warning" if _looks_broadcast(message, twin) else "info",
        )


def _looks_broadcast(message: Message, twin: Delivery) -> bool:
    if twin.exchange.concurrent_group is not None:
        return True
    if not twin.stream.is_standalone or message.exchange.stream is None or not message.exchange.stream.is_standalone:
        return False
    return message.t_ms is None or twin.t_ms is None or message.t_ms - twin.t_ms <= BROADCAST_MS


@rule(
    "response_on_get_stream",
    level="error",
    party="server",
    layer="stream_routing",
    revisions=SESSION_REVISIONS,
    cites=LISTENING,
    says="Responses are not sent on a stream that a GET opened, unless it resumes the stream of a request.",
    fix="Send each response on the stream of its own request.",
    exceptions=(
        "A GET with Last-Event-ID may carry them where the event belongs to the stream of a POST. Streams of the "
        "2024-11-05 transport carry responses by design."
    ),
    evidence="The request head of the GET; with Last-Event-ID also the stream on which that event was seen.",
    consequence_of=("replay_from_other_stream",),
)
def no_response_on_listening_stream(message: Message, conversation: Conversation) -> Verdicts:
    exchange = message.exchange
    if message.event is None or exchange.request.method.upper() != "GET" or conversation.legacy_transport:
        return
    if exchange.request.last_event_id is None:
        if message.is_response:
            yield Violated(message.path, "A response came on a GET stream that resumes nothing.")
        else:
            yield SATISFIED
    elif message.is_response and exchange.stream is not None:
        if exchange.stream.origin is exchange:
            yield CannotTell("the stream that the GET resumes was not seen")
        elif exchange.stream.is_standalone:
            yield Violated(message.path, "A response came on a GET stream that resumes no stream of a request.")
        else:
            yield SATISFIED


@rule(
    "response_on_wrong_stream",
    level="warning",
    levels={R2026_07_28: "error"},
    party="server",
    layer="stream_routing",
    cites=RECEIVING,
    says="A response is sent on the stream of the request that it answers.",
    fix="Route each response to the stream of its own request.",
    exceptions=(
        "Up to 2025-11-25 messages on a POST's stream only SHOULD relate to it: a warning. From 2026-07-28 on a stream "
        "belongs to its request (derived from the text, which has no MUST NOT of its own): an error. An id that no "
        "request had is `response_id_mismatch`, a second answer `duplicate_response`, a foreign response on a "
        "resumed stream `replay_from_other_stream`."
    ),
    evidence="Both requests, in one session of one client.",
    consequence_of=("message_for_cancelled_request",),
)
def response_is_on_its_own_stream(message: Message, conversation: Conversation) -> Verdicts:
    call, exchange = message.call, message.exchange
    if not message.is_response or message.event is None or exchange.request.method.upper() != "POST":
        return
    if call is None or call.sender != "client" or conversation.legacy_transport:
        return
    if call in exchange.calls:
        yield SATISFIED
    elif not exchange.calls or call.responses[0] is not message:
        return
    elif exchange.session.may_be_shared and not conversation.is_modern:
        yield CLIENTS_UNKNOWN
    else:
        asker = call.request.exchange.index
        yield Violated(message.path, f"The response belongs to the request of exchange {asker}, not to this stream.")


@rule(
    "unrelated_message_on_stream",
    level="warning",
    levels={R2026_07_28: "error"},
    party="server",
    layer="stream_routing",
    cites={
        R2025_03_26: LISTENING,
        R2025_06_18: LISTENING,
        R2025_11_25: LISTENING,
        R2026_07_28: "basic/transports/streamable-http#receiving-messages",
    },
    says="Messages about a request are sent on the stream of that request.",
    fix="Send what belongs to a request on its stream, and change notifications on a subscriptions/listen stream.",
    exceptions=(
        "Only progress tokens, and in 2026-07-28 the kinds of change notifications, prove where a message belongs; "
        "logs and server requests are not judged. A resumed stream has the tokens of the stream that it resumes. "
        "Progress of a task may come on any stream. A SHOULD up to 2025-11-25, a MUST from 2026-07-28 on."
    ),
    evidence="The request with the token, still unanswered, in one session of one client.",
    consequence_of=("replay_from_other_stream", "request_scoped_on_listen", "message_for_cancelled_request"),
)
def message_relates_to_its_stream(fact: Message | Ending, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    if conversation.is_modern:
        yield from once_proven(fact, Message, conversation, _modern_relation)
    elif isinstance(fact, Message):
        yield from _progress_relation(fact, conversation)


def _modern_relation(message: Message, conversation: Conversation) -> Verdicts:
    exchange = message.exchange
    if message.sender != "server" or message.event is None or not exchange.calls:
        return
    listens = any(call.method == "subscriptions/listen" for call in exchange.calls)
    if message.method in ONLY_ON_LISTEN and not listens:
        method = Evidence("method", message.method)
        yield Violated(message.path, "{} came on the stream of another request than subscriptions/listen.", (method,))
    else:
        yield from _progress_relation(message, conversation)


def _progress_relation(message: Message, conversation: Conversation) -> Verdicts:
    seen = conversation.progress.seen(message)
    if seen is None or message.sender != "server" or message.event is None:
        return
    call, exchange = seen.call, message.exchange
    if seen.on_own_stream:
        yield SATISFIED
    elif not call.is_in_flight or "task" in call.request.params or _resumes_unseen(exchange):
        return
    elif conversation.is_modern and not conversation.payloads_whole:
        yield CannotTell("the request of this stream may have had the token")
    elif exchange.session.may_be_shared and not conversation.is_modern:
        yield CLIENTS_UNKNOWN
    else:
        asker = call.request.exchange.index
        yield Violated(message.path, f"Progress of the request of exchange {asker} came on another stream.")


def _resumes_unseen(exchange: Exchange) -> bool:
    return exchange.request.last_event_id is not None and (
        exchange.stream is None or exchange.stream.origin is exchange
    )


@rule(
    "server_request_removed",
    level="error",
    party="server",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#receiving-messages"},
    says="A 2026-07-28 server sends no JSON-RPC requests.",
    fix="Answer with a result of type input_required, and let the client retry with the input.",
    exceptions="What `inputRequests` holds has no JSON-RPC envelope and is fine.",
    evidence="A complete event, the revision in force, and that the server speaks it.",
)
def server_sends_no_request(fact: Message | Ending, conversation: Conversation) -> Verdicts:
    yield from once_proven(fact, Message, conversation, _no_request)


def _no_request(message: Message, _conversation: Conversation) -> Verdicts:
    if message.sender != "server" or message.event is None:
        return
    if message.is_request:
        method = Evidence("method", message.method)
        yield Violated(message.path, "The server sent the request {} on a 2026-07-28 stream.", (method,))
    else:
        yield SATISFIED


@rule(
    "replay_from_other_stream",
    level="error",
    party="server",
    layer="stream_routing",
    revisions=SESSION_REVISIONS,
    cites=RESUMING,
    says="A resumed stream replays the messages of the stream that broke, and of no other.",
    fix="Keep one replay buffer for each stream, and find it by the event id.",
    exceptions=(
        "Standalone GET streams of one session count as one. Progress and logs are judged only by their event ids."
    ),
    evidence="The stream on which the event, or the request that the response answers, was seen before.",
)
def replay_is_of_one_stream(message: Message, conversation: Conversation) -> Verdicts:
    exchange = message.exchange
    stream = exchange.stream
    if message.event is None or exchange.request.last_event_id is None or conversation.legacy_transport:
        return
    if stream is None or stream.origin is exchange:
        return
    owner = conversation.event_ids.earlier_than(message.event)
    call = message.call if message.is_response else None
    if owner is not None and owner.stream is not stream and not (owner.stream.is_standalone and stream.is_standalone):
        foreign: Exchange | None = owner.exchange
    elif call is not None and call not in stream.origin.calls and not stream.is_standalone:
        if exchange.session.may_be_shared:
            yield CLIENTS_UNKNOWN
            return
        foreign = call.request.exchange
    else:
        foreign = None
    if foreign is None:
        yield SATISFIED
    else:
        yield Violated(message.path, f"The resumed stream carries a message of the stream of exchange {foreign.index}.")


@rule(
    "message_for_cancelled_request",
    level="error",
    party="server",
    layer="stream_routing",
    revisions=MODERN_REVISIONS,
    rule_set="extended",
    cites={R2026_07_28: "basic/transports/streamable-http#cancellation"},
    says="After a client closed the stream of a request, no message about it follows on another stream.",
    fix="Take the closing of the stream as the cancellation of its request: stop, and send nothing more about it.",
    exceptions=(
        "What was on its way on the closed stream is not seen. Where the id or the token is used again by a newer "
        "request, the message is that one's."
    ),
    evidence="The stream's end by its client before the response, and a later message on another stream.",
)
def nothing_follows_a_closed_stream(fact: Message | CaptureEnd, conversation: Conversation) -> Verdicts:
    if isinstance(fact, Message):
        yield from _message_about_another_request(fact, conversation)
    elif conversation.interruptions.any_left_by_client:
        yield SATISFIED


def _message_about_another_request(message: Message, conversation: Conversation) -> Verdicts:
    if message.sender != "server" or message.event is None:
        return
    seen = conversation.progress.seen(message)
    call = seen.call if seen is not None else message.call if message.is_response else None
    if call is None or call.sender != "client" or call in message.exchange.calls:
        return
    ending = call.request.exchange.ending
    if ending is not None and ending.by_client and all(response is message for response in call.responses):
        after = _since(ending.t_ms, message.t_ms)
        yield Violated(message.path, f"A message about a request came{after} its client had closed the stream.")


def _since(earlier: Milliseconds | None, later: Milliseconds | None) -> str:
    return " after" if earlier is None or later is None else f" {later - earlier:.0f} ms after"
