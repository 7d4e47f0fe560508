"""mitmproxy's own terminal with the addon, under tmux: the flow list, the view that follows a stream, the commands."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.peers.processes import REPOSITORY
from tests.peers.proxy import ADDON, TOOLS
from tests.peers.terminal import Terminal, terminal

pytestmark = [pytest.mark.peers, pytest.mark.browser]


@contextmanager
def mitmproxy(upstream: int, folder: Path) -> Iterator[tuple[Terminal, str]]:
    """The terminal, and the URL for clients."""
    with socket.socket() as probe:  # the port that it gets when it asks for any is not easily read off its screen
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command: list[str | Path] = [
        TOOLS / "mitmproxy",
        *("-s", str(ADDON)),
        *("--mode", f"reverse:http://127.0.0.1:{upstream}@127.0.0.1:{port}"),
        *("--set", f"confdir={folder / 'authority'}", "--set", f"mcp_output={folder / 'output'}"),
    ]
    with terminal(command, folder) as screen:
        screen.shows(f"@127.0.0.1:{port}]")
        yield screen, f"http://127.0.0.1:{port}/mcp"


@contextmanager
def client(url: str, until: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "tests.peers.python_client", url]
    command += ["--tour", "counting", "--until", str(until)]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_terminal(python_server: Callable[..., int], tmp_path: Path) -> None:
    with mitmproxy(python_server(), tmp_path) as (screen, url):
        over = tmp_path / "over"
        with client(url, over):
            # Its row is the last one, and marked while the stream runs.
            screen.until(lambda text: text.count("🟢") >= 4)
            screen.keys("G", "Enter")
            screen.shows("MCP", "POST /mcp", "= MCP-Protocol-Version: 2025-11-25   the revision in force", "tools/call")
            screen.keys("Right")
            running = re.compile(r"Still running after .*: (\d+) events in (\d+) chunks")
            first = running.search(screen.until(lambda text: running.search(text) is not None))
            assert first is not None
            assert "── event 0 · +" in screen.shows("⟨0⟩")

            def has_grown(text: str) -> bool:
                now = running.search(text)
                return now is not None and int(now[1]) > int(first[1])

            screen.until(has_grown)
            over.touch()
            ended = re.search(r"Ended after .*: (\d+ events) in", screen.shows("Ended after"))
            assert ended is not None
        screen.keys("Right")
        screen.shows(f"Comment: no findings · tools/call count_until · {ended[1]}")
        screen.keys(":")
        screen.keys("mcp.findings @all", "Enter")
        screen.shows("No findings.")
        screen.keys("q")
        screen.keys(":")
        screen.keys("mcp.explain invalid_post_ac", "Tab", "Enter")
        screen.shows("invalid_post_accept: error; the client must act")
        screen.keys("q")
        report = tmp_path / "report.json"
        screen.keys(":")
        screen.keys(f"mcp.report json {report} @all", "Enter")
        screen.shows("The report on")
        screen.keys("q", "E")
        screen.shows(f"The report {report}"[:60], ": written.")
        assert json.loads(report.read_text())["findings"] == []
