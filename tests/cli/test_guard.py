"""`mcp-conformance guard`: finds what must not be published, tells where, and never what; our own files are clean."""

from __future__ import annotations

import copy
import gzip
import io
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from mcp_wire.cli import guard
from mcp_wire.cli.main import main
from mcp_wire.reports.form_names import FILE_NAMES
from tests.captures_read.sessions import SECRET, Spoken, firefox_entry, flow_file, flow_of, har, session
from tests.cli.test_validate import run
from tests.privacy.planted_secrets import ANYBODYS, BY_SHAPE
from tests.transcript.test_unredacted import CLEAN

ROOT = Path(__file__).parents[2]
EXHIBITS = "fixtures/rules/unredacted_secret/fail-"
"""They hold what the rule finds."""


def published() -> Iterator[Path]:
    """What others get to read besides the code."""
    for folder in ("docs", "fixtures"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and not str(path.relative_to(ROOT)).startswith(EXHIBITS):
                yield path
    yield from sorted(ROOT.glob("*.md"))


def test_our_own_fixtures_and_documents_are_clean(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capfd, "guard", *published())
    assert (code, out, err) == (0, "", ""), 'a transcript that was written by hand says so: "values": "invented"'


def test_the_exhibits_are_found(capfd: pytest.CaptureFixture[str]) -> None:
    exhibits = sorted(path for path in ROOT.glob(f"{EXHIBITS}*.json") if not path.name.endswith(".expected.json"))
    code, out, _ = run(capfd, "guard", *exhibits)
    assert code == 1
    assert all(str(path) in out for path in exhibits)


@pytest.fixture
def raw(tmp_path: Path) -> dict[str, Any]:
    document = copy.deepcopy(CLEAN)
    document["exchanges"][0]["request"]["headers"]["Authorization"] = f"Bearer {ANYBODYS['letters and digits']}"
    document["exchanges"][0]["request"]["body"]["params"]["arguments"] = {"patient": "Alice"}
    return document


def test_a_raw_transcript_is_told_place_by_place(
    raw: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "raw.json"
    file.write_text(json.dumps(raw))
    code, out, err = run(capfd, "guard", file)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        f"{file}: /exchanges/0/request/headers/Authorization: bearer token",
        f"{file}: /exchanges/0/request/body/params/arguments/name-1: name that is not on the allow-lists",
        f"{file}: /exchanges/0/request/body/params/arguments/name-1: text that is not on the allow-lists",
        f"1 file of 1 not fit to be published. {guard.WHAT_TO_DO}",
    ]


def test_a_text_is_told_line_by_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    [token] = BY_SHAPE["npm token"]
    log, notes = tmp_path / "proxy.log", tmp_path / "notes.md"
    log.write_text(f"GET /mcp\nAuthorization: Bearer {ANYBODYS['UUID']}\n{token} {token}\n")
    notes.write_text("Nothing here.\n")
    code, out, err = run(capfd, "guard", notes, log)
    assert (code, err) == (1, "")
    assert out.splitlines()[:-1] == [f"{log}: line 2: bearer token", f"{log}: line 3: npm token"]
    assert out.splitlines()[-1].startswith("1 file of 2 ")


def test_the_line_is_the_right_one_behind_any_number_of_escapes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    [token] = BY_SHAPE["npm token"]
    escaped = token[:4] + f"\\u{ord(token[4]):04x}" + token[5:]
    lines = ['"\\"a\\"%20\\u0041\\n"'] * 50 + [f'"{token}"', '"%41\\t"', f'"{escaped}"', "", f"%5Cu0041 {token}"]
    file = tmp_path / "session.har"
    file.write_text("\n".join(lines))
    code, out, _ = run(capfd, "guard", file)
    assert code == 1
    assert out.splitlines()[:-1] == [f"{file}: line {number}: npm token" for number in (51, 53, 55)]


@pytest.mark.parametrize("name", ["session.har", "flows.mitm", "report.html", "case.json", "broken.json", "list.json"])
def test_any_other_file_is_a_text(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    [token] = BY_SHAPE["npm token"]
    headers = [{"name": "Authorization", "value": f"Bearer {token}"}]
    texts: dict[str, str] = {
        "session.har": json.dumps({"log": {"entries": [{"request": {"headers": headers}}]}}),
        "flows.mitm": f"1700:7:request;600:7:headers;5:{token}\0\udcff",
        "report.html": f"<p>{token}</p>",
        "case.json": json.dumps({"transcript": CLEAN | {"note": token}}),
        "broken.json": '{"exchanges": [NaN, "' + token + '"]}',
        "list.json": json.dumps([{"exchanges": [token]}]),
    }
    file = tmp_path / name
    file.write_bytes(texts[name].encode(errors="surrogateescape"))
    code, out, _ = run(capfd, "guard", file)
    assert code == 1
    assert f"{file}: line 1: npm token" in out.splitlines()
    assert token not in out


def clean_session() -> Iterator[Spoken]:
    """Nothing that shows itself; whose it is, and what he asked for, is there all the same."""
    for spoken in session():
        body = json.loads(json.dumps(spoken.request).replace(SECRET, "DE89 3704 0044 0532 0130 00"))
        headers = {name: value for name, value in spoken.headers.items() if name != "Authorization"}
        yield replace(
            spoken, request=body, response=spoken.response.replace(SECRET, "Alice"), path="/mcp", headers=headers
        )


@pytest.mark.parametrize("kind", ["flow file", "HAR file"])
@pytest.mark.parametrize("name", ["session", "-"])
def test_a_raw_capture_is_never_fit(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    flows, entries = map(flow_of, clean_session()), map(firefox_entry, clean_session())
    data = flow_file(flows) if kind == "flow file" else har("Firefox", entries)
    file = tmp_path / name
    if name == "-":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    else:
        file.write_bytes(data)
    code, out, err = run(capfd, "guard", "-" if name == "-" else file)
    shown = "standard input" if name == "-" else file
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        f"{shown}: raw capture ({kind}): make transcripts of it with `mcp-conformance convert`, and publish those",
        f"1 file of 1 not fit to be published. {guard.WHAT_TO_DO}",
    ]


@pytest.mark.parametrize(
    "text",
    ['{"log": {"level": "debug"}}', '{"log": {"entries": []}}', "12:00:01 GET /mcp\n", "10:30: begun\n", "3:abc\n"],
)
def test_what_only_begins_like_a_capture(text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "log"
    file.write_text(text)
    assert run(capfd, "guard", file) == (0, "", "")


def test_what_is_compressed_is_said_to_be(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "session.har.gz"
    file.write_bytes(gzip.compress(har("Firefox", map(firefox_entry, session()))))
    assert run(capfd, "guard", file) == (0, "", f"mcp-conformance: {file}: is compressed, and was not looked into\n")


def test_a_har_of_our_own_is_held_against_redaction(
    raw: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, report = tmp_path / "raw.json", tmp_path / "report.har"
    file.write_text(json.dumps(raw))
    main(["validate", str(file), "--report", "har", "--output", str(report)])
    capfd.readouterr()
    assert run(capfd, "guard", report) == (0, "", "")
    changed = json.loads(report.read_text())
    content = changed["log"]["entries"][0]["request"]["postData"]
    content["text"] = content["text"].replace("redacted-", "Alice")
    report.write_text(json.dumps(changed))
    code, out, _ = run(capfd, "guard", report)
    assert code == 1
    assert out.startswith(f"{report}: entry 1, at byte ")
    assert out.splitlines()[0].endswith(": entry that redaction changes")
    changed["log"]["creator"]["name"] = "Firefox"
    report.write_text(json.dumps(changed))
    assert run(capfd, "guard", report)[1].startswith(f"{report}: raw capture (HAR file): ")
    changed["log"]["creator"]["name"] = "mcp-conformance"
    changed["log"]["entries"][0] = {"request": 1}
    report.write_text(json.dumps(changed))
    assert "entry that cannot be read" in run(capfd, "guard", report)[1].splitlines()[0]


def test_a_folder_is_all_files_below_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    secret = BY_SHAPE["npm token"][0]
    folder, elsewhere = tmp_path / "clean", tmp_path / "elsewhere"
    for path in ("b.txt", "a/c.txt", "a.txt", ".hidden/d.txt", ".git/e.txt", "a/.git/f.txt"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(secret)
    elsewhere.mkdir()
    (elsewhere / "g.txt").write_text(secret)
    (folder / "link").symlink_to(elsewhere)
    (folder / "link.txt").symlink_to(elsewhere / "g.txt")
    os.mkfifo(folder / "pipe")
    code, out, err = run(capfd, "guard", folder)
    assert (code, err) == (1, "")
    places = [f"{folder}/{name}: line 1: npm token" for name in ("a.txt", "b.txt", ".hidden/d.txt", "a/c.txt")]
    assert out.splitlines() == [*places, f"4 files of 4 not fit to be published. {guard.WHAT_TO_DO}"]


def test_what_convert_made_is_clean_as_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    capture, clean = tmp_path / "raw.mitm", tmp_path / "clean"
    capture.write_bytes(flow_file(map(flow_of, session())))
    assert run(capfd, "convert", capture, "--output", clean)[0] == 0
    assert run(capfd, "guard", clean) == (0, "", "")
    (tmp_path / "empty").mkdir()
    told = f"mcp-conformance: {tmp_path / 'empty'}: there is no file in it\n"
    assert run(capfd, "guard", clean, tmp_path / "empty") == (0, "", told)


def test_a_journal_is_told_line_by_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    header = {"journal": 1, "profile": "stable-2025-11-25", "tuple": {}, "complete_from_start": True}
    seen = {
        "seen": "request",
        "exchange": "x-1",
        "method": "GET",
        "path": "/mcp",
        "headers": {"Cookie": "name-1=redacted-1"},
    }
    raw = seen | {"exchange": "x-2", "headers": {"Cookie": "user=alice"}}
    file = tmp_path / "journal.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in (header, seen)))
    assert run(capfd, "guard", file) == (0, "", "")
    file.write_text("".join(f"{json.dumps(line)}\n" for line in (header, seen, raw)))
    code, out, _ = run(capfd, "guard", file)
    assert (code, out.splitlines()[0]) == (1, f"{file}: line 3: record that redaction changes")


def test_standard_input(
    raw: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for document, expected in ((raw, 1), (CLEAN, 0)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(document).encode())))
        code, out, err = run(capfd, "guard", "-")
        assert (code, err) == (expected, "")
        assert out.startswith("standard input: /exchanges/0/request/headers/Authorization: bearer token\n") == (
            code == 1
        )


def test_a_file_that_cannot_be_read_exits_2(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(BY_SHAPE["npm token"][0])
    code, out, err = run(capfd, "guard", secret, tmp_path / "nowhere", "nul\0name")
    assert code == 2
    assert out.startswith(f"{secret}: line 1: npm token\n")
    assert [line.rpartition(": ")[2] for line in err.splitlines()] == ["No such file or directory", "ValueError"]
    assert run(capfd, "guard")[0] == 2


def test_more_places_than_anybody_reads(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MAX_PLACES_TOLD", 3)
    file = tmp_path / "log.txt"
    file.write_text(f"{BY_SHAPE['npm token'][0]}\n" * 9)
    _, out, _ = run(capfd, "guard", file)
    assert out.splitlines()[2:4] == [f"{file}: line 3: npm token", f"{file}: there is more"]


CANARY = "qX7fKz02LmWv9RbTc5JdYs8P"


def test_what_stands_there_is_never_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever holds the canary, names of members, headers and files' own members included."""
    document = json.loads(
        json.dumps(CLEAN).replace("redacted-", CANARY).replace("name-", CANARY).replace("x-1", CANARY)
    )
    document[CANARY] = {CANARY: CANARY}
    document["exchanges"][0]["request"]["headers"][f"X-{CANARY}"] = CANARY
    document["exchanges"][0][CANARY] = {"password": BY_SHAPE["npm token"][0]}
    file = tmp_path / "raw.json"
    for values in ({}, {"values": "invented"}):
        file.write_text(json.dumps(document | values))
        code, out, err = run(capfd, "guard", file)
        assert code == 1
        assert CANARY[:6].lower() not in (out + err).lower()
    # Ids of exchanges are the author's own words in a report.
    document["exchanges"][0]["id"] = "x-1"
    file.write_text(json.dumps(document))
    code, out, err = run(capfd, "validate", file)
    assert "unredacted_secret" in out
    assert CANARY[:6].lower() not in (out + err).lower()


@pytest.mark.parametrize("form", FILE_NAMES)
def test_our_own_reports_are_clean(
    form: str, raw: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, report = tmp_path / "raw.json", tmp_path / "report"
    file.write_text(json.dumps(raw))
    main(["validate", str(file), "--report", form, "--output", str(report)])
    capfd.readouterr()
    assert run(capfd, "guard", report) == (0, "", "")


@pytest.mark.parametrize("command", [["redact"], ["resplit", "--bytewise"], ["resplit", "--seed", "7"]])
def test_our_own_copies_are_clean(
    command: list[str], raw: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, made = tmp_path / "raw.json", tmp_path / "made.json"
    file.write_text(json.dumps(raw))
    assert main([*command, str(file), "--output", str(made)]) == 0
    capfd.readouterr()
    assert run(capfd, "guard", made) == (0, "", "")


def test_the_hook_runs_this_command() -> None:
    [hook] = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["id"], hook["language"], hook["entry"]) == ("mcp-conformance-guard", "python", "mcp-conformance guard")
    assert {"name", "description"} <= hook.keys()
    # By its beginning, pre-commit takes many a flow file for binary.
    assert (hook["types"], hook["require_serial"]) == (["file"], True)
    scripts = subprocess.run(
        ["grep", "-c", '^mcp-conformance = "mcp_wire.cli.main:main"$', str(ROOT / "pyproject.toml")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert scripts.stdout.strip() == "1"
