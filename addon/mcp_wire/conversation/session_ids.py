"""Session ids that were given out, and the credentials that each session was used with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Limit, Memory
from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Exchange, ResponseHead

MAX_IDS_REMEMBERED: Final = 4_096
MAX_CREDENTIALS_A_SESSION: Final = 16

GIVEN_IDS: Final = Memory("session ids that were given out", ("session_id_weak",))
CREDENTIALS: Final = Memory("credentials that sessions were used with", ("session_shared_across_principals",))


@dataclass(slots=True)
class SessionIds:
    """What was given out by `initialize`, and how it was used. Values are kept as digests that are only compared."""

    given: BoundedTable[bytes, Exchange] = field(
        default_factory=lambda: BoundedTable(MAX_IDS_REMEMBERED, memory=GIVEN_IDS)
    )
    repeated: Exchange | None = None
    """The latest initialize exchange whose id an earlier one was given already."""
    credentials: BoundedTable[bytes, list[bytes]] = field(
        default_factory=lambda: BoundedTable(MAX_IDS_REMEMBERED, memory=CREDENTIALS)
    )
    _a_session_limit: Limit = field(
        default_factory=lambda: Limit(CREDENTIALS, f"{MAX_CREDENTIALS_A_SESSION} of one session")
    )
    returned: Exchange | None = None
    """The latest exchange that went back to a credential which its session had left for another one."""

    def take(self, head: ResponseHead) -> None:
        exchange, request = head.exchange, head.exchange.request
        if head.session_id and request.is_initialize and head.is_success:
            key = digest(head.session_id)
            if key in self.given:
                self.repeated = exchange
            else:
                self.given.put(key, exchange)
        authorization = request.headers.get("authorization")
        if request.session_id and authorization is not None and head.is_success:
            self._used(exchange, digest(request.session_id), digest(authorization))

    def _used(self, exchange: Exchange, session: bytes, credential: bytes) -> None:
        used = self.credentials.get(session)
        if used is None:
            self.credentials.put(session, [credential])
        elif used[-1] != credential:
            if credential in used:
                self.returned = exchange
                used.remove(credential)
            used.append(credential)
            if len(used) > MAX_CREDENTIALS_A_SESSION:
                del used[0]
                self._a_session_limit.lose()
