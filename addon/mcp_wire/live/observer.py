"""Live traffic, judged and recorded: what the edge saw goes in, findings and files come out.

Knows neither mitmproxy nor the disk: files are an argument. Nothing raises out of here. Whatever fails becomes one
`observer_error`, and the traffic never knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from mcp_wire.judging.declaration import Rule
from mcp_wire.judging.finding import Finding
from mcp_wire.judging.idempotency import Decision, Decisions
from mcp_wire.judging.ledger import OBSERVER_ERROR
from mcp_wire.live.directory import Closed, ConversationIdentity, Directory, Origin, Placement
from mcp_wire.live.judge_messages import Noted, Reported
from mcp_wire.live.live_conversation import LiveConversation, Redacting, Step
from mcp_wire.live.note_keeping import NoteKeeper
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.profiles import Profile
from mcp_wire.reports.json_report import finding_object, reports_text
from mcp_wire.reports.model import NamedReport, Results
from mcp_wire.transcript.journal import JournalHeader
from mcp_wire.wire.observation import Ended, ExchangeEnded, Observation
from mcp_wire.wire.strict_json import JsonValue, dump_json

__all__ = ["Files", "Observer", "ObserverSettings", "Origin", "Reported"]

MAX_TROUBLES: Final = 100
MAX_CLOSED_REPORTS: Final = 1_000
"""Conversations that were closed early and still stand in report.json; the transcripts of all of them are written."""


class Files(Protocol):
    """Where findings, journals, transcripts and the report go. Every method may raise OSError."""

    def name_of(self, label: str) -> str:
        """The file name of a conversation's transcript, within the output folder."""
        ...

    def record(self, label: str, records: Sequence[Observation | JournalHeader]) -> None:
        """Append to the conversation's journal. After a failure, further records of it are dropped without a word."""
        ...

    def finding(self, line: str) -> None: ...

    def settle(self) -> None:
        """Write what is held back of the journals."""
        ...

    def preview(self, label: str) -> None:
        """A good moment to write the transcript, though more may come."""
        ...

    def conclude(self, label: str) -> None:
        """Nothing more will come: write the transcript from the journal, at the latest in `close`."""
        ...

    def report(self, text: str) -> None: ...

    def further_reports(self, results: Results) -> None:
        """The same in the other forms that were asked for."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ObserverSettings:
    """`profile` None: each conversation by its own evidence. `asserted`: an operator's words for the tuple.
    `decisions`: what owners have decided about repeating requests; None where nobody has given any."""

    rules: tuple[Rule, ...]
    profile: Profile | None = None
    asserted: Mapping[str, JsonValue] = field(default_factory=dict)
    decisions: tuple[Decision, ...] | None = None


class Observer:
    """Takes observations in the order in which they were made; see `observe` and `finish`.

    `on_finding` hears of every new finding, `on_report` of the report on each conversation that is over, `log` of
    troubles of our own; all may raise, to no effect. `noting`: somebody asks for `notes`, and how many exchanges there
    were.
    """

    def __init__(
        self,
        settings: ObserverSettings,
        files: Files,
        *,
        on_finding: Callable[[Reported], None] = lambda reported: None,
        on_report: Callable[[NamedReport], None] = lambda report: None,
        log: Callable[[str], None] = lambda sentence: None,
        redactor: Callable[[], Redacting] = Redactor,
        noting: bool = False,
    ) -> None:
        self._settings = settings
        self._files = files
        self._on_finding = on_finding
        self._on_report = on_report
        self._log = log
        self._redactor = redactor
        self._directory = Directory(settings.profile)
        self._conversations: dict[ConversationIdentity, LiveConversation] = {}
        self._origins: dict[ConversationIdentity, Origin] = {}
        self._closed: list[NamedReport] = []
        self._left_open: dict[str, ExchangeEnded] = {}
        self._troubles: dict[str, Finding] = {}
        self._finished = False
        self._notes = NoteKeeper(pinned=settings.profile is not None) if noting else None
        self.conversations = 0
        """How many there were."""
        self.complete = True
        """Nothing has gone wrong: no `observer_error` was made."""

    @property
    def exchanges(self) -> int:
        """How many there were."""
        return self._notes.exchanges if self._notes is not None else 0

    def notes(self, *, progress: bool = False) -> Iterator[Noted]:
        """What there is to say anew of single exchanges; with `progress`, also of streams that only grew."""
        return self._notes.news(progress=progress) if self._notes is not None else iter(())

    @property
    def finished(self) -> bool:
        return self._finished

    def observe(self, origin: Origin, observation: Observation) -> None:
        """Take one observation, after its bytes have gone on. Never raises. After `finish`, nothing happens."""
        if self._finished:
            return
        try:
            if isinstance(observation, ExchangeEnded) and observation.ended is Ended.OPEN:
                # That the capture stops is no event of the traffic: it comes after everything that is one.
                self._left_open[observation.exchange] = observation
                return
            self._take_all(self._directory.place(origin, observation))
        except Exception as problem:
            self._trouble(f"{_article(observation)} could not be taken in ({type(problem).__name__}).")

    def settle(self) -> None:
        """Everything that arrived together is taken in: what was recorded of it is to outlive this process now."""
        self._written(self._files.settle)

    def interrupted(self) -> None:
        """Whoever watched the traffic was stopped before everything was handed over."""
        self._trouble("The proxy was stopped before it could hand everything over; what was in flight is missing.")

    def finish(self) -> None:
        """The capture is over: judge what waited, write transcripts and report. Never raises; once is enough."""
        if self._finished:
            return
        self._finished = True
        try:
            self._take_all(self._directory.finish())
        except Exception as problem:
            self._trouble(f"Placing what still waited failed with {type(problem).__name__}.")
        for identity in list(self._conversations):
            self._guarded(self._end_open, identity)
        reports = [*self._closed]
        for identity in list(self._conversations):
            report = self._guarded(self._close, identity)
            if report is not None:
                reports.append(report)
        reports.sort(key=lambda named: named.transcript)
        known = len(self._troubles)
        self._write_report(reports)
        results = Results(tuple(reports), tuple(self._troubles.values()))
        self._guarded(self._written, self._files.further_reports, results)
        if len(self._troubles) > known:  # of which report.json has to tell as well
            self._write_report(reports)
        self._written(self._files.close)

    def _write_report(self, reports: Sequence[NamedReport]) -> None:
        text = self._guarded(lambda: reports_text(reports, list(self._troubles.values())))
        if text is not None:
            self._written(self._files.report, text)

    def _take_all(self, placements: Iterable[Placement]) -> None:
        for placement in placements:
            self._guarded(self._take, placement)
        while self._directory.limits:
            self._trouble(self._directory.limits.pop(0))

    def _take(self, placement: Placement) -> None:
        identity = placement.conversation
        if isinstance(placement, Closed):
            self._end_open(identity)
            report = self._close(identity)
            if report is None:
                return
            if len(self._closed) < MAX_CLOSED_REPORTS:
                self._closed.append(report)
            else:
                self._trouble(
                    "report.json leaves out conversations that were closed early; their transcripts are kept."
                )
            return
        conversation = self._conversations.get(identity)
        if conversation is None:
            noting = self._notes is not None
            conversation = LiveConversation(
                identity,
                self._settings.rules,
                self._redactor(),
                noting=noting,
                asserted=self._settings.asserted,
                decisions=self._decisions(identity),
            )
            self._conversations[identity] = conversation
            self._origins[identity] = placement.origin
            self.conversations += 1
        step = conversation.take(placement.origin, placement.observation)
        if self._notes is not None:
            self._notes.took(conversation, self._files.name_of(identity.label), placement.observation)
        self._apply(conversation, step)

    def _decisions(self, identity: ConversationIdentity) -> Decisions | None:
        decisions = self._settings.decisions
        return None if decisions is None else Decisions(decisions, f"{identity.label}.json")

    def _apply(self, conversation: LiveConversation, step: Step) -> None:
        label = conversation.identity.label
        if step.records:
            self._written(self._files.record, label, step.records)
        for finding in step.findings:
            self._report(finding, conversation)
        if step.problem is not None:
            self._trouble(
                f"Redaction failed with {type(step.problem).__name__}; the transcript of that conversation ends there."
            )
        if step.session_over and not conversation.open_exchanges:
            self._written(self._files.preview, label)

    def _end_open(self, identity: ConversationIdentity) -> None:
        conversation = self._conversations.get(identity)
        if conversation is None:
            return
        for step in conversation.end_open(self._origins[identity], self._left_open.get):
            self._apply(conversation, step)

    def _close(self, identity: ConversationIdentity) -> NamedReport | None:
        conversation = self._conversations.pop(identity, None)
        self._origins.pop(identity, None)
        if conversation is None:
            return None
        for finding in conversation.finish():
            self._report(finding, conversation)
        if self._notes is not None:
            self._notes.forget(conversation)
        self._written(self._files.conclude, identity.label)
        report = NamedReport(self._files.name_of(identity.label), conversation.report())
        self._quietly(self._on_report, report)
        return report

    # What goes out

    def _report(self, finding: Finding, conversation: LiveConversation | None) -> None:
        self.complete = self.complete and finding.code != OBSERVER_ERROR
        if conversation is None:
            reported = Reported(finding, None, None, None)
        else:
            identity = conversation.identity
            reported = Reported(
                finding,
                conversation.flow_of(finding.exchange),
                self._files.name_of(identity.label),
                identity.profile,
                self._notes.what(conversation.flow_of(finding.exchange)) if self._notes is not None else "",
            )
        line: dict[str, JsonValue] = finding_object(finding)
        if reported.transcript is not None:
            line |= {"transcript": reported.transcript, "profile": reported.profile}
        self._written(self._files.finding, dump_json(line))
        self._quietly(self._on_finding, reported)

    def _trouble(self, sentence: str) -> None:
        """Say once that the observer itself could not do something. `sentence` holds nothing from the wire."""
        if sentence in self._troubles or len(self._troubles) >= MAX_TROUBLES:
            return
        finding = Finding(
            code=OBSERVER_ERROR,
            level="info",
            party="pipeline",
            layer="capture_pipeline",
            path="/",
            message=sentence,
            exchange=None,
            citation=None,
            fix="Read the message; what it does not mention was judged and recorded as usual.",
        )
        self._troubles[sentence] = finding
        self._quietly(self._log, sentence)
        self._report(finding, None)

    def _written[*Arguments](self, write: Callable[[*Arguments], None], *arguments: *Arguments) -> None:
        try:
            write(*arguments)
        except OSError as problem:
            self._trouble(
                f"The output folder cannot be written ({problem.strerror or type(problem).__name__}): findings and "
                "transcripts are incomplete from here on. The traffic goes on."
            )

    def _guarded[*Arguments, Result](self, do: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result | None:
        try:
            return do(*arguments)
        except Exception as problem:
            self._trouble(f"The observer failed with {type(problem).__name__}; the traffic goes on.")
            return None

    def _quietly[Argument](self, tell: Callable[[Argument], None], argument: Argument) -> None:
        try:
            tell(argument)
        except Exception:
            # A listener that fails loses its line; findings.jsonl has it.
            return


def _article(observation: Observation) -> str:
    name = type(observation).__name__
    return f"An {name}" if name[0] in "AEIOU" else f"A {name}"
