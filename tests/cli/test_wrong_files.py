"""Files given to the wrong command: one line says what they are, and which command takes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_wire.captures.kinds import hint
from mcp_wire.cli.main import main
from mcp_wire.reports.form_names import FILE_NAMES
from tests.captures_read.sessions import chrome_entry, flow_file, flow_of, har, session
from tests.cli.test_validate import run
from tests.transcript.test_unredacted import CLEAN

HEADER = {"journal": 1, "profile": "stable-2025-11-25", "tuple": {}, "complete_from_start": True}
END = {"exchange": "x-1", "seen": "end"}
FINDING = {"code": "a", "level": "error"}
CONVERT = "make transcripts of it with `mcp-conformance convert`"

FILES = {
    "plain.mitm": (flow_file([flow_of(session()[0])]), f"is a flow file of mitmproxy; {CONVERT}"),
    "chrome.har": (har("WebInspector", map(chrome_entry, session())), f"is a HAR file; {CONVERT}"),
    "journal.jsonl": (
        f"{json.dumps(HEADER)}\n{json.dumps(END)}\n".encode(),
        "is a journal; make a transcript of it with `mcp-conformance redact`",
    ),
    "findings.jsonl": (
        f"{json.dumps(FINDING)}\n{json.dumps(FINDING)}\n".encode(),
        "holds one finding a line, as findings.jsonl does; take the files in transcripts/ instead",
    ),
    "x.expected.json": (
        b'{"findings": [], "recovery": []}',
        "holds what is expected of a transcript; take the transcript beside it",
    ),
    "baseline.json": (b'{"accepted": []}', "is a baseline, not a transcript; `validate --baseline` takes it"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", [["validate"], ["resplit", "--bytewise"], ["redact", "--output", "out.json"]])
def test_where_a_transcript_is_wanted(
    command: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    content, told = FILES[name]
    Path(name).write_bytes(content)
    if command[0] == "redact" and name.endswith((".mitm", ".har", "journal.jsonl")):
        assert run(capfd, *command, name)[0] in (0, 1)
        return
    code, _, err = run(capfd, *command, name)
    assert err == f"mcp-conformance: {name}: {told}\n"
    # A document that can be read is judged, whatever it is: `invalid_exchange` and the like are findings.
    assert code == (1 if command == ["validate"] and name in ("chrome.har", "x.expected.json", "baseline.json") else 2)


@pytest.mark.parametrize("form", ["json", "jsonl", "sarif"])
@pytest.mark.parametrize("transcripts", [1, 2])
def test_reports_are_known(
    form: str, transcripts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert form in FILE_NAMES
    monkeypatch.chdir(tmp_path)
    broken = CLEAN | {"profile": "nothing-known"}
    names = [f"{number}.json" for number in range(transcripts)]
    for name in names:
        Path(name).write_text(json.dumps(broken))
    main(["validate", *names, "--report", form, "--output", "report"])
    capfd.readouterr()
    _, _, err = run(capfd, "validate", "report")
    what = "holds one finding a line" if form == "jsonl" else "is a report, not a transcript"
    assert err.startswith(f"mcp-conformance: report: {what}") and err.count("\n") == 1


@pytest.mark.parametrize("text", ["12:00:01 GET /mcp\n", "10:30: begun\n", "5:11:error, of no kind\n", "{", "", "{}\n"])
def test_what_is_none_of_them_is_not_guessed_at(text: str) -> None:
    assert hint(text.encode()) is None


def test_a_folder_is_told_how_to_name_its_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = f"mcp-conformance: {tmp_path}: is a folder; name the files in it"
    for command in (["validate"], ["resplit", "--lines"]):
        assert run(capfd, *command, tmp_path) == (2, "", f"{told}, such as {tmp_path}/*.json\n")
    (tmp_path / "transcripts").mkdir()
    assert run(capfd, "validate", tmp_path) == (2, "", f"{told}, such as {tmp_path}/transcripts/*.json\n")
    for command in (["convert"], ["redact"]):
        assert run(capfd, *command, tmp_path, "--output", tmp_path / "out") == (2, "", f"{told}\n")
