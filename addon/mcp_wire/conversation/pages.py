"""Lists in pages: which cursors were given, and the caching hints of the page that gave them.

Sources: server/utilities/pagination, and 2026-07-28 server/utilities/caching#interaction-with-pagination. Cursors are
opaque, so they are kept as digests that are only compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from mcp_wire.conversation.bounded import BoundedTable, Memory
from mcp_wire.conversation.clients import client_mark
from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Call, Message, Session
from mcp_wire.protocol.methods import method_of

MAX_CURSORS_REMEMBERED: Final = 65_536
MAX_REQUESTS_REMEMBERED: Final = 4_096
MAX_LISTS_REMEMBERED: Final = 1_024
CACHE_SCOPES: Final = frozenset({"public", "private"})
AMBIGUOUS: Final = "ambiguous"

CURSORS: Final = Memory("cursors that were given", ("cursor_not_issued", "invalid_cursor_wrong_error"))
SCOPES: Final = Memory("cache scopes of pages", ("cache_scope_inconsistent",))
UNANSWERED: Final = Memory(
    "lists that were asked for and did not come", ("cursor_not_issued", "invalid_cursor_wrong_error")
)
QUESTIONS: Final = Memory(
    "unanswered requests for a further page",
    ("cursor_not_issued", "invalid_cursor_wrong_error", "cache_scope_inconsistent"),
)

Provenance = Literal["given", "never_given", "unknown"]
"""Did the server give this cursor? `unknown`: an answer that may have held it was not seen, or was forgotten."""

_Key = tuple[bytes, bytes]


@dataclass(slots=True)
class _Question:
    """What was known of the cursor of a request when it was sent, until its answer has come."""

    provenance: Provenance
    scope_before: str | None
    is_answered: bool = False


@dataclass(slots=True)
class Pages:
    """The cursors that were given, by session and method, and in 2026-07-28 by client and method."""

    _given: BoundedTable[_Key, bool] = field(
        default_factory=lambda: BoundedTable(MAX_CURSORS_REMEMBERED, memory=CURSORS)
    )
    _unanswered: BoundedTable[bytes, int] = field(
        default_factory=lambda: BoundedTable(
            MAX_LISTS_REMEMBERED, lambda unanswered: not unanswered, done_is_spent=True, memory=UNANSWERED
        )
    )
    """List requests whose answer has not been seen: it may have given any cursor."""
    _scopes: BoundedTable[_Key, str] = field(
        default_factory=lambda: BoundedTable(MAX_CURSORS_REMEMBERED, memory=SCOPES)
    )
    """The scope of the page that gave a cursor; AMBIGUOUS where pages with two scopes gave the same."""
    _asked: BoundedTable[tuple[str, tuple[str, ...]], _Question] = field(
        default_factory=lambda: BoundedTable(
            MAX_REQUESTS_REMEMBERED, is_done=lambda question: question.is_answered, done_is_spent=True, memory=QUESTIONS
        )
    )
    """By exchange and id."""

    def take(self, message: Message, revision: str) -> None:
        """Learn from a list request of the client, or from its answer."""
        call = message.call
        if call is None or call.sender != "client" or call.method is None:
            return
        method = method_of(revision, "client", call.method)
        if method is None or not method.paginated:
            return
        if message.is_request:
            self._request(message)
        elif message.is_response and message.sender == "server" and call.responses and call.responses[0] is message:
            self._answer(message, call)

    def provenance(self, request: Message) -> Provenance | None:
        """What was known of the cursor when this list request was sent; None where it has none."""
        question = self._question(request)
        return None if question is None else question.provenance

    def scope_before(self, request: Message) -> str | None:
        """The cacheScope of the page that gave the cursor of this request; None where that is not known."""
        question = self._question(request)
        return None if question is None else question.scope_before

    def _question(self, request: Message) -> _Question | None:
        key = request.envelope.id_key
        return None if key is None else self._asked.get((request.exchange.id, key))

    def _request(self, request: Message) -> None:
        where = _list(request.exchange.session, request.method)
        cursor, key = request.params.get("cursor"), request.envelope.id_key
        if isinstance(cursor, str) and key is not None:
            scope = self._scopes.get((_client_list(request), digest(cursor)))
            known = None if scope == AMBIGUOUS else scope
            self._asked.put((request.exchange.id, key), _Question(self._provenance(where, digest(cursor)), known))
        self._unanswered.put(where, (self._unanswered.get(where) or 0) + 1)

    def _provenance(self, where: bytes, cursor: bytes) -> Provenance:
        if (where, cursor) in self._given:
            return "given"
        is_whole = not self._given.forgotten and not self._unanswered.forgotten_undone
        return "never_given" if is_whole and not self._unanswered.get(where) else "unknown"

    def _answer(self, message: Message, call: Call) -> None:
        request, result = call.request, message.result
        where = _list(request.exchange.session, request.method)
        question = self._question(request)
        if question is not None:
            question.is_answered = True
        self._unanswered.put(where, max((self._unanswered.get(where) or 0) - 1, 0))
        cursor = result.get("nextCursor") if result is not None else None
        if result is None or not isinstance(cursor, str):
            return
        self._given.put((where, digest(cursor)), True)
        scope = result.get("cacheScope")
        if isinstance(scope, str) and scope in CACHE_SCOPES:
            key = (_client_list(request), digest(cursor))
            self._scopes.put(key, scope if self._scopes.get(key) in (None, scope) else AMBIGUOUS)


def _list(session: Session, method: str | None) -> bytes:
    return digest(f"{session.id or ''} {method}")


def _client_list(request: Message) -> bytes:
    """Equal for the same list, asked for by clients that look alike."""
    return digest(request.method or "") + client_mark(request.exchange.request)
