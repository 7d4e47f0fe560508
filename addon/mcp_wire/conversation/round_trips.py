"""Which InputRequiredResult a request answers (2026-07-28 basic/patterns/mrtr#basic-workflow).

The revision has no sessions, and several clients may look alike. What links a retry to a result is the `requestState`
that only that result gave. Without it the link is a guess, made only where one open result fits: the guess counts at
once where the whole history of the endpoint is known, else at the end of the capture, if nothing else laid claim to
the result until then. Values are kept as digests that are only compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from mcp_wire.conversation.bounded import BoundedTable, Limit, Memory
from mcp_wire.conversation.clients import client_mark
from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Message
from mcp_wire.protocol.methods import method_of
from mcp_wire.protocol.profiles import R2026_07_28
from mcp_wire.wire.strict_json import JsonValue, canonical

MAX_RESULTS_REMEMBERED: Final = 4_096
MAX_RESULTS_A_KEY: Final = 32
"""Results kept for one state, and for one client and target."""
MAX_RETRIES_REMEMBERED: Final = 4_096
MAX_UNSETTLED: Final = 256
MAX_INPUTS_REMEMBERED: Final = 256
"""Keys of one `inputRequests`; of a longer one it is not said what a retry lacks."""

RESULTS: Final = Memory(
    "results that ask for input",
    (
        "request_state_not_echoed",
        "request_state_misused",
        "input_responses_incomplete",
        "mrtr_retry_reused_id",
        "missing_input_returned_error",
    ),
)
STATES: Final = Memory(
    "request states that were given",
    (
        "request_state_not_echoed",
        "request_state_misused",
        "input_responses_incomplete",
        "mrtr_retry_reused_id",
        "missing_input_returned_error",
    ),
)
FOREIGN_STATES: Final = Memory("request states of whatever request", told_by=STATES.what)
RETRIES: Final = Memory(
    "unanswered requests that give input",
    (
        "request_state_not_echoed",
        "request_state_misused",
        "input_responses_incomplete",
        "mrtr_retry_reused_id",
        "missing_input_returned_error",
    ),
)
UNSETTLED: Final = Memory(
    "requests of which it is open what input they give",
    ("request_state_not_echoed", "request_state_misused", "input_responses_incomplete", "mrtr_retry_reused_id"),
)
INPUTS: Final = Memory("inputs of one request", ("input_responses_incomplete", "missing_input_returned_error"))

INPUT_REQUIRED: Final = "input_required"
RETRY_MEMBERS: Final = ("inputResponses", "requestState")

Basis = Literal["state", "history", "guess", "ambiguous", "foreign", "unknown"]
"""Why a retry is said to answer a result: it carries its state; it is the only one that fits in a history that is known
from the start; or the only one that fits in what was seen.

