"""A long run says how far it is, on a terminal and nowhere else."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from mcp_wire.cli import progress
from mcp_wire.cli.main import main
from mcp_wire.cli.progress import Progress
from tests.transcript.test_form_rules import GOOD


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", -1)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with Progress(2) as shown:
        shown.within(0.5)
        shown.within(0.5)
        shown.part_done()
        shown.part_done()
    assert terminal.getvalue() == (
        "\r\x1b[K██████··················  25 %, 0 of 2 transcripts"
        "\r\x1b[K████████████············  50 %, 1 of 2 transcripts"
        "\r\x1b[K████████████████████████ 100 %, 2 of 2 transcripts"
        "\r\x1b[K"
    )


def test_nothing_for_what_is_quick_or_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 3600)
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with Progress(1) as shown:
            shown.within(0.5)
            shown.part_done()
        assert stream.getvalue() == ""
        monkeypatch.setattr(progress, "PATIENCE_S", -1)


def test_validate_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", -1)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    (tmp_path / "t.json").write_text(json.dumps(GOOD))
    assert main(["validate", str(tmp_path / "t.json"), "--output", str(tmp_path / "report.txt")]) == 0
    assert "1 of 1 transcripts" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
