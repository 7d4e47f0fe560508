"""Real conversations keep their verdict when they are read and written again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.reports.json_report import report_text
from mcp_wire.reports.model import Report
from mcp_wire.rules.transcript_form import BOOK
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.journal import JournalHeader
from mcp_wire.transcript.reading import observations, read_document
from mcp_wire.transcript.writing import transcript_text
from mcp_wire.validation import validate

CASES = Path(__file__).parents[1] / "cases"
OF_DOCUMENTS = {rule.code for rule in BOOK.rules if Document in rule.facts}


def transcripts() -> list[Any]:
    cases = {path.stem: json.loads(path.read_text()) for path in sorted(CASES.glob("*.json"))}
    return [
        pytest.param(json.dumps(case["transcript"]), id=name)
        for name, case in cases.items()
        if case.get("transcript", {}).get("payloads") == "shape"
    ]


@pytest.mark.parametrize("text", transcripts())
def test_a_transcript_keeps_its_verdict_when_it_is_written_again(text: str) -> None:
    document = read_document(text)
    report = validate(document)
    if any(finding.code in OF_DOCUMENTS and finding.party == "pipeline" for finding in report.findings):
        return
    header = JournalHeader(document.profile or "", document.interoperability_tuple, document.complete_from_start)
    again = read_document(transcript_text(header, observations(document)))
    assert comparable(validate(again)) == comparable(report)


def comparable(report: Report) -> str:
    return report_text(replace(report, coverage={}))
