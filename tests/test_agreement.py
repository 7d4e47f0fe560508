"""The recorded runs of the official suite: every difference is explained, and docs/agreement.md is up to date."""

from __future__ import annotations

from mcp_wire.rules import ALL_RULES
from tests.peers.agreement import DOCUMENT, compare, document, mapping, recorded, unmapped
from tests.peers.official_suite import RUNS

SAID = recorded()
KNOWN = mapping()


def test_every_run_is_recorded() -> None:
    assert set(SAID) == {run.name for run in RUNS}


def test_every_difference_is_explained() -> None:
    compared = [one for run in SAID for one in compare(run, SAID[run], KNOWN)]
    assert [f"{one.check} in {one.run}: {one.verdict}" for one in compared if one.differs and not one.why] == []


def test_every_explanation_is_needed() -> None:
    used = {one.why for run in SAID for one in compare(run, SAID[run], KNOWN)}
    assert {entry["why"] for entry in KNOWN["explained"]} <= used


def test_both_verdicts_are_compared_in_numbers() -> None:
    verdicts = [one.verdict for run in SAID for one in compare(run, SAID[run], KNOWN)]
    assert verdicts.count("both kept") >= 100
    assert verdicts.count("both broken") >= 30
    assert verdicts.count("missed") + verdicts.count("stricter") <= 30


def test_the_mapping_names_rules_and_every_check() -> None:
    codes = {rule.code for rule in ALL_RULES}
    assert {rule for rules in KNOWN["checks"].values() for rule in rules} <= codes
    assert unmapped(SAID.values(), KNOWN) == set()


def test_the_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "scripts/run_official_suite.py --render writes it"
