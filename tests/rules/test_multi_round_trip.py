"""Which result a retry answers, and what is said of it: at once, at the end, or never."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wire.conversation.round_trips import MAX_RESULTS_REMEMBERED
from mcp_wire.rules import multi_round_trip
from mcp_wire.transcript.document import Document
from mcp_wire.validation import validate
from tests.rules.talk import META, Json, Modern, found, json_answer, modern, outcome

FORM = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}},
}
ELICITATION: Json = {META + "clientCapabilities": {"elicitation": {}}}
CLIENT_RULES = (
    "mrtr_retry_reused_id",
    "request_state_not_echoed",
    "request_state_misused",
    "input_responses_incomplete",
)


def interim(*keys: str, state: Any = None) -> Json:
    members: Json = {"resultType": "input_required"}
    if keys:
        members["inputRequests"] = dict.fromkeys(keys, FORM)
    return members if state is None else members | {"requestState": state}


def asked(talk: Modern, *keys: str, state: Any = None, id: Any = 1, tool: str = "sum", **members: Any) -> Modern:
    return talk.call(tool, meta=ELICITATION, id=id, result=interim(*keys, state=state), **members)


def retried(talk: Modern, *keys: str, state: Any = None, id: Any = 2, tool: str = "sum", **members: Any) -> Modern:
    params: Json = {"name": tool, "arguments": members.pop("arguments", {})}
    if keys:
        params["inputResponses"] = {key: {"action": "decline"} for key in keys}
    if state is not None:
        params["requestState"] = state
    members.setdefault("result", {"content": []})
    return talk.ask("tools/call", params, meta=ELICITATION, id=id, **members)


def clients_faults(talk: Modern) -> list[str]:
    return found(talk, *CLIENT_RULES)


def test_a_round_without_input_and_state_only() -> None:
    talk = retried(asked(modern(), state="busy"), state="busy")
    assert clients_faults(talk) == []
    assert outcome(talk, "request_state_not_echoed") == "satisfied"


def test_answers_nobody_asked_for_are_ignored() -> None:
    assert clients_faults(retried(asked(modern(), "a", state="s"), "a", "b", state="s")) == []


def test_never_retrying_is_allowed() -> None:
    assert clients_faults(asked(modern(), "a", state="s").call(id=2)) == []


def test_sending_the_retry_once_more_is_allowed() -> None:
    talk = retried(retried(asked(modern(), "a", state="s"), "a", state="s"), "a", state="s", id=3)
    assert clients_faults(talk) == []


def test_two_open_results_and_an_unknown_state_say_nothing() -> None:
    talk = asked(asked(modern(), "a", state="s-1"), "a", state="s-2", id=2)
    assert clients_faults(retried(talk, "a", state="s-3", id=3)) == []
    assert outcome(talk, "request_state_not_echoed") == "cannot_tell"


def test_parallel_calls_are_told_apart_by_their_state() -> None:
    talk = asked(asked(modern(), "a", state="s-1", id=1), "a", "b", state="s-2", id=2)
    retried(talk, "a", "b", state="s-2", id=3)
    retried(talk, "a", state="s-1", id=4)
    assert clients_faults(talk) == []
    assert outcome(talk, "input_responses_incomplete") == "satisfied"


def test_the_latest_round_counts() -> None:
    talk = retried(asked(modern(), "a", state="s"), "a", state="s", result=interim("b", "c", state="s"))
    retried(talk, "b", state="s", id=3)
    assert clients_faults(talk) == ["input_responses_incomplete error /exchanges/2/request/body"]


def test_a_guess_is_dropped_when_the_true_retry_comes() -> None:
    talk = asked(modern(), "a", state="s-2", id=5)
    retried(talk, "a", state="s-1", id=5)  # of a call from before the capture
    assert clients_faults(talk) == [
        "mrtr_retry_reused_id error /exchanges/1/request/body",
        "request_state_not_echoed error /exchanges/1/request/body",
    ]
    retried(talk, "a", state="s-2", id=6)
    assert clients_faults(talk) == []


def test_a_client_that_never_echoes_is_told_so_although_it_tries_twice() -> None:
    talk = asked(modern(), "a", state="s")
    for number in (2, 3):
        retried(talk, "a", id=number, error={"code": -32602, "message": "no state"})
    assert clients_faults(talk) == ["request_state_not_echoed error /exchanges/1/request/body"]


def test_each_of_several_calls_without_state_is_judged() -> None:
    talk = modern()
    for number in range(0, 40, 2):
        retried(asked(talk, "a", "b", id=number), "a", id=number + 1)
    report = validate(Document(talk.document()), multi_round_trip.BOOK.rules)
    assert [(one.code, one.count) for one in report.findings] == [("input_responses_incomplete", 20)]


def test_other_clients_results_are_not_taken_for_ones_own() -> None:
    talk = asked(modern(), "a", id=1)
    retried(talk, "a", state="s", id=1, headers={"Authorization": "Bearer other"})
    assert clients_faults(talk) == []


def test_a_client_that_leaves_out_its_name_is_not_taken_for_another() -> None:
    talk = asked(modern(complete=True), "a", state="s")
    params: Json = {"name": "sum", "arguments": {}, "inputResponses": {"a": {"action": "decline"}}, "requestState": "s"}
    talk.ask("tools/call", params, meta={META + "clientInfo": None, **ELICITATION}, result={"content": []}, id=2)
    assert clients_faults(talk) == []


@pytest.mark.parametrize("missing", ["request", "response"])
def test_a_body_that_was_not_captured_may_have_given_the_state(missing: str) -> None:
    talk = asked(modern(complete=True), "a", state="s")
    del talk.exchanges[0][missing]["body"]
    assert clients_faults(retried(talk, "a", state="s")) == []


def test_what_was_never_given_needs_the_whole_history() -> None:
    assert clients_faults(retried(modern(complete=True), "a", state="s")) == [
        "request_state_misused error /exchanges/0/request/body"
    ]
    assert clients_faults(retried(modern(), "a", state="s")) == []


def test_a_transcript_cut_by_hand_proves_no_absence() -> None:
    talk = retried(asked(modern(shape=False), "a", "b", state="s"), "a", id=1)
    assert clients_faults(talk) == ["mrtr_retry_reused_id error /exchanges/1/request/body"]


@pytest.mark.parametrize("state", [1, {"a": [1, "x"]}, "", "é"])
def test_states_are_compared_as_json(state: Any) -> None:
    assert clients_faults(retried(asked(modern(), state=state), state=state)) == []


def test_number_and_text_are_two_states() -> None:
    assert clients_faults(retried(asked(modern(), state=1), state="1")) == [
        "request_state_not_echoed error /exchanges/1/request/body"
    ]


def test_what_had_to_be_forgotten_is_not_called_never_given() -> None:
    talk = modern(complete=True)
    for number in range(MAX_RESULTS_REMEMBERED + 2):
        asked(talk, "a", state=f"s-{number}", id=number, tool=f"tool-{number}")
    retried(talk, "a", state="s-0", id=-1, tool="tool-0")
    retried(talk, "a", state="s-9", id=-2, tool="tool-9")
    report = validate(Document(talk.document()), multi_round_trip.BOOK.rules)
    assert [(finding.code, finding.path, finding.count) for finding in report.findings] == [
        ("evidence_forgotten", f"/exchanges/{MAX_RESULTS_REMEMBERED}", 2)  # results, and their states
    ] * 2
    assert report.coverage["request_state_misused"].cannot_tell == 1
    assert report.coverage["request_state_misused"].satisfied == 1


# --- what the server sends ---


def untyped(**members: Any) -> Json:
    return json_answer({"jsonrpc": "2.0", "id": 7, "result": members})


def test_a_legacy_server_owes_no_type() -> None:
    talk = modern().ask(answer=untyped(tools=[]), id=7)
    assert found(talk, "result_type_invalid") == []
    assert outcome(talk, "result_type_invalid") == "cannot_tell"
    assert found(talk.list().ask(answer=untyped(tools=[]), id=7), "result_type_invalid") == [
        "result_type_invalid error /exchanges/2/response/body"
    ]


@pytest.mark.parametrize(
    ("capabilities", "judged"),
    [
        ({}, True),
        ({"extensions": {}}, True),
        ({"extensions": {"a.b/c": {}}}, False),
        ({"experimental": {"x": {}}}, False),
    ],
)
def test_types_of_extensions(capabilities: Json, judged: bool) -> None:
    talk = modern().call(meta={META + "clientCapabilities": capabilities}, result={"resultType": "task", "content": []})
    assert bool(found(talk, "result_type_invalid")) is judged


def test_what_the_server_advertises_makes_no_type_known_to_the_client() -> None:
    discovered = {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"extensions": {"a.b/c": {}}, "tools": {}},
        "ttlMs": 0,
        "cacheScope": "private",
    }
    talk = modern().ask("server/discover", result=discovered).call(result={"resultType": "task", "content": []})
    assert found(talk, "result_type_invalid") == ["result_type_invalid error /exchanges/1/response/body"]


def test_methods_of_extensions_may_ask_for_input() -> None:
    assert found(modern().ask("com.example/run", result=interim(state="s")), "input_required_wrong_method") == []


def test_one_finding_a_missing_capability() -> None:
    requests = {
        "a": FORM,
        "b": {"method": "roots/list"},
        "c": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1, "tools": []}},
    }
    declared: Json = {META + "clientCapabilities": {"sampling": {}}}
    result = {"resultType": "input_required", "inputRequests": requests}
    talk = modern().call(meta=declared, result=result).call(meta=declared, result=result)
    report = validate(Document(talk.document()), multi_round_trip.BOOK.rules)
    assert [(one.code, one.count) for one in report.findings] == [("input_request_undeclared_capability", 2)] * 3


@pytest.mark.parametrize(("status", "code", "judged"), [(200, -32602, True), (400, -32000, True), (401, -32000, False),
                                                        (200, -32601, False), (500, -32603, False)])  # fmt: skip
def test_errors_to_a_retry_that_lacks_input(status: int, code: int, judged: bool) -> None:
    talk = asked(modern(), "a", "b", state="s")
    retried(talk, "a", state="s", error={"code": code, "message": "?"}, status=status)
    assert bool(found(talk, "missing_input_returned_error")) is judged


def test_answers_of_a_wrong_shape_explain_the_error() -> None:
    talk = asked(modern(), "a", "b", state="s")
    params = {"name": "sum", "arguments": {}, "inputResponses": {"a": {"action": "perhaps"}}, "requestState": "s"}
    talk.ask("tools/call", params, meta=ELICITATION, error={"code": -32602, "message": "?"})
    assert found(talk, "missing_input_returned_error") == []


# --- whenever the capture begins, a client that keeps to the rules is never blamed ---


@st.composite
def conforming_traffic(draw: st.DrawFn) -> list[Json]:
    """Calls of two clients that look alike, each over one to three rounds, in any order of interleaving.

    One tool keeps its state on the server, the other gives it away. Both clients count their ids from 1.
    """
    calls = draw(st.lists(st.tuples(st.sampled_from("xy"), st.integers(1, 3), st.booleans()), min_size=1, max_size=6))
    scripts = [
        (client, list(_rounds(number, rounds, stateful))) for number, (client, rounds, stateful) in enumerate(calls)
    ]
    steps: list[Json] = []
    last = {"x": 0, "y": 0}
    while running := [one for one in scripts if one[1]]:
        client, rounds = draw(st.sampled_from(running))
        last[client] += 1
        steps.append(rounds.pop(0) | {"id": last[client]})
    return steps


def _rounds(number: int, rounds: int, stateful: bool) -> Iterator[Json]:
    keys: tuple[str, ...] = ()
    state = None
    for index in range(rounds + 1):
        wanted = (("a",), ("a", "b"), ("c",))[(number + index) % 3]
        given = f"state {number}.{index}" if stateful else None
        result = interim(*wanted, state=given) if index < rounds else {"content": []}
        tool, arguments = ("roams" if stateful else "stays"), {"a": number % 2}
        yield {"keys": keys, "state": state, "result": result, "tool": tool, "arguments": arguments}
        keys, state = wanted, given


@settings(max_examples=150, deadline=None)
@given(conforming_traffic(), st.data())
def test_conforming_clients_are_never_blamed(steps: list[Json], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(steps) - 1))
    talk = modern(complete=not cut)
    for step in steps[cut:]:
        retried(talk, *step.pop("keys"), **step)
    report = validate(Document(talk.document()), multi_round_trip.BOOK.rules)
    assert [(one.code, one.path) for one in report.findings] == []
