"""Reconnection, resumption and replay (transports#resumability-and-redelivery)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Request
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import (
    MODERN_REVISIONS,
    R2025_03_26,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
    SESSION_REVISIONS,
)
from mcp_wire.rules.clauses import RESUMING
from mcp_wire.wire.observation import Ended

BOOK: Final = RuleBook("recovery")
rule = BOOK.rule

POLLING: Final = "basic/transports#sending-messages-to-the-server"

CLOCK_TOLERANCE_MS: Final = 50.0


@rule(
    "invalid_resume_method",
    level="error",
    levels={R2025_03_26: "warning", R2025_06_18: "warning"},
    party="client",
    layer="request_construction",
    revisions=SESSION_REVISIONS,
    cites=RESUMING,
    says="A stream is resumed with GET and Last-Event-ID.",
    fix="GET the endpoint with Last-Event-ID; do not send the POST again.",
    exceptions="2025-03-26 and 2025-06-18 only say SHOULD: a warning there.",
    evidence="The request head.",
)
def resumption_is_by_get(request: Request, _conversation: Conversation) -> Verdicts:
    if "last-event-id" not in request.headers:
        return
    if request.method.upper() == "GET":
        yield SATISFIED
    elif request.method.upper() in ("POST", "DELETE"):
        yield Violated(
            request.method_path,
            f"Last-Event-ID was sent with {request.method.upper()}; a stream is resumed with GET.",
        )


@rule(
    "resumability_removed",
    level="error",
    party="client",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "changelog#major-changes"},
    says="Streams of 2026-07-28 cannot be resumed, so Last-Event-ID is not sent.",
    fix="Send the request again as a new one with a new id, if repeating it is safe; drop Last-Event-ID.",
    exceptions="The released text asks servers to ignore it. EventSource stacks add it after any event with an id.",
    evidence="The request head and the revision in force.",
)
def no_last_event_id(request: Request, _conversation: Conversation) -> Verdicts:
    if "last-event-id" in request.headers:
        yield Violated(
            request.headers_path,
            "Last-Event-ID was sent under 2026-07-28, which removed resumption; the released text tells the server to "
            "ignore it.",
        )
    else:
        yield SATISFIED


@rule(
    "retry_delay_not_respected",
    level="error",
    party="client",
    layer="stream_routing",
    revisions=(R2025_11_25,),
    cites=POLLING,
    says="After the server closed a connection, a client waits as long as `retry` says before it reconnects.",
    fix="Wait the milliseconds of the latest `retry` from the close on, then send the GET.",
    exceptions=(
        "Only where the server ended the body properly: a connection that broke, or that the client closed, is no "
        "request to wait. Waiting longer is fine, and so is a GET for another stream. A stream that was done (its "
        "response had come) is not judged. 50 ms are granted. At a proxy the wait can only look longer than it was."
    ),
    evidence="The `retry`, the time of the close, and the time of the GET with an event id of that stream.",
)
def client_waits_for_retry(request: Request, conversation: Conversation) -> Verdicts:
    stream = request.exchange.stream
    if request.method.upper() != "GET" or stream is None or stream.retry_ms is None or conversation.legacy_transport:
        return
    ending = stream.current.ending
    if ending is None or stream.completed is not None:
        return
    if ending.ended is not Ended.COMPLETE:
        if not ending.by_client:
            yield CannotTell("it is not known that the server closed the connection on purpose")
    elif ending.t_ms is None or request.t_ms is None:
        yield CannotTell("the times of the close and of the reconnection are not both known")
    elif request.t_ms - ending.t_ms >= stream.retry_ms - CLOCK_TOLERANCE_MS:
        yield SATISFIED
    else:
        yield Violated(
            request.headers_path,
            f"The client reconnected {request.t_ms - ending.t_ms:.0f} ms after the close; `retry` asked for "
            f"{stream.retry_ms} ms.",
        )


@rule(
    "last_event_id_never_issued",
    level="warning",
    party="client",
    layer="stream_routing",
    revisions=SESSION_REVISIONS,
    cites=RESUMING,
    says="Last-Event-ID is the id of the last event that the client received.",
    fix="Keep the id of the last complete event of the interrupted stream, and send that.",
    exceptions=(
        "Ids of events that were cut off, and ids with NUL, were never received as ids. A client that was started "
        "again may have kept an id from before the capture: the whole session must have been seen."
    ),
    evidence="The session from its initialize on, without gaps, and the request head.",
)
def cursor_was_issued(request: Request, conversation: Conversation) -> Verdicts:
    session, cursor = request.exchange.session, request.last_event_id
    if request.method.upper() != "GET" or not cursor or conversation.legacy_transport:
        return
    ids = conversation.event_ids
    if ids.given(session, cursor) is not None:
        yield SATISFIED
    elif not conversation.complete_from_start or not session.from_start or session.may_be_shared:
        yield CannotTell("events before the capture may have had the id")
    elif conversation.has_unread_streams or ids.forgotten_any:
        yield CannotTell("some events were not captured, or are forgotten")
    elif ids.was_given_to_another(session, cursor):
        yield Violated(request.headers_path, "Last-Event-ID is the id of an event of another session.")
    else:
        yield Violated(request.headers_path, "No event of this session had the id that Last-Event-ID names.")


@rule(
    "poll_not_resumed",
    level="warning",
    party="client",
    layer="stream_routing",
    revisions=(R2025_11_25,),
    cites=POLLING,
    says="A client comes back for a stream that the server closed before the response.",
    fix="After `retry` milliseconds, GET the endpoint with Last-Event-ID.",
    exceptions=(
        "Judged once the same session is active after ten times `retry`, and not before 30 s. Nothing is owed once "
        "the response came, the request was cancelled, the session is over, or the server answers GET with 405. "
        "Sending the request again instead is `blind_post_replay`. Whoever waited may have lost interest: a warning."
    ),
    evidence="A proper end after an event id and before the response, and a later request of the session, with times.",
)
def polled_stream_is_resumed(request: Request, conversation: Conversation) -> Verdicts:
    stream = request.exchange.stream
    if request.method.upper() == "GET" and stream is not None and not stream.is_standalone:
        yield SATISFIED
    for interruption in conversation.interruptions.overdue:
        exchange = interruption.exchange
        session = exchange.session
        if session.is_terminated or session.get_not_allowed is not None or conversation.legacy_transport:
            continue
        if not exchange.is_whole:
            yield CannotTell("part of the stream was not captured or not read")
        elif conversation.may_have_lost_calls(session):
            yield CannotTell("requests in flight had to be forgotten, and with them what answered or cancelled them")
        else:
            yield Violated(
                f"{exchange.path}/response",
                "The server closed the stream for polling, and the client went on without resuming it.",
                exchange=exchange.id,
            )
