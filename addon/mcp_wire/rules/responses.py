"""How a server answers: status, media type, and whether there is content."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import EVENT_STREAM, JSON_MEDIA_TYPE, Ending, Exchange, ResponseHead
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import (
    MODERN_REVISIONS,
    R2025_03_26,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
    SESSION_REVISIONS,
)
from mcp_wire.rules.clauses import LISTENING, SENDING
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.jsonrpc import Envelope, classify, is_valid_seed_envelope
from mcp_wire.wire.strict_json import MISSING

BOOK: Final = RuleBook("response")
rule = BOOK.rule


# Refusals of a GET that have reasons of their own: a missing session or unknown version, authorization, an expired
# session, Accept, a conflict (`concurrent_stream_rejected`), a wrong authority, a rate limit.
EXPLAINED_REFUSALS: Final = frozenset({400, 401, 403, 405, 406, 409, 421, 429})
ANSWERS_OF_HTTP: Final = frozenset({*range(300, 400), 402, 407, 408, 414, 426, 431, 451, *range(500, 600)})
"""They say nothing of what the endpoint offers: redirects, what intermediaries and limits demand, failures."""
TAKEOVER_MS: Final = 1_000.0
"""A stream that the server ends this soon after another one opened was ended because of it."""


@rule(
    "invalid_response_content_type",
    level="error",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites={
        R2025_03_26: "basic/transports#sending-messages-to-the-server",
        R2025_06_18: "basic/transports#sending-messages-to-the-server",
        R2025_11_25: "basic/transports#sending-messages-to-the-server",
        R2026_07_28: "basic/transports/streamable-http#receiving-messages",
    },
    says="A request is answered 200 with application/json or text/event-stream.",
    fix="Label the answer application/json or text/event-stream.",
    exceptions="Only where the POST carried a request; an answered notification is `accepted_status_not_202`.",
    evidence="The response head and a request body that was captured.",
)
def answer_is_json_or_event_stream(head: ResponseHead, conversation: Conversation) -> Verdicts:
    request = head.exchange.request
    if request.method.upper() != "POST" or head.status != 200 or conversation.legacy_transport:
        return
    if head.media_type in (JSON_MEDIA_TYPE, EVENT_STREAM):
        yield SATISFIED
        return
    if not request.body.is_captured:
        yield CannotTell("the request body was not captured, so it may be a notification")
        return
    if not request.carries_request:
        return
    if head.headers.get("content-type") is None:
        yield Violated(head.headers_path, "The 200 answer to a request has no Content-Type.")
        return
    content_type = Evidence("header:content-type", head.headers.get("content-type"))
    yield Violated(head.headers_path, "The 200 answer to a request has Content-Type {}.", (content_type,))


@rule(
    "invalid_get_response_content_type",
    level="error",
    party="server",
    layer="response_framing",
    revisions=SESSION_REVISIONS,
    cites=LISTENING,
    says="A successful GET is answered with text/event-stream.",
    fix="Answer with text/event-stream, or with 405 where the endpoint offers no stream.",
    exceptions="Only for a GET that asked for an event stream or carries an MCP header.",
    evidence="Request and response head.",
)
def get_is_answered_by_event_stream(head: ResponseHead, conversation: Conversation) -> Verdicts:
    if not _is_stream_request(head) or not head.is_success or conversation.legacy_transport:
        return
    if head.media_type == EVENT_STREAM:
        yield SATISFIED
    elif head.headers.get("content-type") is None:
        yield Violated(head.headers_path, f"The GET was answered {head.status} without a Content-Type.")
    else:
        content_type = Evidence("header:content-type", head.headers.get("content-type"))
        yield Violated(
            head.headers_path, f"The GET was answered {head.status} with Content-Type {{}}.", (content_type,)
        )


@rule(
    "invalid_get_response_status",
    level="error",
    party="server",
    layer="response_framing",
    revisions=SESSION_REVISIONS,
    cites=LISTENING,
    says="A GET stream has status 200.",
    fix="Use 200 with a stream, or 405.",
    exceptions="Only for a GET that asked for an event stream or carries an MCP header.",
    evidence="Request and response head.",
)
def get_stream_has_status_200(head: ResponseHead, conversation: Conversation) -> Verdicts:
    if not _is_stream_request(head) or not head.is_success or conversation.legacy_transport:
        return
    if head.status == 200:
        yield SATISFIED
    else:
        yield Violated(head.status_path, f"The GET was answered {head.status}; a stream has status 200.")


def _is_stream_request(head: ResponseHead) -> bool:
    request = head.exchange.request
    if request.method.upper() != "GET":
        return False
    asked = EVENT_STREAM in (request.headers.joined("accept") or "").lower()
    return asked or bool(request.session_id or request.version_header or request.last_event_id)


@rule(
    "invalid_response_jsonrpc",
    level="error",
    party="server",
    layer="response_framing",
    cites=SENDING,
    says="A JSON answer to a request is one JSON-RPC response.",
    fix='Return one object with `"jsonrpc": "2.0"`, the id of the request, and either result or error.',
    exceptions=(
        "2025-03-26 allows an array for a batch. Bodies of 4xx and 5xx are free. A body that was cut on the way is "
        "`truncated_response`."
    ),
    evidence="The whole response body, and the request that it answers.",
)
def json_answer_is_one_response(ending: Ending, _conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    if not _answers_request_with_json(exchange) or exchange.content is None:
        return
    body = exchange.content.body
    if not body.is_captured:
        yield CannotTell("the response body was not captured")
    elif body.is_empty:
        return
    elif exchange.was_cut and not body.is_json:
        yield CannotTell("the response was cut")
    elif body.has("too_deep"):
        yield CannotTell("the body is deeper than this tool reads")
    elif body.value is MISSING or not body.strict:
        kinds = ", ".join(sorted({fault.kind.replace("_", " ") for fault in body.faults}))
        yield Violated(exchange.content.path, f"The answer is not strict JSON ({kinds}).")
    else:
        why = _fault_of_answer(classify(body.value), exchange)
        yield SATISFIED if why is None else Violated(exchange.content.path, f"The JSON answer is {why}.")


def _answers_request_with_json(exchange: Exchange) -> bool:
    head, request = exchange.head, exchange.request
    posted = request.method.upper() == "POST" and request.carries_request
    return posted and head is not None and head.is_success and head.media_type == JSON_MEDIA_TYPE


def _fault_of_answer(envelope: Envelope, exchange: Exchange) -> str | None:
    if envelope.kind == "batch":
        # Where the revision has no batches, the client's batch is the fault, not the server's tolerance of it.
        if not any(message.in_batch for message in exchange.request.messages):
            return "an array where one response is owed"
        responses = [member.kind in ("response", "error_response") for member in envelope.members]
        return None if responses and all(responses) else "an array with members that are no responses"
    if envelope.kind in ("request", "notification"):
        return f"a {envelope.kind}, not a response"
    if is_valid_seed_envelope(envelope, error_id_optional=True):
        return None
    return "not one JSON-RPC 2.0 response: " + (", ".join(envelope.faults) or "no kind of message").replace("_", " ")


@rule(
    "accepted_status_not_202",
    level="error",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites=SENDING,
    says="A POST of notifications or responses that the server accepts is answered 202.",
    fix="Return 202 with no body.",
    exceptions="Any 4xx or 5xx is a refusal, which is legal.",
    evidence="A request body that was captured, and the response head.",
)
def accepted_is_202(head: ResponseHead, conversation: Conversation) -> Verdicts:
    if not head.exchange.owes_nothing_but_202 or not head.is_success or conversation.legacy_transport:
        return
    if head.status == 202:
        yield SATISFIED
    else:
        yield Violated(head.status_path, f"A POST without requests was answered {head.status} instead of 202.")


@rule(
    "accepted_body_not_empty",
    level="error",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites=SENDING,
    says="The answer to a POST of notifications or responses has no body.",
    fix="Send no content with the 202.",
    exceptions="A Content-Type on an empty body, `Content-Length: 0` and an empty chunked body are fine.",
    evidence="The whole response body.",
)
def accepted_has_no_body(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    head = exchange.head
    if head is None or not exchange.owes_nothing_but_202 or not head.is_success or conversation.legacy_transport:
        return
    if exchange.is_event_stream:
        if exchange.events:
            yield Violated(exchange.stream_path, "A POST without requests was answered with an event stream.")
        return
    body = exchange.content.body if exchange.content is not None else None
    if body is None or not body.is_captured:
        yield CannotTell("the response body was not captured")
    elif body.is_empty:
        yield SATISFIED
    else:
        what = "a JSON-RPC message" if exchange.messages else "content"
        yield Violated(f"{exchange.path}/response/body", f"A POST without requests was answered with {what}.")


@rule(
    "request_answered_without_content",
    level="error",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites=SENDING,
    says="A request that is not refused is answered 200, with JSON or an event stream.",
    fix="Answer 200 with application/json or text/event-stream.",
    exceptions=(
        "The 2024-11-05 transport answers requests with 202: not where its stream was seen, nor where nothing names a "
        "revision. A body cut on the way is `truncated_response`."
    ),
    evidence="A request body that was captured, and the whole response.",
    consequence_of=("notification_has_id",),
)
def request_gets_content(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    head, request = exchange.head, exchange.request
    if head is None or not head.is_success or request.method.upper() != "POST" or not request.carries_request:
        return
    if conversation.legacy_transport or exchange.is_event_stream:
        return
    if head.status == 202 and conversation.revision is None:
        yield CannotTell("the 2024-11-05 transport answers so, and nothing names a revision")
        return
    if head.status != 200:
        yield Violated(head.status_path, f"A request was answered {head.status}; 200 with content is owed.")
        return
    body = exchange.content.body if exchange.content is not None else None
    if body is None or not body.is_captured:
        yield CannotTell("the response body was not captured")
    elif not body.is_empty:
        yield SATISFIED
    elif exchange.was_cut:
        yield CannotTell("the response was cut")
    elif head.media_type == JSON_MEDIA_TYPE:
        yield Violated(head.status_path, "A request was answered 200 with an empty body.")


@rule(
    "get_not_sse_or_405",
    level="error",
    party="server",
    layer="response_framing",
    revisions=SESSION_REVISIONS,
    cites=LISTENING,
    says="A GET is answered by an event stream or by 405.",
    fix="Return 405 with an Allow header when the endpoint offers no stream.",
    exceptions=(
        "401, 403, 406, 409, 429, 5xx and other answers of HTTP itself (redirects, 402, 407, 408, 414, 421, 426, 431, "
        "451) have reasons of their own. 400 counts where it can have none: the GET asks for an event stream, and "
        "names the negotiated version, the session, if there is one, and no event; and then only once a later request "
        "of that session succeeds. 404 is right for an expired session: it counts only once a later request of the "
        "same session succeeds, or where no session id was sent and the endpoint answers POSTs. Once a DELETE has "
        "ended the session, what is owed to it is another rule's."
    ),
    evidence="Request and response head; for 400 and 404 with a session a later success of that session.",
)
def get_refused_with_405(head: ResponseHead, conversation: Conversation) -> Verdicts:
    exchange = head.exchange
    yield from _session_outlived_refusal(head)
    if not _is_stream_request(head) or conversation.legacy_transport or head.status in ANSWERS_OF_HTTP:
        return
    if head.is_success or head.status == 405:
        yield SATISFIED
    elif head.status == 404:
        if (
            exchange.request.session_id is None
            and exchange.request.last_event_id is None
            and conversation.answers_posts
        ):
            yield Violated(head.status_path, "The GET was answered 404; POSTs to the same endpoint work.")
        else:
            yield CannotTell("404 is right for a session that is over")
    elif head.status == 400 and exchange.request.session_id is not None:
        yield CannotTell("400 is right for a session that the server does not know")
    elif head.status not in EXPLAINED_REFUSALS or (head.status == 400 and _lacks_nothing(exchange)):
        yield Violated(head.status_path, f"The GET was answered {head.status}; an event stream or 405 is owed.")


def _lacks_nothing(get: Exchange) -> bool:
    """Whatever a 400 may ask for is there: the session, if there is one, and the version."""
    request, session = get.request, get.session
    return (
        session.from_start
        and request.session_id == session.id
        and request.last_event_id is None
        and session.negotiated_version is not None
        and request.version_header in _right_versions(session.negotiated_version)
        and EVENT_STREAM in (request.headers.joined("accept") or "").lower()
    )


def _right_versions(negotiated: str) -> tuple[str | None, ...]:
    return (negotiated, None) if negotiated == R2025_03_26 else (negotiated,)


def _session_outlived_refusal(head: ResponseHead) -> Verdicts:
    """A success shows that the session was alive when its GET was answered 400 or 404."""
    exchange = head.exchange
    refused = exchange.session.refused_get
    if refused is None or refused.head is None or exchange.index <= refused.index or not head.is_success:
        return
    if exchange.request.session_id != refused.request.session_id or exchange.request.method.upper() != "POST":
        return
    exchange.session.refused_get = None
    if exchange.session.deleted is not None:
        # What is owed to a session that was ended is another clause's, and so is its fault.
        return
    if refused.head.status == 400 and not (_lacks_nothing(refused) and _may_listen(refused, exchange)):
        return
    yield Violated(
        refused.head.status_path,
        f"The GET was answered {refused.head.status} while its session was alive: a later request of the session "
        "succeeded.",
        exchange=refused.id,
    )


def _may_listen(get: Exchange, served: Exchange) -> bool:
    """The handshake was over, and the GET had the credentials of the POST that was served."""
    initialized = get.session.initialized
    if initialized is None or initialized.exchange.index > get.index:
        return False
    ready = initialized.exchange.head
    if ready is not None and ready.t_ms is not None and get.request.t_ms is not None and ready.t_ms > get.request.t_ms:
        return False
    return get.request.headers.get("authorization") == served.request.headers.get("authorization")


@rule(
    "concurrent_stream_rejected",
    level="warning",
    party="server",
    layer="stream_routing",
    revisions=SESSION_REVISIONS,
    cites="basic/transports#multiple-connections",
    says="A client may hold several event streams of one session at the same time.",
    fix="Keep all streams, and send each message on one of them.",
    exceptions=(
        "The text gives the client a MAY and the server no MUST: a warning. A GET with Last-Event-ID may supersede the "
        "stream that it resumes. 400, 401, 403, 404, 405, 406, 421 and 429 have reasons of their own."
    ),
    evidence="An open stream of the same session, and the refusal of another; or its end right after the other opened.",
)
def second_stream_is_accepted(fact: ResponseHead | Ending, conversation: Conversation) -> Verdicts:
    if isinstance(fact, ResponseHead):
        yield from _second_get(fact, conversation)
    else:
        yield from _first_stream_ended(fact, conversation)


def _second_get(head: ResponseHead, conversation: Conversation) -> Verdicts:
    exchange = head.exchange
    request = exchange.request
    if request.method.upper() != "GET" or request.session_id is None or request.last_event_id is not None:
        return
    others = [
        other
        for other in conversation.open_streams.values()
        if other is not exchange and other.session is exchange.session and other.request.method.upper() == "GET"
    ]
    if not others:
        return
    if exchange.is_event_stream and head.is_success:
        yield SATISFIED
    elif head.status == 409 or (400 <= head.status < 500 and head.status not in EXPLAINED_REFUSALS | {404}):
        yield Violated(head.status_path, f"A second GET stream was refused with {head.status} while another is open.")


def _first_stream_ended(ending: Ending, conversation: Conversation) -> Verdicts:
    old = ending.exchange
    if not ending.by_server or not _is_standalone(old) or ending.t_ms is None or old.session.deleted is not None:
        return
    for new in conversation.open_streams.values():
        opened = new.head.t_ms if new.head is not None else None
        if new is old or new.session is not old.session or not _is_standalone(new) or opened is None:
            continue
        if new.index > old.index and 0 <= ending.t_ms - opened <= TAKEOVER_MS:
            yield Violated(
                old.stream_path,
                f"The server ended the stream {ending.t_ms - opened:.0f} ms after another one of the session opened.",
            )
            return


def _is_standalone(exchange: Exchange) -> bool:
    request = exchange.request
    return request.method.upper() == "GET" and request.session_id is not None and request.last_event_id is None


@rule(
    "legacy_method_not_405",
    level="warning",
    party="server",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#earlier-streamable-http-revisions"},
    says="A server that speaks only 2026-07-28 or later answers GET and DELETE with 405.",
    fix="Return 405 with an Allow header.",
    exceptions="401, 403, 429 and 5xx are not judged.",
    evidence="The server's own list of supported versions, without any earlier one.",
)
def modern_server_refuses_with_405(head: ResponseHead, conversation: Conversation) -> Verdicts:
    if head.exchange.request.method.upper() not in ("GET", "DELETE"):
        return
    if head.status in (401, 403, 429) or head.status >= 500:
        return
    if not conversation.era.is_modern_only:
        yield CannotTell("nothing shows that the server has no earlier revision")
    elif head.status == 405:
        yield SATISFIED
    else:
        method = head.exchange.request.method.upper()
        yield Violated(head.status_path, f"The {method} was answered {head.status} instead of 405.")


@rule(
    "method_not_allowed_without_allow",
    level="warning",
    party="server",
    layer="response_framing",
    version_neutral=True,
    rule_set="extended",
    cites={"RFC 9110": "https://www.rfc-editor.org/rfc/rfc9110#section-15.5.6"},
    says="A 405 lists the methods that are allowed.",
    fix="Send `Allow: POST` (or whatever list is supported) with the 405.",
    exceptions="A duty of HTTP that MCP does not restate; an intermediary may have stripped the header.",
    evidence="The response head.",
)
def refusal_lists_methods(head: ResponseHead, _conversation: Conversation) -> Verdicts:
    if head.status != 405:
        return
    if "allow" in head.headers:
        yield SATISFIED
    else:
        yield Violated(head.headers_path, "The 405 has no Allow header.")
