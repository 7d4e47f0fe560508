"""One judge for live traffic and for transcripts: observations in, findings out."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from mcp_wire.conversation.bounded import Limit, Memory
from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.exchange_reader import ExchangeReader
from mcp_wire.conversation.facts import CaptureEnd, Exchange, Fact
from mcp_wire.judging.declaration import SATISFIED, Rule
from mcp_wire.judging.finding import Finding
from mcp_wire.judging.idempotency import Decisions
from mcp_wire.judging.ledger import Coverage, Ledger
from mcp_wire.judging.recovery import Advice, RecoveryAdvisor
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.observation import (
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)

MAX_OPEN_EXCHANGES: Final = 4_096
"""Exchanges read at the same time in one conversation; a further one is not judged, and the report says so."""

OPEN_EXCHANGES: Final = Memory("exchanges without an end", follows="What goes beyond is recorded and not judged.")


class Judge:
    """Judges one conversation under one profile.

    `feed` takes observations in the order of their time and returns findings made for the first time. It raises
    nothing: a rule that throws becomes one `observer_error`, and so does a reader that throws. `decisions`: what owners
    have decided about repeating requests; None where nobody has given any.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        conversation: Conversation,
        show: Callable[[Evidence], str],
        decisions: Decisions | None = None,
    ) -> None:
        self.conversation = conversation
        profile = conversation.profile
        revision = profile.revision if profile is not None else None
        in_force = [
            rule for rule in rules if (revision in rule.revisions if revision is not None else rule.version_neutral)
        ]
        self.ledger = Ledger(in_force, revision, show)
        self.advisor = RecoveryAdvisor(conversation, decisions, show)
        self._by_fact: defaultdict[type, list[tuple[Rule, Coverage]]] = defaultdict(list)
        for rule in in_force:
            for kind in rule.facts:
                self._by_fact[kind].append((rule, self.ledger.coverage[rule.code]))
        self._readers: dict[str, ExchangeReader] = {}
        self._open_limit = Limit(OPEN_EXCHANGES, f"{MAX_OPEN_EXCHANGES:,}")
        for limit in (self._open_limit, self.ledger.roots_limit):
            limit.tell = conversation.note_loss
        self._index = 0

    def feed(self, observation: Observation) -> list[Finding]:
        """Judge one observation."""
        new: list[Finding] = []
        reader = self._readers.get(observation.exchange)
        try:
            for fact in self._read(observation):
                new += self._judge(fact, observation.exchange)
            if self.conversation.losses:
                new += self._forgotten(self._place(observation, reader), observation.exchange)
        except Exception as problem:
            finding = self.ledger.observer_error(
                f"Reading a {type(observation).__name__} failed with {type(problem).__name__}.",
                self._path(observation.exchange),
                observation.exchange,
            )
            new += [finding] if finding is not None else []
        return new

    def consider(self, document: object) -> list[Finding]:
        """Judge something that is no part of the traffic: the form of the document that tells of it."""
        return self._apply(document, None)

    def finish(self) -> list[Finding]:
        """Nothing more will come. Returns the findings that only the end of the capture allows."""
        return self._judge(CaptureEnd(self.conversation.now_ms), None)

    def findings(self) -> list[Finding]:
        return self.ledger.findings()

    def recovery(self, server: str | None = None) -> list[Advice]:
        """Advice as things stand now. `server`: the name that it gave itself."""
        return self.advisor.advice(server)

    def exchange(self, name: str | None) -> Exchange | None:
        """An exchange that runs, by its id."""
        reader = self._readers.get(name) if name is not None else None
        return reader.exchange if reader is not None else None

    def _read(self, observation: Observation) -> Iterator[Fact]:
        if isinstance(observation, RequestSeen):
            index = self._index if observation.index is None else observation.index
            self._index = max(self._index, index) + 1
            if len(self._readers) >= MAX_OPEN_EXCHANGES:
                self._open_limit.lose()
                return
            reader = self._readers[observation.exchange] = ExchangeReader(index, observation)
            yield from _judged(reader.exchange, reader.request(observation))
            return
        found = self._readers.get(observation.exchange)
        if found is None:
            return
        match observation:
            case ResponseSeen():
                yield from _judged(found.exchange, found.response(observation))
            case ResponseChunk():
                yield from _judged(found.exchange, found.chunk(observation))
            case ResponseBody():
                yield from _judged(found.exchange, found.body(observation))
            case ExchangeEnded():
                yield from _judged(found.exchange, found.end(observation))
                yield from self.conversation.relays.of(found.exchange, self.conversation.recent)
                found.exchange.release()
                del self._readers[observation.exchange]

    def _judge(self, fact: Fact, exchange: str | None) -> list[Finding]:
        self.conversation.take(fact)
        self.advisor.take(fact)
        new = self._apply(fact, exchange)
        if self.conversation.losses:
            new += self._forgotten(self._path(exchange), exchange)
        return new

    def _forgotten(self, path: str, exchange: str | None) -> list[Finding]:
        """Tell of what limits made unknown, in the order in which it happened."""
        losses, self.conversation.losses = self.conversation.losses, {}
        if self.conversation.legacy_transport:
            return []
        told = [self.ledger.forgotten(loss, times, path, exchange) for loss, times in losses.items()]
        return [finding for finding in told if finding is not None]

    def _apply(self, fact: object, exchange: str | None) -> list[Finding]:
        new: list[Finding] = []
        conversation = self.conversation
        for rule, coverage in self._by_fact[type(fact)]:
            try:
                for verdict in rule.judge(fact, conversation):
                    if verdict is SATISFIED:  # hundreds of thousands of times for once that it is not
                        coverage.satisfied += 1
                        continue
                    finding = self.ledger.record(rule, verdict, exchange)
                    if finding is not None:
                        new.append(finding)
            except Exception as problem:
                failure = self.ledger.failed(rule, problem, self._path(exchange), exchange)
                if failure is not None:
                    new.append(failure)
        return new

    def _place(self, observation: Observation, reader: ExchangeReader | None) -> str:
        """Where an observation belongs, whether it began its exchange or ended it."""
        if reader is not None:
            return reader.exchange.path
        index = observation.index if isinstance(observation, RequestSeen) else None
        return f"/exchanges/{self._index - 1 if index is None else index}"

    def _path(self, exchange: str | None) -> str:
        reader = self._readers.get(exchange) if exchange is not None else None
        return reader.exchange.path if reader is not None else "/exchanges"


def _judged(exchange: Exchange, facts: Iterator[Fact]) -> Iterator[Fact]:
    """What rules get to see: nothing of what was seen of an exchange for the second time."""
    if exchange.server_side_of is None:
        return facts
    deque(facts, maxlen=0)  # still read, to be compared
    return iter(())
