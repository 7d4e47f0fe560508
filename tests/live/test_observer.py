from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from mcp_wire.judging.declaration import Evidence
from mcp_wire.live.observer import Observer, ObserverSettings, Reported
from mcp_wire.live.output import OutputFolder
from mcp_wire.rules import rules_of
from mcp_wire.transcript.reading import read_document
from mcp_wire.validation import validate
from mcp_wire.wire.observation import Observation
from tests.live.mcp_traffic import Step, delete, exchange, in_turn, initialize, initialized, tools_list
from tests.live.test_directory import traffic

type Tally = Counter[tuple[str, str, str, int]]


class NoRedaction:
    def feed(self, observation: Observation) -> list[Observation]:
        return [observation]

    def show(self, evidence: Evidence) -> str:
        return f"({evidence.kind})"


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
    report = json.loads((folder / "report.json").read_text())
    assert {f"transcripts/{path.name}" for path in (folder / "transcripts").iterdir()} == {
        one["transcript"] for one in report["conversations"]
    }
    for conversation in report["conversations"]:
        offline = validate(read_document((folder / conversation["transcript"]).read_bytes()))
        found = Counter((one.code, one.level, one.path, one.count) for one in offline.findings)
        assert tally(conversation["findings"]) == found, conversation["transcript"]
        assert [advice["action"] for advice in conversation["recovery"]] == [one.action for one in offline.recovery]


def test_a_session_leaves_a_transcript_that_is_judged_as_the_live_run_judged_it(tmp_path: Path) -> None:
    watch(
        tmp_path,
        in_turn(
            initialize(minted="0123456789abcdef", sse=True),
            initialized(version="2025-11-25", session="0123456789abcdef"),
            tools_list(1, version="2025-11-25", session="0123456789abcdef", sse=True),
            exchange({"jsonrpc": "2.0", "id": 2, "method": "ping"}, version="2025-11-25", session="0123456789abcdef"),
            delete("0123456789abcdef"),
        ),
    )
    assert_live_is_offline(tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["valid"] is False
    assert len(report["conversations"][0]["findings"]) > 0


@given(steps=traffic())
def test_live_is_offline_for_any_interleaving(tmp_path_factory: pytest.TempPathFactory, steps: list[Step]) -> None:
    folder = tmp_path_factory.mktemp("live")
    watch(folder, steps)
    assert_live_is_offline(folder)
