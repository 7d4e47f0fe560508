"""What there is to say of every single exchange while it runs, and after: from the judge to whoever shows flows.

The judge's side of it. Told of each observation after it was judged, it knows of which exchanges there is news.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable
from mcp_wire.conversation.facts import Exchange
from mcp_wire.conversation.profile_selection import evidence_of
from mcp_wire.live.directory import ConversationIdentity
from mcp_wire.live.judge_messages import Noted
from mcp_wire.live.live_conversation import LiveConversation
from mcp_wire.protocol.profiles import UNDETERMINED
from mcp_wire.reports.exchange_notes import MAX_FINDINGS, ExchangeNotes, NotedAdvice, NotedFinding
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.jsonrpc import Envelope, classify
from mcp_wire.wire.observation import ExchangeEnded, Observation, RequestSeen, ResponseChunk
from mcp_wire.wire.strict_json import MISSING

MAX_ENDED: Final = 4_096
"""Exchanges that are over and still get news: a fault that shows later, a recovery that was done."""
MAX_INTERRUPTED: Final = 64
"""Interrupted exchanges of one conversation whose advice is kept up to date."""


@dataclass(slots=True)
class _Kept:
    conversation: LiveConversation | None
    """None once it is over."""
    name: str
    """The exchange's own name in its conversation."""
    notes: ExchangeNotes
    exchange: Exchange | None
    """While it runs, if it is judged."""


class NoteKeeper:
    """The notes of all exchanges. `pinned`: the operator chose the profile of everything."""

    def __init__(self, *, pinned: bool) -> None:
        self._pinned = pinned
        self._running: dict[str, _Kept] = {}
        self._ended: BoundedTable[str, _Kept] = BoundedTable(MAX_ENDED)
        self._interrupted: dict[LiveConversation, BoundedTable[str, str]] = {}
        self.exchanges = 0
        """How many there were."""
        self._news: dict[str, None] = {}
        self._progress: dict[str, None] = {}

    def took(self, conversation: LiveConversation, transcript: str, observation: Observation) -> None:
        """This observation was judged. It names its exchange as the edge does; `transcript` is the conversation's."""
        flow = observation.exchange
        match observation:
            case RequestSeen():
                self._begin(conversation, transcript, observation)
            case ResponseChunk():
                if flow in self._running:
                    self._progress[flow] = None
            case ExchangeEnded():
                self._end(conversation, flow)
            case _:
                pass
        self.changed(conversation)

    def changed(self, conversation: LiveConversation) -> None:
        """Something may have been found in the exchanges of this conversation."""
        for name in conversation.occurrences.changed() if conversation.occurrences is not None else ():
            flow = conversation.flow_of(name)
            if flow is not None:
                self._news[flow] = None

    def forget(self, conversation: LiveConversation) -> None:
        """The conversation is over: what it has to say is said now."""
        self.changed(conversation)
        self._interrupted.pop(conversation, None)
        for flow in [flow for flow, kept in self._running.items() if kept.conversation is conversation]:
            self._end(conversation, flow)
        for kept in self._ended.values():
            if kept.conversation is conversation:
                kept.notes = _up_to_date(kept)
                kept.conversation = None

    def what(self, flow: str | None) -> str:
        """HTTP method and JSON-RPC method of an exchange, redacted; empty where it is not known any more."""
        kept = self._kept(flow)
        return kept.notes.what if kept is not None else ""

    def news(self, *, progress: bool = False) -> Iterator[Noted]:
        """The notes of which something has changed, each once; with `progress`, also of streams that only grew."""
        flows = self._news
        if progress:
            flows |= self._progress
            self._progress = {}
        self._news = {}
        for flow in flows:
            kept = self._kept(flow)
            if kept is not None:
                kept.notes = _up_to_date(kept)
                yield Noted(flow, kept.notes)

    def _kept(self, flow: str | None) -> _Kept | None:
        if flow is None:
            return None
        return self._running.get(flow) or self._ended.get(flow)

    def _begin(self, conversation: LiveConversation, transcript: str, request: RequestSeen) -> None:
        name = conversation.name_of(request.exchange)
        if name is None:
            return
        self.exchanges += 1
        identity = conversation.identity
        notes = ExchangeNotes(
            profile=identity.profile,
            why=_why(identity, request, pinned=self._pinned),
            is_judged=conversation.is_judged and identity.profile != UNDETERMINED,
            transcript=transcript,
            index=int(name.rpartition("-")[2]) - 1,
            what=_what(conversation, request),
        )
        self._running[request.exchange] = _Kept(conversation, name, notes, conversation.exchange_of(request.exchange))
        self._news[request.exchange] = None

    def _end(self, conversation: LiveConversation, flow: str) -> None:
        kept = self._running.pop(flow, None)
        if kept is None:
            return
        kept.notes = replace(_up_to_date(kept), has_ended=True)
        kept.exchange = None  # it holds bodies
        self._ended.put(flow, kept)
        self._news[flow] = None
        self._progress.pop(flow, None)
        self._advise(conversation, kept.name, flow)

    def _advise(self, conversation: LiveConversation, name: str, flow: str) -> None:
        """What ends can change what is to be done about others: a stream was resumed, a session renewed."""
        interrupted = self._interrupted.get(conversation)
        if conversation.is_interrupted(name):
            if interrupted is None:
                interrupted = self._interrupted[conversation] = BoundedTable(MAX_INTERRUPTED)
            interrupted.put(name, flow)
        for other in list(interrupted.values()) if interrupted is not None else ():
            kept = self._ended.get(other)
            if kept is not None and _advice(kept) != kept.notes.advice:
                self._news[other] = None


