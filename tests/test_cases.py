"""Small transcripts with the right verdict (tests/cases/README.md), each judged in this process.

The cases of a checkout's neighbour `../shared/cases` are judged as well where there is one, so that a case added there
is not missed here.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.reports.json_report import report_text
from mcp_wire.transcript.reading import TranscriptInputError, read_document
from mcp_wire.validation import validate

HERE = Path(__file__).parent
FOLDERS = [HERE / "cases", HERE.parent.parent / "shared" / "cases"]
LOUD = ("error", "warning")

type Json = dict[str, Any]


def cases() -> Iterator[Any]:
    own = {path.name: path.read_bytes() for path in FOLDERS[0].glob("*.json")}
    for folder in FOLDERS:
        for path in sorted(folder.glob("*.json")):
            if folder is FOLDERS[0] or own.get(path.name) != path.read_bytes():
                yield pytest.param(path, id=path.stem if folder is FOLDERS[0] else f"shared-{path.stem}")


@pytest.mark.parametrize("path", cases())
def test_case(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    expect = case["expect"]
    if expect.get("exit") == 2:
        with pytest.raises(TranscriptInputError):
            read_document(case.get("raw", json.dumps(case.get("transcript"))))
        return
    plain, *variants = [judged(text) for text in texts(case)]
    assert mismatches(expect, plain) == []
    for number, variant in enumerate(variants, 1):
        assert mismatches(expect, variant) == [], f"variant {number}"
        assert loud(variant) == loud(plain), f"variant {number}"


def texts(case: Json) -> Iterator[str]:
    """The transcript itself, then each of its variants: other chunks in one exchange."""
    if "raw" in case:
        yield case["raw"]
        return
    yield json.dumps(case["transcript"])
    for variant in case.get("variants", []):
        changed = copy.deepcopy(case["transcript"])
        [exchange] = [one for one in changed["exchanges"] if one["id"] == variant["exchange"]]
        exchange["response"]["chunks"] = variant["chunks"]
        yield json.dumps(changed)


def judged(text: str) -> Json:
    document = read_document(text)
    report: Json = json.loads(report_text(validate(document)))
    for finding in report["findings"]:
        place = re.match(r"/exchanges/(\d+)(/|$)", finding["path"])
        if "exchange" not in finding and place:
            exchange = document.exchanges[int(place[1])]
            finding["exchange"] = exchange.get("id") if isinstance(exchange, dict) else None
    return report


def mismatches(expect: Json, report: Json) -> list[str]:
    """What is wrong with a report, in words; nothing if it is right."""
    findings, must, may = report["findings"], expect.get("must", []), set(expect.get("may", []))
    wrong = [f"must not appear: {show(one)}" for one in findings if one["code"] in expect.get("must_not", [])]
    code = 0 if report["valid"] else 1
    wanted = expect.get("exit", code)
    if wanted == 0 and any(one["level"] == "error" and one["code"] in may for one in findings):
        wanted = 1
    if code != wanted:
        wrong.append(f"exit {code} instead of {wanted}")
    wrong += [f"missing: {show(entry)}" for entry in must if not any(matches(one, entry) for one in findings)]
    if expect.get("quiet", "must_not" not in expect):
        wrong += [
            f"unexpected: {show(one)}"
            for one in findings
            if one["level"] in LOUD and one["code"] not in may and not any(matches(one, entry) for entry in must)
        ]
    for entry in expect.get("recovery", []):
        actions = {advice["action"] for advice in report["recovery"] if advice["exchange"] == entry["exchange"]}
        if actions != {entry["action"]} - {"none"}:
            wrong.append(f"recovery at {entry['exchange']}: {sorted(actions)} instead of {entry['action']}")
    return wrong


def matches(finding: Json, entry: Json) -> bool:
    return all(finding.get(key) == entry[key] for key in ("code", "level", "party", "exchange") if key in entry)


def show(item: Json) -> str:
    words = [item["code"], item["level"]]
    words += [f"{key} {item[key]}" for key in ("party", "exchange") if item.get(key) is not None]
    return " ".join(words)


def loud(report: Json) -> tuple[list[str], list[tuple[str, str]]]:
    """What has to be the same however the bytes were cut."""
    return (
        sorted(show(one) for one in report["findings"] if one["level"] in LOUD),
        sorted((one["exchange"], one["action"]) for one in report["recovery"]),
    )
