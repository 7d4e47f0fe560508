"""Smaller utilities: pagination, ping and logging."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Ending, Message
from mcp_wire.conversation.log_levels import LOG_LEVELS
from mcp_wire.conversation.subscriptions import LISTEN
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.error_codes import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MODERN_CODES, PARSE_ERROR
from mcp_wire.protocol.meta_keys import META_LOG_LEVEL
from mcp_wire.protocol.methods import method_of
from mcp_wire.protocol.profiles import (
    MODERN_REVISIONS,
    R2025_03_26,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
    SESSION_REVISIONS,
)
from mcp_wire.rules.proven import once_proven
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.observation import Milliseconds

BOOK: Final = RuleBook("utilities")
rule = BOOK.rule

LOG_MESSAGE: Final = "notifications/message"
LEVEL_SETTLED_MS: Final = 1_000.0
"""Messages that come this soon after a change of level may have been on their way."""
# Said of the session, the version or the method, never of a cursor.
UNRELATED_ERRORS: Final = frozenset({METHOD_NOT_FOUND, INVALID_REQUEST, PARSE_ERROR, *MODERN_CODES})

CUT_BY_HAND: Final = CannotTell("members may have been removed from this transcript by hand")


@rule(
    "cursor_not_issued",
    level="error",
    party="client",
    layer="request_construction",
    rule_set="extended",
    cites="server/utilities/pagination#implementation-guidelines",
    says="A client sends only cursors that the server gave it for the same list.",
    fix="Pass nextCursor on unread and unchanged, and only within the session that it came from.",
    exceptions=(
        "The empty string is a cursor like any other. Up to 2025-11-25 cursors do not outlive their session, so its "
        "history suffices; from 2026-07-28 on they may, so the whole history of the endpoint is needed. An answer that "
        "was not seen may have given any cursor."
    ),
    evidence="Every answer to the same list request before, since the session (2026-07-28: the endpoint's use) began.",
)
def cursor_was_given(message: Message, conversation: Conversation) -> Verdicts:
    if message.sender != "client" or not message.is_request or conversation.legacy_transport:
        return
    provenance = conversation.pages.provenance(message)
    if provenance is None:
        return
    session = message.exchange.session
    is_whole = conversation.complete_from_start if conversation.is_modern else conversation.is_one_client(session)
    if provenance == "given":
        yield SATISFIED
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    elif provenance == "unknown" or not is_whole or conversation.unread_post is not None:
        yield CannotTell("the cursor may have been given in an answer that was not seen")
    else:
        cursor = Evidence("cursor", message.params.get("cursor"))
        yield Violated(message.path, f"The server never gave the cursor {{}} for {message.method}.", (cursor,))


@rule(
    "invalid_cursor_wrong_error",
    level="warning",
    party="server",
    layer="payload",
    rule_set="extended",
    cites="server/utilities/pagination#error-handling",
    says="A cursor that the server does not know is refused with -32602.",
    fix="Answer with -32602 (invalid params).",
    exceptions=(
        "A result is not judged, nor are errors about the message, its method, its version or its session, nor 401, "
        "403, 404, 429 and 5xx."
    ),
    evidence="As for `cursor_not_issued`, and the error.",
)
def unknown_cursor_is_refused_rightly(message: Message, conversation: Conversation) -> Verdicts:
    call = message.call
    if message.sender != "server" or not message.is_error or call is None or call.sender != "client":
        return
    if conversation.pages.provenance(call.request) != "never_given" or message.error_code in UNRELATED_ERRORS:
        return
    if conversation.legacy_transport:
        return
    head, session = message.exchange.head, call.request.exchange.session
    is_whole = conversation.complete_from_start if conversation.is_modern else conversation.is_one_client(session)
    if head is None or head.status not in (200, 400):
        return
    if message.error_code == INVALID_PARAMS:
        yield SATISFIED
    elif not is_whole or conversation.unread_post is not None or not conversation.payloads_whole:
        yield CannotTell("the cursor may have been given in an answer that was not seen")
    else:
        code = Evidence("code", message.error_code)
        yield Violated(message.path, "An unknown cursor was refused with {} instead of -32602.", (code,))


@rule(
    "ping_result_not_empty",
    level="error",
    party="either",
    layer="payload",
    revisions=SESSION_REVISIONS,
    cites="basic/utilities/ping#behavior-requirements",
    says="A ping is answered with an empty result.",
    fix="Answer `{}`.",
    exceptions=(
        "`_meta` may be there. Errors of a server that come with a refusing status, or that it may send because the "
        "session is over or not known (-32600, -32000 to -32099), are about something else. How fast the answer comes "
        "is not judged."
    ),
    evidence="The ping, and the whole answer.",
)
def ping_is_answered_empty(message: Message, conversation: Conversation) -> Verdicts:
    call = message.call
    if call is None or not message.is_response or call.method != "ping" or conversation.legacy_transport:
        return
    if message.sender == "client" and message.exchange.session.may_be_shared:
        yield CannotTell("without a session id the answer may be to another client's request")
    elif message.is_error:
        yield from _error_to_ping(message)
    elif message.result is not None:
        if set(message.result) <= {"_meta"}:
            yield SATISFIED
        else:
            yield Violated(
                message.path,
                f"The {message.sender} answered a ping with a result that is not empty.",
                party=message.sender,
            )


def _error_to_ping(message: Message) -> Verdicts:
    head, code = message.exchange.head, message.error_code
    if code is None:
        return
    if message.sender == "server" and (
        head is None
        or head.status != 200
        or message.exchange.session.is_terminated
        or code == INVALID_REQUEST
        or -32099 <= code <= -32000
    ):
        yield CannotTell("the error is about something else than the ping")
    else:
        yield Violated(
            message.path,
            f"The {message.sender} answered a ping with the error {code}.",
            party=message.sender,
            about=f"error of the {message.sender}",
        )


@rule(
    "log_not_requested",
    level="error",
    party="server",
    layer="stream_routing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "server/utilities/logging#per-request-log-level"},
    says="Log messages are sent only for a request that names a log level in its `_meta`.",
    fix=f"Send notifications/message only where the request has {META_LOG_LEVEL}.",
    exceptions=(
        "Only the request whose response stream it is counts; what others asked for does not. On a listen stream log "
        "messages are `request_scoped_on_listen`."
    ),
    evidence="The whole request, and the message.",
)
def logs_were_asked_for(fact: Message | Ending, conversation: Conversation) -> Verdicts:
    yield from once_proven(fact, Message, conversation, _log_message)


def _log_message(message: Message, conversation: Conversation) -> Verdicts:
    request = _request_of_log(message, conversation)
    if request is None:
        return
    if META_LOG_LEVEL in request.meta:
        yield SATISFIED
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    else:
        yield Violated(message.path, "A log message was sent for a request that names no log level.")


def _request_of_log(message: Message, conversation: Conversation) -> Message | None:
    """The request whose stream carries this log message; None for every other message, and on a listen stream."""
    if message.sender != "server" or message.method != LOG_MESSAGE or not message.is_notification:
        return None
    exchange = message.exchange
    if len(exchange.calls) != 1 or exchange.calls[0].method == LISTEN:
        return None
    request = exchange.calls[0].request
    return None if method_of(R2026_07_28, "client", request.method or "") is None else request


@rule(
    "log_below_requested_level",
    level="warning",
    party="server",
    layer="payload",
    rule_set="extended",
    cites={
        R2025_03_26: "server/utilities/logging#setting-log-level",
        R2025_06_18: "server/utilities/logging#setting-log-level",
        R2025_11_25: "server/utilities/logging#setting-log-level",
        R2026_07_28: "server/utilities/logging#per-request-log-level",
    },
    says="Log messages are at least as severe as the level that was asked for.",
    fix="Filter by the level, in the order of RFC 5424.",
    exceptions=(
        "Up to 2025-11-25 the level is the one of the latest answered logging/setLevel of the session, a second after "
        "its answer and while no other one is under way; without a session id, on a resumed stream, or where none was "
        "seen, nothing is judged. Levels that are no levels are not compared."
    ),
    evidence="The request (2026-07-28) or the logging/setLevel before it with its answer and times, and the message.",
)
def logs_are_severe_enough(fact: Message | Ending, conversation: Conversation) -> Verdicts:
    if conversation.is_modern:
        yield from once_proven(fact, Message, conversation, _log_of_request)
    elif isinstance(fact, Message) and fact.sender == "server" and fact.method == LOG_MESSAGE:
        yield from _log_of_session(fact, conversation)


def _log_of_request(message: Message, conversation: Conversation) -> Verdicts:
    request = _request_of_log(message, conversation)
    if request is not None and META_LOG_LEVEL in request.meta:
        yield from _compared(message, request.meta[META_LOG_LEVEL])


def _log_of_session(message: Message, conversation: Conversation) -> Verdicts:
    session = message.exchange.session
    level = conversation.log_levels.of(session)
    if level is None or conversation.legacy_transport:
        return
    elapsed = _between(level.since_ms, message.t_ms)
    if session.id is None or level.pending or message.exchange.request.last_event_id is not None:
        yield CannotTell("it is not known which level was in force")
    elif elapsed is None or elapsed < LEVEL_SETTLED_MS:
        yield CannotTell("the message may have been on its way when the level changed")
    else:
        yield from _compared(message, level.level)


def _between(earlier: Milliseconds | None, later: Milliseconds | None) -> Milliseconds | None:
    return None if earlier is None or later is None else later - earlier


def _compared(message: Message, asked: object) -> Verdicts:
    level = message.params.get("level")
    if asked not in LOG_LEVELS or level not in LOG_LEVELS:
        yield CannotTell("there is no level to compare")
    elif LOG_LEVELS.index(str(level)) >= LOG_LEVELS.index(str(asked)):
        yield SATISFIED
    else:
        yield Violated(message.path, f"A log message of level {level} was sent; at least {asked} was asked for.")
