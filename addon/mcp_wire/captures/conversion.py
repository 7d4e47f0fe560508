"""Captures, converted into redacted transcripts with what is found in them: one pair of files a conversation.

Everything is written beside its place first, and takes its names only when all of it is there.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from mcp_wire.captures.replay import Index, replayed
from mcp_wire.captures.stored import Capture
from mcp_wire.expectations import expected_name, expected_text
from mcp_wire.judging.declaration import Rule
from mcp_wire.live.exchange import Exchanges
from mcp_wire.live.observer import Observer, ObserverSettings
from mcp_wire.live.output import TRANSCRIPTS, OutputFolder
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.profiles import Profile
from mcp_wire.reports.model import NamedReport, Report
from mcp_wire.rules import rules_of
from mcp_wire.transcript.journal import JournalHeader
from mcp_wire.wire.observation import Observation, RequestSeen
from mcp_wire.wire.strict_json import JsonValue

MAX_NAME_OCTETS: Final = 120
"""Octets of a capture's name that the names of its transcripts begin with; file systems take 255 for the whole."""
_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Converted:
    """One conversation. `name`: the file name of its transcript; the one of its findings is `expected`."""

    name: str
    exchanges: int
    report: Report

    @property
    def expected(self) -> str:
        return expected_name(self.name)


class AlreadyThere(Exception):
    """Files that would have been replaced by others. `names` in the order in which they were made."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"{len(names)} files are there already and differ")
        self.names = tuple(names)


class Conversion:
    """Makes transcripts in a folder; a context manager. Without `commit`, nothing is left of it. Raises OSError.

    `rules` None: the default set. `profile` None: each conversation by its own evidence. `say` hears, in sentences, of
    what limits made incomplete. `asserted`: what an operator says of the interoperability tuple. `redactor`: makes what
    redacts one conversation.
    """

    def __init__(
        self,
        output: Path,
        rules: Sequence[Rule] | None = None,
        profile: Profile | None = None,
        say: Callable[[str], None] = lambda sentence: None,
        asserted: Mapping[str, JsonValue] | None = None,
        redactor: Callable[[], Redactor] = Redactor,
    ) -> None:
        self._output = output
        self._redactor = redactor
        self._settings = ObserverSettings(tuple(rules_of() if rules is None else rules), profile, asserted or {})
        self._extended = any(rule.rule_set == "extended" for rule in self._settings.rules)
        self._say = say
        self._made = _make_folder(output)
        self._staging = Path(tempfile.mkdtemp(prefix=".converting-", dir=output))
        self._captures = 0
        self._committed = False
        self._names: set[str] = set()
        self._ready: list[tuple[Path, str]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._staging, ignore_errors=True)
        if not self._committed:
            for folder in self._made:
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def convert(self, name: str, capture: Capture, index: Index) -> list[Converted]:
        """The conversations of a capture, by name: `<name>.<label>.json`. Two captures of one name get numbers."""
        prefix = self._prefix(_shortened(name))
        self._captures += 1
        files = _Files(self._staging / str(self._captures), self._settings.rules, self._say)
        reports: list[NamedReport] = []
        say = files.unless_failed(self._say)
        observer = Observer(self._settings, files, on_report=reports.append, log=say, redactor=self._redactor)
        exchanges = Exchanges()
        for entry in replayed(capture, index):
            for origin, observation in exchanges.take(entry):
                observer.observe(origin, observation)
            files.check()
        observer.finish()
        files.check()
        reports.sort(key=lambda named: named.transcript)
        return [self._take(prefix, files, named) for named in reports if (files.folder / named.transcript).exists()]

    def commit(self, *, force: bool = False) -> None:
        """Give everything its name. What is there already and is the same stays as it is.

        Raises AlreadyThere where something differs, and then nothing gets its name. `force`: it is replaced.
        """
        ready = [(path, self._output / name) for path, name in self._ready]
        ready = [(path, place) for path, place in ready if not _is_copy(place, path)]
        others = [place.name for _, place in ready if os.path.lexists(place)]
        if others and not force:
            raise AlreadyThere(others)
        for name in others:
            if (self._output / name).is_dir():
                raise IsADirectoryError(errno.EISDIR, f"{os.strerror(errno.EISDIR)}: {name}")
        with _uninterrupted():
            self._committed = bool(ready)
            for path, place in ready:
                os.replace(path, place)

    def _prefix(self, name: str) -> str:
        # Some file systems take letters of either case for the same.
        prefix, number = name, 1
        while prefix.casefold() in self._names:
            number += 1
            prefix = f"{name}-{number}"
        self._names.add(prefix.casefold())
        return prefix

    def _take(self, prefix: str, files: _Files, named: NamedReport) -> Converted:
        label = named.transcript.removeprefix(f"{TRANSCRIPTS}/").removesuffix(".json")
        converted = Converted(f"{prefix}.{label}.json", files.exchanges[label], named.report)
        transcript = files.folder / named.transcript
        expected = transcript.with_name(expected_name(transcript.name))
        _write(expected, expected_text(named.report, extended=self._extended))
        self._ready += [(transcript, converted.name), (expected, converted.expected)]
        return converted


class _Files(OutputFolder):
    """The files of one capture. An observer carries on when it cannot write; a conversion must not."""

    def __init__(self, folder: Path, rules: Sequence[Rule], say: Callable[[str], None]) -> None:
        super().__init__(folder, rules=rules, log=say)
        self.exchanges: dict[str, int] = {}
        self._failure: OSError | None = None

    def record(self, label: str, records: Sequence[Observation | JournalHeader]) -> None:
        requests = sum(isinstance(record, RequestSeen) for record in records)
        self.exchanges[label] = self.exchanges.get(label, 0) + requests
        with self._noticing():
            super().record(label, records)

    def preview(self, label: str) -> None:
        """Nobody looks before the end."""

    def finding(self, line: str) -> None:
        """They stand beside the transcripts."""

    def report(self, text: str) -> None:
        """Likewise."""

    def further_reports(self, results: object) -> None:
        """Likewise."""

    def conclude(self, label: str) -> None:
        with self._noticing():
            super().conclude(label)

    def close(self) -> None:
        with self._noticing():
            super().close()

    def unless_failed(self, say: Callable[[str], None]) -> Callable[[str], None]:
        """Says what an observer logs; that it cannot write, `check` tells."""
        return lambda sentence: say(sentence) if self._failure is None else None

    def check(self) -> None:
        """Raises what went wrong."""
        if self._failure is not None:
            raise self._failure

    @contextlib.contextmanager
    def _noticing(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            self._failure = self._failure or problem
            raise


def _shortened(name: str) -> str:
    octets = os.fsencode(name)
    return name if len(octets) <= MAX_NAME_OCTETS else octets[:MAX_NAME_OCTETS].decode(errors="ignore")


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """No signal that ends the process comes in between; it is heard afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_copy(there: Path, made: Path) -> bool:
    return there.is_file() and filecmp.cmp(there, made, shallow=False)


def _make_folder(folder: Path) -> list[Path]:
    """The folders that were not there, innermost first."""
    made = []
    missing = folder
    while not missing.exists():
        made.append(missing)
        missing = missing.parent
    for path in reversed(made):
        path.mkdir(mode=_FOLDER_MODE)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    return made


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    with open(descriptor, "wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(descriptor)
