"""Runs the demo's processes, waits for their end, shows what was written. Started by scripts/demo."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
# Logs are read while they are written; and a proxy setting of the machine must not get between loopback and itself.
ENVIRONMENT = os.environ | {"PYTHONUNBUFFERED": "1", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
START_LIMIT_S = 60.0
STOP_LIMIT_S = 10.0


class DemoFailed(Exception):
    """A process of the demo did not do its part; the text says which, and what it said."""


@contextlib.contextmanager
def running(name: str, command: Sequence[str | Path], log: Path, ready: str) -> Iterator[str]:
    """Keeps a process running for the block; yields the first group of `ready`, found in its log once it serves.

    Raises DemoFailed when the process ends by itself, before that or during the block, or takes too long.
    """
    with log.open("wb") as output:
        # In a session of its own: Ctrl-C is for the demo, which then ends its processes in order.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=REPOSITORY,
            env=ENVIRONMENT,
            start_new_session=True,
        )
    try:
        yield _wait_until_ready(name, process, log, ready)
    finally:
        if process.poll() is not None:
            # It went on its own: whatever failed in the block, this is why.
            raise DemoFailed(f"{name} ended early. It said:\n{log.read_text(errors='replace').strip()}")
        process.terminate()
        try:
            process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(name: str, process: subprocess.Popen[bytes], log: Path, ready: str) -> str:
    limit = time.monotonic() + START_LIMIT_S
    while time.monotonic() < limit and process.poll() is None:
        if match := re.search(ready, log.read_text(errors="replace")):
            return match[1]
        time.sleep(0.05)
    raise DemoFailed(f"{name} did not start. It said:\n{log.read_text(errors='replace').strip()}")


def show_findings(output: Path) -> None:
    report = json.loads((output / "report.json").read_text())
    print(f"\nFindings: {len(report['findings'])}")
    for finding in report["findings"]:
        _show(finding)
    print(f"\nFiles, all redacted, in {output.relative_to(REPOSITORY)}:")
    for file in sorted(output.rglob("*")):
        if file.is_file() and not file.name.startswith("."):
            print(f"  {file.relative_to(output)}")
    if report["conversations"]:
        print("\nThe same verdict without the proxy, from the transcripts alone:")
        print(f"  .venv/bin/mcp-conformance validate {output.relative_to(REPOSITORY)}/transcripts/*.json")


def _show(finding: dict[str, Any]) -> None:
    times = f", {finding['count']} times" if finding["count"] > 1 else ""
    print(f"  {finding['level']}: {finding['code']} ({finding['party']}{times}) at {finding['path']}")
    print(f"    {finding['message']}")
    if citation := finding.get("citation"):
        print(f"    {citation['revision']}, {citation['section']}")
    if fix := finding.get("fix"):
        print(f"    Fix: {fix}")


def wait_for_interrupt(url: str) -> None:
    print(f"\nPoint your client at {url} and stop with Ctrl-C.", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()
    print()


def run(serve: bool) -> None:
    tools = Path(sys.executable).parent
    output = REPOSITORY / "demo-output" / datetime.now().strftime("%Y-%m-%d-%H%M%S")
    output.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        server = [sys.executable, "scripts/demo_server.py"]
        with running("The server", server, scratch / "server.log", r"listening on (\d+)") as server_port:
            print(f"Server: http://127.0.0.1:{server_port}/mcp (answers notifications wrongly, on purpose)")
            upstream = f"reverse:http://127.0.0.1:{server_port}"
            print(f"Proxy:  mitmdump -s addon/mcp_conformance.py --mode {upstream}")
            proxy: list[str | Path] = [
                tools / "mitmdump",
                *("-s", "addon/mcp_conformance.py"),
                *("--mode", f"{upstream}@127.0.0.1:0"),
                *("--set", f"mcp_output={output}"),
                *("--set", f"confdir={scratch}"),
                *("--set", "flow_detail=0"),
            ]
            with running("mitmdump", proxy, scratch / "mitmdump.log", r"listening at 127\.0\.0\.1:(\d+)") as proxy_port:
                url = f"http://127.0.0.1:{proxy_port}/mcp"
                if serve:
                    wait_for_interrupt(url)
                else:
                    print(f"Client: official Python SDK, through {url}", flush=True)
                    client = [sys.executable, "scripts/demo_client.py", url]
                    if subprocess.run(client, stdin=subprocess.DEVNULL, cwd=REPOSITORY, env=ENVIRONMENT).returncode:
                        raise DemoFailed("The client failed; its message is above.")
        show_findings(output)


def _end(signum: int, frame: FrameType | None) -> None:
    sys.exit(128 + signum)


def main() -> int:
    # A plain kill must unwind the blocks that stop the processes, as Ctrl-C does; and Ctrl-C must do so even where
    # the shell started us with it ignored.
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run(serve=sys.argv[1:] == ["--serve"])
    except DemoFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
