"""The order of `initialize`, its answer and `notifications/initialized` (2025-03-26 to 2025-11-25 basic/lifecycle)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import CaptureEnd, Message, Request, Session
from mcp_wire.conversation.handshake import IN_FLIGHT_GRACE_MS, is_ordinary_request
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.methods import method_of
from mcp_wire.protocol.profiles import R2025_03_26, R2025_06_18, R2025_11_25, SESSION_REVISIONS
from mcp_wire.rules.reasons import CLIENTS_UNKNOWN
from mcp_wire.wire.evidence import Evidence

BOOK: Final = RuleBook("lifecycle")
rule = BOOK.rule

CLOCK_TOLERANCE_MS: Final = 50.0
CROSSING_MS: Final = 200.0
MAX_EVIDENCE_AGE_MS: Final = 5 * 60 * 1000.0


@rule(
    "initialize_not_first",
    level="error",
    party="client",
    layer="lifecycle",
    revisions=SESSION_REVISIONS,
    cites="basic/lifecycle#initialization",
    says="initialize is the first request of a client.",
    fix="Send initialize first, also to a server that keeps no sessions.",
    exceptions=(
        "Pings may go before. Only where the capture saw the conversation begin: who joins midway, or goes on with a "
        "stored session id, looks the same. A request that names a version in `_meta` follows 2026-07-28."
    ),
    evidence="A capture that is complete from the start.",
)
def initialize_comes_first(message: Message, conversation: Conversation) -> Verdicts:
    if message.sender != "client" or not message.is_request or conversation.legacy_transport:
        return
    request = message.exchange.request
    if conversation.first_initialize is not None:
        if conversation.first_initialize is message.exchange and conversation.complete_from_start:
            yield SATISFIED
    elif not is_ordinary_request(message):
        return
    elif not conversation.complete_from_start or request.session_id is not None or conversation.unread_post is not None:
        yield CannotTell("the client may have initialized before the capture began")
    else:
        shown, evidence = _method(message, conversation)
        yield Violated(request.body_path, f"{shown} was sent before any initialize.", evidence)


def _method(message: Message, conversation: Conversation) -> tuple[str, tuple[Evidence, ...]]:
    """The method of a message for a text: as it is where the specification has it, else a place for the evidence."""
    method = message.method or ""
    if method_of(conversation.revision or "", message.sender, method) is not None:
        return method, ()
    return "{}", (Evidence("method", method),)


@rule(
    "request_before_initialize_response",
    level="warning",
    party="client",
    layer="lifecycle",
    revisions=SESSION_REVISIONS,
    cites="basic/lifecycle#initialization",
    says="A client sends no requests, pings apart, before its initialize is answered.",
    fix="Wait for the InitializeResult.",
    exceptions=(
        "Notifications are no requests. Up to 50 ms before the answer are forgiven: the two then crossed. Not judged "
        "where initialize is never answered, where times are unknown, or where several clients may share the "
        "conversation."
    ),
    evidence="The initialize exchange and the times of request and answer.",
)
def requests_wait_for_initialize(message: Message, conversation: Conversation) -> Verdicts:
    session = message.exchange.session
    if message is not session.initialize_answered or message.sender != "server" or conversation.legacy_transport:
        return
    if not session.early_requests:
        yield SATISFIED
    elif not conversation.is_one_client(session):
        yield CLIENTS_UNKNOWN
    for early in session.early_requests if conversation.is_one_client(session) else ():
        if early.t_ms is None or message.t_ms is None:
            yield CannotTell("the times of the request and of the answer to initialize are unknown")
        elif message.t_ms - early.t_ms > CLOCK_TOLERANCE_MS:
            shown, evidence = _method(early, conversation)
            waited = f"{message.t_ms - early.t_ms:.0f} ms"
            yield Violated(
                early.exchange.request.body_path,
                f"{shown} was sent {waited} before initialize was answered.",
                evidence,
                exchange=early.exchange.id,
            )
        else:
            yield SATISFIED


@rule(
    "missing_initialized",
    level="error",
    party="client",
    layer="lifecycle",
    revisions=SESSION_REVISIONS,
    cites="basic/lifecycle#initialization",
    says="After the InitializeResult a client sends notifications/initialized before its next request.",
    fix="POST notifications/initialized right after the InitializeResult.",
    exceptions=(
        "Pings may go before. The notification may arrive up to a second after the request: two POSTs can cross. A "
        "client that initializes and leaves is not judged, nor one whose conversation others may share. Whether the "
        "server accepted the notification does not matter, and one that wrongly carries an id counts."
    ),
    evidence=(
        "The session from its initialize on, and more than a second after the request (or the end of a capture without "
        "times)."
    ),
)
def client_says_that_it_is_initialized(fact: Message | CaptureEnd, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    if isinstance(fact, Message):
        session = fact.exchange.session
        if fact is session.overdue:
            yield from _not_initialized(session, conversation)
        elif fact is session.initialized and session.overdue is None and session.initialize_answered is not None:
            timeless = session.unready_request is not None and fact.t_ms is None
            yield CannotTell("the order of the request and the notification is unknown") if timeless else SATISFIED
        return
    for session in (conversation.sessionless, *conversation.sessions.values()):
        unready = session.unready_request
        if unready is None or session.initialized is not None or session.overdue is not None:
            continue
        if unready.t_ms is None or fact.t_ms is None or fact.t_ms - unready.t_ms > IN_FLIGHT_GRACE_MS:
            yield from _not_initialized(session, conversation)
        else:
            yield CannotTell("the capture ended before the notification was due")


def _not_initialized(session: Session, conversation: Conversation) -> Verdicts:
    assert session.unready_request is not None
    if not conversation.is_one_client(session):
        yield CLIENTS_UNKNOWN
        return
    if conversation.unread_post is not None:
        yield CannotTell("a POST whose body was not captured may have been the notification")
        return
    shown, evidence = _method(session.unready_request, conversation)
    exchange = session.unready_request.exchange
    yield Violated(
        exchange.request.body_path,
        f"{shown} was sent after initialize, and notifications/initialized was not.",
        evidence,
        exchange=exchange.id,
    )


@rule(
    "server_request_before_initialized",
    level="warning",
    party="server",
    layer="lifecycle",
    revisions=SESSION_REVISIONS,
    cites="basic/lifecycle#initialization",
    says="A server sends no requests, pings apart, before notifications/initialized.",
    fix="Hold requests back until the client says that it is initialized.",
    exceptions=(
        "Notifications are no requests. Up to 200 ms before the notification are forgiven: the two then crossed. Where "
        "the client never sends it, `missing_initialized` speaks."
    ),
    evidence="The session from its initialize on, and the times of request and notification.",
    rule_set="extended",
)
def server_waits_for_initialized(message: Message, conversation: Conversation) -> Verdicts:
    session = message.exchange.session
    if message is not session.initialized or session.initialize is None or conversation.legacy_transport:
        return
    if not session.early_server_requests:
        yield SATISFIED
    for early in session.early_server_requests:
        if not conversation.is_one_client(session):
            yield CLIENTS_UNKNOWN
        elif early.t_ms is None or message.t_ms is None:
            yield CannotTell("the times of the request and of the notification are unknown")
        elif message.t_ms - early.t_ms > CROSSING_MS:
            shown, evidence = _method(early, conversation)
            yield Violated(
                early.path,
                f"{shown} was sent {message.t_ms - early.t_ms:.0f} ms before notifications/initialized.",
                evidence,
                exchange=early.exchange.id,
            )
        else:
            yield SATISFIED


@rule(
    "version_not_echoed",
    level="error",
    party="server",
    layer="lifecycle",
    revisions=SESSION_REVISIONS,
    cites="basic/lifecycle#version-negotiation",
    says="A server that supports the requested version answers initialize with it.",
    fix="Answer with the requested version where it is supported.",
    exceptions=(
        "Only with proof that the server supports it: the same version in another InitializeResult, or in its own list "
        "of versions, less than five minutes before in the same capture. Tenants, or instances behind one address, may "
        "differ all the same."
    ),
    evidence="The initialize, its result, and an earlier answer that names the version.",
    rule_set="extended",
)
def supported_version_is_echoed(message: Message, conversation: Conversation) -> Verdicts:
    call = message.call
    if message.sender != "server" or message.result is None or call is None or call.method != "initialize":
        return
    if conversation.legacy_transport:
        return
    requested, answered = call.request.params.get("protocolVersion"), message.result.get("protocolVersion")
    if not isinstance(requested, str) or not isinstance(answered, str):
        return
    if requested == answered:
        yield SATISFIED
        return
    seen = conversation.era.proof_of(requested)
    if seen is None:
        return
    if seen.t_ms is None or message.t_ms is None or message.t_ms - seen.t_ms > MAX_EVIDENCE_AGE_MS:
        yield CannotTell("the proof that the version is supported is too old, or of unknown age")
    else:
        yield Violated(
            message.path,
            "{} was requested, which this server has used before, and {} was answered.",
            (Evidence("version", requested), Evidence("version", answered)),
        )


@rule(
    "initialize_cancelled",
    level="error",
    party="client",
    layer="lifecycle",
    revisions=SESSION_REVISIONS,
    cites={
        R2025_03_26: "basic/utilities/cancellation#behavior-requirements",
        R2025_06_18: "basic/utilities/cancellation#behavior-requirements",
        R2025_11_25: "basic/utilities/cancellation#behavior-requirements",
    },
    says="A client does not cancel its initialize.",
    fix="Drop the connection instead.",
    exceptions="Ids are compared with their type, within one session.",
    evidence="The initialize and the notification of the same client.",
    rule_set="extended",
)
def initialize_is_not_cancelled(message: Message, conversation: Conversation) -> Verdicts:
    if message.sender != "client" or message.method != "notifications/cancelled" or not message.is_notification:
        return
    call = conversation.cancelled_call(message)
    if call is None or conversation.legacy_transport:
        return
    if call.method != "initialize":
        yield SATISFIED
    elif not conversation.is_one_client(message.exchange.session):
        yield CLIENTS_UNKNOWN
    else:
        yield Violated(message.path, "The client cancels its initialize request.")


@rule(
    "initialize_with_session_id",
    level="error",
    party="client",
    layer="session",
    revisions=SESSION_REVISIONS,
    cites="basic/transports#session-management",
    says="A client whose session was answered 404 starts anew without its id.",
    fix="Forget the stored id before initialize.",
    exceptions=(
        "Without a 404 before, the text does not forbid it: a note. The usual cause is an HTTP client that puts the "
        "header on every request."
    ),
    evidence="The request head, and a 404 to an earlier request with the same id.",
)
def initialize_carries_no_session(request: Request, conversation: Conversation) -> Verdicts:
    if not request.is_initialize or conversation.legacy_transport:
        return
    if request.session_id is None:
        yield SATISFIED
        return
    known = conversation.sessions.get(request.session_id)
    if known is not None and known.refused is not None:
        yield Violated(request.headers_path, "The initialize carries the id of a session that was answered 404 before.")
    else:
        yield Violated(
            request.headers_path, "The initialize carries a session id; a new session has none yet.", level="info"
        )
