"""One conversation while it runs: judged by its raw observations, recorded by its redacted ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from mcp_wire.conversation.bounded import BoundedTable
from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Exchange
from mcp_wire.conversation.profile_selection import bundled
from mcp_wire.judging.declaration import Rule
from mcp_wire.judging.finding import Finding
from mcp_wire.judging.idempotency import Decisions
from mcp_wire.judging.judge import Judge
from mcp_wire.judging.recovery import Advice
from mcp_wire.live.directory import ConversationIdentity, Origin
from mcp_wire.reports.model import Report
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.interop_tuple import InteropTuple
from mcp_wire.transcript.journal import JournalHeader
from mcp_wire.transcript.tuple_parts import NONE, server_name
from mcp_wire.validation import report_of, rules_in
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.observation import Ended, ExchangeEnded, Observation, RequestSeen, ResponseChunk, ResponseSeen
from mcp_wire.wire.strict_json import JsonValue

MAX_EXCHANGES_NAMED: Final = 4_096
"""Exchanges, ended ones included, of which both names are known: ours and the edge's."""


class Redacting(Protocol):
    """What redacts one conversation. `feed` may hold back what is not complete yet."""

    def feed(self, observation: Observation) -> list[Observation]: ...

    def show(self, evidence: Evidence) -> str: ...


@dataclass(slots=True)
class Step:
    """What one observation led to: records for the journal, and findings made for the first time."""

    records: list[Observation | JournalHeader] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    problem: Exception | None = None
    """Redaction failed: nothing of this conversation is recorded from here on."""
    session_over: bool = False
    """The exchange that ended was a DELETE that the server accepted."""


class LiveConversation:
    """Times become milliseconds since the conversation's first observation, strictly increasing; exchanges become
    `x-1`, `x-2`, … in the order of their requests."""

    def __init__(
        self,
        identity: ConversationIdentity,
        rules: tuple[Rule, ...],
        redactor: Redacting,
        *,
        noting: bool = False,
        asserted: Mapping[str, JsonValue] | None = None,
        decisions: Decisions | None = None,
    ) -> None:
        self.identity = identity
        self._rules = rules
        self._redactor = redactor
        profile = bundled(identity.profile)
        document = Document({"profile": identity.profile})
        conversation = Conversation(profile, payloads_whole=True, complete_from_start=identity.complete_from_start)
        self._judge = Judge(rules_in(identity.profile, rules), conversation, redactor.show, decisions)
        self.occurrences = self._judge.ledger.watch_occurrences() if noting else None
        """What is found in each exchange, where somebody takes notes."""
        self.is_judged = document.is_judged
        # What is not judged is said so by the same rule that says it of a document.
        self._opening = [] if document.is_judged else self._judge.consider(document)
        self._tuple = InteropTuple(identity.profile, asserted)
        self._begun = False
        self._recording = True
        self._zero_us: int | None = None
        self._last_us = -1
        self._count = 0
        self._open: dict[str, str] = {}
        self._deleting: set[str] = set()
        self._flows: BoundedTable[str, str] = BoundedTable(MAX_EXCHANGES_NAMED)
        self._names: BoundedTable[str, str] = BoundedTable(MAX_EXCHANGES_NAMED)

    @property
    def open_exchanges(self) -> int:
        return len(self._open)

    def take(self, origin: Origin, observation: Observation) -> Step:
        """Judge and redact one observation. The judge raises nothing; a redactor that does is told in `problem`."""
        step = Step(findings=self._opening)
        self._opening = []
        renamed = self._renamed(observation)
        if renamed is None:
            return step
        # Redaction first: labels are given in the order of the transcript, not in that of the findings.
        if self._recording:
            try:
                redacted = self._redactor.feed(renamed)
                self._record(origin, redacted, step)
            except Exception as problem:
                self._recording = False
                step.problem = problem
        if self.is_judged:
            step.findings += self._judge.feed(renamed)
        step.session_over = self._deleted(renamed)
        return step

    def end_open(self, origin: Origin, known: Callable[[str], ExchangeEnded | None]) -> list[Step]:
        """The capture stops: what has no end was still open. `known` is what the edge has said of such an end."""
        steps = []
        for flow in list(self._open):
            ending = known(flow) or ExchangeEnded(flow, None, Ended.OPEN)
            steps.append(self.take(origin, ending))
        return steps

    def finish(self) -> list[Finding]:
        """Nothing more will come."""
        return self._judge.finish() if self.is_judged else []

    def report(self) -> Report:
        return report_of(self._judge, self.identity.profile, self._tuple.members, self._rules, self._tuple.stated)

    def exchange_of(self, flow: str) -> Exchange | None:
        """What is known of an exchange that runs and is judged, by the edge's name."""
        return self._judge.exchange(self._open.get(flow))

    def name_of(self, flow: str) -> str | None:
        """The conversation's own name of an exchange, as long as it is remembered."""
        return self._names.get(flow)

    def show(self, evidence: Evidence) -> str:
        """A value from the wire as its label stands in the transcript."""
        return self._redactor.show(evidence)

    def is_interrupted(self, exchange: str) -> bool:
        """May there be, now or later, advice for this exchange?"""
        return self._judge.advisor.remembers(exchange)

    def advice_for(self, exchange: str) -> Advice | None:
        """What to do about an exchange that was interrupted, as things stand now."""
        return self._judge.advisor.advice_for(exchange, server_name(self._tuple.members))

    def flow_of(self, exchange: str | None) -> str | None:
        """The edge's name of an exchange, as long as it is remembered."""
        return self._flows.get(exchange)

    def _record(self, origin: Origin, redacted: list[Observation], step: Step) -> None:
        plain = NONE if origin.endpoint.startswith("http:") else None
        learned = self._tuple.take(redacted, origin.tls or plain)
        if learned or not self._begun:
            self._begun = True
            identity = self.identity
            step.records.append(JournalHeader(identity.profile, self._tuple.members, identity.complete_from_start))
        step.records += redacted

    def _renamed(self, observation: Observation) -> Observation | None:
        if isinstance(observation, RequestSeen):
            self._count += 1
            name = self._open[observation.exchange] = f"x-{self._count}"
            self._flows.put(name, observation.exchange)
            self._names.put(observation.exchange, name)
            if observation.server_side_of is not None:
                observation = replace(observation, server_side_of=self._names.get(observation.server_side_of))
        else:
            known = self._open.get(observation.exchange)
            if known is None:
                return None
            name = known
            if isinstance(observation, ExchangeEnded):
                del self._open[observation.exchange]
        t_ms = self._time(observation.t_ms)
        if isinstance(observation, ResponseChunk):  # the common one, built directly
            return ResponseChunk(name, t_ms, observation.data)
        return replace(observation, exchange=name, t_ms=t_ms)

    def _time(self, t_ms: float | None) -> float:
        # Whole microseconds: three decimals hold them exactly, however long the capture runs.
        following = self._last_us + 1
        if t_ms is not None:
            at = round(t_ms * 1000)
            if self._zero_us is None:
                self._zero_us = at - following
            following = max(following, at - self._zero_us)
        self._last_us = following
        return following / 1000

    def _deleted(self, observation: Observation) -> bool:
        match observation:
            case RequestSeen() if observation.method.upper() == "DELETE":
                self._deleting.add(observation.exchange)
            case ResponseSeen() if not 200 <= observation.status < 300:
                self._deleting.discard(observation.exchange)
            case ExchangeEnded() if observation.exchange in self._deleting:
                self._deleting.discard(observation.exchange)
                return True
        return False
