from __future__ import annotations

import errno
import itertools
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.cli.main import main
from mcp_wire.live import output as output_module
from mcp_wire.live.observer import Observer, ObserverSettings
from mcp_wire.live.output import OutputError, OutputFolder
from mcp_wire.reports.form_names import FILE_NAMES
from mcp_wire.reports.forms import FORMS, Form
from mcp_wire.reports.model import Results
from mcp_wire.rules import rules_of
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import read_document
from mcp_wire.validation import validate
from tests.live.mcp_traffic import Clock, Step, delete, in_turn, initialize, initialized, modern, tools_list

SESSION = "0123456789abcdef0123456789abcdef"
REPOSITORY = Path(__file__).resolve().parents[2]


def session() -> list[Step]:
    return in_turn(
        initialize(minted=SESSION, sse=True, name="i"),
        initialized(version="2025-11-25", session=SESSION, name="n"),
        tools_list(1, session=SESSION, sse=True, name="t"),
        modern(2, name="m"),
    )


def observer(folder: Path) -> Observer:
    return Observer(ObserverSettings(rules_of()), OutputFolder(folder))


def run(folder: Path, steps: list[Step]) -> None:
    running = observer(folder)
    for step in steps:
        running.observe(step.origin, step.observation)
    running.finish()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def evidence(folder: Path) -> dict[str, bytes]:
    return {name: data for name, data in files(folder).items() if not name.startswith((".", "previous/"))}


LABELS = {"stable-2025-11-25.endpoint-1.session-1", "stable-2026-07-28.endpoint-1.no-session"}
NAMES = {"findings.jsonl", "report.json", *(f"transcripts/{label}.json" for label in LABELS)}


def test_a_run_leaves_findings_transcripts_and_a_report(tmp_path: Path) -> None:
    run(tmp_path, session())
    assert evidence(tmp_path).keys() == NAMES
    lines = [json.loads(line) for line in (tmp_path / "findings.jsonl").read_text().splitlines()]
    assert {"error"} <= {line["level"] for line in lines}
    assert {line["transcript"] for line in lines} <= NAMES
    assert all({"code", "path", "message", "party", "count", "profile"} <= line.keys() for line in lines)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report.keys() == {"valid", "findings", "recovery", "conversations"}
    assert sorted(one["transcript"] for one in report["conversations"]) == sorted(n for n in NAMES if "/" in n)


def test_other_forms_of_the_report_say_what_validate_says_of_the_transcripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Live traffic has no document whose form could be judged.
    of_documents = {rule.code for rule in rules_of() if Document in rule.facts}
    rules = tuple(rule for rule in rules_of() if rule.code not in of_documents)
    folder = OutputFolder(tmp_path / "out", forms=tuple(FORMS))
    running = Observer(ObserverSettings(rules), folder)
    for step in session():
        running.observe(step.origin, step.observation)
    running.finish()
    monkeypatch.chdir(tmp_path / "out")
    transcripts = sorted(path.as_posix() for path in Path("transcripts").iterdir())
    assert evidence(tmp_path / "out").keys() == NAMES | set(FILE_NAMES.values())
    for form, name in FILE_NAMES.items():
        written = tmp_path / "again"
        arguments = ["--report", form, "--output", str(written), "--ignore", ",".join(of_documents)]
        assert main(["validate", *transcripts, *arguments]) == 1
        assert written.read_bytes() == (tmp_path / "out" / name).read_bytes(), form
    OutputFolder(tmp_path / "out").close()
    assert (tmp_path / "out/previous/1/report.html").is_file() and not (tmp_path / "out/report.html").exists()


def test_a_form_that_cannot_be_made_takes_no_other_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(results: Results) -> str:
        raise RecursionError

    monkeypatch.setitem(FORMS, "html", Form("html", fail))
    said: list[str] = []
    folder = OutputFolder(tmp_path, forms=("html", "markdown"), log=said.append)
    running = Observer(ObserverSettings(rules_of()), folder)
    for step in session():
        running.observe(step.origin, step.observation)
    running.finish()
    assert said == ["report.html could not be made (RecursionError)."]
    assert evidence(tmp_path).keys() == NAMES | {"report.md"}


