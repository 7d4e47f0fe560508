"""An operator's words for the tuple are in report and transcript; names of tools are in nothing, where asked for."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.io import FlowReader

from mcp_wire.cli.main import main
from mcp_wire.live.options import OPTIONS, command_lines, refusal, repair_deferred, settings_of
from mcp_wire.transcript.reading import read_document
from mcp_wire.validation import validate
from tests.live.mcp import POST
from tests.live.peers import EVENT_STREAM_HEAD, LAST_CHUNK, Received, Server, ask, chunked
from tests.live.test_options import GOOD, Unconverted
from tests.peers.proxy import mitmdump
from tests.peers.web import mitmweb

# --- the words ---

ALLOWED = "allowed is NAME=VALUE, with commas between them, or nothing."


@pytest.mark.parametrize(
    "words",
    ["", " ", "tls=none", "sdk=python-sdk/2.3.0, sdk=typescript-sdk/1.32.2,runtime=CPython/3.13.0", "server=a/1"],
)
def test_words_that_are_taken(words: str) -> None:
    assert refusal("mcp_tuple", words) is None


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("sdk", "it has to be NAME=VALUE"),
        ("sdk=python-sdk/2.3.0,", "it has to be NAME=VALUE"),
        ("sdk=python-sdk/2.3.0,typescript-sdk/1.32.2", "it has to be NAME=VALUE"),
        ("tls=none,tls=TLSv1.3", "tls is said twice"),
        ("failure_time=yesterday", "failure_time has to be a time with its zone, as in 2026-11-30T09:30:00Z, or a day"),
        ("client=qX7fKz02LmWv9RbTc5JdYs8P", "client has to be a name and a version, as in example-client/1.4.0"),
    ],
)
def test_words_that_are_refused_are_not_repeated(words: str, why: str) -> None:
    assert refusal("mcp_tuple", words) == f"mcp_tuple is refused: {why}; {ALLOWED}"


def test_a_part_that_is_none_is_refused_with_those_that_are() -> None:
    problem = refusal("mcp_tuple", "gateway=nginx/1.22")
    assert problem is not None and problem.startswith("mcp_tuple is refused: a part of the tuple is one of client, ")


def test_given_twice_it_says_how_to_give_more_than_one() -> None:
    deferred: dict[str, Any] = {"mcp_tuple": Unconverted("sdk=a/1", "tls=none"), "mcp_redact_names": True}
    refusals, _ = repair_deferred(deferred)
    allowed = ALLOWED.removeprefix("allowed is ")
    said = f"mcp_tuple was set 2 times (sdk=a/1, tls=none); allowed is once, {allowed}"
    assert refusals == [said]
    assert deferred == {"mcp_redact_names": "true"}


def test_what_is_made_of_flows_is_made_with_the_same_options() -> None:
    settings = settings_of(
        GOOD
        | {
            "mcp_tuple": "sdk=a/1,tls=none",
            "mcp_redact_names": "true",
            "mcp_extended": "true",
            "mcp_profile": "stable-2025-11-25",
        }
    )
    common = ("--tuple", "sdk=a/1", "--tuple", "tls=none", "--extended", "--redact-names")
    assert command_lines(settings) == {"convert": (*common, "--profile", "stable-2025-11-25"), "validate": common}
    assert command_lines(settings_of(GOOD)) == {"convert": (), "validate": ()}
    assert OPTIONS["mcp_redact_names"].default == "false"


# --- a run ---

TOOLS = ("weigh_crates", "tare-scales", "Kisten wägen")
WORDS = (
    "sdk=python-sdk/2.3.0,sdk=mcp-types/2.3.0,runtime=CPython/3.13.0,"
    "intermediaries=none,client=other/9,failure_time=2026-11-30"
)
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "example-client", "version": "1.4.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
LISTED = [
    {"name": TOOLS[0], "title": TOOLS[0], "description": f"{TOOLS[0]} weighs", "inputSchema": {"type": "object"}},
    {
        "name": TOOLS[1],
        "inputSchema": {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": TOOLS[1]}}},
    },
    {"name": TOOLS[2], "inputSchema": {"type": "object"}},
]


def script(received: Received) -> None:
    message = json.loads(received.body)
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    name = message["params"].get("name")
    if message["method"] == "tools/list":
        answer["result"] = {"resultType": "complete", "tools": LISTED, "ttlMs": 0, "cacheScope": "private"}
    elif message["id"] == "unknown":
        answer["error"] = {"code": -32602, "message": f"Unknown tool: {name}", "data": {name: name}}
    else:
        answer["result"] = {"resultType": "complete", "content": [{"type": "text", "text": f"{name}: done"}]}
    text = json.dumps(answer).encode()
    if message["id"] == "streamed":
        data = b"data: " + text + b"\n\n"
        at = data.index(b"_crates") + 3
        received.send(EVENT_STREAM_HEAD, chunked(b": " + TOOLS[0].encode() + b"\n\n", data[:at], data[at:]), LAST_CHUNK)
        return
    status = b"400 Bad Request" if "error" in answer else b"200 OK"
    head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(text))
    received.send(head, text)


def talk(port: int) -> None:
    post(port, 1, "tools/list", {}, None)
    post(port, 2, "tools/call", {"name": TOOLS[0]}, TOOLS[0])
    post(port, 3, "tools/call", {"name": TOOLS[2]}, f"=?base64?{base64.b64encode(TOOLS[2].encode()).decode()}?=")
    post(port, 4, "tools/call", {"name": TOOLS[0]}, TOOLS[1])
    post(port, "unknown", "tools/call", {"name": TOOLS[1], "arguments": {"tool": TOOLS[0]}}, TOOLS[1])
    post(port, "streamed", "tools/call", {"name": TOOLS[0]}, TOOLS[0])


def post(port: int, identifier: object, method: str, params: dict[str, Any], name: str | None) -> None:
    body = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": {**params, "_meta": META}}
    headers = {**POST, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Connection": "close"}
    mirrored = {} if name is None else {"Mcp-Name": name}
    ask(port, "POST", "/mcp", headers | mirrored, json.dumps(body).encode()).reader.rest()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of one run of mitmdump with both options, after it."""
    folder = tmp_path_factory.mktemp("run")
    options = (
        f"mcp_tuple={WORDS}",
        "mcp_redact_names=true",
        "mcp_reports=human,jsonl,sarif,junit,markdown,html,har",
        "flow_detail=0",
        f"save_stream_file={folder / 'flows.mitm'}",
    )
    upstream = Server()
    upstream.scripts["/mcp"] = script
    with upstream.running(), mitmdump(f"http://127.0.0.1:{upstream.port}", folder, *options) as port:
        talk(port)
    yield folder


