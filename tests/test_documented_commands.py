"""Every command line of `mcp-conformance` in README.md and docs/, as it stands there, does what it is there for."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_wire.cli.main import main
from mcp_wire.live.options import OPTIONS
from tests.captures_read.sessions import firefox_entry, flow_file, flow_of, har, session

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"(?:    |\$ )?(?:\.venv/bin/)?(mcp-conformance .*)")
PLACEHOLDERS = ("…", "<")


def commands(page: Path) -> Iterator[str]:
    """Those on lines of their own, in blocks of code."""
    is_fenced = False
    for line in page.read_text().splitlines():
        is_fenced ^= line.startswith("```")
        found = COMMAND.fullmatch(line)
        if found and (is_fenced or line.startswith("    ")) and not any(mark in line for mark in PLACEHOLDERS):
            yield found[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Has everything in it that the pages name."""
    capture = flow_file(map(flow_of, session()))
    for name in ("capture", "session", "raw"):
        (tmp_path / f"{name}.mitm").write_bytes(capture)
    for name in ("session", "browser"):
        (tmp_path / f"{name}.har").write_bytes(har("Firefox", map(firefox_entry, session())))
    assert (
        main(["convert", str(tmp_path / "session.mitm"), "-o", str(tmp_path / "mcp-conformance" / "transcripts")]) == 0
    )
    [transcript] = (tmp_path / "mcp-conformance" / "transcripts").glob("*-1.json")
    for name in ("transcript", "raw-transcript", "somebody-elses-transcript", "raw"):
        shutil.copy(transcript, tmp_path / f"{name}.json")
    (tmp_path / "docs").mkdir()
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures" / "README.md").write_text("Made by convert.\n")
    (tmp_path / "docs" / "notes.md").write_text("Nothing secret.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if any(commands(page))], ids=lambda page: page.name)
def test_it_runs_as_it_stands(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for block in re.findall(r"```json\n(\{\s*\"decisions\".*?)```", page.read_text(), re.DOTALL):
        (folder / "idempotency.json").write_text(block)
    for line in commands(page):
        _, *words = shlex.split(line, comments=True)
        arguments = [
            name for word in words for name in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
        ]
        assert main(arguments) == 0, (line, capsys.readouterr())


def test_what_convert_says_has_the_form_that_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.findall(r"^fixtures/(?:session|browser)\.stable.*$", (ROOT / "docs" / "captures.md").read_text(), re.M)
    capsys.readouterr()
    assert main(["convert", "session.mitm", "browser.har", "--output", "fixtures/"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [_without_numbers(line) for line in said] == [_without_numbers(line) for line in shown]


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+ (exchange|error|warning|note)s?", r"N \1s", line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_that_is_named_is_one(page: Path) -> None:
    named = set(re.findall(r"--set (mcp_[a-z_]+)", page.read_text()))
    assert named <= OPTIONS.keys()


def test_every_option_is_named_somewhere() -> None:
    text = "".join(page.read_text() for page in PAGES)
    assert [name for name in OPTIONS if f"`{name}" not in text and f"--set {name}" not in text] == []
