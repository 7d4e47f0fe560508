"""Recovery advice: the least destructive step that the evidence allows, and the bounds that make it safe.

The tool only advises. A timeout, an end of file or a reset does not prove that the server did nothing, so repeating a
request is never advised without the operator's own word (`idempotent`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from mcp_wire.conversation.bounded import BoundedTable
from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Ending, Exchange, Fact
from mcp_wire.wire.observation import Ended

Action = Literal["resume-with-get", "manual-reissue-with-fresh-jsonrpc-id", "do-not-replay"]

MAX_BROKEN_EXCHANGES: Final = 4_096

# Statuses with which a gateway answers when it does not know what became of the request behind it.
UNKNOWN_FATE_STATUSES: Final = frozenset({408, 500, 502, 503, 504})

RESUME: Final = (
    "GET the endpoint with Accept: text/event-stream, the session id and protocol version in force, and Last-Event-ID "
    "set to the last event id of the interrupted stream; do not send the POST again."
)
REISSUE: Final = (
    "The operator vouches that repeating this operation is safe. Confirm first that no result was committed unseen, "
    "use a new JSON-RPC id, the same parameters, and at most one attempt before looking again."
)
RELISTEN: Final = (
    "Send subscriptions/listen again with a new JSON-RPC id, then fetch what may have changed meanwhile: the lost "
    "stream is not resumed."
)
STOP: Final = (
    "Nothing proves that the server did not act. Establish the result out of band before anything is sent again; a "
    "repetition needs an explicit idempotency decision and a new JSON-RPC id."
)
REOPEN_WITHOUT_CURSOR: Final = (
    "No event id was committed, so the interrupted stream cannot be resumed: messages of the gap may be lost. "
    "Open a new stream rather than repeat anything."
)


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about one interrupted exchange. `condition` states the bounds under which the action is safe."""

    exchange: str
    path: str
    action: Action
    condition: str


class RecoveryAdvisor:
    """Watches the endings of one conversation; `advice` is worked out from the linked state when it is asked for."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._broken: BoundedTable[str, Exchange] = BoundedTable(MAX_BROKEN_EXCHANGES)

    def take(self, fact: Fact) -> None:
        if isinstance(fact, Ending) and _is_worth_remembering(fact):
            self._broken.put(fact.exchange.id, fact.exchange)

    def advice(self) -> list[Advice]:
        """Advice for every exchange that is still unresolved, in the order of the exchanges."""
        found = [advice for exchange in self._broken.values() if (advice := self._for(exchange)) is not None]
        return sorted(found, key=lambda advice: int(advice.path.rpartition("/")[2]))

    def _for(self, exchange: Exchange) -> Advice | None:
        outcome = self._decide(exchange)
        return None if outcome is None else Advice(exchange.id, exchange.path, *outcome)

    def _decide(self, exchange: Exchange) -> tuple[Action, str] | None:
        ending = exchange.ending
        assert ending is not None
        profile = self._conversation.profile
        operator_says_cut = ending.ended is None and ending.disconnected is True
        method = exchange.request.method.upper()
        if not operator_says_cut and _nothing_lost(exchange, ending):
            return None
        if profile is None:
            return "do-not-replay", STOP
        if method == "GET":
            return self._for_get(exchange, profile.has_sessions)
        if profile.has_sessions and exchange.stream is not None and exchange.stream.cursor is not None:
            delay = exchange.stream.retry_ms
            wait = f" Wait {delay} ms first, as the server's retry field asks." if delay else ""
            return "resume-with-get", RESUME + wait
        if any(call.method == "subscriptions/listen" for call in exchange.calls):
            return "manual-reissue-with-fresh-jsonrpc-id", RELISTEN
        if exchange.idempotent:
            return "manual-reissue-with-fresh-jsonrpc-id", REISSUE
        return "do-not-replay", STOP

    def _for_get(self, exchange: Exchange, has_sessions: bool) -> tuple[Action, str] | None:
        if has_sessions and exchange.stream is not None and exchange.stream.cursor is not None:
            return "resume-with-get", RESUME
        return "do-not-replay", REOPEN_WITHOUT_CURSOR if has_sessions else STOP


def _is_worth_remembering(ending: Ending) -> bool:
    exchange = ending.exchange
    if ending.ended is Ended.OPEN:
        return False
    if ending.disconnected:
        return True
    if exchange.request.method.upper() == "GET":
        return exchange.is_event_stream and ending.ended not in (None, Ended.CLIENT_CLOSED)
    return bool(exchange.unanswered_calls)


def _nothing_lost(exchange: Exchange, ending: Ending) -> bool:
    """Every request has its response (on whatever stream), was given up by its client, or was refused for good."""
    if exchange.request.method.upper() == "GET":
        return _get_needs_nothing(exchange, ending)
    waiting = [call for call in exchange.unanswered_calls if call.cancelled is None]
    if not waiting or exchange.session.deleted is not None:
        return True
    if exchange.head is None:
        return ending.ended in (None, Ended.COMPLETE)
    if not exchange.is_event_stream:
        # A refusal without a JSON-RPC message is an answer; a body that was not captured proves nothing.
        cut = ending.ended not in (None, Ended.COMPLETE)
        return not cut and exchange.head.status not in UNKNOWN_FATE_STATUSES
    if ending.ended is None:
        return ending.disconnected is not True
    return False


def _get_needs_nothing(exchange: Exchange, ending: Ending) -> bool:
    """A GET stream lost nothing if its client left, or went on with it, or if the session is over."""
    if not exchange.is_event_stream or ending.by_client or exchange.session.deleted is not None:
        return True
    stream = exchange.stream
    if stream is None or stream.current is not exchange:
        return True
    # A resumed stream has done its work once the requests that began it are answered.
    if stream.origin.calls:
        return not any(call.is_in_flight for call in stream.origin.calls)
    return stream.cursor is None
