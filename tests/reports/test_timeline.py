"""The timeline: what was on the wire, linked as for judging, redacted, and no more of it than is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from mcp_wire.reports.evidence import MAX_LINE, MAX_LINES, excerpt
from mcp_wire.reports.forms import FORMS
from mcp_wire.reports.timeline import Detail, Timeline, logical_streams
from tests.reports import hostile, large
from tests.reports.judged import READERS, findings_in, html_data, named_report, results_of
from tests.transcript.strategies import texts

DEMONSTRATION = json.loads((Path(__file__).parents[2] / "docs/reports/demonstration.json").read_text(encoding="utf-8"))


def timeline(document: dict[str, Any], detail: Detail | None = None) -> Timeline:
    found = named_report("t", document, detail or Detail()).timeline
    assert found is not None
    return found


def test_events_are_read_as_the_rules_read_them() -> None:
    scan = timeline(DEMONSTRATION).exchanges[4]
    assert (scan.id, scan.label, scan.status, scan.ended) == ("scan", "tools/call scan · id 2", 200, "server_closed")
    assert [(event.mark, event.label) for event in scan.events] == [
        ("empty", "no data, only an id"),
        ("notification", "notifications/progress"),
        ("notification", "notifications/progress"),
    ]
    cut = scan.events[1]
    assert (cut.first_chunk, cut.last_chunk, cut.at.t_ms) == (1, 3, 661)
    assert scan.events[0].retry_ms == 400
    assert json.loads(cut.data or "")["method"] == "notifications/progress"


def test_responses_name_the_call_that_they_answer_and_resumed_streams_are_one() -> None:
    seen = timeline(DEMONSTRATION)
    assert seen.is_timed
    resumed = seen.exchanges[6]
    assert resumed.events[-1].label == "result of tools/call · id 2"
    assert resumed.resumes == seen.exchanges[4].events[-1].id
    streams = [[exchange.id for exchange in stream] for stream in logical_streams(seen)]
    assert streams == [["listen"], ["scan", "scan-resumed"], ["read"], ["write"]]
    assert seen.exchanges[7].events[-1].mark == "tail"


def test_the_parts_of_the_wire_that_findings_point_at() -> None:
    named = named_report("t", DEMONSTRATION)
    shown = {finding.code: excerpt(finding, named.timeline) for finding in named.report.findings}
    assert shown["invalid_post_accept"] == ("POST /mcp", "Accept: application/json")
    assert shown["accepted_status_not_202"] == ("POST /mcp → 200 text/plain",)
    assert shown["truncated_response"] == ("POST /mcp → 200 text/event-stream (server reset)",)
    assert shown["unrelated_message_on_stream"][0].startswith("id: ")
    assert shown["incomplete_sse_event"][0].startswith("id: ")
    hostile_report = named_report("t", hostile.transcript())
    for finding in hostile_report.report.findings:
        lines = excerpt(finding, hostile_report.timeline)
        assert len(lines) <= MAX_LINES and all(len(line) <= MAX_LINE + 1 for line in lines)


def test_detail_bounds_what_is_kept_and_counts_the_rest() -> None:
    document = large.transcript(streams=12, events=20)
    seen = timeline(document, Detail(text=30, texts=900, events=25, exchanges=3))
    assert [exchange.id for exchange in seen.exchanges] == ["x-0", "x-1", "x-2"]
    assert seen.exchanges_left_out == 9
    assert sum(len(exchange.events) for exchange in seen.exchanges) == 25
    assert [exchange.event_count for exchange in seen.exchanges] == [20, 20, 20]
    assert sum(exchange.events_left_out for exchange in seen.exchanges) == 35
    kept = [event.text for exchange in seen.exchanges for event in exchange.events]
    assert all(len(text.text) <= 30 for text in kept)
    assert all(text.left_out > 0 for text in kept)
    assert sum(len(text.text) for text in kept) <= 900


def test_the_evidence_of_a_finding_is_kept_whatever_the_limits() -> None:
    document = large.transcript(streams=12, events=20)
    fault = "id: late\nretry: later\ndata: {}\n\n"
    document["exchanges"][11]["response"]["chunks"][15]["text"] = fault
    document["exchanges"][0] = document["exchanges"][1] | {"id": "x-0"}
    document["exchanges"][10] = document["exchanges"][9] | {"id": "x-10"}
    named = named_report("t", document, Detail(text=60, texts=0, events=0, exchanges=1))
    [finding] = [finding for finding in named.report.findings if finding.code == "invalid_sse_retry"]
    assert finding.path == "/exchanges/11/response/chunks/15"
    assert excerpt(finding, named.timeline)[1:] == ("retry: redacted-1", "data: {}")


CANARY = "canary7Qx9ZtLm4sVb2"


def test_no_report_lets_out_what_the_transcript_held() -> None:
    def call(number: int) -> dict[str, Any]:
        secret = {
            CANARY: CANARY,
            "text": f"mail {CANARY}@example.org",
            "list": [CANARY, {"url": f"https://a/{CANARY}"}],
        }
        return {
            "id": f"x-{number}",
            "request": {
                "method": "POST",
                "path": f"/{CANARY}/mcp?key={CANARY}",
                "headers": {
                    "Accept": CANARY,
                    "Authorization": f"Bearer {CANARY}",
                    "Cookie": f"a={CANARY}",
                    f"X-{CANARY}": CANARY,
                    "Last-Event-ID": CANARY,
                    "Mcp-Session-Id": CANARY,
                    "MCP-Protocol-Version": CANARY,
                },
                "body": {"jsonrpc": "2.0", "id": CANARY, "method": CANARY, "params": secret},
            },
            "response": {
                "status": 500 if number else 200,
                "headers": {"Content-Type": "text/event-stream", "Set-Cookie": CANARY, "Location": f"/{CANARY}"},
                "chunks": [
                    f": {CANARY}\nid: {CANARY}\nevent: {CANARY}\ndata: {CANARY}\n{CANARY}: {CANARY}\n\n",
                    f'data: {{"jsonrpc":"2.0","id":"{CANARY}","error":{{"code":1,"message":"{CANARY}"}}}}\n\n',
                    f"data: {CANARY}",
                ],
                "ended": "server_reset",
                "reset_code": CANARY,
            },
        }

    document = {
        "profile": "stable-2025-11-25",
        "tuple": {"client": {"name": f"a {CANARY} b", "version": "1"}, "endpoint": f"https://a/{CANARY}?k={CANARY}"},
        "exchanges": [call(0), call(1)],
    }
    results = results_of(document)
    assert len(results.findings) > 5
    for name, form in FORMS.items():
        assert CANARY.lower() not in form.render(results).lower(), name


@given(texts)
@settings(max_examples=60)
def test_whatever_the_text_every_form_says_the_same_and_the_page_stays_whole(text: str) -> None:
    document = {
        "profile": "stable-2025-11-25",
        "tuple": {"client": {"name": text, "version": text}},
        "exchanges": [
            {
                "id": f"x{text}",
                "request": {
                    "method": "POST",
                    "path": f"/{text}",
                    "headers": {"Accept": text, "X": text},
                    "body": {"jsonrpc": "2.0", "id": text, "method": text, "params": {"name": text}},
                },
                "response": {
                    "status": 200,
                    "headers": {"Content-Type": "text/event-stream"},
                    "chunks": [f"id: {text}\ndata: {text}\n\n", text],
                    "disconnected": True,
                },
            }
        ],
    }
    results = results_of(document)
    for name, form in FORMS.items():
        assert READERS[name](form.render(results)) == findings_in(results), name
    page = FORMS["html"].render(results)
    assert page.count("<script") == 2 and page.count("</script") == 2
    [exchange] = html_data(page)["conversations"][0]["exchanges"]
    assert exchange["id"].isprintable()


@pytest.mark.parametrize(
    "exchanges", [None, [], [3], [{"id": 1}], [{"id": "a", "request": {"method": "GET", "headers": {}}}]]
)
def test_a_document_of_any_form_has_a_timeline(exchanges: object) -> None:
    seen = timeline({"profile": "stable-2025-11-25", "exchanges": exchanges})
    assert len(seen.exchanges) == (exchanges is not None and "request" in str(exchanges))
