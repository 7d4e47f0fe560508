"""Idempotency decisions: only a complete one makes advice more daring, and only where nothing safer is left."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.idempotency_file import read_decisions
from mcp_wire.judging.idempotency import CONFIRMATIONS, MAX_ATTEMPTS, Decision, Decisions
from mcp_wire.judging.recovery import Advice
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.transcript.document import Document
from mcp_wire.validation import validate
from tests.judging.test_recovery import LISTEN, REISSUE, RESUME, STOP, advice, call, flagged, refused_stream
from tests.rules.streams import answered, asked, calling, event, primed
from tests.rules.talk import Json, Talk, legacy, modern, refusal, stream

COMPLETE = Decision(
    tool="sum",
    owner="calculator team",
    date="2026-11-30",
    confirmations=frozenset(CONFIRMATIONS),
    attempts=1,
    rollback="none is needed, since it only reads",
    duplicate_effect_guard="the tool has no effect",
)
THIS_ONE = replace(COMPLETE, tool=None, exchange="x-0", transcript="t.json")
CUT = stream(ended="server_closed")
LOST = refusal(503) | {"ended": "complete"}


def decided(talk: Talk, *decisions: Decision, **more: Any) -> list[Advice]:
    report = validate(Document(talk.document()), decisions=Decisions(decisions, "t.json"), **more)
    return list(report.recovery)


def actions(talk: Talk, *decisions: Decision) -> list[str]:
    return [one.action for one in decided(talk, *decisions)]


def cut(tool: str = "sum", **members: Any) -> Talk:
    return call(params=calling(name=tool), **members)


def again(talk: Talk, answer: Json = CUT, id: int = 6, at: int = 2_000) -> Talk:
    return talk.ask("tools/call", calling(name="sum"), id=id, answer=answer, at=at, until=at + 500)


@pytest.mark.parametrize("decision", [COMPLETE, THIS_ONE])
def test_a_complete_decision_leads_to_a_bounded_reissue(decision: Decision) -> None:
    [one] = decided(cut(), decision)
    assert (one.action, one.decision) == (REISSUE, decision)
    for part in (
        "calculator team decided on 2026-11-30",
        "at most 1 attempt.",
        "a fresh JSON-RPC id",
        "Guard against a duplicate effect: the tool has no effect.",
        "Rollback: none is needed, since it only reads.",
    ):
        assert part in one.condition
    assert ("make sure that this one left no result unseen" in one.condition) == (decision is COMPLETE)


NOT_CONFIRMED = {
    "no_duplicate_effect": "the confirmation that repeating cannot duplicate an external effect",
    "no_unseen_commit": "the confirmation that the server did not commit an unseen result",
    "retry_policy_permits": "the confirmation that the retry policy permits it",
    "fresh_jsonrpc_id": "the confirmation that a fresh JSON-RPC id will be generated",
}
BOUNDS: dict[str, Any] = {
    "owner": ("", "an owner"),
    "date": ("", "the date of the decision"),
    "attempts": (0, "the number of attempts"),
    "rollback": ("", "a rollback"),
    "duplicate_effect_guard": ("", "a guard against a duplicate effect"),
}
WHOLE: dict[str, Any] = {
    "owner": "calculator team",
    "date": "2026-11-30",
    "confirmations": dict.fromkeys(CONFIRMATIONS, True),
    "rollback": "none is needed",
    "duplicate_effect_guard": "it has no effect",
}
INCOMPLETE = [
    *(
        (replace(COMPLETE, confirmations=COMPLETE.confirmations - {name}), NOT_CONFIRMED[name])
        for name in CONFIRMATIONS
    ),
    *((replace(COMPLETE, **{name: value}), words) for name, (value, words) in BOUNDS.items()),
    (replace(COMPLETE, attempts=MAX_ATTEMPTS + 1), "the number of attempts"),
]


@pytest.mark.parametrize(("decision", "lacking"), INCOMPLETE)
def test_an_incomplete_decision_is_none_and_says_what_it_lacks(decision: Decision, lacking: str) -> None:
    [one] = decided(cut(), decision)
    assert (one.action, one.decision, decision.missing) == (STOP, decision, (lacking,))
    assert f"the idempotency decision about the tool sum is not complete. It lacks {lacking}." in one.condition
    # The transcript's own word is not enough where somebody has looked and not confirmed.
    [one] = decided(cut(idempotent=True), decision)
    assert one.action == STOP
    assert "That the transcript calls the exchange idempotent does not make up for it." in one.condition


def test_what_is_lacking_is_listed_in_one_order() -> None:
    [one] = decided(cut(), Decision(tool="sum"))
    lacking = [*NOT_CONFIRMED.values(), *(words for _, words in BOUNDS.values())]
    assert f"It lacks {'; '.join(lacking)}." in one.condition


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (call(primed()), RESUME),  # a stream with a cursor is resumed, whatever was decided
        (legacy().ask("tools/call", calling(), id=5, answer=refusal(404)), REISSUE),  # in a new session
        (refused_stream("server_reset"), REISSUE),
        (modern().list().ask(*LISTEN, id=4, answer=CUT), REISSUE),
        (legacy().get(flagged(), id="x-0"), STOP),
        (Talk("undetermined").ask("tools/call", calling(), id=5, answer=CUT), STOP),
        (legacy().post({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}, LOST), STOP),
        (modern().list().ask("tools/call", calling(), id=5, answer=stream(ended="client_closed")), None),
        (call(event(answered(5))), None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("complete", [True, False])
def test_where_a_decision_has_no_say(talk: Talk, expected: str | None, complete: bool) -> None:
    """The advice is to the word what it is without one."""
    talk.exchanges[-1]["id"] = "x-0"
    decisions = [
        replace(one, confirmations=one.confirmations if complete else frozenset()) for one in (COMPLETE, THIS_ONE)
    ]
    assert [one.action for one in advice(talk)] == ([] if expected is None else [expected])
    assert decided(talk, *decisions) == advice(talk)


def test_what_a_decision_is_about() -> None:
    talk = cut()
    other = replace(COMPLETE, tool="deploy")
    assert actions(talk, other) == [STOP]
    assert "No idempotency decision is about this exchange or its tool sum." in decided(talk, other)[0].condition
    assert decided(talk, other)[0].decision is None
    assert actions(cut(idempotent=True), other) == [REISSUE]
    # A tool's name is looked for in calls of tools only, an exchange's entry covers any request.
    prompt = legacy().ask("prompts/get", {"name": "sum"}, id=5, answer=CUT)
    assert actions(prompt, COMPLETE) == [STOP]
    assert actions(prompt, THIS_ONE) == [REISSUE]
    assert actions(prompt, replace(THIS_ONE, transcript="other.json")) == [STOP]
    assert actions(prompt, replace(THIS_ONE, exchange="x-1")) == [STOP]
    assert "No idempotency decision is about this exchange." in decided(prompt, COMPLETE)[0].condition


def test_an_exchange_outranks_its_tool_and_a_server_any_server() -> None:
    refused = replace(THIS_ONE, confirmations=frozenset())
    assert actions(cut(), COMPLETE, refused) == [STOP]
    assert actions(cut(), replace(COMPLETE, confirmations=frozenset()), THIS_ONE) == [REISSUE]
    begun = call(params=calling(), talk=legacy().begin())
    mine, others = replace(COMPLETE, server="example-server"), replace(COMPLETE, server="another")
    assert actions(begun, mine) == [REISSUE]
    assert actions(begun, others) == [STOP]
    said = "No idempotency decision is about this exchange or its tool sum of "
    assert decided(begun, others)[0].condition.endswith(f"{said}the server example-server.")
    assert decided(cut(), others)[0].condition.endswith(f"{said}a server that does not name itself.")
    assert actions(begun, others, COMPLETE) == [REISSUE]
    assert actions(begun, replace(mine, owner=""), COMPLETE) == [STOP]
    assert actions(cut(), mine) == [STOP]  # the server has not said who it is
    [one] = decided(cut(), mine, asserted={"server": {"name": "example-server"}})
    assert one.action == REISSUE


def test_a_batch_is_covered_as_a_whole_or_not_at_all() -> None:
    def batch(*tools: str) -> Talk:
        calls = [asked(1 + number, "tools/call") | {"params": calling(name=tool)} for number, tool in enumerate(tools)]
        return legacy("2025-03-26").post(calls, CUT, id="x-0")

    assert actions(batch("sum", "sum"), COMPLETE) == [REISSUE]
    assert actions(batch("sum", "deploy"), COMPLETE, replace(COMPLETE, tool="deploy")) == [STOP]
    assert actions(batch("sum", "deploy"), THIS_ONE) == [REISSUE]
    partly = legacy("2025-03-26").post(
        [asked(n, "tools/call") | {"params": calling(name=tool)} for n, tool in ((1, "deploy"), (2, "sum"))],
        stream(event(answered(1)), ended="server_closed"),
    )
    assert actions(partly, COMPLETE) == [REISSUE]


def test_a_name_that_is_redacted_is_no_name() -> None:
    secret = "qX7fKz02LmWv9RbTc5JdYs8P"
    assert actions(cut(secret), replace(COMPLETE, tool=secret)) == [STOP]
    [hidden] = decided(cut(), COMPLETE, redactor=Redactor(keep_tool_names=False))
    assert hidden.action == STOP
    assert hidden.condition.endswith(
        "No idempotency decision is about this exchange, and decisions about tools do not count here: the name of its "
        "tool is hidden (tool-1). Name the exchange instead."
    )


def test_attempts_are_counted_until_one_is_answered() -> None:
    once, twice = COMPLETE, replace(COMPLETE, attempts=2)
    talk = again(cut())
    assert actions(talk, once) == [STOP, STOP]
    first, second = decided(talk, once)
    assert "sent again in /exchanges/1" in first.condition
    assert "allows 1 attempt, and so many were made" in second.condition
    first, second = decided(talk, twice)
    assert (first.action, second.action) == (STOP, REISSUE)
    assert "at most 2 attempts in all, of which 1 was made. What was sent again in other sessions" in second.condition
    assert actions(again(again(cut()), id=7, at=4_000), twice) == [STOP, STOP, STOP]
    [one] = decided(cut(), twice)
    assert "at most 2 attempts; look for its result before the next." in one.condition


def test_a_request_after_an_answered_repetition_is_a_new_intention() -> None:
    done = again(cut(), stream(event(answered(6)), ended="complete"))
    assert actions(done, COMPLETE) == [STOP]
    later = again(done, id=7, at=90_000)
    assert actions(later, COMPLETE) == [STOP, REISSUE]
    other = cut().ask("tools/call", calling(name="sum", n=1), id=6, answer=CUT, at=2_000, until=2_500)
    assert actions(other, COMPLETE) == [REISSUE, REISSUE]


# --- no file makes advice more daring unless an entry of it is complete ---

texts = st.sampled_from(["", " ", "somebody"])
abouts = st.sampled_from(
    [
        {"tool": "sum"},
        {"tool": "sum", "server": "example-server"},
        {"tool": "sum", "server": "another"},
        *({"exchange": f"x-{number}", "transcript": "t.json"} for number in range(4)),
    ]
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "owner": texts,
        "date": st.sampled_from(["", "2026-11-30"]),
        "confirmations": st.dictionaries(st.sampled_from(CONFIRMATIONS), st.booleans(), max_size=4),
        "attempts": st.integers(1, MAX_ATTEMPTS),
        "rollback": texts,
        "duplicate_effect_guard": texts,
    },
)
entries = st.builds(lambda about, changed: about | changed, abouts, changes)
nearly_whole = st.builds(
    lambda about, changed, attempts: WHOLE | about | dict(list(changed.items())[:1]) | {"attempts": attempts},
    abouts,
    changes,
    st.integers(1, MAX_ATTEMPTS),
)
files = st.lists(entries | nearly_whole, max_size=3, unique_by=lambda entry: json.dumps(about_of(entry)))


def about_of(entry: dict[str, Any]) -> list[Any]:
    return [entry.get(name) for name in ("tool", "server", "exchange")]


steps = st.sampled_from(
    [
        lambda talk, n: again(talk, id=n, at=n * 1_000),
        lambda talk, n: again(talk, stream(event(answered(n)), ended="complete"), id=n, at=n * 1_000),
        lambda talk, n: again(talk, stream(primed(f"e-{n}"), ended="server_closed"), id=n, at=n * 1_000),
        lambda talk, n: again(talk, stream(ended="client_closed"), id=n, at=n * 1_000),
        lambda talk, n: again(talk, refusal(504), id=n, at=n * 1_000),
        lambda talk, n: again(talk, refusal(404), id=n, at=n * 1_000),
        lambda talk, n: talk.ask("tools/list", id=n, answer=CUT, at=n * 1_000, until=n * 1_000 + 1),
        lambda talk, n: talk.ask("tools/list", id=n, answer=CUT, at=n * 1_000, until=n * 1_000 + 1, idempotent=True),
        lambda talk, n: talk.begin(id=n),
    ]
)


@given(files, st.lists(steps, min_size=1, max_size=6))
def test_no_file_is_daring_unless_it_is_complete(written: list[dict[str, Any]], told: list[Any]) -> None:
    decisions = read_decisions(json.dumps({"decisions": written}))
    talk = legacy()
    for number, step in enumerate(told, 10):
        step(talk, number)
    before = {one.exchange: one for one in advice(talk)}
    after = decided(talk, *decisions)
    assert before.keys() == {one.exchange for one in after}
    for one in after:
        if one.decision is None:
            assert one.action == before[one.exchange].action
            continue
        assert before[one.exchange].action != RESUME
        entry = written[decisions.index(one.decision)]
        if one.action != STOP:
            assert one.action == REISSUE
            assert all(entry["confirmations"].get(name) is True for name in CONFIRMATIONS)
            assert 1 <= entry["attempts"] <= MAX_ATTEMPTS
            for name in ("owner", "date", "rollback", "duplicate_effect_guard"):
                assert entry[name].strip() and entry[name].strip() in one.condition
