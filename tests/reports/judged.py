"""Transcripts judged as `validate` does it, with timelines; and what each form of a report says of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from mcp_wire.judging.finding import Finding
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.reports.model import NamedReport, Results
from mcp_wire.reports.timeline import SHOWN, Detail
from mcp_wire.rules.own_findings import REPORT_TRUNCATED
from mcp_wire.transcript.document import Document
from mcp_wire.validation import redacted_timeline, validate

CASES: Final = Path(__file__).parents[1] / "cases"

type Json = dict[str, Any]
type Said = Counter[tuple[str, str]]
"""How often a report tells of a finding of a level and a code."""


def named_report(name: str, document: Json, detail: Detail = SHOWN) -> NamedReport:
    redactor = Redactor()
    parsed = Document(document)
    report = validate(parsed, None, redactor)
    return NamedReport(name, report, redacted_timeline(parsed, report, redactor, detail))


def results_of(*documents: Json, further: Iterable[Finding] = ()) -> Results:
    reports = tuple(named_report(f"t-{number}.json", document) for number, document in enumerate(documents))
    return Results(reports, tuple(further))


def case_transcripts() -> Iterator[tuple[str, Json]]:
    for path in sorted(CASES.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(case.get("transcript"), dict):
            yield path.stem, case["transcript"]


def findings_in(results: Results) -> Said:
    return Counter((finding.level, finding.code) for finding in results.findings)


def _json(text: str) -> Said:
    return Counter((one["level"], one["code"]) for one in json.loads(text)["findings"])


def _jsonl(text: str) -> Said:
    lines = [json.loads(line) for line in text.splitlines()]
    return Counter((one["level"], one["code"]) for one in lines if "reason" not in one)


def _human(text: str) -> Said:
    return Counter(re.findall(r"^  (error|warning|info) (\w+)$", text, re.MULTILINE))


def _sarif(text: str) -> Said:
    levels = {"error": "error", "warning": "warning", "note": "info"}
    [run] = json.loads(text)["runs"]
    return Counter(
        (levels[one["level"]], one["ruleId"])
        for one in run["results"]
        if "suppressions" not in one and one["ruleId"] != REPORT_TRUNCATED
    )


def _junit(text: str) -> Said:
    said: Said = Counter()
    for case in ElementTree.fromstring(text).iter("testcase"):
        code = case.attrib["name"]
        said.update((failure.attrib["type"], code) for failure in case.iter("failure"))
        for output in case.iter("system-out"):
            said.update((level, code) for level in re.findall(r"^(error|warning|info): ", output.text or "", re.M))
    return said


def _markdown(text: str) -> Said:
    return Counter(re.findall(r"^### (error|warning|info): `(\w+)`$", text, re.MULTILINE))


def _html(text: str) -> Said:
    return Counter(
        (one["level"], one["code"])
        for conversation in html_data(text)["conversations"]
        for one in conversation["findings"]
        if "reason" not in one
    )


def _har(text: str) -> Said:
    log = json.loads(text)["log"]
    listed = [*log["_findings"], *(one for entry in log["entries"] for one in entry["_findings"])]
    return Counter((one["level"], one["code"]) for one in listed)


READERS: Final[dict[str, Callable[[str], Said]]] = {
    "human": _human,
    "json": _json,
    "jsonl": _jsonl,
    "sarif": _sarif,
    "junit": _junit,
    "markdown": _markdown,
    "html": _html,
    "har": _har,
}


def html_data(text: str) -> Json:
    """The data block of an HTML report, as a browser reads it."""
    [block] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    data = json.loads(block)
    assert isinstance(data, dict)
    return data
