"""The listen stream of 2026-07-28: acknowledgment, filter, subscription id, end (basic/patterns/subscriptions)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Ending, Message
from mcp_wire.conversation.subscriptions import ACKNOWLEDGED, RESOURCE_SUBSCRIPTIONS, Filter, Subscription
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.meta_keys import META_SUBSCRIPTION_ID
from mcp_wire.protocol.methods import LISTEN_FILTERS, REQUEST_SCOPED_NOTIFICATIONS
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2026_07_28
from mcp_wire.rules.proven import UNPROVEN, is_proven, once_proven
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.jsonrpc import id_key
from mcp_wire.wire.observation import Ended, Milliseconds

BOOK: Final = RuleBook("subscriptions")
rule = BOOK.rule

ACKNOWLEDGMENT_DUE_MS: Final = 10_000.0
"""A stream that stays open this long without a message is worth a note."""
KEEP_ALIVE_DUE_MS: Final = 60_000.0
"""Idle limits of gateways and clients begin about here."""

CUT_BY_HAND: Final = CannotTell("members may have been removed from this transcript by hand")
UNREADABLE_FILTER: Final = CannotTell("the filter of the listen request cannot be read")


@rule(
    "subscription_ack_missing",
    level="error",
    party="server",
    layer="stream_routing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/patterns/subscriptions#acknowledgment"},
    says="The first message in answer to subscriptions/listen is notifications/subscriptions/acknowledged.",
    fix="Send the acknowledgment before anything else, on an event stream.",
    exceptions=(
        "An error response is a refusal, and owes no acknowledgment. Comments and events with empty data may come "
        "before it. A stream that is still open has time left: after ten seconds without any message there is a note "
        "(info). A stream that was cut is not judged."
    ),
    evidence="The listen request, and the stream from its first byte; for a stream without messages also its end.",
)
def acknowledgment_comes_first(fact: Message | Ending, conversation: Conversation) -> Verdicts:
    yield from once_proven(fact, Message, conversation, _first_message)
    if isinstance(fact, Ending):
        yield from _silent_stream(fact, conversation)


def _first_message(message: Message, conversation: Conversation) -> Verdicts:
    subscription = conversation.subscriptions.of(message.exchange)
    if subscription is None or message.sender != "server" or message.path != subscription.first_path:
        return
    if message.exchange.has_unread_events:
        yield CannotTell("an event could not be read")
    elif message.method == ACKNOWLEDGED:
        yield SATISFIED
    elif message.is_response and message.event is None and not message.is_error:
        yield Violated(message.path, "subscriptions/listen was answered with a single result instead of a stream.")
    elif not message.is_error:
        method = Evidence("method", message.method) if message.method else None
        what, evidence = ("{}", (method,)) if method else ("a result", ())
        yield Violated(message.path, f"The first message on the listen stream is {what}, no acknowledgment.", evidence)


def _silent_stream(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    head = exchange.head
    if conversation.subscriptions.of(exchange) is None or head is None or not head.is_success or exchange.messages:
        return
    if not exchange.is_event_stream:
        return
    if not is_proven(conversation):
        yield UNPROVEN
    elif exchange.dispatched or not exchange.is_whole:
        yield CannotTell("not every event could be read")
    elif ending.ended is Ended.COMPLETE:
        yield Violated(exchange.stream_path, "The server ended the listen stream without an acknowledgment.")
    elif ending.ended is Ended.OPEN and _since(head.t_ms, conversation.now_ms) >= ACKNOWLEDGMENT_DUE_MS:
        seconds = _since(head.t_ms, conversation.now_ms) / 1_000
        yield Violated(
            exchange.stream_path,
            f"The listen stream has been open for {seconds:.0f} s without an acknowledgment.",
            level="info",
            about="open",
        )
    else:
        yield CannotTell("the stream was cut, or is still open")


def _since(earlier: Milliseconds | None, later: Milliseconds | None) -> Milliseconds:
    return later - earlier if earlier is not None and later is not None else 0.0


@rule(
    "subscription_id_mismatch",
    level="error",
    party="server",
    layer="stream_routing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/patterns/subscriptions#receiving-notifications"},
    says="Every message on a listen stream names the id of its listen request as subscription id.",
    fix=(
        "Copy the id of the listen request, with its JSON type, into "
        f'`_meta["{META_SUBSCRIPTION_ID}"]` of every message.'
    ),
    exceptions=(
        '1 and "1" are different ids. Error responses need not carry it; nor is it asked of progress and log '
        "messages, which do not belong on the stream at all, or of `notifications/cancelled`, on which the pages "
        "disagree."
    ),
    evidence="The listen request, and the whole message.",
)
def messages_name_their_subscription(fact: Message | Ending, conversation: Conversation) -> Verdicts:
    yield from once_proven(fact, Message, conversation, _subscription_id)


def _subscription_id(message: Message, conversation: Conversation) -> Verdicts:
    subscription = conversation.subscriptions.of(message.exchange)
    if subscription is None or message.is_request or message.is_error:
        return
    if message.method in REQUEST_SCOPED_NOTIFICATIONS or message.method == "notifications/cancelled":
        return
    meta = message.result.get("_meta") if message.result is not None else message.meta
    named = meta[META_SUBSCRIPTION_ID] if isinstance(meta, dict) and META_SUBSCRIPTION_ID in meta else None
    what = Evidence("method", message.method) if message.method else None
    shown, evidence = ("{}", (what,)) if what else ("The result of subscriptions/listen", ())
    if named is not None and id_key(named) == subscription.id_key:
        yield SATISFIED
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    elif named is None:
        yield Violated(message.path, f"{shown} carries no subscription id.", evidence, about="absent")
    else:
        yield Violated(
            message.path,
            f"{shown} carries the subscription id {{}}, not the id of the listen request.",
            (*evidence, Evidence("id", named)),
        )


@rule(
    "unrequested_notification",
    level="error",
    party="server",
    layer="stream_routing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/patterns/subscriptions#opening-a-stream"},
    says="A listen stream carries only the kinds of notification that its request asked for.",
    fix="Filter by the `notifications` of the listen request, and acknowledge nothing beyond it.",
    exceptions=(
        "A kind that was asked for but not acknowledged is a warning: the acknowledgment says what the server agreed "
        "to send. Kinds that an extension defines are its own affair. An acknowledgment that grants less than was "
        "asked for is legal, even nothing."
    ),
    evidence="The whole listen request, and the message.",
)
def only_requested_kinds(fact: Message | Ending, conversation: Conversation) -> Verdicts:
    yield from once_proven(fact, Message, conversation, _kind)


def _kind(message: Message, conversation: Conversation) -> Verdicts:
    subscription = conversation.subscriptions.of(message.exchange)
    if subscription is None:
        return
    if message.method == ACKNOWLEDGED:
        yield from _granted(message, subscription, conversation)
        return
    kind = LISTEN_FILTERS.get(message.method or "")
    if kind is None or not message.is_notification:
        return
    asked, granted = subscription.filter.kinds[kind], subscription.granted
    method = (Evidence("method", message.method),)
    if asked is None:
        yield UNREADABLE_FILTER
    elif not asked and not conversation.payloads_whole and kind not in subscription.filter.named:
        yield CUT_BY_HAND
    elif not asked:
        yield Violated(message.path, "The listen request did not ask for {}.", method, about=kind)
    elif granted is None or granted.kinds[kind] is not False:
        yield SATISFIED
    elif conversation.payloads_whole:
        about = f"unacknowledged {kind}"
        yield Violated(message.path, "{} was asked for, but not acknowledged.", method, level="warning", about=about)
    else:
        yield CUT_BY_HAND


def _granted(message: Message, subscription: Subscription, conversation: Conversation) -> Verdicts:
    """Does the acknowledgment grant what was never asked for?"""
    asked, granted = subscription.filter, Filter.of(message.params.get("notifications"))
    if not conversation.payloads_whole:
        yield CUT_BY_HAND
        return
    if not asked.is_there:
        yield UNREADABLE_FILTER
        return
    beyond = [kind for kind, flag in granted.kinds.items() if flag and asked.kinds[kind] is False]
    if beyond:
        kinds = ", ".join(sorted(beyond))
        yield Violated(message.path, f"The acknowledgment grants what was not asked for: {kinds}.", about="granted")
    elif (
        asked.resources is not None
        and granted.resources is not None
        and (granted.resources.uris - asked.resources.uris)
    ):
        yield Violated(
            message.path,
            "The acknowledgment grants {}, which was not asked for.",
            (Evidence("uri", min(granted.resources.uris - asked.resources.uris)),),
            about="granted",
        )
    else:
        yield SATISFIED


@rule(
    "resource_update_not_subscribed",
    level="warning",
    party="server",
    layer="stream_routing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/patterns/subscriptions#notification-filter"},
    says="Updates are sent for the resources that the listen request names, and for what lies within them.",
    fix="Notify only of subscribed resources.",
    exceptions=(
        "An update may concern a part of the subscribed resource, and what its parts are is the server's affair: a "
        "warning, and only where both URIs have the form scheme://authority/path and the path does not lie within a "
        "subscribed one. Where no resource was asked for at all, `unrequested_notification` speaks."
    ),
    evidence="The whole listen request, and the message.",
)
def only_subscribed_resources(fact: Message | Ending, conversation: Conversation) -> Verdicts:
    yield from once_proven(fact, Message, conversation, _resource)


def _resource(message: Message, conversation: Conversation) -> Verdicts:
    subscription = conversation.subscriptions.of(message.exchange)
    if subscription is None or message.method != "notifications/resources/updated" or not message.is_notification:
        return
    uri, resources = message.params.get("uri"), subscription.filter.resources
    if not isinstance(uri, str) or subscription.filter.kinds[RESOURCE_SUBSCRIPTIONS] is False:
        return
    covered = resources.covers(uri) if resources is not None else None
    if covered:
        yield SATISFIED
    elif covered is None:
        yield CannotTell("only the server knows what lies within the subscribed resources")
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    else:
        yield Violated(message.path, "{} was updated, and lies within no subscribed resource.", (Evidence("uri", uri),))


@rule(
    "request_scoped_on_listen",
    level="error",
    party="server",
    layer="stream_routing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#receiving-messages"},
    says="Progress and log messages go to the stream of the request that they are about, never to a listen stream.",
    fix="Send them on the response stream of their own request.",
    exceptions="None: a progressToken or log level in the listen request itself does not invite them.",
    evidence="The listen request, and the message.",
)
def no_request_scoped_messages(fact: Message | Ending, conversation: Conversation) -> Verdicts:
    yield from once_proven(fact, Message, conversation, _request_scoped)


def _request_scoped(message: Message, conversation: Conversation) -> Verdicts:
    if conversation.subscriptions.of(message.exchange) is None or not message.is_notification:
        return
    if message.method in REQUEST_SCOPED_NOTIFICATIONS:
        yield Violated(
            message.path, f"{message.method} came on a listen stream; it belongs on the stream of its own request."
        )
    else:
        yield SATISFIED


@rule(
    "listen_closed_without_result",
    level="warning",
    party="server",
    layer="stream_routing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/patterns/subscriptions#graceful-closure"},
    says="A server that ends a subscription sends the result of subscriptions/listen before it closes the stream.",
    fix="Send the SubscriptionsListenResult, then close.",
    exceptions=(
        "Only a clean end by the server after the acknowledgment counts: a cut, a reset, a close by client or proxy, "
        "or a client that cancelled, owe nothing. `notifications/cancelled` for the listen id instead of the result, "
        "or beside it, is accepted: the pages disagree on it. An end after a fixed time points to an idle limit of "
        "something in between."
    ),
    evidence="The listen request, the stream, and who ended it.",
    consequence_of=("subscription_ack_missing",),
)
def subscription_ends_with_result(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    subscription = conversation.subscriptions.of(exchange)
    if subscription is None or subscription.granted is None or not exchange.is_event_stream:
        return
    if not is_proven(conversation):
        yield UNPROVEN
    elif subscription.is_answered:
        yield SATISFIED
    elif subscription.is_cancelled or any(call.cancelled is not None for call in exchange.calls):
        yield CannotTell("the subscription was cancelled")
    elif ending.ended is not Ended.COMPLETE:
        yield CannotTell("the stream was not ended properly by the server")
    elif not exchange.is_whole:
        yield CannotTell("not every event could be read")
    else:
        yield Violated(exchange.stream_path, "The server ended the listen stream without the closing result.")


@rule(
    "no_keepalive_on_listen",
    level="info",
    party="server",
    layer="stream_routing",
    revisions=MODERN_REVISIONS,
    rule_set="extended",
    cites={R2026_07_28: "basic/transports/streamable-http#receiving-messages"},
    says="An idle listen stream carries a comment now and then, so that nothing in between takes it for dead.",
    fix="Send a comment line (`:`) every fifteen seconds or so.",
    exceptions="Encouraged, not required. HTTP/2 has pings of its own, which do not show here.",
    evidence="The listen request, and the times of the chunks; a minute without a byte counts as idle.",
)
def idle_stream_is_kept_alive(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    head = exchange.head
    if conversation.subscriptions.of(exchange) is None or head is None or not exchange.is_event_stream:
        return
    latest = head.t_ms if exchange.latest_chunk_ms is None else exchange.latest_chunk_ms
    until = conversation.now_ms if ending.ended is Ended.OPEN else ending.t_ms
    silence = max(exchange.longest_silence_ms, _since(latest, until))
    if not is_proven(conversation):
        yield UNPROVEN
    elif (head.http_version or "").startswith("HTTP/2"):
        yield CannotTell("HTTP/2 pings do not show")
    elif latest is None or until is None:
        yield CannotTell("there are no times")
    elif silence < KEEP_ALIVE_DUE_MS:
        yield SATISFIED
    else:
        yield Violated(exchange.stream_path, f"The listen stream carried nothing for {silence / 1_000:.0f} s.")
