"""Sessions of the 2025 revisions, and their absence afterwards (transports#session-management)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Exchange, Request, ResponseHead
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.privacy.labels import is_strong_session_label
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2025_11_25, R2026_07_28, SESSION_REVISIONS
from mcp_wire.protocol.session_ids import MIN_UNGUESSABLE_LENGTH, is_short, is_visible_ascii, looks_counted
from mcp_wire.wire.observation import Milliseconds

BOOK: Final = RuleBook("session")
rule = BOOK.rule

SESSION_MANAGEMENT: Final = "basic/transports#session-management"

IN_FLIGHT_GRACE_MS: Final = 1_000.0
"""A request that starts this soon after a refusal may have been on its way when its client learnt of it."""
MIN_KNOWN_ORDER_MS: Final = 2.0
"""Whatever has a clock tells milliseconds apart: a tap better, the log of a client (HAR) just so."""
ENACTED: Final = frozenset({200, 204})
"""The server has done what a DELETE asks for; 202 says only that it will (RFC 9110 section 9.3.5)."""
WORKS_AGAIN: Final = CannotTell("the session id works, so the 404 was about something else")
# Answers that say nothing of the session: redirects, authorization, the form of the request, limits, failures.
UNRELATED_STATUSES: Final = frozenset(
    {*range(300, 400), 401, 402, 403, 406, 407, 408, 413, 414, 415, 421, 429, 431, 451, *range(500, 600)}
)


@rule(
    "session_header_removed",
    level="error",
    party="client",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "changelog#major-changes"},
    says="2026-07-28 has no sessions, so Mcp-Session-Id is not sent.",
    fix="Stop sending Mcp-Session-Id; pass what must persist as explicit arguments.",
    exceptions="The released text only tells servers to ignore the header.",
    evidence="The request head and the revision in force.",
)
def no_session_header(request: Request, _conversation: Conversation) -> Verdicts:
    if "mcp-session-id" in request.headers:
        yield Violated(
            request.headers_path,
            "Mcp-Session-Id was sent under 2026-07-28, which has no sessions; the released text tells the server to "
            "ignore it.",
        )
    else:
        yield SATISFIED


@rule(
    "session_id_minted",
    level="warning",
    party="server",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#earlier-streamable-http-revisions"},
    says="A server neither mints nor echoes session ids on 2026-07-28 exchanges.",
    fix="Leave Mcp-Session-Id out of answers to 2026-07-28 requests.",
    exceptions="Exchanges of an earlier revision on the same endpoint carry it rightly.",
    evidence="The response head, the revision in force, and that the server speaks it.",
)
def no_session_id_minted(head: ResponseHead, conversation: Conversation) -> Verdicts:
    if "mcp-session-id" not in head.headers:
        yield SATISFIED
    elif not (conversation.server_is_modern or head.is_success):
        yield CannotTell("nothing shows that the server speaks 2026-07-28")
    else:
        yield Violated(
            head.headers_path, "The response carries Mcp-Session-Id under 2026-07-28, which has no sessions."
        )


@rule(
    "session_id_invalid_chars",
    level="error",
    party="server",
    layer="session",
    revisions=SESSION_REVISIONS,
    cites=SESSION_MANAGEMENT,
    says="A session id consists of visible ASCII characters only.",
    fix="Make session ids from the characters 0x21 to 0x7E.",
    exceptions="Spaces and tabs around the field value are no part of it.",
    evidence="The response head of initialize.",
)
def session_id_is_visible_ascii(head: ResponseHead, _conversation: Conversation) -> Verdicts:
    session_id = head.session_id
    if session_id is None or not head.exchange.request.is_initialize or not head.is_success:
        return
    if is_visible_ascii(session_id):
        yield SATISFIED
    elif not session_id:
        yield Violated(head.headers_path, "The session id is empty.")
    else:
        yield Violated(head.headers_path, "The session id has characters outside visible ASCII.")


@rule(
    "session_id_weak",
    level="warning",
    party="server",
    layer="security",
    revisions=SESSION_REVISIONS,
    cites=SESSION_MANAGEMENT,
    says="Session ids are unique and cannot be guessed.",
    fix="Use a UUIDv4 or at least 128 random bits.",
    exceptions="A heuristic: too short, a decimal counter, or the same id for two sessions. Long ids count as good.",
    evidence="The response head of initialize.",
)
def session_id_is_hard_to_guess(head: ResponseHead, conversation: Conversation) -> Verdicts:
    session_id = head.session_id
    if not session_id or not head.exchange.request.is_initialize or not head.is_success:
        return
    if conversation.session_ids.repeated is head.exchange:
        yield Violated(head.headers_path, "Two sessions were given the same id.", about="repeated")
    elif is_strong_session_label(session_id):
        yield SATISFIED
    elif is_short(session_id):
        yield Violated(head.headers_path, f"The session id is shorter than {MIN_UNGUESSABLE_LENGTH} characters.")
    elif looks_counted(session_id):
        yield Violated(head.headers_path, "The session id is a decimal number that looks like a counter or a time.")
    else:
        yield SATISFIED


@rule(
    "session_id_missing",
    level="error",
    party="client",
    layer="session",
    revisions=SESSION_REVISIONS,
    cites=SESSION_MANAGEMENT,
    says="Once the server has given a session id, every later request carries it.",
    fix="Keep the id from the initialize response and send Mcp-Session-Id on every request.",
    exceptions=(
        "A new initialize lacks it rightly, and so does everything after a 404 or DELETE of the session. A page visit "
        "(a GET for text/html without any MCP header) is no MCP."
    ),
    evidence=(
        "The initialize response with the id, and an exchange that belongs to the same client for another reason than "
        "the missing header."
    ),
)
def session_id_is_sent(request: Request, conversation: Conversation) -> Verdicts:
    session = request.exchange.session
    if request.is_initialize or session.id is None or not session.from_start or conversation.legacy_transport:
        return
    if request.is_page_visit:
        return
    if request.session_id is not None:
        yield SATISFIED
        return
    if not request.body.is_captured and request.method.upper() == "POST":
        yield CannotTell("the request body was not captured, so it may be an initialize")
    elif session.is_terminated:
        yield CannotTell("the session is over")
    elif len(conversation.sessions) > 1:
        yield CannotTell("it may belong to another of several sessions")
    elif request.method.upper() in ("POST", "GET", "DELETE"):
        yield Violated(request.headers_path, "The request lacks the session id that the initialize response gave.")


@rule(
    "missing_session_wrong_status",
    level="warning",
    party="server",
    layer="session",
    revisions=SESSION_REVISIONS,
    rule_set="extended",
    cites=SESSION_MANAGEMENT,
    says="A server that needs a session id answers a request without one with 400.",
    fix="Return 400 for a missing session id; 404 is for ids that are over.",
    exceptions="401, 403, 405, 406, 413, 415 and 429 have reasons of their own.",
    evidence="An initialize response with a session id, and a refused request without one.",
)
def missing_session_is_400(head: ResponseHead, conversation: Conversation) -> Verdicts:
    request = head.exchange.request
    session = head.exchange.session
    if request.session_id is not None or request.is_initialize or session.id is None or not session.from_start:
        return
    if not 400 <= head.status < 500 or head.status in (401, 403, 405, 406, 413, 415, 429) or session.is_terminated:
        return
    if not request.messages and request.method.upper() == "POST":
        return
    if head.status == 400:
        yield SATISFIED
    else:
        yield Violated(head.status_path, f"A request without the session id was refused with {head.status}, not 400.")


def _ended_before(refusal: Exchange, request: Request) -> Milliseconds | None:
    """How long before the request the refusal was delivered; None where that is not known."""
    head = refusal.head
    if head is None or head.t_ms is None or request.t_ms is None:
        return None
    return request.t_ms - head.t_ms


@rule(
    "terminated_session_not_404",
    level="error",
    party="server",
    layer="session",
    revisions=SESSION_REVISIONS,
    cites=SESSION_MANAGEMENT,
    says="A session id that was terminated is answered 404.",
    fix="Forget the session everywhere, and answer 404 to its id.",
    exceptions=(
        "What started before the DELETE was answered 200 or 204 was in flight. 202 only announces the end, and after a "
        "404 the server may still be at it: there, requests of the next second may be in flight too. Redirects, 401 "
        "to 403, 406, 413 to 415, 421, 429, 431, 5xx and the like, 405 to GET and DELETE, and 400 to another version "
        "than the negotiated one say nothing of the session. A 404 terminates only where its body is a JSON-RPC error "
        "about the session: -32601, -32602 and -32002 are about something else, and any other body may come from a "
        "gateway or a wrong path."
    ),
    evidence="A DELETE answered 2xx or a 404 written by the server; then a later request with the id, with times.",
)
def terminated_is_404(head: ResponseHead, _conversation: Conversation) -> Verdicts:
    exchange = head.exchange
    request, session = exchange.request, exchange.session
    end = session.deleted or _server_written(session.refused)
    if end is None or end is exchange or request.session_id is None or request.session_id != session.id:
        return
    if head.status in UNRELATED_STATUSES or request.is_initialize:
        return
    if head.status == 405 and request.method.upper() != "POST":
        return
    negotiated = session.negotiated_version
    if head.status == 400 and negotiated is not None and request.version_header not in (negotiated, None):
        yield CannotTell("the request was refused, perhaps for its version")
        return
    elapsed = _ended_before(end, request)
    if elapsed is None:
        yield CannotTell("no times show that the request started after the termination")
    elif elapsed < (MIN_KNOWN_ORDER_MS if _is_enacted(end) else IN_FLIGHT_GRACE_MS):
        return
    elif head.status == 404:
        yield SATISFIED
    elif end is session.refused and session.outlived_refusal and not head.is_success:
        yield WORKS_AGAIN
    else:
        yield Violated(head.status_path, f"The id of a terminated session was answered {head.status} instead of 404.")


def _is_enacted(end: Exchange) -> bool:
    return end.request.method.upper() == "DELETE" and end.head is not None and end.head.status in ENACTED


def _server_written(refused: Exchange | None) -> Exchange | None:
    content = refused.content if refused is not None else None
    return refused if content is not None and any(message.is_error for message in content.messages) else None


@rule(
    "session_reused_after_404",
    level="error",
    party="client",
    layer="session",
    revisions=SESSION_REVISIONS,
    cites=SESSION_MANAGEMENT,
    says="After a 404 for its session id a client starts anew with initialize.",
    fix="Drop the id and send a new initialize without it.",
    exceptions=(
        "Requests that started less than a second after the 404 may have been in flight. A DELETE is housekeeping. "
        "Where the id works again, or the error of the 404 is -32601, -32602 or -32002, it was about something else."
    ),
    evidence="A POST with the id answered 404, and a later request with the same id that is refused too, with times.",
)
def dead_session_is_left_alone(head: ResponseHead, conversation: Conversation) -> Verdicts:
    exchange = head.exchange
    request, refused = exchange.request, exchange.session.refused
    if request.is_initialize:
        if any(session.refused is not None for session in conversation.sessions.values()):
            yield SATISFIED
        return
    if refused is None or refused is exchange or request.method.upper() == "DELETE":
        return
    if request.session_id is None or request.session_id != refused.request.session_id:
        return
    elapsed = _ended_before(refused, request)
    if elapsed is None:
        yield CannotTell("no times show that the request started after the 404")
    elif elapsed < IN_FLIGHT_GRACE_MS:
        return
    elif 400 <= head.status < 500 and not exchange.session.outlived_refusal:
        yield Violated(
            request.headers_path, f"The session id was sent again {elapsed / 1000:.1f} s after it was answered 404."
        )
    else:
        yield WORKS_AGAIN


@rule(
    "delete_without_session_id",
    level="warning",
    party="client",
    layer="session",
    revisions=SESSION_REVISIONS,
    cites=SESSION_MANAGEMENT,
    says="DELETE names the session that it ends.",
    fix="Send Mcp-Session-Id with the DELETE, or no DELETE where there is no session.",
    exceptions="A DELETE without any MCP header may be another API on the same path.",
    evidence="The request head.",
    consequence_of=("session_id_missing",),
)
def delete_names_its_session(request: Request, _conversation: Conversation) -> Verdicts:
    if request.method.upper() != "DELETE":
        return
    if request.session_id is not None:
        yield SATISFIED
    elif request.version_header is not None:
        yield Violated(request.headers_path, "The DELETE has no Mcp-Session-Id.")
    else:
        yield CannotTell("nothing but its path says that the DELETE is MCP")


@rule(
    "session_shared_across_principals",
    level="warning",
    party="either",
    layer="security",
    revisions=(R2025_11_25,),
    rule_set="extended",
    cites=SESSION_MANAGEMENT,
    says="A session belongs to one authorization context.",
    fix="Bind the session to the authenticated user on the server.",
    exceptions="One switch from an old credential to a new one is a refresh; only going back to an earlier one counts.",
    evidence="Requests of one session with different Authorization values, in turns, that succeed.",
)
def session_has_one_principal(head: ResponseHead, conversation: Conversation) -> Verdicts:
    request = head.exchange.request
    if request.session_id is None or not head.is_success or "authorization" not in request.headers:
        return
    if conversation.session_ids.returned is head.exchange:
        yield Violated(
            request.headers_path, "One session id is used with different Authorization values in turns, and honoured."
        )
    else:
        yield SATISFIED
