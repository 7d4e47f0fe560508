"""What stands between client and server, and what it does to answers: their author, way, framing and end."""

from __future__ import annotations

import re
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Ending, Exchange, Relayed, Request, ResponseHead
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdict, Verdicts, Violated
from mcp_wire.judging.finding import Level
from mcp_wire.protocol.gateways import LIMIT_STATUSES
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2026_07_28
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import Ended

BOOK: Final = RuleBook("intermediary")
rule = BOOK.rule

RFC_9110: Final = "https://www.rfc-editor.org/rfc/rfc9110"
RFC_9112: Final = "https://www.rfc-editor.org/rfc/rfc9112"
RFC_9113: Final = "https://www.rfc-editor.org/rfc/rfc9113"

DROPS_THE_BODY: Final = frozenset({301, 302, 303})
KEEPS_THE_BODY: Final = frozenset({307, 308})
LIVE_STREAM_MS: Final = 1_000.0
"""Events this far apart were not all known when the head was sent."""
UNLIKELY_OCTETS: Final = 1_000_000_000
"""So much is missing of no message: such a Content-Length is no length, and is not shown."""
HARMLESS_RESETS: Final = frozenset({"CANCEL", "NO_ERROR", "0x0", "0x8", "0", "8"})
"""With these a client leaves (RFC 9113 7)."""
CONNECTION_FIELDS: Final = ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade")
_CACHE_STATE: Final = re.compile(r"[A-Za-z_]+")


