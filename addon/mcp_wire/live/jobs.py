"""The command line, run beside the proxy: converting and judging flows takes time, and the traffic must not wait."""

from __future__ import annotations

import asyncio
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mitmproxy import flow as mitmproxy_flow
from mitmproxy.io import FlowWriter

from mcp_wire.live.judge_process import import_path

UNUSABLE: Final = 2
MAX_SAID: Final = 2_000
"""Characters of what a command said that are passed on."""

_FOR_SHELLS: Final = re.compile(r"^mcp-conformance: (?:standard input: )?| \(--force replaces \w+\)$")
"""What a complaint says of the command, its input and its options, which nobody has typed here."""

_BOOT: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); arguments = json.loads(sys.argv[2]); "
    "from mcp_wire.cli.main import main; sys.exit(main(arguments))"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended: its exit code, and the lines that it wrote to its standard output and standard error."""

    code: int
    said: tuple[str, ...]
    complained: tuple[str, ...]


class Jobs:
    """Jobs that run; each tells its end with one call of `done`, in the proxy's thread.

    `options`: command of `mcp-conformance` -> options that it is run with.
    """

    def __init__(self) -> None:
        self.options: Mapping[str, Sequence[str]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def convert(self, flows: Sequence[mitmproxy_flow.Flow], folder: Path, done: Callable[[Outcome], None]) -> None:
        """Make transcripts of flows in a folder."""
        self._start(_convert([*flows], str(folder), self.options), done)

    def report(
        self, flows: Sequence[mitmproxy_flow.Flow], form: str, file: Path, done: Callable[[Outcome], None]
    ) -> None:
        """Write one report on flows."""
        self._start(_report([*flows], form, file, self.options), done)

    def _start(self, job: asyncio._CoroutineLike[Outcome], done: Callable[[Outcome], None]) -> None:
        async def run() -> None:
            try:
                outcome = await job
            except OSError as problem:
                why = problem.strerror or type(problem).__name__
                outcome = Outcome(UNUSABLE, (), (f"it could not be started ({why})",))
            done(outcome)

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _convert(flows: Sequence[mitmproxy_flow.Flow], folder: str, options: Mapping[str, Sequence[str]]) -> Outcome:
    outcome = await _run(["convert", "-", *options.get("convert", ()), "--output", folder], flows)
    if outcome.code < UNUSABLE and not outcome.said:
        return Outcome(UNUSABLE, (), ("there is no MCP in these flows",))
    return outcome


async def _report(
    flows: Sequence[mitmproxy_flow.Flow], form: str, file: Path, options: Mapping[str, Sequence[str]]
) -> Outcome:
    folder = Path(tempfile.mkdtemp(prefix="mcp-report-"))
    try:
        converted = await _convert(flows, str(folder), options)
        transcripts = sorted(path.name for path in folder.glob("*.json") if not path.name.endswith(".expected.json"))
        if not transcripts:
            return Outcome(UNUSABLE, (), converted.complained or ("there is no MCP in these flows",))
        arguments = ["--report", form, "--output", str(file.absolute()), *transcripts]
        judged = await _run(["validate", *options.get("validate", ()), *arguments], (), folder)
        return Outcome(judged.code, judged.said, (*converted.complained, *judged.complained))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _run(arguments: Sequence[str], flows: Sequence[mitmproxy_flow.Flow], folder: Path | None = None) -> Outcome:
    """Run a command with flows as its standard input. Raises OSError where it cannot be started."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-c", _BOOT, json.dumps(import_path()), json.dumps(arguments)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    _, said, complained = await asyncio.gather(
        _feed(process.stdin, flows), process.stdout.read(), process.stderr.read()
    )
    about_flows = tuple(_FOR_SHELLS.sub("", line) for line in _lines(complained))
    return Outcome(await process.wait(), _lines(said), about_flows)


async def _feed(pipe: asyncio.StreamWriter, flows: Sequence[mitmproxy_flow.Flow]) -> None:
    """One flow after the other, with turns for the traffic in between."""
    try:
        for flow in flows:
            octets = io.BytesIO()
            FlowWriter(octets).add(flow)  # type: ignore[no-untyped-call]
            pipe.write(octets.getvalue())
            await pipe.drain()
            await asyncio.sleep(0)
        pipe.close()
        await pipe.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        pass  # what the command has to say of it is in its standard error


def _lines(octets: bytes) -> tuple[str, ...]:
    text = octets.decode(errors="replace")
    lines = text[:MAX_SAID].splitlines()
    return (*lines[:-1], "…") if len(text) > MAX_SAID else tuple(lines)
