"""`--redact-names`: no name of a tool is left in what a command writes, and what was found is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.reports.form_names import FILE_NAMES
from mcp_wire.transcript.journal import JournalHeader, encode
from mcp_wire.transcript.reading import observations, read_document
from mcp_wire.validation import validate
from tests.captures_read.sessions import flow_file, flow_of, session
from tests.cli.test_validate import ROOT, run

TOUR = ROOT / "fixtures/captured/server-everything-2026.8.31/python-sdk-2.3.0-legacy.json"
TOURED = ("get-sum", "get-tiny-image", "trigger-long-running-operation", "simulate-research-query")
NAMES = ("weigh_crates", "tare-scales", "count<crates>")


def exchange(number: int, method: str, params: dict[str, Any], header: str | None, result: Any) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "example-client", "version": "1.4.0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    request = {
        "method": "POST",
        "path": "/mcp",
        "headers": {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
            **({} if header is None else {"Mcp-Name": header}),
        },
        "body": {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": meta}},
    }
    data = "data: " + json.dumps({"jsonrpc": "2.0", "id": number, "result": {"resultType": "complete", **result}})
    response = {
        "status": 200,
        "headers": {"Content-Type": "text/event-stream"},
        "chunks": [data[:-30], f"{data[-30:]}\n\n"],
    }
    return {"id": f"x-{number}", "request": request, "response": response}


def call(number: int, name: str, header: str) -> dict[str, Any]:
    result = {"content": [{"type": "text", "text": f"{name} is done"}]}
    return exchange(number, "tools/call", {"name": name}, header, result)


LISTED = [
    {"name": NAMES[0], "inputSchema": {"type": "object"}},
    {"name": NAMES[1], "inputSchema": {"type": "array"}},
    {"name": NAMES[2], "inputSchema": {"type": "object"}},
]
FAULTY: dict[str, Any] = {
    "profile": "stable-2026-07-28",
    "payloads": "shape",
    "exchanges": [
        exchange(1, "tools/list", {}, None, {"tools": LISTED, "ttlMs": 0, "cacheScope": "private"}),
        call(2, NAMES[0], NAMES[0]),
        call(3, NAMES[0], NAMES[1]),
    ],
}


def assert_hidden(text: str, names: tuple[str, ...] = NAMES) -> None:
    for name in names:
        assert name not in text
        assert name.replace("<", "&lt;").replace(">", "&gt;") not in text


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    file = tmp_path / "raw.json"
    file.write_text(json.dumps(FAULTY))
    return file


def found(text: bytes) -> list[tuple[str, str, str, int]]:
    return [(one.code, one.level, one.path, one.count) for one in validate(read_document(text)).findings]


@pytest.mark.parametrize("form", ["human", *(form for form in FILE_NAMES if form != "human")])
def test_a_report_names_no_tool_and_finds_the_same(
    form: str, raw: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plain, hidden = tmp_path / "plain", tmp_path / "hidden"
    validated = ("validate", "--extended", "--report", form, raw, "--output")
    assert run(capfd, *validated, plain)[0] == 1
    assert run(capfd, *validated, hidden, "--redact-names")[0] == 1
    assert "weigh_crates" in plain.read_text()
    assert_hidden(hidden.read_text())
    for code in ("name_header_mismatch", "tool_name_invalid", "tool_definition_invalid"):
        assert code in hidden.read_text() and code in plain.read_text()


def test_messages_name_tools_as_the_transcript_does(raw: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def messages(*options: str) -> dict[str, str]:
        _, out, _ = run(capfd, "validate", "--extended", "--report", "json", raw, *options)
        return {one["code"]: one["message"] for one in json.loads(out)["findings"]}

    hidden, plain = messages("--redact-names"), messages()
    assert hidden["name_header_mismatch"] == "Mcp-Name of the tools/call is tool-2; its name is tool-1."
    assert hidden["tool_name_invalid"] == "The tool name tool-3! has other characters."
    assert hidden["tool_definition_invalid"].startswith("Tool tool-2: ")
    assert plain["name_header_mismatch"] == "Mcp-Name of the tools/call is tare-scales; its name is weigh_crates."
    assert plain["tool_definition_invalid"].startswith("Tool tare-scales: ")


def test_a_copy_names_no_tool_and_proves_the_same(raw: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    copy, again, cut = tmp_path / "copy.json", tmp_path / "again.json", tmp_path / "cut.json"
    assert run(capfd, "redact", raw, "--output", copy, "--redact-names") == (0, "", "")
    assert_hidden(copy.read_text())
    assert found(copy.read_bytes()) == found(raw.read_bytes())
    assert run(capfd, "redact", copy, "--output", again) == (0, "", "")
    assert again.read_bytes() == copy.read_bytes()
    assert run(capfd, "resplit", raw, "--bytewise", "--output", cut, "--redact-names") == (0, "", "")
    assert_hidden("".join(json.loads(cut.read_text())["exchanges"][2]["response"]["chunks"]))
    assert_hidden(cut.read_text())


def test_a_journal_becomes_the_same_copy(raw: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    journal, copy, of_journal = tmp_path / "raw.jsonl", tmp_path / "copy.json", tmp_path / "of-journal.json"
    document = read_document(raw.read_bytes())
    header = JournalHeader(str(document.profile), {}, False, document.payloads_whole)
    journal.write_text("".join(f"{encode(record)}\n" for record in (header, *observations(document))))
    assert run(capfd, "guard", journal, "--redact-names")[0] == 1
    assert run(capfd, "redact", journal, "--output", of_journal, "--redact-names") == (0, "", "")
    assert run(capfd, "redact", raw, "--output", copy, "--redact-names") == (0, "", "")
    assert found(of_journal.read_bytes()) == found(copy.read_bytes())
    assert_hidden(of_journal.read_text())


def test_a_capture_becomes_transcripts_that_name_no_tool(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    flows = tmp_path / "raw.mitm"
    flows.write_bytes(flow_file(flow_of(spoken) for spoken in session()))
    for command in ("convert", "redact"):
        folder = tmp_path / command
        assert run(capfd, command, flows, "--output", folder / "plain")[0] == 0
        assert run(capfd, command, flows, "--output", folder / "hidden", "--redact-names")[0] == 0
        [plain], [hidden] = (list((folder / how).glob("*.session-1.json")) for how in ("plain", "hidden"))
        assert '"search"' in plain.read_text()
        assert hidden.read_text() == plain.read_text().replace('"search"', '"tool-1"')


def test_guard_tells_names_only_where_it_is_asked_to(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert all(name in TOUR.read_text() for name in TOURED)
    assert run(capfd, "guard", TOUR) == (0, "", "")
    code, out, _ = run(capfd, "guard", TOUR, "--redact-names")
    assert code == 1
    assert "/request/body/params/name: text that is not on the allow-lists" in out
    assert_hidden(out, TOURED)
    copy = tmp_path / "copy.json"
    assert run(capfd, "redact", TOUR, "--output", copy, "--redact-names") == (0, "", "")
    assert_hidden(copy.read_text(), TOURED)
    assert run(capfd, "guard", copy, "--redact-names") == (0, "", "")
    assert found(copy.read_bytes()) == found(TOUR.read_bytes())
