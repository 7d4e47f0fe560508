"""Real peers run as processes of their own."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

# Generous, because nothing is asserted on them: they only keep a broken peer from blocking the suite.
START_LIMIT_S = 60.0
RUN_LIMIT_S = 120.0
STOP_LIMIT_S = 15.0


@contextlib.contextmanager
def serving(
    command: Sequence[str | Path], log: Path, ready: str, environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Keeps a process running for the block; yields the first group of `ready`, found in its output once it serves."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=REPOSITORY,
            env=_environment(environment),
        )
    try:
        yield _wait_until_ready(process, log, ready)
        assert process.poll() is None, f"{command} ended by itself:\n{log.read_text(errors='replace')}"
    except BaseException as failure:
        failure.add_note(f"{command[0]} said:\n{log.read_text(errors='replace')[-2000:]}")
        raise
    finally:
        process.terminate()
        try:
            process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def run_and_report(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Runs a process to its end, whatever that is."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
        cwd=REPOSITORY,
        env=_environment(None),
    )


def run_to_end(command: Sequence[str | Path]) -> str:
    """Runs a process to its end and returns its standard output; a non-zero exit code fails the test."""
    done = run_and_report(command)
    assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    # Loopback only: a proxy setting of the machine must not get between the peers.
    inherited = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return inherited | {"PYTHONUNBUFFERED": "1", "PYTHONPATH": str(REPOSITORY)} | dict(extra or {})


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path, ready: str) -> str:
    limit = time.monotonic() + START_LIMIT_S
    while True:
        over = process.poll() is not None or time.monotonic() > limit
        said = log.read_text(errors="replace")
        if match := re.search(ready, said):
            return match[1]
        assert not over, f"{process.args!r} did not start:\n{said}"
        time.sleep(0.02)
