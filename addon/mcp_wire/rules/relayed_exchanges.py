"""What an intermediary changed: exchanges that were seen on both of its sides (`server_side_of` in a transcript)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Exchange, Relayed
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdict, Verdicts, Violated
from mcp_wire.protocol.mirrored_headers import PARAM_PREFIX
from mcp_wire.protocol.profiles import R2026_07_28
from mcp_wire.rules.intermediaries import RFC_9110
from mcp_wire.wire.headers import Headers

BOOK: Final = RuleBook("intermediary")
rule = BOOK.rule

REQUEST_FIELDS: Final = (
    *("mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "last-event-id", "accept", "authorization"),
)
RESPONSE_FIELDS: Final = ("mcp-session-id", "content-type", "www-authenticate")
OFTEN_CONFIGURED: Final = frozenset({"authorization", "mcp-session-id"})
"""Fields that a gateway may translate on purpose: it has credentials or sessions of its own."""
NOT_PROCESSED: Final = frozenset({307, 308, 401, 403, 405, 406, 407, 413, 415, 421, 425, 429, 431})
"""Statuses of a request that was refused before anything was done."""


@rule(
    "mcp_header_altered",
    level="error",
    party="intermediary",
    layer="intermediary",
    version_neutral=True,
    cites={
        R2026_07_28: "basic/transports/streamable-http#server-behavior-for-custom-headers",
        "RFC 9110": f"{RFC_9110}#section-7.7",
    },
    says="MCP's header fields pass through an intermediary as they are.",
    fix="Pass Mcp-*, MCP-Protocol-Version, Last-Event-ID, Accept and Content-Type through unchanged.",
    exceptions=(
        "Spelling of names, spaces around values and in lists, and several lines made into one are no change. Another "
        "Authorization or Mcp-Session-Id in the place of the first is a note: a gateway may have its own. Headers of "
        "responses are compared where the status is the same."
    ),
    evidence="The exchange, and what the intermediary made of it, both in one transcript (`server_side_of`).",
)
def headers_pass_through(relayed: Relayed, _conversation: Conversation) -> Verdicts:
    exchange, upstream = relayed.exchange, relayed.upstream
    found = list(_altered(exchange.request.headers, upstream.request.headers, exchange.request.headers_path, exchange))
    head, sent = exchange.head, upstream.head
    if head is not None and sent is not None and head.status == sent.status:
        fields = list(_changes(sent.headers, head.headers, RESPONSE_FIELDS))
        found += [_verdict(name, change, head.headers_path, exchange, "back") for name, change in fields]
    yield from found or [SATISFIED]


def _altered(sent: Headers, received: Headers, path: str, exchange: Exchange) -> Iterator[Verdict]:
    parameters = sorted({name for name in (*sent.names(), *received.names()) if name.startswith(PARAM_PREFIX)})
    for name, change in _changes(sent, received, (*REQUEST_FIELDS, *parameters)):
        yield _verdict(name, change, path, exchange, "to the server")


def _changes(sent: Headers, received: Headers, fields: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name in fields:
        before, after = _value(sent, name), _value(received, name)
        if before != after:
            yield name, "added" if before is None else "dropped" if after is None else "changed"


def _value(headers: Headers, name: str) -> str | None:
    """What a field says, spaces apart; for names of media types also case apart."""
    joined = headers.joined(name)
    if joined is None:
        return None
    compact = "".join(joined.split())
    return compact.lower() if name in ("accept", "content-type") else compact


def _verdict(name: str, change: str, path: str, exchange: Exchange, way: str) -> Violated:
    shown = "an Mcp-Param header" if name.startswith(PARAM_PREFIX) else name
    return Violated(
        path,
        f"An intermediary {change} {shown} on the way {way}.",
        level="info" if name in OFTEN_CONFIGURED and change == "changed" else None,
        about=f"{way} {name}",
        exchange=exchange.id,
    )


@rule(
    "intermediary_replayed_post",
    level="error",
    party="intermediary",
    layer="intermediary",
    version_neutral=True,
    cites={"RFC 9110": f"{RFC_9110}#section-9.2.2"},
    says="An intermediary sends a POST on once.",
    fix="Switch off retries of POST on the route (for nginx `proxy_next_upstream off`).",
    exceptions=(
        "A second attempt is legal once the first provably did nothing: REFUSED_STREAM, or a refusal such as 401, 421 "
        "or 429. A copy for another upstream on purpose (mirroring) looks the same."
    ),
    evidence="The exchange and every request that the intermediary made of it, in one transcript (`server_side_of`).",
)
def post_is_sent_on_once(relayed: Relayed, _conversation: Conversation) -> Verdicts:
    exchange, upstream = relayed.exchange, relayed.upstream
    if exchange.request.method.upper() != "POST" or upstream.request.method.upper() != "POST":
        return
    repeated = [earlier for earlier in relayed.earlier if not _did_nothing(earlier)]
    if not repeated:
        yield SATISFIED
    elif not upstream.request.body.is_captured or not any(one.request.body.is_captured for one in repeated):
        yield CannotTell("the bodies of the two requests were not captured")
    elif any(one.request.body == upstream.request.body for one in repeated):
        yield Violated(
            exchange.request.body_path,
            "An intermediary sent the POST to the server again, although the first attempt may have been carried out.",
            exchange=exchange.id,
        )


def _did_nothing(attempt: Exchange) -> bool:
    ending, head = attempt.ending, attempt.head
    refused = ending is not None and ending.proves_unprocessed
    return refused or (head is not None and head.status in NOT_PROCESSED)
