"""What had to be forgotten live had to be forgotten of the transcript as well, at the same place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_wire.conversation import event_ids, facts
from mcp_wire.live import directory as directory_module
from mcp_wire.live.directory import Directory
from tests.live.mcp_traffic import delete, event, exchange, in_turn, initialize, initialized, tools_list
from tests.live.test_observer import SESSION, assert_live_is_offline, report, watch

VERSION = "2025-11-25"


def test_live_is_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_ids, "MAX_EVENT_IDS_REMEMBERED", 2)
    monkeypatch.setattr(facts, "MAX_CALLS_REMEMBERED", 3)
    words = "a secret of many words that redaction makes short " * 20
    request = {
        "jsonrpc": "2.0",
        "id": words,
        "method": "tools/call",
        "params": {"name": "sum", "arguments": {"a": words}},
    }
    answer = {"jsonrpc": "2.0", "id": words, "result": {"content": [{"type": "text", "text": words}]}}
    steps = in_turn(
        initialize(minted=SESSION, sse=True, name="i"),
        initialized(version=VERSION, session=SESSION, name="n"),
        exchange(request, version=VERSION, session=SESSION, events=[event(answer, words)], name="c"),
        *(tools_list(number, version=VERSION, session=SESSION, name=f"t-{number}") for number in range(1, 4)),
        delete(SESSION, version=VERSION, name="d"),
    )
    reported = watch(tmp_path, steps)
    assert_live_is_offline(tmp_path)
    found = [one for one in report(tmp_path)["findings"] if one["code"] == "evidence_forgotten"]
    assert [(one["path"], one["count"], one["message"].partition(" could")[0]) for one in found] == [
        ("/exchanges/2", 1, "Not all event ids"),
        ("/exchanges/4", 2, "Not all requests of the client"),
    ]
    assert [one.flow for one in reported if one.finding.code == "evidence_forgotten"] == ["c", "t-2"]
    written = [json.loads(line) for line in (tmp_path / "findings.jsonl").read_text().splitlines()]
    assert [line["code"] for line in written].count("evidence_forgotten") == 2
    assert "secret" not in (tmp_path / "findings.jsonl").read_text()


def test_an_endpoint_that_is_forgotten_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, "MAX_ENDPOINTS", 2)
    directory = Directory()
    for number in range(4):
        for step in in_turn(tools_list(endpoint=f"http://127.0.0.1:{number}/mcp")):
            directory.place(step.origin, step.observation)
    assert directory.limits == ["More than 2 endpoints; what comes next on the oldest is a new conversation."]


def test_a_session_that_is_forgotten_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, "MAX_CONVERSATIONS", 1)
    directory = Directory()
    for step in in_turn(
        initialize(minted="a", name="a"),
        initialize(minted="b", session="a", name="b"),
        initialize(minted="c", session="b", name="c"),
    ):
        directory.place(step.origin, step.observation)
    assert directory.limits == [
        "Too many sessions at the same time; what goes on in the oldest is taken for joined midway."
    ]


def test_sessions_of_closed_conversations_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, "MAX_CONVERSATIONS", 1)
    directory = Directory()
    for number in range(5):
        for step in in_turn(tools_list(session=f"{SESSION}-{number}", version=VERSION)):
            directory.place(step.origin, step.observation)
    assert directory.limits == ["More than 1 conversations; the quietest are closed and written early."]
