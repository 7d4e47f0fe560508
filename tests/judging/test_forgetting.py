"""Whatever a limit makes unknown is told of, once a kind; what nobody could ask for any more is not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.cli.main import main
from mcp_wire.conversation import event_ids, facts, interruptions, progress_tokens, subscriptions
from mcp_wire.conversation.bounded import BoundedTable, Limit, Memory
from mcp_wire.conversation.conversation import Conversation
from mcp_wire.judging import judge as judge_module
from mcp_wire.judging.finding import Finding
from mcp_wire.judging.judge import Judge
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.rules import ALL_RULES, rules_of
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import observations, read_document
from mcp_wire.validation import validate
from mcp_wire.wire.body import EMPTY
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import Observation, RequestSeen, ResponseChunk, ResponseSeen
from tests.judging.kinds_of_evidence import KINDS, Kind, cut, listening
from tests.rules.streams import answered, calling, event, primed
from tests.rules.streams import told as notified
from tests.rules.talk import Json, Talk, legacy, modern, stream, tool

REPOSITORY = Path(__file__).parent.parent.parent
FIXTURES = REPOSITORY / "fixtures" / "rules"
CODE = "evidence_forgotten"
EVERYTHING = rules_of(extended=True)


def document_of(talk: Talk) -> Document:
    return Document(talk.document())


def forgotten_in(document: Document) -> list[Finding]:
    return [one for one in validate(document, EVERYTHING).findings if one.code == CODE]


def told(document: Document) -> list[str]:
    """What was forgotten: the exchange where it began, the one where it was seen last, and how often if not once."""
    return [_told(one) for one in forgotten_in(document)]


def _told(finding: Finding) -> str:
    places = [path.removeprefix("/exchanges/") for path in (finding.path, finding.last_path) if path is not None]
    times = f" ({finding.count})" if finding.count != 1 else ""
    return f"{_what(finding)}: {'-'.join(places)}{times}"


def _what(finding: Finding) -> str:
    matched = re.match(r"Not all (.+) could be kept: the limit is ", finding.message)
    assert matched, finding.message
    return matched[1]


def judge_of(profile: str = "stable-2025-11-25") -> Judge:
    return Judge(EVERYTHING, Conversation(PROFILES[profile], True, True), Redactor().show)


# Nobody is left out


def held(owner: object) -> Iterator[object]:
    """Everything that an object of this package, or a container, holds."""
    if isinstance(owner, dict):
        yield from owner.values()
    elif isinstance(owner, list | tuple | set):
        yield from owner
    elif type(owner).__module__.startswith("mcp_wire.") and not isinstance(owner, type):
        slots = [name for kind in type(owner).__mro__ for name in getattr(kind, "__slots__", ())]
        for name in (*slots, *getattr(owner, "__dict__", ())):
            if hasattr(owner, name):
                yield getattr(owner, name)


def within[Kind](owner: object, kind: type[Kind]) -> list[Kind]:
    waiting, seen, found = [owner], {id(owner)}, []
    while waiting:
        one = waiting.pop()
        if isinstance(one, kind):
            found.append(one)
        for further in held(one):
            if id(further) not in seen:
                seen.add(id(further))
                waiting.append(further)
    return found


def busy_judge() -> Judge:
    judge = judge_of()
    for observation in observations(Document(legacy().begin().ask().get().document())):
        judge.feed(observation)
    return judge


def test_every_table_of_a_conversation_tells_what_it_forgets() -> None:
    tables = within(busy_judge(), BoundedTable)
    assert len(tables) > 40
    silent = [table for table in tables if table.limit is None or table.limit.tell is None]
    assert silent == [], "say with `memory=` what it remembers, and see docs/limits.md"


def test_every_limit_is_listened_to() -> None:
    limits = within(busy_judge(), Limit)
    assert len(limits) > 60
    assert [limit.memory.what for limit in limits if limit.tell is None] == []


def memories() -> dict[str, Memory]:
    return {limit.memory.what: limit.memory for limit in within(busy_judge(), Limit)}


def test_memories_name_rules_that_there_are() -> None:
    assert {code for memory in memories().values() for code in memory.rules} <= {rule.code for rule in ALL_RULES}


def test_every_memory_says_what_is_lost_with_it() -> None:
    known = memories()
    assert [what for what, one in known.items() if not (one.rules or one.follows or one.told_by in known)] == []


def test_no_two_memories_are_called_the_same() -> None:
    limits = within(busy_judge(), Limit)
    assert len({limit.memory.what for limit in limits}) == len({id(limit.memory) for limit in limits})


def test_every_limit_stands_in_the_documentation() -> None:
    documented = (REPOSITORY / "docs" / "limits.md").read_text(encoding="utf-8")
    package = REPOSITORY / "addon" / "mcp_wire"
    undocumented = [
        f"{name} in {path.name}"
        for folder in ("conversation", "judging")
        for path in sorted((package / folder).glob("*.py"))
        if path.name != "idempotency.py"  # an operator's own limit on repetitions
        for name in re.findall(r"^(MAX_\w+)(?<!_MS): Final", path.read_text(encoding="utf-8"), re.MULTILINE)
        if not re.search(rf"`{name}`[^|]* in [^|]*{path.name}`", documented)
    ]
    assert undocumented == []


MEMORIES = memories()
IN_TABLES = {
    limit.memory.what for table in within(busy_judge(), BoundedTable) if (limit := table.limit) and limit.memory.rules
}
COME_OUT_THE_SAME = {"clients that were told of changed tools", "clients whose definitions of headers became stale"}
"""What a client that is forgotten was told counts as stale, which it is after the only notice that a fixture has."""


@pytest.mark.parametrize("what", sorted(IN_TABLES))
def test_the_rules_that_are_named_are_those_that_ask(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing of it remembered at all, no other rule comes out otherwise on the fixtures of those."""
    documents = [document for code in MEMORIES[what].rules for document in documents_of(code)]
    before = [outcomes(document) for document in documents]
    monkeypatch.setattr(BoundedTable, "put", forgetting_at_once(BoundedTable.put, what))
    after = [outcomes(document) for document in documents]
    changed = {code for one, other in zip(before, after, strict=True) for code in one if one[code] != other[code]}
    assert changed or what in COME_OUT_THE_SAME
    assert changed - set(MEMORIES[what].rules) == set()


