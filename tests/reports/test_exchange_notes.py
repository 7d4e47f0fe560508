"""Notes on an exchange: the line for a flow list, the mark, and the text that travels with a flow."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.io import tnetstring

from mcp_wire.judging.finding import LEVELS, Citation, Finding, Level
from mcp_wire.reports.exchange_notes import (
    MAX_PACKED,
    MAX_TEXT,
    ExchangeNotes,
    Mark,
    NotedAdvice,
    NotedFinding,
    unpacked,
)

PLAIN = ExchangeNotes(
    profile="stable-2025-11-25",
    why="the answer to initialize named the revision for this session",
    is_judged=True,
    transcript="transcripts/stable-2025-11-25.endpoint-1.session-1.json",
    index=2,
    what="POST tools/call slow",
    events=3,
    chunks=7,
    is_stream=True,
    session="session-A",
)


def found(code: str, level: Level = "error", count: int = 1) -> NotedFinding:
    return NotedFinding(code, level, "client", "/exchanges/2/request/headers", "It is wrong.", count=count)


@pytest.mark.parametrize(
    ("notes", "comment", "mark"),
    [
        (
            replace(PLAIN, findings=(found("invalid_post_accept"),)),
            "1 error: invalid_post_accept · tools/call slow · 3 events / 7 chunks · session-A",
            "error",
        ),
        (
            replace(
                PLAIN, findings=(found("w", "warning", 4), found("e"), found("i", "info")), what="POST", session=None
            ),
            "1 error: e, 1 warning: w ×4 · 3 events / 7 chunks",
            "error",
        ),
        (
            replace(PLAIN, findings=tuple(found(f"c{n}", "warning") for n in range(5)), is_stream=False),
            "5 warnings: c0, c1, c2 and 2 more · tools/call slow · session-A",
            "warning",
        ),
        (
            replace(PLAIN, findings=(found("i", "info"),), is_stream=False, what=""),
            "1 info: i · session-A",
            "conforming",
        ),
        (
            replace(PLAIN, events=1, chunks=1),
            "no findings · tools/call slow · 1 event / 1 chunk · session-A",
            "conforming",
        ),
        (replace(PLAIN, is_judged=False, is_stream=False), "not judged · tools/call slow · session-A", "not_judged"),
        (
            replace(PLAIN, advice=NotedAdvice("resume-with-get", "…"), session=None),
            "no findings · tools/call slow · 3 events / 7 chunks · resume-with-get",
            "conforming",
        ),
    ],
)
def test_the_line_for_a_flow_list_and_the_mark(notes: ExchangeNotes, comment: str, mark: Mark) -> None:
    assert (notes.comment, notes.mark) == (comment, mark)


def test_what_is_noted_of_a_finding() -> None:
    finding = Finding(
        code="invalid_post_accept",
        level="error",
        party="client",
        layer="request_construction",
        path="/exchanges/2/request/headers",
        message="x" * 2_000,
        exchange="x-3",
        citation=Citation("2025-11-25", "basic/transports#a", "https://example.com/#a"),
        fix="Send both.",
        count=3,
        last_path="/exchanges/2/request/headers",
    )
    noted = NotedFinding.of(finding)
    assert (noted.clause, noted.url, noted.fix) == (
        "2025-11-25 basic/transports#a",
        "https://example.com/#a",
        "Send both.",
    )
    assert (noted.count, noted.last_path, len(noted.message)) == (3, None, MAX_TEXT)


FINDINGS = st.builds(
    NotedFinding,
    code=st.text(max_size=20),
    level=st.sampled_from(LEVELS),
    party=st.sampled_from(["client", "server", "pipeline"]),
    path=st.text(max_size=20),
    message=st.text(max_size=MAX_TEXT),
    count=st.integers(1, 10**9),
    last_path=st.none() | st.text(max_size=20),
)


@given(
    st.lists(FINDINGS, max_size=5),
    st.text(st.characters(codec=None), max_size=30),
    st.none() | st.builds(NotedAdvice, st.text(max_size=9), st.text(max_size=9)),
)
def test_notes_survive_a_flow_file(findings: list[NotedFinding], text: str, advice: NotedAdvice | None) -> None:
    """Whatever is in them: a value that a flow file cannot hold would cost the whole flow."""
    notes = replace(PLAIN, findings=tuple(findings), what=text, session=text, advice=advice, has_ended=True)
    packed = notes.packed()
    assert packed.isascii()
    assert tnetstring.loads(tnetstring.dumps({"mcp_notes": packed})) == {"mcp_notes": packed}
    read = unpacked(packed)
    assert read is not None
    assert (read.mark, read.left_out, read.index, read.has_ended) == (notes.mark, 0, 2, True)
    assert [(one.level, one.count) for one in read.findings] == [(one.level, one.count) for one in findings]
    assert read.what.isprintable()
    assert unpacked(read.packed()) == read


def test_too_many_findings_are_left_out_from_the_end() -> None:
    many = tuple(replace(found(f"code_{number}"), message="m" * MAX_TEXT, fix="f" * MAX_TEXT) for number in range(32))
    packed = replace(PLAIN, findings=many).packed()
    assert len(packed) <= MAX_PACKED
    read = unpacked(packed)
    assert read is not None
    assert [one.code for one in read.findings] == [f"code_{number}" for number in range(len(read.findings))]
    assert 0 < len(read.findings) == 32 - read.left_out


EDITED = json.loads(replace(PLAIN, findings=(found("e"),)).packed())


@pytest.mark.parametrize(
    "value",
    [
        *(None, 7, b"{}", "", "{", "[]", "null", '"text"', "[" * 100_000, "9" * 200_000),
        json.dumps({}),
        json.dumps(EDITED | {"findings": [{"code": "x"}]}),
        json.dumps(EDITED | {"findings": "none"}),
        json.dumps(EDITED | {"exchange": "seven"}),
        json.dumps(EDITED | {"profile": 7}),
        json.dumps(EDITED | {"findings": [EDITED["findings"][0] | {"level": "fatal"}]}),
        json.dumps(EDITED | {"findings": [EDITED["findings"][0] | {"party": []}]}),
    ],
)
def test_what_is_no_note_is_none(value: object) -> None:
    assert unpacked(value) is None
