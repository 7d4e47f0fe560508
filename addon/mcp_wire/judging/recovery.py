"""Recovery advice: the least destructive step that the evidence allows, and the bounds that make it safe.

The tool only advises. A timeout, an end of file or a reset does not prove that the server did nothing, so repeating a
request is never advised without somebody's word: the transcript's own (`idempotent`), or an owner's complete decision.
A decision that is not complete outweighs the transcript's word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from mcp_wire.conversation.bounded import BoundedTable, Memory
from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Ending, Exchange, Fact, LogicalStream, Session
from mcp_wire.judging.idempotency import Decision, Decisions
from mcp_wire.privacy.labels import is_label
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.observation import Ended

Action = Literal["resume-with-get", "manual-reissue-with-fresh-jsonrpc-id", "do-not-replay"]
type Outcome = tuple[Action, str] | tuple[Action, str, Decision]

MAX_BROKEN_EXCHANGES: Final = 4_096

BROKEN: Final = Memory("exchanges that were interrupted", follows="Recovery advice is given for the latest only.")

# Statuses with which a gateway answers when it does not know what became of the request behind it.
UNKNOWN_FATE_STATUSES: Final = frozenset({408, 500, 502, 503, 504})
# Messages without an id that may be sent twice: they say the same again.
REPEATABLE_NOTIFICATIONS: Final = frozenset({"notifications/initialized", "notifications/cancelled"})

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
RENEW_SESSION: Final = (
    "The session is over, so the server did not act. Initialize anew without a session id first; then the owner of the "
    "request may send it once more in the new session, with a new JSON-RPC id."
)
NEVER_STARTED: Final = (
    "HTTP/2 REFUSED_STREAM says that the server did not begin to process the request. Its owner may send it again with "
    "a new JSON-RPC id, a bounded number of times."
)
REPETITION_REFUSED: Final = (
    "The server did not act on this one, but it repeats a request whose result was not seen, and which may have taken "
    "effect. Establish that result out of band before anything is sent again."
)
ASK_FOR_TASK: Final = " It was to run as a task: look for it with tasks/list or tasks/get first."
IF_STILL_WANTED: Final = (
    " The client itself left, which is no cancellation: if the result is not wanted any more, send "
    "notifications/cancelled instead."
)
LEFT_UNCANCELLED: Final = (
    " The client itself left, which is no cancellation: the server may go on with the request. If the result is not "
    "wanted any more, send notifications/cancelled."
)
SESSION_OVER: Final = (
    " Its session is over, so that its stream cannot be resumed, and whatever is sent needs a new session."
)
LOST_MESSAGE: Final = (
    "No 202 was seen, so it is not known whether the message arrived. It has no response to wait for: find out by its "
    "effect before anything is sent again."
)
STOP: Final = (
    "Nothing proves that the server did not act. Establish the result out of band before anything is sent again; a "
    "repetition needs an explicit idempotency decision and a new JSON-RPC id."
)
NO_DECISION: Final = " No idempotency decision is about this exchange"
"""How the sentence begins that says why no decision counts; what follows names the tool as the transcript does."""
OUTWEIGHED: Final = " That the transcript calls the exchange idempotent does not make up for it."
LOOK_FIRST: Final = " It was made for every call of the tool: make sure that this one left no result unseen."
REOPEN_WITHOUT_CURSOR: Final = (
    "No event id was committed, so the interrupted stream cannot be resumed: messages of the gap may be lost. "
    "Open a new stream rather than repeat anything."
)
REOPEN_IN_NEW_SESSION: Final = (
    "The session is over, so the interrupted stream cannot be resumed: messages of the gap may be lost. Open a new "
    "stream in a new session rather than repeat anything."
)


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about one interrupted exchange. `condition` states the bounds under which the action is safe.

    `decision`: the idempotency decision, complete or not, that the action hangs on.
    """

    exchange: str
    path: str
    action: Action
    condition: str
    decision: Decision | None = None


