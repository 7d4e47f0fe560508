"""One exchange as text: what was on the wire, in order, with what is to be said of it where it belongs."""

from __future__ import annotations

from itertools import accumulate

from mcp_wire.reports.exchange_notes import ExchangeNotes, NotedAdvice, NotedFinding
from mcp_wire.reports.exchange_view import (
    MAX_BODY_LINES,
    MAX_DATA_LINES,
    RequestView,
    ResponseView,
    event_number,
    request_text,
    response_text,
    wanted_events,
)
from mcp_wire.reports.header_checks import HeaderCheck
from mcp_wire.reports.shown_stream import ChunkRun, Chunks, Selection, shown_stream
from mcp_wire.wire.observation import Ended

ABOUT_REQUEST = NotedFinding(
    "invalid_post_accept",
    "error",
    "client",
    "/exchanges/2/request/headers",
    "The POST's Accept does not list text/event-stream.",
    "List both.",
    "2025-11-25 basic/transports#sending-messages-to-the-server",
    "https://example.com/clause",
)
ABOUT_EVENT = NotedFinding(
    "wrong_thing", "warning", "server", "/exchanges/2/response/chunks/1", "It is wrong.", count=3,
    last_path="/exchanges/2/response/chunks/9",
)  # fmt: skip
ABOUT_STREAM = NotedFinding("no_answer", "error", "server", "/exchanges/2/response/chunks", "No answer came.")
NOTES = ExchangeNotes(
    profile="stable-2025-11-25",
    why="the answer to initialize named the revision for this session",
    is_judged=True,
    transcript="transcripts/stable-2025-11-25.endpoint-1.session-1.json",
    index=2,
    what="POST tools/call slow",
    events=2,
    chunks=3,
    is_stream=True,
    has_ended=True,
    findings=(ABOUT_REQUEST, ABOUT_EVENT, ABOUT_STREAM),
    advice=NotedAdvice("resume-with-get", "GET the endpoint with Last-Event-ID."),
    session="session-A",
)
PIECES = [
    b'id: 1\nretry: 500\ndata:\n\nid: 2\ndata: {"jsonrpc":"2.0","met',
    b'hod":"notifications/progress"}\n\n: still here\n\nda',
    b"ta: cut",
]
DATA = b"".join(PIECES)
CHUNKS = Chunks((ChunkRun(0, 0, list(accumulate(map(len, PIECES))), [12.0, 530.5, 1204.0]),))


def response(**changed: object) -> ResponseView:
    values: dict[str, object] = {
        "status": 200,
        "media_type": "text/event-stream",
        "stream": shown_stream(DATA, CHUNKS, Selection()),
        "ended": Ended.SERVER_CLOSED,
        "octets": len(DATA),
        "chunks": 3,
        "lasted_ms": 1300.0,
        "notes": NOTES,
    }
    return ResponseView(**(values | changed))  # type: ignore[arg-type]


def test_a_response_from_its_beginning_to_its_end() -> None:
    assert response_text(response()) == (
        """\
200 text/event-stream
2 errors: invalid_post_accept, no_answer, 1 warning: wrong_thing ×3
Judged as stable-2025-11-25: the answer to initialize named the revision for
  this session
POST tools/call slow · session-A
x-3 of transcripts/stable-2025-11-25.endpoint-1.session-1.json
Ended after 1.300 s: 2 events in 3 chunks, 112 bytes · the server closed the connection
What to do: resume-with-get. GET the endpoint with Last-Event-ID.
At event 1: wrong_thing

█ error no_answer: the server must act
█ No answer came.

1 finding about the request: see there.

⟨n⟩ stands where the bytes of chunk n begin. Times count from the request.

── event 0 · +0.012 s · chunk 0 · empty data ───────────────────────────────────
⟨0⟩id: 1
retry: 500
data:

── event 1 · +0.530 s · chunks 0–1 · notifications/progress ────────────────────
id: 2
data: {
  "jsonrpc": "2.0",
  "met⟨1⟩hod": "notifications/progress"
}
  ▓ warning wrong_thing: the server must act, 3 times, last at
  ▓ /exchanges/2/response/chunks/9
  ▓ It is wrong.

── event 2 · +0.530 s · chunk 1 · comment ──────────────────────────────────────
: still here

── event 3 · +1.204 s · chunks 1–2 · cut before its end: clients discard it ────
da⟨2⟩ta: cut

── the server closed the connection ────────────────────────────────────────────"""
    )


