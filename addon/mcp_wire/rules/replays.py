"""Requests that are sent again after their exchange broke (2025-11-25 basic/transports#resumability-and-redelivery)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Call, Exchange, Message, Request
from mcp_wire.conversation.interruptions import Interruption
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28, SESSION_REVISIONS
from mcp_wire.wire.observation import Milliseconds
from mcp_wire.wire.strict_json import canonical

BOOK: Final = RuleBook("recovery")
rule = BOOK.rule

RFC_9110: Final = "RFC 9110"
IDEMPOTENT_METHODS: Final = "https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2"

REPLAY_WINDOW_MS: Final = 60_000.0
"""A request that is sent again later than this after a cut is taken for a new intention."""
NEVER_PROCESSED: Final = frozenset({301, 302, 303, 307, 308, 401, 403, 405, 406, 413, 415, 421, 429, 431})
"""Answers which prove that the request was not acted upon. 503 is none: gateways send it after a reset, too."""
PERHAPS_ANSWERED: Final = CannotTell("the first response may stand in what was not captured or not read")


@rule(
    "post_replayed_same_id",
    level="error",
    levels={R2026_07_28: "info"},
    party="client",
    layer="request_construction",
    cites={
        R2025_03_26: "basic#requests",
        R2025_06_18: "basic#requests",
        R2025_11_25: "basic#requests",
        R2026_07_28: "changelog#major-changes",
    },
    says="A request that had no response is not sent again under the same id.",
    fix="Resume the stream, or decide that repeating is safe and send the request with a new id.",
    exceptions=(
        "Not where the first copy was provably never acted upon: a redirect, 401, 403, 405, 406, 413, 415, 421, 429, "
        "431, a 404 of its session, any 4xx with a JSON-RPC error, or HTTP/2 REFUSED_STREAM. Two copies that only the "
        "server's side of a proxy sees are `intermediary_replayed_post`. 2026-07-28 has no sessions, so that another "
        "client may have sent the first copy: info, and only within a minute of the cut."
    ),
    evidence="Both requests, in one session of one client; `_meta` is not compared.",
)
def request_is_not_replayed(message: Message, conversation: Conversation) -> Verdicts:
    call = message.call
    if call is None or not message.is_request or message.sender != "client" or message.method == "initialize":
        return
    earlier, session = call.earlier, message.exchange.session
    if conversation.interruptions.repeated_by(message) is not None and earlier is None:
        yield SATISFIED
    if conversation.legacy_transport or earlier is None or call.earlier_was_answered:
        return
    if not _is_same_request(message, earlier) or _was_never_processed(earlier.exchange):
        return
    if not conversation.is_modern:
        if session.may_be_shared or (session.id is None and not conversation.complete_from_start):
            yield CannotTell("without a session id another client may have sent the first copy")
        else:
            yield Violated(message.path, "A request without a response was sent again with the same id.")
        return
    interruption = conversation.interruptions.repeated_by(message)
    if interruption is None or interruption.exchange is not earlier.exchange or not _is_soon(interruption, message):
        yield CannotTell("this revision has no sessions, so another client may have sent the first copy")
    else:
        yield Violated(
            message.path,
            "A request that had been cut was sent again with the same id; whether by the same client is not visible.",
        )


def _is_same_request(one: Message, other: Message) -> bool:
    return one.method == other.method and _without_meta(one) == _without_meta(other)


def _without_meta(message: Message) -> str:
    return canonical({name: value for name, value in message.params.items() if name != "_meta"})


def _was_never_processed(exchange: Exchange) -> bool:
    head, ending = exchange.head, exchange.ending
    if ending is not None and ending.proves_unprocessed:
        return True
    if head is None:
        return False
    session_over = head.status == 404 and exchange.request.session_id is not None
    refused = 400 <= head.status < 500 and head.status != 408 and _has_error(exchange)
    return head.status in NEVER_PROCESSED or session_over or refused


def _has_error(exchange: Exchange) -> bool:
    return exchange.content is not None and any(message.is_error for message in exchange.content.messages)


def _is_soon(interruption: Interruption, message: Message) -> bool:
    elapsed = _elapsed(interruption, message)
    return elapsed is not None and elapsed <= REPLAY_WINDOW_MS


def _elapsed(interruption: Interruption, message: Message) -> Milliseconds | None:
    if interruption.t_ms is None or message.t_ms is None:
        return None
    return message.t_ms - interruption.t_ms


@rule(
    "blind_post_replay",
    level="warning",
    party="client",
    layer="request_construction",
    revisions=SESSION_REVISIONS,
    cites="basic/transports#resumability-and-redelivery",
    says="A request whose stream broke after an event id is resumed with GET, not sent again.",
    fix="GET the endpoint with Last-Event-ID; do not send the POST again.",
    exceptions=(
        "Only tools/call, prompts/get, resources/read and completion/complete with the same params, within a minute of "
        "the cut. Not where a GET named an event of the stream first, the server answers GET with 405, the session is "
        "over, the first request was cancelled, or the client itself had closed the stream."
    ),
    evidence="An event id on the broken stream, both requests in one session, and times.",
)
def broken_stream_is_resumed(fact: Message | Request, conversation: Conversation) -> Verdicts:
    if isinstance(fact, Message):
        yield from _repeated_request(fact, conversation)
        return
    stream = fact.exchange.stream
    if stream is not None and not stream.is_standalone and any(call.is_in_flight for call in stream.origin.calls):
        yield SATISFIED


def _repeated_request(message: Message, conversation: Conversation) -> Verdicts:
    interruption = conversation.interruptions.repeated_by(message)
    if interruption is None or interruption.cursor is None or interruption.resumed or conversation.legacy_transport:
        return
    exchange, session = interruption.exchange, message.exchange.session
    ending, call = exchange.ending, message.call
    if ending is None or ending.by_client or session.is_terminated or session.get_not_allowed is not None:
        return
    if call is None or _has_the_same_id(call, interruption):
        return
    elapsed = _elapsed(interruption, message)
    if not exchange.is_whole:
        yield PERHAPS_ANSWERED
    elif elapsed is None:
        yield CannotTell("no times show how soon the request was sent again")
    elif session.may_be_shared:
        yield CannotTell("without a session id another client may have sent the first request")
    elif elapsed <= REPLAY_WINDOW_MS:
        yield Violated(
            message.path,
            f"The request was sent again {elapsed / 1000:.1f} s after its stream broke, which could have been resumed.",
        )


def _has_the_same_id(call: Call, interruption: Interruption) -> bool:
    key = call.request.envelope.id_key
    return any(waiting.request.envelope.id_key == key for waiting in interruption.exchange.calls)


@rule(
    "reissue_may_duplicate_effect",
    level="info",
    party="client",
    layer="request_construction",
    cites={
        RFC_9110: IDEMPOTENT_METHODS,
        R2026_07_28: "basic/transports/streamable-http#cancellation",
    },
    says="A tool call that was cut is sent again only once it is known that repeating it does no harm.",
    fix="Find out what became of the first call, or whether the tool is idempotent, before calling again.",
    exceptions=(
        "Advice. Not where the operator vouches for the exchange (`idempotent`), or where the tool was listed with "
        "readOnlyHint or idempotentHint (which are hints of the server, no proof). A reset, a timeout or a close never "
        "proves that nothing was done, not even in 2026-07-28, where closing the stream cancels the request."
    ),
    evidence="The call that was cut, and the same call with a new id from what may be the same client.",
    consequence_of=("blind_post_replay",),
)
def repeating_is_known_to_be_safe(message: Message, conversation: Conversation) -> Verdicts:
    interruption = conversation.interruptions.repeated_by(message)
    if interruption is None or message.method != "tools/call" or message.call is None:
        return
    if _has_the_same_id(message.call, interruption) or _was_never_processed(interruption.exchange):
        return
    is_repeatable = conversation.tool_hints.is_repeatable(message.params.get("name"))
    if interruption.exchange.idempotent or is_repeatable:
        yield SATISFIED
    elif is_repeatable is None:
        yield CannotTell("what the server said of the tool is forgotten")
    elif not interruption.exchange.is_whole:
        yield PERHAPS_ANSWERED
    else:
        yield Violated(
            message.path,
            f"The tool call of exchange {interruption.exchange.index} was cut and is made again; it may take effect "
            "twice.",
        )
