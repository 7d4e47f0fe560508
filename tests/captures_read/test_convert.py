"""`mcp-conformance convert` as people run it: files, exit codes, and nothing half-written."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mitmproxy import http
from mitmproxy.addons.savehar import SaveHar
from mitmproxy.flow import Error

from mcp_wire.cli.main import main
from mcp_wire.transcript.reading import read_document
from mcp_wire.validation import validate
from mcp_wire.wire.body import Body
from mcp_wire.wire.observation import Observation, RequestSeen, ResponseBody, ResponseChunk, ResponseSeen
from mcp_wire.wire.strict_json import Missing, dump_json
from tests.captures_read.sessions import (
    IN_SESSION,
    SECRET,
    SESSION_ID,
    Json,
    Spoken,
    charles_entry,
    chrome_entry,
    firefox_entry,
    flow_file,
    flow_of,
    har,
    session,
)
from tests.privacy.conversations import canaries, planted, windows
from tests.privacy.test_canaries import readings

TRANSCRIPT = "session.stable-2025-11-25.endpoint-1.session-1.json"
EXPECTED = TRANSCRIPT.replace(".json", ".expected.json")


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "session.mitm"
    path.write_bytes(flow_file(map(flow_of, session())))
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_capture_becomes_a_fixture(capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "out"
    assert main(["convert", str(capture), "--output", str(out)]) == 0
    assert sorted(contents(out)) == [EXPECTED, TRANSCRIPT]
    told = capsys.readouterr()
    assert told.out == f"{out / TRANSCRIPT}: 3 exchanges, 0 errors, 0 warnings, 0 notes\n"
    assert told.err == ""
    transcript = json.loads((out / TRANSCRIPT).read_text())
    assert transcript["complete_from_start"] is True
    assert transcript["exchanges"][2]["response"]["chunk_boundaries"] == "unknown"
    assert transcript["tuple"]["client"] == {"name": "probe", "version": "1.0"}
    report = validate(read_document((out / TRANSCRIPT).read_bytes()))
    expected = json.loads((out / EXPECTED).read_text())["findings"]
    assert expected == [
        {"code": one.code, "level": one.level, "path": one.path, "count": one.count} for one in report.findings
    ]


def test_findings_are_expected_as_of_now(tmp_path: Path) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = '{"jsonrpc":"2.0","id":1,"result":{}}'
    reused = Spoken("POST", request, 200, answer, "application/json", (2.0, 2.1, 2.2), headers=IN_SESSION)
    capture = tmp_path / "session.mitm"
    capture.write_bytes(flow_file(map(flow_of, [*session(), reused])))
    assert main(["convert", str(capture), "-o", str(tmp_path)]) == 0
    assert json.loads((tmp_path / EXPECTED).read_text()) == {
        "findings": [{"code": "request_id_reused", "level": "error", "path": "/exchanges/3/request/body", "count": 1}],
        "recovery": [],
    }


def test_twice_is_the_same_to_the_byte(capture: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert main(["convert", str(capture), "-o", str(tmp_path / name)]) == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    # Once more over the first, as when fixtures are made anew: nothing changes, and nothing needs to be said.
    assert main(["convert", str(capture), "-o", str(tmp_path / "one")]) == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_another_file_of_the_same_name_is_not_replaced(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["convert", str(capture), "-o", str(out)]) == 0
    before = contents(out)
    another = flow_of(session()[0])
    another.client_conn.peername = ("127.0.0.1", 3)
    capture.write_bytes(flow_file([*map(flow_of, session()[:2]), another]))
    capsys.readouterr()
    assert main(["convert", str(capture), "-o", str(out)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        f"mcp-conformance: {out / TRANSCRIPT}: is there already and differs; nothing was written "
        "(--force replaces it)\n"
    )
    assert contents(out) == before
    (out / EXPECTED).write_text("what somebody wrote by hand")
    assert main(["convert", str(capture), "-o", str(out)]) == 2
    assert capsys.readouterr().err == (
        f"mcp-conformance: {out / TRANSCRIPT} and 1 other file are there already and differ; nothing was written "
        "(--force replaces them)\n"
    )
    assert main(["convert", str(capture), "-o", str(out), "--force"]) == 0
    fresh = tmp_path / "fresh"
    assert main(["convert", str(capture), "-o", str(fresh)]) == 0
    assert contents(out) == contents(fresh) != before


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_folder_in_the_place_of_a_transcript(
    force: list[str], capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    (out / TRANSCRIPT).mkdir(parents=True)
    assert main(["convert", str(capture), "-o", str(out), *force]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert [path.name for path in out.iterdir()] == [TRANSCRIPT]


def test_a_name_that_is_too_long_or_differs_in_case_only(capture: Path, tmp_path: Path) -> None:
    for number, name in enumerate([f"{'ä' * 120}.mitm", "Session.mitm", "session.mitm"]):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / name).write_bytes(capture.read_bytes())
    captures = [str(path) for path in sorted(tmp_path.glob("?/*"))]
    assert len(captures) == 3
    assert main(["convert", *captures, "-o", str(tmp_path / "out")]) == 0
    made = sorted(name for name in contents(tmp_path / "out") if not name.endswith(".expected.json"))
    label = TRANSCRIPT.removeprefix("session")
    assert made == [f"Session{label}", f"session-2{label}", f"{'ä' * 60}{label}"]


def test_standard_output_is_no_folder(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(capture), "-o", "-"]) == 2
    assert capsys.readouterr().err == "mcp-conformance: --output names no folder\n"


ENDED = """
import os, signal, sys
from mcp_wire.captures.conversion import Conversion
from mcp_wire.cli.main import main

