"""Which message belongs on which stream (transports#multiple-connections)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Message
from mcp_wire.judging.declaration import SATISFIED, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28

BOOK: Final = RuleBook("stream")
rule = BOOK.rule


@rule(
    "cross_stream_duplicate",
    level="error",
    party="server",
    layer="stream_routing",
    cites={
        R2025_03_26: "basic/transports#multiple-connections",
        R2025_06_18: "basic/transports#multiple-connections",
        R2025_11_25: "basic/transports#multiple-connections",
        R2026_07_28: "basic/transports/streamable-http#receiving-messages",
    },
    says="Each message is sent on exactly one of several concurrent streams.",
    fix="Choose one stream for each message; never broadcast.",
    exceptions=(
        "Concurrent means: overlapping streams of one session (or of one operator-asserted concurrent_group). "
        "Redelivery on the stream that resumes the other is legal. Without an id two equal notifications may be two "
        "real events: a warning. Subscriptions of 2026-07-28 are told apart by their subscription id."
    ),
    evidence="Two streams of one session that were open at the same time, seen from their first byte.",
)
def message_is_on_one_stream(message: Message, conversation: Conversation) -> Verdicts:
    if message.sender != "server" or message.event is None:
        return
    twin = conversation.delivered.twin_of(message)
    if twin is None:
        yield SATISFIED
        return
    where = f"event {twin.event_index} of exchange {twin.exchange_index}"
    if message.envelope.id_present:
        yield Violated(message.path, f"The same message was sent on another concurrent stream ({where}).")
    else:
        yield Violated(
            message.path,
            f"An equal notification was sent on another concurrent stream ({where}); whether it is the same one "
            "must be checked by hand.",
            level="warning",
        )
