"""The form of the document: each code with its exact path, and nothing else judged where nothing can be."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from mcp_wire.reports.model import Report
from mcp_wire.rules.transcript_form import BOOK
from mcp_wire.transcript.document import Document
from mcp_wire.validation import validate

GOOD: dict[str, Any] = {
    "profile": "stable-2025-11-25",
    "payloads": "shape",
    "exchanges": [
        {
            "id": "hello",
            "request": {
                "method": "POST",
                "path": "/mcp",
                "headers": {
                    "Accept": "application/json, text/event-stream",
                    "Content-Type": "application/json",
                    "MCP-Protocol-Version": "2025-11-25",
                },
                "body": {"jsonrpc": "2.0", "method": "notifications/initialized"},
            },
            "response": {"status": 202, "headers": {}, "body_text": ""},
        },
        {
            "id": "listen",
            "request": {
                "method": "GET",
                "path": "/mcp",
                "headers": {"Accept": "text/event-stream", "MCP-Protocol-Version": "2025-11-25"},
            },
            "response": {
                "status": 200,
                "headers": {"Content-Type": "text/event-stream"},
                "chunks": [": hello\n\n"],
                "ended": "open",
            },
        },
    ],
}
FORM_CODES = {rule.code for rule in BOOK.rules}


def judged(value: Any) -> Report:
    return validate(Document(value))


def changed(change: Callable[[Any], object]) -> Any:
    document = copy.deepcopy(GOOD)
    change(document)
    return document


def form_findings(report: Report) -> list[tuple[str, str]]:
    return [(finding.code, finding.path) for finding in report.findings if finding.code in FORM_CODES]


def test_a_good_document_satisfies_every_form_rule() -> None:
    report = judged(GOOD)
    assert form_findings(report) == []
    group = changed(lambda document: document["exchanges"][0].update(concurrent_group="g"))
    group["exchanges"][1]["response"]["disconnected"] = False
    unsatisfied = {code for code in FORM_CODES if judged(group).coverage[code].outcome != "satisfied"}
    assert unsatisfied == {"profile_superseded"}


def put(path: str, value: Any) -> Callable[[Any], object]:
    *names, last = path.strip("/").split("/")

    def change(document: Any) -> None:
        for name in names:
            document = document[int(name) if isinstance(document, list) else name]
        document[int(last) if isinstance(document, list) else last] = value

    return change


def drop(path: str) -> Callable[[Any], object]:
    *names, last = path.strip("/").split("/")

    def change(document: Any) -> None:
        for name in names:
            document = document[int(name) if isinstance(document, list) else name]
        del document[last]

    return change


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        (put("/exchanges", []), "invalid_exchanges", "/exchanges"),
        (put("/exchanges", {}), "invalid_exchanges", "/exchanges"),
        (drop("/exchanges"), "invalid_exchanges", "/exchanges"),
        (put("/exchanges/1", "x"), "invalid_exchange", "/exchanges/1"),
        (put("/exchanges/1/started_ms", "soon"), "invalid_exchange", "/exchanges/1/started_ms"),
        (put("/exchanges/1/ended_ms", True), "invalid_exchange", "/exchanges/1/ended_ms"),
        (put("/exchanges/1/response/started_ms", 10**400), "invalid_exchange", "/exchanges/1/response/started_ms"),
        (put("/exchanges/0/response/ended", "somehow"), "invalid_exchange", "/exchanges/0/response/ended"),
        (put("/exchanges/0/response/ended", ["open"]), "invalid_exchange", "/exchanges/0/response/ended"),
        (put("/exchanges/0/response/body", {}), "invalid_exchange", "/exchanges/0/response/body_text"),
        (put("/exchanges/0/response/received_octets", -1), "invalid_exchange", "/exchanges/0/response/received_octets"),
        (
            put("/exchanges/1/response/chunk_boundaries", 1),
            "invalid_exchange",
            "/exchanges/1/response/chunk_boundaries",
        ),
        (put("/exchanges/1/request/body_base64", "*"), "invalid_exchange", "/exchanges/1/request/body_base64"),
        (put("/exchanges/1/request/path", 1), "invalid_exchange", "/exchanges/1/request/path"),
        (put("/exchanges/0/id", ""), "invalid_exchange_id", "/exchanges/0/id"),
        (drop("/exchanges/0/id"), "invalid_exchange_id", "/exchanges/0/id"),
        (put("/exchanges/1/id", "hello"), "duplicate_exchange_id", "/exchanges/1/id"),
        (put("/exchanges/0/concurrent_group", ""), "invalid_concurrent_group", "/exchanges/0/concurrent_group"),
        (put("/exchanges/0/concurrent_group", 1), "invalid_concurrent_group", "/exchanges/0/concurrent_group"),
        (put("/exchanges/0/request", []), "invalid_exchange_shape", "/exchanges/0"),
        (drop("/exchanges/0/request"), "invalid_exchange_shape", "/exchanges/0"),
        (put("/exchanges/0/response", None), "invalid_exchange_shape", "/exchanges/0"),
        (put("/exchanges/0/request/method", 1), "invalid_http_method", "/exchanges/0/request/method"),
        (drop("/exchanges/0/request/method"), "invalid_http_method", "/exchanges/0/request/method"),
        (put("/exchanges/0/request/headers/Accept", 1), "invalid_headers", "/exchanges/0/request/headers"),
        (put("/exchanges/0/request/headers", [["a"]]), "invalid_headers", "/exchanges/0/request/headers"),
        (drop("/exchanges/0/response/headers"), "invalid_headers", "/exchanges/0/response/headers"),
        (put("/exchanges/0/request/headers/accept", "*/*"), "duplicate_header", "/exchanges/0/request/headers"),
        (drop("/exchanges/1/response/chunks"), "invalid_chunks", "/exchanges/1/response/chunks"),
        (put("/exchanges/1/response/chunks", "data"), "invalid_chunks", "/exchanges/1/response/chunks"),
        (put("/exchanges/1/response/chunks/0", 1), "invalid_chunks", "/exchanges/1/response/chunks"),
        (put("/exchanges/1/response/chunks/0", "\ud800"), "invalid_chunks", "/exchanges/1/response/chunks"),
        (put("/exchanges/1/response/chunks/0", {"t_ms": 1}), "invalid_chunks", "/exchanges/1/response/chunks"),
        (put("/exchanges/1/response/chunks/0", {"base64": "x"}), "invalid_chunks", "/exchanges/1/response/chunks"),
        (put("/exchanges/0/response/status", 99), "invalid_status", "/exchanges/0/response/status"),
        (put("/exchanges/0/response/status", True), "invalid_status", "/exchanges/0/response/status"),
        (put("/exchanges/0/response/status", 200.0), "invalid_status", "/exchanges/0/response/status"),
        (put("/exchanges/0/response/disconnected", "no"), "invalid_disconnected", "/exchanges/0/response/disconnected"),
        (put("/exchanges/0/response/disconnected", None), "invalid_disconnected", "/exchanges/0/response/disconnected"),
    ],
)
def test_each_form_fault_has_its_code_and_path(change: Callable[[Any], object], code: str, path: str) -> None:
    report = judged(changed(change))
    assert form_findings(report) == [(code, path)]
    finding = next(one for one in report.findings if one.code == code)
    assert (finding.level, finding.party, finding.layer) == ("error", "pipeline", "capture_pipeline")
    assert not report.valid


@pytest.mark.parametrize("value", [None, [], "text", 1, True])
def test_what_is_no_object_is_invalid_and_nothing_else(value: Any) -> None:
    assert [(one.code, one.path) for one in judged(value).findings] == [("invalid_document", "/")]


@pytest.mark.parametrize(
    ("profile", "shown"),
    [
        ("stable-2024-11-05", "stable-2024-11-05"),
        ("STABLE-2025-11-25", "redacted-1"),
        ("stable-Acme", "stable-redacted-1"),
        ("", ""),
        (None, None),
        (3, None),
        (["stable-2025-11-25"], None),
    ],
)
def test_an_unknown_profile_is_one_finding_and_nothing_else_is_judged(profile: Any, shown: str | None) -> None:
    broken = changed(put("/exchanges/0/request/headers/Accept", "text/plain")) | {"profile": profile}
    broken["exchanges"].append("no exchange")
    report = judged(broken)
    assert [(one.code, one.path) for one in report.findings] == [("unknown_profile", "/profile")]
    assert report.profile == shown


def test_an_undetermined_profile_lets_only_version_neutral_rules_speak() -> None:
    report = judged(GOOD | {"profile": "undetermined"})
    assert report.coverage["session_header_removed"].outcome == "not_applicable"
    assert report.coverage["get_removed_in_profile"].outcome == "not_applicable"
    assert report.coverage["invalid_status"].outcome == "satisfied"
    assert (report.draft, report.normative) == (False, False)


def test_the_archived_draft_is_superseded_and_judges_only_what_it_judged() -> None:
    report = judged(GOOD | {"profile": "draft-2026-07-28"})
    superseded = next(one for one in report.findings if one.code == "profile_superseded")
    assert (superseded.level, superseded.path) == ("info", "/profile")
    assert (report.draft, report.normative) == (True, False)
    assert report.coverage["get_removed_in_profile"].outcome == "violated"


def test_repeated_one_value_headers_are_the_senders_fault() -> None:
    document = copy.deepcopy(GOOD)
    request, response = document["exchanges"][0]["request"], document["exchanges"][1]["response"]
    request["headers"] = [*map(list, request["headers"].items()), ["mcp-protocol-version", "2025-11-25"]]
    response["headers"] = [["Content-Type", "text/event-stream"], ["Content-Type", "text/event-stream"], ["Vary", "a"]]
    response["headers"].append(["Vary", "b"])
    found = [one for one in judged(document).findings if one.code == "duplicate_header"]
    assert [(one.party, one.path, one.exchange) for one in found] == [
        ("client", "/exchanges/0/request/headers", "hello"),
        ("server", "/exchanges/1/response/headers", "listen"),
    ]


def test_two_spellings_in_an_object_are_not_blamed_on_the_sender() -> None:
    document = changed(put("/exchanges/0/request/headers/mcp-protocol-version", "2025-11-25"))
    assert [one.party for one in judged(document).findings if one.code == "duplicate_header"] == ["pipeline"]


def test_the_same_fault_in_many_exchanges_is_one_finding_with_a_count() -> None:
    document = copy.deepcopy(GOOD)
    for exchange in document["exchanges"]:
        exchange["id"] = ""
    finding = next(one for one in judged(document).findings if one.code == "invalid_exchange_id")
    assert (finding.count, finding.path, finding.last_path) == (2, "/exchanges/0/id", "/exchanges/1/id")
