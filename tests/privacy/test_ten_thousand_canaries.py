"""More than ten thousand values, planted in every place, in every shape, encoding and cut: no output repeats a part of
one, be it a report, a copy, a transcript, a complaint, or anything that a live run writes, shows or says."""

from __future__ import annotations

import contextlib
import io
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import pytest
from mitmproxy import http
from mitmproxy.io import FlowReader

from mcp_wire.cli.main import main
from mcp_wire.privacy.labels import Labels
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.reports.form_names import FILE_NAMES
from mcp_wire.reports.forms import FORMS
from mcp_wire.reports.model import NamedReport, Results
from mcp_wire.rules import rules_of
from mcp_wire.transcript.reading import read_document
from mcp_wire.validation import redacted_timeline, validate
from tests.peers.proxy import mitmdump
from tests.peers.web import Web, mitmweb
from tests.privacy.canary_shapes import SHAPES
from tests.privacy.needles import Needles
from tests.privacy.on_the_wire import Peers
from tests.privacy.planting import CUTS, PROFILES, Planted, Talk, conversations
from tests.privacy.raw_captures import (
    HAR_PRODUCERS,
    annotated_flow_file,
    annotated_har,
    annotated_transcript,
    flow_file_of,
    har_of,
    journal_of,
    octets,
    transcript_of,
)

CONVERSATIONS: Final = 28
ANNOTATED: Final = 5
BROKEN: Final = 3
PROXIED: Final = 4
KINDS_OF_CAPTURE: Final = 2 + len(HAR_PRODUCERS)
AT_LEAST: Final = 10_000
AT_LEAST_PROXIED: Final = 1_000
RESPLITS: Final = (("--seed", "3"), ("--bytewise",), ("--lines",), ("--crlf", "cr"), ("--crlf", "crlf", "--seed", "9"))

Told = Iterator[tuple[str, str]]
"""What an output is, and its text."""


@pytest.fixture(scope="module")
def talks() -> list[Talk]:
    return conversations(CONVERSATIONS)


def run(*arguments: str | Path) -> tuple[int, str]:
    """Exit code, and all that a command said on either stream."""
    out, complaints = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(complaints):
        code = main([str(argument) for argument in arguments])
        out.flush()
    return code, out.buffer.getvalue().decode() + complaints.getvalue()


