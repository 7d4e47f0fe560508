"""`notifications/cancelled`: who may send it, and what may follow (2025-11-25 basic/utilities/cancellation)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Call, Ending, Message
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
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

BOOK: Final = RuleBook("cancellation")
rule = BOOK.rule

BEHAVIOR: Final = {
    R2025_03_26: "basic/utilities/cancellation#behavior-requirements",
    R2025_06_18: "basic/utilities/cancellation#behavior-requirements",
    R2025_11_25: "basic/utilities/cancellation#behavior-requirements",
    R2026_07_28: "basic/patterns/cancellation#behavior-requirements",
}
CANCELLED: Final = "notifications/cancelled"

COMPLETED_GRACE_MS: Final = 5_000.0
"""A cancellation may cross a response that is on its way for this long."""
RESPONSE_GRACE_MS: Final = 2_000.0
"""So may a response cross the cancellation."""
NOT_CAPTURED: Final = CannotTell("requests may have been missed or forgotten")


def _is_cancellation(message: Message) -> bool:
    return message.is_notification and message.method == CANCELLED and "requestId" in message.params


@rule(
    "cancel_unknown_request",
    level="error",
    party="either",
    layer="payload",
    cites=BEHAVIOR,
    says="A party cancels only requests of its own, and only while they may still be in progress.",
    fix="Send the id of a request of your own that is in flight, with its JSON type.",
    exceptions=(
        "A cancellation that crosses the response is legal: up to five seconds after it nothing is said, later it is a "
        "warning. Client and server have id spaces of their own. In 2026-07-28 a server cancels subscriptions of the "
        "client; anything else is `server_cancelled_non_subscription`."
    ),
    evidence="The session from its start, without gaps.",
)
def cancelled_request_is_the_senders(message: Message, conversation: Conversation) -> Verdicts:
    if not _is_cancellation(message) or conversation.legacy_transport:
        return
    if conversation.is_modern and message.sender == "server":
        return
    call = conversation.cancelled_call(message)
    if call is None or call.sender != message.sender:
        yield from _never_sent(message, call, conversation)
    elif call.responses and message.exchange.session.may_be_shared:
        yield CannotTell("without a session id another client may have sent the request")
    elif call.responses and _is_late(call, message):
        yield Violated(
            message.path,
            "A request is cancelled although its response was delivered long before.",
            level="warning",
            party=message.sender,
        )
    else:
        yield SATISFIED


def _never_sent(message: Message, call: Call | None, conversation: Conversation) -> Verdicts:
    session = message.exchange.session
    missed = conversation.unread_post if message.sender == "client" else conversation.has_unread_streams
    seen_whole = conversation.complete_from_start and (session.from_start or conversation.is_modern)
    if not seen_whole or missed or session.calls[message.sender].forgotten:
        yield NOT_CAPTURED
        return
    request = Evidence("id", message.params["requestId"])
    whose = "the other party's request" if call is not None else "a request that its sender never made:"
    yield Violated(message.path, f"The cancellation names {whose} {{}}.", (request,), party=message.sender)


def _is_late(call: Call, message: Message) -> bool:
    answered = call.responses[0].t_ms
    return answered is not None and message.t_ms is not None and message.t_ms - answered >= COMPLETED_GRACE_MS


@rule(
    "response_after_cancel",
    level="warning",
    party="either",
    layer="payload",
    revisions=SESSION_REVISIONS,
    rule_set="extended",
    cites=BEHAVIOR[R2025_11_25],
    says="No response follows to a request that was cancelled.",
    fix="Stop working on the request, and send nothing more for it.",
    exceptions=(
        "A SHOULD NOT, and races are allowed: two seconds after the cancellation was accepted are granted. What "
        "cannot be cancelled may be answered."
    ),
    evidence="The cancellation, its 202, and the response, with times.",
)
def cancelled_request_stays_unanswered(fact: Message | Ending, conversation: Conversation) -> Verdicts:
    if isinstance(fact, Message):
        yield from _answer_after_cancellation(fact, conversation)
    elif any(call.cancelled is not None and not call.responses for call in fact.exchange.calls):
        yield SATISFIED


def _answer_after_cancellation(message: Message, conversation: Conversation) -> Verdicts:
    call = message.call
    if call is None or not message.is_response or call.cancelled is None or conversation.legacy_transport:
        return
    cancelled = call.cancelled
    accepted = cancelled.t_ms
    if cancelled.sender == "client":
        head = cancelled.exchange.head
        if head is None or not head.is_success:
            return
        accepted = head.t_ms
    if accepted is None or message.t_ms is None:
        yield CannotTell("the times of the cancellation and of the response are not both known")
    elif message.t_ms - accepted >= RESPONSE_GRACE_MS:
        yield Violated(
            message.path,
            f"A response came {(message.t_ms - accepted) / 1000:.1f} s after its request was cancelled.",
            party=message.sender,
        )


@rule(
    "cancel_notification_on_http",
    level="info",
    party="client",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    rule_set="extended",
    cites={R2026_07_28: "basic/patterns/cancellation#transport-specific-cancellation"},
    says="Over HTTP a 2026-07-28 request is cancelled by closing its stream; no notification is needed.",
    fix="Close the response stream, and send nothing.",
    exceptions="The text does not forbid the notification, and a server may accept it or refuse it.",
    evidence="The body of the POST.",
)
def closing_is_cancelling(fact: Message | Ending, _conversation: Conversation) -> Verdicts:
    if isinstance(fact, Ending):
        if fact.by_client and fact.exchange.unanswered_calls:
            yield SATISFIED
    elif fact.sender == "client" and fact.is_notification and fact.method == CANCELLED:
        yield Violated(fact.path, "The client posted notifications/cancelled; closing the stream is enough.")


@rule(
    "server_cancelled_non_subscription",
    level="error",
    party="server",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    cites=BEHAVIOR,
    says="A 2026-07-28 server cancels nothing but subscriptions/listen requests.",
    fix="Answer the request, or end its stream; send no notifications/cancelled for it.",
    exceptions=(
        "That a listen stream ends without this notification is no fault: the texts disagree on whether HTTP needs it."
    ),
    evidence="The request that the id belongs to, or a capture from the start that has no such request.",
)
def only_subscriptions_are_cancelled(fact: Message | Ending, conversation: Conversation) -> Verdicts:
    yield from once_proven(fact, Message, conversation, _names_subscription)


def _names_subscription(message: Message, conversation: Conversation) -> Verdicts:
    if message.sender != "server" or not _is_cancellation(message):
        return
    call = conversation.cancelled_call(message)
    if call is not None and call.method == "subscriptions/listen":
        yield SATISFIED
    elif call is None and (not conversation.complete_from_start or conversation.unread_post is not None):
        yield NOT_CAPTURED
    else:
        request = Evidence("id", message.params["requestId"])
        yield Violated(message.path, "The server cancels the request {}, which is no subscription.", (request,))


@rule(
    "task_cancelled_by_notification",
    level="error",
    party="either",
    layer="payload",
    revisions=(R2025_11_25,),
    rule_set="extended",
    cites=BEHAVIOR[R2025_11_25],
    says="A task is cancelled with tasks/cancel, not with notifications/cancelled.",
    fix="Send tasks/cancel with the task's id.",
    exceptions="Until the CreateTaskResult was delivered, the request itself may be cancelled.",
    evidence="The request with params.task, its result with a task, and the notification.",
)
def task_is_cancelled_by_request(message: Message, conversation: Conversation) -> Verdicts:
    if message.is_request and message.method == "tasks/cancel":
        yield SATISFIED
    if not _is_cancellation(message) or message.exchange.session.may_be_shared:
        return
    call = conversation.cancelled_call(message)
    if call is None or call.sender != message.sender or "task" not in call.request.params or not call.responses:
        return
    result = call.responses[0].result
    if result is not None and isinstance(result.get("task"), dict):
        yield Violated(message.path, "The notification cancels a request that has become a task.", party=message.sender)
