"""`notifications/progress` and the tokens that ask for it (2025-11-25 basic/utilities/progress)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Call, Message
from mcp_wire.conversation.progress_tokens import ProgressSeen, token_key
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.methods import other_party
from mcp_wire.protocol.profiles import R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28
from mcp_wire.wire.evidence import Evidence

BOOK: Final = RuleBook("progress")
rule = BOOK.rule

FLOW: Final = {
    R2025_03_26: "basic/utilities/progress#progress-flow",
    R2025_06_18: "basic/utilities/progress#progress-flow",
    R2025_11_25: "basic/utilities/progress#progress-flow",
    R2026_07_28: "basic/patterns/progress#progress-flow",
}
BEHAVIOR: Final = {
    R2025_03_26: "basic/utilities/progress#behavior-requirements",
    R2025_06_18: "basic/utilities/progress#behavior-requirements",
    R2025_11_25: "basic/utilities/progress#behavior-requirements",
    R2026_07_28: "basic/patterns/progress#behavior-requirements",
}
NOTES: Final = {
    R2025_03_26: "basic/utilities/progress#implementation-notes",
    R2025_06_18: "basic/utilities/progress#implementation-notes",
    R2025_11_25: "basic/utilities/progress#implementation-notes",
    R2026_07_28: "basic/patterns/progress#implementation-notes",
}
PROGRESS: Final = "notifications/progress"

COMPLETION_GRACE_MS: Final = 1_000.0
"""On another stream, progress may overtake the response, or be overtaken by it, for this long."""
CLIENTS_UNKNOWN: Final = CannotTell("without a session id several clients may share the capture")


@rule(
    "progress_token_invalid",
    level="error",
    party="either",
    layer="payload",
    version_neutral=True,
    cites=FLOW,
    says="A progress token is a string or an integer that no other active request of its sender has.",
    fix="Use the request's own id as its token, or count.",
    exceptions=(
        "A request is active until its response, its cancellation, or the end of its stream. Different clients may use "
        'equal tokens. 1 and "1" are different tokens.'
    ),
    evidence="The request; for uniqueness also the other one, in one session of one client.",
    consequence_of=("post_replayed_same_id", "request_id_reused"),
)
def token_is_valid(message: Message, conversation: Conversation) -> Verdicts:
    if not message.is_request or "progressToken" not in message.meta or conversation.legacy_transport:
        return
    if token_key(message) is None:
        kind = "null" if message.meta["progressToken"] is None else "neither a string nor an integer"
        yield Violated(message.path, f"The progress token is {kind}.", party=message.sender)
        return
    holder = conversation.progress.holder_before(message)
    if holder is None or not _is_active(holder):
        yield SATISFIED
    elif holder.request.exchange is not message.exchange and message.exchange.session.may_be_shared:
        yield CLIENTS_UNKNOWN
    else:
        yield Violated(
            message.path,
            f"The progress token is that of another active request (in exchange {holder.request.exchange.index}).",
            party=message.sender,
        )


def _is_active(call: Call) -> bool:
    if not call.is_in_flight:
        return False
    if call.sender == "server":
        return True
    exchange = call.request.exchange
    current = exchange.stream.current if exchange.stream is not None else exchange
    return current.ending is None


@rule(
    "progress_unknown_token",
    level="error",
    party="either",
    layer="payload",
    version_neutral=True,
    cites=BEHAVIOR,
    says="Progress is sent only for tokens that a request of the receiver gave.",
    fix="Echo the token of the request with its JSON type, and send no progress for requests without one.",
    exceptions="Where requests may have been missed, or parts of them cut out of the transcript, nothing is said.",
    evidence="The session from its start, without gaps and with whole payloads.",
    consequence_of=("request_scoped_on_listen", "replay_from_other_stream"),
)
def token_was_given(message: Message, conversation: Conversation) -> Verdicts:
    key = token_key(message)
    if message.method != PROGRESS or not message.is_notification or key is None or conversation.legacy_transport:
        return
    if conversation.progress.seen(message) is not None:
        yield SATISFIED
    elif not conversation.payloads_whole:
        yield CannotTell("parts of the requests may have been cut out of the transcript")
    elif not _saw_every_request(message, conversation):
        yield CannotTell("requests may have been missed or forgotten")
    else:
        token = Evidence("token", message.params["progressToken"])
        receiver = other_party(message.sender)
        yield Violated(
            message.path,
            f"Progress came for the token {{}}, which no request of the {receiver} had.",
            (token,),
            party=message.sender,
        )


def _saw_every_request(message: Message, conversation: Conversation) -> bool:
    session = message.exchange.session
    if conversation.progress.forgotten_any or session.calls[other_party(message.sender)].forgotten:
        return False
    if not conversation.complete_from_start or not (session.from_start or conversation.is_modern):
        return False
    return not (conversation.unread_post if message.sender == "server" else conversation.has_unread_streams)


@rule(
    "progress_not_increasing",
    level="error",
    party="either",
    layer="payload",
    version_neutral=True,
    cites=FLOW,
    says="The progress value increases with each notification for a request.",
    fix="Send a larger value each time; where nothing has advanced, send nothing.",
    exceptions=(
        "Values are compared as decimals (3 and 3.0 are equal). Events that are delivered again on a resumed stream do "
        "not count, and a token that a later request uses again starts anew."
    ),
    evidence="Two notifications for one request.",
    consequence_of=("replay_from_other_stream", "cross_stream_duplicate"),
)
def progress_increases(message: Message, conversation: Conversation) -> Verdicts:
    seen = conversation.progress.seen(message)
    if seen is None or seen.value is None or conversation.legacy_transport or _is_redelivered(message, conversation):
        return
    if seen.previous is None or seen.previous < seen.value:
        yield SATISFIED
    elif not _is_certain(message, seen):
        yield CLIENTS_UNKNOWN
    elif conversation.event_ids.forgotten_any and message.exchange.request.last_event_id is not None:
        yield CannotTell("events are forgotten, so that this one may be delivered again")
    else:
        how = "repeats" if seen.previous == seen.value else "is smaller than"
        yield Violated(message.path, f"The progress value {how} the one before it.", party=message.sender)


@rule(
    "progress_after_completion",
    level="error",
    party="either",
    layer="payload",
    version_neutral=True,
    cites=NOTES,
    says="Progress stops when the request is completed.",
    fix="Send no progress once the response was sent.",
    exceptions=(
        "On another stream than the response's a second is granted, because streams have no order. Events that are "
        "delivered again on a resumed stream do not count. Progress of a task goes on until the task is done."
    ),
    evidence="The response, and a later notification with the token of its request.",
    consequence_of=("replay_from_other_stream",),
)
def progress_stops(message: Message, conversation: Conversation) -> Verdicts:
    seen = conversation.progress.seen(message)
    if seen is None or conversation.legacy_transport or _is_redelivered(message, conversation):
        return
    if not seen.call.responses:
        yield SATISFIED
        return
    response = seen.call.responses[0]
    if "task" in seen.call.request.params:
        return
    if not _is_certain(message, seen):
        yield CLIENTS_UNKNOWN
    elif message.exchange is response.exchange and message.sender == "server":
        yield Violated(message.path, "Progress came after the response on the same stream.", party="server")
    elif message.exchange.request.last_event_id is not None:
        yield CannotTell("a resumed stream may deliver earlier progress late")
    elif message.t_ms is None or response.t_ms is None:
        yield CannotTell("the times of the response and of the progress are not both known")
    elif message.t_ms - response.t_ms >= COMPLETION_GRACE_MS:
        yield Violated(
            message.path,
            f"Progress came {(message.t_ms - response.t_ms) / 1000:.1f} s after the response.",
            party=message.sender,
        )


def _is_redelivered(message: Message, conversation: Conversation) -> bool:
    return message.event is not None and conversation.event_ids.was_delivered_before(message.event)


def _is_certain(message: Message, seen: ProgressSeen) -> bool:
    """It is about this request and no other client's with the same token."""
    return seen.on_own_stream or not message.exchange.session.may_be_shared
