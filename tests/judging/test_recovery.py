"""Recovery advice: the least destructive step that the evidence allows."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wire.judging.recovery import Advice
from mcp_wire.transcript.document import Document
from mcp_wire.validation import validate
from tests.rules.streams import answered, asked, calling, comment, event, modern_answer, primed, progressed
from tests.rules.talk import Json, Talk, json_answer, legacy, modern, refusal, stream

RESUME, REISSUE, STOP = "resume-with-get", "manual-reissue-with-fresh-jsonrpc-id", "do-not-replay"
LISTEN = ("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
NO_ANSWER: Json = {"status": 200, "headers": {"Content-Type": "application/json"}, "body_text": ""}


def advice(talk: Talk) -> list[Advice]:
    return list(validate(Document(talk.document())).recovery)


def actions(talk: Talk) -> list[tuple[str, str]]:
    return [(one.path.removeprefix("/exchanges/"), one.action) for one in advice(talk)]


def call(*chunks: Any, ended: str = "server_closed", talk: Talk | None = None, **members: Any) -> Talk:
    told = legacy() if talk is None else talk
    params = members.pop("params", calling("t"))
    answer = stream(*chunks, ended=ended) | members.pop("response", {})
    return told.ask("tools/call", params, id=5, answer=answer, at=0, until=1_000, **members)


def resume(talk: Talk, answer: Json, cursor: str = "e-0") -> Talk:
    return talk.get(answer, {"Last-Event-ID": cursor}, at=3_000, until=4_000)


def refused_stream(ended: str) -> Talk:
    """HTTP/2 REFUSED_STREAM in place of an answer."""
    talk = call()
    del talk.exchanges[-1]["response"]
    talk.exchanges[-1] |= {"ended": ended, "reset_code": "REFUSED_STREAM"}
    return talk


def unanswered(ended: str) -> Talk:
    """Not even a response head came."""
    talk = call()
    del talk.exchanges[-1]["response"]
    talk.exchanges[-1]["ended"] = ended
    return talk


def deleted(talk: Talk, *, at: int = 2_000, status: int = 200) -> Talk:
    return talk.add("DELETE", talk.usual(None), None, {"status": status, "headers": {}}, at=at, until=at + 10)


def cancelled(talk: Talk, *, at: int = 1_001) -> Talk:
    return talk.notify("notifications/cancelled", {"requestId": 5}, at=at, until=at + 10)


def refused_later(talk: Talk) -> Talk:
    """The session turns out to be over: a notification is answered 404."""
    return talk.post({"jsonrpc": "2.0", "method": "notifications/x"}, refusal(404), at=2_000, until=2_010)


def short_answer() -> Json:
    return {"status": 200, "headers": {"Content-Type": "application/json", "Content-Length": "90"}, "ended": "complete",
            "body_text": "", "received_octets": 0}  # fmt: skip


def flagged(*chunks: Any) -> Json:
    """As older transcripts say it: cut, and nothing of how."""
    answer = stream(*chunks) | {"disconnected": True}
    del answer["ended"]
    return answer


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        # the response came, on whatever stream
        (call(primed(), event(answered(5), "e-1")), None),
        (resume(call(primed()), stream(event(answered(5), "e-1"), ended="complete")), None),
        (call(primed(), event(answered(5), "e-1"), ended="server_reset", response={"disconnected": True}), None),
        # a stream with a cursor
        (call(primed()), RESUME),
        (call(primed(), ended="complete"), RESUME),  # polling
        (call(primed(), ended="proxy_closed"), RESUME),
        (call(primed(), ended="client_closed"), RESUME),  # if it still wants the result
        (call(primed(), ended="open"), None),
        # the resumption runs, failed, or broke in its turn
        (resume(call(primed()), stream(comment(3_500))), None),
        (resume(call(primed()), refusal(400)), STOP),
        (resume(call(primed()), refusal(404)), STOP),
        (resume(call(primed()), refusal(503)), RESUME),
        (resume(call(primed()), stream(ended="complete")), STOP),  # ended again without a message
        (resume(call(primed()), stream(event(progressed("t", 1), "e-1"), ended="complete")), RESUME),
        (resume(call(primed()), stream(ended="client_closed")), RESUME),
        (call(primed()).get(at=2_000, until=2_010), STOP),  # 405
        # no cursor
        (call(), STOP),
        (call(event(progressed("t", 1), "")), STOP),  # an empty id takes the cursor away
        (call("id: e-0\ndata: {"), STOP),  # an event that was cut has no cursor
        (call(idempotent=True), REISSUE),
        (call(ended="client_closed"), STOP),  # which is no cancellation
        (call(ended="client_reset"), STOP),
        (call(ended="client_closed", idempotent=True), REISSUE),
        (unanswered("client_closed"), STOP),
        (unanswered("open"), None),
        (call(primed(), ended="client_closed").get(at=2_000, until=2_010), STOP),  # 405
        (legacy().ask(answer=refusal(400) | {"ended": "client_closed"}), None),  # has read enough of it
        (refused_stream("server_reset"), REISSUE),
        (refused_stream("client_reset"), STOP),  # a client's own word proves nothing
        (call(response={"ended": "server_reset", "reset_code": "REFUSED_STREAM"}), STOP),  # it had begun to answer
        (call(response={"ended": "server_reset", "reset_code": "CANCEL"}), STOP),
        # given up
        (call(primed()).notify("notifications/cancelled", {"requestId": 5}, at=500, until=510), None),
        (cancelled(call(ended="client_closed")), None),
        (cancelled(call(), at=1_500), None),
        # the client tidies up, which says nothing of the call
        (deleted(call()), STOP),
        (deleted(call(), at=500), STOP),  # while the call ran
        (deleted(call(ended="complete")), STOP),
        (deleted(call(ended="client_closed")), STOP),
        (deleted(call(primed())), STOP),  # nothing is left to resume
        (deleted(call(primed(), ended="client_closed")), STOP),
        (deleted(call(primed()), status=405), RESUME),  # this server keeps its sessions
        (deleted(call(idempotent=True)), REISSUE),
        (deleted(cancelled(call())), None),
        (deleted(call(event(answered(5)))), None),
        (deleted(resume(call(primed()), stream(event(answered(5), "e-1"), ended="complete")), at=5_000), None),
        # a session that the server ended, or that was left for another one
        (refused_later(call(primed())), STOP),
        (refused_later(call(primed())).initialize(id=9, at=3_000, until=3_001), STOP),
        (refused_later(call()), STOP),
        (call(primed()).initialize(id=9, at=3_000, until=3_001), RESUME),
        (call().initialize(id=9, at=3_000, until=3_001), STOP),
        # bodies that are no streams
        (legacy().ask(answer=refusal(400)), None),
        (legacy().ask(answer=refusal(504)), STOP),
        (legacy().ask(answer=NO_ANSWER | {"ended": "server_closed"}), STOP),
        (legacy().ask(answer=NO_ANSWER | {"ended": "client_closed"}), STOP),
        (legacy().ask(answer=short_answer()), STOP),
        (legacy().ask(answer=refusal(404)), REISSUE),
        # only the flag
        (legacy().ask(id=5, answer=flagged(primed(), event(answered(5), "e-1"))), RESUME),
        (legacy().ask(id=5, answer=flagged(event(answered(5)))), STOP),
        # no revision is known
        (Talk("undetermined").ask(id=5, answer=stream(primed(), ended="server_closed")), STOP),
    ],
)
def test_a_request_that_was_cut(talk: Talk, expected: str | None) -> None:
    assert actions(talk) == ([] if expected is None else [("0", expected)])


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (modern().list().call(id=5, answer=stream(primed(), ended="server_closed")), STOP),
        (modern().list().call(id=5, answer=stream(ended="client_closed")), None),  # closing is cancelling
        (modern().list().call(id=5, answer=stream(ended="server_closed"), idempotent=True), REISSUE),
        (modern().list().call(id=5, answer=stream(event(modern_answer(5)), ended="server_reset")), None),
        (modern().list().ask(*LISTEN, id=4, answer=stream(ended="server_closed")), REISSUE),
        (modern().list().ask(*LISTEN, id=4, answer=stream(ended="client_closed")), None),
        (modern().list().ask(*LISTEN, id=4, answer=stream(event(modern_answer(4)), ended="complete")), None),
    ],
)  # fmt: skip
def test_a_modern_request_that_was_cut(talk: Talk, expected: str | None) -> None:
    assert actions(talk) == ([] if expected is None else [("1", expected)])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (stream(primed("g-1"), ended="server_closed"), RESUME),
        (stream(primed("g-1"), ended="client_closed"), None),
        (stream(ended="complete"), None),  # opens another one, and may have missed something
        (stream(primed("g-1"), ended="open"), None),
        (flagged(), STOP),
    ],
)
def test_a_listening_stream(answer: Json, expected: str | None) -> None:
    assert actions(legacy().get(answer, at=0, until=10)) == ([] if expected is None else [("0", expected)])


@pytest.mark.parametrize(
    ("method", "response", "expected"),
    [
        ("notifications/roots/list_changed", {"status": 202, "headers": {}, "ended": "server_reset"}, None),
        ("notifications/roots/list_changed", refusal(503) | {"ended": "complete"}, STOP),
        ("notifications/initialized", refusal(503) | {"ended": "complete"}, None),  # may be sent twice
    ],
)
def test_a_notification_that_may_be_lost(method: str, response: Json, expected: str | None) -> None:
    talk = legacy().post({"jsonrpc": "2.0", "method": method}, response)
    assert actions(talk) == ([] if expected is None else [("0", expected)])


def test_a_dead_session_is_renewed_first() -> None:
    talk = legacy().ask(answer=refusal(404))
    assert "Initialize anew" in advice(talk)[0].condition
    assert actions(talk.initialize(id=9)) == []


def repeated(talk: Talk, answer: Json, *, at: int = 3_000, **members: Any) -> Talk:
    """The same call again in the same session, with another id."""
    return talk.ask("tools/call", calling("t"), id=6, answer=answer, at=at, until=at + 100, **members)


def test_what_repeats_a_request_of_unknown_fate_is_not_to_be_sent_again() -> None:
    assert actions(repeated(call(), refusal(404))) == [("0", STOP), ("1", STOP)]
    talk = repeated(call(), refusal(404))
    del talk.exchanges[-1]["response"]
    talk.exchanges[-1] |= {"ended": "server_reset", "reset_code": "REFUSED_STREAM"}
    assert actions(talk) == [("0", STOP), ("1", STOP)]


def test_what_was_sent_again_already_is_left_alone() -> None:
    answer = json_answer({"jsonrpc": "2.0", "id": 6, "result": {"content": []}})
    assert actions(repeated(refused_stream("server_reset"), answer)) == [("0", STOP)]
    assert actions(repeated(call(idempotent=True), answer)) == [("0", STOP)]
    assert actions(repeated(call(idempotent=True), stream(ended="server_closed"))) == [("0", STOP), ("1", STOP)]
    both = repeated(call(idempotent=True), stream(ended="server_closed"), idempotent=True)
    assert actions(both) == [("0", STOP), ("1", REISSUE)]


def test_a_404_proves_nothing_of_a_session_that_lives_on_or_where_it_is_a_page() -> None:
    page = {"status": 404, "headers": {"Content-Type": "text/html"}, "body_text": "<h1>404</h1>", "ended": "complete"}
    told = legacy().ask("tools/call", calling("t"), id=5, answer=refusal(404), at=0, until=100)
    assert actions(told) == [("0", REISSUE)]
    alive = told.ask(
        "tools/list",
        {},
        id=7,
        answer=json_answer({"jsonrpc": "2.0", "id": 7, "result": {"tools": []}}),
        at=200,
        until=300,
    )
    assert actions(alive) == []
    assert actions(legacy().ask("tools/call", calling("t"), id=5, answer=page, at=0, until=100)) == []


def test_a_poll_that_brings_a_later_event_goes_on() -> None:
    primed_again = stream("id: e-1\nretry: 1000\ndata:\n\n", ended="complete")
    assert actions(resume(call(primed()), primed_again)) == [("0", RESUME)]
    same_again = stream("id: e-0\ndata:\n\n", ended="complete")
    assert actions(resume(call(primed()), same_again)) == [("0", STOP)]


def test_the_conditions_name_their_bounds() -> None:
    [one] = advice(call(primed(retry=2_500)))
    assert "Wait 2500 ms" in one.condition
    [one] = advice(call(primed(), ended="client_closed"))
    assert "no cancellation" in one.condition
    [one] = advice(call(ended="client_closed"))
    assert "no cancellation" in one.condition and "may go on with the request" in one.condition
    [one] = advice(deleted(call(primed())))
    assert "cannot be resumed" in one.condition and "a new session" in one.condition
    [one] = advice(call(params=calling() | {"task": {}}))
    assert "tasks/get" in one.condition


def test_one_advice_for_one_loss() -> None:
    """What a resumed stream still owes is said of the POST that began it, and only there."""
    talk = resume(call(primed()), stream(event(progressed("t", 1), "e-1"), ended="server_closed"))
    assert actions(talk) == [("0", RESUME)]
    talk = legacy("2025-03-26").post([asked(1), asked(2)], stream(event(answered(1)), ended="server_closed"))
    assert actions(talk) == [("0", STOP)]
    answer = json_answer([answered(1), answered(2)])
    assert actions(legacy("2025-03-26").post([asked(1), asked(2)], answer)) == []
