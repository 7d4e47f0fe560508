"""Notes on every exchange: repetitions where they happen, what a conversation learns later, and nothing unredacted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from mcp_wire.live.judge_messages import Reported
from mcp_wire.live.observer import Observer, ObserverSettings
from mcp_wire.live.output import OutputFolder
from mcp_wire.protocol.profiles import PROFILES, Profile
from mcp_wire.reports.exchange_notes import ExchangeNotes
from mcp_wire.rules import rules_of
from mcp_wire.wire.observation import Ended
from tests.live.mcp_traffic import (
    Step,
    delete,
    event,
    exchange,
    in_turn,
    initialize,
    initialized,
    modern,
    tools_list,
)
from tests.live.test_directory import traffic

SESSION = "0123456789abcdef0123456789abcdef"
SECRET = "canary-5f2b9c41d7"


class Watched:
    """An observer that takes notes, and the latest notes by the edge's names."""

    def __init__(self, folder: Path, profile: Profile | None = None) -> None:
        self.reported: list[Reported] = []
        self.notes: dict[str, ExchangeNotes] = {}
        self.told: list[str] = []
        self.observer = Observer(
            ObserverSettings(rules_of(), profile),
            OutputFolder(folder),
            on_finding=self.reported.append,
            noting=True,
        )

    def take(self, steps: list[Step], *, ask_each_time: bool = True) -> Watched:
        for step in steps:
            self.observer.observe(step.origin, step.observation)
            if ask_each_time:
                self.ask()
        self.ask()
        return self

    def ask(self, *, progress: bool = False) -> list[str]:
        asked = list(self.observer.notes(progress=progress))
        self.notes |= {noted.flow: noted.notes for noted in asked}
        self.told += [noted.flow for noted in asked]
        return [noted.flow for noted in asked]

    def finish(self) -> Watched:
        self.observer.finish()
        self.ask(progress=True)
        return self


def codes(notes: ExchangeNotes) -> list[tuple[str, int]]:
    return [(finding.code, finding.count) for finding in notes.findings]


def test_an_exchange_is_noted_at_its_request_and_at_its_end(tmp_path: Path) -> None:
    watched = Watched(tmp_path).take(in_turn(initialize(minted=SESSION, sse=True, name="i")))
    notes = watched.notes["i"]
    assert (notes.profile, notes.is_judged, notes.has_ended) == ("stable-2025-11-25", True, True)
    assert notes.why == "the answer to this initialize names the revision"
    assert (notes.transcript, notes.index, notes.what) == (
        "transcripts/stable-2025-11-25.endpoint-1.session-1.json",
        0,
        "POST initialize",
    )
    assert (notes.events, notes.chunks, notes.is_stream) == (2, 2, True)
    assert notes.findings == ()
    assert watched.observer.exchanges == watched.observer.conversations == 1


@pytest.mark.parametrize(
    ("steps", "profile", "why"),
    [
        ([modern(name="x")], "stable-2026-07-28", "_meta in its body names the revision"),
        (
            [modern(name="x", meta=None)],
            "stable-2026-07-28",
            "its MCP-Protocol-Version header names the revision",
        ),
        (
            [tools_list(name="x", version="2025-06-18")],
            "stable-2025-06-18",
            "its MCP-Protocol-Version header names the revision",
        ),
        ([tools_list(name="x")], "undetermined", "nothing in this conversation has named a revision"),
        (
            [initialize(minted=SESSION), tools_list(name="x", session=SESSION)],
            "stable-2025-11-25",
            "the answer to initialize named the revision for this session",
        ),
        (
            [initialize(), tools_list(name="x")],
            "stable-2025-11-25",
            "the answer to initialize named the revision for this endpoint",
        ),
    ],
)
def test_why_a_profile_was_chosen(tmp_path: Path, steps: list[Any], profile: str, why: str) -> None:
    notes = Watched(tmp_path).take(in_turn(*steps)).finish().notes["x"]
    assert (notes.profile, notes.why, notes.is_judged) == (profile, why, profile != "undetermined")


def test_the_operator_chose_the_profile(tmp_path: Path) -> None:
    watched = Watched(tmp_path, PROFILES["stable-2025-06-18"]).take(in_turn(tools_list(name="x")))
    assert watched.notes["x"].why == "mcp_profile says so"


def test_a_version_without_a_profile_is_noted_and_not_judged(tmp_path: Path) -> None:
    watched = Watched(tmp_path).take(in_turn(tools_list(name="x", version="2099-01-01", sse=True)))
    notes = watched.notes["x"]
    assert (notes.is_judged, notes.profile, notes.what, notes.has_ended) == (
        False,
        "stable-2099-01-01",
        "POST tools/list",
        True,
    )
    assert notes.mark == "not_judged"


