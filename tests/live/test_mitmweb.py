"""mitmweb with the addon, real MCP peers and a real browser: what a person with a broken connection sees."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.io import FlowReader
from playwright.sync_api import Page, expect

from tests.live.mcp import POST
from tests.live.peers import EVENT_STREAM_HEAD, LAST_CHUNK, Received, Server, ask, chunked
from tests.peers.processes import REPOSITORY
from tests.peers.web import Web, mitmweb
from tests.web.browser import chromium

pytestmark = [pytest.mark.peers, pytest.mark.browser]

PATIENCE_MS = 30_000
ACCEPT = {"Content-Type": "application/json", "Accept": "application/json"}


@contextmanager
def python_client(url: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The Python SDK's client, beside the test."""
    command = [sys.executable, "-m", "tests.peers.python_client", url, *arguments]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def browsing(web: Web) -> Iterator[Page]:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        page.goto(web.page)
        page.get_by_text("Flow List").first.wait_for()
        yield page


def shown(page: Page) -> str:
    """What the content view shows."""
    return page.locator("section pre").first.inner_text()


def open_flow(page: Page, row: str | re.Pattern[str], tab: str) -> None:
    page.locator("tbody tr", has_text=row).first.click()
    page.get_by_text(tab, exact=True).first.click()


@pytest.fixture
def server(python_server: Callable[..., int], tmp_path: Path) -> Iterator[Web]:
    """mitmweb before the Python SDK's server."""
    with mitmweb(f"http://127.0.0.1:{python_server()}", tmp_path) as web:
        yield web


def test_the_flow_list_and_the_view(server: Web) -> None:
    """Markers and comments are there, and the MCP view opens by itself, for requests and for streams."""
    with python_client(f"{server.proxy}/mcp", "--tour", "python") as client:
        out, err = client.communicate(timeout=60)
        assert client.returncode == 0, err.decode()
        assert json.loads(out)["count"] == "counted to 5"
    port = int(server.proxy.rpartition(":")[2])
    ask(port, "POST", "/mcp", ACCEPT, b'{"jsonrpc":"2.0","id":99,"method":"tools/list"}')
    server.commented("invalid_post_accept")
    counted = server.commented("tools/call count", "no findings", "7 events / 7 chunks", "session-A")
    assert counted["marked"] == "🟢"
    with browsing(server) as page:
        row = page.locator("tbody tr", has_text="1 error: invalid_post_accept").first
        expect(row).to_contain_text("🔴")
        row.click()
        expect(page.locator("h5").first).to_have_text("MCP")
        text = shown(page)
        assert "█ error invalid_post_accept: the client must act" in text
        assert "  Accept: application/json" in text
        open_flow(page, "tools/call count", "Response")
        expect(page.locator("h5").first).to_have_text("MCP")
        expect(page.locator("section pre").first).to_contain_text("Ended after")
        text = shown(page)
        assert "7 events in 7 chunks" in text
        assert re.search(r"── event 1 · \+\d+\.\d{3} s · chunk 1 · notifications/progress ──", text)
        assert "⟨1⟩" in text
        assert '"message": "step 1"' in text


def test_the_view_follows_a_stream_that_runs(server: Web, tmp_path: Path) -> None:
    """The row and the open view are kept up to date while the stream runs, and once more when it was judged."""
    over = tmp_path / "over"
    tour = ("--tour", "counting", "--until", str(over))
    with browsing(server) as page, python_client(f"{server.proxy}/mcp", *tour):
        row = page.locator("tbody tr", has_text="tools/call count_until").first
        row.wait_for()
        open_flow(page, "tools/call count_until", "Response")
        view = page.locator("section pre").first
        expect(view).to_contain_text("Still running", timeout=PATIENCE_MS)
        events = re.compile(r"Still running after .*: (\d+) events in (\d+) chunks")
        first = events.search(shown(page))
        assert first is not None
        page.wait_for_function(
            "before => { const found = document.querySelector('section pre')?.innerText.match(/: (\\d+) events in/);"
            " return found && Number(found[1]) > before; }",
            arg=int(first[1]),
        )
        commented = re.compile(r"no findings · tools/call count_until · (\d+) events / (\d+) chunks")
        expect(row).to_contain_text(commented)
        assert "🟢" in row.inner_text()
        over.touch()
        expect(view).to_contain_text("Ended after", timeout=PATIENCE_MS)
        ended = re.search(r": (\d+) events in", shown(page))
        assert ended is not None
        expect(row).to_contain_text(f"count_until · {ended[1]} events /")


def test_commands_run_from_the_command_bar(server: Web) -> None:
    with python_client(f"{server.proxy}/mcp", "--tour", "python_json") as client:
        client.communicate(timeout=60)
    server.commented("tools/call echo", "no findings")
    with browsing(server) as page:
        page.get_by_text("Options", exact=True).first.click()
        page.get_by_text("Display Command Bar").click()
        bar = page.locator(".command input")
        bar.fill('mcp.profile "~comment tools/call.echo"')
        bar.press("Enter")
        result = page.locator(".command-result")
        expect(result).to_contain_text(
            "POST tools/call echo: judged as stable-2025-11-25: the answer to initialize named"
        )
    assert server.call("mcp.explain", "invalid_post_accept")[0].startswith("invalid_post_accept: error")


