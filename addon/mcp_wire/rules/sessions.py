"""Sessions of the 2025 revisions, and their absence afterwards (transports#session-management)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Request
from mcp_wire.judging.declaration import SATISFIED, RuleBook, Verdicts, Violated
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2026_07_28

BOOK: Final = RuleBook("session")
rule = BOOK.rule


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
