"""Which conversation an observation belongs to, by evidence only.

A conversation is what one transcript holds: one MCP endpoint, one profile, one session (or what carries no session id).

- A request that names 2026-07-28 in `_meta` or in the header belongs to the endpoint's 2026-07-28 conversation.
- A session id that is known leads to its session, whatever version header stands beside it. One that is not known is a
  session joined midway: its profile comes from the version header, or stays undetermined until a request names one.
- `initialize` waits for its InitializeResult. A session id in the response head makes it a session of its own; without
  one it goes to the endpoint's sessionless conversation of the negotiated version. Error, no result, or a version that
  has no `initialize` (2026-07-28): undetermined.
- While a sessionless `initialize` is undecided, the endpoint's sessionless legacy observations queue behind it, so that
  each conversation receives its observations in the order of time.
- Without a session id, an exchange belongs to the only legacy conversation that its client connection has carried, if
  that began with an `initialize` and User-Agents agree. Failing that, the version header decides. Where there is none:
  the endpoint's only client so far, if the endpoint's first exchange was that client's `initialize` and User-Agents
  agree; else the profile is undetermined.
- An `initialize` that carries the id of a known session stays in that session's conversation (a re-initialization
  belongs where its cause can be seen), and the session that it opens under the same version joins it there.
- An `initialize` after a failed 2026-07-28 probe opens a conversation of its own: two revisions, two transcripts.

`complete_from_start` is said only of a session whose InitializeResult was seen, and of a sessionless conversation that
began with the very first exchange seen on its endpoint, an `initialize`. Everything else may have a past. Such a
sessionless conversation is its one client's: another User-Agent goes to a second conversation of the same version.

Pure, and bounded: see the constants. Where a bound forces a decision or a loss, `limits` says so once.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable
from mcp_wire.conversation.profile_selection import (
    UNKNOWN,
    InitializeWatch,
    VersionEvidence,
    bundled,
    evidence_of,
    profile_name,
)
from mcp_wire.protocol.profiles import MODERN_REVISIONS, UNDETERMINED, Profile
from mcp_wire.wire.observation import (
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)

MAX_CONVERSATIONS: Final = 1_024
"""Conversations followed at the same time; beyond it the one that was quiet longest is closed and written."""
MAX_ENDPOINTS: Final = 1_024
MAX_CONNECTIONS: Final = 4_096
MAX_OPEN_EXCHANGES: Final = 16_384
"""Exchanges without an end, over all conversations; a further one is not observed."""
MAX_WAITING_OBSERVATIONS: Final = 10_000
MAX_WAITING_BYTES: Final = 16 * 1024 * 1024
"""Of all observations that wait for an InitializeResult. Beyond either bound, what blocks them is undetermined."""
MAX_WAITING_MS: Final = 60_000.0
"""How long an unanswered sessionless `initialize` may hold up other exchanges of its endpoint."""
MAX_PENDING_INITIALIZES: Final = 256
"""Undecided at the same time on one endpoint."""
MAX_UNKNOWN_VERSIONS: Final = 32
"""Versions without a profile that get a conversation under their own name; further ones share one."""

_OBSERVATION_OVERHEAD: Final = 1_024


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an exchange was seen.

    `endpoint` is `scheme://host:port/path` without query. `connection` identifies the client connection within this
    process. `tls`: the version on the client's side (`TLSv1.3`), None for plain text.
    """

    endpoint: str
    connection: str
    http_version: str | None = None
    tls: str | None = None


@dataclass(slots=True, eq=False)
class ConversationIdentity:
    """One conversation as the directory knows it. `label` is unique within a run and holds nothing from the wire."""

    profile: str
    """A profile name, of a bundled profile or not; or `undetermined`."""
    endpoint: str
    label: str
    session: str | None
    in_lane: bool
    """Legacy and without a session id: it shares the endpoint's queue."""
    complete_from_start: bool = False
    initialized: bool = False
    """An InitializeResult that belongs to it was seen."""
    user_agent: str | None = None
    open_exchanges: int = 0
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """An observation, and the conversation that receives it next."""

    conversation: ConversationIdentity
    origin: Origin
    observation: Observation


