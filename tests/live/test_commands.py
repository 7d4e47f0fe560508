"""The commands, as mitmweb's command bar sends them."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from mcp_wire.cli.main import main
from tests.live.peers import Server, ask
from tests.live.test_mitmdump_lines import CANARY, SESSION, script, talk
from tests.peers.web import Web, mitmweb

pytestmark = pytest.mark.peers

ERRORS = "~marker :red_circle:"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """mitmweb after a faulty conversation: three notifications answered 200, and a call with a foreign answer."""
    upstream = Server()
    upstream.scripts["/mcp"] = script
    upstream.scripts["/elsewhere"] = lambda received: received.send(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"
    )
    folder = tmp_path_factory.mktemp("web")
    with upstream.running(), mitmweb(f"http://127.0.0.1:{upstream.port}", folder) as started:
        talk(int(started.proxy.rpartition(":")[2]))
        started.commented("tools/call slow", "response_id_mismatch")
        yield started


def test_findings_of_all_and_of_those_that_a_filter_chooses(web: Web) -> None:
    lines = web.call("mcp.findings")
    assert lines == web.call("mcp.findings", "@all") == web.call("mcp.findings", "@shown")
    status = [line for line in lines if line.startswith("error accepted_status_not_202 · ")]
    assert [line.rpartition(" ")[2] for line in status] == [f"(/exchanges/{n}/response/status)" for n in (1, 2, 3)]
    assert "POST notifications/initialized · server · " in status[0]
    calls = web.call("mcp.findings", "~comment tools/call")
    assert calls
    assert all(" · POST tools/call slow · " in line for line in calls)
    assert web.call("mcp.findings", "~meta response_id_mismatch") == calls
    assert web.call("mcp.findings", "~comment nothing.like.it") == ["No findings."]
    flow = web.flows()[0]["id"]
    assert web.call("mcp.findings", f"@{flow}") == ["No findings."]


def test_profiles_and_reasons(web: Web) -> None:
    lines = web.call("mcp.profile", "@all")
    assert lines[0] == (
        "POST initialize: judged as stable-2025-11-25: the answer to this initialize names the revision "
        "(x-1 of transcripts/stable-2025-11-25.endpoint-1.session-1.json)"
    )
    assert len(lines) == 5


def test_explanations(web: Web) -> None:
    codes = web.call("mcp.codes")
    assert len(codes) > 100
    assert codes == sorted(codes)
    for code in ("invalid_post_accept", codes[0], codes[-1]):
        lines = web.call("mcp.explain", code)
        assert lines[0].startswith(f"{code}: ")
        assert any("fix" in line for line in lines)
    with pytest.raises(AssertionError, match="Invalid choice"):
        web.call("mcp.explain", "no_such_code")


@pytest.mark.parametrize("form", ["markdown", "json", "html"])
def test_a_report_on_some_flows(web: Web, tmp_path: Path, form: str) -> None:
    path = tmp_path / "report of mine.txt"
    assert web.call("mcp.report", form, str(path), "@all") == f"The report on 5 flows is being made: {path}"
    web.until(lambda: f"The report {path}: written." in json.dumps(web.get("/events"), ensure_ascii=False) or None)
    text = path.read_text()
    assert "accepted_status_not_202" in text
    assert CANARY not in text
    assert SESSION not in text


def test_transcripts_of_some_flows(web: Web, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    web.call("mcp.convert", str(folder), ERRORS)
    web.until(lambda: f"The transcripts in {folder}: written." in json.dumps(web.get("/events")) or None)
    [expected] = folder.glob("*.expected.json")
    [transcript] = set(folder.glob("*.json")) - {expected}
    assert len(json.loads(transcript.read_text())["exchanges"]) == 4
    assert CANARY not in transcript.read_text()


def test_what_convert_makes_is_what_the_command_makes(web: Web, tmp_path: Path) -> None:
    """The same files; made twice, they are the same; others of the same names stay."""
    flows, folder = tmp_path / "saved.mitm", tmp_path / "made"
    web.call("save.file", "@all", str(flows))
    for count in (1, 2):
        web.call("mcp.convert", str(folder), "@all")
        web.until(partial(said_so_often, web, f"The transcripts in {folder}: written.", count))
    made = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main(["convert", str(flows), "--output", str(tmp_path / "by hand")]) == 0
    by_hand = {path.name: path.read_bytes() for path in (tmp_path / "by hand").iterdir()}
    assert made == {name.replace("saved.", "capture.", 1): content for name, content in by_hand.items()}
    web.call("mcp.convert", str(folder), ERRORS)
    web.until(lambda: said(web, f"The transcripts in {folder}: could not be made.") or None)
    assert said(web, "are there already and differ; nothing was written") == 1
    assert said(web, "--force") == said(web, "standard input") == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == made


def said(web: Web, words: str) -> int:
    """How many lines of the event log hold these words."""
    return sum(words in json.dumps(line, ensure_ascii=False) for line in web.get("/events"))


def said_so_often(web: Web, words: str, count: int) -> bool | None:
    return said(web, words) == count or None


def test_flows_without_mcp_are_said(web: Web, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    ask(int(web.proxy.rpartition(":")[2]), "GET", "/elsewhere").reader.exactly(2)
    [flow] = [flow["id"] for flow in web.flows() if flow["request"]["path"] == "/elsewhere"]
    web.call("mcp.convert", str(folder), f"@{flow}")
    web.until(lambda: said(web, f"The transcripts in {folder}: could not be made.") or None)
    assert said(web, "there is no MCP in these flows") == 1
    assert not folder.exists()
    web.call("view.flows.remove", f"@{flow}")


def test_a_job_that_cannot_be_done_is_said(web: Web, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    web.call("mcp.convert", str(file), "@all")
    web.until(lambda: f"The transcripts in {file}: could not be made." in json.dumps(web.get("/events")) or None)
    with pytest.raises(AssertionError, match="no flows"):
        web.call("mcp.report", "json", str(tmp_path / "x"), "~comment nothing.like.it")
    with pytest.raises(AssertionError, match="Invalid choice"):
        web.call("mcp.report", "pdf", str(tmp_path / "x"), "@all")


def test_clearing_takes_off_what_is_ours(web: Web) -> None:
    flows = web.flows()
    mine, ours = flows[1]["id"], flows[2]["id"]
    web.put(f"/flows/{mine}", {"comment": "look at this"})
    assert web.call("mcp.clear", "~comment nothing.like.it") == "0 flows cleared."
    assert web.call("mcp.clear", f"@{mine}") == "1 flow cleared."
    assert web.call("mcp.clear", f"@{ours}") == "1 flow cleared."
    now = {flow["id"]: (flow["comment"], flow["marked"]) for flow in web.flows()}
    assert now[mine] == ("look at this", "")
    assert now[ours] == ("", "")
    assert web.call("mcp.findings", f"@{ours}") != ["No findings."]


def test_options_of_the_view(web: Web) -> None:
    assert web.get("/options")["web_columns"]["value"][-1] == "comment"
    with pytest.raises(urllib.error.HTTPError):
        web.put("/options", {"mcp_annotate": "false"})
    web.put("/options", {"mcp_view_redacted": "true"})
    web.put("/options", {"mcp_view_redacted": "false"})
    assert CANARY in web.text(web.flows()[4]["id"], "request")