class RecoveryAdvisor:
    """Watches the endings of one conversation; `advice` is worked out from the linked state when it is asked for.

    `decisions` None: nobody has given any. `show` gives a tool's name as the transcript has it: a decision about a tool
    whose name is redacted there does not count, so that the transcript by itself leads to the same advice.
    """

    def __init__(
        self,
        conversation: Conversation,
        decisions: Decisions | None = None,
        show: Callable[[Evidence], str] = lambda evidence: str(evidence.value),
    ) -> None:
        self._conversation = conversation
        self._decisions = decisions
        self._show = show
        self._broken: BoundedTable[str, Exchange] = BoundedTable(
            MAX_BROKEN_EXCHANGES,
            lambda exchange: self._for(exchange, None) is None,
            done_is_spent=True,
            memory=BROKEN,
        )
        if self._broken.limit is not None:
            self._broken.limit.tell = conversation.note_loss

    def take(self, fact: Fact) -> None:
        if isinstance(fact, Ending) and _is_worth_remembering(fact):
            self._broken.put(fact.exchange.id, fact.exchange)

    def advice(self, server: str | None = None) -> list[Advice]:
        """Advice for every exchange that is still unresolved, in the order of the exchanges. `server`: its name."""
        found = [advice for exchange in self._broken.values() if (advice := self._for(exchange, server)) is not None]
        return sorted(found, key=lambda advice: int(advice.path.rpartition("/")[2]))

    def remembers(self, exchange: str) -> bool:
        """Was this exchange interrupted in a way that may need advice?"""
        return exchange in self._broken

    def advice_for(self, exchange: str, server: str | None = None) -> Advice | None:
        """Advice for one exchange, by its id, as things stand now."""
        broken = self._broken.get(exchange)
        return self._for(broken, server) if broken is not None else None

    def _for(self, exchange: Exchange, server: str | None) -> Advice | None:
        outcome = self._decide(exchange, server)
        return None if outcome is None else Advice(exchange.id, exchange.path, *outcome)

    def _decide(self, exchange: Exchange, server: str | None) -> Outcome | None:
        ending = exchange.ending
        assert ending is not None
        profile = self._conversation.profile
        operator_says_cut = ending.ended is None and ending.disconnected is True
        if exchange.owes_nothing_but_202 and not operator_says_cut:
            return "do-not-replay", LOST_MESSAGE
        if self._is_refused_for_its_session(exchange):
            return _known_not_to_have_acted(exchange, RENEW_SESSION)
        if not operator_says_cut and _nothing_lost(exchange, ending):
            return None
        if profile is None:
            return "do-not-replay", STOP
        if ending.proves_unprocessed:
            return _known_not_to_have_acted(exchange, NEVER_STARTED)
        session_over = profile.has_sessions and _is_over(exchange.session)
        stream = exchange.stream if profile.has_sessions and not session_over else None
        resumable = stream is not None and stream.cursor is not None and not _resumption_failed(exchange, stream)
        if exchange.request.method.upper() == "GET":
            if resumable:
                return "resume-with-get", RESUME + _wait(stream)
            if session_over:
                return "do-not-replay", REOPEN_IN_NEW_SESSION
            return "do-not-replay", REOPEN_WITHOUT_CURSOR if profile.has_sessions else STOP
        if resumable:
            return "resume-with-get", RESUME + _wait(stream) + (IF_STILL_WANTED if ending.by_client else "")
        if ending.by_client and not profile.has_sessions:
            return None  # closing the stream cancels (2026-07-28 basic/transports/streamable-http#cancellation)
        # "Disconnection SHOULD NOT be interpreted as the client cancelling its request" (2025-11-25 basic/transports).
        left = LEFT_UNCANCELLED if ending.by_client else ""
        return self._without_resumption(exchange, server, SESSION_OVER if session_over else left)

    def _without_resumption(self, exchange: Exchange, server: str | None, circumstances: str) -> Outcome:
        if exchange.calls and all(call.method == "subscriptions/listen" for call in exchange.calls):
            return "manual-reissue-with-fresh-jsonrpc-id", RELISTEN
        task = ASK_FOR_TASK if any("task" in call.request.params for call in exchange.calls) else ""
        more = circumstances + task
        decision = self._decision(exchange, server)
        if decision is not None:
            action, condition = _decided(exchange, decision)
            return action, condition + more, decision
        if exchange.idempotent:
            if _was_sent_again(exchange):
                return "do-not-replay", _left_alone(exchange) + more
            return "manual-reissue-with-fresh-jsonrpc-id", REISSUE + more
        return "do-not-replay", STOP + self._why_no_decision(exchange, server) + more

    def _decision(self, exchange: Exchange, server: str | None) -> Decision | None:
        """The one about the exchange; failing that, the one about the tool that all its open requests call."""
        if self._decisions is None:
            return None
        found = self._decisions.of_exchange(exchange.id)
        tool = _tool_of(exchange)
        if found is None and tool is not None and self._show(Evidence("name", tool)) == tool:
            found = self._decisions.of_tool(tool, server)
        return found

    def _why_no_decision(self, exchange: Exchange, server: str | None) -> str:
        if self._decisions is None:
            return ""
        tool = _tool_of(exchange)
        if tool is None:
            return f"{NO_DECISION}."
        shown = self._show(Evidence("name", tool))
        if shown != tool or is_label(shown):
            named = f" ({shown})" if shown.isprintable() else ""
            return (
                f"{NO_DECISION}, and decisions about tools do not count here: the name of its tool is hidden{named}. "
                "Name the exchange instead."
            )
        if not self._decisions.are_about(tool):
            return f"{NO_DECISION} or its tool {tool}."
        # There is one, but about the tool of another server.
        here = "a server that does not name itself" if server is None else f"the server {server}"
        return f"{NO_DECISION} or its tool {tool} of {here}."

    def _is_refused_for_its_session(self, exchange: Exchange) -> bool:
        """Answered 404 in a session whose client has not initialized anew."""
        session, head = exchange.session, exchange.head
        if head is None or head.status != 404 or exchange.request.session_id is None or not exchange.unanswered_calls:
            return False
        if head.media_type == "text/html":
            return False  # A page is a gateway's: it says nothing of the session.
        latest = self._conversation.latest_initialize
        renewed = latest is not None and latest.index > exchange.index
        over = session.refused is not None and not session.outlived_refusal
        return over and session.deleted is None and not renewed


