"""Coming back for a stream, and sending requests again: when it is too early, too late, or the wrong thing to do."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wire.rules import rules_of
from mcp_wire.transcript.document import Document
from mcp_wire.validation import validate
from tests.rules.streams import answered, calling, event, failed, modern_answer, primed, progressed
from tests.rules.talk import Json, Talk, found, json_answer, legacy, modern, outcome, refusal, stream

UNKNOWN_EVENT = refusal(400)


def broken(
    *chunks: Any,
    ended: str = "complete",
    version: str = "2025-11-25",
    retry: int | None = 1_000,
    params: Json | None = None,
    talk: Talk | None = None,
    until: float | None = 1_000,
    **members: Any,
) -> Talk:
    """A call that ends, after a priming event and these, without its response."""
    times: Json = {} if until is None else {"at": 0, "until": until}
    shown = chunks or (primed("e-0", retry=retry),)
    told = legacy(version) if talk is None else talk
    return told.ask("tools/call", params or calling(), id=5, answer=stream(*shown, ended=ended), **times, **members)


def resume(talk: Talk, at: float | None, cursor: str = "e-0", answer: Json | None = None) -> Talk:
    times: Json = {} if at is None else {"at": at, "until": at + 10}
    given = stream(event(answered(5), "e-9"), ended="complete") if answer is None else answer
    return talk.get(given, {"Last-Event-ID": cursor}, **times)


def again(talk: Talk, *, id: int = 5, at: float = 4_000, params: Json | None = None) -> Talk:
    return talk.ask("tools/call", params or calling(), id=id, result={"content": []}, at=at, until=at + 10)


# The wait


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (resume(broken(), 1_949), "violated"),
        (resume(broken(), 1_950), "satisfied"),  # 50 ms are granted
        (resume(broken(), 60_000), "satisfied"),
        (resume(broken(ended="server_reset"), 1_010), "cannot_tell"),
        (resume(broken(ended="server_closed"), 1_010), "cannot_tell"),
        (resume(broken(ended="client_closed"), 1_010), "not_observed"),
        (resume(broken(retry=None), 1_010), "not_observed"),
        (resume(broken(until=None), None), "cannot_tell"),
        (resume(broken(), 1_010, cursor="of-another"), "not_observed"),
        (resume(broken(primed(), event(failed(5), "e-1")), 1_010, cursor="e-1"), "not_observed"),  # it was done
        (resume(broken(version="2025-06-18"), 1_010), "not_applicable"),
    ],
)
def test_the_wait_that_retry_asks_for(talk: Talk, expected: str) -> None:
    assert outcome(talk, "retry_delay_not_respected") == expected


def test_a_resumed_stream_inherits_retry() -> None:
    talk = resume(broken(), 2_500, answer=stream(event(progressed("t", 1), "e-1"), ended="complete"))
    resume(talk, 2_600, cursor="e-1")
    code = "retry_delay_not_respected"
    assert found(talk, code) == [f"{code} error /exchanges/2/request/headers"]


# The cursor


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (resume(broken(talk=legacy().begin()), 3_000), "satisfied"),
        (resume(broken(talk=legacy().begin()), 3_000, cursor="x", answer=UNKNOWN_EVENT), "violated"),
        (resume(broken(), 3_000, cursor="x", answer=UNKNOWN_EVENT), "cannot_tell"),  # joined midway
        (resume(broken(talk=legacy(complete=False).begin()), 3_000, cursor="x"), "cannot_tell"),
        (resume(legacy().begin(), None, cursor="", answer=refusal(405)), "not_observed"),
        (resume(broken("id: e\0-0\ndata:\n\n", talk=legacy().begin()), 3_000, cursor="e\0-0"), "violated"),
    ],
)
def test_the_cursor(talk: Talk, expected: str) -> None:
    assert outcome(talk, "last_event_id_never_issued") == expected


def test_a_stream_that_was_not_captured_may_have_had_the_id() -> None:
    talk = (
        legacy().begin().get({"status": 200, "headers": {"Content-Type": "text/event-stream"}, "not_captured": "cut"})
    )
    assert outcome(resume(talk, None, cursor="x"), "last_event_id_never_issued") == "cannot_tell"


def test_the_cursor_of_another_session() -> None:
    talk = broken(talk=legacy().begin())
    other = legacy(session="9a4b7f62-d05c-4e83-97c1-3b6e08f5d2a7", exchanges=talk.exchanges)
    resume(other.begin(), 3_000, answer=UNKNOWN_EVENT)
    report = validate(Document(other.document()), rules_of())
    [finding] = [one for one in report.findings if one.code == "last_event_id_never_issued"]
    assert "another session" in finding.message


# Polling


def active(talk: Talk, at: float = 65_000) -> Talk:
    return talk.ask(id=9, at=at, until=at + 10)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (active(broken()), "violated"),
        (active(broken(), at=31_000), "not_observed"),  # 30 s are granted
        (active(broken(), at=31_001), "violated"),
        (active(broken(retry=5_000), at=51_000), "not_observed"),  # ten times retry
        (active(broken(retry=5_000), at=51_001), "violated"),
        (active(resume(broken(), 40_000)), "satisfied"),  # waiting longer is fine
        (active(resume(broken(), 2_500, answer=refusal(503))), "satisfied"),  # it tried
        (active(broken(ended="server_reset")), "not_observed"),
        (active(broken(event(answered(5), "e-1"))), "not_observed"),
        (active(broken(event(progressed("t", 1)), params=calling("t"))), "not_observed"),  # no id, no polling
        (active(broken().notify("notifications/cancelled", {"requestId": 5}, at=2_000, until=2_010)), "not_observed"),
        (active(broken().get(at=2_000, until=2_010)), "not_observed"),  # 405: no streams to come back to
        (active(broken().ask(answer=refusal(404), at=2_000, until=2_010)), "not_observed"),  # the session is over
        (active(again(broken(), id=6)), "not_observed"),  # blind_post_replay
        (active(broken(until=None)), "not_observed"),
    ],
)  # fmt: skip
def test_polled_streams(talk: Talk, expected: str) -> None:
    assert outcome(talk, "poll_not_resumed") == expected


# Sending again


def cut(**members: Any) -> Talk:
    return broken(**({"ended": "server_reset"} | members))


def refused(status: int, body: Any = None) -> Talk:
    answer = refusal(status) if body is None else json_answer(body, status)
    return legacy().ask("tools/call", calling(), id=5, answer=answer, at=0, until=10)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (again(cut()), "violated"),
        (again(cut(params=calling("t1")), params=calling("t2")), "violated"),  # `_meta` is not compared
        (again(cut(), id=6), "satisfied"),
        (again(cut(params=calling(a=1)), params=calling(a=2)), "not_observed"),  # request_id_reused
        (again(cut(talk=legacy(session=None, complete=False))), "cannot_tell"),
        (again(cut(talk=legacy(session=None, complete=False).begin())), "cannot_tell"),
        (again(cut(talk=legacy(session=None).begin())), "violated"),
        (again(refused(503)), "violated"),  # a gateway sends it after the server was reached, too
        (again(refused(401)), "not_observed"),
        (again(refused(429)), "not_observed"),
        (again(refused(404)), "not_observed"),
        (again(refused(400)), "violated"),
        (again(refused(400, failed(None, -32600))), "not_observed"),  # understood, and refused
    ],
)
def test_the_same_request_with_the_same_id(talk: Talk, expected: str) -> None:
    assert outcome(talk, "post_replayed_same_id") == expected


def test_the_same_request_before_the_first_is_over() -> None:
    talk = again(cut(ended="open", until=None, talk=legacy().begin()))
    code = "post_replayed_same_id"
    assert found(talk, code, "request_id_reused") == [f"{code} error /exchanges/3/request/body"]


def modern_pair(at: float, id: int = 5) -> Talk:
    told = modern().call(id=5, answer=stream(ended="server_reset"), at=0, until=1_000)
    return told.call(id=id, result={"content": []}, at=at, until=at + 10)


@pytest.mark.parametrize(("at", "expected"), [(4_000, "violated"), (61_000, "violated"), (61_001, "cannot_tell")])
def test_at_2026_a_repetition_is_a_note(at: float, expected: str) -> None:
    code = "post_replayed_same_id"
    assert outcome(modern_pair(at), code) == expected
    assert [line.split()[1] for line in found(modern_pair(at), code)] == ["info"] * (expected == "violated")


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (again(cut(), id=6), "violated"),
        (again(cut(), id=6, at=61_000), "violated"),
        (again(cut(), id=6, at=61_001), "not_observed"),  # a new intention
        (again(cut(ended="proxy_closed"), id=6), "violated"),
        (again(cut(ended="client_closed"), id=6), "not_observed"),  # the client had enough of it
        (again(cut(retry=None), id=6), "violated"),
        (again(broken(event(progressed("t", 1)), ended="server_reset", params=calling("t")), id=6), "not_observed"),
        (again(cut(), id=6, params=calling(a=1)), "not_observed"),
        (again(cut().get(at=2_000, until=2_010), id=6), "not_observed"),  # GET is answered 405
        (again(resume(cut(), 2_500, answer=UNKNOWN_EVENT), id=6), "satisfied"),  # it tried
        (again(cut().notify("notifications/cancelled", {"requestId": 5}, at=2_000, until=2_010), id=6), "not_observed"),
        (again(cut(until=None), id=6), "cannot_tell"),
        (again(cut(talk=legacy(session=None, complete=False)), id=6), "cannot_tell"),
        (again(cut(), id=5), "not_observed"),  # post_replayed_same_id
    ],
)
def test_posting_again_what_could_be_resumed(talk: Talk, expected: str) -> None:
    assert outcome(talk, "blind_post_replay") == expected


def test_routine_requests_are_no_replay() -> None:
    talk = legacy().ask(id=5, answer=stream(primed(), ended="server_reset"), at=0, until=1_000)
    assert outcome(talk.ask(id=6, at=2_000, until=2_010), "blind_post_replay") == "not_observed"


def listed(annotations: Json) -> Talk:
    tool = {"name": "sum", "inputSchema": {"type": "object"}, "annotations": annotations}
    return legacy("2025-06-18").ask(id=1, result={"tools": [tool]}, at=-20, until=-10)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (again(cut(version="2025-06-18"), id=6), "violated"),
        (again(cut(version="2025-06-18", idempotent=True), id=6), "satisfied"),
        (again(cut(talk=listed({"readOnlyHint": True})), id=6), "satisfied"),
        (again(cut(talk=listed({"idempotentHint": True})), id=6), "satisfied"),
        (again(cut(talk=listed({"readOnlyHint": "yes"})), id=6), "violated"),
        (again(cut(talk=listed({"readOnlyHint": True}).ask(id=2, at=-5, until=-4)), id=6), "satisfied"),
        (again(refused(401), id=6), "not_observed"),
        (again(cut(version="2025-06-18")), "not_observed"),  # post_replayed_same_id
        (again(refused(504), id=6), "violated"),
        (modern_pair(4_000, id=6), "violated"),
    ],
)
def test_calls_that_may_take_effect_twice(talk: Talk, expected: str) -> None:
    assert outcome(talk, "reissue_may_duplicate_effect") == expected


def test_the_operators_word_that_a_stream_was_cut() -> None:
    answer = stream(primed()) | {"disconnected": True}
    del answer["ended"]
    talk = again(legacy("2025-06-18").ask("tools/call", calling(), id=5, answer=answer), id=6)
    assert outcome(talk, "reissue_may_duplicate_effect") == "violated"
    del talk.exchanges[0]["response"]["disconnected"]
    assert outcome(talk, "reissue_may_duplicate_effect") == "not_observed"  # nothing is known of its end


def test_a_body_that_was_not_captured_may_have_been_the_response() -> None:
    talk = legacy().ask("tools/call", calling(), id=5, answer={"status": 504, "headers": {}}, at=0, until=10)
    assert outcome(again(talk, id=6), "reissue_may_duplicate_effect") == "not_observed"


def test_one_finding_for_one_cause() -> None:
    codes = ("blind_post_replay", "reissue_may_duplicate_effect", "post_replayed_same_id", "poll_not_resumed")
    assert found(again(cut(), id=6), *codes) == ["blind_post_replay warning /exchanges/1/request/body"]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_only_get_resumes(method: str) -> None:
    talk = legacy().add(method, legacy().usual({"Last-Event-ID": "e-0"}), None, refusal(400))
    assert found(talk, "invalid_resume_method") == ["invalid_resume_method error /exchanges/0/request/method"]


def test_a_modern_answer_is_no_interruption() -> None:
    talk = modern().call(id=5, answer=stream(event(modern_answer(5)), ended="client_closed"), at=0, until=10)
    talk.call(id=6, result={"content": []}, at=20, until=30)
    assert found(talk, "reissue_may_duplicate_effect", "post_replayed_same_id") == []
