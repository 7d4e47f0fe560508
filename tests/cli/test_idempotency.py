"""`validate --idempotency FILE`: what a file may say, what is refused, and where what it says is shown."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.idempotency_file import MAX_FILE_OCTETS, read_decisions
from mcp_wire.judging.idempotency import CONFIRMATIONS, MAX_ATTEMPTS
from mcp_wire.reports.forms import FORMS
from tests.cli.test_validate import run
from tests.peers.processes import REPOSITORY
from tests.rules.streams import calling
from tests.rules.talk import legacy, stream

EXAMPLE = REPOSITORY / "docs" / "data" / "idempotency.json"
ABSENT: Any = object()
ENTRY: dict[str, Any] = {
    "tool": "sum",
    "owner": "calculator team",
    "date": "2026-11-30",
    "confirmations": dict.fromkeys(CONFIRMATIONS, True),
    "attempts": 1,
    "duplicate_effect_guard": "it has no effect",
    "rollback": "none is needed",
}
MEMBERS = "tool, server, exchange, transcript, owner, date, confirmations, attempts, rollback, duplicate_effect_guard"
SECRET = "qX7fKz02LmWv9RbTc5JdYs8P"
LEAKS = "has something in it that looks like a secret; it stands in reports"
NO_FILE = "it is no object with a list of decisions in `decisions`"


def file(**members: Any) -> str:
    entry = {name: value for name, value in (ENTRY | members).items() if value is not ABSENT}
    return json.dumps({"decisions": [entry]})


def confirmed(**members: Any) -> str:
    return file(confirmations=ENTRY["confirmations"] | members)


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    cut = stream(ended="server_closed")
    talk = legacy().ask("tools/call", calling(name="sum"), id="x-1", answer=cut, at=0, until=10)
    path = tmp_path / "cut.json"
    path.write_text(json.dumps(talk.document()))
    return path


def decided(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "decisions.json"
    path.write_text(text)
    return path


REFUSED = [
    ("", "is empty; a file of decisions is one JSON object"),
    (
        '{"decisions": [\n  {"tool": "sum", "owner": "a", "owner": "b"}\n]}',
        "line 2, column 33: has the same member twice in one object; keep one of them",
    ),
    (
        '{"decisions": [\n  {"tool": "sum",}\n]}',
        "line 2, column 18: is not JSON here; repair the file of decisions or write it again",
    ),
    (
        '{"decisions": [NaN]}',
        "line 1, column 16: has NaN or Infinity, which is no JSON; write a number or leave the member out",
    ),
    ("[]", NO_FILE),
    ("{}", NO_FILE),
    ('{"decisions": {}}', NO_FILE),
    ('{"decisions": [], "version": 1}', "it has a member version that means nothing here; allowed are decisions"),
    ('{"decisions": [1]}', "decisions/0 has to be an object"),
    (file(onwer="x"), f"decisions/0 has a member onwer that means nothing here; allowed are {MEMBERS}"),
    (file(**{SECRET: "x"}), f"decisions/0 has a member that means nothing here; allowed are {MEMBERS}"),
    (
        confirmed(sure=True),
        "decisions/0/confirmations has a member sure that means nothing here; allowed are " + ", ".join(CONFIRMATIONS),
    ),
    (confirmed(fresh_jsonrpc_id="yes"), "decisions/0/confirmations/fresh_jsonrpc_id has to be true or false"),
    (confirmed(fresh_jsonrpc_id=1), "decisions/0/confirmations/fresh_jsonrpc_id has to be true or false"),
    (file(confirmations=True), "decisions/0/confirmations has to be an object"),
    (file(owner=None), "decisions/0/owner has to be text"),
    (file(owner="a\nb"), "decisions/0/owner has to be one line of text, of at most 300 characters"),
    (file(owner="a\u202eb"), "decisions/0/owner has to be one line of text, of at most 300 characters"),
    (file(rollback="x" * 301), "decisions/0/rollback has to be one line of text, of at most 300 characters"),
    (file(owner=f"Bearer {SECRET}"), f"decisions/0/owner {LEAKS}"),
    (file(rollback=f"the key is {SECRET}"), f"decisions/0/rollback {LEAKS}"),
    (
        file(duplicate_effect_guard="https://a:hunter2hunter2@example.com"),
        f"decisions/0/duplicate_effect_guard {LEAKS}",
    ),
    (file(date="30.11.2026"), "decisions/0/date has to be a day, written YYYY-MM-DD"),
    (file(date="2026-02-30"), "decisions/0/date has to be a day, written YYYY-MM-DD"),
    (file(date="20261130"), "decisions/0/date has to be a day, written YYYY-MM-DD"),
    *(
        (file(attempts=number), f"decisions/0/attempts has to be a whole number from 1 to {MAX_ATTEMPTS}")
        for number in (0, -1, MAX_ATTEMPTS + 1, 1.0, 1.5, True, "1", None)
    ),
    (file(tool=ABSENT), "decisions/0 has to name a tool or an exchange, one of the two"),
    (file(tool=""), "decisions/0 has to name a tool or an exchange, one of the two"),
    (file(exchange="x-1"), "decisions/0 has to name a tool or an exchange, one of the two"),
    (file(transcript="a.json"), "decisions/0 names a transcript, which goes with an exchange only"),
    (
        file(tool=ABSENT, exchange="x-1"),
        "decisions/0 has to name the transcript of its exchange: an id is unique in one transcript only",
    ),
    (
        file(tool=ABSENT, exchange="x-1", transcript="out/a.json"),
        "decisions/0/transcript has to be the name of the transcript's file, without its folder",
    ),
    (
        file(tool=ABSENT, exchange="x-1", transcript="a.json", server="s"),
        "decisions/0 names a server, which goes with a tool only",
    ),
    (
        file(tool="tool-1"),
        "decisions/0/tool is a label, which is another tool in another transcript; name the exchange instead",
    ),
    (
        file(tool=SECRET),
        "decisions/0/tool has to be the name of a tool that redaction leaves as it is; name the exchange instead",
    ),
    (
        file(server=SECRET),
        "decisions/0/server has to be the name that the server gives itself in serverInfo, as reports have it",
    ),
    (json.dumps({"decisions": [ENTRY, ENTRY | {"attempts": 2}]}), "decisions/1 is about the same as decisions/0"),
    (" " * (MAX_FILE_OCTETS + 1), "it is larger than 1024 KiB"),
]


@pytest.mark.parametrize(("text", "why"), REFUSED, ids=range(len(REFUSED)))
def test_a_file_that_is_refused(
    text: str, why: str, transcript: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One line that says where and what is allowed, and repeats no value."""
    path = decided(tmp_path, text)
    told = run(capfd, "validate", transcript, transcript.with_name("a.expected.json"), "--idempotency", path)
    assert told == (2, "", f"mcp-conformance: {path}: {why}\n")
    assert SECRET not in told[2]