def _known_not_to_have_acted(exchange: Exchange, condition: str) -> Outcome:
    """On this exchange, that is: it may be one of several for the same request."""
    if exchange.reissues is None:
        return "manual-reissue-with-fresh-jsonrpc-id", condition
    return "do-not-replay", _left_alone(exchange) if _was_sent_again(exchange) else REPETITION_REFUSED


def _was_sent_again(exchange: Exchange) -> bool:
    return exchange.reissues is not None and exchange.reissues.latest is not exchange


def _left_alone(exchange: Exchange) -> str:
    assert exchange.reissues is not None
    return (
        f"The same request was sent again in {exchange.reissues.latest.path}: what became of that one decides, and "
        "this one is left alone."
    )


def _is_over(session: Session) -> bool:
    """Nothing can be resumed in it: its client deleted it, or its server knows it no more."""
    return session.deleted is not None or (session.refused is not None and not session.outlived_refusal)


def _tool_of(exchange: Exchange) -> str | None:
    """The tool that every request of the exchange that has no response calls."""
    calls = [call for call in exchange.calls if call.is_in_flight] or exchange.calls
    names = {call.request.params.get("name") if call.method == "tools/call" else None for call in calls}
    name = names.pop() if len(names) == 1 else None
    return name if isinstance(name, str) else None


def _decided(exchange: Exchange, decision: Decision) -> tuple[Action, str]:
    what = f"the tool {decision.tool}" if decision.tool is not None else "this exchange"
    if decision.missing:
        return "do-not-replay", (
            f"Nothing proves that the server did not act, and the idempotency decision about {what} is not complete. "
            f"It lacks {'; '.join(decision.missing)}. Establish the result out of band before anything is sent again."
            + (OUTWEIGHED if exchange.idempotent else "")
        )
    reissues = exchange.reissues
    made = 0 if reissues is None else reissues.count
    if _was_sent_again(exchange):
        return "do-not-replay", _left_alone(exchange)
    if made >= decision.attempts:
        return "do-not-replay", (
            f"The idempotency decision about {what} allows {_attempts(decision.attempts)}, and so many were made. Find "
            "out why they failed, and establish the result out of band, before anything is sent again."
        )
    left = "" if not made else f" in all, of which {made} {'was' if made == 1 else 'were'} made"
    each = "; look for its result before the next" if decision.attempts - made > 1 else ""
    return "manual-reissue-with-fresh-jsonrpc-id", (
        f"{decision.owner} decided on {decision.date} about {what} that repeating duplicates no external effect, that "
        "no result was committed unseen, and that the retry policy permits it."
        + (LOOK_FIRST if decision.tool is not None else "")
        + f" Send the same parameters with a fresh JSON-RPC id, at most {_attempts(decision.attempts)}{left}{each}. "
        "What was sent again in other sessions counts as well. "
        f"Guard against a duplicate effect: {_ended(decision.duplicate_effect_guard)} "
        f"Rollback: {_ended(decision.rollback)}"
    )


