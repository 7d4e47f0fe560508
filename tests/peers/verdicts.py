"""Live and offline verdicts of one run, and their comparison."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.peers.proxy import TOOLS

Verdict = list[tuple[str, str, str, int]]


def verdict_of(report: dict[str, Any]) -> Verdict:
    """What must be the same live and offline: code, level, path and count of every finding."""
    return sorted((f["code"], f["level"], f["path"], f["count"]) for f in report["findings"])


def validate(transcript: Path) -> dict[str, Any]:
    """The report of `mcp-conformance validate` on one transcript; its exit code must agree with it."""
    command: list[str | Path] = [TOOLS / "mcp-conformance", "validate", "--report", "json", transcript]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    assert isinstance(report, dict)
    assert done.returncode == (0 if report["valid"] else 1)
    return report


def assert_offline_equals_live(output: Path) -> dict[str, list[Verdict]]:
    """Validates every transcript in an output folder against its live report; returns the verdicts by profile."""
    live = json.loads((output / "report.json").read_text())
    reports = {report["transcript"]: report for report in live["conversations"]}
    transcripts = {f"transcripts/{file.name}": file for file in (output / "transcripts").iterdir()}
    assert sorted(reports) == sorted(transcripts)
    unplaced = [finding for finding in live["findings"] if "transcript" not in finding]
    assert unplaced == [], "the observer itself had something to report"

    verdicts: dict[str, list[Verdict]] = {}
    for name, report in reports.items():
        assert verdict_of(validate(transcripts[name])) == verdict_of(report), name
        verdicts.setdefault(report["profile"], []).append(verdict_of(report))
    announced = [json.loads(line) for line in (output / "findings.jsonl").read_text().splitlines()]
    assert {f["code"] for f in announced} == {f["code"] for f in live["findings"]}
    return verdicts
