"""Progress and its tokens: whose they are, in which order, and until when."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.streams import answered, asked, calling, event, primed, progressed
from tests.rules.talk import Json, Talk, found, legacy, modern, outcome, stream

V6 = "2025-06-18"


def call(talk: Talk, *chunks: Any, token: Any = "t", id: int = 5, ended: str = "complete", **times: Any) -> Talk:
    return talk.ask("tools/call", calling(token, n=id), id=id, answer=stream(*chunks, ended=ended), **times)


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("", "satisfied"),
        (0, "satisfied"),
        (-1, "satisfied"),
        (1.0, "satisfied"),  # an integer, however it is written
        (1.5, "violated"),
        (True, "violated"),
        ({}, "violated"),
    ],
)
def test_kinds_of_tokens(token: Any, expected: str) -> None:
    assert outcome(call(legacy(V6), event(answered(5)), token=token), "progress_token_invalid") == expected


def two(
    first: Any, second: Any, *, talk: Talk | None = None, ended: str = "open", chunks: tuple[Any, ...] = ()
) -> Talk:
    told = call(legacy(V6) if talk is None else talk, *chunks, token=first, id=1, ended=ended, at=0)
    return call(told, event(answered(2), at=600), token=second, id=2, at=500, until=600)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (two("t", "t"), "violated"),
        (two(1, "1"), "satisfied"),
        (two("t", "t", ended="complete"), "satisfied"),  # its stream has ended
        (two("t", "t", chunks=(event(answered(1), at=100),)), "satisfied"),  # it is answered
        (two("t", "t", talk=legacy(V6, session=None, complete=False)), "satisfied"),  # cannot tell, but of the first
    ],
)
def test_tokens_of_active_requests_differ(talk: Talk, expected: str) -> None:
    assert outcome(talk, "progress_token_invalid") == expected


def test_a_servers_token_is_judged_like_a_clients() -> None:
    sampling: Json = asked("s-1", "sampling/createMessage") | {"params": {"_meta": {"progressToken": None}}}
    [finding] = found(call(legacy(V6), event(sampling), event(answered(5))), "progress_token_invalid")
    assert finding == "progress_token_invalid error /exchanges/0/response/chunks/0"


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (call(legacy(V6).begin(), event(progressed("t", 1))), "satisfied"),
        (call(legacy(V6).begin(), event(progressed("x", 1))), "violated"),
        (call(legacy(V6).begin(), event(progressed("5", 1)), token=5), "violated"),
        (call(legacy(V6), event(progressed("x", 1))), "cannot_tell"),  # joined midway
        (call(legacy(V6, complete=False).begin(), event(progressed("x", 1))), "cannot_tell"),
        (call(legacy(V6, shape=False).begin(), event(progressed("x", 1))), "cannot_tell"),  # cut out by hand, perhaps
        (call(modern(complete=True), event(progressed("x", 1))), "violated"),  # whoever the clients are
        (call(modern(), event(progressed("x", 1))), "cannot_tell"),
        (call(legacy(V6).begin(), event(progressed(None, 1))), "not_observed"),  # a matter of its shape
    ],
)
def test_tokens_that_nobody_gave(talk: Talk, expected: str) -> None:
    assert outcome(talk, "progress_unknown_token") == expected


def test_the_clients_progress_is_for_the_servers_token() -> None:
    sampling: Json = asked("s-1", "roots/list") | {"params": {"_meta": {"progressToken": "s"}}}
    talk = call(legacy(V6).begin(client={"roots": {}}), event(sampling), ended="open")
    talk.notify("notifications/progress", {"progressToken": "s", "progress": 1})
    assert found(talk, "progress_unknown_token") == []
    talk.notify("notifications/progress", {"progressToken": "t", "progress": 1})
    assert found(talk, "progress_unknown_token") == ["progress_unknown_token error /exchanges/4/request/body"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], "satisfied"),
        ([0.1, 0.2, 0.30000000000000004], "satisfied"),
        ([-2, -1.5, 0], "satisfied"),
        ([3, 3.0], "violated"),
        ([2, 1], "violated"),
        ([9007199254740992, 9007199254740993], "satisfied"),  # never through a double
        ([10**30, 10**30 + 1], "satisfied"),
        (["a", "b"], "not_observed"),
    ],
)
def test_values_increase(values: list[Any], expected: str) -> None:
    events = [event(progressed("t", value)) for value in values]
    assert outcome(call(legacy(V6), *events), "progress_not_increasing") == expected


def test_a_token_that_is_used_again_starts_anew() -> None:
    talk = call(legacy(V6), event(progressed("t", 9)), event(answered(1)), id=1)
    call(talk, event(progressed("t", 1)), event(answered(2)), id=2)
    assert found(talk, "progress_not_increasing", "progress_after_completion") == []


def redelivered(*chunks: Any) -> Talk:
    first = [primed(at=10), event(progressed("t", 1), "e-1", at=20), event(progressed("t", 2), "e-2", at=30)]
    talk = call(legacy(), *first, ended="server_closed", at=0, until=40)
    return talk.get(stream(*chunks, ended="complete"), {"Last-Event-ID": "e-0"}, at=5_000, until=5_100)


def test_redelivery_does_not_count() -> None:
    again = [event(progressed("t", 1), "e-1"), event(progressed("t", 2), "e-2")]
    codes = ("progress_not_increasing", "progress_after_completion")
    assert found(redelivered(*again, event(progressed("t", 3), "e-3")), *codes) == []
    assert found(redelivered(*again, event(progressed("t", 2), "e-3")), *codes) == [
        "progress_not_increasing error /exchanges/1/response/chunks/2"
    ]


def after(gap: float, *, task: bool = False, times: bool = True) -> Talk:
    params = calling("t") | ({"task": {}} if task else {})
    at = [1_000, 1_000 + gap] if times else [None, None]
    talk = legacy(V6).ask("tools/call", params, id=5, answer=stream(event(answered(5), at=at[0])), at=0)
    return talk.get(stream(event(progressed("t", 1), at=at[1])), at=10)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (after(999), "not_observed"),
        (after(1_000), "violated"),
        (after(60_000, task=True), "not_observed"),
        (after(1_000, times=False), "cannot_tell"),
        (call(legacy(V6), event(answered(5)), event(progressed("t", 1))), "violated"),
        (call(legacy(V6, session=None, complete=False), event(answered(5)), event(progressed("t", 1))), "violated"),
    ],
)
def test_progress_stops_with_the_response(talk: Talk, expected: str) -> None:
    assert outcome(talk, "progress_after_completion") == expected


def test_one_finding_for_progress_after_the_response() -> None:
    codes = ("progress_after_completion", "stream_not_closed_after_response")
    talk = call(legacy(V6), event(answered(5)), event(progressed("t", 1)))
    assert found(talk, *codes) == ["progress_after_completion error /exchanges/0/response/chunks/1"]
