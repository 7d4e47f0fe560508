"""`mcp-conformance redact`: what others took raw, cleaned; and what it proved, it still proves."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wire.cli.main import main
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.journal import JournalHeader, encode
from mcp_wire.transcript.reading import observations, read_document
from mcp_wire.transcript.writing import transcript_text
from mcp_wire.validation import validate
from tests.captures_read.sessions import SECRET, flow_file, flow_of, session
from tests.privacy.conversations import canaries, planted, windows
from tests.privacy.test_canaries import readings
from tests.privacy.test_verdicts_survive import TRANSCRIPTS, document_of

type Json = dict[str, Any]
Verdict = list[tuple[str, str, str, int]]

CANARY = "qX7fKz02LmWv9RbTc5JdYs8P"


def verdict(document: Document) -> Verdict:
    found = validate(document).findings
    # That a secret is gone is what the copy is for.
    return sorted((one.code, one.level, one.path, one.count) for one in found if one.code != "unredacted_secret")


def redact(folder: Path, document: Document | str | bytes) -> tuple[int, bytes]:
    source, copy = folder / "raw.json", folder / "clean.json"
    copy.unlink(missing_ok=True)
    if isinstance(document, Document):
        document = json.dumps(document.value)
    source.write_bytes(document.encode() if isinstance(document, str) else document)
    code = main(["redact", str(source), "-o", str(copy)])
    return code, copy.read_bytes() if copy.exists() else b""


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_case_and_fixture_proves_the_same(path: Path, tmp_path: Path) -> None:
    document = document_of(path)
    if not isinstance(document.members.get("exchanges"), list):
        assert redact(tmp_path, document) == (2, b"")
        return
    code, copy = redact(tmp_path, document)
    before, after = verdict(document), verdict(read_document(copy))
    # What cannot be read cannot be copied either; then it is said.
    assert (code == 0) == (before == after)
    if code:
        assert document.profile is None or {one[0] for one in before} & FAULTS_OF_FORM
    assert redact(tmp_path, copy) == (0, copy)


FAULTS_OF_FORM = {
    "invalid_chunks",
    "invalid_disconnected",
    "invalid_exchange",
    "invalid_exchange_shape",
    "invalid_headers",
    "invalid_http_method",
    "invalid_status",
}


@given(canaries().flatmap(lambda canary: st.tuples(st.just(canary), planted(canary))))
@settings(max_examples=60)
def test_nothing_leaks_from_a_transcript_or_a_journal(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[str, list[Any]]
) -> None:
    canary, told = case
    folder = tmp_path_factory.mktemp("redact")
    header = JournalHeader(f"stable-{canary}", {"client": {"name": canary}, "endpoint": f"/{canary}", canary: canary})
    journal = "".join(f"{encode(record)}\n" for record in (header, *told))
    for source in (transcript_text(header, told), journal):
        copy = redact(folder, source)[1].decode()
        found = readings(copy).lower()
        assert not [part for part in windows(canary) if part in found]


EXCHANGE: Json = {
    "id": "x-1",
    "request": {"method": "GET", "path": "/mcp", "headers": {"Accept": "text/event-stream"}},
    "response": {"status": 405, "headers": {"Allow": "POST"}, "body_text": ""},
}


def transcript(*exchanges: Json, **members: Any) -> str:
    return json.dumps({"profile": "stable-2025-11-25", "exchanges": list(exchanges)} | members)


@pytest.mark.parametrize(
    "source",
    [
        transcript(EXCHANGE, **{CANARY: CANARY}),
        transcript(EXCHANGE, profile=CANARY),
        transcript(EXCHANGE, profile=f"stable-{CANARY}"),
        transcript(EXCHANGE, profile="stable-2099-01-01", tuple={"server": {"name": CANARY, "version": CANARY}}),
        transcript(EXCHANGE | {"id": CANARY, "concurrent_group": CANARY, "server_side_of": CANARY, "ended": CANARY}),
        transcript(EXCHANGE | {"comment": CANARY, "response": {"status": 200, "headers": {}, "not_captured": CANARY}}),
        transcript(EXCHANGE | {"request": {"method": CANARY, "path": CANARY, "headers": {"X": CANARY}}}),
    ],
)
def test_nothing_leaks_from_what_a_person_wrote(source: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, copy = redact(tmp_path, source)
    assert copy
    told = capfd.readouterr()
    assert CANARY.encode() not in copy + (told.out + told.err).encode()


def test_ids_become_ours_and_stay_what_they_are_to_each_other(tmp_path: Path) -> None:
    first = EXCHANGE | {"id": "acme", "concurrent_group": "g"}
    second = EXCHANGE | {"id": "x-2", "concurrent_group": "overlap-1", "server_side_of": "acme"}
    third = EXCHANGE | {"id": "bob", "concurrent_group": "acme", "server_side_of": "nobody"}
    fourth = EXCHANGE | {"id": "post-initialize", "concurrent_group": "acme"}
    code, copy = redact(tmp_path, transcript(first, second, third, fourth))
    exchanges = json.loads(copy)["exchanges"]
    assert [one["id"] for one in exchanges] == ["x-1", "x-2", "x-3", "post-initialize"]
    assert [one["concurrent_group"] for one in exchanges] == ["g", "overlap-1", "overlap-2", "overlap-2"]
    assert [one.get("server_side_of") for one in exchanges] == [None, "x-1", "x-4", None]
    assert redact(tmp_path, copy.decode()) == (code, copy)


@pytest.mark.parametrize("malformed", ["", None, 4155551234, 0.25, True, ["acme"], {"acme": 1}, "absent", "acme"])
def test_a_malformed_id_stays_malformed_in_the_same_way(
    malformed: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = {} if malformed == "absent" else {"id": malformed, "concurrent_group": malformed}
    nameless = {name: value for name, value in EXCHANGE.items() if name != "id"}
    code, copy = redact(tmp_path, transcript(EXCHANGE | {"id": "acme"}, nameless | named))
    assert (code, capsys.readouterr().err) == (0, "")
    first, second = json.loads(copy)["exchanges"]
    assert ("id" in second, type(second.get("id"))) == ("id" in named, type(named.get("id")))
    assert (second.get("id") == first["id"]) == (malformed == "acme")
    assert b"acme" not in copy
    assert b"4155551234" not in copy
    assert redact(tmp_path, copy.decode()) == (0, copy)


@pytest.mark.parametrize(
    "profile", ["a\nb", "stable-2025\n", "stable-\u00e9", "", " ", "stable-", "stable- ", "x" * 99, "unknown"]
)
def test_a_profile_that_is_none_is_clean_in_a_copy(
    profile: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _, copy = redact(tmp_path, transcript(EXCHANGE, profile=profile))
    assert redact(tmp_path, copy) == (0, copy)
    assert main(["guard", str(tmp_path / "clean.json")]) == 0
    assert capfd.readouterr().out == ""


def test_the_order_of_the_document_stays(tmp_path: Path) -> None:
    late, early = EXCHANGE | {"id": "x-1", "started_ms": 9}, EXCHANGE | {"id": "x-2", "started_ms": 1}
    _, copy = redact(tmp_path, transcript(late, early))
    assert [one["id"] for one in json.loads(copy)["exchanges"]] == ["x-1", "x-2"]


def test_what_is_said_of_the_whole_stays(tmp_path: Path) -> None:
    members = {"payloads": "shape", "complete_from_start": True, "tuple": {"server_software": "nginx/1.22"}}
    whole = json.loads(redact(tmp_path, transcript(EXCHANGE, **members))[1])
    assert {name: whole[name] for name in members} == members
    cut = json.loads(redact(tmp_path, transcript(EXCHANGE))[1])
    assert cut.keys() == {"profile", "exchanges"}


def test_what_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, copy = redact(tmp_path, transcript(EXCHANGE, {"id": "x-2"}))
    assert code == 1
    assert len(json.loads(copy)["exchanges"]) == 1
    assert "the copy lacks invalid_exchange_shape at /exchanges/1" in capsys.readouterr().err


def test_a_journal_becomes_a_transcript(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = document_of(TRANSCRIPTS[0])
    header = JournalHeader(document.profile or "", document.interoperability_tuple, document.complete_from_start)
    lines = [encode(record) for record in (header, *observations(document))]
    code, copy = redact(tmp_path, "\n".join([*lines, '{"seen": "chu']))
    assert code == 1
    assert capsys.readouterr().err.endswith(f": line {len(lines) + 1}: cut off, or no record: left out\n")
    assert verdict(read_document(copy)) == verdict(read_document(transcript_text(header, observations(document))))
    assert redact(tmp_path, "\n".join([*lines, ""])) == (0, copy)


def test_a_capture_becomes_what_convert_makes_of_it(tmp_path: Path) -> None:
    capture = tmp_path / "session.mitm"
    capture.write_bytes(flow_file(map(flow_of, session())))
    assert SECRET.encode() in capture.read_bytes()
    assert main(["redact", str(capture), "-o", str(tmp_path / "redacted")]) == 0
    assert main(["convert", str(capture), "-o", str(tmp_path / "converted")]) == 0
    made = {path.name: path.read_bytes() for path in (tmp_path / "redacted").iterdir()}
    assert made == {path.name: path.read_bytes() for path in (tmp_path / "converted").iterdir()}


@pytest.mark.parametrize("command", [["redact"], ["resplit", "--bytewise"]])
def test_the_copy_replaces_another_file_only_if_that_is_said(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy, source, link = tmp_path / "clean.json", tmp_path / "raw.json", tmp_path / "link.json"
    source.write_text(transcript(EXCHANGE, comment="raw"))
    raw = source.read_bytes()
    link.symlink_to(source)
    copy.write_text("before")
    for place in (copy, source, link):
        assert main([*command, str(source), "-o", str(place)]) == 2
        assert capsys.readouterr().err == (
            f"mcp-conformance: {place}: is there already and differs; nothing was written (--force replaces it)\n"
        )
    assert (copy.read_text(), source.read_bytes()) == ("before", raw)
    assert main([*command, str(source), "-o", str(copy), "--force"]) == 0
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    made = copy.read_bytes()
    # The same once more needs no word; nor does what is clean already, in its own place.
    assert main([*command, str(source), "-o", str(copy)]) == 0
    assert main([*command, str(copy), "-o", str(copy)]) == 0
    assert copy.read_bytes() == made
    # In its own place, through a link, which stays one.
    assert main([*command, str(source), "-o", str(link), "--force"]) == 0
    assert (link.is_symlink(), source.read_bytes()) == (True, made)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clean.json", "link.json", "raw.json"]
    assert main([*command, str(source), "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"mcp-conformance: {tmp_path}: cannot be written: Is a directory\n"


def test_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, copy = redact(tmp_path, transcript(EXCHANGE))
    assert main(["redact", str(tmp_path / "raw.json"), "-o", "-"]) == 0
    assert capsys.readouterr().out.encode() == copy
    assert main(["resplit", "--lines", str(tmp_path / "raw.json"), "-o", "-"]) == 0
    assert capsys.readouterr().out.encode() == copy


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is no transcript, journal, flow file or HAR file"),
        (b"PK\x03\x04", "is no transcript, journal, flow file or HAR file"),
        (b"{", "line 1, column 2: is not JSON here; repair the transcript or write it again"),
        (b'{"profile": "x"}', "is no transcript; a transcript is an object with a list of exchanges"),
    ],
)
def test_what_cannot_be_read(
    content: bytes, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert redact(tmp_path, content) == (2, b"")
    assert capsys.readouterr().err == f"mcp-conformance: {tmp_path / 'raw.json'}: {complaint}\n"


def test_a_capture_needs_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = tmp_path / "session.mitm"
    capture.write_bytes(flow_file(map(flow_of, session())))
    assert main(["redact", str(capture), "-o", "-"]) == 2
    assert "is a flow file: --output names the folder for its transcripts" in capsys.readouterr().err