commit = Conversion.commit
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it

def ended(self, **how):
    print(len(list(self._output.glob(".converting-*/1/transcripts/*"))), flush=True)
    os.kill(os.getpid(), int(sys.argv[1]))
    commit(self, **how)

Conversion.commit = ended
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ended_from_outside_nothing_is_left(number: signal.Signals, code: int, capture: Path, tmp_path: Path) -> None:
    """Both ways in which people and schedulers end a command, when everything is written and nothing has its name."""
    out = tmp_path / "new" / "out"
    done = subprocess.run(
        [sys.executable, "-c", ENDED, str(number.value), "convert", str(capture), "-o", str(out)],
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "addon")},
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, b"2\n", b"")
    assert not (tmp_path / "new").exists()


def test_secrets_stay_out(capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(capture), "-o", str(tmp_path / "out")]) == 0
    told = capfd.readouterr()
    everything = b"".join(contents(tmp_path / "out").values()) + (told.out + told.err).encode()
    assert SECRET.encode() in capture.read_bytes()
    for secret in (SECRET, SESSION_ID, "Grüße", "mcp.example.com"):
        assert secret.encode() not in everything


def test_files_are_their_owners_only(capture: Path, tmp_path: Path) -> None:
    assert main(["convert", str(capture), "-o", str(tmp_path / "out")]) == 0
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()} == {0o600}