def assert_no_name_in(text: str) -> None:
    for name in TOOLS:
        for written in (name, json.dumps(name)[1:-1], name.encode().decode("latin-1")):
            assert written not in text, text
        assert base64.b64encode(name.encode()).decode() not in text, text


def transcript_of(folder: Path) -> Path:
    [transcript] = (folder / "output" / "transcripts").glob("*.json")
    return transcript


@pytest.mark.peers
def test_the_words_are_in_the_report_and_in_the_transcript(run: Path) -> None:
    [report] = json.loads((run / "output" / "report.json").read_text())["conversations"]
    assert report["tuple"] == {
        "client": {"name": "example-client", "version": "1.4.0"},
        "sdk": ["python-sdk/2.3.0", "mcp-types/2.3.0"],
        "runtime": ["CPython/3.13.0"],
        "intermediaries": [],
        "endpoint": "/mcp",
        "revision": "2026-07-28",
        "http_version": "HTTP/1.1",
        "tls": "none",
        "failure_time": "2026-11-30",
    }
    assert report["tuple_unknown"] == ["server", "request_ids", "reproduction"]
    assert json.loads(transcript_of(run).read_text())["tuple"] == report["tuple"]
    assert "not known server, request_ids, reproduction (--tuple NAME=VALUE tells)" in (
        " ".join((run / "output" / "report.txt").read_text().split())
    )


@pytest.mark.peers
def test_the_transcript_says_the_same_offline(run: Path) -> None:
    [live] = json.loads((run / "output" / "report.json").read_text())["conversations"]
    offline = validate(read_document(transcript_of(run).read_bytes()))
    assert dict(offline.interoperability_tuple) == live["tuple"]
    assert list(offline.tuple_unknown) == live["tuple_unknown"]
    assert [(one.code, one.path, one.count, one.message) for one in offline.findings] == [
        (one["code"], one["path"], one["count"], one["message"]) for one in live["findings"]
    ]
    messages = {one.code: one.message for one in offline.findings}
    assert messages["name_header_mismatch"].count("tool-") == 2
    assert "The definition of tool tool-2 is invalid" in messages["invalid_tool_header_annotation"]


