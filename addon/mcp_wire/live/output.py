"""The output folder: findings as they happen, journals that a crash cannot take back, transcripts, one report.

    findings.jsonl            one finding a line, as they happen
    transcripts/<label>.json  one a conversation; at the end, and earlier where a session or a conversation is over
    report.json               at the end: what `mcp-conformance validate --report json` says of the transcripts
    report.html …             at the end: other forms of the same report, those that were asked for
    journal/<label>.jsonl     while running: every redacted observation, from which transcripts are assembled
    previous/<n>/             what earlier runs left, untouched

The names above always belong to the newest run; what an earlier one left there is moved away first. Journals that a
killed run left behind are made into transcripts before that. Files are 0600, folders made here 0700. Lines are whole in
one write(2) and in the kernel when it returns: killing the process loses nothing that was written. There is no fsync a
line, so a power cut can take the last seconds; transcripts and the report are synced before they replace anything.
See docs/live-output.md.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final

from mcp_wire.judging.declaration import Rule
from mcp_wire.judging.finding import Finding
from mcp_wire.judging.ledger import OBSERVER_ERROR
from mcp_wire.reports.form_names import FILE_NAMES
from mcp_wire.reports.forms import FORMS, Form
from mcp_wire.reports.json_report import reports_text
from mcp_wire.reports.model import NamedReport, Results
from mcp_wire.transcript.assembly import assemble
from mcp_wire.transcript.journal import JournalHeader, encode
from mcp_wire.transcript.places import exchange_lines
from mcp_wire.transcript.reading import TranscriptInputError, read_document
from mcp_wire.validation import recorded_timeline, validate
from mcp_wire.wire.observation import Observation

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be moved away: a second run fails at that
    fcntl = None  # type: ignore[assignment]

FINDINGS: Final = "findings.jsonl"
REPORT: Final = FILE_NAMES["json"]
TRANSCRIPTS: Final = "transcripts"
JOURNAL: Final = "journal"
PREVIOUS: Final = "previous"
LOCK: Final = ".in-use"

MAX_OPEN_JOURNALS: Final = 64
"""File descriptors held for journals; others are opened again when they are written to."""
MAX_EARLY_JOURNAL: Final = 512 * 1024
"""Octets up to which a journal is made into a transcript while traffic runs, which waits meanwhile; a larger one waits
for the end."""

MAX_HELD_OCTETS: Final = 1024 * 1024
"""Of journal lines that were made together and are written together."""

MAX_SHOWN_TRANSCRIPT: Final = 256 * 1024 * 1024
"""Octets of a transcript that is read once more for a report that shows its exchanges; it has to fit into memory."""

_EXPIRING: Final = b"expiring\n"
"""In the lock's file: its holder has no proxy any more, and ends by itself."""

_FILE_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700


class OutputError(OSError):
    """The folder cannot be used. `strerror` is a clause: "it cannot be written (Read-only file system)"."""


class StillWritten(OutputError):
    """What an ended proxy has left to judge is still being written there."""