@rule(
    "gateway_error_response",
    level="warning",
    party="intermediary",
    layer="intermediary",
    version_neutral=True,
    cites={"RFC 9110": f"{RFC_9110}#section-15.6"},
    says="Requests reach the server, and the answers are the server's own.",
    fix="Look at the gateway's limits and logs; for a long call raise its timeout, or keep the stream busy.",
    exceptions=(
        "Only from status 400 on, and never where the body is a JSON-RPC message. 502, 504, 520 to 527 and 530 are "
        "what gateways say of themselves. 408, 413, 429, 431 and 503 count where a header of the answer names a "
        "gateway, since servers use them too. An HTML page alone proves nothing: web frameworks write them."
    ),
    evidence=(
        "The response head, and that the body is no JSON-RPC message. Seen on both sides of the intermediary: that the "
        "server answered with another status."
    ),
)
def server_wrote_the_answer(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    head, content = exchange.head, exchange.content
    if head is None or conversation.legacy_transport:
        return
    if exchange.answered_by_gateway:
        known = "It does not show what became of the request." if head.status >= 500 else "The server did not refuse."
        yield Violated(head.status_path, f"The {head.status} comes from a gateway, not from the server. {known}")
    elif head.status < 400 or (content is not None and content.messages):
        yield SATISFIED
    elif head.status in LIMIT_STATUSES or head.status >= 500:
        yield CannotTell("the server may have written the refusal itself")


@rule(
    "post_redirected",
    level="warning",
    party="intermediary",
    layer="intermediary",
    version_neutral=True,
    cites={"RFC 9110": f"{RFC_9110}#section-15.4"},
    says="The MCP endpoint answers a POST itself and does not redirect it.",
    fix="Publish the final URL; ask for credentials with 401 and WWW-Authenticate, not with a sign-in page.",
    exceptions=(
        "307 and 308 keep method and body, so they are a note only; a redirect to another origin still loses "
        "Authorization. After 301, 302 and 303 many clients send a GET without the message."
    ),
    evidence="The response head.",
)
def post_is_not_redirected(head: ResponseHead, conversation: Conversation) -> Verdicts:
    if head.exchange.request.method.upper() != "POST" or conversation.legacy_transport:
        return
    if head.status in DROPS_THE_BODY:
        yield Violated(
            head.status_path,
            f"The POST was answered {head.status}; many clients follow that with a GET, and the message is lost.",
        )
    elif head.status in KEEPS_THE_BODY:
        yield Violated(
            head.status_path, f"The POST was answered {head.status}, so that it has to be sent twice.", level="info"
        )
    else:
        yield SATISFIED


@rule(
    "content_length_on_sse",
    level="warning",
    party="either",
    layer="response_framing",
    version_neutral=True,
    cites={"RFC 9112": f"{RFC_9112}#section-6.2", "RFC 9110": f"{RFC_9110}#section-8.6"},
    says="An event stream that is still being written has no Content-Length.",
    fix="Send the stream with chunks (HTTP/1.1) or frames (HTTP/2), and switch off what buffers it.",
    exceptions=(
        "A stream that was finished before it was sent may have its length: only events over a second apart count. "
        "`Content-Length: 0` is an empty stream, unless events follow it. Together with Transfer-Encoding it is an "
        "error in HTTP/1.1, since the two sides of a gateway may then see different messages."
    ),
    evidence="The response head, and the times at which the events arrived.",
)
def live_stream_has_no_length(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    head = exchange.head
    if head is None or not exchange.is_event_stream or conversation.legacy_transport:
        return
    if "content-length" not in head.headers:
        yield SATISFIED
        return
    if "transfer-encoding" in head.headers and not _is_multiplexed(head.http_version):
        yield Violated(
            head.headers_path, "The stream has Transfer-Encoding and Content-Length.", level="error", about="both"
        )
        return
    first, last = (exchange.arrivals[0].t_ms, exchange.latest_arrival) if exchange.arrivals else (None, None)
    if head.content_length == 0:
        sent = bool(exchange.dispatched)
        yield Violated(head.headers_path, "Events follow a Content-Length of 0.", party="server") if sent else SATISFIED
    elif exchange.events < 2:
        yield SATISFIED
    elif first is None or last is None or last.t_ms is None or not head.boundaries_observed:
        yield CannotTell("it is not known when the events arrived")
    elif last.t_ms - first > LIVE_STREAM_MS:
        yield Violated(
            head.headers_path,
            f"The stream has a Content-Length, and its events came over {(last.t_ms - first) / 1000:.1f} s: somebody "
            "waits for all of it, or has announced a length that he could not know.",
        )
    else:
        yield SATISFIED


@rule(
    "sse_compressed",
    level="warning",
    party="either",
    layer="intermediary",
    version_neutral=True,
    cites={"RFC 9110": f"{RFC_9110}#section-12.5.3"},
    says="An event stream is not content-coded, unless the client accepts that and each event is flushed.",
    fix="Leave text/event-stream out of compression, or flush after every event.",
    exceptions=(
        "Without Accept-Encoding every coding is acceptable. `identity` is none. Whether an accepted coding is flushed "
        "in time is `response_buffered`'s to say. A coding that an intermediary added is a note, unless the server "
        "forbade it with `Cache-Control: no-transform` (RFC 9110 7.7)."
    ),
    evidence="Request and response head; the head on the server's side, where that was seen as well.",
)
def stream_is_not_coded(fact: ResponseHead | Relayed, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    if isinstance(fact, Relayed):
        yield from _coding_added(fact)
        return
    if not fact.exchange.is_event_stream:
        return
    accepted = fact.exchange.request.headers.joined("accept-encoding")
    refused = [coding for coding in _codings(fact.headers) if not _accepts(accepted, coding)]
    if refused:
        yield Violated(fact.headers_path, "The event stream has a content coding that the client does not accept.")
    else:
        yield SATISFIED


def _coding_added(relayed: Relayed) -> Verdicts:
    head, sent = relayed.exchange.head, relayed.upstream.head
    if head is None or sent is None or not relayed.exchange.is_event_stream or _codings(sent.headers):
        return
    if _codings(head.headers):
        forbidden = "no-transform" in (sent.headers.joined("cache-control") or "").lower()
        level: Level = "warning" if forbidden else "info"
        yield Violated(
            head.headers_path,
            "An intermediary content-coded the event stream" + (", though it has no-transform." if forbidden else "."),
            level=level,
            party="intermediary",
            about="added",
            exchange=relayed.exchange.id,
        )


def _codings(headers: Headers) -> list[str]:
    named = (headers.joined("content-encoding") or "").lower().split(",")
    return [coding.strip() for coding in named if coding.strip() not in ("", "identity")]


def _accepts(accept_encoding: str | None, coding: str) -> bool:
    """Does an Accept-Encoding value (repeated lines joined) accept this coding? (RFC 9110 12.5.3)"""
    if accept_encoding is None:
        return True
    weights: dict[str, float] = {}
    for member in accept_encoding.lower().split(","):
        name, _, parameter = member.partition(";")
        quality = parameter.strip().removeprefix("q=")
        weights.setdefault(name.strip().removeprefix("x-"), float(quality) if _WEIGHT.fullmatch(quality) else 1.0)
    return weights.get(coding.removeprefix("x-"), weights.get("*", 0.0)) > 0


_WEIGHT: Final = re.compile(r"[01](?:\.[0-9]{0,3})?")


@rule(
    "truncated_response",
    level="warning",
    party="either",
    layer="intermediary",
    version_neutral=True,
    cites={"RFC 9112": f"{RFC_9112}#section-8", "RFC 9113": f"{RFC_9113}#section-8.1"},
    says="A response comes to its proper end: all of its Content-Length, the last chunk, or END_STREAM.",
    fix="Find out who reset the connection or ran out of time. Send nothing again unless the recovery advice says so.",
    exceptions=(
        "A client that leaves truncates nothing, nor does this tap. A body without length and chunks ends with its "
        "connection, and nobody can tell whether it was whole. Once every request of the exchange has its response "
        "nothing is lost: a note. So is the operator's bare word (`disconnected`), which does not say who left."
    ),
    evidence="How the response ended; for Content-Length also how many octets arrived.",
    consequence_of=("http2_stream_reset",),
)
def response_comes_to_its_end(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    head = exchange.head
    if head is None or conversation.legacy_transport:
        return
    short = _missing_octets(ending)
    harmless = _level_of_cut(exchange)
    if ending.ended is Ended.SERVER_RESET:
        yield Violated(ending.path, "The response was reset before its end.", level=harmless)
    elif short is not None:
        shown = f"{short} octets" if short < UNLIKELY_OCTETS else "far"
        yield Violated(ending.path, f"The response ended {shown} short of its Content-Length.", level=harmless)
    elif ending.ended is Ended.SERVER_CLOSED and _has_an_end_of_its_own(head):
        yield Violated(ending.path, "The connection was closed before the end of the response.", level=harmless)
    elif ending.ended is None and ending.disconnected:
        yield Violated(
            ending.path, "The response ended before its proper end; who ended it is not known.", level="info"
        )
    elif ending.ended is Ended.COMPLETE:
        yield SATISFIED
    elif ending.ended is Ended.SERVER_CLOSED:
        yield CannotTell("without length and chunks a body ends with its connection")


def _level_of_cut(exchange: Exchange) -> Level | None:
    """A note where nothing was lost, or where what came before the cut was not read whole, so that nobody can tell."""
    was_answered = bool(exchange.calls) and not exchange.unanswered_calls
    return "info" if was_answered or (exchange.is_event_stream and not exchange.is_whole) else None


def _missing_octets(ending: Ending) -> int | None:
    exchange = ending.exchange
    head = exchange.head
    if head is None or exchange.request.method.upper() == "HEAD" or head.status in (204, 205, 304):
        return None
    if ending.ended not in (None, Ended.COMPLETE, Ended.SERVER_CLOSED):
        return None
    # A text in a transcript may have been replaced by a shorter one; only with a closed connection it is evidence.
    counted = ending.received_octets
    received = exchange.received_octets if ending.ended is Ended.SERVER_CLOSED else counted
    declared = head.content_length
    return declared - received if declared is not None and received is not None and received < declared else None


def _has_an_end_of_its_own(head: ResponseHead) -> bool:
    """Closing the connection is no way to end this response."""
    chunked = "chunked" in (head.headers.joined("transfer-encoding") or "").lower()
    return chunked or _is_multiplexed(head.http_version)


def _is_multiplexed(http_version: str | None) -> bool:
    return http_version is not None and http_version.upper().removeprefix("HTTP/")[:1] in ("2", "3")


@rule(
    "http2_stream_reset",
    level="warning",
    party="either",
    layer="intermediary",
    version_neutral=True,
    cites={"RFC 9113": f"{RFC_9113}#section-5.4.2"},
    says="An HTTP/2 stream is not reset while it carries an MCP exchange.",
    fix=(
        "Let the error code lead to its sender. Only REFUSED_STREAM in place of any answer proves that the request was "
        "not processed."
    ),
    exceptions=(
        "CANCEL and NO_ERROR from the client are how a client leaves (under 2026-07-28 that cancels the request). Once "
        "every request of the exchange has its response a reset is a note."
    ),
    evidence="The reset, with its error code where that was seen.",
)
def stream_is_not_reset(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    if conversation.legacy_transport:
        return
    versions = [exchange.request.http_version, exchange.head.http_version if exchange.head is not None else None]
    multiplexed = any(map(_is_multiplexed, versions))
    if ending.reset_code is None and not (multiplexed and ending.ended in (Ended.SERVER_RESET, Ended.COMPLETE)):
        return
    code = ending.reset_code.upper() if ending.reset_code is not None else None
    harmless = code is None or code in HARMLESS_RESETS
    if ending.ended is Ended.COMPLETE or (ending.ended is Ended.CLIENT_RESET and harmless):
        yield SATISFIED
    elif ending.ended is Ended.CLIENT_RESET:
        yield _reset("The client", code, None, ending)
    elif ending.ended is Ended.SERVER_RESET:
        yield _reset("The server's side", code, _level_of_cut(exchange), ending)
    elif harmless:
        yield CannotTell("it is not known which side reset the stream")
    else:
        yield _reset("One side", code, None, ending)


def _reset(who: str, code: str | None, level: Level | None, ending: Ending) -> Verdict:
    known = f" with {code}" if code in KNOWN_RESETS else ""
    more = " The request was not processed, so sending it again is safe." if ending.proves_unprocessed else ""
    return Violated(ending.path, f"{who} reset the stream{known}.{more}", level=level)


KNOWN_RESETS: Final = frozenset(
    {
        *("NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED"),
        *("FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM"),
        *("INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"),
    }
)


@rule(
    "connection_header_on_http2",
    level="warning",
    party="either",
    layer="intermediary",
    version_neutral=True,
    rule_set="extended",
    cites={"RFC 9113": f"{RFC_9113}#section-8.2.2"},
    says="An HTTP/2 message has no fields that speak of a connection.",
    fix="Do not set Connection, Keep-Alive, Transfer-Encoding or Upgrade in the application.",
    exceptions=(
        "On an HTTP/1.1 hop they are legal. `TE: trailers` is legal in a request. Strict receivers reset such a stream."
    ),
    evidence="The head of a message, and the HTTP version of the hop that it was seen on.",
)
def no_connection_fields(fact: Request | ResponseHead, conversation: Conversation) -> Verdicts:
    if not _is_multiplexed(fact.http_version) or conversation.legacy_transport:
        return
    found = [name for name in CONNECTION_FIELDS if name in fact.headers]
    if isinstance(fact, Request) and (fact.headers.joined("te") or "trailers").lower() != "trailers":
        found.append("te")
    if found:
        party = "client" if isinstance(fact, Request) else "server"
        yield Violated(fact.headers_path, f"The {party}'s HTTP/2 message has {', '.join(found)}.", about=party)
    else:
        yield SATISFIED


@rule(
    "cached_mcp_response",
    level="warning",
    party="intermediary",
    layer="intermediary",
    version_neutral=True,
    cites={
        "RFC 9110": f"{RFC_9110}#section-9.3.3",
        R2026_07_28: "server/utilities/caching#cache-scope-field",
    },
    says="No HTTP cache answers an MCP request.",
    fix="Send `Cache-Control: no-store`, and leave the endpoint out of caching.",
    exceptions=(
        "Under 2026-07-28 a gateway that knows MCP may answer with a stored result of cacheScope `public`, with the id "
        "of the request: that is not told from a plain cache. For whom a stored result was made is not visible."
    ),
    evidence="Age, X-Cache, X-Proxy-Cache, CF-Cache-Status or 304 in the answer to a POST or on an event stream.",
)
def no_cache_answers(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    head = exchange.head
    if head is None or conversation.legacy_transport:
        return
    if exchange.request.method.upper() != "POST" and not exchange.is_event_stream:
        return
    if not _is_from_cache(head):
        yield SATISFIED
        return
    content = exchange.content.messages if exchange.content is not None else ()
    scopes = {message.result.get("cacheScope") for message in content if message.result is not None and message.call}
    if conversation.revision in MODERN_REVISIONS and scopes == {"public"}:
        yield CannotTell("a gateway that knows MCP may serve a public result")
    else:
        yield Violated(head.headers_path, "An HTTP cache answered, not the server.")


def _is_from_cache(head: ResponseHead) -> bool:
    age = head.headers.get("age") or ""
    if head.status == 304 or (age.isascii() and age.isdigit() and age.strip("0")):
        return True
    states = [head.headers.joined(name) or "" for name in ("x-cache", "x-proxy-cache", "cf-cache-status")]
    words = {word.upper() for state in states for word in _CACHE_STATE.findall(state[:256])}
    return any(word == "HIT" or word.endswith("_HIT") for word in words)
