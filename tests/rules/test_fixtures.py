"""The fixtures of every rule, judged exactly; and proof that each rule is held by its fixtures.

`fixtures/rules/<code>/pass-*.json` keep the rule, `fail-*.json` break it. Beside each stands `<name>.expected.json`:
all findings of level error and warning, and those of level info that the fixture is about. The fixtures of a rule of
the extended set are judged with that set.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.judging.declaration import Rule
from mcp_wire.judging.judge import Judge
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.reports.model import Report
from mcp_wire.rules import ALL_RULES, rules_of
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import observations, read_document
from mcp_wire.validation import rules_in, validate

FOLDER = Path(__file__).parent.parent.parent / "fixtures" / "rules"
CODES = tuple(dict.fromkeys(rule.code for rule in ALL_RULES))
EXTENDED = {rule.code for rule in ALL_RULES if rule.rule_set == "extended"}

type Verdict = tuple[str, str, str, int]
"""Code, level, path, count."""


def fixtures(prefix: str = "", code: str = "*") -> list[Path]:
    """The transcripts, not what is expected of them."""
    found = FOLDER.glob(f"{code}/{prefix}*.json")
    return sorted(path for path in found if not path.name.endswith(".expected.json"))


def named(paths: Iterable[Path]) -> list[Any]:
    return [pytest.param(path, id=f"{path.parent.name}/{path.stem}") for path in paths]


def rule_set_of(path: Path) -> tuple[Rule, ...]:
    return rules_of(extended=path.parent.name in EXTENDED)


def report_on(path: Path, *, without: str = "") -> Report:
    rules = tuple(rule for rule in rule_set_of(path) if rule.code != without)
    return validate(read_document(path.read_bytes()), rules)


def expected_of(path: Path) -> Counter[Verdict]:
    expected = json.loads(path.with_name(f"{path.stem}.expected.json").read_text(encoding="utf-8"))
    return Counter((one["code"], one["level"], one["path"], one["count"]) for one in expected["findings"])


def found_in(report: Report, expected: Counter[Verdict]) -> Counter[Verdict]:
    """What is to equal `expected`: everything but the notes that it does not speak of."""
    found = Counter((one.code, one.level, one.path, one.count) for one in report.findings)
    return Counter({one: count for one, count in found.items() if one[1] != "info" or one in expected})


@pytest.mark.parametrize("path", named(fixtures()))
def test_findings_are_exact(path: Path) -> None:
    expected = expected_of(path)
    report = report_on(path)
    assert found_in(report, expected) == expected
    assert "observer_error" not in {finding.code for finding in report.findings}


@pytest.mark.parametrize("path", named(fixtures("pass-")))
def test_passing_fixture_exercises_its_rule(path: Path) -> None:
    code = path.parent.name
    report = report_on(path)
    assert code not in {finding.code for finding in report.findings}
    assert report.coverage[code].outcome == "satisfied"


@pytest.mark.parametrize("path", named(fixtures("fail-")))
def test_failing_fixture_breaks_its_rule(path: Path) -> None:
    code = path.parent.name
    assert code in {one[0] for one in expected_of(path)}
    assert report_on(path).coverage[code].outcome == "violated"


@pytest.mark.parametrize("code", CODES)
def test_rule_has_fixtures(code: str) -> None:
    assert fixtures("pass-", code), f"no fixture keeps {code}"
    assert fixtures("fail-", code), f"no fixture breaks {code}"


@pytest.mark.parametrize("code", CODES)
def test_rule_is_held_by_its_fixtures(code: str) -> None:
    """With the rule gone, at least one of its fixtures no longer comes out as expected."""
    broken = []
    for path in fixtures("fail-", code):
        expected = expected_of(path)
        broken.append(found_in(report_on(path, without=code), expected) != expected)
    assert any(broken), f"nothing notices when {code} is gone"


def test_every_fixture_belongs_to_a_rule() -> None:
    assert {path.name for path in FOLDER.iterdir()} <= set(CODES)


@pytest.mark.parametrize("path", named(fixtures()))
def test_redaction_keeps_the_verdict(path: Path) -> None:
    document = read_document(path.read_bytes())
    if not document.is_judged:
        pytest.skip("the document names no profile that is judged")
    told = list(observations(document))
    redactor = Redactor()
    redacted = [one for observation in told for one in redactor.feed(observation)]
    assert _verdicts(path, document, redacted) == _verdicts(path, document, told)


def _verdicts(path: Path, document: Document, told: Iterable[Any]) -> list[Verdict]:
    conversation = Conversation(
        PROFILES.get(document.profile or ""),
        payloads_whole=document.payloads_whole,
        complete_from_start=document.complete_from_start,
    )
    judge = Judge(rules_in(document.profile, rule_set_of(path)), conversation, lambda evidence: evidence.kind)
    for observation in told:
        judge.feed(observation)
    judge.finish()
    return sorted((one.code, one.level, one.path, one.count) for one in judge.findings())
