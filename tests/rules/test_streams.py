"""Which message on which stream, and how streams begin and end: the traps that must stay silent, and the edges."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.streams import (
    answered,
    asked,
    calling,
    comment,
    event,
    failed,
    modern_answer,
    primed,
    progressed,
    told,
)
from tests.rules.talk import Json, Talk, found, legacy, modern, outcome, refusal, stream

CHANGED = told("notifications/tools/list_changed")
ABOUT_TASK = {"params": {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "k"}}}}
EMPTY: Json = {"status": 200, "headers": {"Content-Type": "application/json"}, "body_text": "", "ended": "complete"}
GONE = {"status": 200, "headers": {}}
TASK = {"task": {"taskId": "k", "status": "working", "createdAt": "2026-01-10T10:30:00Z", "ttl": None}}


def push(talk: Talk, *chunks: Any, ended: str = "open", cursor: str | None = None, **times: Any) -> Talk:
    return talk.get(stream(*chunks, ended=ended), {"Last-Event-ID": cursor}, **times)


def call(talk: Talk, id: Any, *chunks: Any, token: Any = None, ended: str = "complete", **times: Any) -> Talk:
    return talk.ask("tools/call", calling(token, n=id), id=id, answer=stream(*chunks, ended=ended), **times)


# One message, one stream


def broadcast(message: Json, *, gap: float = 1, second: str = "GET") -> Talk:
    talk = push(legacy(), event(message, at=100), at=0)
    if second == "GET":
        return push(talk, event(message, at=100 + gap), at=10)
    return call(talk, 5, primed(at=20), event(message, at=100 + gap), at=10, ended="open")


@pytest.mark.parametrize(
    ("talk", "levels"),
    [
        (broadcast(asked(3)), ["error"]),
        (broadcast(asked(3), second="POST"), ["error"]),
        (broadcast(CHANGED), ["warning"]),
        (broadcast(CHANGED, gap=5_000), ["info"]),  # it may have changed twice
        (broadcast(CHANGED, second="POST"), ["info"]),  # two calls may have had the same effect
        (push(push(legacy(), event(asked(3)), ended="complete", at=0, until=20), event(asked(3)), at=30), []),
        (push(push(legacy(session=None), event(asked(3), at=10), at=0), event(asked(3), at=40), at=30), []),
        # a resumed stream whose beginning was not seen may deliver again what another stream carried
        (push(push(legacy(), event(asked(3), at=10), at=0), event(asked(3), at=40), cursor="e-9", at=30), []),
    ],
)  # fmt: skip
def test_broadcast(talk: Talk, levels: list[str]) -> None:
    assert [line.split()[1] for line in found(talk, "cross_stream_duplicate")] == levels


@pytest.mark.parametrize(
    ("groups", "expected"), [(("g", "g"), 1), (("g", "h"), 0), (("g", None), 0), ((None, "g"), 0), ((None, None), 1)]
)
def test_grouped_streams_are_compared_within_their_group(groups: tuple[str | None, ...], expected: int) -> None:
    talk = push(push(legacy(), event(asked(3), at=100), at=0), event(asked(3), at=101), at=10)
    for exchange, group in zip(talk.exchanges, groups, strict=True):
        if group is not None:
            exchange["concurrent_group"] = group
    assert len(found(talk, "cross_stream_duplicate")) == expected


# Responses


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (push(legacy(), event(answered(5))), "violated"),
        (push(legacy(), event(answered(5)), cursor="e-0"), "cannot_tell"),  # what it resumes was not seen
        (push(call(legacy(), 5, primed()), event(answered(5)), cursor="e-0"), "satisfied"),
        (push(push(legacy(), primed("g-1"), ended="complete"), event(answered(5)), cursor="g-1"), "violated"),
        # the transport of 2024-11-05
        (push(legacy(session=None), "event: endpoint\ndata: /m\n\n", event(answered(5))), "not_observed"),
    ],
)
def test_responses_on_get_streams(talk: Talk, expected: str) -> None:
    assert outcome(talk, "response_on_get_stream") == expected


def crossed(talk: Talk) -> Talk:
    call(talk, 1, primed("a-0", at=10), ended="open", at=0)
    return call(
        talk, 2, primed("b-0", at=30), event(answered(1), "b-1", at=40), event(answered(2), at=50), at=20, until=60
    )


def test_a_response_on_another_stream() -> None:
    code = "response_on_wrong_stream"
    assert found(crossed(legacy()), code) == [f"{code} warning /exchanges/1/response/chunks/1"]
    assert outcome(crossed(legacy(session=None, complete=False)), code) == "satisfied"  # of its own, at least
    assert found(crossed(legacy(session=None, complete=False)), code) == []


def test_a_second_answer_is_no_wrong_stream() -> None:
    talk = call(legacy(), 1, primed("a-0", at=10), event(answered(1), at=15), at=0, until=18)
    call(talk, 2, primed("b-0", at=30), event(answered(1), "b-1", at=40), event(answered(2), at=50), at=20, until=60)
    assert found(talk, "response_on_wrong_stream") == []


# Progress and change notifications


def progress_elsewhere(talk: Talk, *, done: bool = False, task: bool = False) -> Talk:
    params = calling("ta") | ({"task": {"ttl": 1}} if task else {})
    early = [event(answered(1, TASK if task else None), at=15)] if done else []
    talk.ask("tools/call", params, id=1, answer=stream(primed("a-0", at=10), *early), at=0)
    own = [primed("b-0", at=30), event(progressed("ta", 1), at=40), event(answered(2), at=50)]
    return call(talk, 2, *own, token="tb", at=20, until=60)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (progress_elsewhere(legacy()), "violated"),
        (progress_elsewhere(legacy(session=None, complete=False)), "cannot_tell"),
        (progress_elsewhere(legacy(), done=True), "not_observed"),  # a matter of progress_after_completion
        (progress_elsewhere(legacy(), task=True), "not_observed"),
        (push(legacy(), event(progressed("zz", 1))), "not_observed"),
    ],
)
def test_progress_on_another_stream(talk: Talk, expected: str) -> None:
    assert outcome(talk, "unrelated_message_on_stream") == expected


@pytest.mark.parametrize("method", ["notifications/resources/updated", "notifications/subscriptions/acknowledged"])
def test_only_listen_streams_carry_changes_at_2026(method: str) -> None:
    code = "unrelated_message_on_stream"
    talk = modern().call(id=5, answer=stream(event(told(method)), event(modern_answer(5)), ended="complete"))
    assert found(talk, code) == [f"{code} error /exchanges/0/response/chunks/0"]
    listening = modern().list().ask("subscriptions/listen", {"notifications": {}}, answer=stream(event(told(method))))
    assert found(listening, code) == []


def test_a_cut_transcript_does_not_show_which_tokens_a_request_had() -> None:
    talk = modern(shape=False).list().call(id=1, meta={"progressToken": "t"}, answer=stream(), at=0)
    talk.call(id=2, answer=stream(event(progressed("t", 1), at=20), event(modern_answer(2), at=30)), at=10)
    assert outcome(talk, "unrelated_message_on_stream") == "cannot_tell"


# Replays


def resumed(*chunks: Any, cursor: str = "a-0") -> Talk:
    talk = call(legacy(), 1, primed("a-0", at=20), at=0, until=90)
    call(talk, 2, primed("b-0", at=120), event(progressed("t", 1), "b-1", at=130), token="t", at=100, until=190)
    return push(talk, *chunks, cursor=cursor, ended="complete", at=3_000, until=3_100)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (resumed(event(answered(1), "a-1")), "satisfied"),
        (resumed(primed("a-9"), event(answered(1), "a-1")), "satisfied"),  # primed in the middle
        (resumed(event(progressed("t", 1), "b-1")), "violated"),
        (resumed(event(answered(2), "b-2")), "violated"),
        (resumed(event(answered(2), "b-2"), cursor="unknown"), "not_observed"),
        (resumed(event(told("notifications/message", level="info", data="x"), "c-1")), "satisfied"),
    ],
)
def test_replays(talk: Talk, expected: str) -> None:
    assert outcome(talk, "replay_from_other_stream") == expected


def test_listening_streams_of_a_session_count_as_one() -> None:
    talk = push(legacy(), event(CHANGED, "g-1", at=10), ended="complete", at=0, until=20)
    push(talk, event(CHANGED, "g-2", at=40), ended="complete", at=30, until=50)
    push(talk, event(CHANGED, "g-2", at=3_000), cursor="g-1", at=2_000)
    assert found(talk, "replay_from_other_stream", "cross_stream_duplicate", "duplicate_event_id") == []


def test_a_replay_explains_what_follows_from_it() -> None:
    talk = resumed(event(answered(2), "b-2"), event(progressed("t", 1), "b-1"), event(answered(1), "a-1"))
    codes = ("progress_not_increasing", "progress_after_completion", "unrelated_message_on_stream")
    assert found(talk, "replay_from_other_stream", *codes, "stream_not_closed_after_response") == [
        "replay_from_other_stream error /exchanges/2/response/chunks/0"
    ]


# Event ids


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([event(progressed("t", 1), "1"), event(answered(5), "1")], "violated"),
        ([primed("1"), event("{}", "1")], "violated"),  # a priming event that comes again with data
        (
            [event(answered(5), "1"), 'id: 1\ndata: {"result": {"content": []}, "id": 5, "jsonrpc": "2.0"}\n\n'],
            "satisfied",
        ),
        ([event(progressed("t", 1), ""), event(answered(5), "")], "not_observed"),  # no ids
        ([event(progressed("t", 1), "1"), event(answered(5))], "satisfied"),  # inherits the id, has none
        (["id: 1\n\n", event(answered(5), "1")], "satisfied"),  # moves the cursor, is no event
    ],
)
def test_event_ids(events: list[Any], expected: str) -> None:
    assert outcome(call(legacy("2025-06-18"), 5, *events, token="t"), "duplicate_event_id") == expected


def test_ids_of_two_clients_may_be_equal() -> None:
    talk = call(legacy(session=None, complete=False), 1, event(answered(1), "1"))
    assert outcome(call(talk, 2, event(answered(2), "1")), "duplicate_event_id") == "satisfied"
    assert found(talk, "duplicate_event_id") == []


# Streams that end unanswered


def unanswered(*chunks: Any, version: str = "2025-06-18", ended: str = "complete", method: str = "tools/call") -> Talk:
    talk = legacy(version)
    params = calling("t") if method == "tools/call" else {"taskId": "k"}
    return talk.ask(method, params, id=5, answer=stream(*chunks, ended=ended), at=0, until=1_000)


def later(talk: Talk, answer: Json | None = None) -> Talk:
    return talk.ask(id=6, answer=answer, at=2_000, until=2_010)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (later(unanswered()), "violated"),
        (unanswered(), "violated"),  # no sign of anything else until the capture ends
        (later(unanswered(), refusal(404)), "not_observed"),  # the session was over
        (later(later(unanswered(), refusal(401)), refusal(404)), "not_observed"),
        (later(legacy("2025-06-18").ask(answer=EMPTY, at=0, until=1_000)), "not_observed"),  # no stream
        (later(unanswered(ended="server_closed")), "not_observed"),
        (later(unanswered(ended="server_reset")), "not_observed"),
        (later(unanswered(ended="client_closed")), "not_observed"),
        (later(unanswered(ended="proxy_closed")), "not_observed"),
        (later(unanswered(primed("e-0"), version="2025-11-25")), "not_observed"),  # it is polled
        (later(unanswered(primed("e-0"))), "violated"),  # which 2025-06-18 does not know
        (later(unanswered(method="tasks/result", version="2025-11-25")), "not_observed"),
        (unanswered().notify("notifications/cancelled", {"requestId": 5}, at=900, until=910), "not_observed"),
        (unanswered().add("DELETE", legacy().usual(None), None, GONE, at=900, until=1_010), "not_observed"),
        (legacy("2025-06-18").ask(answer=stream(ended="complete") | {"status": 500}), "not_observed"),
    ],
)  # fmt: skip
def test_a_stream_that_ends_without_its_response(talk: Talk, expected: str) -> None:
    assert outcome(talk, "stream_closed_without_response") == expected


def test_what_could_not_be_read_explains_a_missing_response() -> None:
    talk = unanswered('data: {"jsonrpc":"2.0","id":5,"result":{}\n\n')
    codes = ("stream_closed_without_response", "invalid_sse_json")
    assert found(talk, *codes) == ["invalid_sse_json error /exchanges/0/response/chunks/0"]


def test_a_legacy_server_owes_a_probe_nothing() -> None:
    probe = modern().ask("server/discover", answer=stream(ended="complete"))
    assert outcome(probe, "stream_closed_without_response") == "cannot_tell"


# Streams that stay open


@pytest.mark.parametrize(
    ("chunks", "ended", "until", "expected"),
    [
        ([event(answered(5), at=200)], "complete", 5_100, "satisfied"),
        ([event(answered(5), at=200)], "complete", 5_200, "violated"),
        ([event(answered(5), at=200)], "client_closed", 300, "not_observed"),  # it had what it wanted
        ([event(answered(5), at=200)], "client_closed", 9_000, "violated"),
        ([event(answered(5), at=200)], "open", None, "cannot_tell"),
        ([event(answered(5), at=200), comment(at=15_200)], "open", None, "violated"),
        ([event(failed(5), at=200), comment(at=15_200)], "open", None, "violated"),
        ([comment(at=15_200)], "open", None, "not_observed"),
        ([event(answered(5, TASK), at=200), comment(at=15_200)], "open", None, "not_observed"),  # the task goes on
        (
            [event(answered(5)), event(told("notifications/message", level="info", data=1))],
            "complete",
            None,
            "violated",
        ),
        ([event(answered(5)), event(told("notifications/tasks/status", taskId="k"))], "complete", None, "satisfied"),
        ([event(answered(5)), event(asked("s", "roots/list") | ABOUT_TASK)], "complete", None, "satisfied"),
    ],
)
def test_streams_that_stay_open(chunks: list[Any], ended: str, until: float | None, expected: str) -> None:
    times = {"at": 0} | ({} if until is None else {"until": until})
    assert outcome(call(legacy(), 5, *chunks, ended=ended, **times), "stream_not_closed_after_response") == expected


def test_a_resumed_stream_ends_with_its_response_too() -> None:
    talk = call(legacy(), 5, primed(at=20), at=0, until=90)
    push(talk, event(answered(5), "e-1", at=2_000), comment(at=17_000), cursor="e-0", at=1_500)
    code = "stream_not_closed_after_response"
    assert found(talk, code) == [f"{code} warning /exchanges/1/response/chunks/0"]


# How streams begin


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (call(legacy(), 5, comment(), "retry: 9\n\n", primed(), event(answered(5), "e-1")), "satisfied"),
        (call(legacy(), 5, "id: e-0\n\n", event(answered(5))), "satisfied"),
        (call(legacy(), 5, "id: e-0\n\n", event(answered(5), "e-1")), "satisfied"),
        (call(legacy(), 5, event(told("notifications/message", level="info", data=1)), primed()), "violated"),
        (call(legacy(), 5, event("", ""), event(answered(5))), "violated"),
        (call(legacy(), 5, event(answered(5), "e-1")), "violated"),
        (call(legacy(), 5, comment(), ended="open"), "not_observed"),
        (call(legacy("2025-06-18"), 5, event(answered(5))), "not_applicable"),
        (push(legacy(), event(CHANGED)), "not_observed"),
        (legacy().initialize(answer=stream(event(answered(0)))), "violated"),
        (legacy().initialize(requested="2099-01-01", answer=stream(event(answered(0)))), "not_observed"),
        (legacy().ask(headers={"MCP-Protocol-Version": None}, answer=stream(event(answered(100)))), "not_observed"),
    ],
)
def test_priming(talk: Talk, expected: str) -> None:
    assert outcome(talk, "missing_priming_event") == expected


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (later(unanswered(primed(retry=None), version="2025-11-25")), "violated"),
        (later(unanswered(primed(), version="2025-11-25")), "satisfied"),
        (later(unanswered(version="2025-11-25")), "not_observed"),  # no id, so no polling
        (later(unanswered(primed(retry=None), version="2025-11-25", ended="server_closed")), "not_observed"),
        (push(legacy(), primed("g-1", retry=None), ended="complete"), "not_observed"),  # it may just be ended
    ],
)
def test_closing_without_retry(talk: Talk, expected: str) -> None:
    assert outcome(talk, "close_without_retry") == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, "violated"),
        ({"X-Accel-Buffering": "No"}, "satisfied"),
        ({"X-Accel-Buffering": "yes"}, "violated"),
        ({"Server": "uvicorn"}, "violated"),
        ({"Server": "nginx/1.22.1"}, "cannot_tell"),
        ({"Via": "1.1 example"}, "cannot_tell"),
    ],
)
def test_the_hint_against_buffering(headers: Json, expected: str) -> None:
    answer = stream(event(modern_answer(5)), ended="complete")
    answer["headers"] |= headers
    assert outcome(modern().call(id=5, answer=answer), "x_accel_buffering_missing") == expected