@pytest.mark.peers
def test_no_name_is_in_anything_that_is_written_or_said(run: Path) -> None:
    written = [path for path in (run / "output").rglob("*") if path.is_file() and path.name != ".in-use"]
    assert {path.suffix for path in written} == {*(".json", ".jsonl", ".txt", ".sarif", ".xml", ".md", ".html", ".har")}
    for path in written:
        assert_no_name_in(path.read_text())
    log = (run / "mitmdump.log").read_text()
    assert "POST tools/call tool-1, x-4 of " in log
    assert_no_name_in(log)
    with (run / "flows.mitm").open("rb") as file:
        flows = list(FlowReader(file).stream())
    assert len(flows) == 6
    for flow in flows:
        assert_no_name_in(repr([flow.comment, flow.marked, flow.metadata]))


@pytest.mark.peers
def test_header_and_body_mirror_each_other_as_they_did(run: Path) -> None:
    mirrored = []
    for exchange in json.loads(transcript_of(run).read_text())["exchanges"][1:]:
        mirrored.append((exchange["request"]["headers"]["Mcp-Name"], exchange["request"]["body"]["params"]["name"]))
    encoded = f"=?base64?{base64.b64encode('tool-3!é'.encode()).decode()}?="
    assert mirrored == [
        ("tool-1", "tool-1"),
        (encoded, "tool-3!é"),
        ("tool-2", "tool-1"),
        ("tool-2", "tool-2"),
        ("tool-1", "tool-1"),
    ]


@pytest.mark.peers
def test_the_flow_file_converted_is_the_same_transcript(run: Path) -> None:
    words = [part for word in WORDS.split(",") for part in ("--tuple", word)]
    folder = run / "converted"
    assert main(["convert", str(run / "flows.mitm"), "--output", str(folder), "--redact-names", *words]) == 0
    assert (folder / f"flows.{transcript_of(run).name}").read_bytes() == transcript_of(run).read_bytes()


@pytest.mark.peers
def test_nor_in_what_mitmweb_shows_and_makes(tmp_path: Path) -> None:
    upstream = Server()
    upstream.scripts["/mcp"] = script
    options = ("mcp_redact_names=true", "mcp_view_redacted=true", "mcp_tuple=sdk=python-sdk/2.3.0")
    with upstream.running(), mitmweb(f"http://127.0.0.1:{upstream.port}", tmp_path, *options) as web:
        talk(int(web.proxy.rpartition(":")[2]))
        web.commented("tools/call tool-1", "name_header_mismatch")
        journal = web.until(lambda: _with((tmp_path / "output" / "journal").glob("*.jsonl"), '"x-6"'))
        findings, profile = web.call("mcp.findings", "@all"), web.call("mcp.profile", "@all")
        folder, report = tmp_path / "made", tmp_path / "report.json"
        web.call("mcp.convert", str(folder), "@all")
        web.call("mcp.report", "json", str(report), "@all")
        for made in (f"The transcripts in {folder}", f"The report {report}"):
            web.until(lambda made=made: f"{made}: written." in json.dumps(web.get("/events")) or None)  # type: ignore[misc]
        shown = [
            web.until(
                lambda flow=flow, part=part: (  # type: ignore[misc]
                    text if "made ready" not in (text := web.text(flow["id"], part)) else None
                )
            )
            for flow in web.flows()
            for part in ("request", "response")
        ]
        with pytest.raises(Exception, match="400"):
            web.put("/options", {"mcp_redact_names": "false"})
        events, comments = json.dumps(web.get("/events")), [flow["comment"] for flow in web.flows()]
    assert any("tools/call tool-1" in line for line in findings)
    assert "= Mcp-Name: tool-1 " in shown[2]
    assert "≠ Mcp-Name: tool-2 " in shown[6]
    assert "Judged as stable-2026-07-28" in shown[2]
    assert [comment.split(" · ")[1] for comment in comments] == [
        *("tools/list", "tools/call tool-1", "tools/call tool-3!é", "tools/call tool-1", "tools/call tool-2"),
        "tools/call tool-1",
    ]
    made_of_it = [path.read_text() for path in [*folder.iterdir(), report]]
    for text in (journal, *findings, *profile, *shown, events, *comments, *made_of_it):
        assert_no_name_in(text)
    assert json.loads(report.read_text())["tuple"]["sdk"] == ["python-sdk/2.3.0"]


def _with(paths: Iterator[Path], word: str) -> str | None:
    with contextlib.suppress(OSError):
        return next((text for path in paths if word in (text := path.read_text())), None)
    return None
