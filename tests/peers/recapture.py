"""Which pairs of real clients and servers are captured as fixtures, and how: through a real mitmdump with the addon.

Each client makes the same tour of each server: lists, calls with progress, a call whose stream the server closes half
way (before 2026-07-28), a question to the user, a failing call, a resource, a prompt, two calls at once.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.peers.processes import REPOSITORY, run_to_end, serving
from tests.peers.proxy import mitmdump

PEERS: Final = REPOSITORY / "tests" / "peers"
NODE_MODULES: Final = PEERS / "node_modules"
ENVIRONMENTS: Final = PEERS / "environments"
FIXTURES: Final = REPOSITORY / "fixtures" / "captured"
EXPECTED: Final = ".expected.json"

type Json = dict[str, Any]
type Command = list[str | Path]


@dataclass(frozen=True, slots=True)
class Server:
    """`folder`: where its captures lie, named after the peer and its version."""

    folder: str
    command: Command
    ready: str = r"listening on (\d+)"
    takes_port: bool = False
    """It cannot choose a free port by itself, and takes one from the environment."""


@dataclass(frozen=True, slots=True)
class Client:
    """`name` and `arguments` behind the URL. Its version is in the name."""

    name: str
    command: Command
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    server: Server
    client: Client
    behind_nginx: bool = False

    @property
    def folder(self) -> str:
        return f"{self.server.folder}-behind-nginx-1.22.1" if self.behind_nginx else self.server.folder


@dataclass(frozen=True, slots=True)
class Captured:
    """A transcript as the addon wrote it. `path` is relative to the folder of captures."""

    path: str
    document: Json


def _node(script: str) -> Command:
    return [shutil.which("node") or "node", PEERS / script]


def _python(environment: str, script: str) -> Command:
    return [ENVIRONMENTS / environment / "bin" / "python", PEERS / script]


_OURS: Final[Command] = [sys.executable, "-m"]

EVERYTHING: Final = Server(
    "server-everything-2026.8.31",
    [
        *_node("node_modules/@modelcontextprotocol/server-everything/dist/index.js"),
        "streamableHttp",
    ],
    r"listening on port (\d+)",
    takes_port=True,
)
PYTHON_1: Final = Server("python-sdk-1.30.0", _python("python-sdk-1", "python1_server.py"))
PYTHON_2: Final = Server("python-sdk-2.3.0", [*_OURS, "tests.peers.python_server"])
PYTHON_2_JSON: Final = Server("python-sdk-2.3.0-json", [*_OURS, "tests.peers.python_server", "--json"])
FASTMCP: Final = Server("fastmcp-4.2.3", _python("fastmcp", "fastmcp_server.py"))
TYPESCRIPT_1: Final = Server("typescript-sdk-1.32.2", _node("typescript_server.mjs"))
TYPESCRIPT_2: Final = Server("typescript-server-2.4.0", _node("typescript2_server.mjs"))


def _python_2(tour: str, mode: str) -> Client:
    return Client(f"python-sdk-2.3.0-{mode}", [*_OURS, "tests.peers.python_client"], ("--tour", tour, "--mode", mode))


def _typescript_2(mode: str) -> Client:
    return Client(f"typescript-client-2.4.0-{mode}", _node("typescript2_client.mjs"), (mode,))


def _fastmcp(mode: str) -> Client:
    return Client(f"fastmcp-4.2.3-{mode}", _python("fastmcp", "fastmcp_client.py"), (mode,))


CLIENT_PYTHON_1: Final = Client("python-sdk-1.30.0", _python("python-sdk-1", "python1_client.py"))
CLIENT_TYPESCRIPT_1: Final = Client("typescript-sdk-1.32.2", _node("typescript_tour_client.mjs"))

PAIRS: Final = (
    Pair(EVERYTHING, Client("typescript-sdk-1.32.2", _node("typescript_client.mjs"))),
    Pair(EVERYTHING, _python_2("everything", "legacy")),
    Pair(TYPESCRIPT_1, CLIENT_TYPESCRIPT_1),
    Pair(TYPESCRIPT_1, CLIENT_PYTHON_1),
    Pair(TYPESCRIPT_1, _typescript_2("auto")),
    Pair(TYPESCRIPT_2, _typescript_2("auto")),
    Pair(TYPESCRIPT_2, _typescript_2("legacy")),
    Pair(TYPESCRIPT_2, CLIENT_TYPESCRIPT_1),
    Pair(TYPESCRIPT_2, _fastmcp("auto")),
    Pair(PYTHON_1, CLIENT_PYTHON_1),
    Pair(PYTHON_1, CLIENT_TYPESCRIPT_1),
    Pair(PYTHON_1, _fastmcp("auto")),
    Pair(PYTHON_2, _python_2("python", "legacy")),
    Pair(PYTHON_2, _python_2("python", "auto")),
    Pair(PYTHON_2, CLIENT_PYTHON_1),
    Pair(PYTHON_2, CLIENT_TYPESCRIPT_1),
    Pair(PYTHON_2, _typescript_2("auto")),
    Pair(PYTHON_2_JSON, _python_2("python_json", "legacy")),
    Pair(FASTMCP, _fastmcp("auto")),
    Pair(FASTMCP, _fastmcp("legacy")),
    Pair(FASTMCP, CLIENT_PYTHON_1),
    Pair(PYTHON_2, _python_2("python", "legacy"), behind_nginx=True),
    Pair(PYTHON_2, _typescript_2("auto"), behind_nginx=True),
    Pair(TYPESCRIPT_1, CLIENT_TYPESCRIPT_1, behind_nginx=True),
)


def missing(pairs: Iterable[Pair] = PAIRS) -> list[str]:
    """The programs that some pairs need and this machine does not have."""
    programs = {"nginx"} if any(pair.behind_nginx for pair in pairs) else set()
    for pair in pairs:
        programs |= {str(pair.server.command[0]), str(pair.client.command[0])}
    lacking = sorted(program for program in programs if shutil.which(program) is None)
    return lacking if NODE_MODULES.is_dir() else [*lacking, "tests/peers/node_modules"]


def capture(pair: Pair, folder: Path) -> list[Captured]:
    """Runs one pair. What the addon wrote, in the order of its names; `folder` is for the run alone."""
    for side in ("front", "back"):
        (folder / side).mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        upstream = serve(pair.server, folder, stack)
        outputs = {"": folder / "front"}
        if pair.behind_nginx:
            outputs = {"-before-nginx": folder / "front", "-after-nginx": folder / "back"}
            behind = stack.enter_context(mitmdump(f"http://127.0.0.1:{upstream}", folder / "back"))
            upstream = stack.enter_context(_nginx(behind, folder))
        proxy = stack.enter_context(mitmdump(f"http://127.0.0.1:{upstream}", folder / "front"))
        run_to_end([*pair.client.command, f"http://127.0.0.1:{proxy}/mcp", *pair.client.arguments])
    return [
        Captured(f"{pair.folder}/{pair.client.name}{side}{part}.json", document)
        for side, output in outputs.items()
        for part, document in _written(output / "output" / "transcripts")
    ]


def serve(server: Server, folder: Path, stack: contextlib.ExitStack) -> int:
    environment = {"PORT": str(free_port())} if server.takes_port else None
    return int(stack.enter_context(serving(server.command, folder / "server.log", server.ready, environment)))


@contextlib.contextmanager
def _nginx(upstream: int, folder: Path) -> Iterator[int]:
    port = free_port()
    text = (PEERS / "nginx.conf").read_text(encoding="utf-8")
    settings = folder / "nginx.conf"
    settings.write_text(text.replace("PORT", str(port)).replace("UPSTREAM", str(upstream)), encoding="utf-8")
    command: Command = ["nginx", "-p", folder, "-c", settings, "-e", "stderr"]
    with serving(command, folder / "nginx.log", r"(using the .* event method)"):
        yield port


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _written(transcripts: Path) -> Iterator[tuple[str, Json]]:
    """Each transcript, with what distinguishes its name: the revision, where there are several."""
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(transcripts.glob("*.json"))]
    for document in documents:
        revision = str(document["profile"]).removeprefix("stable-")
        yield ("" if len(documents) == 1 else f"-{revision}"), document


def write(captured: Iterable[Captured], verdict: Callable[[Json], Json]) -> None:
    """Puts transcripts among the fixtures, and beside each what `verdict` says of it."""
    for one in captured:
        path = FIXTURES / one.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(one.document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        expected = path.with_name(path.stem + EXPECTED)
        expected.write_text(json.dumps(verdict(one.document), indent=1) + "\n", encoding="utf-8")
