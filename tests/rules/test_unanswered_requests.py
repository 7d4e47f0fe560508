"""Requests that were waited for in vain: whose end is worth a note, and what the note says."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_wire.rules import rules_of
from mcp_wire.transcript.document import Document
from mcp_wire.validation import validate
from tests.rules.streams import answered, asked, calling, comment, event, primed, progressed
from tests.rules.talk import Json, Talk, found, json_answer, legacy, modern, outcome, refusal, stream

CODE = "request_left_unanswered"
LISTEN = ("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
HALF: Json = {
    "status": 200,
    "headers": {"Content-Type": "application/json"},
    "body_text": '{"jsonrpc": "2.0", "id"',
    "ended": "client_closed",
}


def begun(**members: Any) -> Talk:
    return legacy(**members).begin(at=0, until=1)


def call(*chunks: Any, ended: str = "client_closed", until: float = 30_100, talk: Talk | None = None) -> Talk:
    answer = stream(*chunks, ended=ended)
    return (talk or begun()).ask("tools/call", calling("t"), id=5, answer=answer, at=100, until=until)


def without_a_head(ended: str, talk: Talk | None = None) -> Talk:
    told = call(talk=talk)
    del told.exchanges[-1]["response"]
    told.exchanges[-1]["ended"] = ended
    return told


def cancelled(talk: Talk, at: float = 30_101) -> Talk:
    return talk.notify("notifications/cancelled", {"requestId": 5}, at=at, until=at + 10)


def deleted(talk: Talk, at: float) -> Talk:
    return talk.add("DELETE", talk.usual(None), None, {"status": 200, "headers": {}}, at=at, until=at + 10)


def resumed(talk: Talk, *chunks: Any, at: float = 31_000, ended: str = "complete") -> Talk:
    return talk.get(stream(*chunks, ended=ended), {"Last-Event-ID": "e-0"}, at=at, until=at + 9_000)


def asked_back(*, on_get: bool = False, answered_at: float | None = None, method: str = "elicitation/create") -> Talk:
    """A call that still runs at 60 seconds, while the server asks its client something."""
    talk, question = begun(), event(asked("s-1", method), at=1_000)
    if on_get:
        talk.get(stream(question), at=50, until=60_000)
    call(*([] if on_get else [question]), ended="open", until=60_000, talk=talk)
    if answered_at is not None:
        accepted = {"status": 202, "headers": {}}
        talk.post(answered("s-1"), accepted, at=answered_at, until=answered_at + 10)
    return talk


def told_to_wait(back_at: float | None) -> Talk:
    """The server asks for ten seconds' patience; another call goes on meanwhile."""
    talk = call(primed(retry=10_000), until=2_000).ask("ping", result={}, at=8_000, until=8_010)
    if back_at is None:
        return talk.ask("ping", result={}, at=17_000, until=17_010)
    return resumed(talk, event(answered(5), "e-1"), at=back_at)


