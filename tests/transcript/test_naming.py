"""Names that a person gave to exchanges are shown only where they tell nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.privacy.plain_names import is_plain
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.reports.forms import FORMS
from mcp_wire.reports.model import NamedReport, Results
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.naming import Names, plainly_named
from mcp_wire.validation import redacted_timeline, validate
from tests.privacy.planted_secrets import BY_SHAPE

CANARY = "qX7fKz02LmWv9RbTc5JdYs8P"


@pytest.mark.parametrize(
    "name",
    ["x-1", "exchange-12", "post-initialize", "call-a", "l1", "tools-list", "CALL_2", "overlap-1", "1", "x-9999"],
)
def test_names_that_stay(name: str) -> None:
    assert is_plain(name)


@pytest.mark.parametrize(
    "name",
    [
        *("alice", "acme-call", "hunter2", "req-7f3a", "x-12345", "4155551234", "1-2-3-4-5-x", "h-u-n-t", "call 1"),
        *("call-", "-", "call.1", "a-1-b-2", "x-01234", "calls-41-555", "-".join(["call"] * 7), "call\n", "call-é"),
    ],
)
def test_names_that_could_be_anybodys(name: str) -> None:
    assert not is_plain(name)


def test_our_own_numbers_go_as_far_as_there_are_names() -> None:
    assert is_plain("x-12345", 12345)
    assert not is_plain("x-12345", 12344)


NAMES = st.lists(
    st.one_of(
        st.sampled_from(["x-1", "x-2", "x-3", "call", "alice", "bob", "acme-7", "x-12345", "x-0"]), st.text(max_size=3)
    )
)


@given(NAMES, NAMES)
def test_equal_and_different_names_stay_so_and_twice_is_once(exchanges: list[str], groups: list[str]) -> None:
    names = Names(exchanges, groups)
    shown, shown_groups = [*map(names.exchange, exchanges)], [*map(names.group, groups)]
    assert len(set(shown)) == len(set(exchanges))
    assert len(set(shown_groups)) == len(set(groups))
    assert Names(shown, shown_groups).all_stay


def transcript() -> Any:
    """One exchange that contradicts the rules in several ways, and its other side."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {}}}
    request = {"method": "POST", "path": "/mcp", "headers": {"Content-Type": "text/plain"}, "body": body}
    response = {"status": 200, "headers": {"Content-Type": "text/event-stream"}, "chunks": ["data: {\n\n"]}
    one = {"id": CANARY, "concurrent_group": f"g {CANARY}", "request": request, "response": response, "started_ms": "x"}
    other = {"id": f"{CANARY}-2", "server_side_of": CANARY, "request": request | {"method": 5}}
    cut = {"id": "call", "request": request, "response": response | {"ended": "server_closed"}}
    return {"profile": "stable-2025-11-25", "payloads": "shape", "exchanges": [one, other, one, cut]}


@pytest.mark.parametrize("form", FORMS)
def test_no_report_shows_a_name_that_could_be_anybodys(form: str) -> None:
    document, redactor = Document(transcript()), Redactor()
    report = validate(document, redactor=redactor)
    detail = FORMS[form].detail
    timeline = None if detail is None else redacted_timeline(document, report, redactor, detail)
    named = NamedReport("capture.json", report, timeline, ())
    text = FORMS[form].render(Results((named,), (), "error"))
    assert CANARY not in text
    assert {finding.exchange for finding in report.findings} >= {"x-1", "x-2"}


def test_findings_do_not_depend_on_names() -> None:
    document = transcript()
    plain = plainly_named(Document(document)).value
    assert json.loads(json.dumps(plain).replace(CANARY, "")) == plain
    first, second = validate(Document(document)), validate(Document(plain))
    assert first.findings == second.findings
    assert first.recovery == second.recovery


def test_a_secret_in_a_name_is_still_told() -> None:
    [token] = BY_SHAPE["npm token"]
    document = transcript()
    document["exchanges"][0]["id"] = f"call {token}"
    found = [finding for finding in validate(Document(document)).findings if finding.code == "unredacted_secret"]
    assert [(finding.path, finding.exchange) for finding in found] == [("/exchanges/0/id", "x-1")]