def forgetting_at_once(put: Callable[..., None], what: str) -> Callable[..., None]:
    def forget(self: BoundedTable[Any, Any], key: Any, value: Any, weight: int = 0) -> None:
        put(self, key, value, weight)
        if self.limit is not None and self.limit.memory.what == what:
            self._forget(key)

    return forget


def documents_of(code: str) -> list[Document]:
    paths = [path for path in sorted((FIXTURES / code).glob("*.json")) if not path.name.endswith(".expected.json")]
    return [read_document(path.read_bytes()) for path in paths]


def outcomes(document: Document) -> dict[str, Any]:
    return dict(validate(document, EVERYTHING).coverage)


# Each kind is told of


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]}.{kind[1]}")
def test_a_limit_that_is_reached_is_told_of(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    module, constant, limit, source, expected = kind
    monkeypatch.setattr(f"mcp_wire.conversation.{module}.{constant}", limit)
    if constant == "MAX_RECENT_EXCHANGES":
        monkeypatch.setattr(f"mcp_wire.conversation.conversation.{constant}", limit)
    if isinstance(source, str):
        document = read_document((FIXTURES / f"{source}.json").read_bytes())
    else:
        document = document_of(source)
    assert told(document) == expected
    for one in forgotten_in(document):
        assert (one.level, one.party, one.layer) == ("info", "pipeline", "capture_pipeline")
        assert f"the limit is {limit}" in one.message or f"the limit is the latest {limit}" in one.message


ELSEWHERE = {"exchanges without an end", "exchanges that were interrupted", "exchanges with faults that explain others"}


def test_every_kind_is_tried() -> None:
    tried = {one.partition(":")[0] for *_, expected in KINDS for one in expected}
    assert tried | ELSEWHERE == {what for what, memory in MEMORIES.items() if not memory.told_by}


def test_too_many_open_exchanges_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_module, "MAX_OPEN_EXCHANGES", 2)
    judge = judge_of()
    for number in range(4):
        judge.feed(RequestSeen(f"x-{number}", None, "GET", "/mcp", Headers([]), EMPTY))
    (found,) = [one for one in judge.findings() if one.code == CODE]
    assert (found.path, found.count, found.last_path, found.exchange) == ("/exchanges/2", 2, "/exchanges/3", "x-2")
    assert found.message == (
        "Not all exchanges without an end could be kept: the limit is 2. What goes beyond is recorded and not judged."
    )
    assert "observer_error" not in {one.code for one in judge.findings()}


def test_interrupted_exchanges_without_advice_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_wire.judging.recovery.MAX_BROKEN_EXCHANGES", 1)
    assert "exchanges that were interrupted: 1-2 (2)" in told(document_of(cut(3)))


def test_answered_exchanges_make_room_for_interrupted_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_wire.judging.recovery.MAX_BROKEN_EXCHANGES", 1)
    talk = cut(1).get(stream(event(answered(0)), ended="complete"), headers={"Last-Event-ID": "e-0"}, at=2_000)
    talk.ask("tools/call", calling(n=1), id=1, answer=stream(primed("e-1"), ended="complete"), at=3_000, until=3_001)
    assert told(document_of(talk)) == []