def modern_call(ended: str = "client_closed") -> Talk:
    return modern().list(at=0, until=1).call(id=5, answer=stream(ended=ended), at=100, until=30_100)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (call(), "violated"),
        (call(ended="client_reset"), "violated"),
        (call(event(progressed("t", 1))), "violated"),
        (call(primed()), "violated"),  # the client may still resume, but has not
        (call(until=150), "violated"),  # impatient, and the server may go on
        (call(event(answered(5))), "satisfied"),
        (without_a_head("client_closed"), "violated"),
        (without_a_head("proxy_closed"), "violated"),
        (without_a_head("server_closed"), "violated"),
        (without_a_head("complete"), "satisfied"),  # a transcript that says so tells of no end: initialize was answered
        (call(ended="proxy_closed"), "violated"),
        (begun().ask(id=5, answer=HALF, at=100, until=30_100), "violated"),
        # the client says what it does, before or soon after
        (cancelled(call()), "satisfied"),
        (cancelled(call(), at=20_000), "satisfied"),
        (cancelled(call(), at=35_099), "satisfied"),
        (cancelled(call().ask("ping", result={}, at=34_000, until=34_001), at=35_000), "satisfied"),
        (cancelled(call().ask("ping", result={}, at=36_000, until=36_001), at=40_000), "violated"),
        (resumed(call(primed()), event(answered(5), "e-1")), "satisfied"),
        (resumed(call(primed()), comment(32_000), ended="client_closed"), "violated"),  # it waited there as well
        (told_to_wait(12_500), "satisfied"),
        (told_to_wait(None), "violated"),
        # the server's own ends are judged by others, or ask for a poll
        (call(ended="complete"), "satisfied"),
        (call(ended="server_closed"), "violated"),
        (call(primed(), ended="server_closed"), "satisfied"),
        (deleted(call(ended="complete"), at=20_000), "violated"),  # while the call ran
        (deleted(call(primed(), ended="server_closed"), at=20_000), "violated"),
        (deleted(call(event(answered(5)), ended="complete"), at=20_000), "satisfied"),
        (deleted(call(ended="client_closed"), at=30_200), "violated"),
        (begun().ask(id=5, answer=refusal(400) | {"ended": "client_closed"}), "satisfied"),
        (begun().ask(id=5, answer={**HALF, "ended": "complete"}), "satisfied"),
        (begun().ask(id=5, answer=refusal(504) | {"ended": "client_closed"}), "satisfied"),
        # what still runs
        (call(ended="open"), "violated"),
        (without_a_head("open"), "violated"),
        (call(ended="open", until=9_000), "satisfied"),
        (call(event(progressed("t", 1), at=29_000), ended="open"), "satisfied"),
        (call(comment(29_000), ended="open"), "violated"),
        (begun().get(stream(ended="open"), at=100, until=90_000), "satisfied"),
        (cancelled(call(ended="open"), at=20_000), "satisfied"),
        (begun().ask("tasks/result", {"taskId": "1"}, id=5, answer=stream(), at=1, until=60_000), "satisfied"),
        (
            begun().ask(
                "tasks/result", {"taskId": "1"}, id=5, at=1, until=60_000, answer=stream(ended="client_closed")
            ),
            "violated",
        ),
        (asked_back(), "satisfied"),
        (asked_back(method="sampling/createMessage"), "satisfied"),
        (asked_back(on_get=True), "satisfied"),
        (asked_back(method="ping"), "violated"),
        (asked_back(answered_at=55_000), "satisfied"),
        (asked_back(answered_at=40_000), "violated"),
        # 2026-07-28
        (modern_call(), "violated"),
        (modern_call("open"), "violated"),
        (modern().list().ask(*LISTEN, id=4, answer=stream(ended="client_closed"), at=1, until=90_000), "satisfied"),
        (modern().list().ask(*LISTEN, id=4, answer=stream(ended="open"), at=1, until=90_000), "satisfied"),
        # what is missing
        (begun().add("POST", begun().usual(None), None, {"status": 202, "headers": {}}), "satisfied"),
        (call(talk=begun().add("POST", begun().usual(None), None, {"status": 202, "headers": {}})), "satisfied"),
        (Talk("undetermined").ask(id=5, answer=stream(ended="client_closed")), "violated"),
    ],
)
def test_who_waited_in_vain(talk: Talk, expected: str) -> None:
    assert outcome(talk, CODE) == expected


def test_a_capture_without_times_does_not_tell_for_how_long() -> None:
    talk = legacy().begin().ask("tools/call", calling(), id=5, answer=stream(ended="open"))
    assert found(talk, CODE) == []
    talk = legacy().begin().ask("tools/call", calling(), id=5, answer=stream(ended="client_closed"))
    assert "had no response, until the client left" in message(talk)


def test_a_body_that_was_not_captured_may_have_held_the_response() -> None:
    talk = call()
    talk.exchanges[-1]["response"]["not_captured"] = "too large"
    assert found(talk, CODE) == []
    assert "part of the stream was not captured or not read" in reasons(talk)
    hidden = call(talk=begun().add("POST", begun().usual(None), None, {"status": 202, "headers": {}}))
    assert "a POST that was not captured may have cancelled the request" in reasons(hidden)


def message(talk: Talk) -> str:
    [one] = [finding for finding in validate(Document(talk.document())).findings if finding.code == CODE]
    assert (one.level, one.party, one.path) == ("info", "either", "/exchanges/2/request/body")
    return one.message