def test_a_transcript_beyond_the_limit_is_left_out_of_what_shows_exchanges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_module, "MAX_SHOWN_TRANSCRIPT", 10)
    said: list[str] = []
    running = Observer(ObserverSettings(rules_of()), OutputFolder(tmp_path, forms=("har",), log=said.append))
    for step in session():
        running.observe(step.origin, step.observation)
    running.finish()
    assert json.loads((tmp_path / "report.har").read_text())["log"]["entries"] == []
    assert sorted(said) == [
        f"{name} is too large for report.har, which has its findings only."
        for name in sorted(name for name in NAMES if "/" in name)
    ]


def test_only_the_owner_can_read_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        run(tmp_path / "out", session())
        run(tmp_path / "out", session())
        running = observer(tmp_path / "out")
        for step in session():
            running.observe(step.origin, step.observation)
    finally:
        os.umask(before)
    seen = {path: stat.S_IMODE(path.lstat().st_mode) for path in (tmp_path / "out").rglob("*")}
    assert {mode for path, mode in seen.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in seen.items() if path.is_file()} == {0o600}
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert any(path.parent.name == "journal" for path in seen)
    running.finish()


def test_the_same_observations_give_the_same_bytes(tmp_path: Path) -> None:
    run(tmp_path / "a", session())
    run(tmp_path / "b", session())
    assert evidence(tmp_path / "a") == evidence(tmp_path / "b")


def test_an_earlier_run_is_moved_away_and_never_overwritten(tmp_path: Path) -> None:
    run(tmp_path, session())
    first = evidence(tmp_path)
    run(tmp_path, session()[:4])
    second = evidence(tmp_path)
    run(tmp_path, [])
    assert evidence(tmp_path / "previous" / "1") == first
    assert evidence(tmp_path / "previous" / "2") == second
    assert evidence(tmp_path).keys() == {"findings.jsonl", "report.json"}


def test_what_another_program_left_under_our_names_is_moved_and_kept(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("mine")
    (tmp_path / "notes.txt").write_text("mine too")
    run(tmp_path, [])
    assert (tmp_path / "previous" / "1" / "report.json").read_text() == "mine"
    assert (tmp_path / "notes.txt").read_text() == "mine too"


def test_two_runs_at_once_do_not_share_a_folder(tmp_path: Path) -> None:
    running = observer(tmp_path)
    with pytest.raises(OutputError) as refused:
        OutputFolder(tmp_path)
    assert refused.value.strerror == "another running proxy writes there"
    running.finish()
    OutputFolder(tmp_path).close()


def test_a_folder_that_cannot_be_made_is_refused_in_a_clause(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError) as refused:
        OutputFolder(tmp_path / "file" / "below")
    assert refused.value.strerror == "it cannot be written (Not a directory)"
    assert refused.value.errno == errno.ENOTDIR


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError) as refused:
        OutputFolder(tmp_path)
    tmp_path.chmod(0o700)
    assert refused.value.strerror == "it cannot be written (Permission denied)"


def test_a_deleted_session_has_its_transcript_at_once(tmp_path: Path) -> None:
    running = observer(tmp_path)
    steps = in_turn(
        initialize(minted=SESSION),
        initialized(version="2025-11-25", session=SESSION),
        delete(SESSION, version="2025-11-25"),
    )
    transcript = tmp_path / "transcripts" / "stable-2025-11-25.endpoint-1.session-1.json"
    for step in steps:
        assert not transcript.exists()
        running.observe(step.origin, step.observation)
    assert len(json.loads(transcript.read_text())["exchanges"]) == 3
    # The session is used again: the final transcript has that as well.
    for step in Clock(9_000.0).stamp(tools_list(5, version="2025-11-25", session=SESSION, status=404).steps):
        running.observe(step.origin, step.observation)
    running.finish()
    assert len(json.loads(transcript.read_text())["exchanges"]) == 4


