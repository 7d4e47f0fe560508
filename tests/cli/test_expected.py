"""`validate --expected`: a transcript and what is expected of it are a regression test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.expectations import ExpectationError, differences, expected_text, read_expectation
from mcp_wire.judging.finding import Finding
from mcp_wire.judging.recovery import Advice
from mcp_wire.reports.model import Report
from mcp_wire.rules import rules_of
from mcp_wire.transcript.document import Document
from mcp_wire.validation import validate
from tests.cli.test_validate import BAD, run
from tests.peers.processes import REPOSITORY
from tests.rules.streams import calling
from tests.rules.talk import legacy, stream
from tests.transcript.test_form_rules import GOOD

CUT = legacy().ask("tools/call", calling(name="sum"), answer=stream(ended="server_closed"), at=0, until=10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three transcripts with what is found in them."""
    for name, document in (("good", GOOD), ("bad", BAD), ("cut", CUT.document())):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        (tmp_path / f"{name}.expected.json").write_text(expected_text(validate(Document(document))))
    return tmp_path


def change(folder: Path, name: str, **members: Any) -> None:
    path = folder / f"{name}.expected.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | members))


def test_what_is_expected_passes_whatever_it_is(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = "3 transcripts: what is found is what is expected.\n"
    assert run(capfd, "validate", "--expected", *folder.glob("*.json")) == (0, said, "")
    assert run(capfd, "validate", folder / "bad.json")[0] == 1
    said = "1 transcript: what is found is what is expected.\n"
    assert run(capfd, "validate", folder / "bad.json", "--expected", "--redact-names") == (0, said, "")


def test_each_difference_is_a_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    [finding] = json.loads((folder / "bad.expected.json").read_text())["findings"]
    assert (finding["code"], finding["count"]) == ("invalid_get_accept", 1)
    place = f"invalid_get_accept at {finding['path']}"
    for changed, line in (
        ([], f"unexpected: error {place}"),
        ([finding | {"count": 2}], f"error {place}; expected: 2 times"),
        ([finding | {"level": "warning"}], f"error {place}; expected: warning"),
        ([finding | {"level": "info", "count": 3}], f"error {place}; expected: info 3 times"),
        ([finding, finding], f"missing: error {place}"),
    ):
        change(folder, "bad", findings=changed)
        told = run(capfd, "validate", "--expected", folder / "good.json", folder / "bad.json")
        assert told == (1, f"{folder}/bad.json: {line}\n", "")
    change(folder, "bad", findings=[finding | {"path": "/exchanges/7"}])
    _, out, _ = run(capfd, "validate", "--expected", folder / "bad.json")
    assert out.splitlines() == [
        f"{folder}/bad.json: unexpected: error {place}",
        f"{folder}/bad.json: missing: error invalid_get_accept at /exchanges/7",
    ]


def test_recovery_is_compared_where_the_file_speaks_of_it(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    [advice] = json.loads((folder / "cut.expected.json").read_text())["recovery"]
    assert advice == {"exchange": "x-0", "action": "do-not-replay"}
    for changed, lines in (
        ([], ["unexpected: advice for exchange x-0: do-not-replay"]),
        (
            [{"exchange": "x-0", "action": "resume-with-get"}, {"exchange": "x-2", "action": "do-not-replay"}],
            [
                "advice for exchange x-0: do-not-replay; expected: resume-with-get",
                "missing: advice for exchange x-2: do-not-replay",
            ],
        ),
        (None, []),
    ):
        change(folder, "cut", recovery=changed)
        code, out, _ = run(capfd, "validate", "--expected", folder / "cut.json")
        told = [line.removeprefix(f"{folder}/cut.json: ") for line in out.splitlines()]
        assert (code, told) == ((1, lines) if lines else (0, ["1 transcript: what is found is what is expected."]))


def test_findings_below_the_level_of_show_do_not_count(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    change(folder, "good", findings=[{"code": "profile_superseded", "level": "info", "path": "/", "count": 1}])
    assert run(capfd, "validate", "--expected", folder / "good.json")[0] == 1
    assert run(capfd, "validate", "--expected", "--show", "warning", folder / "good.json")[0] == 0


def test_the_rule_set_is_that_of_the_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    document = json.loads((REPOSITORY / "fixtures/rules/tool_name_invalid/fail-space.json").read_text())
    (tmp_path / "t.json").write_text(json.dumps(document))
    report = validate(Document(document), rules_of(extended=True))
    (tmp_path / "t.expected.json").write_text(expected_text(report, extended=True))
    assert run(capfd, "validate", "--expected", tmp_path / "t.json")[0] == 0
    (tmp_path / "t.expected.json").write_text(expected_text(report))
    code, out, _ = run(capfd, "validate", "--expected", tmp_path / "t.json")
    assert code == 1 and "missing: warning tool_name_invalid at " in out
    assert run(capfd, "validate", "--expected", "--extended", tmp_path / "t.json")[0] == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "cannot be read: No such file or directory"),
        ("", "is empty; a file of expectations is one JSON object"),
        ("{,}", "line 1, column 2: is not JSON here; repair the file of expectations or write it again"),
        ("[]", "has no list `findings`"),
        ('{"recognised": []}', "has no list `findings`"),
        ('{"findings": [3]}', "findings/0 has to be an object with code, level, path and count"),
        (
            '{"findings": [{"code": "a", "level": "fatal", "path": "/", "count": 1}]}',
            "findings/0 has to be an object with code, level, path and count",
        ),
        (
            '{"findings": [{"code": "a", "level": "info", "path": "/", "count": true}]}',
            "findings/0 has to be an object with code, level, path and count",
        ),
        ('{"findings": [], "recovery": {}}', "has a `recovery` that is no list"),
        ('{"findings": [], "recovery": [1]}', "recovery/0 has to be an object with exchange and action"),
        ('{"findings": [], "extended": 1}', "has an `extended` that is neither true nor false"),
    ],
)
def test_what_expects_nothing_exits_2(
    text: str | None, why: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    expected = folder / "good.expected.json"
    if text is None:
        expected.unlink()
    else:
        expected.write_text(text)
    change(folder, "bad", findings=[])
    told = run(capfd, "validate", "--expected", folder / "bad.json", folder / "good.json")
    assert told == (2, "", f"mcp-conformance: {expected}: {why}\n")
    if text is not None:
        with pytest.raises(ExpectationError):
            read_expectation(text)


def test_what_is_no_transcript_exits_2(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "good.json").write_text("{")
    code, out, err = run(capfd, "validate", "--expected", folder / "good.json", folder / "bad.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    told = run(capfd, "validate", "--expected", "-")
    assert told == (2, "", "mcp-conformance: --expected takes files, not standard input\n")


@pytest.mark.parametrize(
    "options",
    [
        ["--report", "json"],
        ["--fail-on", "warning"],
        ["--output", "report.txt"],
        ["--select", "invalid_status"],
        ["--ignore", "invalid_status"],
        ["--require", "invalid_status"],
        ["--baseline", "baseline.json"],
        ["--update-baseline"],
        ["--idempotency", "decisions.json"],
    ],
)
def test_options_that_do_not_go_with_it(options: list[str], folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = run(capfd, "validate", "--expected", folder / "good.json", *options)
    assert told == (2, "", f"mcp-conformance: --expected does not go with {options[0]}\n")


def test_what_was_not_kept_is_a_difference() -> None:
    report = Report("stable-2025-11-25", (), findings_dropped=2)
    nothing = read_expectation('{"findings": []}')
    assert list(differences(nothing, report)) == ["2 further findings cannot be compared: they were not kept"]


def test_a_line_holds_nothing_that_plays_with_its_reader() -> None:
    bell = "/a\x1b[2J"
    written = {"code": bell, "level": "info", "path": bell, "count": 1}
    advice = {"exchange": bell, "action": bell}
    expected = read_expectation(json.dumps({"findings": [written], "recovery": [advice]}))
    lines = list(differences(expected, Report(None, ())))
    assert len(lines) == 2 and all(line.isprintable() for line in lines)


def test_what_is_written_is_what_is_read() -> None:
    finding = Finding("invalid_status", "error", "server", "response_framing", "/exchanges/0", "", None, None, "")
    report = Report("p", (finding, finding), (Advice("x-1", "/exchanges/1", "do-not-replay", ""),))
    for extended in (True, False):
        read = read_expectation(expected_text(report, extended=extended))
        assert (read.extended, list(differences(read, report))) == (extended, [])


def test_the_fixtures_of_this_project(capfd: pytest.CaptureFixture[str]) -> None:
    """Those of the rules list no notes but those that they are about."""
    fixtures = REPOSITORY / "fixtures"
    transcripts = sorted(path for folder in ("rules", "captured") for path in (fixtures / folder).glob("*/*.json"))
    code, out, err = run(capfd, "validate", "--expected", "--show", "warning", *transcripts)
    assert (code, err) == (0, ""), out