def reasons(talk: Talk) -> tuple[str, ...]:
    return validate(Document(talk.document())).coverage[CODE].reasons


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (call(), "for 30.0 s, until the client left, which does not cancel it. Its stream was opened and brought no"),
        (call(event(progressed("t", 1))), "Its stream brought 1 other message."),
        (call(until=150), "for 50 ms, until"),
        (without_a_head("client_closed"), "Not even the head of an answer came."),
        (begun().ask("tools/call", id=5, answer=HALF), "The head of an answer came, and no whole body."),
        (without_a_head("open"), "for 30.0 s, up to the end of the capture."),
        (without_a_head("proxy_closed"), "until the proxy ended the exchange."),
        (without_a_head("server_closed"), "until the server's side closed the connection."),
        (deleted(call(ended="complete"), at=20_000), "until the server's side ended its stream."),
        (resumed(call(primed()), ended="client_closed"), "for 39.9 s, until the client left"),
        (call(event(progressed("t", 1)), ": a comment\n\n"), "Its stream brought 1 other message."),
        (call(primed()), "Its stream was opened and brought no message."),
        (call(until=-29_800), "had no response, until the client left"),
    ],
)
def test_the_note_names_the_request_and_how_long_it_waited(talk: Talk, expected: str) -> None:
    assert message(talk).startswith("The request tools/call with the id 5 had no response")
    assert expected in message(talk)


OTHER: Json = {"status": 200, "headers": {"Content-Type": "text/plain"}, "body_text": "no", "ended": "client_closed"}


@pytest.mark.parametrize(
    ("talk", "root", "expected"),
    [
        (call(event("{")), "invalid_sse_json", "Its stream brought what is no message, or no whole one."),
        (call(event("7")), "invalid_sse_jsonrpc", "Its stream brought what is no message, or no whole one."),
        (call("{}\n\n"), "sse_ignored_line", "Its stream brought what is no message, or no whole one."),
        (call(event(answered("5"))), "response_id_mismatch", "Its stream brought 1 other message."),
        (
            call(event(answered("5")), event("{")),
            "invalid_sse_json",
            "Its stream brought 1 other message, and what is no message.",
        ),
        (begun().ask(id=5, answer=OTHER), "invalid_response_content_type", "and a body without its response."),
    ],
)
def test_what_came_instead_explains_it(talk: Talk, root: str, expected: str) -> None:
    report = validate(Document(talk.document()))
    assert CODE not in {finding.code for finding in report.findings}
    assert [CODE in finding.consequences for finding in report.findings if finding.code == root] == [True]
    alone = validate(Document(talk.document()), [rule for rule in rules_of() if rule.code == CODE])
    [note] = alone.findings
    assert expected in note.message


def test_a_message_that_was_cut_is_not_passed_over() -> None:
    assert "Its stream brought what is no message, or no whole one." in message(call('data: {"jsonrpc":'))


def test_what_a_close_means_depends_on_the_revision() -> None:
    [one] = [finding for finding in validate(Document(modern_call().document())).findings if finding.code == CODE]
    assert "until the client closed the stream, which cancels it." in one.message
    assert one.citation is not None and one.citation.url.endswith("basic/transports/streamable-http#cancellation")


def test_other_findings_of_the_same_cut_go_first() -> None:
    talk = call(ended="server_closed")
    talk.exchanges[-1]["response"]["headers"]["Transfer-Encoding"] = "chunked"
    assert found(talk, CODE, "truncated_response") == ["truncated_response warning /exchanges/2/response"]


def test_many_are_one_note_and_a_batch_is_one_request() -> None:
    talk = begun()
    for number in range(3):
        talk.ask(id=10 + number, answer=stream(ended="client_closed"), at=100 + number, until=20_000 + number)
    [one] = [finding for finding in validate(Document(talk.document())).findings if finding.code == CODE]
    assert (one.count, one.path, one.last_path) == (3, "/exchanges/2/request/body", "/exchanges/4/request/body")
    batch = legacy("2025-03-26").begin().post([asked(1), asked(2), asked(3)], stream(ended="client_closed"))
    [one] = [finding for finding in validate(Document(batch.document())).findings if finding.code == CODE]
    assert "with the id 1 and 2 more of its batch had no response" in one.message
    whole = json_answer([answered(1), answered(2), answered(3)])
    assert outcome(legacy("2025-03-26").begin().post([asked(1), asked(2), asked(3)], whole), CODE) == "satisfied"
