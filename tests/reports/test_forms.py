"""Every form of a report tells of the same findings, and keeps to the rules of the format it claims to be."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from typing import Any
from xml.etree import ElementTree

import cmarkgfm
import jsonschema
import pytest
import xmlschema

from mcp_wire.judging.finding import Finding, Level
from mcp_wire.reports import markdown_report, sarif_report
from mcp_wire.reports.forms import FORMS
from mcp_wire.reports.model import Accepted, NamedReport, Report, Results
from mcp_wire.reports.words import tuple_rows
from mcp_wire.requirements import unexercised
from mcp_wire.rules import ALL_RULES
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.tuple_words import asserted_parts
from mcp_wire.validation import validate
from tests.reports import hostile
from tests.reports.judged import READERS, case_transcripts, findings_in, named_report, results_of
from tests.transcript.test_form_rules import GOOD
from tests.web.tools import har_schemas, junit_schema, sarif_schema

HOSTILE = hostile.transcript()


def required(code: str, *reports: Report) -> list[Finding]:
    return unexercised([code], reports, ALL_RULES)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_of_the_same_findings(form: str) -> None:
    for name, transcript in case_transcripts():
        results = results_of(transcript)
        assert READERS[form](FORMS[form].render(results)) == findings_in(results), name


@pytest.mark.parametrize("form", FORMS)
def test_several_transcripts_and_what_concerns_the_run(form: str) -> None:
    documents = [transcript for _, transcript in case_transcripts()][:6]
    results = results_of(*documents, HOSTILE)
    results = replace(results, further=tuple(required("batch_rejected", results.reports[0].report)))
    said = READERS[form](FORMS[form].render(results))
    assert said == findings_in(results)
    assert said["error", "required_rule_not_exercised"] == 1
    one = replace(results, reports=results.reports[:1])
    assert READERS[form](FORMS[form].render(one)) == findings_in(one)


@pytest.mark.parametrize("form", FORMS)
def test_an_accepted_finding_does_not_count_and_is_still_told(form: str) -> None:
    [named] = results_of(HOSTILE).reports
    first, *others = named.report.findings
    report = replace(named.report, findings=tuple(others), accepted=(Accepted(first, "known upstream", "2026-09-01"),))
    results = Results((replace(named, report=report),))
    text = FORMS[form].render(results)
    assert READERS[form](text) == findings_in(results)
    assert "known upstream" in text


@pytest.mark.parametrize("form", FORMS)
def test_the_same_results_give_the_same_bytes(form: str) -> None:
    text = FORMS[form].render(results_of(HOSTILE))
    assert text == FORMS[form].render(results_of(HOSTILE))
    text.encode()


@pytest.mark.parametrize("form", ["human", "markdown", "junit"])
def test_text_for_people_has_no_characters_that_play_with_its_reader(form: str) -> None:
    text = FORMS[form].render(results_of(HOSTILE)).replace(markdown_report.BREAK, "")
    assert all(char.isprintable() or char == "\n" for char in text)


@pytest.mark.parametrize("form", FORMS)
def test_a_report_on_nothing(form: str) -> None:
    results = results_of(GOOD, {"profile": "nobody", "exchanges": 3}, {})
    assert READERS[form](FORMS[form].render(results)) == findings_in(results)
    assert not READERS[form](FORMS[form].render(Results(())))


STATED = (
    "server=another/2.0",
    "sdk=python-sdk/2.3.0",
    "sdk=mcp-types/2.3.0",
    "runtime=CPython/3.13.0",
    "intermediaries=none",
    "failure_time=2026-11-30T09:30:00Z",
    "request_ids=call-2",
    "reproduction=pytest tests/test_resume.py",
)


@pytest.mark.parametrize("form", FORMS)
def test_the_whole_tuple_is_told(form: str) -> None:
    """What was read, what was stated, what of that is not so, and what nobody knows."""
    document = Document(GOOD | {"tuple": {"server": {"name": "example-server", "version": "1.0"}}})
    named = NamedReport("t.json", validate(document, asserted=asserted_parts(STATED)))
    text = FORMS[form].render(Results((named,)))
    assert named.report.tuple_contradicted == {"server": {"name": "another", "version": "2.0"}}
    if form == "jsonl":
        assert not text
        return
    said = ["example-server", "another", "python-sdk/2.3.0", "mcp-types/2.3.0", "CPython/3.13.0", "call-2"]
    for part in (*said, "2026-11-30T09:30:00Z", "pytest tests/test_resume.py", "stable-2025-11-25", *UNKNOWN):
        assert part in text, part


UNKNOWN = ("client", "http_version", "tls")


def test_a_part_of_the_tuple_is_a_row() -> None:
    report = validate(Document(GOOD), asserted=asserted_parts(STATED))
    rows = dict(tuple_rows(report))
    assert (rows["server"], rows["sdk"], rows["intermediaries"]) == (
        "another 2.0",
        "python-sdk/2.3.0, mcp-types/2.3.0",
        "none",
    )
    many = replace(report, interoperability_tuple={"sdk": [f"sdk-{n}/1" for n in range(20)], "tls": 3})
    assert dict(tuple_rows(many))["sdk"].endswith("sdk-15/1 and 4 more")
    assert "tls" not in dict(tuple_rows(many))
    seen = replace(report, interoperability_tuple={"tls": "none"}, tuple_contradicted={"tls": "TLSv1.3"})
    assert dict(tuple_rows(seen))["tls"] == "none (stated: TLSv1.3, which is not what is seen)"


# SARIF


def validated_sarif(text: str) -> dict[str, Any]:
    log = json.loads(text)
    jsonschema.Draft7Validator(sarif_schema(), format_checker=jsonschema.FormatChecker()).validate(log)
    [run] = log["runs"]
    assert isinstance(run, dict)
    return run


def test_sarif_keeps_to_the_official_schema() -> None:
    for _, transcript in case_transcripts():
        validated_sarif(sarif_report.render(results_of(transcript)))
    validated_sarif(sarif_report.render(results_of(HOSTILE, GOOD)))
    assert validated_sarif(sarif_report.render(results_of(GOOD)))["results"] == []


def test_sarif_rules_come_from_the_declarations() -> None:
    run = validated_sarif(sarif_report.render(results_of(HOSTILE)))
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        rule = rules[result["ruleIndex"]]
        [declared, *_] = [one for one in ALL_RULES if one.code == result["ruleId"]]
        assert rule["id"] == result["ruleId"]
        assert rule["shortDescription"]["text"] == declared.says
        assert declared.fix in rule["help"]["markdown"]
        assert rule.get("helpUri") == (declared.citations[0].url if declared.citations else None)


def test_sarif_fingerprints_stay_when_a_capture_has_other_numbers() -> None:
    def fingerprints(document: dict[str, Any]) -> set[str]:
        run = validated_sarif(sarif_report.render(results_of(document)))
        return {one["partialFingerprints"][sarif_report.FINGERPRINT] for one in run["results"]}

    name, transcript = next(pair for pair in case_transcripts() if pair[0].startswith("006-"))
    before = fingerprints(transcript)
    longer = transcript | {"exchanges": [GOOD["exchanges"][0] | {"id": "first"}, *transcript["exchanges"]]}
    assert before, name
    assert before <= fingerprints(longer)
    every = sarif_report.render(results_of(*(one for _, one in case_transcripts())))
    marks = [one["partialFingerprints"][sarif_report.FINGERPRINT] for one in validated_sarif(every)["results"]]
    assert len(set(marks)) == len(marks)


def test_sarif_has_a_limit_and_one_result_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif_report, "MAX_RESULTS", 3)
    results = results_of(HOSTILE)
    run = validated_sarif(sarif_report.render(results))
    assert len(run["results"]) == 4
    last = run["results"][-1]
    assert last["ruleId"] == "report_truncated"
    assert last["message"]["text"] == f"{len(results.findings) - 3} further findings of this run are not listed."


# JUnit


def test_junit_keeps_to_the_schema_that_ci_systems_read() -> None:
    schema: xmlschema.XMLSchema = junit_schema()
    documents = [transcript for _, transcript in case_transcripts()]
    schema.validate(FORMS["junit"].render(results_of(*documents[:20], HOSTILE)))


def test_junit_has_a_case_a_rule_and_conversation_and_says_what_was_not_judged() -> None:
    results = results_of(HOSTILE, GOOD)
    suites = list(ElementTree.fromstring(FORMS["junit"].render(results)).iter("testsuite"))
    for suite, named in zip(suites, results.reports, strict=True):
        cases = list(suite.iter("testcase"))
        codes = [case.attrib["name"] for case in cases]
        assert set(codes) >= set(named.report.coverage) and len(codes) == len(set(codes))
        assert suite.attrib["tests"] == str(len(cases))
        assert suite.attrib["failures"] == str(sum(case.find("failure") is not None for case in cases))
        assert suite.attrib["skipped"] == str(sum(case.find("skipped") is not None for case in cases))
        for case in cases:
            coverage = named.report.coverage.get(case.attrib["name"])
            reason = case.findtext("skipped")
            if coverage is not None and coverage.outcome in ("not_observed", "not_applicable", "cannot_tell"):
                assert reason is not None and reason.startswith(coverage.outcome.replace("_", " "))
            elif coverage is not None and coverage.outcome == "satisfied":
                assert reason is None and case.find("failure") is None


def test_junit_fails_where_the_run_fails() -> None:
    every = (results_of(transcript) for _, transcript in case_transcripts())
    warned = next(results for results in every if {finding.level for finding in results.findings} == {"warning"})
    levels: tuple[tuple[Level, int], ...] = (("error", 0), ("warning", len({one.code for one in warned.findings})))
    for fail_on, failures in levels:
        suites = ElementTree.fromstring(FORMS["junit"].render(replace(warned, fail_on=fail_on)))
        assert suites.attrib["failures"] == str(failures)


# HAR


def test_har_keeps_to_its_schema_and_has_events_with_times() -> None:
    schemas = har_schemas()
    for _, transcript in [*case_transcripts(), ("hostile", HOSTILE)]:
        log = json.loads(FORMS["har"].render(results_of(transcript)))
        schemas.validate(log)
    name, transcript = next(pair for pair in case_transcripts() if pair[0].startswith("072-"))
    entries = json.loads(FORMS["har"].render(results_of(transcript)))["log"]["entries"]
    [event] = entries[0]["_events"]
    assert (event["t_ms"], event["id"], event["retry"], event["data"]) == (20, "cursor-1", 500, ""), name
    assert entries[2]["startedDateTime"] == "1970-01-01T00:00:02.600+00:00"
    assert (entries[2]["timings"]["wait"], entries[2]["_stream"]) == (0, 0)


# Markdown


def rendered(text: str) -> str:
    return str(cmarkgfm.github_flavored_markdown_to_html(text, options=cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE))


def test_nothing_hostile_becomes_markup_in_markdown() -> None:
    text = FORMS["markdown"].render(results_of(HOSTILE))
    html = rendered(text)
    assert not re.findall(r"<(?:script|img|svg|iframe|style|input)\b", html)
    links = re.findall(r'href="([^"]*)"', html)
    clauses = {citation.url for rule in ALL_RULES for citation in rule.citations}
    assert links and not [link for link in links if unescape(link) not in clauses]
    prose = re.sub(r"<(code|pre)\b.*?</\1>", "", html, flags=re.DOTALL)
    assert "<h1>" not in prose and "alert(1)</p>" not in prose.replace("&lt;", "<")
    assert not re.search(r"(?<!\w)[@#](?=\w)", re.sub(r"&#\w+;|<[^>]*>", "", prose))
    assert html.count("<table>") == 1


def test_a_long_report_stays_within_what_an_issue_takes_and_says_what_is_missing() -> None:
    documents = [transcript for _, transcript in case_transcripts()]
    results = results_of(*documents, HOSTILE)
    text = markdown_report.render(results)
    assert len(text.encode()) <= markdown_report.MAX_LENGTH
    shown = sum(READERS["markdown"](text).values())
    missing = len(results.findings) - shown
    assert missing > 0
    assert re.search(rf"with {missing} findings of {len(results.findings)}, did not fit", text)
    assert rendered(text).count("<pre") == rendered(text).count("</pre>")
    assert text.count("```") % 2 == 0


def test_markdown_has_the_tuple_the_evidence_the_clause_and_the_advice() -> None:
    name, transcript = next(pair for pair in case_transcripts() if pair[0].startswith("064-"))
    transcript = transcript | {
        "tuple": {"client": {"name": "agent", "version": "1.2"}, "intermediaries": ["nginx/1.22"]}
    }
    text = markdown_report.render(Results((named_report(f"{name}.json", transcript),)))
    assert "| client | `agent 1.2` |" in text
    assert "| intermediaries | `nginx/1.22` |" in text
    assert "```mermaid\nsequenceDiagram\n" in text
    assert "- **Clause:** [2025-11-25 " in text
    assert "### Recovery" in text and "- `resume-with-get` for " in text
