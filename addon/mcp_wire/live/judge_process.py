"""The judge runs in a process of its own, and the proxy only hands over what it saw.

Judging one large answer takes seconds. In the proxy's event loop it would stop every connection; in a thread it would
stop them again and again, since the JSON reader, the garbage collector and the schema check hold the interpreter for up
to a second at a time. A process cannot hold anything: if it is slow, stuck, or dead, the traffic does not notice.

It also outlives the proxy: when the proxy is killed, the judge reads what is in the pipe, writes its files and ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

import mcp_wire
from mcp_wire.live.judge_messages import Finished, Message, Opened, Opening, Refused, Said, framed, frames
from mcp_wire.live.outbox import Outbox
from mcp_wire.live.parts import Entry, OverPart

JUDGE: Final = "mcp_wire.live.judge_main"

START_PATIENCE_S: Final = 600.0
"""Between two words of a judge that is starting: it may have to make transcripts of what a killed run left."""
FINISH_PATIENCE_S: Final = 120.0
"""How long the end of the proxy waits for the judge, whose backlog may be large. Then the proxy ends, and the judge
goes on alone: it has everything, and writes the rest when it is through."""
NOTICEABLE_S: Final = 2.0
PIPE_OCTETS: Final = 1024 * 1024
"""What a pipe is asked to hold, where the system lets one ask (Linux)."""

_BOOT: Final = """
import importlib, sys
sys.path[:] = sys.argv[2:]
try:
    main = importlib.import_module(sys.argv[1]).main
except Exception as problem:
    from mcp_wire.live.judge_messages import Refused, framed
    why = f"the judge's process did not start ({type(problem).__name__}: {problem})"
    sys.stdout.buffer.write(framed(Refused(why)))
else:
    main()
"""


class JudgeProcess:
    """Starts the judge and waits until it is ready; raises OSError with a clause as `strerror` where it refuses.

    `hear` is told, in the proxy's thread, what the judge says. `module`: the one whose `main` is run.
    """

    def __init__(self, opening: Opening, hear: Callable[[Message], None], *, module: str = JUDGE) -> None:
        self._hear = hear
        self._loop = asyncio.get_running_loop()
        self._heard: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._opened = False
        self._finished = False
        self._complete = False
        self._gave_up = False
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _BOOT, module, *import_path()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the proxy, which then tells the judge
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._pipe = self._process.stdin
        self._listener = threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True)
        self._listener.start()
        self._open(opening)
        _make_wide(self._pipe.fileno())
        os.set_blocking(self._pipe.fileno(), False)
        self._outbox = Outbox(self._write, self._loop.call_soon, self._loop.call_later)

    @property
    def waiting_octets(self) -> int:
        """Of what the judge has not taken yet."""
        return self._outbox.octets

    def offer(self, entry: Entry, octets: int) -> bool:
        """Hand content of this size over; False where there is no room for it."""
        taken = self._outbox.offer(entry, octets)
        self._gave_up = self._gave_up or not taken
        return taken

    def put(self, entry: Entry, octets: int = 0) -> None:
        """Hand over what must not be lost."""
        self._outbox.put(entry, octets)

    def flush(self) -> None:
        """Wait until the judge has taken everything. Not while traffic runs."""
        self._outbox.drain(lambda: False)

    def finish(self) -> bool:
        """Nothing more will come: wait until everything is judged and written. Is it?"""
        started = time.monotonic()
        self._outbox.put(("", 0, OverPart()))
        with _asked_again() as again:
            self._outbox.drain(lambda: again.is_set() or time.monotonic() - started > FINISH_PATIENCE_S)
            has_everything = self._outbox.octets == 0
            self._outbox.close()
            with contextlib.suppress(OSError):
                self._pipe.close()
            self._wait(again, started + NOTICEABLE_S)
            if self._listener.is_alive() and not again.is_set():
                self._hear(Said(logging.INFO, "The last of what was seen is still being judged."))
                self._wait(again, started + FINISH_PATIENCE_S)
        if self._listener.is_alive() and (has_everything or again.is_set()):
            self._finished = True
            sentence = f"The judge goes on alone (process {self._process.pid}); report.json follows when it is through."
            self._hear(Said(logging.WARNING, sentence))
        else:
            if self._listener.is_alive():  # it does not even take what it is handed
                self._process.kill()
                self._listener.join()
            self._process.wait()
        self._pass_on()
        return self._complete and not self._gave_up

    def _wait(self, again: threading.Event, until: float) -> None:
        """For the judge's end, a time, or somebody who does not want to wait."""
        while self._listener.is_alive() and not again.is_set() and time.monotonic() < until:
            self._listener.join(0.05)

    def _open(self, opening: Opening) -> None:
        why = "the judge's process did not start"
        with contextlib.suppress(OSError, queue.Empty):
            self._pipe.write(framed(opening))
            self._pipe.flush()
            while (answer := self._heard.get(timeout=START_PATIENCE_S)) is not None:
                if isinstance(answer, Opened):
                    self._opened = True
                    return
                if isinstance(answer, Refused):
                    why = answer.why
                self._hear(answer)
        self._process.kill()
        self._process.wait()
        raise OSError(errno.EIO, why)

    def _write(self, octets: memoryview) -> int:
        try:
            return os.write(self._pipe.fileno(), octets)
        except BlockingIOError:
            return 0

    def _listen(self, stream: IO[bytes]) -> None:
        """In a thread of its own: most of the time it waits."""
        with contextlib.suppress(OSError, EOFError):
            for message in frames(stream):
                self._tell(message)
        self._tell(None)

    def _tell(self, message: Message | None) -> None:
        self._heard.put(message)
        if self._opened:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the proxy is ending, and asks by itself
                self._loop.call_soon_threadsafe(self._pass_on)

    def _pass_on(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                message = self._heard.get_nowait()
                if isinstance(message, Finished):
                    self._finished, self._complete = True, message.complete
                if message is not None:
                    self._hear(message)
                elif not self._finished:
                    self._finished = True
                    self._hear(Said(logging.WARNING, self._lost()))

    def _lost(self) -> str:
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return (
            f"observer_error: the judge's process ended too early ({how}); the traffic goes on and is no longer "
            "observed. What was judged until then becomes transcripts at the next start with the same folder."
        )


@contextlib.contextmanager
def _asked_again() -> Iterator[threading.Event]:
    """Set when the signal to end comes once more. mitmproxy hears of signals in its event loop, which stands still."""
    again = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield again
        return
    before = [(number, signal.signal(number, lambda *_: again.set())) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield again
    finally:
        for number, handler in before:
            if handler is not None:
                signal.signal(number, handler)


def import_path() -> list[str]:
    """The proxy's own, so that every process of ours runs the same code, wherever it was loaded from."""
    ours = str(Path(mcp_wire.__file__).resolve().parent.parent)
    return list(dict.fromkeys([ours, *(str(Path(entry).resolve()) for entry in sys.path)]))


def _make_wide(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        return
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_OCTETS)
