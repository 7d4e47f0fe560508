"""Markers and comments on flows, kept up to date, and never over what a person has put there."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from mitmproxy import http

from mcp_wire.live.annotations import Annotations
from mcp_wire.live.flow_notes import COMMENT, MARKER, NOTES, clear_annotations, notes_of
from mcp_wire.live.judge_messages import Noted
from mcp_wire.live.marks import CHUNKS, MARK
from mcp_wire.live.session_labels import SessionLabels
from mcp_wire.reports.exchange_notes import ExchangeNotes, NotedFinding
from tests.live.flows import answered, flow

NOTES_NOW = ExchangeNotes(
    profile="stable-2025-11-25",
    why="…",
    is_judged=True,
    transcript="transcripts/a.json",
    index=0,
    what="POST ping",
)
WRONG = NotedFinding("wrong", "error", "client", "/exchanges/0/request", "It is wrong.")
SESSION = "0123456789abcdef0123456789abcdef"


class Desk:
    """The event loop, the judge and the screen, as far as annotations know them."""

    def __init__(self, *, annotate: bool = True, looking: bool = True) -> None:
        self.interval_s = 0.5
        self.calls: list[tuple[float, Callable[[], None]]] = []
        self.asked = 0
        self.updates: list[list[http.HTTPFlow]] = []
        self.refreshed: list[http.HTTPFlow] = []
        self.annotations = Annotations(
            lambda seconds, call: self.calls.append((seconds, call)),
            self.ask,
            self if looking else None,
            SessionLabels(),
            annotate=annotate,
        )

    def ask(self) -> None:
        self.asked += 1

    def update(self, flows: list[http.HTTPFlow]) -> None:
        self.updates.append(flows)

    def refresh(self, flows: list[http.HTTPFlow]) -> None:
        self.refreshed += flows

    def turn(self) -> bool:
        """Let the time come of what was scheduled; False if nothing was."""
        due, self.calls = self.calls, []
        for _, call in due:
            call()
        return bool(due)

    def note(self, notes: ExchangeNotes = NOTES_NOW, exchange: str = "x-1") -> None:
        self.annotations.noted(Noted(exchange, notes))


class Tap:
    """A stream on its way."""

    def __init__(self) -> None:
        self.data = b""
        self.received = 0
        self.taken = 0

    @property
    def kept(self) -> int:
        return len(self.data)

    def so_far(self) -> tuple[bytes, dict[str, bytes]]:
        self.taken += 1
        return self.data, {CHUNKS: MARK.pack(1, len(self.data))}

    def comes(self, data: bytes) -> None:
        self.data += data
        self.received += len(data)


def followed(desk: Desk, **request: str) -> http.HTTPFlow:
    made = answered(flow(headers=request), b"{}")
    desk.annotations.follow("x-1", made)
    return made


# Markers and comments


def test_a_flow_gets_its_comment_and_its_marker_and_keeps_them_up_to_date() -> None:
    desk = Desk()
    made = followed(desk, **{"Mcp-Session-Id": SESSION})
    desk.note()
    assert (made.comment, made.marked) == ("no findings · ping · session-A", ":green_circle:")
    desk.note(replace(NOTES_NOW, findings=(WRONG,)))
    assert (made.comment, made.marked) == ("1 error: wrong · ping · session-A", ":red_circle:")
    notes = notes_of(made)
    assert notes is not None
    assert (notes.session, notes.findings) == ("session-A", (WRONG,))


@pytest.mark.parametrize("when", ["before", "later"])
def test_what_a_person_has_set_stays(when: str) -> None:
    desk = Desk()
    made = followed(desk)
    if when == "later":
        desk.note()
    made.comment, made.marked = "look at this", ":grapes:"
    desk.note(replace(NOTES_NOW, findings=(WRONG,)))
    assert (made.comment, made.marked) == ("look at this", ":grapes:")


def test_a_comment_and_a_marker_are_each_their_own() -> None:
    desk = Desk()
    made = followed(desk)
    made.marked = ":grapes:"
    desk.note()
    assert (made.comment, made.marked) == ("no findings · ping", ":grapes:")


def test_what_a_person_has_taken_off_stays_off() -> None:
    desk = Desk()
    made = followed(desk)
    desk.note()
    made.comment = made.marked = ""
    desk.note(replace(NOTES_NOW, findings=(WRONG,)))
    assert (made.comment, made.marked) == ("", "")


def test_cleared_flows_stay_clear_and_keep_their_notes() -> None:
    desk = Desk()
    made = followed(desk)
    desk.note()
    assert clear_annotations(made)
    assert not clear_annotations(made)
    desk.note(replace(NOTES_NOW, findings=(WRONG,)))
    assert (made.comment, made.marked) == ("", "")
    assert notes_of(made) is not None


def test_clearing_leaves_what_a_person_has_set() -> None:
    desk = Desk()
    made = followed(desk)
    desk.note()
    made.comment = "mine"
    assert clear_annotations(made)
    assert (made.comment, made.marked) == ("mine", "")


def test_without_annotating_there_are_notes_only() -> None:
    desk = Desk(annotate=False)
    made = followed(desk)
    desk.note()
    assert (made.comment, made.marked) == ("", "")
    assert notes_of(made) is not None


def test_a_replayed_flow_begins_anew() -> None:
    """Its copy brings the comment of the first run along, and that is ours."""
    desk = Desk()
    made = followed(desk)
    desk.note(replace(NOTES_NOW, findings=(WRONG,)))
    again = made.copy()  # type: ignore[no-untyped-call]
    again.live = True
    desk.annotations.follow("x-2", again)
    assert (again.comment, again.marked) == ("", "")
    assert not {NOTES, COMMENT, MARKER} & again.metadata.keys()
    desk.note(exchange="x-2")
    assert again.comment == "no findings · ping"


def test_a_flow_from_a_file_goes_on_with_the_comment_that_it_brings() -> None:
    desk = Desk()
    made = followed(desk)
    desk.note(replace(NOTES_NOW, findings=(WRONG,)))
    loaded = made.copy()  # type: ignore[no-untyped-call]
    loaded.live = False
    desk.annotations.follow("x-2", loaded)
    assert loaded.comment == "1 error: wrong · ping"
    desk.note(exchange="x-2")
    assert (loaded.comment, loaded.marked) == ("no findings · ping", ":green_circle:")


def test_sessions_have_labels_in_the_order_in_which_they_are_seen() -> None:
    desk = Desk()
    made = [followed(desk, **{"Mcp-Session-Id": f"{number}" * 32}) for number in (1, 2, 1)]
    for number, one in enumerate(made):
        desk.annotations.follow(f"s-{number}", one)
        desk.note(exchange=f"s-{number}")
    assert [one.comment.rpartition(" · ")[2] for one in made] == ["session-A", "session-B", "session-A"]


def test_a_session_that_the_response_opens_has_its_label() -> None:
    desk = Desk()
    made = followed(desk)
    assert made.response is not None
    made.response.headers["Mcp-Session-Id"] = "short"
    desk.note()
    assert made.comment == "no findings · ping · weak-A"


def test_flows_that_are_gone_are_let_go_of() -> None:
    desk = Desk(looking=False)
    followed(desk)
    gc.collect()
    desk.note()
    assert desk.updates == []


# What is MCP


def test_what_is_followed_is_mcp_at_once_unless_it_is_another_protocols() -> None:
    desk = Desk()
    made = answered(flow(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()), b"{}")
    other = answered(flow(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_call"}).encode()), b"{}")
    perhaps = answered(flow(method="GET"), b"{}")
    for number, one in enumerate((made, other)):
        desk.annotations.follow(f"x-{number}", one)
    desk.annotations.follow("x-7", perhaps, certain=False)
    assert [desk.annotations.is_mcp(one) for one in (made, other, perhaps, flow())] == [True, False, False, False]
    desk.note(exchange="x-7")
    assert desk.annotations.is_mcp(perhaps)


# Showing


def test_flows_are_shown_again_together_and_not_at_once() -> None:
    desk = Desk()
    made = followed(desk)
    for _ in range(5):
        desk.note()
    assert desk.updates == []
    assert len(desk.calls) == 1
    desk.turn()
    assert desk.updates == [[made]]
    assert desk.refreshed == [made]
    assert not desk.turn()


def test_nobody_looks() -> None:
    desk = Desk(looking=False)
    made, tap = followed(desk), Tap()
    desk.annotations.stream(made, tap)
    desk.annotations.seen()
    desk.note()
    assert made.comment == "no findings · ping"
    assert desk.calls == []


def test_the_bytes_of_an_open_stream_are_lent_to_its_flow_and_taken_back() -> None:
    desk = Desk()
    made, tap = followed(desk), Tap()
    assert made.response is not None
    made.response.raw_content = None
    desk.annotations.stream(made, tap)
    tap.comes(b"data: 1\n\n")
    desk.annotations.seen()
    desk.turn()
    assert made.response.raw_content == b"data: 1\n\n"
    assert made.metadata[CHUNKS] == MARK.pack(1, 9)
    assert desk.updates == [[made]]
    assert desk.asked == 1
    tap.comes(b"data: 2\n\n")
    desk.annotations.seen()
    desk.turn()
    assert made.response.raw_content == b"data: 1\n\ndata: 2\n\n"
    desk.annotations.over(made)
    assert made.response.raw_content is None
    assert CHUNKS not in made.metadata


def test_an_open_stream_that_stands_still_costs_nothing() -> None:
    desk = Desk()
    made, tap = followed(desk), Tap()
    assert made.response is not None
    made.response.raw_content = None
    desk.annotations.stream(made, tap)
    desk.turn()
    assert made.response.raw_content == b""
    turns = 0
    while desk.turn():
        turns += 1
    assert turns == 0
    assert tap.taken == 1


def test_what_another_addon_has_put_there_is_left_alone() -> None:
    desk = Desk()
    made, tap = followed(desk), Tap()
    assert made.response is not None
    made.response.raw_content = b"theirs"
    desk.annotations.stream(made, tap)
    tap.comes(b"data: 1\n\n")
    while desk.turn():
        pass
    assert made.response.raw_content == b"theirs"
    desk.annotations.over(made)
    assert made.response.raw_content == b"theirs"


def test_a_large_stream_is_lent_less_often() -> None:
    desk = Desk()
    made, tap = followed(desk), Tap()
    assert made.response is not None
    made.response.raw_content = None
    desk.annotations.stream(made, tap)
    tap.comes(b"x" * 32 * 1024 * 1024)
    for _ in range(10):
        tap.comes(b"x")
        desk.annotations.seen()
        desk.turn()
    assert 2 <= tap.taken <= 3


def test_beyond_what_is_kept_the_judge_is_asked_and_nothing_is_copied() -> None:
    desk = Desk()
    made, tap = followed(desk), Tap()
    assert made.response is not None
    made.response.raw_content = None
    desk.annotations.stream(made, tap)
    tap.comes(b"data: 1\n\n")
    desk.turn()
    tap.received += 1_000
    desk.annotations.seen()
    desk.turn()
    assert (desk.asked, tap.taken) == (2, 1)
    assert not desk.turn()