class OutputFolder:
    """One run's files in `folder`. Raises OutputError if they cannot be made.

    `holding`: journal lines wait for `settle`, up to MAX_HELD_OCTETS; otherwise each is written when it is made.

    `rules` judge what a killed run left behind; `log` hears of that. `forms` of the report are written beside
    report.json. Once open, methods raise OSError, and what failed leaves no torn line and no half a file.
    """

    def __init__(
        self,
        folder: Path,
        *,
        rules: Sequence[Rule] | None = None,
        forms: Sequence[str] = (),
        holding: bool = False,
        log: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self.folder = folder
        self._forms = [FORMS[name] for name in dict.fromkeys(forms) if name != "json"]
        self._log = log
        self._journals: OrderedDict[str, int] = OrderedDict()
        self._holding = holding
        self._held: dict[str, bytearray] = {}
        self._held_octets = 0
        self._broken: set[str] = set()
        self._recorded: set[str] = set()
        self._postponed: list[str] = []
        self._lock: int | None = None
        self._findings: int | None = None
        try:
            folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            self._lock = _locked(folder / LOCK)
            if _left_behind(folder):
                _recover(folder, rules, self._forms, log)
            _move_away(folder, log)
            for name in (TRANSCRIPTS, JOURNAL):
                (folder / name).mkdir(mode=_FOLDER_MODE, exist_ok=True)
            self._findings = _opened(folder / FINDINGS, os.O_EXCL)
        except OutputError:
            self._unlock()
            raise
        except OSError as problem:
            self._unlock()
            why = problem.strerror or type(problem).__name__
            raise OutputError(problem.errno or errno.EIO, f"it cannot be written ({why})") from None

    def expire(self) -> None:
        """The proxy is gone: whoever wants the folder now may wait for it."""
        if self._lock is not None:
            with contextlib.suppress(OSError):
                os.write(self._lock, _EXPIRING)

    def name_of(self, label: str) -> str:
        return f"{TRANSCRIPTS}/{label}.json"

    def finding(self, line: str) -> None:
        """Append one line to findings.jsonl."""
        if self._findings is not None:
            _append(self._findings, f"{line}\n".encode())

    def record(self, label: str, records: Sequence[Observation | JournalHeader]) -> None:
        """Append to a journal, whole or not at all. After a failure it takes nothing more: gaps would falsify it."""
        if label in self._broken:
            return
        lines = "".join([f"{encode(record)}\n" for record in records]).encode()
        self._held.setdefault(label, bytearray()).extend(lines)
        self._held_octets += len(lines)
        if not self._holding or self._held_octets > MAX_HELD_OCTETS:
            self.settle()

    def settle(self) -> None:
        """Write what is held of the journals. One that fails takes no other with it."""
        failure: OSError | None = None
        self._held_octets = 0
        if self._findings is not None and os.fstat(self._findings).st_nlink == 0 and not self.folder.exists():
            # What is written goes nowhere from now on, although no call fails.
            failure = OSError(errno.ENOENT, "it was removed")
        while self._held:
            label, lines = self._held.popitem()
            try:
                _append(self._journal(label), lines)
                self._recorded.add(label)
            except OSError as problem:
                self._broken.add(label)
                failure = failure or problem
                with contextlib.suppress(OSError):  # as far as there is room
                    for line in lines.splitlines(keepends=True):
                        _append(self._journal(label), line)
        if failure is not None:
            raise failure

    def preview(self, label: str) -> None:
        """Write the transcript as far as it goes, if that is quickly done. The journal stays: more may come."""
        self.settle()
        if self._is_quick(label):
            # The journal stays, so that this file need not outlive a power cut.
            _assembled(self._journal_path(label), self.folder / self.name_of(label), sync=False)

    def conclude(self, label: str) -> None:
        """Nothing more will be recorded: write the transcript, now or, where that would take long, in `close`."""
        try:
            self.settle()
        finally:
            descriptor = self._journals.pop(label, None)
            if descriptor is not None:
                os.close(descriptor)
            if self._is_quick(label):
                self._transcript(label)
            else:
                self._postponed.append(label)

    def report(self, text: str) -> None:
        """Where report.json stands, the transcripts that it tells of stand beside it. Raises for one that does not."""
        failure = self._write_postponed()
        with _replacing(self.folder / REPORT) as file:
            file.write(text.encode())
        if failure is not None:
            raise failure

    def further_reports(self, results: Results) -> None:
        """The other forms that were asked for, made from the transcripts. One that fails takes no other with it."""
        failure = self._write_postponed()
        failure = _write_forms(self.folder, self._forms, results, self._log) or failure
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Write the transcripts that had to wait, and let go of everything. Idempotent."""
        failure: OSError | None = None
        try:
            self.settle()
        except OSError as problem:
            failure = problem
        failure = self._write_postponed() or failure
        while self._journals:
            os.close(self._journals.popitem()[1])
        if self._findings is not None:
            os.close(self._findings)
            self._findings = None
        with contextlib.suppress(OSError):
            (self.folder / JOURNAL).rmdir()  # stays if a journal had to stay
        self._unlock()
        if failure is not None:
            raise failure

    def _write_postponed(self) -> OSError | None:
        failure: OSError | None = None
        while self._postponed:
            try:
                self._transcript(self._postponed.pop())
            except OSError as problem:
                failure = failure or problem
        return failure

    def _transcript(self, label: str) -> None:
        """The journal goes once the transcript is on disk, and stays if that fails."""
        path = self._journal_path(label)
        if label in self._recorded or path.exists():
            self._recorded.discard(label)
            _assembled(path, self.folder / self.name_of(label))
            path.unlink()

    def _is_quick(self, label: str) -> bool:
        path = self._journal_path(label)
        return path.exists() and path.stat().st_size <= MAX_EARLY_JOURNAL

    def _journal_path(self, label: str) -> Path:
        return self.folder / JOURNAL / f"{label}.jsonl"

    def _journal(self, label: str) -> int:
        descriptor = self._journals.get(label)
        if descriptor is None:
            descriptor = _opened(self._journal_path(label))
            self._journals[label] = descriptor
            if len(self._journals) > MAX_OPEN_JOURNALS:
                os.close(self._journals.popitem(last=False)[1])
        self._journals.move_to_end(label)
        return descriptor

    def _unlock(self) -> None:
        if self._lock is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None


def files_in(folder: Path) -> tuple[str, ...]:
    """What the newest run has written, for people: the reports and the findings by name, the transcripts by number."""
    names = [name for name in (*FILE_NAMES.values(), FINDINGS) if (folder / name).exists()]
    transcripts = sum(1 for _ in (folder / TRANSCRIPTS).glob("*.json"))
    if transcripts:
        names.append(f"{transcripts} transcript{'' if transcripts == 1 else 's'} in {TRANSCRIPTS}/")
    return tuple(names)


def _opened(path: Path, flags: int = 0) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | flags, _FILE_MODE)


def _append(descriptor: int, data: bytes | bytearray) -> None:
    """All of it or nothing: a torn line would spoil the line after it."""
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, memoryview(data)[written:])
    except OSError:
        with contextlib.suppress(OSError):
            if written:
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
        raise


@contextlib.contextmanager
def _replacing(path: Path, *, sync: bool = True) -> Iterator[BinaryIO]:
    """A file that takes its name when it is complete (and on disk), and leaves nothing behind when it fails."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), _FILE_MODE)
    try:
        with open(descriptor, "wb") as file:
            yield file
            if sync:
                file.flush()
                os.fsync(descriptor)
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


def _assembled(journal: Path, transcript: Path, *, sync: bool = True) -> None:
    with open(journal, "rb") as source, _replacing(transcript, sync=sync) as file:
        assemble(source, lambda text: file.write(text.encode()))


def _locked(path: Path) -> int | None:
    """Keep a second run out of the folder while this one lives; the kernel lets go when the process does."""
    if fcntl is None:
        return None
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        expiring = os.read(descriptor, len(_EXPIRING)) == _EXPIRING
        os.close(descriptor)
        if expiring:
            raise StillWritten(errno.EBUSY, "the files of the last run are still being written there") from None
        raise OutputError(errno.EBUSY, "another running proxy writes there") from None
    except OSError:
        pass  # a file system without locks
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
    return descriptor


def _left_behind(folder: Path) -> list[Path]:
    return sorted((folder / JOURNAL).glob("*.jsonl"))


def _write_forms(folder: Path, forms: Sequence[Form], results: Results, log: Callable[[str], None]) -> OSError | None:
    """One form that fails takes no other with it. Returns the first failure of the disk."""
    failure: OSError | None = None
    for form in forms:
        try:
            shown = replace(results, reports=tuple(_shown(folder, named, form, log) for named in results.reports))
            with _replacing(folder / form.file_name) as file:
                file.write(form.render(shown).encode(errors="backslashreplace"))
        except OSError as problem:
            failure = failure or problem
        except Exception as problem:
            log(f"{form.file_name} could not be made ({type(problem).__name__}).")
    return failure


def _shown(folder: Path, named: NamedReport, form: Form, log: Callable[[str], None]) -> NamedReport:
    """The report with what its transcript tells, as far as the form shows that."""
    path = folder / named.transcript
    if not path.exists():
        return named
    if path.stat().st_size > MAX_SHOWN_TRANSCRIPT:
        log(f"{named.transcript} is too large for {form.file_name}, which has its findings only.")
        return named
    text = path.read_bytes()
    lines = exchange_lines(text.decode())
    if form.detail is None:
        return replace(named, lines=lines)
    timeline = recorded_timeline(read_document(text), named.report, form.detail)
    return replace(named, timeline=timeline, lines=lines)


def _recover(folder: Path, rules: Sequence[Rule] | None, forms: Sequence[Form], log: Callable[[str], None]) -> None:
    """Make transcripts and reports of what a killed run left. What cannot be assembled stays a journal."""
    (folder / TRANSCRIPTS).mkdir(mode=_FOLDER_MODE, exist_ok=True)
    recovered = 0
    for journal in _left_behind(folder):
        try:
            _assembled(journal, folder / TRANSCRIPTS / f"{journal.stem}.json")
            journal.unlink()
            recovered += 1
        except OSError as problem:
            log(f"The journal {journal.name} of an earlier run could not be read ({problem.strerror}); it is kept.")
    with contextlib.suppress(OSError):
        (folder / JOURNAL).rmdir()
    log(f"The last run did not end by itself: {recovered} transcripts were recovered from its journals.")
    reports: list[NamedReport] = []
    for transcript in sorted((folder / TRANSCRIPTS).glob("*.json")):
        try:
            report = validate(read_document(transcript.read_bytes()), rules)
            reports.append(NamedReport(f"{TRANSCRIPTS}/{transcript.name}", report))
        except (TranscriptInputError, OSError, MemoryError) as problem:
            log(
                f"{TRANSCRIPTS}/{transcript.name} of the last run is left out of its report ({type(problem).__name__})."
            )
    with _replacing(folder / REPORT) as file:
        file.write(reports_text(reports, [_INTERRUPTED]).encode())
    failure = _write_forms(folder, forms, Results(tuple(reports), (_INTERRUPTED,)), log)
    if failure is not None:
        raise failure


_INTERRUPTED: Final = Finding(
    code=OBSERVER_ERROR,
    level="info",
    party="pipeline",
    layer="capture_pipeline",
    path="/",
    message="The proxy was ended before it could finish. This report was made from the journals at the next start.",
    exchange=None,
    citation=None,
    fix="Nothing needs to be done: what was in flight when it ended is missing, the rest is here.",
)


def _move_away(folder: Path, log: Callable[[str], None]) -> None:
    """Give an earlier run's files a folder of their own, so that this run can overwrite nothing."""
    names = (FINDINGS, *FILE_NAMES.values(), TRANSCRIPTS, JOURNAL)
    present = [name for name in names if os.path.lexists(folder / name)]
    if not present:
        return
    previous = folder / PREVIOUS
    previous.mkdir(mode=_FOLDER_MODE, exist_ok=True)
    number = 1 + max((int(entry.name) for entry in previous.iterdir() if _is_number(entry.name)), default=0)
    target = previous / str(number)
    target.mkdir(mode=_FOLDER_MODE)
    for name in present:
        (folder / name).rename(target / name)
    log(f"The files of the last run were moved to {PREVIOUS}/{number}.")


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()
