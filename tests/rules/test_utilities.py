"""Pagination, ping and logging."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.rules.talk import META, Json, Talk, found, json_answer, legacy, modern, modern_result, outcome, stream

CURSORS = ("cursor_not_issued", "invalid_cursor_wrong_error")


def event(message: Json) -> str:
    return f"data: {json.dumps(message)}\n\n"


def page(talk: Talk, cursor: Any = None, next: Any = None, **members: Any) -> Talk:
    result: Json = {"tools": []} | ({} if next is None else {"nextCursor": next})
    return talk.ask("tools/list", None if cursor is None else {"cursor": cursor}, result=result, **members)


# --- cursors ---


def test_pages_forward_and_again() -> None:
    talk = page(page(page(page(legacy().begin(), None, "2"), "2", "3"), "3"), "2", "3")
    assert found(talk, *CURSORS) == []
    assert outcome(talk, "cursor_not_issued") == "satisfied"


def test_a_session_joined_midway_has_a_past() -> None:
    assert found(page(legacy(complete=False), "2"), *CURSORS) == []
    assert found(page(legacy().begin(), "2"), *CURSORS) == ["cursor_not_issued error /exchanges/2/request/body"]


@pytest.mark.parametrize("what", ["no body", "no response", "request body"])
def test_an_answer_that_was_not_seen_may_have_given_it(what: str) -> None:
    talk = page(page(legacy().begin(), None, "2"), "2")
    exchange = talk.exchanges[2]
    if what == "no body":
        del exchange["response"]["body"]
    elif what == "no response":
        del exchange["response"]
    else:
        del exchange["request"]["body"]
    assert found(talk, *CURSORS) == []
    assert outcome(talk, "cursor_not_issued") == "cannot_tell"


def test_a_cursor_of_another_session_does_not_count() -> None:
    talk = page(legacy().begin(), None, "2")
    other = legacy(session="0a1b2c3d-0000-4000-8000-5f0c7a1e9b64")
    other.exchanges = talk.exchanges
    assert found(page(other.begin(), "2"), *CURSORS) == ["cursor_not_issued error /exchanges/5/request/body"]


def test_from_2026_on_a_cursor_may_be_older_than_the_capture() -> None:
    for complete, expected in ((False, []), (True, ["cursor_not_issued error /exchanges/0/request/body"])):
        talk = modern(complete=complete).ask("tools/list", {"cursor": "2"})
        assert found(talk, *CURSORS) == expected


@pytest.mark.parametrize("cursor", [None, 2, {}])
def test_what_is_no_cursor(cursor: Any) -> None:
    talk = legacy().begin().ask("tools/list", {"cursor": cursor})
    assert outcome(talk, "cursor_not_issued") == "not_observed"


@pytest.mark.parametrize(
    ("status", "code", "judged"),
    [(200, -32603, True), (200, -32000, True), (400, -32603, True), (200, -32602, False), (200, -32601, False),
     (404, -32001, False), (401, -32000, False), (500, -32603, False)],
)  # fmt: skip
def test_refusals_of_an_unknown_cursor(status: int, code: int, judged: bool) -> None:
    talk = legacy().begin().ask("tools/list", {"cursor": "2"}, error={"code": code, "message": "?"}, status=status)
    assert bool(found(talk, "invalid_cursor_wrong_error")) is judged


def test_a_known_cursor_may_be_refused_in_any_way() -> None:
    talk = page(legacy().begin(), None, "2")
    talk.ask("tools/list", {"cursor": "2"}, error={"code": -32603, "message": "gone"})
    assert found(talk, *CURSORS) == []


def test_a_transcript_cut_by_hand_proves_no_absence() -> None:
    assert found(page(legacy(shape=False).begin(), "2"), *CURSORS) == []


# --- ping ---


@pytest.mark.parametrize(
    ("status", "code", "judged"),
    [(200, -32601, True), (200, -32603, True), (200, 0, True), (200, -32600, False), (200, -32001, False),
     (404, -32601, False), (400, -32603, False)],
)  # fmt: skip
def test_errors_of_the_server_to_a_ping(status: int, code: int, judged: bool) -> None:
    talk = legacy().begin().ask("ping", error={"code": code, "message": "?"}, status=status)
    assert bool(found(talk, "ping_result_not_empty")) is judged


def test_both_sides_and_each_way_are_told_apart() -> None:
    talk = legacy().begin().ask("ping", result={"a": 1}).ask("ping", error={"code": -32601, "message": "?"})
    talk.get(stream(event({"jsonrpc": "2.0", "id": 0, "method": "ping"})))
    talk.post({"jsonrpc": "2.0", "id": 0, "result": {"resultType": "complete"}}, {"status": 202, "headers": {}})
    assert found(talk, "ping_result_not_empty") == [
        "ping_result_not_empty error /exchanges/2/response/body",
        "ping_result_not_empty error /exchanges/3/response/body",
        "ping_result_not_empty error /exchanges/5/request/body",
    ]


def test_without_a_session_another_client_may_have_been_asked() -> None:
    talk = legacy(session=None, complete=False)
    talk.get(stream(event({"jsonrpc": "2.0", "id": 0, "method": "ping"})))
    talk.post({"jsonrpc": "2.0", "id": 0, "result": {"roots": []}}, {"status": 202, "headers": {}})
    assert found(talk, "ping_result_not_empty") == []


# --- logs ---


def log(level: Any = "info") -> str:
    return event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": level, "data": "?"}})


def logged(level: Any, asked: Any = None, *, shape: bool = True) -> Talk:
    result = event({"jsonrpc": "2.0", "id": 7, "result": modern_result(content=[])})
    meta = {} if asked is None else {META + "logLevel": asked}
    return modern(shape=shape).call(id=7, meta=meta, answer=stream(log(level), result, ended="complete"))


LOGS = ("log_not_requested", "log_below_requested_level")
LOG_PLACE = "/exchanges/0/response/chunks/0"


def test_logs_before_the_proof_are_judged_with_it() -> None:
    assert found(logged("info"), *LOGS) == [f"log_not_requested error {LOG_PLACE}"]


def test_logs_of_a_server_that_proves_nothing() -> None:
    talk = modern().call(id=7, answer=stream(log(), ended="client_closed"))
    assert found(talk, *LOGS) == []
    assert outcome(talk, "log_not_requested") == "cannot_tell"


def test_logs_of_a_transcript_cut_by_hand() -> None:
    assert found(logged("info", shape=False), *LOGS) == []


@pytest.mark.parametrize(
    ("level", "asked", "below"),
    [("info", "debug", False), ("emergency", "emergency", False), ("alert", "emergency", True), ("debug", "info", True),
     ("notice", "warning", True), ("verbose", "info", False), ("info", "verbose", False), (3, "info", False)],
)  # fmt: skip
def test_levels(level: Any, asked: Any, below: bool) -> None:
    expected = [f"log_below_requested_level warning {LOG_PLACE}"] if below else []
    assert found(logged(level, asked), *LOGS) == expected


def in_session(at: float, *, asked: str = "error", answered: bool = True, session: str | None = "s" * 32,
               headers: Json | None = None) -> Talk:  # fmt: skip
    talk = legacy(session=session)
    talk.initialize(server={"logging": {}}, at=0, until=10).notify(at=20, until=30)
    talk.get(stream({"t_ms": at, "text": log("info")}), headers, at=at - 1 if headers else 40)
    answer = None if answered else stream({"t_ms": 105, "text": ":\n\n"})
    return talk.ask(
        "logging/setLevel", {"level": asked}, result={}, answer=answer, at=100, until=110 if answered else at
    )


def test_the_level_of_a_session() -> None:
    place = "/exchanges/2/response/chunks/0"
    assert found(in_session(5_000), *LOGS) == [f"log_below_requested_level warning {place}"]
    assert found(in_session(5_000, asked="debug"), *LOGS) == []
    assert found(in_session(600), *LOGS) == []
    assert found(in_session(5_000, answered=False), *LOGS) == []
    assert found(in_session(5_000, session=None), *LOGS) == []
    assert found(in_session(5_000, headers={"Last-Event-ID": "e-1"}), *LOGS) == []


def test_a_refused_level_is_not_in_force() -> None:
    talk = in_session(5_000)
    refused = {"jsonrpc": "2.0", "id": 103, "error": {"code": -32602, "message": "?"}}
    talk.exchanges[3]["response"] = json_answer(refused)
    assert found(talk, *LOGS) == []