def files_in(folder: Path) -> Told:
    """Every file below a folder, its name included."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.name, f"{path.name}\n{path.read_bytes().decode('utf-8', 'replace')}"


def needles_of(planted: Sequence[Planted]) -> Needles:
    return Needles(one.canary for one in planted)


def assert_all_in(planted: Sequence[Planted], raw: str, needles: Needles | None = None) -> None:
    """A search that does not find them where they are would find them nowhere."""
    needles = needles or needles_of(planted)
    found = needles.found_in(raw)
    needles.forget()
    missing = [planted[number] for number in range(len(planted)) if number not in found]
    assert not missing, missing[:5]


def assert_none_in(
    planted: Sequence[Planted], outputs: Iterable[tuple[str, str]], needles: Needles | None = None
) -> None:
    """None of these canaries is in any of these outputs, and the outputs are not empty."""
    needles = needles or needles_of(planted)
    leaks: list[str] = []
    looked_at = 0
    for what, text in outputs:
        looked_at += len(text)
        for number, part in needles.found_in(text).items():
            one = planted[number]
            leaks.append(f"{what}: {part!r} of {one.written!r} ({one.place}, {one.canary.shape}, {one.encoding})")
    assert not leaks, "\n".join(leaks[:20])
    assert looked_at


# --- what is planted ---


def test_every_place_is_filled_in_every_shape_and_with_every_cut(talks: list[Talk]) -> None:
    planted = [one for talk in talks for one in talk.planted]
    assert len(planted) >= AT_LEAST
    assert len({one.canary.value for one in planted}) == len(planted)
    shapes: defaultdict[str, set[str]] = defaultdict(set)
    encodings: defaultdict[str, set[str]] = defaultdict(set)
    for one in planted:
        shapes[one.place].add(one.canary.shape)
        encodings[one.place].add(one.encoding)
    assert len(shapes) > 200
    assert sum(len(found) == len(SHAPES) for found in shapes.values()) > 150
    assert sum(len(found) > 2 for found in encodings.values()) > 150
    assert {one.cut for one in planted} == {"none", *CUTS}
    assert {talk.revision for talk in talks} == set(PROFILES)


# --- offline ---


@pytest.mark.slow
def test_nothing_made_of_transcripts_repeats_any(talks: list[Talk], tmp_path: Path) -> None:
    """Reports in every form, redacted and recut copies, what guard tells."""
    looked_for = 0
    for talk in talks:
        raw = tmp_path / "raw.json"
        raw.write_text(transcript_of(talk))
        needles = needles_of(talk.planted)
        assert_all_in(talk.planted, raw.read_text(), needles)
        assert_none_in(talk.planted, _made_of_a_transcript(raw, talk.number), needles)
        looked_for += len(talk.planted)
    assert looked_for >= AT_LEAST


def _made_of_a_transcript(raw: Path, number: int) -> Told:
    yield from _reports(raw)
    if number % 4 == 0:
        form = list(FORMS)[number // 4 % len(FORMS)]
        code, said = run("validate", "--extended", "--report", form, raw)
        assert code == 1
        yield f"validate --report {form}", said
    code, said = run("redact", raw, "-o", "-")
    assert code == 0, said
    yield "redact", said
    if number % 2:
        code, said = run("resplit", raw, *RESPLITS[number // 2 % len(RESPLITS)])
        assert code == 0, said
        yield "resplit", said
    code, said = run("guard", raw)
    assert code == 1
    assert "/exchanges/0/request/" in said
    yield "guard", said


def _reports(raw: Path) -> Told:
    """All forms, of one validation."""
    document, redactor = read_document(raw.read_bytes()), Redactor()
    report = validate(document, rules_of(extended=True), redactor)
    assert report.findings
    for form in FORMS.values():
        timeline = None if form.detail is None else redacted_timeline(document, report, redactor, form.detail)
        yield f"report {form.name}", form.render(Results((NamedReport("raw.json", report, timeline),)))


@pytest.mark.slow
def test_nothing_made_of_captures_repeats_any(talks: list[Talk], tmp_path: Path) -> None:
    """Journals, flow files with marks and without, HAR files of several producers: redacted, converted, guarded."""
    looked_for = 0
    for talk in talks:
        kind = talk.number % KINDS_OF_CAPTURE
        journal, capture = tmp_path / "raw.jsonl", tmp_path / f"capture-{talk.number}"
        journal.write_text(journal_of(talk))
        if kind < 2:
            capture.write_bytes(flow_file_of(talk, marked=kind == 0))
        else:
            capture.write_bytes(har_of(talk, HAR_PRODUCERS[kind - 2]))
        needles = needles_of(talk.planted)
        if talk.number < KINDS_OF_CAPTURE:
            assert_all_in(talk.planted, _content(capture), needles)
        if talk.number < len(PROFILES):
            assert_all_in(talk.planted, journal.read_text(), needles)
        assert_none_in(talk.planted, _made_of_captures(journal, capture, tmp_path / f"made-{talk.number}"), needles)
        looked_for += len(talk.planted)
    assert looked_for >= AT_LEAST


def _content(capture: Path) -> str:
    octets = capture.read_bytes()
    return f"{octets.decode('utf-8', 'replace')}\n{octets.decode('latin-1')}"


def _made_of_captures(journal: Path, capture: Path, made: Path) -> Told:
    code, said = run("redact", journal, "-o", "-")
    assert code == 0, said
    yield "redact a journal", said
    code, said = run("convert" if made.name[-1] in "02468" else "redact", capture, "-o", made)
    assert code == 0, said
    yield "convert", said
    written = list(files_in(made))
    assert any(name.endswith(".expected.json") for name, _ in written)
    yield from written
    for raw in (journal, capture):
        code, said = run("guard", raw)
        assert code == 1
        yield "guard", said


@pytest.mark.slow
def test_what_people_and_programs_write_beside_the_traffic_is_not_repeated(talks: list[Talk], tmp_path: Path) -> None:
    """Comments, names, members that nobody knows, wrong types; in transcripts, in HAR files, in flow files."""
    looked_for = 0
    for talk in islice(talks, ANNOTATED):
        for kind, write in _ANNOTATED.items():
            own = Talk(talk.number, talk.revision, talk.exchanges, list(talk.planted))
            raw, made = tmp_path / f"raw.{kind}", tmp_path / f"made-{kind}-{talk.number}"
            raw.write_bytes(write(own))
            planted = own.planted[len(talk.planted) :]
            needles = needles_of(planted)
            assert_all_in(planted, _content(raw), needles)
            assert_none_in(planted, _made_of_anything(raw, made), needles)
            looked_for += len(planted)
    assert looked_for >= 2_000


_ANNOTATED: Final[dict[str, Callable[[Talk], bytes]]] = {
    "json": lambda talk: annotated_transcript(talk).encode(),
    "har": lambda talk: annotated_har(talk, HAR_PRODUCERS[talk.number % len(HAR_PRODUCERS)]),
    "mitm": annotated_flow_file,
}


def _made_of_anything(raw: Path, made: Path) -> Told:
    """What every command makes of any file, or says of it."""
    commands: list[tuple[str | Path, ...]] = [("validate", raw), ("guard", raw)]
    if raw.suffix == ".json":
        commands += [("validate", "--report", form, raw) for form in ("html", "har")]
        commands += [("redact", raw, "-o", made.with_suffix(".copy"))]
        commands += [("resplit", raw, "--lines", "-o", made.with_suffix(".recut"))]
    else:
        commands += [("convert", raw, "-o", made)]
    for command in commands:
        yield str(command[0]), run(*command)[1]
    for one in (made, made.with_suffix(".copy"), made.with_suffix(".recut")):
        if one.is_dir():
            yield from files_in(one)
        elif one.exists():
            yield one.name, one.read_text()


@pytest.mark.slow
def test_no_complaint_about_a_broken_file_repeats_any(talks: list[Talk], tmp_path: Path) -> None:
    """Files that end too early, in the middle of a value or elsewhere; that have octets of another kind in them; whose
    brackets do not match."""
    for talk in islice(talks, BROKEN):
        transcript, journal = transcript_of(talk).encode(), journal_of(talk).encode()
        har, flows = har_of(talk, HAR_PRODUCERS[talk.number % 4]), flow_file_of(talk, marked=True)
        needles = needles_of(talk.planted)
        for kind, whole in (("json", transcript), ("jsonl", journal), ("har", har), ("mitm", flows)):
            for number, broken in enumerate(_broken(whole, talk)):
                raw = tmp_path / f"broken.{kind}"
                raw.write_bytes(broken)
                made = tmp_path / f"made-{talk.number}-{kind}-{number}"
                assert_none_in(talk.planted, _said_of(raw, made), needles)


def _broken(whole: bytes, talk: Talk) -> Iterator[bytes]:
    inside = [at for one in talk.planted[:: len(talk.planted) // 9] if (at := whole.find(octets(one.written)[:4])) >= 0]
    at = inside[talk.number % len(inside)] + 3
    yield whole[:at]
    yield whole[:at] + b"\xff\x00" + whole[at:]
    yield whole[:at] + b'"}' + whole[at:]
    yield whole[len(whole) // 3 :]
    yield whole[: len(whole) * 2 // 3]


def _said_of(raw: Path, made: Path) -> Told:
    commands: list[tuple[str | Path, ...]] = [("validate", raw), ("redact", raw, "-o", made), ("guard", raw)]
    if raw.suffix in (".har", ".mitm"):
        commands[1] = ("convert", raw, "-o", made)
    for command in commands:
        code, said = run(*command)
        assert said or code == 0
        yield str(command[0]), said
    if made.is_dir():
        yield from files_in(made)
    elif made.exists():
        yield made.name, made.read_text()


def test_what_is_not_redacted_is_found_in_every_output(
    talks: list[Talk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With labels that say what they stand for, the search finds it, whatever the form of the output."""
    monkeypatch.setattr(Labels, "text", lambda self, value, kind="redacted": value)
    talk = talks[1]
    raw, capture, made = tmp_path / "raw.json", tmp_path / "capture", tmp_path / "made"
    raw.write_text(transcript_of(talk))
    capture.write_bytes(flow_file_of(talk, marked=True))
    outputs = [
        *_reports(raw),
        ("redact", run("redact", raw, "-o", "-")[1]),
        ("resplit", run("resplit", raw, "--bytewise")[1]),
    ]
    run("convert", capture, "-o", made)
    outputs += [("converted", text) for _, text in files_in(made) if '"exchanges"' in text]
    found: Counter[str] = Counter()
    for what, text in outputs:
        found[what] += len(needles_of(talk.planted).found_in(text))
    whole = len(talk.planted)
    for what, share in _SHARES.items():
        assert found[what] >= share * whole, found


