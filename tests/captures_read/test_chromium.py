"""A real Chromium as the client of a session, and both HAR files that can be had of it."""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from mcp_wire.cli.main import main
from tests.captures_read.sessions import SECRET, Spoken, session
from tests.live.peers import LAST_CHUNK, chunked
from tests.web.browser import chromium

pytestmark = pytest.mark.browser

PAGE = b"<!doctype html><meta charset=utf-8><title>client</title>"
CALLS = """async (calls) => {
  const statuses = [];
  for (const [headers, body] of calls) {
    const answer = await fetch('/mcp?key=hidden', {method: 'POST', headers, body});
    await answer.text();
    statuses.push(answer.status);
  }
  return statuses;
}"""
EXPORT = """async () => {
  const har = await import('./models/har/har.js');
  const logs = await import('./models/logs/logs.js');
  const progress = {createSubProgress: () => progress, incrementWorked() {}, setTotalWork() {}};
  let text = '';
  const requests = logs.NetworkLog.NetworkLog.instance().requests();
  await har.Writer.Writer.write({write: async (part) => { text += part; }}, requests, {sanitize: false}, progress);
  return text;
}"""


class _Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self._answer(200, {"Content-Type": "text/html"}, PAGE)

    def do_POST(self) -> None:
        method = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["method"]
        spoken = {one.request["method"]: one for one in session() if one.request is not None}[method]
        self._answer(spoken.status, spoken.answer_headers, spoken.response.encode())

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if headers.get("Content-Type") == "text/event-stream":
            # Only of a stream that takes a while does DevTools note the events.
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in body.split(b"\n\n")[:-1]:
                self.wfile.write(chunked(event + b"\n\n"))
                time.sleep(0.2)
            self.wfile.write(LAST_CHUNK)
            return
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def talk(page: Page) -> None:
    def headers(spoken: Spoken) -> dict[str, str]:
        forbidden = ("Host", "User-Agent")
        return {name: value for name, value in spoken.request_headers.items() if name not in forbidden}

    calls = [[headers(spoken), spoken.body.decode()] for spoken in session()]
    assert page.evaluate(CALLS, calls) == [200, 202, 200]


def converted(capture: Path, folder: Path) -> list[Any]:
    """The exchanges of the one transcript that it gives, in which nothing is found."""
    assert main(["convert", str(capture), "-o", str(folder)]) == 0
    name = f"{capture.stem}.stable-2025-11-25.endpoint-1.session-1"
    assert sorted(path.name for path in folder.iterdir()) == [f"{name}.expected.json", f"{name}.json"]
    assert json.loads((folder / f"{name}.expected.json").read_text())["findings"] == []
    text = (folder / f"{name}.json").read_text()
    assert SECRET not in text and "hidden" not in text
    exchanges: list[Any] = json.loads(text)["exchanges"]
    return exchanges


def test_playwright(tmp_path: Path, url: str) -> None:
    with chromium() as browser:
        context = browser.new_context(record_har_path=tmp_path / "playwright.har", record_har_content="embed")
        page = context.new_page()
        page.goto(url)
        talk(page)
        context.close()
    exchanges = converted(tmp_path / "playwright.har", tmp_path / "out")
    assert [exchange["response"]["status"] for exchange in exchanges] == [200, 202, 200]
    assert exchanges[2]["response"]["chunk_boundaries"] == "unknown"


def test_devtools(tmp_path: Path, url: str) -> None:
    port = free_port()
    with chromium(f"--remote-debugging-port={port}", "--remote-allow-origins=*") as browser:
        page = browser.new_page()
        page.goto(url)
        tools = devtools(browser, port, url)
        talk(page)
        tools.wait_for_function(
            "async () => (await import('./models/logs/logs.js')).NetworkLog.NetworkLog.instance().requests()"
            ".filter((request) => request.finished).length === 3"
        )
        (tmp_path / "devtools.har").write_text(tools.evaluate(EXPORT))
    noted = json.loads((tmp_path / "devtools.har").read_text())["log"]["entries"][2].get("_eventSourceMessages")
    stream = converted(tmp_path / "devtools.har", tmp_path / "out")[2]["response"]
    assert stream["chunk_boundaries"] == "unknown"
    assert noted is not None, "this Chromium no longer says when events came"
    assert [chunk["text"].partition("\n")[0] for chunk in stream["chunks"]] == ["id: cursor-1", "id: cursor-2"]
    assert stream["chunks"][1]["t_ms"] > stream["chunks"][0]["t_ms"] > stream["started_ms"]


def devtools(browser: Browser, port: int, url: str) -> Page:
    """DevTools, looking at the page with this address."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
        (target,) = [one["id"] for one in json.load(answer) if one["url"] == url]
    tools = browser.new_page()
    tools.goto(
        f"devtools://devtools/bundled/devtools_app.html?ws=127.0.0.1:{port}/devtools/page/{target}&panel=network"
    )
    tools.wait_for_function("async () => !!(await import('./models/logs/logs.js')).NetworkLog.NetworkLog.instance()")
    tools.wait_for_selector(".network-log-grid, .panel.network", state="attached")
    return tools


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port: int = probe.getsockname()[1]
        return port