def test_forgotten_roots_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    document = read_document((FIXTURES / "unsupported_http_method" / "fail-message-by-put.json").read_bytes())
    assert forgotten_in(document) == []
    monkeypatch.setattr("mcp_wire.judging.ledger.MAX_ROOTS_REMEMBERED", 0)
    found = forgotten_in(document)
    assert [_what(one) for one in found] == ["exchanges with faults that explain others"]


def test_what_is_said() -> None:
    """At the limit itself, and not one id earlier."""
    judge = judge_of()
    ids = Fed(judge)
    ids.send("".join(f"id: {number}\n\n" for number in range(event_ids.MAX_EVENT_IDS_REMEMBERED)))
    assert [one for one in judge.findings() if one.code == CODE] == []
    new = ids.send("id: a\n\nid: b\n\n")
    (found,) = [one for one in judge.findings() if one.code == CODE]
    assert [one.code for one in new if one.code == CODE] == [CODE]
    assert (found.path, found.count, found.last_path) == ("/exchanges/0", 2, None)
    assert found.message == (
        "Not all event ids could be kept: the limit is 32,768, or 64 MiB of what they belong to. Where the rest would "
        "be needed, nothing is said by last_event_id_never_issued, duplicate_event_id, replay_from_other_stream, "
        "progress_not_increasing, progress_after_completion, poll_not_resumed and 9 other rules."
    )


class Fed:
    """A GET stream that a judge reads as it comes."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        judge.feed(RequestSeen("x-0", 0.0, "GET", "/mcp", Headers([("Accept", "text/event-stream")]), EMPTY))
        judge.feed(ResponseSeen("x-0", 1.0, 200, Headers([("Content-Type", "text/event-stream")])))

    def send(self, text: str, size: int = 1 << 16) -> list[Finding]:
        new = []
        data = text.encode()
        for start in range(0, len(data), size):
            new += self.judge.feed(ResponseChunk("x-0", 2.0, data[start : start + size]))
        return new


# What it does not depend on, and what depends on it


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_chunks_make_no_difference(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_ids, "MAX_EVENT_IDS_REMEMBERED", 2)
    judge = judge_of()
    Fed(judge).send("id: 1\n\nid: 2\n\nid: 3\ndata: {}\n\nid: 1\ndata: {}\n\nid: 4\ndata: nonsense\n\n", size)
    found = [(one.code, one.count, one.path) for one in judge.findings()]
    assert found == [
        ("evidence_forgotten", 3, "/exchanges/0"),
        ("invalid_sse_json", 1, "/exchanges/0/response/chunks/4"),
    ]


def test_redaction_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_ids, "MAX_EVENT_IDS_REMEMBERED", 1)
    monkeypatch.setattr(progress_tokens, "MAX_TOKENS_REMEMBERED", 1)
    monkeypatch.setattr(facts, "MAX_CALLS_REMEMBERED", 2)
    told_plainly = list(observations(Document(secretive().document())))
    redactor = Redactor()
    redacted = [one for observation in told_plainly for one in redactor.feed(observation)]
    findings = found_by(told_plainly)
    assert [_what(one) for one in findings] == ["event ids", "requests of the client", "progress tokens"]
    assert findings == found_by(redacted)
    assert "secret" not in json.dumps([one.message for one in findings])


def secretive() -> Talk:
    talk = legacy().begin()
    for number in range(3):
        events = primed(f"secret-{number}"), event(answered(f"secret-{number}"), f"secret-e-{number}")
        talk.ask(
            "tools/call", calling(f"secret-{number}"), id=f"secret-{number}", answer=stream(*events, ended="complete")
        )
    return talk


def found_by(seen: list[Observation]) -> list[Finding]:
    judge = judge_of()
    for observation in seen:
        judge.feed(observation)
    judge.finish()
    return [one for one in judge.findings() if one.code == CODE]


def test_it_is_no_fault_of_anybody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(event_ids, "MAX_EVENT_IDS_REMEMBERED", 1)
    path = FIXTURES / "invalid_sse_retry" / "pass-milliseconds.json"
    report = validate(read_document(path.read_bytes()))
    assert report.valid and CODE in {one.code for one in report.findings}
    assert main(["validate", str(path), "--fail-on", "warning"]) == 0


# What nobody could ask for any more


def answered_calls(talk: Talk, number: int) -> Talk:
    for one in range(number):
        talk.ask("tools/call", calling(f"t-{one}"), id=10 + one, result={"content": []})
    return talk


def test_answered_requests_are_asked_for_in_a_session_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are sessions an id may not be used again in one; 2026-07-28 has none."""
    monkeypatch.setattr(facts, "MAX_CALLS_REMEMBERED", 2)
    monkeypatch.setattr(progress_tokens, "MAX_TOKENS_REMEMBERED", 2)
    assert told(document_of(answered_calls(legacy().begin(), 4))) == [
        "requests of the client: 3-5 (3)",
        "progress tokens: 4-5 (2)",
    ]
    assert told(document_of(answered_calls(modern(), 4))) == []


