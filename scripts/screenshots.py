"""Takes the pictures in docs/images: mitmweb with the addon, before a server with faults and behind a real client.

Needs Chromium on PATH, and a font with coloured emoji (Debian: fonts-noto-color-emoji) for the markers.

Usage: screenshots.py [FOLDER]
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Locator, Page, ViewportSize, sync_playwright

REPOSITORY: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from tests.peers.web import Web, mitmweb  # noqa: E402
from tests.web.browser import ARGUMENTS  # noqa: E402

SIZE: Final = ViewportSize(width=1180, height=760)
TALL: Final = ViewportSize(width=1180, height=1400)
LIST_WIDTH: Final = 360
PANE_TOP: Final = 157
"""Below the tabs of the pane that shows a flow."""
SESSION: Final = "8d3fd6a1c4c94a0bb1d27f6c0f9e5a71"
CLIENT: Final = """
import anyio, sys
from mcp import Client

async def main(url):
    async def ignore(*_): pass
    async with Client(url, mode="legacy") as client:
        await client.list_tools()
        await client.call_tool("add", {"a": 2, "b": 3})
        await client.call_tool("forecast", {"city": "Turin", "days": 3}, progress_callback=ignore)

anyio.run(main, sys.argv[1])
"""


class Faulty:
    """A server as people write it by hand: it answers notifications with a word, cuts its events anywhere, makes
    up a progress token, and closes a stream before it has answered."""

    def __init__(self) -> None:
        self.port = 0
        self._ready = threading.Event()

    @contextlib.contextmanager
    def running(self) -> Iterator[int]:
        loop = asyncio.new_event_loop()

        async def serve() -> None:
            server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await server.serve_forever()

        def run() -> None:
            with contextlib.suppress(asyncio.CancelledError, RuntimeError):
                loop.run_until_complete(serve())

        threading.Thread(target=run, daemon=True).start()
        self._ready.wait()
        yield self.port

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = re.search(r"(?im)^content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                await self._answer(head.split(" ")[0], json.loads(body) if body else {}, writer)
        writer.close()

    async def _answer(self, method: str, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if method != "POST":
            writer.write(b"HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n")
            return
        identifier, params = message.get("id"), message.get("params", {})
        if identifier is None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok")
        elif message["method"] == "tools/call" and params["name"] == "forecast":
            await self._forecast(params["_meta"]["progressToken"], writer)
            raise ConnectionError
        else:
            answer = {"jsonrpc": "2.0", "id": identifier, "result": self._result(message["method"])}
            text = json.dumps(answer).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: {SESSION}\r\n"
            writer.write(f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text)

    def _result(self, method: str) -> dict[str, Any]:
        match method:
            case "initialize":
                return {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "weather", "version": "0.3.0"},
                }
            case "tools/list":
                return {
                    "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("add", "forecast")],
                }
            case _:
                return {"content": [{"type": "text", "text": "5"}]}

    async def _forecast(self, token: object, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Mcp-Session-Id: " + SESSION.encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        first, second = _progress(token, 1), _progress("forecast", 2)
        for piece in (b"id: 17\nretry: 3000\ndata:\n\n", first[:52], first[52:], second):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0.2)


def _progress(token: object, day: int) -> bytes:
    params = {"progressToken": token, "progress": day, "total": 3, "message": f"day {day}"}
    text = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    return f"id: {17 + day}\ndata: {text}\n\n".encode()


def take(page: Page, web: Web, folder: Path) -> None:
    """All pictures, of flows that are there."""
    page.goto(web.page)
    row = page.locator("tbody tr", has_text="tools/call forecast").first
    row.wait_for()
    _widen_comments(page)
    page.screenshot(path=folder / "mitmweb-flow-list.png", clip={"x": 0, "y": 0, "width": SIZE["width"], "height": 425})
    page.set_viewport_size(TALL)
    row.click()
    page.get_by_text("Response", exact=True).first.click()
    page.locator("section pre").first.get_by_text("What to do").wait_for()
    _drag(page, page.locator(".splitter"), LIST_WIDTH)
    _picture_of_view(page, folder / "mitmweb-stream.png")
    page.locator("tbody tr", has_text="name_header_mismatch").first.click()
    page.get_by_text("Request", exact=True).first.click()
    _picture_of_view(page, folder / "mitmweb-request.png")


def _picture_of_view(page: Page, file: Path) -> None:
    """The content view alone, down to the end of its text or of the screen."""
    view = page.locator("section pre").first
    view.scroll_into_view_if_needed()
    box = view.bounding_box()
    assert box is not None
    top = max(box["y"], PANE_TOP)
    bottom = min(box["y"] + box["height"], TALL["height"] - 40)
    page.screenshot(path=file, clip={"x": box["x"], "y": top, "width": box["width"], "height": bottom - top})


def _widen_comments(page: Page) -> None:
    """As a person does: by the edge between two columns."""
    _drag(page, page.locator("th", has_text="Path").locator(".col-resize-handle"), 330)
    _drag(page, page.locator("th", has_text="Comment").locator(".col-resize-handle"), SIZE["width"] - 8)


def _drag(page: Page, what: Locator, to: float) -> None:
    box = what.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(to, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()


def _ask_with_another_name(url: str) -> None:
    """A request of 2026-07-28 whose header does not say what its body says."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "hand-made", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "add", "arguments": {"a": 2, "b": 3}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    request = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
    for name, value in (
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "forecast"),
    ):
        request.add_header(name, value)
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).close()


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("screenshots.py: chromium is not on PATH")
    with (
        tempfile.TemporaryDirectory() as scratch,
        Faulty().running() as port,
        mitmweb(f"http://127.0.0.1:{port}", Path(scratch)) as web,
        sync_playwright() as playwright,
    ):
        url = f"{web.proxy}/mcp"
        client = subprocess.Popen([sys.executable, "-c", CLIENT, url], stderr=subprocess.DEVNULL)
        try:
            web.commented("tools/call forecast", "do-not-replay")
            _ask_with_another_name(url)
            web.commented("name_header_mismatch")
            browser = playwright.chromium.launch(executable_path=chromium, args=[*ARGUMENTS])
            take(browser.new_page(viewport=SIZE), web, folder)
            browser.close()
        finally:
            client.kill()
            client.wait()


if __name__ == "__main__":
    main()
