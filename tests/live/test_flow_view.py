"""Flows in the content view: live and stored, whole and in part, coded and plain, raw and redacted."""

from __future__ import annotations

import json
import zlib
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mitmproxy import contentviews, http
from mitmproxy.test import taddons

from mcp_wire.live.content_view import MCPContentview
from mcp_wire.live.flow_notes import put_notes
from mcp_wire.live.flow_view import FlowView
from mcp_wire.live.marks import CHUNKS, EDGE_MARKS, EDGES, ENDED, MARK, MAX_MARKS, RECEIVED, UNSEEN_BOUNDARIES
from mcp_wire.live.session_labels import SessionLabels
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.reports.exchange_notes import ExchangeNotes, NotedFinding
from tests.live.flows import answered, ended, flow, streamed

CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "slow", "arguments": {"a": 1}}}
RESULT = {"jsonrpc": "2.0", "id": 7, "result": {"content": []}}
PIECES = [b"id: 1\ndata:\n\nid: 2\nda", b'ta: {"jsonrpc":"2.0","id":7,"resu', b'lt":{}}\n\n']
NOTES = ExchangeNotes(
    profile="stable-2025-11-25",
    why="because",
    is_judged=True,
    transcript="transcripts/a.json",
    index=0,
    what="POST tools/call slow",
    events=2,
    is_stream=True,
    has_ended=True,
    findings=(NotedFinding("wrong", "error", "server", "/exchanges/0/response/chunks/1", "It is wrong."),),
)


def view() -> FlowView:
    return FlowView(SessionLabels())


def called(**headers: str) -> http.HTTPFlow:
    return flow(json.dumps(CALL).encode(), headers={"Content-Type": "application/json", **headers})


def test_a_stream_that_runs() -> None:
    text = view().response(streamed(called(), PIECES))
    assert "Not judged yet" in text
    assert "Still running after 0.300 s: 2 events in 3 chunks, 63 bytes so far" in text
    assert "── event 0 · +0.100 s · chunk 0 · empty data ──" in text
    assert "── event 1 · +0.300 s · chunks 0–2 · result id 7 ──" in text
    assert 'da⟨1⟩ta: {\n  "jsonrpc": "2.0",\n  "id": 7,\n  "resu⟨2⟩lt": {}\n}' in text


def test_a_stream_that_is_over_with_its_findings() -> None:
    made = ended(streamed(called(), PIECES), "server_closed")
    put_notes(made, NOTES, annotate=False)
    text = view().response(made)
    assert "Ended after 2.000 s: 2 events in 3 chunks, 63 bytes · the server closed the connection" in text
    assert "  █ error wrong: the server must act\n  █ It is wrong." in text.partition("── event 1")[2]


def test_a_stream_that_passed_a_proxy_without_marks() -> None:
    """Loaded from a file of plain mitmproxy: the body is there, and nothing is known of its chunks."""
    made = streamed(called(), PIECES)
    made.live = False
    made.metadata.clear()
    assert made.response is not None
    made.response.timestamp_end = made.request.timestamp_start + 3
    text = view().response(made)
    assert "Where the stream was cut into chunks was not kept." in text
    assert "Ended after 3.000 s: 2 events in 63 bytes · complete" in text
    assert "⟨1⟩" not in text


@pytest.mark.parametrize(
    "metadata",
    [
        {CHUNKS: b"odd"},
        {CHUNKS: MARK.pack(1, 7)},
        {CHUNKS: "text"},
        {EDGES: b"\xff" * 40},
        {EDGES: b"short"},
        {EDGES: 7},
    ],
)
def test_marks_that_do_not_fit_are_taken_for_absent(metadata: dict[str, object]) -> None:
    made = streamed(called(), PIECES)
    made.metadata.clear()
    made.metadata.update(metadata)
    assert "Where the stream was cut into chunks was not kept." in view().response(made)


def test_boundaries_that_were_not_seen_are_not_shown() -> None:
    made = streamed(called(), PIECES)
    made.metadata[UNSEEN_BOUNDARIES] = True
    assert "Where the stream was cut into chunks was not kept." in view().response(made)


