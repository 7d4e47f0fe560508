"""Which request a progress token belongs to, and how far it has come (2025-11-25 basic/utilities/progress)."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Memory
from mcp_wire.conversation.facts import Call, Message, Sender, Session
from mcp_wire.protocol.methods import other_party
from mcp_wire.wire.jsonrpc import id_key
from mcp_wire.wire.records import record
from mcp_wire.wire.strict_json import LongInteger, is_integer

MAX_TOKENS_REMEMBERED: Final = 4_096
MAX_TOKEN_BYTES_REMEMBERED: Final = 16 * 1024 * 1024
"""Bytes of the requests that the tokens belong to, roughly."""
MAX_DIGITS_COMPARED: Final = 4_096
"""A longer progress value is not compared."""

TOKENS: Final = Memory(
    "progress tokens",
    (
        "progress_unknown_token",
        "progress_after_completion",
        "progress_not_increasing",
        "progress_token_invalid",
        "unrelated_message_on_stream",
        "message_for_cancelled_request",
    ),
)

TokenKey = tuple[str, ...]


@record
class ProgressSeen:
    """What one `notifications/progress` says of its request.

    `on_own_stream`: it came on the stream of that request. `previous`: the value before this one, `value` this one;
    None where there is none that can be compared.
    """

    call: Call
    on_own_stream: bool
    previous: Decimal | None
    value: Decimal | None


@dataclass(slots=True)
class ProgressTokens:
    """The latest request for each token, by session and requestor. 1 and "1" are different tokens."""

    _calls: BoundedTable[tuple[Session, Sender, TokenKey], Call] = field(
        default_factory=lambda: BoundedTable(
            MAX_TOKENS_REMEMBERED,
            lambda call: not call.is_in_flight,
            weight_ceiling=MAX_TOKEN_BYTES_REMEMBERED,
            memory=TOKENS,
        )
    )
    _message: Message | None = None
    _seen: ProgressSeen | None = None
    _holder: Call | None = None

    @property
    def forgotten_any(self) -> bool:
        return self._calls.forgotten > 0

    @property
    def done_is_spent(self) -> bool:
        """Nothing will ask for the token of a call that is over: in 2026-07-28 progress comes on the call's stream."""
        return self._calls.done_is_spent

    @done_is_spent.setter
    def done_is_spent(self, is_spent: bool) -> None:
        self._calls.done_is_spent = is_spent

    def take(self, message: Message, *, redelivered: bool) -> None:
        """Learn from a request that is linked to its call, or from a progress notification."""
        self._message, self._seen, self._holder = message, None, None
        session, key = message.exchange.session, token_key(message)
        if key is None:
            return
        if message.is_request and message.call is not None:
            place = (session, message.sender, key)
            self._holder = self._calls.get(place)
            self._calls.put(place, message.call, message.size)
        elif message.method == "notifications/progress":
            self._seen = self._progress(message, key)
            if self._seen is not None and self._seen.value is not None and not redelivered:
                self._seen.call.latest_progress = self._seen.value

    def holder_before(self, request: Message) -> Call | None:
        """The call that had this request's token until now; asked while the request is judged."""
        return self._holder if self._message is request else None

    def seen(self, progress: Message) -> ProgressSeen | None:
        """Whose progress it is, None for a token that no request had; asked while it is judged."""
        return self._seen if self._message is progress else None

    def _progress(self, message: Message, key: TokenKey) -> ProgressSeen | None:
        own = own_call(message, key)
        call = own or self._calls.get((message.exchange.session, other_party(message.sender), key))
        if call is None:
            return None
        value = _comparable(message.params.get("progress"))
        return ProgressSeen(call, own is not None, call.latest_progress, value)


def token_key(message: Message) -> TokenKey | None:
    """The valid token that a request offers in `_meta` or a progress notification names; None where there is none."""
    values = message.meta if message.is_request else message.params
    token = values.get("progressToken")
    return id_key(token) if isinstance(token, str) or is_integer(token) else None


def own_call(message: Message, key: TokenKey) -> Call | None:
    """The request with this token that opened the stream on which a server's message came."""
    if message.sender != "server":
        return None
    stream = message.exchange.stream
    for exchange in (message.exchange, stream.origin if stream is not None else message.exchange):
        for call in exchange.calls:
            if token_key(call.request) == key:
                return call
    return None


def _comparable(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | LongInteger):
        return None
    if isinstance(value, float):
        return Decimal(repr(value)) if value - value == 0 else None
    digits = value.text if isinstance(value, LongInteger) else None
    if digits is not None and len(digits) > MAX_DIGITS_COMPARED:
        return None
    return Decimal(digits if digits is not None else value)  # type: ignore[arg-type]
