"""Lists of tools, prompts and resources: the same for everybody, in one order, and announced when they change."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import CaptureEnd, Ending, Message, Session
from mcp_wire.conversation.listings import LISTS, Listing
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import ALL_REVISIONS, MODERN_REVISIONS, R2026_07_28
from mcp_wire.rules.proven import UNPROVEN, is_proven

BOOK: Final = RuleBook("features")
rule = BOOK.rule

ALTERNATION_MS: Final = 60_000.0


@rule(
    "list_varies_per_connection",
    level="warning",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    rule_set="extended",
    cites={R2026_07_28: "server/tools#capabilities"},
    says="Lists do not depend on the connection, nor on other requests that were sent on it.",
    fix="Return the same list to the same credentials.",
    exceptions=(
        "A MUST NOT of which only a sign is visible: two lists in turns (A, B, A, B) for the same credentials within a "
        "minute, without a notification of a change. Replicas of different versions look the same: a warning."
    ),
    evidence="Four whole lists of the same kind for the same credentials, with times.",
)
def list_is_the_same_for_all(message: Message, conversation: Conversation) -> Verdicts:
    latest, earlier = conversation.listings.completed, conversation.listings.earlier
    if latest is None or not earlier or conversation.legacy_transport:
        return
    if not is_proven(conversation):
        yield UNPROVEN
    elif latest.names == earlier[-1].names:
        yield SATISFIED
    elif len(earlier) >= 3 and earlier[-2].names == latest.names and earlier[-3].names == earlier[-1].names:
        first = earlier[-3]
        if first.asked_ms is None or latest.asked_ms is None:
            yield CannotTell("it is not known when the lists were asked for")
        elif latest.asked_ms - first.asked_ms <= ALTERNATION_MS and not _announced(first, latest):
            yield Violated(
                message.path, f"Two different answers to {latest.method} came in turns, for the same credentials."
            )


def _announced(first: Listing, latest: Listing) -> bool:
    """The client was told of a change between them; or they went to two clients, one of which may have been."""
    return first.owner == latest.owner and latest.changes > first.changes


@rule(
    "list_order_unstable",
    level="warning",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    rule_set="extended",
    cites={R2026_07_28: "server/tools#capabilities"},
    says="The same tools are listed in the same order.",
    fix="Sort the list by something that does not change.",
    exceptions="Only tools, and only where both lists have exactly the same names, for the same credentials.",
    evidence="Two whole tools/list results.",
)
def tools_keep_their_order(message: Message, conversation: Conversation) -> Verdicts:
    latest = conversation.listings.completed
    if latest is None or latest.method != "tools/list" or conversation.legacy_transport:
        return
    same = [one for one in conversation.listings.earlier if one.names == latest.names]
    if not same:
        return
    if not is_proven(conversation):
        yield UNPROVEN
    elif same[-1].order == latest.order:
        yield SATISFIED
    else:
        yield Violated(message.path, "The same tools are listed in another order than before.")


@rule(
    "list_change_not_notified",
    level="warning",
    party="server",
    layer="payload",
    rule_set="extended",
    cites=dict.fromkeys(ALL_REVISIONS, "server/tools#list-changed-notification"),
    says="A server that said it would tell of changed lists does so.",
    fix="Send the list_changed notification on the open channel when the list changes.",
    exceptions=(
        "Only whole lists are compared, and only where a stream that could carry the notification (a GET stream of the "
        "session; in 2026-07-28 a subscription that grants it) was open all the time between them and five seconds on."
    ),
    evidence="Two whole lists of one client, the declared or granted notification, the open stream, and times.",
)
def change_is_announced(fact: Message | Ending | CaptureEnd, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    for change in conversation.list_changes.decided:
        owner, kind = change.before.owner, LISTS[change.before.method]
        if change.told:
            yield SATISFIED
        elif change.told is None:
            yield CannotTell("the stream that could have carried the notification ended")
        elif isinstance(owner, Session) and not conversation.is_one_client(owner):
            yield CannotTell("the session was not seen whole, or may be several clients'")
        elif conversation.has_unread_streams:
            yield CannotTell("some event stream was not read whole")
        else:
            yield Violated(
                change.found.path,
                f"The {kind.member} changed, and no {kind.notification} came on the stream that was open for it.",
                about=kind.member,
                exchange=change.found.exchange.id,
            )
