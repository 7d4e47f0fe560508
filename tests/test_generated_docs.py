"""The generated documents say what the declarations say."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import generate_docs

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def documents() -> dict[Path, str]:
    return generate_docs.generated()


def test_no_document_is_stale(documents: dict[Path, str]) -> None:
    assert generate_docs.stale(documents) == [], "run scripts/generate_docs.py"


def test_links_lead_somewhere(documents: dict[Path, str]) -> None:
    broken = [
        (path, target)
        for path, text in documents.items()
        for target in generate_docs.links(text)
        if not (REPOSITORY / path.parent / target).exists()
    ]
    assert broken == []


def test_coverage_gives_every_requirement_a_rule_or_a_reason(documents: dict[Path, str]) -> None:
    rows = [row for row in documents[generate_docs.COVERAGE].splitlines() if row.startswith("| 20")]
    assert len(rows) == 392
    assert [row for row in rows if row.rstrip().endswith("|  |")] == []
