"""Requests that were waited for in vain, and who gave up (2025-11-25 basic/lifecycle#timeouts)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import JSON_MEDIA_TYPE, Call, CaptureEnd, Ending, Exchange, ResponseHead
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import R2026_07_28, SESSION_REVISIONS
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.observation import Ended, Milliseconds

BOOK: Final = RuleBook("recovery")
rule = BOOK.rule

HANG_MS: Final = 10_000.0
"""A request that waits for less when the capture ends may be an ordinary one that is being worked on: clients wait for
half a minute and longer before they give up, and people for about this long before they stop looking."""
ASKED_BACK_LOOKED_AT: Final = 256
"""Of the latest requests of the server in a session, for each request that still runs."""


@rule(
    "request_left_unanswered",
    level="info",
    party="either",
    layer="stream_routing",
    version_neutral=True,
    cites={
        **dict.fromkeys(SESSION_REVISIONS, "basic/transports#sending-messages-to-the-server"),
        R2026_07_28: "basic/transports/streamable-http#cancellation",
    },
    says="A request has its response before its connection ends, or its client cancels it.",
    fix=(
        "Look for the request in the server's log, and in what stands between. Send nothing again unless the recovery "
        "advice says so. A client that gives up sends notifications/cancelled (2026-07-28: closes the stream)."
    ),
    exceptions=(
        "Nobody is blamed: the server may hang, an intermediary may swallow the answer, the client may be impatient. "
        "Not where the client cancels the request or comes back for the stream (Last-Event-ID) within five seconds of "
        "its end (and, after an event id, the stream's `retry`), nor for subscriptions/listen. Until 2025-11-25 a "
        "disconnection is no cancellation; in 2026-07-28 it is one, and the note says so. Of what still runs when the "
        "capture ends: only where the request and the latest message of its answer (comments do not count) are ten "
        "seconds old; not tasks/result, nor where the client owes the server an answer first (elicitation, sampling), "
        "or gave it less than ten seconds ago. What the server ends properly is for `stream_closed_without_response` "
        "(unless the client was deleting the session), and after an event id the client is to come back."
    ),
    evidence="The request, and the end of its exchange or of the capture; for what still runs, times.",
    consequence_of=(
        "stream_closed_without_response",
        "truncated_response",
        "http2_stream_reset",
        "incomplete_sse_event",
        "poll_not_resumed",
        "invalid_response_content_type",
        "invalid_response_jsonrpc",
        "invalid_sse_json",
        "invalid_sse_jsonrpc",
        "message_not_utf8",
        "request_answered_without_content",
        "request_id_invalid",
        "response_id_mismatch",
        "sse_ignored_line",
    ),
)
def request_is_answered(fact: Ending | ResponseHead | CaptureEnd, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    if isinstance(fact, Ending) and _is_settled(fact):
        yield SATISFIED
    for ending in conversation.unanswered.settled:
        yield from _left(ending, conversation)


def _is_settled(ending: Ending) -> bool:
    calls = ending.exchange.calls
    return bool(calls) and all(call.responses or call.cancelled is not None for call in calls)


def _left(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange, calls = ending.exchange, ending.exchange.waiting_calls
    has_ended = ending.ended is not Ended.OPEN
    request = calls[0].request
    waited = _between(request.t_ms, ending.t_ms if has_ended else conversation.now_ms)
    if any(call.method == "subscriptions/listen" for call in calls) or _is_for_others(ending, conversation):
        return
    if not has_ended and not _hangs(exchange, calls, conversation.now_ms):
        return
    if not exchange.is_whole:
        yield CannotTell("part of the stream was not captured or not read")
    elif conversation.may_have_lost_calls(exchange.session):
        yield CannotTell("requests in flight had to be forgotten, and with them what answered or cancelled them")
    elif conversation.unread_post is not None:
        yield CannotTell("a POST that was not captured may have cancelled the request")
    else:
        more = f" and {len(calls) - 1} more of its batch" if len(calls) > 1 else ""
        how = _how(ending, conversation)
        yield Violated(
            request.path,
            f"The request {{}} with the id {{}}{more} had no response{_lasting(waited)}, {how}. {_came(exchange)}",
            (Evidence("method", request.method), Evidence("id", request.envelope.id)),
            about="still running" if not has_ended else "",
            exchange=request.exchange.id,
        )


def _is_for_others(ending: Ending, conversation: Conversation) -> bool:
    """A refusal is an answer, if no response; a server that gave an event id first may ask its client to poll."""
    exchange = ending.exchange
    head = exchange.head
    if head is not None and head.status >= 300:
        return True
    polls = exchange.stream is not None and exchange.stream.cursor is not None and not conversation.is_modern
    return ending.by_server and polls and exchange.session.deleting is None


def _hangs(exchange: Exchange, calls: list[Call], now: Milliseconds | None) -> bool:
    if any(call.method == "tasks/result" for call in calls):
        return False  # it has its response when the task is over
    since = calls[0].request.t_ms
    asked = _asked_back(exchange, since)
    if any(call.is_in_flight for call in asked):
        return False
    times = [since, exchange.latest_message_ms, *(answer.t_ms for call in asked for answer in call.responses)]
    waited = _between(max((time for time in times if time is not None), default=None), now)
    return waited is not None and waited >= HANG_MS


def _asked_back(exchange: Exchange, since: Milliseconds | None) -> list[Call]:
    """What the server asked its client, as far as is known, to answer what came on this exchange: on its stream, or
    since then on one that belongs to no request."""
    asked = []
    for call in exchange.session.calls["server"].latest(ASKED_BACK_LOOKED_AT):
        stream = call.request.exchange.stream
        is_own = stream is not None and stream is exchange.stream
        is_free = stream is not None and stream.is_standalone and _between(since, call.request.t_ms) is not None
        if call.method != "ping" and (is_own or is_free):
            asked.append(call)
    return asked


def _between(since: Milliseconds | None, until: Milliseconds | None) -> Milliseconds | None:
    """None where it is not known, as where the times contradict each other."""
    return until - since if since is not None and until is not None and until >= since else None


def _lasting(waited: Milliseconds | None) -> str:
    if waited is None:
        return ""
    return f" for {waited:.0f} ms" if waited < 1_000 else f" for {waited / 1_000:.1f} s"


def _how(ending: Ending, conversation: Conversation) -> str:
    if ending.ended is Ended.OPEN:
        return "up to the end of the capture"
    if ending.ended is Ended.PROXY_CLOSED:
        return "until the proxy ended the exchange"
    if ending.by_server:
        ended = "ended its stream" if ending.ended is Ended.COMPLETE else "closed the connection"
        return f"until the server's side {ended}"
    if conversation.revision is None:
        return "until the client left"
    if conversation.is_modern:
        return "until the client closed the stream, which cancels it"
    return "until the client left, which does not cancel it"


def _came(exchange: Exchange) -> str:
    """What was seen of an answer."""
    if exchange.head is None:
        return "Not even the head of an answer came."
    if not exchange.is_event_stream:
        is_other = exchange.messages or exchange.head.media_type != JSON_MEDIA_TYPE
        body = "a body without its response" if is_other and exchange.received_octets else "no whole body"
        return f"The head of an answer came, and {body}."
    stream = "Its stream" if exchange.calls else "The stream that resumes its own"
    if exchange.messages:
        more = ", and what is no message" if exchange.has_unreadable_events else ""
        return f"{stream} brought {exchange.messages} other message{'s' if exchange.messages > 1 else ''}{more}."
    if exchange.has_unreadable_events:
        return f"{stream} brought what is no message, or no whole one."
    return f"{stream} was opened and brought no message."
