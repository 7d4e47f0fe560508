"""Framing: tails that were cut, lines that mean nothing, and duties that wait for proof of the server's revision."""

from __future__ import annotations

import pytest

from tests.rules.streams import answered, asked, calling, event, modern_answer, primed, progressed
from tests.rules.talk import Talk, found, legacy, modern, outcome, stream


def answer(*chunks: object, ended: str = "complete") -> Talk:
    return legacy("2025-06-18").ask("tools/call", calling("t"), id=5, answer=stream(*chunks, ended=ended))


@pytest.mark.parametrize(
    ("tail", "ended", "expected"),
    [
        ("data: {", "complete", "violated"),
        ("id: 7\n", "server_closed", "violated"),
        ("data: {", "server_reset", "violated"),  # a note of level info
        ("data: {", "client_closed", "cannot_tell"),
        ("data: {", "proxy_closed", "cannot_tell"),
        ("data: {", "open", "not_observed"),
        (": going", "complete", "not_observed"),
        ("\n", "complete", "not_observed"),
    ],
)
def test_a_cut_event_is_the_servers_only_where_the_server_ended(tail: str, ended: str, expected: str) -> None:
    assert outcome(answer(tail, ended=ended), "incomplete_sse_event") == expected


def test_a_reset_in_an_event_is_a_symptom() -> None:
    talk = answer("data: {", ended="server_reset")
    assert found(talk, "incomplete_sse_event") == ["incomplete_sse_event info /exchanges/0/response/chunks"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Data: {}\n\n", "violated"),  # names are case-sensitive
        ("x-private: 1\ndata:\n\n", "violated"),
        ('{"jsonrpc":"2.0"}', "violated"),  # a body under the wrong label, without any line end
        ("dat", "not_observed"),  # may have become data
        ("data2", "violated"),  # can become no field that is known
        ("retry\n\n", "satisfied"),
        (":\n\n", "satisfied"),
    ],
)
def test_lines_that_receivers_ignore(text: str, expected: str) -> None:
    assert outcome(answer(text), "sse_ignored_line") == expected


def test_a_misplaced_mark_explains_the_ignored_line() -> None:
    talk = answer(event(progressed("t", 1)), "\ufeffid: 1\ndata:\n\n")
    codes = ("sse_bom_misplaced", "sse_ignored_line")
    assert found(talk, *codes) == ["sse_bom_misplaced warning /exchanges/0/response/chunks/1"]


def test_u_feff_inside_a_value_is_text() -> None:
    assert outcome(answer('data: "\ufeff"\n\n', "data: \ufeff\n\n"), "sse_bom_misplaced") == "not_observed"


@pytest.mark.parametrize("type_line", ["", "event:\n", "event: message\n", "event: x\nevent: message\n"])
def test_the_last_event_type_counts(type_line: str) -> None:
    talk = answer(type_line + event(answered(5)))
    assert outcome(talk, "sse_event_type_unexpected") == "satisfied"


def test_duties_of_2026_wait_for_proof() -> None:
    """Ids before the proof are judged at the end of their exchange; without proof nothing is said."""
    codes = ("event_id_removed", "server_request_removed")
    early = [event(asked(1), "e-1"), event(progressed("t", 1), "e-2")]

    proven = modern().call(id=5, answer=stream(*early, event(modern_answer(5)), ended="complete"))
    assert found(proven, *codes) == [
        "event_id_removed error /exchanges/0/response/chunks/0",
        "server_request_removed error /exchanges/0/response/chunks/0",
    ]
    unproven = modern().call(id=5, answer=stream(*early, event(answered(5)), ended="complete"))
    assert found(unproven, *codes) == []
    assert outcome(unproven, "event_id_removed") == "cannot_tell"
    assert outcome(unproven, "server_request_removed") == "cannot_tell"


def test_the_archived_profile_needs_no_proof() -> None:
    talk = modern(profile="draft-2026-07-28").call(answer=stream(event("", "e-1")))
    assert found(talk, "event_id_removed") == ["event_id_removed error /exchanges/0/response/chunks/0"]


@pytest.mark.parametrize("status", [201, 404, 500])
def test_a_stream_with_another_status(status: int) -> None:
    talk = legacy().ask(answer=stream(primed(), ended="complete") | {"status": status})
    assert found(talk, "sse_on_non_200_status") == ["sse_on_non_200_status warning /exchanges/0/response/status"]


def test_a_status_without_a_stream_says_nothing() -> None:
    talk = legacy().notify().ask(answer=stream(ended="complete") | {"status": 202})
    assert outcome(talk, "sse_on_non_200_status") == "not_observed"
