"""Runs scenarios of the official conformance suite through the proxy, and keeps what it and the addon said of them.

The suite plays the client against a server, or the server against a client. Peers are the Python SDK's own programs for
the suite (from its source distribution), server-everything and our small servers; with a spoil (see spoiling.py) in
between, they are peers that break one duty.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.peers import recapture
from tests.peers.processes import REPOSITORY, run_and_report, serving
from tests.peers.proxy import TOOLS, mitmdump
from tests.peers.recapture import ENVIRONMENTS, NODE_MODULES, Command, Server, free_port

SOURCE: Final = ENVIRONMENTS / "python-sdk-2-source"
NODE: Final = NODE_MODULES / "node" / "bin" / "node"
SUITE: Final = NODE_MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
SCENARIO_LIMIT_MS: Final = 30_000

type Json = dict[str, Any]

PYTHON: Final = "python-sdk-2.3.0"

OF_2025: Final = (
    "server-initialize",
    "server-session-lifecycle",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    "ping",
    "tools-list",
    "tools-call-with-progress",
    "tools-call-with-logging",
    "tools-call-elicitation",
    "resources-subscribe",
)
OF_2026: Final = (
    "server-stateless",
    "http-header-validation",
    "http-custom-header-server-validation",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    "caching",
    "sep-2164-resource-not-found",
    "tools-list",
    "tools-call-with-progress",
    "input-required-result-basic-elicitation",
    "input-required-result-request-state",
    "input-required-result-missing-input-response",
    "input-required-result-multi-round",
    "input-required-result-non-tool-request",
    "input-required-result-result-type",
    "input-required-result-unsupported-methods",
    "input-required-result-tampered-state",
    "input-required-result-capability-check",
    "input-required-result-validate-input",
)
FOR_ANY_SERVER_2025: Final = (
    "server-initialize",
    "server-session-lifecycle",
    "dns-rebinding-protection",
    "ping",
    "tools-list",
)
CLIENT_2025: Final = ("initialize", "tools_call", "sse-retry")
CLIENT_2026: Final = (
    "tools_call",
    "request-metadata",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "sep-2322-client-request-state",
)


@dataclass(frozen=True, slots=True)
class Run:
    """One scenario with one peer. `side` is the party that the suite tests."""

    side: str
    peer: str
    revision: str
    scenario: str
    spoil: str = ""

    @property
    def name(self) -> str:
        return "/".join((self.side, self.peer, self.revision, self.scenario, *([self.spoil] if self.spoil else [])))


@dataclass(slots=True)
class Said:
    """`checks`: the suite's, by id, each with its worst status. `found` and `satisfied`: our codes about that side."""

    checks: dict[str, str] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    satisfied: list[str] = field(default_factory=list)

    def as_json(self) -> Json:
        return {"checks": self.checks, "found": self.found, "satisfied": self.satisfied}


def _all(side: str, peer: str, revision: str, scenarios: Iterable[str]) -> list[Run]:
    return [Run(side, peer, revision, scenario) for scenario in scenarios]


def _spoiled(side: str, revision: str, *pairs: tuple[str, str]) -> list[Run]:
    return [Run(side, PYTHON, revision, scenario, spoil) for scenario, spoil in pairs]


RUNS: Final = (
    *_all("server", PYTHON, "2025-11-25", OF_2025),
    *_all("server", PYTHON, "2026-07-28", OF_2026),
    *_all("server", recapture.EVERYTHING.folder, "2025-11-25", FOR_ANY_SERVER_2025),
    *_all("server", recapture.TYPESCRIPT_1.folder, "2025-11-25", FOR_ANY_SERVER_2025),
    *_all("server", recapture.TYPESCRIPT_2.folder, "2025-11-25", FOR_ANY_SERVER_2025),
    *_all("server", recapture.TYPESCRIPT_2.folder, "2026-07-28", ("http-header-validation", "caching", "tools-list")),
    *_all("server", recapture.FASTMCP.folder, "2025-11-25", FOR_ANY_SERVER_2025),
    *_all("server", recapture.FASTMCP.folder, "2026-07-28", ("http-header-validation", "caching", "tools-list")),
    *_spoiled(
        "server",
        "2025-11-25",
        ("server-session-lifecycle", "server-without-404"),
        ("server-sse-polling", "server-without-priming"),
        ("server-sse-polling", "server-without-retry"),
        ("dns-rebinding-protection", "server-without-origin-check"),
    ),
    *_spoiled(
        "server",
        "2026-07-28",
        ("server-stateless", "server-refusing-with-200"),
        ("server-stateless", "server-without-acknowledgement"),
        ("server-stateless", "server-with-other-subscription-ids"),
        ("server-stateless", "server-with-other-error-ids"),
        ("server-stateless", "server-without-discover"),
        ("server-stateless", "server-without-result-type"),
        ("http-header-validation", "server-without-header-checks"),
        ("http-header-validation", "server-refusing-with-200"),
        ("caching", "server-without-caching-hints"),
        ("tools-list", "server-without-result-type"),
        ("input-required-result-result-type", "server-without-result-type"),
        ("dns-rebinding-protection", "server-without-origin-check"),
    ),
    *_all("client", PYTHON, "2025-11-25", CLIENT_2025),
    *_all("client", PYTHON, "2026-07-28", CLIENT_2026),
    *_spoiled("client", "2025-11-25", ("sse-retry", "client-without-last-event-id")),
    *_spoiled(
        "client",
        "2026-07-28",
        ("request-metadata", "client-without-version-header"),
        ("request-metadata", "client-with-another-version-header"),
        ("request-metadata", "client-without-capabilities"),
        ("http-standard-headers", "client-without-method-header"),
        ("http-custom-headers", "client-without-parameter-headers"),
    ),
)


