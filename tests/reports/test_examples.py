"""The examples in docs/reports are what the command line writes today."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_wire.cli.main import main
from mcp_wire.reports.forms import FORMS
from scripts.report_examples import DEMONSTRATION, FOLDER, REPOSITORY, stale


def test_no_example_is_stale() -> None:
    assert stale() == [], "run scripts/report_examples.py"


@pytest.mark.parametrize("form", FORMS)
def test_the_command_line_writes_the_same(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    output = tmp_path / FORMS[form].file_name
    assert main(["validate", DEMONSTRATION.as_posix(), "--report", form, "--output", str(output)]) == 1
    assert output.read_bytes() == (REPOSITORY / FOLDER / output.name).read_bytes()