`ambiguous`: several fit. `foreign`: its state was given for another request. `unknown`: nothing fits.
"""


@dataclass(slots=True, eq=False)
class _Call:
    """A call over all its rounds."""

    latest: Interim


@dataclass(slots=True, eq=False)
class Interim:
    """One InputRequiredResult, as far as retries are compared with it."""

    path: str
    client: bytes
    id_key: tuple[str, ...] | None
    arguments: bytes
    """The params of the request but for what a retry adds."""
    inputs: frozenset[bytes] | None
    """The keys of `inputRequests`; None where there are too many."""
    state: bytes | None
    """`requestState`; None where there is none."""
    call: _Call = field(init=False)
    is_proven_answered: bool = False
    """A retry carried its state."""
    claims: int = 0
    """Retries that may answer it, without its state. More than one: none of them can be said to."""


@dataclass(slots=True, eq=False)
class Retry:
    """A request with `inputResponses` or `requestState`, and the result that it answers as far as that is known."""

    path: str
    exchange: str
    client: bytes
    id_key: tuple[str, ...] | None
    arguments: bytes
    inputs: frozenset[bytes] | None
    state: bytes | None
    history_is_whole: bool
    basis: Basis = "unknown"
    interim: Interim | None = None
    is_answered: bool = False

    @property
    def is_settled(self) -> bool:
        """What it answers, or that it answers nothing, is known as soon as it is seen."""
        return self.basis in ("state", "history") or (self.history_is_whole and self.basis in ("foreign", "unknown"))

    @property
    def interim_has_its_retry(self) -> bool:
        """Another one carried the state of the result that this one was taken to answer."""
        return self.interim is not None and self.interim.is_proven_answered and self.state != self.interim.state

    @property
    def missing_inputs(self) -> int | None:
        """How many of the requested inputs it does not answer; None where that is not known."""
        if self.interim is None or self.interim.inputs is None or self.inputs is None:
            return None
        return len(self.interim.inputs - self.inputs)


@dataclass(slots=True)
class RoundTrips:
    """The interim results that were given, and the retries that followed."""

    forgotten: bool = False
    """Some result had to be forgotten, so that a retry that fits nothing may answer it."""
    unsettled: list[Retry] = field(default_factory=list)
    """The first retries of which it is not known what they answer."""
    _by_state: BoundedTable[tuple[bytes, bytes], list[Interim]] = field(
        default_factory=lambda: BoundedTable(MAX_RESULTS_REMEMBERED, memory=STATES)
    )
    """By state and target."""
    _by_target: BoundedTable[bytes, list[Interim]] = field(
        default_factory=lambda: BoundedTable(MAX_RESULTS_REMEMBERED, memory=RESULTS)
    )
    _given_states: BoundedTable[bytes, bool] = field(
        default_factory=lambda: BoundedTable(MAX_RESULTS_REMEMBERED, memory=FOREIGN_STATES)
    )
    _retries: BoundedTable[str, Retry] = field(
        default_factory=lambda: BoundedTable(
            MAX_RETRIES_REMEMBERED, is_done=lambda retry: retry.is_answered, done_is_spent=True, memory=RETRIES
        )
    )
    _a_key_limit: Limit = field(default_factory=lambda: Limit(RESULTS, f"{MAX_RESULTS_A_KEY} for one request"))
    _a_state_limit: Limit = field(default_factory=lambda: Limit(STATES, f"{MAX_RESULTS_A_KEY} results with one state"))
    _unsettled_limit: Limit = field(default_factory=lambda: Limit(UNSETTLED, f"{MAX_UNSETTLED}"))
    _inputs_limit: Limit = field(default_factory=lambda: Limit(INPUTS, f"{MAX_INPUTS_REMEMBERED}"))

    def take(self, message: Message, *, history_is_whole: bool) -> None:
        """Learn from a message of 2026-07-28. `history_is_whole`: nothing was missed since the endpoint's first use."""
        if message.sender == "client":
            if message.is_request and any(name in message.params for name in RETRY_MEMBERS):
                self._retry(message, history_is_whole and not self.forgotten)
        elif message.is_response and message.call is not None and message.call.sender == "client":
            self._answer(message, message.call.request)

    def retry_of(self, request: Message) -> Retry | None:
        """What is known of this request as a retry; None where it is none, or was forgotten."""
        return self._retries.get(request.exchange.id)

    def at_end(self) -> Iterator[tuple[Retry, bool]]:
        """The retries that were not settled when they came, each with: was the guess borne out?"""
        for retry in self.unsettled:
            interim = retry.interim
            stands = interim is not None and interim.claims == 1 and not interim.is_proven_answered
            yield retry, stands and retry.basis == "guess"

    def _answer(self, message: Message, request: Message) -> None:
        result, retry = message.result, self.retry_of(request)
        if retry is not None:
            retry.is_answered = True
        if result is None:
            return
        answered = retry.interim if retry is not None else None
        if result.get("resultType") != INPUT_REQUIRED:
            return
        state, target = _state(result), _target(request)
        interim = Interim(
            message.path,
            client_mark(request.exchange.request),
            request.envelope.id_key,
            _arguments(request),
            self._keys(result.get("inputRequests")),
            state,
        )
        interim.call = answered.call if answered is not None else _Call(interim)
        interim.call.latest = interim
        self._remember_for_target(target, interim)
        if state is not None:
            self._given_states.put(state, True)
            same = self._by_state.get((state, target)) or []
            if len(same) >= MAX_RESULTS_A_KEY:
                self._lose_one(same[0], self._a_state_limit)
            self._by_state.put((state, target), [*same[1 - MAX_RESULTS_A_KEY :], interim])
        self.forgotten = self.forgotten or any(
            table.forgotten for table in (self._by_state, self._by_target, self._given_states)
        )

    def _remember_for_target(self, target: bytes, interim: Interim) -> None:
        entries = self._by_target.get(target) or []
        entries.append(interim)
        if len(entries) > MAX_RESULTS_A_KEY:
            over = next((entry for entry in entries if entry.is_proven_answered or entry.claims), None)
            self.forgotten = self.forgotten or over is None
            gone = over if over is not None else entries[0]
            entries.remove(gone)
            self._lose_one(gone, self._a_key_limit)
        self._by_target.put(target, entries)

    def _lose_one(self, interim: Interim, limit: Limit) -> None:
        if not interim.is_proven_answered:
            limit.lose()

    def _keys(self, value: JsonValue) -> frozenset[bytes] | None:
        if not isinstance(value, dict):
            return frozenset()
        if len(value) <= MAX_INPUTS_REMEMBERED:
            return frozenset(map(digest, value))
        self._inputs_limit.lose()
        return None

    def _retry(self, message: Message, history_is_whole: bool) -> None:
        retry = Retry(
            message.path,
            message.exchange.id,
            client_mark(message.exchange.request),
            message.envelope.id_key,
            _arguments(message),
            self._keys(message.params.get("inputResponses")),
            _state(message.params),
            history_is_whole,
        )
        self._link(retry, _target(message))
        self._retries.put(message.exchange.id, retry)
        if retry.is_settled:
            return
        if len(self.unsettled) < MAX_UNSETTLED:
            self.unsettled.append(retry)
        else:
            self._unsettled_limit.lose()

    def _link(self, retry: Retry, target: bytes) -> None:
        if retry.state is not None:
            same = self._by_state.get((retry.state, target)) or []
            if same:
                retry.interim = _with_this_state(retry, same)
                retry.basis = "ambiguous" if retry.interim is None else "state"
                if retry.interim is not None and retry.interim.state == retry.state:
                    retry.interim.is_proven_answered = True
                return
        known = [one for one in self._by_target.get(target) or () if _asks_for_some_of(retry, one)]
        alike = [one for one in known if one.client == retry.client and not one.is_proven_answered]
        same_arguments = [one for one in alike if one.arguments == retry.arguments]
        if same_arguments or not retry.history_is_whole:
            alike = same_arguments
        unclaimed = [one for one in alike if not one.claims]
        if len(unclaimed) == 1:
            retry.interim = unclaimed[0]
            retry.basis = "history" if retry.history_is_whole else "guess"
        elif known:
            retry.basis = "ambiguous"
        elif retry.state is not None and retry.state in self._given_states:
            retry.basis = "foreign"
        if retry.history_is_whole and len(unclaimed) > 1:
            return
        # Without any left it is one retry too many: an earlier one was taken to answer what it does not answer.
        for one in unclaimed or alike:
            one.claims += 1