def _up_to_date(kept: _Kept) -> ExchangeNotes:
    if kept.conversation is None:
        return kept.notes
    occurrences = kept.conversation.occurrences
    found = occurrences.of(kept.name) if occurrences is not None else []
    findings = [NotedFinding.of(finding) for finding in found]
    notes = replace(
        kept.notes,
        findings=tuple(findings[:MAX_FINDINGS]),
        left_out=max(0, len(findings) - MAX_FINDINGS),
        advice=_advice(kept),
    )
    exchange = kept.exchange
    if exchange is None:
        return notes
    return replace(notes, events=exchange.dispatched, chunks=exchange.chunks, is_stream=exchange.is_event_stream)


def _advice(kept: _Kept) -> NotedAdvice | None:
    advice = kept.conversation.advice_for(kept.name) if kept.conversation is not None else None
    return NotedAdvice(advice.action, advice.condition) if advice is not None else None


def _why(identity: ConversationIdentity, request: RequestSeen, *, pinned: bool) -> str:
    """Why the exchange is judged by this profile, as a clause."""
    if pinned:
        return "mcp_profile says so"
    evidence = evidence_of(request)
    if identity.profile == UNDETERMINED:
        return "nothing in this conversation has named a revision"
    if evidence.in_body_modern:
        return "_meta in its body names the revision"
    if evidence.is_initialize and identity.initialized:
        return "the answer to this initialize names the revision"
    if identity.initialized:
        where = "this session" if identity.session is not None else "this endpoint"
        return f"the answer to initialize named the revision for {where}"
    if evidence.header is not None and evidence.header == evidence.named:
        return "its MCP-Protocol-Version header names the revision"
    return "an earlier request of this conversation named the revision"


def _what(conversation: LiveConversation, request: RequestSeen) -> str:
    method = conversation.show(Evidence("method", request.method))
    value = request.body.value
    if value is MISSING:
        return method
    envelope = classify(value)
    if envelope.kind == "batch":
        return f"{method} batch of {len(envelope.members)}"
    return f"{method} {_carried(conversation, envelope)}".rstrip()


def _carried(conversation: LiveConversation, message: Envelope) -> str:
    if message.method is None:
        return "response" if message.kind in ("response", "error_response") else ""
    method = conversation.show(Evidence("method", message.method))
    name = message.params.get("name") if isinstance(message.params, dict) else None
    if message.method == "tools/call" and isinstance(name, str) and name:
        return f"{method} {conversation.show(Evidence('name', name))}"
    return method
