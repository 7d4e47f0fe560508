"""Decisions in a live run: what the file allows is advised, and the transcript leads to the same advice."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.cli.main import main
from mcp_wire.idempotency_file import read_decisions
from mcp_wire.judging.idempotency import Decisions
from mcp_wire.live.observer import Observer, ObserverSettings
from mcp_wire.live.options import OPTIONS, BadOption, command_lines, refusal, settings_of
from mcp_wire.live.output import OutputFolder
from mcp_wire.live.start import open_judge
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.reports.exchange_notes import NotedAdvice
from mcp_wire.reports.form_names import FILE_NAMES
from mcp_wire.reports.model import NamedReport
from mcp_wire.rules import rules_of
from mcp_wire.transcript.reading import read_document
from mcp_wire.validation import validate
from mcp_wire.wire.observation import Ended
from tests.live.mcp import INITIALIZE, POST
from tests.live.mcp_traffic import exchange, in_turn, initialize
from tests.live.peers import EVENT_STREAM_HEAD, Received, Server, ask, chunked
from tests.live.test_options import GOOD, authority, start
from tests.peers.processes import REPOSITORY
from tests.peers.proxy import mitmdump

__all__ = ["authority"]

EXAMPLE = REPOSITORY / "docs" / "data" / "idempotency.json"
LABEL = "stable-2025-11-25.endpoint-1.session-1"
SESSION = "c0ffee00c0ffee00c0ffee00c0ffee00"
STABLE = POST | {"Mcp-Session-Id": SESSION, "MCP-Protocol-Version": "2025-11-25"}
REISSUE, STOP = "manual-reissue-with-fresh-jsonrpc-id", "do-not-replay"


def test_the_option() -> None:
    assert OPTIONS["mcp_idempotency"].default == ""
    assert refusal("mcp_idempotency", "a\0b") is not None
    assert settings_of(GOOD).idempotency is None
    settings = settings_of(GOOD | {"mcp_idempotency": str(EXAMPLE)})
    assert settings.idempotency == EXAMPLE
    assert command_lines(settings) == {"convert": (), "validate": ("--idempotency", str(EXAMPLE))}


TOLD = "allowed is a file as docs/idempotency.md tells."


def test_what_cannot_be_read_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    for name, why in (
        ("missing", "it cannot be read (No such file or directory)"),
        ("folder", "it is no file"),
        ("empty", "is empty; a file of decisions is one JSON object"),
    ):
        file = tmp_path / name
        with pytest.raises(BadOption) as refused:
            open_judge(settings_of(GOOD | {"mcp_idempotency": str(file)}), lambda message: None)
        assert str(refused.value) == f"mcp_idempotency={file} is refused: {why}; {TOLD}"


def test_mitmdump_stops(tmp_path: Path, authority: Path) -> None:
    file = tmp_path / "decisions.json"
    file.write_text('{"decisions": [{"tool": "sum", "date": "soon"}]}')
    ended = start(tmp_path, authority, f"mcp_idempotency={file}")
    assert ended.returncode == 1
    why = "decisions/0/date has to be a day, written YYYY-MM-DD"
    assert f"mcp_idempotency={file} is refused: {why}; {TOLD}" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(("keep_tool_names", "action"), [(True, REISSUE), (False, STOP)])
def test_flows_are_told_what_the_report_says(tmp_path: Path, keep_tool_names: bool, action: str) -> None:
    """Where names of tools are redacted, the transcript could not lead to the same advice, and none is daring."""
    decisions = read_decisions(EXAMPLE.read_bytes())
    reports: list[NamedReport] = []
    observer = Observer(
        ObserverSettings(rules_of(), decisions=decisions),
        OutputFolder(tmp_path),
        on_report=reports.append,
        redactor=lambda: Redactor(keep_tool_names=keep_tool_names),
        noting=True,
    )
    params = {"name": "get_forecast", "arguments": {}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    cut = exchange(request, events=[b": working\n\n"], ended=Ended.SERVER_CLOSED, session=SESSION, version="2025-11-25")
    for step in in_turn(initialize(minted=SESSION), cut):
        observer.observe(step.origin, step.observation)
    notes = {noted.flow: noted.notes for noted in observer.notes()}
    observer.finish()
    [advice] = reports[0].report.recovery
    assert advice.action == action
    assert notes[cut.id].advice == NotedAdvice(advice.action, advice.condition)
    [transcript] = (tmp_path / "transcripts").iterdir()
    offline = validate(read_document(transcript.read_bytes()), decisions=Decisions(decisions, transcript.name))
    assert offline.recovery == (advice,)


def script(received: Received) -> None:
    """Every call of a tool ends in the middle of its stream, which has no event ids."""
    message = json.loads(received.body)
    match message["method"]:
        case "initialize":
            info = {"name": "example-server", "version": "2.1.0"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: {SESSION}\r\n"
            received.send(f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text)
        case "tools/call":
            received.send(EVENT_STREAM_HEAD, chunked(b": working\n\n"))
            received.socket.close()
        case _:
            received.send(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")


def begin(port: int) -> None:
    ask(port, "POST", "/mcp", POST, INITIALIZE).reader.exactly(10)
    ask(port, "POST", "/mcp", STABLE, b'{"jsonrpc":"2.0","method":"notifications/initialized"}')


def call(port: int, *tools: str) -> None:
    for number, tool in enumerate(tools, 1):
        params = {"name": tool, "arguments": {}}
        body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        with contextlib.suppress(EOFError, OSError):
            ask(port, "POST", "/mcp", STABLE, json.dumps(body).encode()).reader.rest()


@pytest.mark.peers
def test_a_run_gives_the_advice_that_its_transcript_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decisions = tmp_path / "decisions.json"
    decisions.write_bytes(EXAMPLE.read_bytes())
    upstream = Server()
    upstream.scripts["/mcp"] = script
    options = (f"mcp_idempotency={decisions}", f"mcp_reports={','.join(set(FILE_NAMES) - {'json'})}")
    with upstream.running(), mitmdump(f"http://127.0.0.1:{upstream.port}", tmp_path, *options) as port:
        begin(port)
        # What is written to the file now counts from the next start on.
        decisions.write_text('{"decisions": []}')
        call(port, "get_forecast", "place_order", "send_invoice", "get_forecast", "other")
    output = tmp_path / "output"
    live = json.loads((output / "report.json").read_text())["conversations"][0]
    advice = {one["exchange"]: one for one in live["recovery"]}
    assert {exchange: one["action"] for exchange, one in advice.items()} == {
        "x-3": STOP,  # it was made again
        "x-4": REISSUE,
        "x-5": STOP,
        "x-6": REISSUE,
        "x-7": STOP,
    }
    assert "sent again in /exchanges/5" in advice["x-3"]["condition"]
    assert "orders team decided on 2026-11-30 about this exchange" in advice["x-4"]["condition"]
    assert "Rollback: cancel the order in the order book." in advice["x-4"]["condition"]
    assert "at most 2 attempts in all, of which 1 was made" in advice["x-6"]["condition"]
    assert advice["x-6"]["decision"]["complete"] is True
    assert advice["x-5"]["decision"]["missing"] == [
        "the confirmation that repeating cannot duplicate an external effect",
        "the confirmation that the server did not commit an unseen result",
        "a rollback",
        "a guard against a duplicate effect",
    ]
    assert "No idempotency decision is about this exchange or its tool " in advice["x-7"]["condition"]
    # The same from the transcript.
    monkeypatch.chdir(output)
    again = tmp_path / "again.json"
    transcript = f"transcripts/{LABEL}.json"
    common = ["validate", transcript, "--idempotency", str(EXAMPLE), "--output", str(again)]
    main([*common, "--report", "json"])
    offline: dict[str, Any] = json.loads(again.read_text())
    # In a live run there is no document whose form could be judged.
    assert {**live, "coverage": None, "transcript": None} == {**offline, "coverage": None, "transcript": None}
    for form in ("human", "markdown"):
        again.unlink()
        main([*common, "--report", form])
        recovery = again.read_text().partition("Recovery")[2].partition("What could be judged")[0]
        assert "orders team" in recovery
        assert recovery.partition("Of ")[0] in (output / FILE_NAMES[form]).read_text()