def test_a_stream_with_more_chunks_than_marks_shows_those_at_its_ends() -> None:
    pieces = [b"data: {}\n\n"] * (MAX_MARKS + 1_000)
    made = streamed(called(), pieces)
    assert len(made.metadata[CHUNKS]) == 0
    assert len(made.metadata[EDGES]) < 3 * EDGE_MARKS * MARK.size
    text = view().response(made)
    last = len(pieces) - 1
    assert "Of its many chunks only the first and the last were kept apart." in text
    assert "── event 0 · +0.100 s · chunk 0 ·" in text
    assert f"── event {last} · +{(last + 1) / 10:.3f} s · chunk {last} ·" in text
    assert f"in {len(pieces)} chunks" in text


def test_a_content_coded_stream_is_cut_where_its_chunks_are() -> None:
    compressor = zlib.compressobj(wbits=31)
    coded = [compressor.compress(piece) + compressor.flush(zlib.Z_SYNC_FLUSH) for piece in PIECES]
    text = view().response(streamed(called(), coded, **{"Content-Encoding": "gzip"}))
    assert '"resu⟨2⟩lt": {}' in text
    cut = view().response(streamed(called(), [coded[0], b"\xff\xff\xff"], **{"Content-Encoding": "gzip"}))
    assert "Not all of the stream could be decoded" in cut
    assert "id: 2" in cut
    unknown = view().response(streamed(called(), coded, **{"Content-Encoding": "rot13"}))
    assert "Not all of the stream could be decoded" in unknown


def test_only_the_beginning_was_kept() -> None:
    made = ended(streamed(called(), PIECES))
    made.metadata[RECEIVED] = 10**9
    assert "Only the first 63 bytes of the body were kept." in view().response(made)


def test_a_json_answer() -> None:
    made = ended(answered(called(), json.dumps(RESULT).encode()))
    text = view().response(made)
    assert text.startswith("200 application/json\n")
    assert text.endswith('{\n  "jsonrpc": "2.0",\n  "id": 7,\n  "result": {\n    "content": []\n  }\n}')
    empty = ended(answered(called(), b"", status=202, headers={"Content-Length": "0"}))
    assert view().response(empty).endswith("(an empty body)")


def test_a_request() -> None:
    made = called(**{"Mcp-Method": "tools/list", "Accept": "application/json"})
    text = view().request(made)
    assert "≠ Mcp-Method: tools/list   the body says tools/call" in text
    assert "  Accept: application/json" in text
    assert text.endswith("}")
    made.request.raw_content = None
    assert view().request(made).endswith("(no body: it was not captured)")


def test_a_large_request_is_shown_and_not_compared() -> None:
    made = flow(json.dumps({**CALL, "params": {"x": "y" * 2_000_000}}).encode(), headers={"Mcp-Method": "ping"})
    text = view().request(made)
    assert "? Mcp-Method: ping" in text
    assert "more characters" in text
    assert len(text) < 10_000


def test_header_octets_that_are_no_text() -> None:
    made = called()
    made.request.headers.fields = ((b"Mcp-Method", b"\xff\xfe\x1b[2J"),)
    assert "\x1b" not in view().request(made)


# Redaction

SECRET = "canary-7c1f0a93be"
SESSION = "f00dfeed0123456789abcdef01234567"


def secretive(body: bytes | None = None) -> http.HTTPFlow:
    call = {**CALL, "id": SECRET, "params": {"name": "slow", "arguments": {SECRET: SECRET}}}
    made = flow(
        json.dumps(call).encode() if body is None else body,
        headers={"Mcp-Session-Id": SESSION, "Authorization": f"Bearer {SECRET}", "Last-Event-ID": SECRET},
    )
    made.request.path = f"/mcp?token={SECRET}"
    return made


def redacting() -> FlowView:
    sessions = SessionLabels()
    sessions.of(flow(headers={"Mcp-Session-Id": "another"}))
    sessions.of(secretive())
    made = FlowView(sessions)
    made.redact()
    made.redact_with(Redactor())
    return made


