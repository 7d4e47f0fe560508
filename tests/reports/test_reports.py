"""Reports: what they say, to people and to programs."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given

from mcp_wire.judging.declaration import Rule
from mcp_wire.reports import human_report, json_report
from mcp_wire.reports.explanation import explanations_json, explanations_text
from mcp_wire.reports.human_report import Style
from mcp_wire.reports.model import NamedReport, Report
from mcp_wire.rules import ALL_RULES, own_findings
from mcp_wire.transcript.document import Document
from mcp_wire.validation import validate
from tests.transcript.strategies import texts
from tests.transcript.test_form_rules import GOOD

INTERRUPTED: dict[str, Any] = {
    "profile": "stable-2025-11-25",
    "tuple": {
        "client": {"name": "agent", "version": "1.2"},
        "server": {"name": "files"},
        "intermediaries": ["nginx/1.22"],
    },
    "exchanges": [
        {
            "id": "call",
            "request": {
                "method": "POST",
                "path": "/mcp",
                "headers": {
                    "Accept": "application/json",
                    "Content-Type": "application/json",
                    "MCP-Protocol-Version": "2025-11-25",
                },
                "body": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "arguments": {}}},
            },
            "response": {
                "status": 200,
                "headers": {"Content-Type": "text/event-stream"},
                "chunks": ["id: e-1\nretry: 500\ndata:\n\n"],
                "disconnected": True,
            },
        }
    ],
}


def judged(document: dict[str, Any]) -> Report:
    return validate(Document(document))


def test_the_human_report_says_who_must_act_where_and_what_to_do() -> None:
    text = human_report.report_text(NamedReport("call.json", judged(INTERRUPTED)))
    lines = text.splitlines()
    assert lines[0].startswith("call.json: 1 error")
    assert "  judged as stable-2025-11-25" in lines
    rows = ["  client           agent 1.2", "  server           files", "  intermediaries   nginx/1.22"]
    assert lines[2:5] == rows
    assert lines.index("The client must act: request construction") < lines.index("  error invalid_post_accept")
    assert "    at     /exchanges/0/request/headers (exchange call)" in lines
    assert any(line.startswith("    clause 2025-11-25 basic/transports#") for line in lines)
    assert any(line.startswith("    fix    ") for line in lines)
    assert lines.index("Recovery") < lines.index("  /exchanges/0 (exchange call): resume-with-get")
    assert "Wait 500 ms first" in " ".join(text.split())


def test_the_human_report_closes_with_what_could_be_judged() -> None:
    report = judged(GOOD)
    closing = " ".join(human_report.report_text(NamedReport("good.json", report)).split("\n\n")[-1].split())
    satisfied = sum(one.outcome == "satisfied" for one in report.coverage.values())
    assert closing.startswith(
        f"Of {len(report.coverage)} rules, {satisfied} came to a verdict: {satisfied} satisfied and 0 violated."
    )
    assert "had nothing to judge" in closing
    assert closing.endswith("No error was seen on the wire; that certifies neither peer.")


def test_errors_come_first_and_a_repetition_is_a_count() -> None:
    document = copy.deepcopy(INTERRUPTED)
    document["profile"] = "draft-2026-07-28"
    document["exchanges"].append(document["exchanges"][0] | {"id": "again"})
    text = human_report.report_text(NamedReport("t", judged(document)))
    assert text.index("error invalid_post_accept") < text.index("info profile_superseded")
    place = "/exchanges/0/request/headers (exchange call), 2 times, last at /exchanges/1/request/headers"
    assert place in " ".join(text.split())
    assert "judged as draft-2026-07-28 (a draft, not normative)" in text


def test_names_from_a_file_cannot_play_with_the_terminal() -> None:
    document = copy.deepcopy(INTERRUPTED)
    document["exchanges"][0]["id"] = "\x1b[2J\u202eevil\nid"
    document["tuple"]["client"]["name"] = "\x1b]0;title\x07"
    text = human_report.report_text(NamedReport("a\rb", judged(document)))
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "evil" not in text
    assert "a\\rb: " in text


@given(texts)
def test_a_report_for_people_is_plain_lines_whatever_the_names(name: str) -> None:
    document = copy.deepcopy(GOOD)
    document["exchanges"][0]["id"] = name or "x"
    document["profile"] = name
    text = human_report.report_text(NamedReport(name, judged(document)))
    assert all(char.isprintable() or char == "\n" for char in text)


def test_colour_is_a_matter_of_style_only() -> None:
    named = NamedReport("t", judged(INTERRUPTED))
    coloured = human_report.report_text(named, Style(colour=True))
    assert "\x1b[1;31merror\x1b[0m" in coloured
    for code in ("\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m", "\x1b[1m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == human_report.report_text(named)


def test_the_json_report_has_every_promised_member() -> None:
    report = json.loads(json_report.report_text(judged(INTERRUPTED)))
    assert set(report) == {
        *("valid", "profile", "draft", "normative", "tuple", "findings", "recovery", "coverage", "tuple_unknown"),
    }
    assert report["tuple"] == INTERRUPTED["tuple"] | {"endpoint": "/mcp", "revision": "2025-11-25"}
    finding = next(one for one in report["findings"] if one["code"] == "invalid_post_accept")
    assert set(finding) == {
        *("level", "code", "path", "message", "exchange", "party", "layer", "count", "citation", "fix"),
    }
    assert set(finding["citation"]) == {"revision", "section", "url"}
    assert (finding["level"], finding["party"], finding["count"]) == ("error", "client", 1)
    [advice] = report["recovery"]
    assert (advice["exchange"], advice["action"]) == ("call", "resume-with-get")
    assert report["coverage"]["invalid_post_accept"]["outcome"] == "violated"
    assert report["coverage"]["session_header_removed"]["outcome"] == "not_applicable"


def test_every_declaration_explains_itself() -> None:
    rules: tuple[Rule, ...] = (*ALL_RULES, *own_findings.BOOK.rules)
    explained = json.loads(explanations_json(rules))
    assert [one["code"] for one in explained] == [rule.code for rule in rules]
    for rule in rules:
        text = " ".join(explanations_text([rule]).split())
        assert text.startswith(f"{rule.code}: {rule.level}")
        for part in (rule.says, rule.fix, rule.evidence, rule.exceptions, *(one.url for one in rule.citations)):
            assert " ".join(part.split()) in text