@dataclass(frozen=True, slots=True)
class Closed:
    """The conversation receives nothing more: it was closed to make room."""

    conversation: ConversationIdentity


Placement = Placed | Closed


@dataclass(frozen=True, slots=True, order=True)
class _Waiting:
    order: int
    origin: Origin = field(compare=False)
    observation: Observation = field(compare=False)
    evidence: VersionEvidence | None = field(default=None, compare=False)
    profile: str | None = field(default=None, compare=False)
    """What was decided for an `initialize` that goes to a sessionless conversation."""


@dataclass(slots=True, eq=False)
class _Pending:
    """An undecided `initialize`, with everything of its session that has been seen so far."""

    endpoint: _Endpoint
    exchange: str
    evidence: VersionEvidence
    watch: InitializeWatch
    started_ms: float | None
    first_order: int
    queue: deque[_Waiting] = field(default_factory=deque)
    session: str | None = None
    named: str | None = None
    """The first version header seen on an exchange of the session, used if the InitializeResult is never seen."""


@dataclass(slots=True, eq=False)
class _Endpoint:
    url: str
    number: int
    first_exchange: str
    conversations: dict[tuple[str, bool], ConversationIdentity] = field(default_factory=dict)
    """The current conversation without session id, by profile name; True: of others than the first client."""
    created: dict[str, int] = field(default_factory=dict)
    sessions: int = 0
    waiting: deque[_Waiting] = field(default_factory=deque)
    blocking: OrderedDict[str, _Pending] = field(default_factory=OrderedDict)
    """Undecided initializes that may yet turn out to be sessionless, oldest first."""
    undecided: int = 0


@dataclass(frozen=True, slots=True)
class _Tie:
    """The one conversation that a client connection has carried; None once there was a second one."""

    conversation: ConversationIdentity | None
    user_agent: str | None


_Route = ConversationIdentity | _Pending | _Endpoint