def test_findings_and_journal_are_on_disk_before_the_next_observation(tmp_path: Path) -> None:
    running = observer(tmp_path)
    journal = tmp_path / "journal" / "stable-2025-11-25.endpoint-1.session-1.jsonl"
    sizes = []
    for step in in_turn(initialize(minted=SESSION), tools_list(1, session=SESSION, sse=True)):
        running.observe(step.origin, step.observation)
        sizes.append(journal.stat().st_size if journal.exists() else 0)
    # Until its result is seen, nobody can say which conversation the initialize belongs to.
    assert sizes[:2] == [0, 0]
    assert all(earlier < later for earlier, later in itertools.pairwise(sizes[1:]))
    assert (tmp_path / "findings.jsonl").read_text().count("\n") >= 1
    running.finish()
    assert not journal.parent.exists()


KILLED = """
import sys, time
from pathlib import Path
from tests.live.test_output import observer, session
running = observer(Path(sys.argv[1]))
for step in session()[: int(sys.argv[2])]:
    running.observe(step.origin, step.observation)
print("seen", flush=True)
time.sleep(600)
"""


def python(*arguments: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "addon")])
    return subprocess.Popen(
        [sys.executable, "-c", *arguments],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("seen", [1, 6, 12, 13, len(session())])
def test_kill_9_loses_only_what_was_in_flight(tmp_path: Path, seen: int) -> None:
    process = python(KILLED, str(tmp_path / "killed"), str(seen))
    assert process.stdout is not None
    assert process.stdout.readline() == "seen\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    said: list[str] = []
    OutputFolder(tmp_path / "killed", log=said.append).close()
    recovered = evidence(tmp_path / "killed" / "previous" / "1")
    # Had it been allowed to finish, the very same transcripts would be there, but for the time at which it stopped.
    run(tmp_path / "finished", session()[:seen])
    finished = evidence(tmp_path / "finished")
    waiting = seen < 5  # the initialize has no result yet, so that its conversation is not known
    if waiting:
        assert recovered.keys() == {"findings.jsonl"}
        return
    assert recovered.keys() == finished.keys()
    for name in (name for name in finished if name.startswith("transcripts/")):
        ours, theirs = json.loads(recovered[name]), json.loads(finished[name])
        for exchange in theirs["exchanges"]:
            if exchange.get("response", exchange).get("ended") == "open":
                exchange.pop("ended_ms")
        assert ours == theirs
    report = json.loads(recovered["report.json"])
    for conversation in report["conversations"]:
        offline = validate(read_document(recovered[conversation["transcript"]]))
        assert [one["code"] for one in conversation["findings"]] == [one.code for one in offline.findings]
    assert "ended before it could finish" in report["findings"][-1]["message"]
    assert [sentence.partition(":")[0] for sentence in said] == [
        "The last run did not end by itself",
        "The files of the last run were moved to previous/1.",
    ]


def test_a_torn_journal_line_costs_that_line(tmp_path: Path) -> None:
    running = observer(tmp_path)
    for step in session():
        running.observe(step.origin, step.observation)
    journal = tmp_path / "journal" / "stable-2025-11-25.endpoint-1.session-1.jsonl"
    whole = journal.read_bytes()
    running._files.close()  # the lock goes, as it does when a process is killed
    journal.write_bytes(whole[:-20])
    OutputFolder(tmp_path).close()
    transcript = json.loads((tmp_path / "previous/1/transcripts" / f"{journal.stem}.json").read_text())
    assert [exchange["id"] for exchange in transcript["exchanges"]] == ["x-1", "x-2", "x-3"]
    assert transcript["exchanges"][-1]["response"]["ended"] == "open"


FULL = """
import json, resource, sys, tracemalloc
from pathlib import Path
from mcp_wire.live.observer import Observer, ObserverSettings
from mcp_wire.live.output import OutputFolder
from mcp_wire.rules import rules_of
from tests.live.mcp_traffic import Clock, initialize, tools_list
logged, reported = [], []
folder = Path(sys.argv[1])
running = Observer(ObserverSettings(rules_of()), OutputFolder(folder), on_finding=reported.append, log=logged.append)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
clock = Clock()
def feed(steps):
    for step in clock.stamp(steps):
        running.observe(step.origin, step.observation)
feed(initialize(minted="s" * 32).steps)
def calls(first, last):
    for number in range(first, last):
        feed(tools_list(number, version="2025-11-25", session="s" * 32).steps)
calls(0, 150)
tracemalloc.start()
calls(150, 200)
before = tracemalloc.get_traced_memory()[0]
calls(200, 600)
grown = tracemalloc.get_traced_memory()[0] - before
running.finish()
print(json.dumps({"logged": logged, "codes": [one.finding.code for one in reported], "grown": grown}))
"""


def filled(folder: Path, limit: int) -> dict[str, Any]:
    process = python(FULL, str(folder), str(limit))
    out, problems = process.communicate(timeout=120)
    assert process.returncode == 0, problems
    told: dict[str, Any] = json.loads(out)
    return told


def test_a_full_disk_is_said_once_and_costs_neither_traffic_nor_memory(tmp_path: Path) -> None:
    roomy, told = (filled(tmp_path / str(limit), limit) for limit in (10**9, 20_000))
    assert told["logged"] == [
        "The output folder cannot be written (File too large): findings and transcripts are incomplete from here on. "
        "The traffic goes on."
    ]
    assert told["codes"].count("observer_error") == 1
    assert roomy["logged"] == []
    assert told["grown"] <= roomy["grown"] * 1.02
    # What was written before is whole.
    folder = tmp_path / "20000"
    for line in (folder / "findings.jsonl").read_text().splitlines():
        json.loads(line)
    left = [path for path in folder.rglob("*") if path.is_file() and path.name != ".in-use"]
    assert all(path.stat().st_size <= 20_000 for path in left)
    assert not [path for path in left if "partial" in path.name]
    transcript = next((path for path in left if path.parent.name == "transcripts"), None)
    journal = next((path for path in left if path.parent.name == "journal"), None)
    assert transcript is not None or journal is not None


def test_a_failed_replacement_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = OutputFolder(tmp_path)
    running.report("old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        running.report("new")
    monkeypatch.undo()
    assert evidence(tmp_path) == {"findings.jsonl": b"", "report.json": b"old"}
    running.close()


def test_more_conversations_than_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "MAX_OPEN_JOURNALS", 2)
    running = observer(tmp_path)
    sessions = [f"{number:032x}" for number in range(8)]
    clock = Clock()
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    for exchanges in ([initialize(minted=one) for one in sessions], [tools_list(1, session=one) for one in sessions]):
        for step in clock.stamp(step for one in exchanges for step in one.steps):
            running.observe(step.origin, step.observation)
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 2
    running.finish()
    transcripts = [json.loads(path.read_text()) for path in (tmp_path / "transcripts").iterdir()]
    assert [len(transcript["exchanges"]) for transcript in transcripts] == [2] * 8


def test_a_large_journal_becomes_a_transcript_only_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "MAX_EARLY_JOURNAL", 100)
    running = observer(tmp_path)
    for step in in_turn(initialize(minted=SESSION), delete(SESSION, version="2025-11-25")):
        running.observe(step.origin, step.observation)
    assert list((tmp_path / "transcripts").iterdir()) == []
    running.finish()
    assert [path.name for path in (tmp_path / "transcripts").iterdir()] == [
        "stable-2025-11-25.endpoint-1.session-1.json"
    ]