def test_a_response_that_still_runs() -> None:
    text = response_text(response(is_running=True, ended=None, lasted_ms=None, notes=None))
    assert "Not judged yet" in text
    assert "Still running: 2 events in 3 chunks, 112 bytes so far" in text
    assert "── event 3 · +1.204 s · chunks 1–2 · not complete yet ─" in text
    assert text.endswith("── still running ───────────────────────────────────────────────────────────────")


def test_a_stream_of_which_nothing_has_come() -> None:
    empty = shown_stream(b"", Chunks(), Selection())
    text = response_text(response(stream=empty, is_running=True, ended=None, chunks=0, octets=0, notes=None))
    assert "No event yet." in text


def test_a_long_stream_says_what_it_leaves_out_and_keeps_findings() -> None:
    stream = shown_stream(b"data: {}\n\n" * 100_000, Chunks(), Selection(frozenset({50_000})))
    far = NotedFinding("far", "error", "server", "/exchanges/2/response/chunks/50000", "Here.")
    beyond = NotedFinding("beyond", "error", "server", "/exchanges/2/response/chunks/60000", "There.")
    notes = NOTES.__class__(**{name: getattr(NOTES, name) for name in NOTES.__slots__} | {"findings": (far, beyond)})
    text = response_text(response(stream=stream, boundaries_known=False, chunks=None, notes=notes))
    lines = text.split("\n")
    assert len(lines) < 400
    assert "Where the stream was cut into chunks was not kept." in lines
    gaps = [line.rstrip("─ ") for line in lines if "not shown" in line]
    assert gaps == [
        "── 49980 events not shown (499 798 bytes): the raw view has them",
        "── 49979 events not shown (499 788 bytes): the raw view has them",
        "── event 60000, not shown",
    ]
    at = lines.index("  █ error far: the server must act")
    assert lines[at - 2].startswith("── event 50000 ")
    assert "  █ There." in lines


def test_a_request_with_its_headers_and_its_findings() -> None:
    view = RequestView(
        method="POST",
        target="/mcp",
        checks=(
            HeaderCheck("Mcp-Method", "tools/call", "agrees", "the body says the same"),
            HeaderCheck("Mcp-Name", "a", "differs", "params.name is b"),
            HeaderCheck("MCP-Protocol-Version", None, "alone", "the revision in force is 2025-11-25"),
        ),
        body='{"jsonrpc":"2.0"}',
        notes=NOTES,
    )
    assert request_text(view) == (
        """\
POST /mcp
2 errors: invalid_post_accept, no_answer, 1 warning: wrong_thing ×3
Judged as stable-2025-11-25: the answer to initialize named the revision for
  this session
POST tools/call slow · session-A
x-3 of transcripts/stable-2025-11-25.endpoint-1.session-1.json

█ error invalid_post_accept: the client must act
█ The POST's Accept does not list text/event-stream.
█ clause: 2025-11-25 basic/transports#sending-messages-to-the-server
█   https://example.com/clause
█ fix: List both.

2 findings about the response: see there.

Headers, and what the body says (= the same, ≠ not the same, ? cannot be compared)
= Mcp-Method: tools/call   the body says the same
≠ Mcp-Name: a   params.name is b
  MCP-Protocol-Version: (absent)   the revision in force is 2025-11-25

{
  "jsonrpc": "2.0"
}"""
    )


def test_other_bodies() -> None:
    def last(body: str | None, absent: str = "") -> str:
        return response_text(ResponseView(200, "text/plain", body=body, absent=absent)).split("\n\n")[-1]

    assert last(None, "it was streamed") == "(no body: it was streamed)"
    assert last("") == "(an empty body)"
    assert last("two\nlines\u202e\x1b[2J") == "two\nlines\\u202e\\x1b[2J"
    assert len(last("x\n" * 10_000).split("\n")) == MAX_BODY_LINES + 1
    assert last("x\n" * 10_000).endswith("… 9601 more lines")


def test_an_event_with_a_large_message_is_shown_in_part() -> None:
    data = b"data: [" + b",".join(b"%d" % number for number in range(10_000)) + b"]\n\n"
    text = response_text(response(stream=shown_stream(data, Chunks(), Selection()), notes=None))
    event = text.partition("── event 0")[2].partition("\n\n")[0]
    assert len(event.split("\n")) == MAX_DATA_LINES + 2
    assert "more characters" in event


def test_which_events_findings_point_at() -> None:
    assert wanted_events(NOTES) == {1, 9}
    assert wanted_events(None) == frozenset()
    assert event_number("/exchanges/2/response/chunks/7/data", NOTES) == 7
    for path in (
        "/exchanges/3/response/chunks/7",
        "/exchanges/2/response/chunks/",
        "/",
        "/exchanges/2/response/chunks/²",
    ):
        assert event_number(path, NOTES) is None
