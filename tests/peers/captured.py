"""The verdicts on captured traffic: what is written beside each capture, and what a new capture has beyond it."""

from __future__ import annotations

import json
from pathlib import Path

from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import read_document
from mcp_wire.validation import validate
from tests.peers.recapture import EXPECTED, FIXTURES, Captured, Json

MEMBERS = ("code", "level", "party", "path", "count")


def transcripts() -> list[Path]:
    return sorted(path for path in FIXTURES.glob("*/*.json") if not path.name.endswith(EXPECTED))


def expected_of(path: Path) -> Json:
    expected: Json = json.loads(path.with_name(path.stem + EXPECTED).read_text(encoding="utf-8"))
    return expected


def verdict_on(document: Json) -> Json:
    """Every error and warning on a transcript."""
    return verdict_of(read_document(json.dumps(document)))


def verdict_of(document: Document) -> Json:
    loud = [finding for finding in validate(document).findings if finding.level != "info"]
    return {"findings": [{name: getattr(finding, name) for name in MEMBERS} for finding in loud]}


def new_findings(captured: Captured) -> set[str]:
    """What a capture has that is not known of its peers: the codes, each with its level and party."""
    known = {_kind(finding) for path in (FIXTURES / captured.path).parent.glob(f"*{EXPECTED}") for finding in _in(path)}
    return {_kind(finding) for finding in verdict_on(captured.document)["findings"]} - known


def _in(path: Path) -> list[Json]:
    findings: list[Json] = json.loads(path.read_text(encoding="utf-8"))["findings"]
    return findings


def _kind(finding: Json) -> str:
    return f"{finding['code']} {finding['level']} {finding['party']}"