def _with_this_state(retry: Retry, interims: list[Interim]) -> Interim | None:
    """Of several results of equal requests with one state: the latest, unless it is unclear which one is answered."""
    own = [one for one in interims if one.client == retry.client]
    waiting = [one for one in own if not one.is_proven_answered]
    if len(waiting) > 1:
        waiting = [one for one in waiting if _asks_for_some_of(retry, one)]
        if len({(one.id_key, one.inputs, one.arguments) for one in waiting}) != 1:
            return None
    chosen = (waiting or own)[-1:]
    return _later_round(retry, chosen[0]) if chosen else None


def _later_round(retry: Retry, interim: Interim) -> Interim:
    """The latest result of the same call, where the retry answers what only that one asks."""
    latest = interim.call.latest
    if latest is interim or latest.is_proven_answered or latest.claims:
        return interim
    if retry.inputs is None or interim.inputs is None or latest.inputs is None:
        return interim
    return latest if retry.inputs - interim.inputs and retry.inputs & latest.inputs else interim


def _asks_for_some_of(retry: Retry, interim: Interim) -> bool:
    if retry.inputs is None or interim.inputs is None:
        return True
    return bool(retry.inputs & interim.inputs) or not (retry.inputs or interim.inputs)


def _state(members: dict[str, JsonValue]) -> bytes | None:
    return digest(canonical(members["requestState"])) if "requestState" in members else None


def _target(request: Message) -> bytes:
    """Equal for requests with the same method and the same tool, prompt or resource."""
    method = method_of(R2026_07_28, "client", request.method or "")
    name = request.params.get(method.name_member) if method is not None and method.name_member is not None else None
    return digest(canonical([request.method or "", name]))


def _arguments(request: Message) -> bytes:
    left_out = ("_meta", *RETRY_MEMBERS)
    return digest(canonical({name: value for name, value in request.params.items() if name not in left_out}))
