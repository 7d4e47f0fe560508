"""Cancellations: whose request it was, and what may cross what."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.streams import answered, asked, calling, comment, event, failed, modern_answer, primed, told
from tests.rules.talk import Json, Talk, found, legacy, modern, outcome, stream

LISTEN = ("subscriptions/listen", {"notifications": {"toolsListChanged": True}})


def cancelling(id: Any) -> Json:
    return told("notifications/cancelled", requestId=id)


def call(talk: Talk, *chunks: Any, id: Any = 8, ended: str = "open", **times: Any) -> Talk:
    return talk.ask("tools/call", calling(), id=id, answer=stream(*chunks, ended=ended), **times)


def cancel(talk: Talk, id: Any = 8, at: float = 2_000) -> Talk:
    return talk.notify("notifications/cancelled", {"requestId": id}, at=at, until=at + 10)


def begun(**members: Any) -> Talk:
    return legacy("2025-06-18", **members).begin(at=0, until=1)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (cancel(call(begun(), at=100)), "satisfied"),
        (cancel(call(begun(), at=100), id="8"), "violated"),  # another type, another id
        (cancel(call(begun(), at=100), id=9), "violated"),
        (cancel(legacy("2025-06-18"), id=9), "cannot_tell"),  # joined midway
        (cancel(begun(complete=False), id=9), "cannot_tell"),
        (cancel(begun().add("POST", begun().usual(None), None, {"status": 202, "headers": {}}), id=9), "cannot_tell"),
        (cancel(call(begun(), event(answered(8), at=300), at=100), at=5_299), "satisfied"),  # they may have crossed
        (cancel(call(begun(), event(answered(8), at=300), at=100), at=5_300), "violated"),
        (begun().notify("notifications/cancelled", {"reason": "none named"}), "not_observed"),
    ],
)
def test_the_client_cancels_requests_of_its_own(talk: Talk, expected: str) -> None:
    assert outcome(talk, "cancel_unknown_request") == expected


def test_a_late_cancellation_is_a_warning() -> None:
    talk = cancel(call(begun(), event(answered(8), at=300), at=100), at=6_000)
    code = "cancel_unknown_request"
    assert found(talk, code) == [f"{code} warning /exchanges/3/request/body"]


def test_without_times_nothing_is_late() -> None:
    talk = call(legacy("2025-06-18").begin(), event(answered(8)), ended="complete")
    talk.notify("notifications/cancelled", {"requestId": 8})
    assert outcome(talk, "cancel_unknown_request") == "satisfied"


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([event(asked("s-1")), event(cancelling("s-1"))], "satisfied"),
        ([event(asked(1)), event(cancelling(1))], "satisfied"),
        ([event(cancelling(8))], "violated"),  # the client's
        ([event(cancelling("s-2"))], "violated"),
    ],
)
def test_the_server_cancels_requests_of_its_own(sent: list[Any], expected: str) -> None:
    assert outcome(call(begun(), *sent), "cancel_unknown_request") == expected


def test_a_server_does_not_end_the_clients_call() -> None:
    """Its cancellation changes nothing: the response is still owed."""
    talk = call(begun(), event(cancelling(8)), ended="complete")
    assert outcome(talk, "stream_closed_without_response") == "violated"


def after_cancel(at: float, message: Json | None = None, *, version: str = "2025-06-18") -> Talk:
    told = legacy(version)
    call(told, event(answered(8) if message is None else message, at=at), ended="complete", at=0, until=at)
    return cancel(told)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (after_cancel(4_009), "not_observed"),  # they may have crossed
        (after_cancel(4_010), "violated"),
        (after_cancel(4_010, failed(8, 0)), "violated"),
        (after_cancel(1_999), "not_observed"),
        (cancel(call(legacy("2025-06-18"), comment(at=9_000), at=0)), "satisfied"),
        (cancel(call(legacy("2025-06-18"), event(answered(8), at=9_000), at=0), id=7), "not_observed"),
    ],
)
def test_answers_to_cancelled_requests(talk: Talk, expected: str) -> None:
    assert outcome(talk, "response_after_cancel") == expected


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (modern().list().call(id=5, answer=stream(event(cancelling(5)), event(modern_answer(5)))), "violated"),
        (modern().list().ask(*LISTEN, id=4, answer=stream(event(cancelling(4)))), "satisfied"),
        (modern().list().ask(*LISTEN, id=4).call(id=5, answer=stream(event(cancelling(4)))), "satisfied"),
        (modern().list().call(id=5, answer=stream(event(cancelling(99)))), "cannot_tell"),  # perhaps a listen
        (modern(complete=True).list().call(id=5, answer=stream(event(cancelling(99)))), "violated"),
        (modern().call(id=5, answer=stream(event(cancelling(5)))), "cannot_tell"),  # a legacy server, perhaps
    ],
)  # fmt: skip
def test_at_2026_a_server_cancels_subscriptions_only(talk: Talk, expected: str) -> None:
    assert outcome(talk, "server_cancelled_non_subscription") == expected
    assert found(talk, "cancel_unknown_request") == []


def test_a_listen_stream_that_was_cancelled_is_not_unanswered() -> None:
    talk = modern().list().ask(*LISTEN, id=4, answer=stream(event(cancelling(4)), ended="complete"))
    assert found(talk, "stream_closed_without_response") == []


CREATED = {"task": {"taskId": "k", "status": "working", "createdAt": "2026-01-10T10:30:00Z", "ttl": None}}


@pytest.mark.parametrize(
    ("params", "result", "expected"),
    [
        (calling() | {"task": {}}, CREATED, "violated"),
        (calling() | {"task": {}}, None, "not_observed"),  # no task yet
        (calling(), {"content": []}, "not_observed"),
    ],
)
def test_tasks_are_cancelled_by_request(params: Json, result: Json | None, expected: str) -> None:
    talk = legacy().begin(server={"tools": {}, "tasks": {}})
    chunks = [primed()] + ([] if result is None else [event(answered(8, result), "e-1")])
    talk.ask("tools/call", params, id=8, answer=stream(*chunks)).notify("notifications/cancelled", {"requestId": 8})
    assert outcome(talk, "task_cancelled_by_notification") == expected


def test_a_server_cannot_cancel_the_clients_task_at_all() -> None:
    talk = legacy().begin(server={"tools": {}, "tasks": {}})
    talk.ask("tools/call", calling() | {"task": {}}, id=8, result=CREATED).get(stream(event(cancelling(8))))
    assert found(talk, "task_cancelled_by_notification") == []
    assert outcome(talk, "cancel_unknown_request") == "violated"


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (modern().list().call(id=5, answer=stream(ended="server_closed")), "not_observed"),
        (modern().list().call(id=5, answer=stream(event(modern_answer(5)), ended="client_closed")), "not_observed"),
        (modern().list().notify("notifications/progress", {"progressToken": 1, "progress": 1}), "not_observed"),
        (modern().list().notify("notifications/cancelled", {"requestId": 5}), "violated"),
    ],
)
def test_cancellations_that_are_posted_at_2026(talk: Talk, expected: str) -> None:
    assert outcome(talk, "cancel_notification_on_http") == expected


def test_closing_is_cancelling_at_2026() -> None:
    talk = modern().list().call(id=5, answer=stream(ended="client_closed"), at=100, until=300)
    assert outcome(talk, "cancel_notification_on_http") == "satisfied"
    talk.call(id=6, answer=stream(event(answered(5), at=900), event(modern_answer(6), at=950)), at=500)
    code = "message_for_cancelled_request"
    assert found(talk, code, "response_on_wrong_stream") == [f"{code} error /exchanges/2/response/chunks/0"]