def _attempts(number: int) -> str:
    return f"{number} attempt{'' if number == 1 else 's'}"


def _ended(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?" else f"{sentence}."


def _wait(stream: LogicalStream | None) -> str:
    delay = stream.retry_ms if stream is not None else None
    return f" Wait {delay} ms first, as the server's retry field asks." if delay else ""


def _resumption_failed(exchange: Exchange, stream: LogicalStream) -> bool:
    """The server has no streams to resume, does not know this one, or ended it again without a message."""
    if exchange.session.get_not_allowed is not None or stream.resumption_refused is not None:
        return True
    latest = stream.current
    ending = latest.ending
    again = latest is not stream.origin and latest.request.last_event_id is not None
    # A poll that brings a later event id goes on, even without a message.
    stands_still = latest.messages == 0 and latest.request.last_event_id == stream.cursor
    return again and ending is not None and ending.by_server and stands_still


def _is_worth_remembering(ending: Ending) -> bool:
    exchange = ending.exchange
    if ending.ended is Ended.OPEN:
        return False
    if exchange.owes_nothing_but_202 and ending.ended is not None:
        return _may_be_lost(ending)
    if ending.disconnected:
        return True
    if exchange.request.method.upper() == "GET":
        return exchange.is_event_stream and ending.ended not in (None, Ended.CLIENT_CLOSED)
    return bool(exchange.unanswered_calls)


def _may_be_lost(ending: Ending) -> bool:
    """A POST of notifications or responses ended without a word on whether they were accepted."""
    exchange = ending.exchange
    methods = {message.method for message in exchange.request.messages}
    if methods <= REPEATABLE_NOTIFICATIONS or exchange.session.deleting is not None:
        return False
    if exchange.head is None:
        return ending.ended is not Ended.COMPLETE
    return exchange.head.status in UNKNOWN_FATE_STATUSES


def _nothing_lost(exchange: Exchange, ending: Ending) -> bool:
    """Every request has its response (on whatever stream), was given up by its client, or was refused for good."""
    if exchange.request.method.upper() == "GET":
        return _get_needs_nothing(exchange, ending)
    waiting = [call for call in exchange.unanswered_calls if call.cancelled is None]
    if not waiting or _is_being_resumed(exchange):
        return True
    if exchange.head is None:
        return ending.ended in (None, Ended.COMPLETE)
    if not exchange.is_event_stream:
        # A refusal is an answer, however much of its body came; a body that was not captured proves nothing.
        refused = 300 <= exchange.head.status < 500 or not _is_short(ending)
        return refused and exchange.head.status not in UNKNOWN_FATE_STATUSES
    if ending.ended is None:
        return ending.disconnected is not True
    return False


def _is_short(ending: Ending) -> bool:
    """The body ended before its end, as `truncated_response` has it."""
    declared = ending.exchange.head.content_length if ending.exchange.head is not None else None
    received = ending.received_octets
    short = declared is not None and received is not None and received < declared
    return short or ending.ended not in (None, Ended.COMPLETE)


def _is_being_resumed(exchange: Exchange) -> bool:
    stream = exchange.stream
    return stream is not None and stream.current is not exchange and stream.current.is_open


def _get_needs_nothing(exchange: Exchange, ending: Ending) -> bool:
    """A GET stream lost nothing if its client left, or went on with it, or if the session is over."""
    if not exchange.is_event_stream or ending.by_client or exchange.session.deleted is not None:
        return True
    stream = exchange.stream
    if stream is None or stream.current is not exchange:
        return True
    # What a resumed stream still owes is said once, of the POST that began it.
    return stream.cursor is None or not stream.is_standalone