_SHARES: Final = {
    **dict.fromkeys(("redact", "resplit", "converted", "report html", "report har"), 0.8),
    **dict.fromkeys(("report human", "report junit", "report markdown"), 0.05),
    **dict.fromkeys(("report json", "report jsonl", "report sarif"), 0.01),
}
"""What of it each output shows at least: whole exchanges, those around findings, or what findings name."""


# --- live ---


@pytest.mark.peers
def test_nothing_that_a_live_run_writes_shows_or_says_repeats_any(tmp_path: Path) -> None:
    talks = conversations(PROXIED)
    planted = [one for talk in talks for one in talk.planted]
    assert len(planted) >= AT_LEAST_PROXIED
    outputs: list[tuple[str, str]] = []
    peers = Peers()
    options = [f"save_stream_file={tmp_path / 'saved.mitm'}", f"mcp_reports={','.join(FILE_NAMES)}"]
    options += ["mcp_view_redacted=true", "mcp_extended=true"]
    with peers.serving() as upstream, mitmweb(f"http://127.0.0.1:{upstream}", tmp_path, *options) as web:
        port = int(web.proxy.rpartition(":")[2])
        peers.hold(port, talks[0])
        web.call("mcp.report", "html", str(tmp_path / "asked.html"), "@all")  # made while the rest passes
        for talk in talks[1:]:
            peers.hold(port, talk)
        _all_judged(web, sum(len(talk.exchanges) for talk in talks))
        outputs += files_in(tmp_path / "output")
        assert any(name.endswith(".jsonl") and '"seen"' in text for name, text in outputs)
        outputs += _shown(web)
        _patient(web, lambda: (tmp_path / "asked.html").exists())
    outputs += files_in(tmp_path / "output")
    assert {*FILE_NAMES.values()} <= {name for name, _ in outputs}
    outputs.append(("asked.html", (tmp_path / "asked.html").read_text()))
    outputs.append(("log", web.log.read_text()))
    saved = list(_saved(tmp_path / "saved.mitm"))
    outputs += [("saved flow", _beside_the_traffic(flow)) for flow in saved]
    assert_all_in(planted, "\n".join(map(_traffic, saved)))
    assert_none_in(planted, outputs)


