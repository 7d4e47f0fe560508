"""`mcp-conformance validate`: exit codes, where reports go, and one line for every input that cannot be used."""

from __future__ import annotations

import io
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.cli.main import main
from mcp_wire.rules import ALL_RULES
from tests.transcript.test_form_rules import GOOD

ROOT = Path(__file__).parents[2]
MODULE = [sys.executable, "-m", "mcp_wire.cli.main"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "addon")}

BAD = json.loads(json.dumps(GOOD))
BAD["exchanges"][1]["request"]["headers"]["Accept"] = "text/plain"
ODD = json.loads(json.dumps(GOOD))
ODD["exchanges"][0]["response"]["status"] = 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, document in (("good", GOOD), ("bad", BAD)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    return tmp_path


def run(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return code, out, err


def test_a_conforming_transcript_exits_0(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capfd, "validate", folder / "good.json", "--report", "json")
    report = json.loads(out)
    assert (code, err, report["valid"], report["profile"]) == (0, "", True, "stable-2025-11-25")
    assert (report["draft"], report["normative"]) == (False, True)


def test_an_error_exits_1_and_says_where(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capfd, "validate", folder / "bad.json", "--report", "json")
    report = json.loads(out)
    assert (code, err, report["valid"]) == (1, "", False)
    found = [(one["code"], one["path"], one["exchange"]) for one in report["findings"] if one["level"] == "error"]
    assert found == [("invalid_get_accept", "/exchanges/1/request/headers", "listen")]


def test_the_same_input_gives_the_same_bytes(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first = run(capfd, "validate", folder / "bad.json", "--report", "json")
    assert first == run(capfd, "validate", folder / "bad.json", "--report", "json")
    assert first[1] == json.dumps(json.loads(first[1]), sort_keys=True, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"a": NaN}', b"[Infinity]", b"[1e999]", b'{"a": "\xff"}', b'{"a":1,"a":1}', b"[" * 100_000, b"{} x"],
)
@pytest.mark.parametrize("form", ["human", "json"])
def test_what_is_no_strict_json_exits_2_with_one_line_and_no_report(
    content: bytes, form: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.json").write_bytes(content)
    code, out, err = run(capfd, "validate", tmp_path / "t.json", "--report", form)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert str(tmp_path / "t.json") in err


def test_a_report_takes_the_place_of_a_report_and_of_nothing_else(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good, bad, report = folder / "good.json", folder / "bad.json", folder / "report.json"
    journal, baseline = folder / "journal.jsonl", folder / "baseline.json"
    journal.write_text('{"journal":1,"profile":"x","tuple":{},"complete_from_start":false}\n')
    link = folder / "link.json"
    link.symlink_to(good)
    for _ in range(2):
        for transcript in (good, bad):
            run(capfd, "validate", transcript, "--report", "json", "--output", report)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    # What a shell makes of `validate --output *.json`, for one.
    for arguments, output, why in (
        ([bad], good, "is a transcript"),
        ([good], good, "is an input"),
        ([good], link, "is an input"),
        ([good], journal, "is a journal"),
        ([good, "--baseline", baseline, "--update-baseline"], baseline, "is an input"),
    ):
        code, out, err = run(capfd, "validate", *arguments, "--output", output)
        assert (code, out) == (2, "")
        assert err == f"mcp-conformance: {output}: {why}; a report does not replace it\n"
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_what_cannot_be_read_exits_2(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in (tmp_path / "missing.json", tmp_path, "nul\0name", "line\nbreak"):
        code, out, err = run(capfd, "validate", name)
        assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_exits_2(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "good.json").chmod(0)
    code, out, err = run(capfd, "validate", folder / "good.json")
    assert (code, out) == (2, "")
    assert "Permission denied" in err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["validate"],
        ["validate", "{good}", "--report", "xml"],
        ["validate", "{good}", "--fail-on", "info"],
        ["validate", "{good}", "--nonsense"],
        ["validate", "{good}", "--require", "no_such_rule"],
        ["judge", "{good}"],
        ["explain"],
        ["explain", "no_such_rule"],
        ["explain", "--all", "invalid_post_accept"],
    ],
)
def test_a_command_that_makes_no_sense_exits_2_with_one_line(
    arguments: list[str], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capfd, *[argument.format(good=folder / "good.json") for argument in arguments])
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_help_exits_0(capfd: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["validate", "--help"], ["explain", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
    assert "--fail-on" in capfd.readouterr().out


def test_with_several_inputs_the_gravest_decides(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good, bad = folder / "good.json", folder / "bad.json"
    code, out, _ = run(capfd, "validate", good, bad, "--report", "json")
    report = json.loads(out)
    assert (code, report["valid"]) == (1, False)
    assert [one["transcript"] for one in report["conversations"]] == [str(good), str(bad)]
    assert {one["transcript"] for one in report["findings"] if one["level"] == "error"} == {str(bad)}
    assert run(capfd, "validate", good, good)[0] == 0


def test_one_unusable_input_of_several_means_no_report(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capfd, "validate", folder / "bad.json", folder / "missing", folder, "--output", folder / "r")
    assert (code, out, err.count("\n")) == (2, "", 2)
    assert not (folder / "r").exists()


def test_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(BAD).encode())))
    code, out, _ = run(capfd, "validate", "-")
    assert code == 1
    assert out.startswith("standard input: 1 error")


def test_standard_input_that_is_closed_exits_2(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run(capfd, "validate", "-") == (2, "", "mcp-conformance: standard input is closed\n")


def test_fail_on_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    document = json.loads(json.dumps(GOOD))
    document["exchanges"][1]["response"]["chunks"] = ["id: 1\0\ndata:\n\n"]
    (tmp_path / "t.json").write_text(json.dumps(document))
    _, out, _ = run(capfd, "validate", tmp_path / "t.json", "--report", "json")
    levels = {one["level"] for one in json.loads(out)["findings"]}
    assert "warning" in levels and "error" not in levels
    assert run(capfd, "validate", tmp_path / "t.json")[0] == 0
    assert run(capfd, "validate", tmp_path / "t.json", "--fail-on", "warning")[0] == 1


def test_output_is_written_whole_for_its_owner_only(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target = folder / "report.json"
    target.write_text("older")
    code, out, err = run(capfd, "validate", folder / "bad.json", "--report", "json", "--output", target)
    assert (code, out, err) == (1, "", "")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert json.loads(target.read_text())["valid"] is False
    assert sorted(path.name for path in folder.iterdir()) == ["bad.json", "good.json", "report.json"]


def test_output_to_a_pipe_goes_through_it(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    assert run(capfd, "validate", folder / "good.json", "--report", "json", "--output", pipe)[0] == 0
    reader.join()
    assert json.loads(received[0])["valid"] is True
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_output_that_cannot_be_written_exits_2(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for target in (folder, folder / "none" / "report.json"):
        code, out, err = run(capfd, "validate", folder / "bad.json", "--output", target)
        assert (code, out, err.count("\n")) == (2, "", 1)


def test_require_fails_for_a_rule_that_was_never_exercised(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good, bad = folder / "good.json", folder / "bad.json"
    codes = "invalid_get_accept,delete_removed_in_profile"
    code, out, _ = run(
        capfd, "validate", good, "--require", codes, "--require", "invalid_resume_method", "--report", "json"
    )
    report = json.loads(out)
    findings = [one for one in report["findings"] if one["code"] == "required_rule_not_exercised"]
    assert (code, report["valid"], len(findings)) == (1, False, 2)
    assert "delete_removed_in_profile was never exercised: the profile does not have it" in findings[0]["message"]
    assert "invalid_resume_method was never exercised: nothing that it judges was observed" in findings[1]["message"]
    assert run(capfd, "validate", good, "--require", "invalid_get_accept")[0] == 0
    assert run(capfd, "validate", good, bad, "--require", "delete_removed_in_profile")[0] == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--ignore", "invalid_get_accept"], "--ignore leaves it out"),
        (["--select", "invalid_status"], "--select does not name it"),
        (["--select", "invalid_get_accept", "--ignore", "invalid_get_accept"], "--ignore leaves it out"),
        (["--require", "invalid_resume_method"], "nothing that it judges was observed"),
    ],
)
def test_a_required_rule_that_was_left_out_says_so(
    options: list[str], why: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capfd, "validate", folder / "good.json", "--require", "invalid_get_accept", *options)
    assert code == 1
    said = " ".join(out.split())
    assert f"was never exercised: {why}." in said
    assert "fix Have the rule judged: " in said and "(--select, --ignore, --extended)" in said


def test_a_required_rule_of_the_extended_set(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    [extended, *_] = [rule.code for rule in ALL_RULES if rule.rule_set == "extended"]
    _, out, _ = run(capfd, "validate", folder / "good.json", "--require", extended)
    assert "it belongs to the extended set, which was not chosen (--extended chooses it)." in " ".join(out.split())
    _, out, _ = run(capfd, "validate", folder / "good.json", "--require", extended, "--extended")
    assert "extended set" not in out


@pytest.mark.parametrize("option", ["--require", "--select", "--ignore"])
def test_a_code_that_is_misspelt(option: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for typed, hint in (
        ("invalid_get_acept", "did you mean invalid_get_accept?"),
        ("nonsense!", "mcp-conformance explain --all lists them"),
    ):
        told = run(capfd, "validate", folder / "good.json", option, f"invalid_status,{typed}")
        assert told == (2, "", f"mcp-conformance: {option}: {typed} is no rule ({hint})\n")


def started(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*MODULE, *arguments], env=ENVIRONMENT, stderr=subprocess.PIPE, **options)


def test_a_reader_that_leaves_early_gets_no_traceback(folder: Path) -> None:
    many = [str(folder / "bad.json")] * 200
    process = started("validate", *many, "--report", "json", stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 1


def test_a_full_disk_under_standard_output_exits_2(folder: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with Path("/dev/full").open("wb") as full:
        process = started("validate", str(folder / "good.json"), stdout=full)
        _, err = process.communicate()
    assert (process.returncode, err.count(b"\n")) == (2, 1)


def test_an_interrupt_ends_it_without_a_traceback(folder: Path) -> None:
    # A job in the background ignores interrupts, and so would what it starts.
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = started("validate", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    signal.signal(signal.SIGINT, heard)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    # More than a pipe holds: once it is written, the process is reading its input and no longer starting.
    process.stdin.write(b" " * (1 << 20))
    process.stdin.flush()
    process.send_signal(2)
    _, err = process.communicate()
    assert (process.returncode, err) == (130, b"")


def test_colour_only_for_terminals(folder: Path) -> None:
    plain = started("validate", str(folder / "bad.json"), stdout=subprocess.PIPE).communicate()[0]
    assert b"\x1b" not in plain


def test_expectations_beside_fixtures_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(__file__).parent.parent.parent / "fixtures" / "rules" / "invalid_post_accept"
    names = [str(path) for path in sorted(folder.glob("pass-both-types*.json"))]
    assert len(names) == 2
    assert main(["validate", *names]) == 0
    assert "1 files named *.expected.json are no transcripts: left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"1405:9:websocket;0:~", "is a flow file of mitmproxy; make transcripts of it with `mcp-conformance convert`"),
        (b'{"code": "a"}\n{"code": "b"}\n', "holds one finding a line"),
    ],
)
def test_other_files_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, hint: str) -> None:
    file = tmp_path / "input"
    file.write_bytes(content)
    assert main(["validate", str(file)]) == 2
    assert hint in capsys.readouterr().err