def test_a_broken_flow_is_said_and_the_rest_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [flow_file([flow_of(spoken)]) for spoken in session()]
    broken = records[1].replace(b"7:request;", b"7:requeXt;")
    capture = tmp_path / "session.mitm"
    capture.write_bytes(records[0] + broken + records[2])
    assert main(["convert", str(capture), "-o", str(tmp_path / "out")]) == 1
    told = capsys.readouterr()
    assert told.err == (
        f"mcp-conformance: {capture}: flow 2, at byte {len(records[0])}: not a flow that this version of mitmproxy can "
        "read: left out\n"
    )
    assert len(json.loads((tmp_path / "out" / TRANSCRIPT).read_text())["exchanges"]) == 2


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file or directory"),
        (b"", "it is neither a flow file of mitmproxy nor a HAR file"),
        (b"\x89PNG", "it is neither a flow file of mitmproxy nor a HAR file"),
        (b"17:", "no flow in it can be read"),
        (b"{}", "it is JSON, but no HAR file: it has no log.entries"),
        (b'{"log": {"entr', "it is cut off or damaged before its first entry"),
        (
            b'{"profile": "stable-2025-11-25", "exchanges": []}',
            "it is a transcript already; `mcp-conformance redact` cleans it, and `validate` judges it",
        ),
        (b'{"code": "a"}\n{"code": "b"}\n', "it holds one finding a line, as findings.jsonl does, and no traffic"),
        (b"12:00:01 GET /mcp\n", "it is neither a flow file of mitmproxy nor a HAR file"),
        (
            b'{"journal":1,"profile":"x","tuple":{},"complete_from_start":false}\n',
            "it is a journal; `mcp-conformance redact` makes a transcript of it",
        ),
    ],
)
def test_what_cannot_be_read_writes_nothing(
    content: bytes | None, why: str, capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.mitm"
    if content is not None:
        bad.write_bytes(content)
    assert main(["convert", str(capture), str(bad), "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"mcp-conformance: {bad}: cannot be read: {why}\n"
    assert not (tmp_path / "out").exists()


def test_no_mcp_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = tmp_path / "pages.mitm"
    capture.write_bytes(flow_file([flow_of(Spoken("GET", None, 200, "<html>", "text/html", path="/"))]))
    assert main(["convert", str(capture), "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == f"mcp-conformance: {capture}: there is no MCP in it\n"


def recorded_twice_by_mitmproxy() -> bytes:
    """`--set hardump`: a flow is written for its answer, and for its error once more; what is connected already then,
    is connected in no time."""
    flows = [flow_of(spoken) for spoken in session()]
    for flow in flows:
        flow.server_conn.timestamp_start, flow.server_conn.timestamp_tcp_setup = 1_699_999_999.5, 1_699_999_999.75
    flows[2].error = Error("Client disconnected.", 1_700_000_001.5)
    made = SaveHar().make_har([*flows, flows[2]])
    first, second = made["log"]["entries"][2:]
    assert (first["timings"]["connect"], second["timings"]["connect"]) == (250.0, -1.0)
    return json.dumps(made, indent=4).encode()


def saved_twice_by_mitmweb() -> bytes:
    """Saved while its stream ran, and at its end; and another, which was duplicated by hand."""
    flows = [flow_of(spoken) for spoken in session()]
    running = flow_of(session()[2])
    running.id = flows[2].id
    running.response.timestamp_end = None  # type: ignore[union-attr]
    running.response.content = b""  # type: ignore[union-attr]
    duplicate = flows[1].copy()  # type: ignore[no-untyped-call]
    return flow_file([running, *flows, duplicate])


def more_exactly(entry: Json) -> Json:
    """By a producer whose clock is finer than that of a browser."""
    return entry | {"startedDateTime": entry["startedDateTime"].replace("Z", "217Z")}


@pytest.mark.parametrize(
    ("name", "data", "repeated"),
    [
        ("hardump.har", recorded_twice_by_mitmproxy(), 1),
        ("x.har", har("x", [more_exactly(chrome_entry(one)) for one in [*session(), *session()[1:]]]), 2),
        ("saved.mitm", saved_twice_by_mitmweb(), 2),
    ],
)
def test_a_recording_that_is_there_twice_is_nobodys_replay(
    name: str, data: bytes, repeated: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture, out = tmp_path / name, tmp_path / "out"
    capture.write_bytes(data)
    assert main(["convert", str(capture), "-o", str(out)]) == 0
    told = capsys.readouterr()
    assert ": 3 exchanges, 0 errors, 0 warnings, 0 notes\n" in told.out
    assert told.err.startswith(f"mcp-conformance: {capture}: ")
    assert ("2 recordings, the first at byte " if repeated == 2 else "the recording at byte ") in told.err
    assert told.err.endswith("there already: each exchange counts once\n") and told.err.count("\n") == 1
    [transcript] = out.glob("*-1.json")
    # The later state of it.
    assert len(json.loads(transcript.read_text())["exchanges"][2]["response"]["chunks"]) == 1


@pytest.mark.parametrize("producer", ["mitmproxy", "Firefox"])
def test_what_was_sent_once_more_is_a_replay(producer: str, tmp_path: Path) -> None:
    *before, call = session()
    again = replace(call, times=(0.301, 0.351, 1.501))
    capture = tmp_path / "session.har"
    if producer == "mitmproxy":
        made = SaveHar().make_har([flow_of(one) for one in (*before, call, again)])
        capture.write_bytes(json.dumps(made).encode())
    else:
        capture.write_bytes(har(producer, map(firefox_entry, (*before, call, again))))
    assert main(["convert", str(capture), "-o", str(tmp_path)]) == 0
    [expected] = tmp_path.glob("*.expected.json")
    assert "post_replayed_same_id" in [one["code"] for one in json.loads(expected.read_text())["findings"]]


@pytest.mark.parametrize(
    ("producer", "entry_of"), [("Firefox", firefox_entry), ("WebInspector", chrome_entry), ("Charles", charles_entry)]
)
@pytest.mark.parametrize("zeros", ["", "000", "0000"])
def test_what_was_sent_twice_within_a_millisecond_is_a_replay(
    producer: str,
    entry_of: Callable[[Spoken], Json],
    zeros: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    entries = [entry_of(one) for one in (*session(), session()[2])]
    for entry in entries:
        entry["startedDateTime"] = re.sub(r"(\.[0-9]{3})", rf"\g<1>{zeros}", entry["startedDateTime"])
    capture = tmp_path / "session.har"
    capture.write_bytes(har(producer, entries))
    assert main(["convert", str(capture), "-o", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert (": 4 exchanges, " in told.out, told.err) == (True, "")
    [expected] = tmp_path.glob("*.expected.json")
    assert "post_replayed_same_id" in [one["code"] for one in json.loads(expected.read_text())["findings"]]


def test_several_captures_of_one_name(capture: Path, tmp_path: Path) -> None:
    again = tmp_path / "again" / "session.mitm"
    again.parent.mkdir()
    again.write_bytes(capture.read_bytes())
    assert main(["convert", str(capture), str(again), "-o", str(tmp_path / "out")]) == 0
    second = TRANSCRIPT.replace("session.", "session-2.", 1)
    assert sorted(contents(tmp_path / "out")) == sorted(
        [TRANSCRIPT, EXPECTED, second, second.replace(".json", ".expected.json")]
    )
    assert (tmp_path / "out" / TRANSCRIPT).read_bytes() == (tmp_path / "out" / second).read_bytes()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert main(["convert", str(capture), "-o", str(locked / "out")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_file_in_the_place_of_the_folder(capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(capture), "-o", str(capture)]) == 2
    assert capsys.readouterr().err == f"mcp-conformance: {capture}: cannot be written: Not a directory\n"


def test_a_full_disk_leaves_nothing(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    assert main(["convert", str(capture), "-o", str(tmp_path / "new" / "out")]) == 2
    monkeypatch.undo()
    said = f"mcp-conformance: {tmp_path / 'new' / 'out'}: cannot be written: No space left on device\n"
    assert capsys.readouterr().err == said
    assert not (tmp_path / "new").exists()


def test_standard_input(capture: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mcp_wire.cli.main", "convert", "-", "-o", str(tmp_path / "out")],
        input=capture.read_bytes(),
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "addon")},
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert TRANSCRIPT.replace("session.", "capture.", 1) in contents(tmp_path / "out")


def test_a_version_that_may_not_be_shown_is_clean_in_what_is_made(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    version = "Zk3vQ9xT7bLmN2pRw8sYd4Fg"
    capture = tmp_path / "session.mitm"
    flows = [flow_of(spoken) for spoken in session()]
    for flow in flows:
        flow.request.headers["MCP-Protocol-Version"] = version
        flow.request.text = (flow.request.text or "").replace("2025-11-25", version)
        assert flow.response is not None
        flow.response.text = (flow.response.text or "").replace("2025-11-25", version)
    capture.write_bytes(flow_file(flows))
    assert main(["convert", str(capture), "-o", str(tmp_path / "out")]) == 0
    made = sorted(contents(tmp_path / "out"))
    assert made[1] == "session.unknown.endpoint-1.session-1.json"
    capfd.readouterr()
    paths = [str(tmp_path / "out" / name) for name in made]
    assert main(["guard", *paths]) == 0
    assert main(["redact", paths[1], "-o", paths[1]]) == 0
    told = capfd.readouterr()
    assert (told.out, told.err) == ("", "")
    assert version not in "".join([*made, *(path.read_text() for path in map(Path, paths))])


@pytest.mark.parametrize("command", [["guard", "-"], ["convert", "-", "-o", "out"], ["redact", "-", "-o", "out"]])
def test_standard_input_that_is_closed(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(command) == 2
    assert capsys.readouterr().err == "mcp-conformance: standard input: cannot be read: it is closed\n"


def test_a_pinned_profile(capture: Path, tmp_path: Path) -> None:
    assert main(["convert", str(capture), "-o", str(tmp_path), "--profile", "stable-2025-06-18"]) == 0
    (transcript,) = tmp_path.glob("*session-1.json")
    assert json.loads(transcript.read_text())["profile"] == "stable-2025-06-18"


def test_help_says_what_the_codes_mean(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["convert", "--help"])
    assert "Exit codes: 0 everything" in " ".join(capsys.readouterr().out.split())


# Canaries, planted wherever traffic has a value


def entry_of(told: list[Observation], canary: str) -> Json:
    """Observations of one exchange as a HAR entry, with the canary in whatever a HAR file has besides."""
    request: Json = {"method": "POST", "headers": [], canary: canary}
    response: Json = {"status": 0, "headers": [], "content": {"comment": canary}, "statusText": canary}
    data = b""
    for one in told:
        match one:
            case RequestSeen():
                target = one.path if one.path.startswith("/") else f"/{one.path}"
                request |= {"method": one.method, "url": f"https://{canary}.example.com{target}"}
                request["headers"] = [{"name": name, "value": value} for name, value in one.headers]
                request["postData"] = {"mimeType": canary, **content_of(raw_of(one.body))}
            case ResponseSeen():
                response |= {"status": one.status, "_error": canary}
                response["headers"] = [{"name": name, "value": value} for name, value in one.headers]
            case ResponseChunk():
                data += one.data
            case ResponseBody():
                data += raw_of(one.body)
            case _:
                pass
    response["content"] = content_of(data)
    date = "2026-01-01T00:00:00.000Z"
    return {"startedDateTime": date, "time": 1, "request": request, "response": response, "_connectionId": canary}


def content_of(raw: bytes) -> Json:
    return {"size": len(raw), "text": base64.b64encode(raw).decode(), "encoding": "base64"}


def raw_of(body: Body) -> bytes:
    if body.text is not None:
        return body.text.encode("utf-8", "surrogatepass")
    return b"" if isinstance(body.value, Missing) else dump_json(body.value).encode()


def flow_of_entry(entry: Json) -> http.HTTPFlow:
    def lines(message: Json) -> http.Headers:
        fields = [
            (one["name"].encode(errors="replace"), one["value"].encode(errors="replace")) for one in message["headers"]
        ]
        return http.Headers(fields)

    flow = flow_of(session()[0])
    request, response = entry["request"], entry["response"]
    flow.request = http.Request.make(
        request["method"], "https://mcp.example.com/", base64.b64decode(request["postData"]["text"]), lines(request)
    )
    flow.request.path = request["url"].partition("example.com")[2].encode("utf-8", "replace").decode("latin-1")
    flow.response = http.Response.make(
        response["status"] or 200, base64.b64decode(response["content"]["text"]), lines(response)
    )
    return flow


@given(canaries().flatmap(lambda canary: st.tuples(st.just(canary), planted(canary))))
@settings(max_examples=60)
def test_no_canary_survives(tmp_path_factory: pytest.TempPathFactory, case: tuple[str, list[Observation]]) -> None:
    canary, observations = case
    folder = tmp_path_factory.mktemp("canary")
    first = [one for one in observations if one.exchange == observations[0].exchange]
    entry = entry_of(first, canary)
    recognised = {"name": "Mcp-Session-Id", "value": "8c5f0e4b-3f2d-4e56-9a77-2f8f5a1f1b0c"}
    entry["request"]["headers"].append(recognised)
    (folder / "a.har").write_bytes(har(canary, [entry, {canary: canary}]))
    (folder / "b.mitm").write_bytes(flow_file([flow_of_entry(entry)]))
    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(["convert", str(folder / "a.har"), str(folder / "b.mitm"), "-o", str(folder / "out")])
    assert code == 1
    written = contents(folder / "out")
    assert len(written) >= 4
    said.flush()
    text = said.buffer.getvalue().decode() + "".join([*written, *(data.decode() for data in written.values())])
    found = readings(text).lower()
    assert not [part for part in windows(canary) if part in found]
