"""Labels for session ids in a flow list: sessions are told apart, and their ids are not shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mitmproxy import http

from mcp_wire.privacy.labels import Labels
from mcp_wire.reports.words import printable

MAX_SESSIONS: Final = 4_096
"""Of which the order is remembered."""
_SESSION: Final = "mcp-session-id"


class SessionLabels:
    """`session-A`, `session-B`, … in the order in which sessions were seen, over all endpoints of this run."""

    def __init__(self) -> None:
        self._labels = Labels()
        self._seen: dict[str, None] = {}

    def of(self, flow: http.HTTPFlow) -> str | None:
        """The label of the session that an exchange belongs to, or opens; None without a session id."""
        session = flow.request.headers.get(_SESSION)
        if not session and flow.response is not None:
            session = flow.response.headers.get(_SESSION)
        if session and len(self._seen) < MAX_SESSIONS:
            self._seen[session] = None
        return printable(self._labels.text(session, "session")) if session else None

    def seen(self) -> Iterable[str]:
        """The ids themselves, in their order."""
        return self._seen
