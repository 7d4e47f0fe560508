"""Faults, and what was taken for faults, that people have reported of real systems: each tried as a small transcript.

`tests/data/field_reports.json` has a row for each: what happened, told as in `telling.py`, and what is said of it.
`expect` lists every finding of level error and warning as `code level party exchange`, with ` ×N` where it is found
N times; `notes` lists findings of level info that must be there; `extended` what the extended set says besides. `trap`
marks what a careless judge would complain of. `why` says why the verdict is not the one that the reporter expected.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.judging.declaration import Rule
from mcp_wire.judging.finding import Finding
from mcp_wire.judging.judge import Judge
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.rules import rules_of
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import observations, read_document
from mcp_wire.validation import validate
from mcp_wire.wire.observation import Observation
from tests.reports_rows.telling import told
from tests.rules.talk import Json

FILE = Path(__file__).parent.parent / "data" / "field_reports.json"
ROWS: list[Json] = json.loads(FILE.read_text(encoding="utf-8"))


def document_of(row: Json) -> Document:
    """Read as a file is, so that a row cannot tell what a transcript could not."""
    return read_document(json.dumps(told(row).document()))


def found_in(row: Json, rules: tuple[Rule, ...]) -> tuple[list[str], set[str]]:
    """Errors and warnings as the rows write them; and the codes of the notes."""
    document = document_of(row)
    findings = validate(document, rules).findings
    loud = sorted(_written(finding, document) for finding in findings if finding.level != "info")
    return loud, {finding.code for finding in findings if finding.level == "info"}


def _written(finding: Finding, document: Document) -> str:
    place = finding.path.split("/")
    exchange = f" x-{place[2]}" if len(place) > 2 and place[1] == "exchanges" else ""
    count = f" ×{finding.count}" if finding.count > 1 else ""
    return f"{finding.code} {finding.level} {finding.party}{exchange}{count}"


def named(rows: list[Json]) -> list[Any]:
    return [pytest.param(row, id=f"{row['row']}-{row['name']}") for row in rows]


@pytest.mark.parametrize("row", named(ROWS))
def test_verdict(row: Json) -> None:
    loud, notes = found_in(row, rules_of())
    assert loud == sorted(row["expect"])
    assert set(row.get("notes", [])) <= notes
    assert "observer_error" not in notes


@pytest.mark.parametrize("row", named([row for row in ROWS if row.get("trap")]))
def test_traps_stay_silent(row: Json) -> None:
    assert row["expect"] == []
    assert found_in(row, rules_of())[0] == []


@pytest.mark.parametrize("row", named([row for row in ROWS if "extended" in row]))
def test_extended_set_says_more(row: Json) -> None:
    assert found_in(row, rules_of(extended=True))[0] == sorted(row["expect"] + row["extended"])


@pytest.mark.parametrize("row", named(ROWS))
def test_redaction_keeps_the_verdict(row: Json) -> None:
    """A judge that compared labels instead of what they stand for would find faults that redaction made."""
    document = document_of(row)
    seen = list(observations(document))
    redactor = Redactor()
    assert _verdicts(document, (one for raw in seen for one in redactor.feed(raw))) == _verdicts(document, seen)


def _verdicts(document: Document, seen: Iterable[Observation]) -> list[tuple[str, str, str, int]]:
    conversation = Conversation(
        PROFILES.get(document.profile or ""),
        payloads_whole=document.payloads_whole,
        complete_from_start=document.complete_from_start,
    )
    judge = Judge(rules_of(), conversation, lambda evidence: evidence.kind)
    for observation in seen:
        judge.feed(observation)
    judge.finish()
    return sorted((one.code, one.level, one.path, one.count) for one in judge.findings())


def test_names_are_unique() -> None:
    assert len({row["name"] for row in ROWS}) == len(ROWS)