def test_repetitions_are_noted_where_they_happen(tmp_path: Path) -> None:
    """The report has one finding; of the flows, each has its own."""
    bad = {"jsonrpc": "2.0", "id": 5, "method": "tools/list"}
    answer = {"jsonrpc": "2.0", "id": 5, "result": {"tools": []}}
    calls = [
        exchange({**bad, "id": n}, answer={**answer, "id": n}, session=SESSION, version=version, name=f"call-{n}")
        for n, version in enumerate(["2025-11-25", "2024-01-01", "2024-01-01"], 1)
    ]
    watched = Watched(tmp_path).take(
        in_turn(initialize(minted=SESSION), initialized(session=SESSION, version="2025-11-25"), *calls)
    )
    reported = [one.finding.code for one in watched.reported]
    assert reported.count("unknown_protocol_version") == 1
    assert codes(watched.notes["call-1"]) == []
    for name, index in (("call-2", 3), ("call-3", 4)):
        assert ("unknown_protocol_version", 1) in codes(watched.notes[name])
        paths = {finding.path for finding in watched.notes[name].findings}
        assert all(path.startswith(f"/exchanges/{index}/") for path in paths)


def test_counts_within_one_exchange(tmp_path: Path) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    result = {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}
    bad = event({"jsonrpc": "1.0", "method": "notifications/message"})
    stream = [b"id: 0\ndata:\n\n", *[bad] * 9, event(result)]
    steps = in_turn(
        initialize(minted=SESSION), exchange(request, events=stream, session=SESSION, version="2025-11-25", name="x")
    )
    watched = Watched(tmp_path).take(steps)
    finding = next(one for one in watched.notes["x"].findings if one.count == 9)
    assert (finding.count, finding.path, finding.last_path) == (
        9,
        "/exchanges/1/response/chunks/1",
        "/exchanges/1/response/chunks/9",
    )


def test_a_growing_stream_is_told_of_only_when_asked(tmp_path: Path) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    note = b": still here\n\n"
    steps = in_turn(
        initialize(minted=SESSION),
        exchange(request, events=[b"id: 0\ndata:\n\n", note, note, note], session=SESSION, name="x", ended=None),
    )
    watched = Watched(tmp_path).take(steps[:-3])
    told = watched.told.count("x")
    watched.take(steps[-3:])
    assert watched.told.count("x") == told
    assert watched.ask(progress=True) == ["x"]
    notes = watched.notes["x"]
    assert (notes.events, notes.chunks, notes.has_ended) == (1, 4, False)
    assert watched.ask(progress=True) == []


def test_advice_comes_with_the_end_and_goes_with_the_recovery(tmp_path: Path) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow", "arguments": {}}}
    result = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
    stable: dict[str, Any] = {"session": SESSION, "version": "2025-11-25"}
    broken = exchange(request, events=[b"id: e-1\nretry: 1\ndata:\n\n"], ended=Ended.SERVER_CLOSED, name="b", **stable)
    resumed = exchange(method="GET", events=[event(result, "e-2")], more=[("Last-Event-ID", "e-1")], name="r", **stable)
    watched = Watched(tmp_path).take(in_turn(initialize(minted=SESSION), broken))
    advice = watched.notes["b"].advice
    assert advice is not None
    assert advice.action == "resume-with-get"
    assert watched.notes["b"].what == "POST tools/call slow"
    watched.take(in_turn(resumed))
    assert watched.notes["b"].advice is None


def test_names_and_methods_are_noted_as_redaction_allows(tmp_path: Path) -> None:
    request = {"jsonrpc": "2.0", "id": SECRET, "method": f"x/{SECRET}", "params": {"token": SECRET}}
    answer = {"jsonrpc": "2.0", "id": SECRET, "error": {"code": -32601, "message": SECRET}}
    watched = Watched(tmp_path).take(
        in_turn(
            initialize(minted=SESSION),
            exchange(request, answer=answer, session=SESSION, name="x", more=[("Authorization", SECRET)]),
            exchange(method=SECRET.upper(), session=SESSION, name="y"),
        )
    )
    watched.finish()
    assert SECRET not in json.dumps([notes.packed() for notes in watched.notes.values()]).lower()
    assert watched.notes["x"].what.startswith("POST method-")


def test_a_finding_that_only_the_end_of_the_capture_shows_is_noted(tmp_path: Path) -> None:
    watched = Watched(tmp_path).take(in_turn(initialize(minted=SESSION, name="i"))).finish()
    late = {one.finding.code for one in watched.reported if one.flow == "i"}
    assert late <= {code for code, _ in codes(watched.notes["i"])}


@settings(max_examples=60, deadline=None)
@given(steps=traffic())
def test_whatever_is_reported_of_an_exchange_is_noted_of_it(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    watched = Watched(tmp_path_factory.mktemp("notes")).take(steps, ask_each_time=False).finish()
    assert len(watched.notes) == watched.observer.exchanges
    report = json.loads((watched.observer._files.folder / "report.json").read_text())  # type: ignore[attr-defined]
    named = {
        (conversation["transcript"], finding["code"], finding["exchange"], finding["path"])
        for conversation in report["conversations"]
        for finding in conversation["findings"]
        if finding["exchange"] is not None and finding["code"] != "observer_error"
    }
    noted = {
        (notes.transcript, finding.code, f"x-{notes.index + 1}", finding.path)
        for notes in watched.notes.values()
        for finding in notes.findings
    }
    assert named <= noted


def test_nothing_is_kept_where_nobody_asks(tmp_path: Path) -> None:
    observer = Observer(ObserverSettings(rules_of()), OutputFolder(tmp_path))
    for step in in_turn(initialize(minted=SESSION), delete(SESSION)):
        observer.observe(step.origin, step.observation)
    observer.finish()
    assert list(observer.notes(progress=True)) == []
    assert observer.exchanges == 0
