"""The judge's process: reads what the proxy saw, judges, writes, and tells what it finds."""

from __future__ import annotations

import contextlib
import errno
import functools
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from typing import BinaryIO, Final

from mcp_wire.judging.declaration import Rule
from mcp_wire.live.exchange import Exchanges
from mcp_wire.live.faults import Faults
from mcp_wire.live.judge_messages import Explained, Finished, Message, Opened, Opening, Refused, Said, framed, frames
from mcp_wire.live.observer import Observer, ObserverSettings
from mcp_wire.live.output import OutputFolder, StillWritten, files_in
from mcp_wire.live.parts import AskPart, Entry, OverPart
from mcp_wire.live.read_ahead import ReadAhead
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.reports.explanation import explanations_text
from mcp_wire.reports.human_report import Style
from mcp_wire.rules import rules_of
from mcp_wire.transcript.tuple_words import asserted_parts

NICENESS: Final = 5
"""The proxy goes first where there are too few processors for both."""
EXPLANATION_WIDTH: Final = 78
GC_THRESHOLD: Final = 50_000
"""One large JSON value is hundreds of thousands of objects, none of them in a cycle; by default all of them would be
looked through again and again while it is read."""
MAX_MEMORY_OCTETS: Final = 4 * 1024 * 1024 * 1024
"""Of address space. What asks for more fails: at worst the judge ends, and the traffic goes on without it."""
LAST_RUN_PATIENCE_S: Final = 5.0
"""The judge of a proxy that is gone goes on until it has written everything, and holds the folder meanwhile."""
NOTICE_S: Final = 0.5
"""In so long a judge has noticed that its proxy is gone, and says so in the folder."""


def main() -> None:
    serve()


def serve(rules: Sequence[Rule] | None = None) -> None:
    """Judge until the proxy closes its end. `rules` None: the set that the proxy names."""
    _leave_signals_to_the_proxy()
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICENESS)
    _limit_memory()
    gc.set_threshold(GC_THRESHOLD)
    telling = _Telling(_own_output())
    opening = next(frames(sys.stdin.buffer), None)
    if not isinstance(opening, Opening):
        return
    chosen = tuple(rules_of(extended=opening.extended) if rules is None else rules)
    try:
        folder = _folder(opening, chosen, telling)
    except OSError as problem:
        telling.tell(Refused(problem.strerror or type(problem).__name__))
        return
    profile = PROFILES[opening.profile] if opening.profile is not None else None
    settings = ObserverSettings(chosen, profile, asserted_parts(opening.tuple_words), opening.decisions)
    redactor = functools.partial(Redactor, keep_tool_names=not opening.redact_names)
    observer = Observer(settings, folder, on_finding=telling.tell, log=telling.warn, redactor=redactor, noting=True)
    telling.tell(Opened())
    telling.tell(_explained(chosen))
    exchanges = Exchanges()
    over = False
    for entries in ReadAhead(sys.stdin.buffer, folder.expire):
        asked = False
        for entry in entries:
            _judge(entry, exchanges, observer, telling)
            asked = asked or isinstance(entry[2], AskPart)
            over = over or isinstance(entry[2], OverPart)
        observer.settle()
        for noted in observer.notes(progress=asked):
            telling.tell(noted)
    if not over:
        observer.interrupted()
    observer.finish()
    for noted in observer.notes(progress=True):
        telling.tell(noted)
    complete = observer.complete and not telling.faults
    telling.tell(Finished(observer.exchanges, observer.conversations, files_in(opening.output), complete))


def _explained(rules: Iterable[Rule]) -> Explained:
    by_code: dict[str, list[Rule]] = {}
    for rule in rules:
        by_code.setdefault(rule.code, []).append(rule)
    return Explained(
        {code: explanations_text(declared, Style(width=EXPLANATION_WIDTH)) for code, declared in by_code.items()}
    )


class _Telling:
    """Everything that is said to the proxy. Once the proxy is gone nobody is told, and judging goes on."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self.faults = Faults()

    def tell(self, message: Message) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._out.write(framed(message))
            self._out.flush()

    def warn(self, sentence: str) -> None:
        self.tell(Said(logging.WARNING, sentence))

    def fault(self, problem: Exception) -> None:
        sentence = self.faults.sentence(problem)
        if sentence is not None:
            self.warn(sentence)


def _judge(entry: Entry, exchanges: Exchanges, observer: Observer, telling: _Telling) -> None:
    try:
        for origin, observation in exchanges.take(entry):
            observer.observe(origin, observation)
    except Exception as problem:
        telling.fault(problem)


def _folder(opening: Opening, rules: Sequence[Rule], telling: _Telling) -> OutputFolder:
    started = time.monotonic()
    while True:
        try:
            return OutputFolder(opening.output, rules=rules, forms=opening.reports, holding=True, log=telling.warn)
        except OSError as problem:
            patience = LAST_RUN_PATIENCE_S if isinstance(problem, StillWritten) else NOTICE_S
            if problem.errno != errno.EBUSY or time.monotonic() - started > patience:
                raise
        time.sleep(0.05)


def _limit_memory() -> None:
    """The tables of what is followed are bounded one by one; this holds for all of it, whatever the traffic does."""
    try:
        import resource
    except ImportError:  # Windows
        return
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = MAX_MEMORY_OCTETS if hard == resource.RLIM_INFINITY else min(MAX_MEMORY_OCTETS, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _own_output() -> BinaryIO:
    """The pipe to the proxy, out of reach of whatever prints."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return out


def _leave_signals_to_the_proxy() -> None:
    """Its end of the pipe closes when it ends, for whatever reason. That is the only sign to stop."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
