"""Duties of 2026-07-28 bind a server once it has shown that it speaks that revision (a result with `resultType`, an
error -32020 to -32022, a `server/discover` result). What it sent before waits for the end of its exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Ending, Event, Message
from mcp_wire.judging.declaration import CannotTell, Verdicts

UNPROVEN: Final = CannotTell("nothing shows that the server speaks 2026-07-28")


def is_proven(conversation: Conversation) -> bool:
    """The archived profile judges every server, as it always did."""
    archived = conversation.profile is not None and conversation.profile.archived
    return conversation.server_is_modern or archived


def once_proven[Kind: (Event, Message)](
    fact: Kind | Ending, kind: type[Kind], conversation: Conversation, judge: Callable[[Kind, Conversation], Verdicts]
) -> Verdicts:
    """The verdicts on one fact of the server, or at the end of its exchange on those facts that had to wait."""
    if not isinstance(fact, Ending):
        if is_proven(conversation):
            yield from judge(fact, conversation)
        return
    waiting = [one for one in fact.exchange.unproven if isinstance(one, kind)]
    verdicts = [verdict for one in waiting for verdict in judge(one, conversation)]
    if is_proven(conversation):
        yield from verdicts
    elif verdicts:
        yield UNPROVEN
