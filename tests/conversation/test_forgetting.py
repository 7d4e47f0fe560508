"""What was forgotten to keep memory bounded is never taken for what was not there."""

from __future__ import annotations

import pytest

from mcp_wire.conversation import event_ids, interruptions, progress_tokens
from tests.rules.streams import answered, calling, event, primed, progressed
from tests.rules.talk import Json, found, legacy, outcome, stream


def test_forgotten_event_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = legacy().begin().ask(id=5, answer=stream(*(primed(f"e-{number}") for number in range(4)), ended="complete"))
    talk.get(headers={"Last-Event-ID": "e-0"})
    assert outcome(talk, "last_event_id_never_issued") == "satisfied"
    monkeypatch.setattr(event_ids, "MAX_EVENT_IDS_REMEMBERED", 2)
    assert outcome(talk, "last_event_id_never_issued") == "cannot_tell"


def test_event_ids_weigh_as_much_as_what_they_keep_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_ids, "MAX_EVENT_ID_BYTES_REMEMBERED", 3 * event_ids.ENTRY_BYTES)
    talk = legacy().begin().ask(id=5, answer=stream(*(primed(f"e-{number}") for number in range(4)), ended="complete"))
    assert outcome(talk.get(headers={"Last-Event-ID": "e-3"}), "last_event_id_never_issued") == "satisfied"
    assert outcome(talk.get(headers={"Last-Event-ID": "e-0"}), "last_event_id_never_issued") == "satisfied"
    assert found(talk, "last_event_id_never_issued") == []


def test_forgotten_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = legacy("2025-06-18").begin()
    for token in ("a", "b"):
        talk.ask("tools/call", calling(token), result={"content": []})
    talk.get(stream(event(progressed("x", 1))))
    assert outcome(talk, "progress_unknown_token") == "violated"
    monkeypatch.setattr(progress_tokens, "MAX_TOKENS_REMEMBERED", 1)
    assert outcome(talk, "progress_unknown_token") == "cannot_tell"


def test_only_the_latest_polls_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = legacy()
    for number in range(4):
        times: Json = {"at": number * 10, "until": number * 10 + 5}
        talk.ask(
            "tools/call", calling(n=number), id=number, answer=stream(primed(f"e-{number}"), ended="complete"), **times
        )
    talk.ask(id=9, at=90_000, until=90_010)
    monkeypatch.setattr(interruptions, "MAX_WAITING", 2)
    assert found(talk, "poll_not_resumed") == ["poll_not_resumed warning /exchanges/2/response"]


def test_an_answered_stream_is_no_interruption() -> None:
    talk = legacy().ask(
        "tools/call", calling(), id=5, answer=stream(primed(), event(answered(5), "e-1"), ended="complete")
    )
    assert found(talk, "stream_closed_without_response", "poll_not_resumed", "close_without_retry") == []
