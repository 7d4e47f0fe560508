"""Judged redacted, every case has the findings that it has when judged as it was."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.judging.judge import Judge
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.rules import rules_of
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import observations
from mcp_wire.validation import rules_in
from mcp_wire.wire.observation import Observation, ResponseChunk
from tests.privacy.conversations import cut, redact
from tests.privacy.mutations import mutated

REPOSITORY = Path(__file__).parent.parent.parent
CASES = sorted((REPOSITORY / "tests" / "cases").glob("[0-9]*.json"))
FIXTURES = sorted(
    path
    for path in (REPOSITORY / "fixtures").glob("**/*.json")
    if path.with_name(f"{path.stem}.expected.json").exists()  # the others are no transcripts, or cannot be read
)
TRANSCRIPTS = [*CASES, *FIXTURES]
RULES = tuple(rules_of(extended=True))
Verdict = tuple[list[tuple[str, str, str, int]], list[tuple[str, str]]]


def document_of(path: Path) -> Document:
    value = json.loads(path.read_text())
    return Document(value["transcript"] if path in CASES else value)


def verdict(document: Document, told: Iterable[Observation]) -> Verdict:
    conversation = Conversation(
        PROFILES.get(document.profile or ""),
        payloads_whole=document.payloads_whole,
        complete_from_start=document.complete_from_start,
    )
    judge = Judge(rules_in(document.profile, RULES), conversation, Redactor().show)
    for observation in told:
        judge.feed(observation)
    judge.finish()
    return (
        sorted((finding.code, finding.level, finding.path, finding.count) for finding in judge.findings()),
        [(advice.exchange, advice.action) for advice in judge.recovery()],
    )


def in_place(redacted: Iterable[Observation], told: Iterable[Observation]) -> list[Observation]:
    """What redaction gave, in the order in which it was seen, as a transcript has it: a chunk waits for the end of its
    events, and another exchange may do something meanwhile."""
    waiting: defaultdict[str, deque[Observation]] = defaultdict(deque)
    for observation in redacted:
        waiting[observation.exchange].append(observation)
    placed = [waiting[seen.exchange].popleft() for seen in told if waiting[seen.exchange]]
    return placed + [left for queue in waiting.values() for left in queue]


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_redaction_keeps_the_verdict(path: Path) -> None:
    document = document_of(path)
    told = observations(document) if document.is_judged else []
    found = verdict(document, told)
    for keep_tool_names in (True, False):
        redacted = redact(told, Redactor(keep_tool_names=keep_tool_names))
        for again in (True, keep_tool_names):
            assert redact(redacted, Redactor(keep_tool_names=again)) == redacted
        assert verdict(document, redacted) == found


@given(st.sampled_from(TRANSCRIPTS), st.lists(st.integers(0, 10_000), max_size=6))
def test_redaction_keeps_the_verdict_however_the_streams_are_cut(path: Path, places: list[int]) -> None:
    document = document_of(path)
    told: list[Observation] = []
    for observation in observations(document) if document.is_judged else []:
        if isinstance(observation, ResponseChunk):
            pieces = cut(observation.data, places)
            told += (ResponseChunk(observation.exchange, observation.t_ms, piece) for piece in pieces)
        else:
            told.append(observation)
    assert verdict(document, in_place(redact(told), told)) == verdict(document, told)


@given(st.sampled_from(TRANSCRIPTS), st.integers(0, 2**32), st.booleans())
@settings(max_examples=300)
def test_redaction_keeps_the_verdict_of_what_nobody_thought_of(path: Path, seed: int, keep_tool_names: bool) -> None:
    document = document_of(path)
    told = mutated(observations(document) if document.is_judged else [], seed)
    redacted = redact(told, Redactor(keep_tool_names=keep_tool_names))
    assert redact(redacted, Redactor(keep_tool_names=keep_tool_names)) == redacted
    assert verdict(document, redacted) == verdict(document, told)
