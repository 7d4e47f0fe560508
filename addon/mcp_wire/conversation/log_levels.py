"""Which log level a session has asked for (2025-11-25 server/utilities/logging#setting-log-level)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Memory
from mcp_wire.conversation.facts import Message, Session
from mcp_wire.wire.observation import Milliseconds

MAX_SESSIONS_REMEMBERED: Final = 1_024
LEVELS: Final = Memory("log levels of sessions", ("log_below_requested_level",))
SET_LEVEL: Final = "logging/setLevel"
LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""By rising severity (RFC 5424 6.2.1)."""


@dataclass(slots=True)
class LogLevel:
    """The level in force: what the latest answered `logging/setLevel` asked for, and when it was answered.

    `level` None: it was no known level. `pending`: requests that are not answered yet.
    """

    level: str | None = None
    since_ms: Milliseconds | None = None
    pending: int = 0


@dataclass(slots=True)
class LogLevels:
    """The levels of all sessions that have asked for one."""

    _by_session: BoundedTable[Session, LogLevel] = field(
        default_factory=lambda: BoundedTable(MAX_SESSIONS_REMEMBERED, memory=LEVELS)
    )

    def of(self, session: Session) -> LogLevel | None:
        """None where the session was not seen to ask for a level."""
        return self._by_session.get(session)

    def take(self, message: Message) -> None:
        """Learn from a message of a revision with sessions."""
        call = message.call
        if call is None or call.sender != "client" or call.method != SET_LEVEL:
            return
        session = call.request.exchange.session
        if message.is_request:
            found = self.of(session) or LogLevel()
            found.pending += 1
            self._by_session.put(session, found)
            return
        known = self.of(session)
        if known is None or call.responses[0] is not message:
            return
        known.pending -= 1
        if message.result is not None:
            level = call.request.params.get("level")
            known.level = level if isinstance(level, str) and level in LOG_LEVELS else None
            known.since_ms = message.t_ms
