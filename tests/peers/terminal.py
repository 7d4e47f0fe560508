"""A program in a terminal of its own, under tmux: keys go in, screens come out."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

PATIENCE_S: Final = 30.0


class Terminal:
    """One running program."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def keys(self, *keys: str) -> None:
        """Press keys, by tmux's names, or type a text."""
        self._tmux("send-keys", "-t", "t", *keys)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-t", "t", "-p")

    def until(self, is_there: Callable[[str], bool]) -> str:
        """The first screen of which that is true."""
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit:
            if is_there(screen := self.screen()):
                return screen
            time.sleep(0.1)
        raise AssertionError(f"it did not appear:\n{self.screen()}")

    def shows(self, *texts: str) -> str:
        """The first screen that has all these texts on it."""
        return self.until(lambda screen: all(text in screen for text in texts))

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=True
        )
        return done.stdout


@contextlib.contextmanager
def terminal(command: Sequence[str | Path], folder: Path, size: tuple[int, int] = (120, 50)) -> Iterator[Terminal]:
    """Runs a command for the block. Without tmux on PATH the test is skipped, in CI it fails."""
    if shutil.which("tmux") is None:
        message = "tmux is not on PATH"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    socket = folder / "tmux"
    environment = os.environ | {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    environment.pop("TMUX", None)
    start: list[str | Path] = ["tmux", "-u", "-f", "/dev/null", "-S", socket, "new-session", "-d", "-s", "t"]
    start += ["-x", str(size[0]), "-y", str(size[1]), shlex.join(map(str, command))]
    subprocess.run(start, env=environment, timeout=PATIENCE_S, check=True)
    try:
        yield Terminal(socket)
    finally:
        subprocess.run(["tmux", "-S", socket, "kill-server"], timeout=PATIENCE_S, check=False)
