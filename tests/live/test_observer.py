from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wire.live import directory as directory_module
from mcp_wire.live.directory import Directory
from mcp_wire.live.observer import Observer, ObserverSettings, Origin, Reported
from mcp_wire.live.output import OutputFolder
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.rules import rules_of
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import observations, read_document
from mcp_wire.validation import validate
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import Ended, ExchangeEnded, Observation, RequestSeen, ResponseSeen
from tests.captures import recordings, seen_in
from tests.live.mcp_traffic import Clock, Step, delete, exchange, in_turn, initialize, initialized, modern, tools_list
from tests.live.test_directory import traffic

type Tally = Counter[tuple[str, str, str, int]]


def watch(folder: Path, steps: list[Step], **settings: Any) -> list[Reported]:
    reported: list[Reported] = []
    observer = Observer(ObserverSettings(rules_of(), **settings), OutputFolder(folder), on_finding=reported.append)
    for step in steps:
        observer.observe(step.origin, step.observation)
    observer.finish()
    return reported


def tally(findings: list[dict[str, Any]]) -> Tally:
    return Counter((one["code"], one["level"], one["path"], one["count"]) for one in findings)


def assert_live_is_offline(folder: Path) -> None:
    told = report(folder)
    assert {f"transcripts/{path.name}" for path in (folder / "transcripts").iterdir()} == {
        one["transcript"] for one in told["conversations"]
    }
    for conversation in told["conversations"]:
        offline = validate(read_document((folder / conversation["transcript"]).read_bytes()))
        found = Counter((one.code, one.level, one.path, one.count) for one in offline.findings)
        assert tally(conversation["findings"]) == found, conversation["transcript"]
        assert [advice["action"] for advice in conversation["recovery"]] == [one.action for one in offline.recovery]


def transcripts(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted((folder / "transcripts").iterdir())}