class Broken:
    """A server whose every octet and every cut is ours. `go`: what it waits for before it goes on."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def script(self, received: Received) -> None:
        message = json.loads(received.body) if received.body else {}
        match message.get("method"):
            case "initialize":
                result = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "broken", "version": "1"},
                }
                received.send(_json({"jsonrpc": "2.0", "id": message["id"], "result": result}, SESSION))
            case "tools/call":
                received.send(EVENT_STREAM_HEAD, *(chunked(piece) for piece in self.pieces(message["id"])))
                assert self.go.wait(60)
                received.socket.close()
            case _:
                received.send(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")

    def pieces(self, identifier: object) -> Iterator[bytes]:
        yield b"id: e-1\nretry: 250\ndata:\n\n"
        progress = {"progressToken": CANARY, "progress": 1}
        event = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
        yield f"id: e-2\ndata: {event[:30]}".encode()
        yield f"{event[30:]}\n\n: {CANARY}\n\n".encode()


SESSION = "c0ffee00c0ffee00c0ffee00c0ffee00"
CANARY = "canary-3e9a07d15f"


def _json(body: object, session: str) -> bytes:
    text = json.dumps(body).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: {session}\r\nContent-Length: {len(text)}"
    )
    return head.encode() + b"\r\n\r\n" + text


def _initialize(port: int) -> None:
    parameters = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": parameters}
    ask(port, "POST", "/mcp", POST, json.dumps(body).encode()).reader.exactly(10)
    stable = POST | {"Mcp-Session-Id": SESSION, "MCP-Protocol-Version": "2025-11-25"}
    ask(port, "POST", "/mcp", stable, b'{"jsonrpc":"2.0","method":"notifications/initialized"}')


def _call(port: int) -> Any:
    call = {
        "jsonrpc": "2.0",
        "id": CANARY,
        "method": "tools/call",
        "params": {"name": "slow", "arguments": {"secret": CANARY}, "_meta": {"other": CANARY}},
    }
    lines = POST | {
        "Mcp-Session-Id": SESSION,
        "MCP-Protocol-Version": "2025-11-25",
        "Authorization": f"Bearer {CANARY}",
        "Cookie": f"sid={CANARY}",
        "User-Agent": f"agent {CANARY}",
    }
    return ask(port, "POST", f"/mcp?key={CANARY}", lines, json.dumps(call).encode())


def test_a_broken_stream_is_explained_where_it_broke_and_nothing_secret_is_said(tmp_path: Path) -> None:
    """The cut inside an event, the finding under it, the ending and the advice, in a page that was open meanwhile; and
    no canary in anything that is saved, logged, or shown redacted."""
    broken, upstream = Broken(), Server()
    upstream.scripts["/mcp"] = broken.script
    with upstream.running(), mitmweb(f"http://127.0.0.1:{upstream.port}", tmp_path) as web:
        port = int(web.proxy.rpartition(":")[2])
        _initialize(port)
        answer = _call(port)
        answer.reader.chunk()
        flow = web.commented("tools/call slow", "2 events")
        with browsing(web) as page:
            open_flow(page, "tools/call slow", "Response")
            view = page.locator("section pre").first
            expect(view).to_contain_text("Still running")
            text = shown(page)
            assert "⟨2⟩" in text.partition("── event 1")[2].partition("── event 2")[0]
            assert CANARY in text  # the person's own traffic, on the person's own screen
            assert re.search("── event 1 .*\n(.*\n)*  [█▓] (error|warning) \\w+: the server must act", text)
            broken.go.set()
            expect(view).to_contain_text("What to do: resume-with-get", timeout=PATIENCE_MS)
            expect(view).to_contain_text("the server closed the connection")
            expect(page.locator("tbody tr", has_text="tools/call slow").first).to_contain_text("resume-with-get")
            web.put("/options", {"mcp_view_redacted": "true"})
            expect(view).not_to_contain_text(CANARY, timeout=PATIENCE_MS)
            expect(view).to_contain_text("What to do: resume-with-get", timeout=PATIENCE_MS)
        assert answer.reader.rest() != LAST_CHUNK
        for part in ("request", "response"):
            redacted = web.until(
                lambda part=part: (  # type: ignore[misc]
                    text if "made ready" not in (text := web.text(flow["id"], part)) else None
                )
            )
            assert CANARY not in redacted
            assert SESSION not in redacted
            assert "session-A" in redacted
        told = [json.dumps(flow) for flow in web.flows()]
        findings = json.dumps(web.call("mcp.findings", "@all"), ensure_ascii=False)
        profile = json.dumps(web.call("mcp.profile", "@all"), ensure_ascii=False)
        events = json.dumps(web.get("/events"))
        saved = _saved(web)
    log = web.log.read_text()
    carried = [json.dumps([one.comment, one.marked, {k: repr(v) for k, v in one.metadata.items()}]) for one in saved]
    comments = [json.loads(one)["comment"] + json.loads(one)["marked"] for one in told]
    for text in (log, findings, profile, events, *carried, *comments):
        assert CANARY not in text
        assert SESSION not in text
    assert "MCP exchanges in 1 conversation" in log
    assert len(saved) == 3


def _saved(web: Web) -> list[http.HTTPFlow]:
    import urllib.request

    request = urllib.request.Request(web.page.partition("/?")[0] + "/flows/dump")
    request.add_header("Authorization", "Bearer pw")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
        data = answer.read()
    return [flow for flow in FlowReader(io.BytesIO(data)).stream() if isinstance(flow, http.HTTPFlow)]
