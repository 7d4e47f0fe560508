"""A run of which the record is incomplete does not end as though all was well, through a real mitmdump; and its traffic
never notices."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live.mcp import INITIALIZE, POST, RESULT
from tests.live.peers import Received, Server, ask
from tests.peers.processes import RUN_LIMIT_S, STOP_LIMIT_S
from tests.peers.proxy import ADDON, TOOLS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals, and files that are removed while in use")

LIMIT: str = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))"
SMALL_FILES: str = f"import os, sys; {LIMIT}; os.execv(sys.argv[1], sys.argv[1:])"


class Run:
    """One mitmdump, before a server that answers."""

    def __init__(
        self, folder: Path, output: Path, upstream: int, options: Sequence[str], program: Sequence[str | Path]
    ) -> None:
        self.output = output
        self._said = folder / "said"
        settings = (f"confdir={folder / 'authority'}", f"mcp_output={self.output}", "flow_detail=0", *options)
        command: list[str | Path] = [*program, "--mode", f"reverse:http://127.0.0.1:{upstream}@127.0.0.1:0"]
        for setting in settings:
            command += ["--set", setting]
        with self._said.open("wb") as said:
            environment = os.environ | {"PYTHONUNBUFFERED": "1"}
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.PIPE, env=environment
            )

    @property
    def said(self) -> str:
        return self._said.read_text()

    @property
    def port(self) -> int:
        self.wait(lambda: "listening at" in self.said)
        found = re.search(r"listening at 127\.0\.0\.1:(\d+)", self.said)
        assert found is not None
        return int(found[1])

    @property
    def judge(self) -> int:
        asked = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return int(asked.stdout.split()[0])

    def wait(self, is_so: Callable[[], bool]) -> None:
        limit = time.monotonic() + RUN_LIMIT_S
        while not is_so():
            assert time.monotonic() < limit, self.said
            time.sleep(0.02)

    def call(self) -> None:
        assert ask(self.port, "POST", "/mcp", POST, INITIALIZE).reader.exactly(len(RESULT)) == RESULT

    def end(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, list[str]]:
        """The exit code, and the lines on standard error."""
        self.process.send_signal(how)
        _, complaint = self.process.communicate(timeout=RUN_LIMIT_S)
        return self.process.returncode, complaint.decode().splitlines()


@contextmanager
def started(
    folder: Path, *options: str, output: Path | None = None, before: Sequence[str] = (), script: Path = ADDON
) -> Iterator[Run]:
    def answer(request: Received) -> None:
        length = b"Content-Length: %d\r\n\r\n" % len(RESULT)
        request.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + length + RESULT)

    with Server().running() as server:
        server.scripts["/mcp"] = answer
        run = Run(
            folder, output or folder / "output", server.port, options, [*before, TOOLS / "mitmdump", "-s", script]
        )
        try:
            yield run
        finally:
            if run.process.poll() is None:
                run.process.kill()
            run.process.communicate(timeout=STOP_LIMIT_S)


def incomplete(run: Run) -> tuple[int, list[str]]:
    return 2, [
        f"mcp_conformance.py: The record of this run in {run.output} is incomplete; the log says why. Exit code 2."
    ]


def journals(run: Run) -> list[Path]:
    return list((run.output / "journal").glob("*.jsonl"))


def test_a_judge_that_was_killed(tmp_path: Path) -> None:
    with started(tmp_path) as run:
        run.call()
        run.wait(lambda: journals(run) != [])
        os.kill(run.judge, signal.SIGKILL)
        run.call()
        assert run.end(signal.SIGINT) == incomplete(run)
    assert run.said.count("observer_error: the judge's process ended too early (signal 9)") == 1
    assert not (run.output / "report.json").exists()


def test_a_folder_that_was_removed(tmp_path: Path) -> None:
    with started(tmp_path) as run:
        run.call()
        run.wait(lambda: journals(run) != [])
        shutil.rmtree(run.output)
        run.call()
        run.wait(lambda: "The output folder cannot be written (it was removed)" in run.said)
        assert run.end() == incomplete(run)
    assert not run.output.exists()


def test_files_that_cannot_grow(tmp_path: Path) -> None:
    with started(tmp_path, before=(sys.executable, "-c", SMALL_FILES)) as run:
        for _ in range(20):
            run.call()
        assert run.end() == incomplete(run)
    report = json.loads((run.output / "report.json").read_text()) if (run.output / "report.json").exists() else None
    assert report is None or "observer_error" in {finding["code"] for finding in report["findings"]}


def test_a_script_that_is_loaded_again_and_one_that_is_gone(tmp_path: Path) -> None:
    """mitmproxy watches the file: each time it loads the script anew, and a file that is missing ends the observing."""
    script = tmp_path / "addon" / "mcp_conformance.py"
    script.parent.mkdir()
    script.write_text(f"import sys\nsys.path.insert(0, {str(ADDON.parent)!r})\n{ADDON.read_text()}")
    with started(tmp_path, script=script) as run:
        run.call()
        os.utime(script)
        run.wait(lambda: "The files of the last run were moved to previous/1." in run.said)
        run.call()
        script.unlink()
        run.wait(lambda: "mcp_conformance.py is not loaded any more" in run.said)
        run.call()
        assert run.end() == (
            2,
            ["mcp_conformance.py: mcp_conformance.py was unloaded while mitmproxy ran. Exit code 2."],
        )
    for report in (run.output / "previous" / "1" / "report.json", run.output / "report.json"):
        assert [told["transcript"] for told in json.loads(report.read_text())["conversations"]] == [
            "transcripts/stable-2025-11-25.endpoint-1.no-session.json"
        ]


def test_a_script_that_cannot_start_again(tmp_path: Path) -> None:
    script = tmp_path / "addon" / "mcp_conformance.py"
    script.parent.mkdir()
    script.write_text(f"import sys\nsys.path.insert(0, {str(ADDON.parent)!r})\n{ADDON.read_text()}")
    with started(tmp_path, script=script) as run:
        run.call()
        shutil.rmtree(run.output)
        run.output.write_text("not a folder")
        os.utime(script)
        run.wait(lambda: "mcp_conformance.py observes nothing." in run.said)
        assert "is refused: allowed is the name of a folder, existing or new." in run.said
        run.call()
        assert run.end() == incomplete(run)
    assert run.output.read_text() == "not a folder"


def test_a_whole_record_ends_with_0_and_a_second_proxy_stays_out(tmp_path: Path) -> None:
    second_folder = tmp_path / "second"
    second_folder.mkdir()
    with started(tmp_path) as run:
        run.call()
        with started(second_folder, output=run.output) as second:
            _, complaint = second.process.communicate(timeout=RUN_LIMIT_S)
        assert (second.process.returncode, complaint) == (1, b"Error logged during startup, exiting...\n")
        refusals = [line for line in second.said.splitlines() if "is refused" in line]
        assert len(refusals) == 1
        assert "another running proxy writes there" in refusals[0]
        run.call()
        assert run.end() == (0, [])
    assert len(json.loads((run.output / "report.json").read_text())["conversations"]) == 1


def test_a_proxy_that_was_killed(tmp_path: Path) -> None:
    """Its judge writes everything that was asked for, and says that it is not all."""
    with started(tmp_path, "mcp_reports=markdown") as run:
        run.call()
        run.wait(lambda: journals(run) != [])
        assert run.end(signal.SIGKILL)[0] == -signal.SIGKILL
        run.wait(lambda: not (run.output / "journal").exists())
    findings = json.loads((run.output / "report.json").read_text())["findings"]
    (error,) = [finding for finding in findings if finding["code"] == "observer_error"]
    assert error["message"] == (
        "The proxy was stopped before it could hand everything over; what was in flight is missing."
    )
    assert error["message"] in (run.output / "report.md").read_text()


def test_a_proxy_that_was_killed_together_with_its_judge(tmp_path: Path) -> None:
    with started(tmp_path, "mcp_reports=markdown") as run:
        run.call()
        run.wait(lambda: journals(run) != [])
        os.kill(run.judge, signal.SIGKILL)
        run.end(signal.SIGKILL)
    assert journals(run) != []
    with started(tmp_path, "mcp_reports=markdown,sarif") as run:
        run.call()
        assert run.end() == (0, [])
    recovered = {str(path.relative_to(run.output)) for path in run.output.glob("previous/1/*")}
    names = ("findings.jsonl", "report.json", "report.md", "report.sarif", "transcripts")
    assert recovered == {f"previous/1/{name}" for name in names}