def test_requests_in_flight_are_asked_for_in_every_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "MAX_CALLS_REMEMBERED", 2)
    talk = modern()
    for one in range(4):
        talk.call(id=one, answer=stream())
    assert told(document_of(talk)) == ["requests of the client: 2-3 (2)"]


def test_subscriptions_that_are_over_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "MAX_SUBSCRIPTIONS_REMEMBERED", 1)
    talk = listening(3)
    for exchange in talk.exchanges:
        exchange["response"]["ended"] = "client_closed"
    assert told(document_of(talk)) == []


def test_streams_that_were_resumed_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruptions, "MAX_WAITING", 1)
    monkeypatch.setattr(interruptions, "MAX_INTERRUPTIONS_REMEMBERED", 1)
    talk = cut(1).get(stream(event(answered(0)), ended="complete"), headers={"Last-Event-ID": "e-0"}, at=2_000)
    talk.ask("tools/call", calling(n=1), id=1, answer=stream(primed("e-1"), ended="complete"), at=3_000, until=3_001)
    assert told(document_of(talk)) == []


def test_messages_of_ended_streams_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_wire.conversation.deliveries.MAX_DELIVERIES_REMEMBERED", 1)
    talk = legacy().begin()
    for number in range(3):
        talk.ask("ping", id=number, answer=stream(event(answered(number, {})), ended="complete"))
    assert told(document_of(talk)) == []


def test_the_same_list_again_is_nothing_to_be_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = modern()
    for _ in range(8):
        talk.list(tool("a"), tool("b"))
    assert told(document_of(talk)) == []


def test_without_a_rule_that_asks_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_ids, "MAX_EVENT_IDS_REMEMBERED", 1)
    document = read_document((FIXTURES / "invalid_sse_retry" / "pass-milliseconds.json").read_bytes())
    asking = {"last_event_id_never_issued", *event_ids.EVENT_IDS.rules}
    others = tuple(rule for rule in EVERYTHING if rule.code not in asking)
    assert CODE not in {one.code for one in validate(document, others).findings}


def test_the_transport_of_2024_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_ids, "MAX_EVENT_IDS_REMEMBERED", 1)
    judge = judge_of()
    Fed(judge).send("event: endpoint\ndata: /messages\n\n" + "".join(f"id: {number}\n\n" for number in range(4)))
    assert CODE not in {one.code for one in judge.findings()}


# What is not known any more is no fault either


def test_a_forgotten_cancellation_is_no_missing_response(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = legacy("2025-06-18").begin()
    for number in range(3):
        times: Json = {"at": 10 * number, "until": 1_000 + number}
        talk.ask("tools/call", calling(n=number), id=10 + number, answer=stream(ended="complete"), **times)
    talk.notify("notifications/cancelled", {"requestId": 10}, at=500)
    talk.exchanges.sort(key=lambda exchange: exchange.get("started_ms", -1.0))
    codes = [one.code for one in validate(document_of(talk)).findings]
    assert codes == ["stream_closed_without_response"]
    monkeypatch.setattr(facts, "MAX_CALLS_REMEMBERED", 1)
    report = validate(document_of(talk))
    assert [one.code for one in report.findings] == [CODE]
    assert report.coverage["stream_closed_without_response"].outcome == "cannot_tell"


def test_a_forgotten_event_may_be_delivered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = [event(told_progress(value), f"e-{value}") for value in (1, 2, 3)]
    talk = legacy().begin().ask("tools/call", calling("t"), id=5, answer=stream(*progress, ended="server_closed"))
    talk.get(stream(*progress[1:], event(answered(5), "e-4"), ended="complete"), headers={"Last-Event-ID": "e-1"})
    assert validate(document_of(talk)).coverage["progress_not_increasing"].outcome == "satisfied"
    monkeypatch.setattr(event_ids, "MAX_EVENT_IDS_REMEMBERED", 1)
    report = validate(document_of(talk))
    assert report.coverage["progress_not_increasing"].violated == 0
    assert report.valid


def told_progress(value: int) -> Json:
    return notified("notifications/progress", progressToken="t", progress=value)


def test_a_forgotten_hint_is_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    path = FIXTURES / "reissue_may_duplicate_effect" / "pass-read-only-tool.json"
    document = read_document(path.read_bytes())
    assert validate(document, EVERYTHING).coverage["reissue_may_duplicate_effect"].outcome == "satisfied"
    monkeypatch.setattr(BoundedTable, "put", forgetting_at_once(BoundedTable.put, "tools that may be called again"))
    assert validate(document, EVERYTHING).coverage["reissue_may_duplicate_effect"].outcome == "cannot_tell"
