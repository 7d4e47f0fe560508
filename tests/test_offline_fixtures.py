"""The offline set and the evaluations (fixtures/README.md): each file has exactly the verdict that stands beside it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.cli.main import main
from mcp_wire.live.recognition import Recogniser, Verdict, endpoint_of, is_foreign
from mcp_wire.transcript.reading import observations, read_document
from mcp_wire.validation import validate
from mcp_wire.wire.observation import RequestSeen

FOLDER = Path(__file__).parent.parent / "fixtures"
UNREADABLE = {"unreadable", "not-a-number", "infinity", "beyond-a-double", "member-twice"}
LEFT_ALONE = FOLDER / "evaluations" / "should-not-activate.json"

type Json = dict[str, Any]


def transcripts(folder: str) -> list[Path]:
    return sorted(path for path in (FOLDER / folder).glob("*.json") if not path.name.endswith(".expected.json"))


JUDGED = [
    pytest.param(path, id=f"{path.parent.name}/{path.stem}")
    for path in (*transcripts("offline"), *transcripts("evaluations"))
    if path.stem not in UNREADABLE and path != LEFT_ALONE
]


def expected_of(path: Path) -> Json:
    expected: Json = json.loads(path.with_name(f"{path.stem}.expected.json").read_text(encoding="utf-8"))
    return expected


@pytest.mark.parametrize("path", JUDGED)
def test_verdict(path: Path) -> None:
    report = validate(read_document(path.read_bytes()))
    members = ("code", "level", "party", "path", "count")
    found = [{name: getattr(finding, name) for name in members} for finding in report.findings]
    assert found == expected_of(path)["findings"]
    advice = [{"exchange": one.exchange, "action": one.action} for one in report.recovery]
    assert advice == expected_of(path)["recovery"]


@pytest.mark.parametrize("path", JUDGED)
def test_exit_code(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    errors = [finding for finding in expected_of(path)["findings"] if finding["level"] == "error"]
    assert main(["validate", str(path)]) == (1 if errors else 0)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", sorted(UNREADABLE))
def test_unreadable_text_is_no_verdict(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(FOLDER / "offline" / f"{name}.json")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1


def test_the_readme_names_every_file_with_its_verdict() -> None:
    table = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"\| \[`[^`]+`\]\(offline/([^)]+)\.json\) \| ([^|\n]+) \|", table))
    assert sorted(rows) == [path.stem for path in transcripts("offline")]
    for name, verdict in rows.items():
        if name in UNREADABLE:
            assert verdict == "exit 2"
            continue
        codes = {finding["code"] for finding in expected_of(FOLDER / "offline" / f"{name}.json")["findings"]}
        assert codes >= set(re.findall(r"`(\w+)`", verdict))
        assert not codes or verdict != "conforming"


def test_what_is_not_mcp_is_left_alone() -> None:
    """As a live tap sees it: by the head of a request, and by its body where the head does not decide."""
    recogniser = Recogniser()
    recognised = []
    for seen in observations(read_document(LEFT_ALONE.read_bytes())):
        if not isinstance(seen, RequestSeen):
            continue
        verdict = recogniser.head(
            endpoint_of("https", "host.example", 443, seen.path), seen.method, seen.path, seen.headers
        )
        by_body = (
            verdict is Verdict.BODY_DECIDES and recogniser.body(seen.body) and not is_foreign(seen.headers, seen.body)
        )
        if verdict is Verdict.MCP or verdict is Verdict.FIRST_EVENT_DECIDES or by_body:
            recognised.append(seen.exchange)
    assert recognised == expected_of(LEFT_ALONE)["recognised"]