def _all_judged(web: Web, exchanges: int) -> None:
    _patient(web, lambda: [flow["comment"] != "" for flow in web.flows()] == [True] * exchanges)


def _patient(web: Web, is_so: Callable[[], bool]) -> None:
    web.until(lambda: True if is_so() else None)


def _shown(web: Web) -> Told:
    """What mitmweb shows: comments and markers, both parts of each flow in the view MCP, what commands answer."""
    for flow in web.flows():
        yield "comment", f"{flow['comment']} {flow['marked']}"
        for part in ("request", "response"):
            yield f"view of a {part}", _viewed(web, flow["id"], part)
    for command in ("mcp.findings", "mcp.profile"):
        lines = web.call(command, "@all")
        assert len(lines) > 20
        yield command, "\n".join(lines)
    yield "event log", json.dumps(web.get("/events"), ensure_ascii=False)


def _viewed(web: Web, flow: str, part: str) -> str:
    def text() -> str | None:
        shown = web.text(flow, part, "MCP")
        return None if "made ready" in shown else shown

    shown = web.until(text)
    assert len(shown) > 20
    return shown


def _saved(file: Path) -> Iterator[http.HTTPFlow]:
    with file.open("rb") as stored:
        yield from (flow for flow in FlowReader(stored).stream() if isinstance(flow, http.HTTPFlow))


def _beside_the_traffic(flow: http.HTTPFlow) -> str:
    metadata = {name: value.hex() if isinstance(value, bytes) else value for name, value in flow.metadata.items()}
    return json.dumps([flow.comment, flow.marked, metadata, str(flow.error)], ensure_ascii=False)


def _traffic(flow: http.HTTPFlow) -> str:
    """What passed, without its content coding."""
    parts = [repr(flow.request.data.path)]
    messages: list[http.Message] = [flow.request] if flow.response is None else [flow.request, flow.response]
    for message in messages:
        parts += (repr(message.headers.fields), (message.get_content(strict=False) or b"").decode("utf-8", "replace"))
    return "\n".join(parts)


@pytest.mark.peers
def test_nothing_that_mitmdump_says_repeats_any(tmp_path: Path) -> None:
    """On its terminal, with its own lines about flows switched off: those are mitmproxy's, and raw."""
    talks = conversations(2)
    peers = Peers()
    with peers.serving() as upstream, mitmdump(f"http://127.0.0.1:{upstream}", tmp_path, "flow_detail=0") as port:
        for talk in talks:
            peers.hold(port, talk)
    said = (tmp_path / "mitmdump.log").read_text()
    assert "MCP exchanges in" in said
    assert_none_in(
        [one for talk in talks for one in talk.planted], [("mitmdump", said), *files_in(tmp_path / "output")]
    )
