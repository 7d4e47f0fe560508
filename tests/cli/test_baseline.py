"""Baselines and the choice of rules: what counts, what is shown, and that a stale entry is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.baseline import UNEXPLAINED
from tests.cli.test_validate import BAD, run
from tests.transcript.test_form_rules import GOOD

WARNS = json.loads(json.dumps(GOOD))
WARNS["exchanges"][0]["response"]["status"] = 200


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, document in (("good", GOOD), ("bad", BAD), ("also-bad", BAD)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def accept(folder: Path, **members: Any) -> None:
    entry = {"code": "invalid_get_accept", "scope": "bad.json", "reason": "known upstream"} | members
    (folder / "baseline.json").write_text(json.dumps({"accepted": [entry]}))


def validated(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code, out, err = run(capfd, "validate", *arguments, "--report", "json")
    assert err == ""
    report = json.loads(out)
    assert isinstance(report, dict)
    return code, report


def test_an_accepted_finding_does_not_fail_the_run_and_is_told(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    accept(folder, date="2026-09-01")
    code, report = validated(capfd, "bad.json", "--baseline", "baseline.json")
    assert (code, report["valid"]) == (0, True)
    assert [one["code"] for one in report["findings"] if one["level"] == "error"] == []
    [accepted] = report["accepted"]
    assert (accepted["code"], accepted["reason"], accepted["date"]) == (
        "invalid_get_accept",
        "known upstream",
        "2026-09-01",
    )
    assert report["coverage"]["invalid_get_accept"]["outcome"] == "violated"


@pytest.mark.parametrize(
    ("scope", "accepts"),
    [
        ("*", True),
        ("*.json", True),
        ("bad.json", True),
        ("b?d.json#/exchanges/1/request/*", True),
        ("bad.json#/exchanges/*/request/headers", True),
        ("bad.json#/exchanges/0/*", False),
        ("worse.json", False),
        ("ad.json", False),
    ],
)
def test_a_scope_names_transcripts_and_perhaps_places(
    scope: str, accepts: bool, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    accept(folder, scope=scope)
    code, report = validated(capfd, "bad.json", "--baseline", "baseline.json")
    assert (code, "accepted" in report) == ((0, True) if accepts else (1, False))


def test_an_entry_for_one_transcript_lets_no_other_pass(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    accept(folder)
    code, report = validated(capfd, "bad.json", "also-bad.json", "--baseline", "baseline.json")
    assert code == 1
    assert [one["transcript"] for one in report["findings"] if one["level"] == "error"] == ["also-bad.json"]


def test_a_stale_entry_is_a_finding_of_its_own(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    accept(folder, scope="good.json")
    code, report = validated(capfd, "good.json", "--baseline", "baseline.json")
    [stale] = report["findings"]
    assert (code, stale["code"], stale["level"], stale["party"]) == (0, "stale_baseline_entry", "warning", "pipeline")
    assert stale["path"] == "/accepted/0"
    assert stale["message"] == (
        "The baseline accepts invalid_get_accept in good.json, where it was not found any more."
    )
    assert validated(capfd, "good.json", "--baseline", "baseline.json", "--fail-on", "warning")[0] == 1


@pytest.mark.parametrize("further", [["--ignore", "invalid_get_accept"], ["--select", "invalid_post_accept"]])
def test_an_entry_whose_rule_was_not_run_is_not_stale(
    further: list[str], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    accept(folder)
    assert validated(capfd, "bad.json", "--baseline", "baseline.json", *further)[1]["findings"] == []


def test_an_entry_whose_transcript_was_not_validated_is_not_stale(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    accept(folder)
    assert validated(capfd, "good.json", "--baseline", "baseline.json")[1]["findings"] == []


def test_updating_accepts_what_is_there_and_drops_what_is_gone(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, _ = validated(capfd, "bad.json", "also-bad.json", "--baseline", "b.json", "--update-baseline")
    made = json.loads((folder / "b.json").read_text())["accepted"]
    assert code == 0
    assert made == [
        {"code": "invalid_get_accept", "scope": name, "reason": UNEXPLAINED} for name in ("bad.json", "also-bad.json")
    ]
    made[0]["reason"] = "known upstream"
    (folder / "b.json").write_text(json.dumps({"accepted": made}))
    (folder / "also-bad.json").write_text(json.dumps(GOOD))
    code, report = validated(capfd, "also-bad.json", "--baseline", "b.json", "--update-baseline")
    assert (code, report["findings"]) == (0, [])
    assert json.loads((folder / "b.json").read_text())["accepted"] == made[:1]
    assert validated(capfd, "bad.json", "also-bad.json", "--baseline", "b.json")[0] == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "no object with a list"),
        ("{", "line 1, column 2: is not JSON here; repair the baseline or write it again"),
        ('{"accepted": [3]}', "accepted/0 is no object"),
        ('{"accepted": [{"code": "invalid_get_accept", "scope": "*"}]}', "accepted/0 has no reason"),
        ('{"accepted": [{"code": "invalid_get_accept", "scope": "*", "reason": " "}]}', "accepted/0 has no reason"),
        ('{"accepted": [{"code": "nope", "scope": "*", "reason": "r"}]}', "names nope, which is no rule"),
        ('{"accepted": [{"code": "invalid_get_accept", "scope": "*", "reason": "r", "x\\u202e": 1}]}', "x\\u202e"),
        ('{"accepted": [{"code": "invalid_get_accept", "scope": "*", "reason": "r", "date": "soon"}]}', "YYYY-MM-DD"),
    ],
)
def test_what_is_no_baseline_exits_2_with_one_line(
    content: str, said: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "b.json").write_text(content)
    code, out, err = run(capfd, "validate", "bad.json", "--baseline", "b.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    (folder / "b.json").write_text(content)
    assert run(capfd, "validate", "bad.json", "--baseline", "b.json", "--update-baseline")[0] == 2
    assert (folder / "b.json").read_text() == content


@pytest.mark.parametrize(
    "arguments",
    [
        ["--update-baseline"],
        ["--baseline", "missing.json"],
        ["--baseline", "-"],
        ["--select", "nope"],
        ["--ignore", "x"],
    ],
)
def test_options_that_make_no_sense_exit_2(
    arguments: list[str], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capfd, "validate", "bad.json", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_select_and_ignore_choose_the_rules(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, report = validated(capfd, "bad.json", "--select", "invalid_get_accept,invalid_post_accept")
    assert (code, set(report["coverage"])) == (1, {"invalid_get_accept", "invalid_post_accept"})
    code, report = validated(capfd, "bad.json", "--ignore", "invalid_get_accept")
    assert (code, report["valid"], "invalid_get_accept" in report["coverage"]) == (0, True, False)
    code, report = validated(capfd, "bad.json", "--select", "invalid_get_accept", "--ignore", "invalid_get_accept")
    assert (code, report["coverage"]) == (0, {})


def test_what_is_shown_says_nothing_about_the_exit_code(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "warns.json").write_text(json.dumps(WARNS | {"profile": "draft-2026-07-28"}))
    code, everything = validated(capfd, "warns.json", "--fail-on", "warning")
    levels = [one["level"] for one in everything["findings"]]
    lower = sum(level != "error" for level in levels)
    assert code == 1 and lower > 0
    shown_code, errors = validated(capfd, "warns.json", "--fail-on", "warning", "--show", "error")
    assert (shown_code, errors["findings_hidden"]) == (1, lower)
    assert [one["level"] for one in errors["findings"]] == [level for level in levels if level == "error"]
    _, text, _ = run(capfd, "validate", "warns.json", "--show", "error")
    assert f"{lower} finding" in text and "of a lower level not shown" in text