def test_files_that_cannot_be_meant(transcript: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.json"
    why = f"mcp-conformance: {missing}: cannot be read: No such file or directory\n"
    assert run(capfd, "validate", transcript, "--idempotency", missing) == (2, "", why)
    why = "mcp-conformance: --idempotency takes a file, not standard input\n"
    assert run(capfd, "validate", transcript, "--idempotency", "-") == (2, "", why)
    path = decided(tmp_path, file(tool=ABSENT, exchange="x-0", transcript="cut.json"))
    other = tmp_path / "other" / "cut.json"
    other.parent.mkdir()
    other.write_bytes(transcript.read_bytes())
    why = f"mcp-conformance: {path}: decisions/0 is about several of these transcripts\n"
    assert run(capfd, "validate", transcript, other, "--idempotency", path) == (2, "", why)
    before = path.read_bytes()
    code, out, _ = run(capfd, "validate", transcript, "--idempotency", path, "--output", path)
    assert (code, out, path.read_bytes()) == (2, "", before)


def test_what_is_left_out_is_not_confirmed(transcript: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for text in ('{"decisions": [{"tool": "sum"}]}', file(owner=" ", date="", rollback="")):
        path = decided(tmp_path, text)
        _, out, err = run(capfd, "validate", transcript, "--idempotency", path, "--report", "json")
        [advice] = json.loads(out)["recovery"]
        assert (advice["action"], advice["decision"]["complete"], err) == ("do-not-replay", False, "")
        assert {"an owner", "the date of the decision", "a rollback"} <= set(advice["decision"]["missing"])


def test_an_exchange_has_the_name_that_reports_give_it(
    transcript: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(transcript.read_text())
    document["exchanges"][0]["id"] = "acme-order-77"
    transcript.write_text(json.dumps(document))
    _, out, _ = run(capfd, "validate", transcript, "--report", "json")
    shown = json.loads(out)["recovery"][0]["exchange"]
    path = decided(tmp_path, file(tool=ABSENT, exchange=shown, transcript=transcript.name))
    _, out, _ = run(capfd, "validate", transcript, "--idempotency", path, "--report", "json")
    [advice] = json.loads(out)["recovery"]
    assert (advice["action"], advice["exchange"]) == ("manual-reissue-with-fresh-jsonrpc-id", shown)
    assert advice["decision"]["exchange"] == shown


def test_a_complete_decision_in_every_report(
    transcript: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What an owner wrote is text there, and never markup or a command to the terminal."""
    nasty = "</script><img src=x onerror=alert(1)> `a` *b* @octocat #1 http://evil.example ]]>"
    path = decided(tmp_path, file(owner=nasty, rollback=nasty, duplicate_effect_guard=nasty))
    for form in FORMS:
        code, out, err = run(capfd, "validate", transcript, "--idempotency", path, "--report", form)
        assert (code in (0, 1), err) == (True, "")
        if form == "jsonl":
            continue  # findings only
        assert "2026-11-30" in out
        match form:
            case "json":
                [advice] = json.loads(out)["recovery"]
                assert advice["action"] == "manual-reissue-with-fresh-jsonrpc-id"
                assert advice["decision"] == {
                    "tool": "sum",
                    "owner": nasty,
                    "date": "2026-11-30",
                    "attempts": 1,
                    "rollback": nasty,
                    "duplicate_effect_guard": nasty,
                    "confirmed": list(CONFIRMATIONS),
                    "complete": True,
                }
            case "html":
                assert "<img" not in out and out.count("</script>") == out.count("<script")
            case "markdown":
                shown = out.partition("### Recovery")[2]
                assert "<img" not in shown.replace("\\<", "") and not re.search(r"(?<!\\)[`*]a|@octocat|http://", shown)
            case "junit":
                said = "".join(node.text or "" for node in ET.fromstring(out).iter("system-out"))
                assert nasty in said
            case "sarif" | "har":
                assert json.loads(out)
            case "human":
                assert "\x1b" not in out and nasty.split()[-1] in out


def unmatched(transcript: Path, path: Path, capfd: pytest.CaptureFixture[str], *options: str) -> str:
    code, _, err = run(capfd, "validate", transcript, "--idempotency", path, *options)
    assert code == run(capfd, "validate", transcript)[0]
    return err.removeprefix(f"mcp-conformance: {path}: ").rstrip("\n")


def test_what_matches_nothing_is_named(transcript: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A misspelt tool, another server, an exchange that is not there; not what is about other transcripts."""
    about = {name: value for name, value in ENTRY.items() if name != "tool"}
    entries = [{"tool": "summ"}, {"tool": "sum", "server": "another"}]
    exchanges = [{"exchange": "x-9", "transcript": "cut.json"}, {"exchange": "x-9", "transcript": "other.json"}]
    path = decided(tmp_path, json.dumps({"decisions": [entry | about for entry in entries + exchanges]}))
    said = "decisions/0, decisions/1 and decisions/2 matched nothing: no recovery advice hangs on them"
    assert unmatched(transcript, path, capfd) == said
    _, out, _ = run(capfd, "validate", transcript, "--idempotency", path)
    assert "decision is about this exchange or its tool sum of a server that does not name itself." in " ".join(
        out.split()
    )
    # Where every interrupted exchange has its decision, those about other tools are not missed.
    path = decided(tmp_path, json.dumps({"decisions": [ENTRY, entries[0] | about]}))
    assert unmatched(transcript, path, capfd) == ""
    hidden = "; those about tools do not count with --redact-names"
    said = f"decisions/0 and decisions/1 matched nothing: no recovery advice hangs on them{hidden}"
    assert unmatched(transcript, path, capfd, "--redact-names") == said
    many = [{"tool": f"tool_{letter}"} | about for letter in "abcdefghij"]
    path = decided(tmp_path, json.dumps({"decisions": many}))
    assert unmatched(transcript, path, capfd).endswith(
        "decisions/6 and decisions/7, and 2 more, matched nothing: no recovery advice hangs on them"
    )


def test_the_example_of_the_documentation() -> None:
    complete, exchange, incomplete = read_decisions(EXAMPLE.read_bytes())
    assert (complete.tool, complete.is_complete) == ("get_forecast", True)
    assert (exchange.exchange, exchange.is_complete) == ("x-4", True)
    assert (incomplete.tool, incomplete.is_complete) == ("send_invoice", False)
    shown = (REPOSITORY / "docs" / "idempotency.md").read_text().partition("```json\n")[2].partition("```")[0]
    assert read_decisions(shown) == (complete,)


def test_convert_takes_none(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capfd, "convert", tmp_path / "a.mitm", "--output", tmp_path, "--idempotency", EXAMPLE)
    assert (code, out) == (2, "") and "--idempotency" in err
