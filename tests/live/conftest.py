"""Real servers, each started for one test on a free loopback port, and the tap on both sides of the proxy."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.peers.exchanges import SeenExchange, assert_same_bytes
from tests.peers.http1 import exchanges_of
from tests.peers.processes import REPOSITORY, serving
from tests.peers.proxy import mitmdump
from tests.peers.wiretap import Wiretap

NODE_MODULES = REPOSITORY / "tests" / "peers" / "node_modules"


def need(what: str, present: bool) -> None:
    """A peer that is not there skips the test, except in CI, where it fails it."""
    if present:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing; CI must have it")
    pytest.skip(f"{what} is missing; scripts/test installs it where npm exists")


@pytest.fixture
def node() -> str:
    found = shutil.which("node")
    need("node", found is not None)
    need("the TypeScript peers' node_modules", (NODE_MODULES / "@modelcontextprotocol" / "sdk").is_dir())
    assert found is not None
    return found


@pytest.fixture
def everything_server(node: str, tmp_path: Path) -> Iterator[int]:
    """server-everything over Streamable HTTP; yields its port."""
    script = NODE_MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    need("@modelcontextprotocol/server-everything", script.is_file())
    # It takes its port from the environment and cannot choose a free one by itself.
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with serving(
        [node, script, "streamableHttp"], tmp_path / "server.log", r"listening on port (\d+)", {"PORT": str(port)}
    ):
        yield port


StartPythonServer = Callable[..., contextlib.AbstractContextManager[str]]


@pytest.fixture
def python_server(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """Call it with the server's arguments; it returns the port. The server ends with the test."""
    with contextlib.ExitStack() as until_the_end:

        def start(*arguments: str) -> int:
            command = [sys.executable, "-m", "tests.peers.python_server", *arguments]
            return int(until_the_end.enter_context(serving(command, tmp_path / "server.log", r"listening on (\d+)")))

        yield start


class Bench:
    """tap – mitmdump with the addon – tap, before a server that speaks HTTP/1.1."""

    def __init__(self, folder: Path) -> None:
        self.output = folder / "output"
        self.url = ""
        self._folder = folder
        self._taps: tuple[Wiretap, Wiretap] | None = None

    @contextlib.contextmanager
    def before(self, server_port: int, cut_after: bytes = b"") -> Iterator[str]:
        """Yields the URL for the client. `cut_after`: see Wiretap; it cuts between the proxy and the server."""
        with contextlib.ExitStack() as stack:
            server_side = stack.enter_context(Wiretap(server_port, cut_after).running())
            proxy_port = stack.enter_context(mitmdump(f"http://127.0.0.1:{server_side.port}", self._folder))
            client_side = stack.enter_context(Wiretap(proxy_port).running())
            self._taps = server_side, client_side
            yield f"http://127.0.0.1:{client_side.port}/mcp"

    def assert_bytes_untouched(self) -> list[SeenExchange]:
        """Compares what passed both taps; returns the client's side."""
        assert self._taps is not None
        server_side, client_side = (exchanges_of(tap.connections) for tap in self._taps)
        assert_same_bytes(server_side, client_side)
        return client_side


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