class Directory:
    """Places observations. `pinned` is the operator's profile for everything (`mcp_profile`), None for evidence."""

    def __init__(self, pinned: Profile | None = None) -> None:
        self._pinned = pinned
        self._endpoints: BoundedTable[str, _Endpoint] = BoundedTable(MAX_ENDPOINTS)
        self._endpoint_count = 0
        self._sessions: BoundedTable[tuple[str, str], ConversationIdentity | _Pending] = BoundedTable(
            2 * MAX_CONVERSATIONS, lambda session: isinstance(session, ConversationIdentity) and session.closed
        )
        self._connections: BoundedTable[str, _Tie] = BoundedTable(MAX_CONNECTIONS)
        self._conversations: OrderedDict[ConversationIdentity, None] = OrderedDict()
        self._routes: dict[str, _Route] = {}
        self._renewals: dict[str, InitializeWatch] = {}
        self._pending: OrderedDict[str, _Pending] = OrderedDict()
        self._order = 0
        self._waiting = 0
        self._waiting_bytes = 0
        self._out: list[Placement] = []
        self.limits: list[str] = []
        """Sentences about bounds that were reached, each once; the reader takes them out."""
        self._said: set[str] = set()
        self._unknown: set[str] = set()

    def place(self, origin: Origin, observation: Observation) -> list[Placement]:
        """The observations that can be judged now, in order, each with its conversation; possibly earlier ones."""
        self._out = []
        if isinstance(observation, RequestSeen):
            self._arrive(origin, observation)
        else:
            self._follow(origin, observation)
        return self._out

    def finish(self) -> list[Placement]:
        """Nothing more will come: what still waits is placed with what is known."""
        self._out = []
        while self._pending:
            self._decide(next(iter(self._pending.values())), None)
        return self._out

    # Requests

    def _arrive(self, origin: Origin, request: RequestSeen) -> None:
        exchange = request.exchange
        if exchange in self._routes:
            return
        if len(self._routes) >= MAX_OPEN_EXCHANGES:
            self._say(f"More than {MAX_OPEN_EXCHANGES} exchanges are open; further ones are not observed.")
            return
        endpoint = self._endpoint(origin.endpoint, exchange)
        evidence = evidence_of(request)
        session = self._session(endpoint, evidence.session_id)
        if self._is_modern(evidence, session):
            name = self._name(evidence) or UNDETERMINED
            self._begin(self._without_session(endpoint, name, request, in_lane=False), origin, request)
        elif isinstance(session, _Pending):
            self._join(session, origin, request, evidence)
        elif session is not None:
            self._in_known_session(endpoint, session, origin, request, evidence)
        elif evidence.is_initialize:
            self._await(endpoint, origin, request, evidence)
        elif evidence.session_id is not None:
            profile = self._name(evidence) or UNDETERMINED
            self._begin(self._new_session(endpoint, evidence.session_id, profile), origin, request)
        else:
            tied = self._tied(origin, request)
            if tied is not None and not tied.in_lane:
                self._begin(tied, origin, request)
            else:
                self._routes[exchange] = endpoint
                self._queue_in_lane(endpoint, origin, request, evidence)

    def _is_modern(self, evidence: VersionEvidence, session: ConversationIdentity | _Pending | None) -> bool:
        if self._pinned is not None:
            return self._pinned.is_modern
        if evidence.in_body_modern:
            return True
        if not evidence.names_modern or evidence.is_initialize:
            return False
        # The header alone, on a session that negotiated something else, is that session's fault.
        return session is None or (isinstance(session, ConversationIdentity) and session.profile == UNDETERMINED)

    def _name(self, evidence: VersionEvidence) -> str | None:
        if self._pinned is not None:
            return self._pinned.name
        return self._profile_name(evidence.named) if evidence.named is not None else None

    def _profile_name(self, version: str) -> str:
        name = profile_name(version)
        if bundled(name) is None and name not in self._unknown:
            if len(self._unknown) >= MAX_UNKNOWN_VERSIONS:
                return UNKNOWN
            self._unknown.add(name)
        return name

    def _in_known_session(
        self,
        endpoint: _Endpoint,
        session: ConversationIdentity,
        origin: Origin,
        request: RequestSeen,
        evidence: VersionEvidence,
    ) -> None:
        name = self._name(evidence)
        if session.profile == UNDETERMINED and name is not None and not evidence.is_initialize:
            assert evidence.session_id is not None
            session = self._new_session(endpoint, evidence.session_id, name)
        elif evidence.is_initialize:
            self._renewals[request.exchange] = InitializeWatch(request)
        self._begin(session, origin, request)

    def _tied(self, origin: Origin, request: RequestSeen) -> ConversationIdentity | None:
        """The conversation of this client connection, whatever version the request names: that is for rules to say."""
        tie = self._connections.get(origin.connection)
        if tie is None or tie.conversation is None or tie.conversation.closed or not tie.conversation.initialized:
            return None
        if tie.conversation.endpoint != origin.endpoint or tie.user_agent != request.headers.get("user-agent"):
            return None
        return tie.conversation

    # What follows a request

    def _follow(self, origin: Origin, observation: Observation) -> None:
        route = self._routes.get(observation.exchange)
        if isinstance(route, _Pending):
            self._hold(route, origin, observation, None)
            if route.exchange == observation.exchange:
                self._watch(route, observation)
        elif isinstance(route, _Endpoint):
            self._queue_in_lane(route, origin, observation, None)
        elif route is not None:
            endpoint = self._endpoints.get(origin.endpoint)
            if route.in_lane and endpoint is not None and endpoint.blocking:
                self._queue_in_lane(endpoint, origin, observation, None)
            else:
                self._deliver(route, origin, observation)
            if observation.exchange in self._renewals:
                self._watch_renewal(route, origin, observation)

    def _watch_renewal(self, session: ConversationIdentity, origin: Origin, observation: Observation) -> None:
        watch = self._renewals[observation.exchange]
        outcome = watch.feed(observation)
        if outcome is None:
            return
        del self._renewals[observation.exchange]
        endpoint = self._endpoints.get(origin.endpoint)
        renewed = watch.session_id
        if endpoint is None or renewed is None or outcome.version is None or session.closed:
            return
        if self._sessions.get((endpoint.url, renewed)) is None:
            profile = self._negotiated(outcome.version)
            if profile == session.profile:
                self._remember_session((endpoint.url, renewed), session)
            else:
                self._new_session(endpoint, renewed, profile)

    # An initialize that waits for its result

    def _await(self, endpoint: _Endpoint, origin: Origin, request: RequestSeen, evidence: VersionEvidence) -> None:
        if endpoint.undecided >= MAX_PENDING_INITIALIZES:
            self._say(
                f"More than {MAX_PENDING_INITIALIZES} initialize requests wait for their results on one endpoint; the "
                "oldest is undetermined."
            )
            self._decide(next(pending for pending in self._pending.values() if pending.endpoint is endpoint), None)
        self._order += 1
        pending = _Pending(endpoint, request.exchange, evidence, InitializeWatch(request), request.t_ms, self._order)
        endpoint.blocking[request.exchange] = pending
        endpoint.undecided += 1
        self._pending[request.exchange] = pending
        self._routes[request.exchange] = pending
        self._hold(pending, origin, request, evidence)

    def _join(self, pending: _Pending, origin: Origin, request: RequestSeen, evidence: VersionEvidence) -> None:
        self._routes[request.exchange] = pending
        if pending.named is None:
            pending.named = evidence.named
        self._hold(pending, origin, request, evidence)

    def _watch(self, pending: _Pending, observation: Observation) -> None:
        if self._pending.get(pending.exchange) is not pending:
            return
        outcome = pending.watch.feed(observation)
        if pending.session is None and pending.watch.session_id is not None:
            # A session of its own: it no longer concerns what carries no session id.
            pending.session = pending.watch.session_id
            self._remember_session((pending.endpoint.url, pending.session), pending)
            del pending.endpoint.blocking[pending.exchange]
            self._drain(pending.endpoint)
        if outcome is not None:
            self._decide(pending, outcome.version)

    def _decide(self, pending: _Pending, version: str | None) -> None:
        """Bind an initialize, and everything that waits with it, to its conversation."""
        endpoint = pending.endpoint
        del self._pending[pending.exchange]
        endpoint.undecided -= 1
        profile = self._negotiated(version)
        if pending.session is not None:
            if version is None and pending.named is not None:
                profile = self._negotiated(pending.named)
            conversation = self._new_session(endpoint, pending.session, profile)
            conversation.complete_from_start = conversation.initialized = version is not None
            for waiting in self._released(pending.queue):
                if isinstance(waiting.observation, RequestSeen):
                    self._begin(conversation, waiting.origin, waiting.observation)
                else:
                    self._deliver(conversation, waiting.origin, waiting.observation)
            return
        del endpoint.blocking[pending.exchange]
        decided = deque(
            _Waiting(waiting.order, waiting.origin, waiting.observation, waiting.evidence, profile)
            for waiting in pending.queue
        )
        self._routes[pending.exchange] = endpoint
        endpoint.waiting = deque(heapq.merge(endpoint.waiting, decided))
        self._drain(endpoint)

    def _negotiated(self, version: str | None) -> str:
        if self._pinned is not None:
            return self._pinned.name
        # `initialize` selects the revisions that have it; 2026-07-28 has none, so naming it there decides nothing.
        if version is None or version in MODERN_REVISIONS:
            return UNDETERMINED
        return self._profile_name(version)

    # The endpoint's queue of what carries no session id

    def _queue_in_lane(
        self, endpoint: _Endpoint, origin: Origin, observation: Observation, evidence: VersionEvidence | None
    ) -> None:
        self._order += 1
        waiting = _Waiting(self._order, origin, observation, evidence)
        if not endpoint.blocking:
            self._from_lane(endpoint, waiting)
            return
        self._count(observation, 1)
        endpoint.waiting.append(waiting)
        self._relieve(endpoint, observation)

    def _drain(self, endpoint: _Endpoint) -> None:
        while endpoint.waiting:
            blocker = next(iter(endpoint.blocking.values()), None)
            if blocker is not None and blocker.first_order < endpoint.waiting[0].order:
                return
            waiting = endpoint.waiting.popleft()
            self._count(waiting.observation, -1)
            self._from_lane(endpoint, waiting)

    def _from_lane(self, endpoint: _Endpoint, waiting: _Waiting) -> None:
        origin, observation = waiting.origin, waiting.observation
        if not isinstance(observation, RequestSeen):
            route = self._routes.get(observation.exchange)
            if isinstance(route, ConversationIdentity):
                self._deliver(route, origin, observation)
            return
        if waiting.profile is not None:
            conversation = self._without_session(endpoint, waiting.profile, observation, in_lane=True)
            conversation.initialized = True
            if self._is_new(conversation):
                conversation.complete_from_start = (
                    endpoint.first_exchange == observation.exchange and waiting.profile != UNDETERMINED
                )
                conversation.user_agent = observation.headers.get("user-agent")
        else:
            evidence = waiting.evidence or evidence_of(observation)
            conversation = self._attributed(endpoint, origin, observation, evidence)
        self._begin(conversation, origin, observation)

    def _attributed(
        self, endpoint: _Endpoint, origin: Origin, request: RequestSeen, evidence: VersionEvidence
    ) -> ConversationIdentity:
        tied = self._tied(origin, request)
        if tied is not None:
            return tied
        name = self._name(evidence)
        if name is None:
            only = self._only_client(endpoint, request)
            if only is not None:
                return only
        return self._without_session(endpoint, name or UNDETERMINED, request, in_lane=True)

    def _only_client(self, endpoint: _Endpoint, request: RequestSeen) -> ConversationIdentity | None:
        """The conversation of the only legacy client that this endpoint has had since before its first exchange."""
        legacy = [
            conversation
            for conversation in endpoint.conversations.values()
            if conversation.in_lane and conversation.profile != UNDETERMINED and not conversation.closed
        ]
        if endpoint.sessions or len(legacy) != 1 or not legacy[0].complete_from_start:
            return None
        return legacy[0] if legacy[0].user_agent == request.headers.get("user-agent") else None

    # Waiting, and its bounds

    def _hold(
        self, pending: _Pending, origin: Origin, observation: Observation, evidence: VersionEvidence | None
    ) -> None:
        self._order += 1
        order = pending.first_order if not pending.queue else self._order
        pending.queue.append(_Waiting(order, origin, observation, evidence))
        self._count(observation, 1)
        if self._is_full():
            self._say_full()
            self._decide(pending, None)

    def _relieve(self, endpoint: _Endpoint, observation: Observation) -> None:
        """Undecided initializes stop blocking the endpoint when a bound is reached."""
        if self._is_full():
            self._say_full()
            while endpoint.blocking:
                self._decide(next(iter(endpoint.blocking.values())), None)
        now = observation.t_ms
        while endpoint.blocking and now is not None:
            oldest = next(iter(endpoint.blocking.values()))
            if oldest.started_ms is None or now - oldest.started_ms <= MAX_WAITING_MS:
                return
            self._say(
                f"An initialize without an answer held up its endpoint for {MAX_WAITING_MS / 1000:g} s; its profile is "
                "undetermined."
            )
            self._decide(oldest, None)

    def _is_full(self) -> bool:
        return self._waiting > MAX_WAITING_OBSERVATIONS or self._waiting_bytes > MAX_WAITING_BYTES

    def _say_full(self) -> None:
        self._say("Too much waits for an initialize to be answered; the profile of what waits is undetermined.")

    def _released(self, queue: deque[_Waiting]) -> Iterable[_Waiting]:
        while queue:
            waiting = queue.popleft()
            self._count(waiting.observation, -1)
            yield waiting

    def _count(self, observation: Observation, sign: int) -> None:
        self._waiting += sign
        self._waiting_bytes += sign * _size(observation)

    # Conversations

    def _begin(self, conversation: ConversationIdentity, origin: Origin, request: RequestSeen) -> None:
        self._routes[request.exchange] = conversation
        conversation.open_exchanges += 1
        profile = bundled(conversation.profile)
        if conversation.profile != UNDETERMINED and not (profile is not None and profile.is_modern):
            self._tie(conversation, origin, request)
        self._deliver(conversation, origin, request)

    def _tie(self, conversation: ConversationIdentity, origin: Origin, request: RequestSeen) -> None:
        tie = self._connections.get(origin.connection)
        if tie is None:
            self._connections.put(origin.connection, _Tie(conversation, request.headers.get("user-agent")))
        elif tie.conversation is not None:
            # Put back even if nothing changes, so that the connection which was quiet longest is the first to go.
            self._connections.put(origin.connection, tie if tie.conversation is conversation else _Tie(None, None))

    def _deliver(self, conversation: ConversationIdentity, origin: Origin, observation: Observation) -> None:
        if isinstance(observation, ExchangeEnded) and self._routes.pop(observation.exchange, None) is not None:
            conversation.open_exchanges -= 1
        if conversation.closed:
            return
        self._conversations[conversation] = None
        self._conversations.move_to_end(conversation)
        self._out.append(Placed(conversation, origin, observation))

    def _is_new(self, conversation: ConversationIdentity) -> bool:
        return conversation not in self._conversations

    def _endpoint(self, url: str, exchange: str) -> _Endpoint:
        endpoint = self._endpoints.get(url)
        if endpoint is None:
            self._endpoint_count += 1
            endpoint = _Endpoint(url, self._endpoint_count, exchange)
            self._endpoints.put(url, endpoint)
            if self._endpoints.forgotten:
                self._say(f"More than {MAX_ENDPOINTS} endpoints; what comes next on the oldest is a new conversation.")
        return endpoint

    def _session(self, endpoint: _Endpoint, session_id: str | None) -> ConversationIdentity | _Pending | None:
        if session_id is None:
            return None
        session = self._sessions.get((endpoint.url, session_id))
        if isinstance(session, ConversationIdentity) and session.closed:
            return None
        return session

    def _remember_session(self, key: tuple[str, str], session: ConversationIdentity | _Pending) -> None:
        self._sessions.put(key, session)
        if self._sessions.forgotten_undone:
            self._say("Too many sessions at the same time; what goes on in the oldest is taken for joined midway.")

    def _new_session(self, endpoint: _Endpoint, session_id: str, profile: str) -> ConversationIdentity:
        endpoint.sessions += 1
        label = f"{profile}.endpoint-{endpoint.number}.session-{endpoint.sessions}"
        conversation = ConversationIdentity(profile, endpoint.url, label, session_id, in_lane=False)
        self._remember_session((endpoint.url, session_id), conversation)
        self._make_room()
        return conversation

    def _without_session(
        self, endpoint: _Endpoint, profile: str, request: RequestSeen, *, in_lane: bool
    ) -> ConversationIdentity:
        first = endpoint.conversations.get((profile, False))
        others = (
            first is not None
            and first.complete_from_start
            and not first.closed
            and first.user_agent != request.headers.get("user-agent")
        )
        conversation = endpoint.conversations.get((profile, others))
        if conversation is None or conversation.closed:
            number = endpoint.created.get(profile, 0) + 1
            endpoint.created[profile] = number
            label = f"{profile}.endpoint-{endpoint.number}.no-session" + (f"-{number}" if number > 1 else "")
            conversation = ConversationIdentity(profile, endpoint.url, label, None, in_lane)
            endpoint.conversations[profile, others] = conversation
            self._make_room()
        return conversation

    def _make_room(self) -> None:
        while len(self._conversations) >= MAX_CONVERSATIONS:
            quiet = next(
                (conversation for conversation in self._conversations if not conversation.open_exchanges),
                next(iter(self._conversations)),
            )
            del self._conversations[quiet]
            quiet.closed = True
            self._say(f"More than {MAX_CONVERSATIONS} conversations; the quietest are closed and written early.")
            self._out.append(Closed(quiet))

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self.limits.append(sentence)


def _size(observation: Observation) -> int:
    """Roughly the bytes that a waiting observation holds."""
    size = _OBSERVATION_OVERHEAD
    match observation:
        case RequestSeen():
            size += observation.body.raw_size or 0
        case ResponseBody():
            size += observation.body.raw_size or 0
        case ResponseChunk():
            size += len(observation.data)
        case ResponseSeen() | ExchangeEnded():
            pass
    return size