def test_raw_values_are_shown_unless_redaction_is_asked_for() -> None:
    assert SECRET in view().request(secretive())


def test_a_redacted_request_shows_labels_those_of_the_flow_list() -> None:
    text = redacting().request(secretive())
    assert SECRET not in text
    assert SESSION not in text
    assert "Mcp-Session-Id: session-A" in text  # the one before it was a weak one
    assert '"name": "slow"' in text
    large = redacting().request(secretive(json.dumps({"x": SECRET, "y": "z" * 2_000_000}).encode()))
    assert SECRET not in large
    assert "too large to be shown here" in large


def test_a_redacted_answer_shows_labels() -> None:
    result = {"jsonrpc": "2.0", "id": SECRET, "result": {"content": [{"type": "text", "text": SECRET}]}}
    text = redacting().response(answered(secretive(), json.dumps(result).encode()))
    assert SECRET not in text
    assert '"type": "text"' in text
    assert SECRET not in redacting().response(answered(secretive(), SECRET.encode()))
    assert SECRET not in redacting().response(answered(secretive(), json.dumps([SECRET] * 200_000).encode()))


def test_redaction_that_is_not_ready_shows_nothing() -> None:
    made = FlowView(SessionLabels())
    made.redact()
    for text in (made.request(secretive()), made.response(answered(secretive(), SECRET.encode()))):
        assert SECRET not in text
    made.show_values()
    assert SECRET in made.request(secretive())
    made.redact_with(Redactor())  # late: it is no longer wanted
    assert SECRET in made.request(secretive())


@settings(max_examples=150, deadline=None)
@given(places=st.lists(st.integers(1, 250), max_size=8), crlf=st.booleans(), whole=st.booleans())
def test_a_redacted_stream_shows_labels_and_the_cuts_stay_in_their_places(
    places: list[int], crlf: bool, whole: bool
) -> None:
    message = {"jsonrpc": "2.0", "id": SECRET, "result": {"content": [{"type": "text", "text": f"say {SECRET}"}]}}
    data = f": {SECRET}\n\nid: {SECRET}\nevent: {SECRET}\ndata: {json.dumps(message)}\n\ndata: {SECRET}\n\n".encode()
    data = data if whole else data[:-2]
    data = data.replace(b"\n", b"\r\n") if crlf else data
    edges = [0, *sorted({place for place in places if place < len(data)}), len(data)]
    pieces = [data[start:end] for start, end in pairwise(edges)]
    raw, redacted = view().response(streamed(called(), pieces)), redacting().response(streamed(called(), pieces))
    assert SECRET not in redacted
    assert SECRET[:9] not in redacted
    assert redacted.count("⟨") == raw.count("⟨") == len(pieces) + 1

    def headings(text: str) -> list[list[str]]:
        lines = [line.strip("─ ") for line in text.split("\n") if line.startswith("──")]
        return [line.split(" · ")[:3] for line in lines]

    assert headings(redacted) == headings(raw)


# The content view itself


def test_the_view_is_chosen_for_mcp_only() -> None:
    known: set[str] = set()
    mcp = MCPContentview(view(), lambda made: made.id in known)
    made = ended(answered(called(), json.dumps(RESULT).encode()))
    contentviews.registry.register(mcp)

    def chosen(message: http.Message) -> str | None:
        return contentviews.prettify_message(message, made).view_name

    assert made.response is not None
    with taddons.context():  # type: ignore[no-untyped-call]
        assert [chosen(made.request), chosen(made.response)] == ["JSON", "JSON"]
        known.add(made.id)
        assert [chosen(made.request), chosen(made.response)] == ["MCP", "MCP"]
        result = contentviews.prettify_message(made.response, made, "mcp")
    assert result.text.startswith("200 application/json")


def test_the_view_of_a_stored_ending() -> None:
    made = ended(streamed(called(), PIECES), "client_closed")
    made.live = False
    assert made.metadata[ENDED] == "client_closed"
    assert view().response(made).rstrip("─ ").endswith("── the client closed the connection")