def missing() -> list[str]:
    """What this machine lacks of what the runs need."""
    needed = (NODE, SUITE, SOURCE / "examples")
    return [*(str(path.relative_to(REPOSITORY)) for path in needed if not path.exists()), *recapture.missing(())]


def carry_out(run: Run, folder: Path) -> Said:
    """One scenario through the proxy. `folder` is for this run alone."""
    for place in ("tap", "spoiling", "suite"):
        (folder / place).mkdir(parents=True)
    results = folder / "suite"
    common: Command = [NODE, SUITE, run.side, "--scenario", run.scenario, "--spec-version", run.revision]
    common += ["--timeout", str(SCENARIO_LIMIT_MS), "--output-dir", results]
    if run.side == "server":
        with contextlib.ExitStack() as stack:
            upstream = stack.enter_context(_serving(run.peer, folder))
            if run.spoil:
                upstream = stack.enter_context(spoiling(run.spoil, f"http://127.0.0.1:{upstream}", folder))
            port = stack.enter_context(tap(f"http://127.0.0.1:{upstream}", folder))
            run_and_report([*common, "--url", f"http://127.0.0.1:{port}/mcp"])
    else:
        own: Command = [sys.executable, "-m", "tests.peers.proxied_client", folder, run.spoil or "none"]
        client: Command = [sys.executable, SOURCE / ".github" / "actions" / "conformance" / "client.py"]
        run_and_report([*common, "--command", shlex.join(str(word) for word in [*own, *client])])
    return Said(_checks(results), *_codes(run.side, folder / "tap" / "output" / "report.json"))


@contextlib.contextmanager
def tap(upstream: str, folder: Path) -> Iterator[int]:
    with mitmdump(upstream, folder / "tap", "mcp_extended=true") as port:
        yield port


@contextlib.contextmanager
def spoiling(name: str, upstream: str, folder: Path) -> Iterator[int]:
    command: Command = [
        TOOLS / "mitmdump",
        *("-s", REPOSITORY / "tests" / "peers" / "spoiling.py"),
        *("--mode", f"reverse:{upstream}@127.0.0.1:0"),
        *("--set", f"confdir={folder / 'spoiling'}", "--set", f"spoil={name}"),
    ]
    with serving(command, folder / "spoiling.log", r"listening at 127\.0\.0\.1:(\d+)") as port:
        yield int(port)


@contextlib.contextmanager
def _serving(peer: str, folder: Path) -> Iterator[int]:
    if peer == PYTHON:
        port = free_port()
        command: Command = [sys.executable, "-m", "mcp_everything_server", "--port", str(port)]
        where = {"PYTHONPATH": str(SOURCE / "examples" / "servers" / "everything-server")}
        with serving(command, folder / "server.log", r"running on http://127\.0\.0\.1:(\d+)", where):
            yield port
        return
    with contextlib.ExitStack() as stack:
        yield recapture.serve(_SERVERS[peer], folder, stack)


_SERVERS: Final[dict[str, Server]] = {
    server.folder: server
    for server in (recapture.EVERYTHING, recapture.TYPESCRIPT_1, recapture.TYPESCRIPT_2, recapture.FASTMCP)
}

_WORSE: Final = ("SKIPPED", "INFO", "SUCCESS", "WARNING", "FAILURE")


def _checks(results: Path) -> dict[str, str]:
    worst: dict[str, str] = {}
    for file in sorted(results.rglob("checks.json")):
        for check in json.loads(file.read_text(encoding="utf-8")):
            name, status = check["id"], check["status"]
            worst[name] = max(worst.get(name, status), status, key=_WORSE.index)
    return dict(sorted((name, status) for name, status in worst.items() if status not in ("SKIPPED", "INFO")))


def _codes(side: str, file: Path) -> tuple[list[str], list[str]]:
    if not file.is_file():
        return [], []
    report = json.loads(file.read_text(encoding="utf-8"))
    found, satisfied = set(), set()
    for conversation in report["conversations"]:
        found |= {
            finding["code"]
            for finding in conversation["findings"]
            if finding["level"] != "info" and finding["party"] in (side, "either")
        }
        satisfied |= {code for code, outcome in conversation["coverage"].items() if outcome["outcome"] == "satisfied"}
    return sorted(found), sorted(satisfied - found)