def report(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


SESSION = "0123456789abcdef0123456789abcdef"
LEGACY = "stable-2025-11-25.endpoint-1.session-1"
MODERN = "stable-2026-07-28.endpoint-1.no-session"


def faulty_session() -> list[Step]:
    return in_turn(
        initialize(minted=SESSION, sse=True, name="i"),
        initialized(version="2025-11-25", session=SESSION, name="n"),
        tools_list(1, session=SESSION, sse=True, name="t"),
        modern(2, name="m"),
        delete(SESSION, version="2025-11-25", name="d"),
    )


# Live = offline


def test_a_session_leaves_transcripts_that_are_judged_as_the_live_run_judged_it(tmp_path: Path) -> None:
    watch(tmp_path, faulty_session())
    assert_live_is_offline(tmp_path)
    found = {one["code"]: one["path"] for one in report(tmp_path)["findings"]}
    assert found["protocol_version_mismatch"] == "/exchanges/2/request/headers"


@settings(max_examples=40)
@given(steps=traffic())
def test_live_is_offline_for_any_interleaving(tmp_path_factory: pytest.TempPathFactory, steps: list[Step]) -> None:
    folder = tmp_path_factory.mktemp("live")
    watch(folder, steps)
    assert_live_is_offline(folder)
    assert not [one for one in report(folder)["findings"] if one["code"] == "observer_error"]


@settings(max_examples=40)
@given(steps=traffic(), data=st.data())
def test_live_is_offline_wherever_the_capture_stops(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("live")
    watch(folder, steps[: data.draw(st.integers(0, len(steps)))])
    assert_live_is_offline(folder)


@settings(max_examples=40)
@given(steps=traffic())
def test_the_same_observations_give_the_same_bytes(tmp_path_factory: pytest.TempPathFactory, steps: list[Step]) -> None:
    folders = [tmp_path_factory.mktemp("live") for _ in range(2)]
    for folder in folders:
        watch(folder, steps)
    one, two = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in folders
    )
    assert one == two


@pytest.mark.parametrize("recording", recordings(), ids=lambda path: path.name.partition(".")[0])
def test_live_is_offline_for_recorded_traffic(tmp_path: Path, recording: Path) -> None:
    watch(tmp_path, [Step(where, observation) for where, observation in seen_in(recording)])
    assert_live_is_offline(tmp_path)
    # Every one of these clients and servers has said what it speaks, and each is one client.
    kinds = Counter(name.partition(".")[0] for name in transcripts(tmp_path))
    assert kinds <= Counter({"stable-2025-11-25": 1, "stable-2026-07-28": 1})
    assert not [one for one in report(tmp_path)["findings"] if one["code"] == "observer_error"]


# What is written


def test_exchanges_are_numbered_and_timed_within_their_conversation(tmp_path: Path) -> None:
    watch(tmp_path, faulty_session())
    found = transcripts(tmp_path)
    assert {name: [one["id"] for one in told["exchanges"]] for name, told in found.items()} == {
        LEGACY: ["x-1", "x-2", "x-3", "x-4"],
        MODERN: ["x-1"],
    }
    first, second, *_ = found[LEGACY]["exchanges"]
    assert (first["started_ms"], first["ended_ms"], second["started_ms"]) == (0, 4, 5)
    assert found[MODERN]["exchanges"][0]["started_ms"] == 0


def test_equal_times_are_spread_so_that_time_alone_restores_the_order(tmp_path: Path) -> None:
    steps = [Step(step.origin, replace(step.observation, t_ms=123.4567)) for step in faulty_session()]
    watch(tmp_path, steps)
    assert_live_is_offline(tmp_path)
    exchanges = transcripts(tmp_path)[LEGACY]["exchanges"]
    # Of five observations of the first exchange, and of those of the others.
    assert [(one["started_ms"], one["ended_ms"]) for one in exchanges] == [
        (0, 0.004),
        (0.005, 0.008),
        (0.009, 0.012),
        (0.013, 0.016),
    ]


def test_the_tuple_says_who_spoke_over_what(tmp_path: Path) -> None:
    hop = ("Via", "1.1 gateway.example")
    steps = in_turn(initialize(minted=SESSION, sse=True, more=[hop], agent="node"), delete(SESSION))
    steps = [Step(replace(step.origin, tls="TLSv1.3"), step.observation) for step in steps]
    watch(tmp_path, steps)
    told = transcripts(tmp_path)[LEGACY]["tuple"]
    assert told == report(tmp_path)["conversations"][0]["tuple"]
    assert told["client"] == {"name": "example-client", "version": "1.4.0"}
    assert told["server"] == {"name": "example-server", "version": "2.1.0"}
    assert (told["endpoint"], told["revision"], told["http_version"], told["tls"], told["user_agent"]) == (
        "/mcp",
        "2025-11-25",
        "HTTP/1.1",
        "TLSv1.3",
        "node",
    )
    assert "gateway.example" not in json.dumps(told)


def test_what_still_runs_when_the_capture_stops_is_open(tmp_path: Path) -> None:
    steps = faulty_session()[:-2]
    *before, last = faulty_session()
    stop = Step(last.origin, ExchangeEnded("d", last.observation.t_ms, Ended.OPEN, received_octets=17))
    watch(tmp_path, [stop, *before, stop])
    response = transcripts(tmp_path)[LEGACY]["exchanges"][-1]["response"]
    assert (response["ended"], response["received_octets"]) == ("open", 17)
    assert_live_is_offline(tmp_path)
    assert len(steps) == len(before) - 1


@pytest.mark.parametrize("version", ["2024-11-05", "2099-12-31"])
def test_an_unknown_version_is_one_finding_live_and_offline(tmp_path: Path, version: str) -> None:
    seen = watch(tmp_path, in_turn(initialize(version, minted=SESSION), tools_list(1, session=SESSION)))
    label = f"stable-{version}.endpoint-1.session-1"
    assert [(one.finding.code, one.profile) for one in seen] == [("unknown_profile", f"stable-{version}")]
    assert transcripts(tmp_path)[label]["profile"] == f"stable-{version}"
    assert len(transcripts(tmp_path)[label]["exchanges"]) == 2
    assert_live_is_offline(tmp_path)


def test_a_version_that_is_none_is_not_shown(tmp_path: Path) -> None:
    watch(tmp_path, in_turn(tools_list(1, version="canary-3f9d", session=SESSION)))
    assert list(transcripts(tmp_path)) == ["unknown.endpoint-1.session-1"]
    assert all(b"canary-3f9d" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert_live_is_offline(tmp_path)


def test_findings_are_told_as_they_happen_and_name_flow_and_file(tmp_path: Path) -> None:
    seen = watch(tmp_path, faulty_session())
    mismatch = next(one for one in seen if one.finding.code == "protocol_version_mismatch")
    assert (mismatch.flow, mismatch.transcript, mismatch.profile) == (
        "t",
        f"transcripts/{LEGACY}.json",
        "stable-2025-11-25",
    )
    lines = [json.loads(line) for line in (tmp_path / "findings.jsonl").read_text().splitlines()]
    assert [(line["code"], line["transcript"]) for line in lines] == [
        (one.finding.code, one.transcript) for one in seen
    ]


CANARY = "canary-7d1f0c9e83b4"


def test_nothing_but_labels_reaches_a_file_or_a_listener(tmp_path: Path) -> None:
    secret = {
        "jsonrpc": "2.0",
        "id": CANARY,
        "method": "tools/call",
        "params": {"name": "t", "arguments": {"k": CANARY}},
    }
    told = watch(
        tmp_path,
        in_turn(
            initialize(minted=CANARY * 2, endpoint=f"http://{CANARY}.example:1/{CANARY}"),
            exchange(
                secret,
                session=CANARY * 2,
                more=[("Authorization", f"Bearer {CANARY}"), ("Cookie", CANARY), (CANARY, CANARY), ("Via", CANARY)],
                agent=f"{CANARY}/{CANARY}",
                endpoint=f"http://{CANARY}.example:1/{CANARY}",
                answer={"jsonrpc": "2.0", "id": CANARY, "error": {"code": -32000, "message": CANARY}},
            ),
            tools_list(1, session=CANARY, version=CANARY, connection=CANARY),
        ),
    )
    assert len(told) > 0 and not [one for one in told if CANARY in one.finding.message + str(one.transcript)]
    for path in tmp_path.rglob("*"):
        assert CANARY not in str(path.relative_to(tmp_path))
        assert path.is_dir() or CANARY.encode() not in path.read_bytes()


# What fails


class Failing:
    """Redaction that fails from its third observation on."""

    def __init__(self) -> None:
        self.left = 2

    def feed(self, observation: Observation) -> list[Observation]:
        self.left -= 1
        if self.left < 0:
            raise ValueError(CANARY)
        return [observation]

    def show(self, evidence: Evidence) -> str:
        return "x"


def test_a_redactor_that_fails_ends_the_transcript_and_nothing_else(tmp_path: Path) -> None:
    told: list[Reported] = []
    observer = Observer(ObserverSettings(rules_of()), OutputFolder(tmp_path), on_finding=told.append, redactor=Failing)
    for step in faulty_session():
        observer.observe(step.origin, step.observation)
    observer.finish()
    codes = [one.finding.code for one in told]
    assert codes.count("observer_error") == 1
    assert "protocol_version_mismatch" in codes
    assert [len(one["exchanges"]) for one in transcripts(tmp_path).values()] == [1, 1]
    assert report(tmp_path)["findings"][-1]["message"].startswith("Redaction failed with ValueError")
    assert CANARY not in (tmp_path / "report.json").read_text()


def test_listeners_that_fail_change_nothing(tmp_path: Path) -> None:
    def fail(_: object) -> None:
        raise RuntimeError(CANARY)

    watch(tmp_path / "quiet", faulty_session())
    observer = Observer(ObserverSettings(rules_of()), OutputFolder(tmp_path / "loud"), on_finding=fail, log=fail)
    for step in faulty_session():
        observer.observe(step.origin, step.observation)
    observer.finish()
    assert (tmp_path / "loud" / "report.json").read_bytes() == (tmp_path / "quiet" / "report.json").read_bytes()


def test_a_fault_of_our_own_is_recorded_once_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Directory.place

    def sometimes(self: Directory, where: Origin, observation: Observation) -> Any:
        if isinstance(observation, ExchangeEnded):
            raise KeyError(CANARY)
        return place(self, where, observation)

    monkeypatch.setattr(Directory, "place", sometimes)
    logged: list[str] = []
    observer = Observer(ObserverSettings(rules_of()), OutputFolder(tmp_path), log=logged.append)
    for step in faulty_session():
        observer.observe(step.origin, step.observation)
    observer.finish()
    assert logged == ["An ExchangeEnded could not be taken in (KeyError)."]
    assert [one["code"] for one in report(tmp_path)["findings"]].count("observer_error") == 1
    assert {one["response"]["ended"] for told in transcripts(tmp_path).values() for one in told["exchanges"]} == {
        "open"
    }


def test_after_the_end_nothing_is_observed(tmp_path: Path) -> None:
    observer = Observer(ObserverSettings(rules_of()), OutputFolder(tmp_path))
    *steps, last = faulty_session()
    for step in steps:
        observer.observe(step.origin, step.observation)
    observer.finish()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    observer.observe(last.origin, last.observation)
    observer.finish()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_conversations_closed_early_are_still_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, "MAX_CONVERSATIONS", 2)
    steps = in_turn(*[initialize(minted=f"{number:032x}", sse=True) for number in range(5)])
    watch(tmp_path, steps)
    assert len(transcripts(tmp_path)) == 5
    assert_live_is_offline(tmp_path)
    assert "More than 2 conversations" in report(tmp_path)["findings"][-1]["message"]


def test_a_pinned_profile_judges_everything(tmp_path: Path) -> None:
    watch(tmp_path, faulty_session(), profile=PROFILES["stable-2025-06-18"])
    assert {told["profile"] for told in transcripts(tmp_path).values()} == {"stable-2025-06-18"}
    assert_live_is_offline(tmp_path)


# The cases of tests/cases, as if they came by


def case_steps(path: Path, number: int = 1) -> list[Step]:
    """The observations of a case, with strictly increasing times, on an endpoint and a connection of its own."""
    case = json.loads(path.read_text())
    if not isinstance(case.get("transcript"), dict):
        return []
    steps, now = [], 0.0
    for seen in observations(Document(case["transcript"])):
        now = max(now + 0.001, seen.t_ms or 0.0)
        changed: dict[str, Any] = {"exchange": f"{number}:{seen.exchange}", "t_ms": now}
        if isinstance(seen, RequestSeen | ResponseSeen):
            changed["headers"] = Headers(seen.headers.raw)  # the wire knows no header objects
        if isinstance(seen, RequestSeen):
            changed["index"] = None
            if seen.server_side_of is not None:
                changed["server_side_of"] = f"{number}:{seen.server_side_of}"
        steps.append(Step(Origin(f"http://h.example/{number}", f"c-{number}"), replace(seen, **changed)))
    return steps


def comes_by_live(path: Path) -> bool:
    profile = PROFILES.get(str(json.loads(path.read_text()).get("transcript", {}).get("profile")))
    return bool(case_steps(path)) and not (profile is not None and profile.archived)


CASES = [path for path in sorted((Path(__file__).parents[1] / "cases").glob("*.json")) if comes_by_live(path)]


SAID_BY_A_PERSON = {
    # A profile that nothing on the wire names.
    "015": ((), ("profile_undetermined",)),
    "024": ((), ("profile_undetermined",)),
    "042": ((), ("profile_undetermined",)),
    "116": ((), ("profile_undetermined",)),
    "093": (("invalid_batch",), ()),
    # That nothing came before.
    "029": (("initialize_not_first",), ()),
    # That two revisions belong into one transcript.
    "130": (("legacy_fallback_after_modern_error",), ()),
}
"""What a case says that a tap cannot know: codes that are missed live, and codes that say so."""


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_that_comes_by_live_gets_its_verdict(tmp_path: Path, path: Path) -> None:
    watch(tmp_path, case_steps(path))
    assert_live_is_offline(tmp_path)
    told = json.loads(path.read_text())["transcript"]
    told["payloads"] = "shape"
    expected = Counter(one.code for one in validate(Document(told)).findings)
    found = Counter(one["code"] for one in report(tmp_path)["findings"])
    missed, added = SAID_BY_A_PERSON.get(path.name[:3], ((), ()))
    assert (sorted((expected - found).elements()), sorted((found - expected).elements())) == (list(missed), list(added))


@settings(max_examples=30)
@given(data=st.data())
def test_live_is_offline_for_cases_that_come_by_at_once(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.sampled_from(range(len(CASES))), min_size=2, max_size=6, unique=True))
    queues = [case_steps(CASES[number], number) for number in chosen]
    mixed: list[Step] = []
    while any(queues):
        running = [number for number, queue in enumerate(queues) if queue]
        mixed.append(queues[data.draw(st.sampled_from(running))].pop(0))
    folder = tmp_path_factory.mktemp("live")
    watch(folder, Clock().stamp(mixed))
    assert_live_is_offline(folder)
