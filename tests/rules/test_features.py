"""Tools, lists, resources, tasks: what must not be said of them, and the edges of what must."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.rules.talk import META, Json, Talk, found, json_answer, legacy, modern, outcome, stream, tool

LIST = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources"}


def event(message: Json) -> str:
    return f"data: {json.dumps(message)}\n\n"


def listed(talk: Talk, *tools: Json, **members: Any) -> Talk:
    return talk.ask("tools/list", result={"tools": list(tools)}, **members)


def called(talk: Talk, result: Json, name: str = "deploy", params: Json | None = None, **members: Any) -> Talk:
    return talk.ask("tools/call", {"name": name, "arguments": {}, **(params or {})}, result=result, **members)


# --- definitions ---

INVALID = "tool_definition_invalid"


@pytest.mark.parametrize("given", [None, [], "object", True, {}, {"type": ["object"]}, {"type": "string"}])
def test_a_tool_takes_an_object(given: Any) -> None:
    for version in ("2025-03-26", "2025-11-25"):
        talk = listed(legacy(version), {"name": "deploy", "inputSchema": given})
        assert found(talk, INVALID) == [f"{INVALID} error /exchanges/0/response/body"]
    cut = listed(legacy(shape=False), {"name": "deploy", "inputSchema": given})
    assert (found(cut, INVALID), outcome(cut, INVALID)) == ([], "cannot_tell")


def test_invalid_schemas_are_invalid_since_2025_11_25() -> None:
    sloppy = {"name": "deploy", "inputSchema": {"type": "object", "required": "region"}}
    assert found(listed(legacy("2025-06-18"), sloppy), INVALID) == []
    assert found(listed(legacy(), sloppy), INVALID, "invalid_message_schema") == [
        f"{INVALID} error /exchanges/0/response/body"
    ]
    other_dialect = sloppy["inputSchema"] | {"$schema": "http://json-schema.org/draft-04/schema#"}  # type: ignore[operator]
    assert found(listed(legacy(), sloppy | {"inputSchema": other_dialect}), INVALID) == []


def test_an_earlier_server_owes_nothing_to_2026() -> None:
    talk = modern().ask(result={}, answer=json_answer({"jsonrpc": "2.0", "id": 100, "result": {"tools": [
        {"name": "deploy", "inputSchema": {"type": "object", "required": "region"}}, {"name": "get x", "inputSchema": {
            "type": "object"}}]}}))  # fmt: skip
    assert found(talk, INVALID, "tool_name_invalid") == []


@pytest.mark.parametrize(
    ("name", "is_plain"),
    [
        ("a" * 128, True),
        ("a" * 129, False),
        ("", False),
        ("a/b", False),
        ("a:b", False),
        ("größe", False),
        ("A-._9", True),
    ],
)
def test_names_of_tools(name: str, is_plain: bool) -> None:
    assert (found(listed(legacy(), tool(name)), "tool_name_invalid") == []) is is_plain


def test_the_same_name_in_two_lists_is_one_tool() -> None:
    assert found(listed(listed(legacy(), tool()), tool()), "tool_name_invalid") == []
    assert found(listed(legacy(), tool(), tool()), "tool_name_invalid") == [
        "tool_name_invalid warning /exchanges/0/response/body"
    ]


# --- structured content ---

MISMATCH = "structured_content_mismatch"


def promising(schema: Json, talk: Talk | None = None, **members: Any) -> Talk:
    return listed(talk or legacy().begin(), tool() | {"outputSchema": schema}, **members)


def text(said: str = "{}") -> Json:
    return {"type": "text", "text": said}


COUNT: Json = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_a_promise_is_kept_or_broken() -> None:
    good = called(promising(COUNT), {"content": [text()], "structuredContent": {"n": 1}})
    bad = called(promising(COUNT), {"content": [text()], "structuredContent": {"n": "1"}})
    assert (found(good, MISMATCH), outcome(good, MISMATCH)) == ([], "satisfied")
    assert found(bad, MISMATCH) == [f"{MISMATCH} error /exchanges/3/response/body"]


@pytest.mark.parametrize(
    "result",
    [
        {"content": [text()], "isError": True},
        {"content": [text()], "structuredContent": {"n": 7.0}},
    ],
)
def test_results_that_break_no_promise(result: Json) -> None:
    assert found(called(promising(COUNT), result), MISMATCH) == []


def test_what_hangs_on_values_is_left_open() -> None:
    bounded = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 5}}}
    talk = called(promising(bounded), {"content": [text()], "structuredContent": {"n": 1}})
    assert (found(talk, MISMATCH), outcome(talk, MISMATCH)) == ([], "cannot_tell")


def test_a_promise_counts_until_the_list_changes() -> None:
    bad = {"content": [text()], "structuredContent": {}}
    told = event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    changed = promising(COUNT, legacy("2025-06-18").begin(server={"tools": {"listChanged": True}}))
    assert found(called(changed.get(stream(told)), bad), MISMATCH) == []
    relisted = listed(promising(COUNT), tool())
    assert found(called(relisted, bad), MISMATCH) == []


def test_a_promise_to_another_client_is_none() -> None:
    bad: Json = {"content": [text()], "structuredContent": {}}
    promise: Json = {"result": {"tools": [tool() | {"outputSchema": COUNT}], "ttlMs": 0, "cacheScope": "private"}}
    other = (
        modern().ask(**promise, headers={"User-Agent": "a/1"}).call("deploy", result=bad, headers={"User-Agent": "b/1"})
    )
    same = (
        modern().ask(**promise, headers={"User-Agent": "a/1"}).call("deploy", result=bad, headers={"User-Agent": "a/1"})
    )
    assert found(other, MISMATCH) == []
    assert found(same, MISMATCH) == [f"{MISMATCH} error /exchanges/1/response/body"]
    shared = called(promising(COUNT, legacy(session=None)), bad)
    assert (found(shared, MISMATCH), outcome(shared, MISMATCH)) == ([], "cannot_tell")


def test_interim_results_promise_nothing_yet() -> None:
    talk = modern().list(tool() | {"outputSchema": COUNT})
    interim = {"resultType": "input_required", "requestState": "s"}
    answer = json_answer({"jsonrpc": "2.0", "id": 5, "result": interim})
    assert found(talk.call("deploy", answer=answer, id=5), MISMATCH) == []


def test_any_text_block_will_do() -> None:
    code = "structured_content_without_text"
    assert found(called(legacy(), {"content": [text("two users")], "structuredContent": {}}), code) == []
    assert found(called(legacy(), {"content": [], "structuredContent": {}}), code) == [
        f"{code} warning /exchanges/0/response/body"
    ]
    assert found(called(legacy(shape=False), {"content": [], "structuredContent": {}}), code) == []


# --- lists ---


def lists(*names: str, talk: Talk | None = None, apart: float = 1000, **members: Any) -> Talk:
    talk = talk or modern()
    for number, word in enumerate(names):
        at = 1000 + apart * number
        tools = [tool(name) for name in word]
        talk.ask(result={"tools": tools, "ttlMs": 0, "cacheScope": "private"}, at=at, until=at + 10, **members)
    return talk


VARIES = "list_varies_per_connection"


@pytest.mark.parametrize(
    ("words", "varies"),
    [
        (["a", "b", "a", "b"], True),
        (["a", "b", "a"], False),
        (["a", "b", "c", "b"], False),
        (["ab", "ba", "ab", "ba"], False),
    ],
)
def test_lists_in_turns(words: list[str], varies: bool) -> None:
    assert bool(found(lists(*words), VARIES)) is varies


def test_slow_turns_and_other_credentials_show_nothing() -> None:
    assert found(lists("a", "b", "a", "b", apart=30_000), VARIES) == []
    talk = lists("a", headers={"Authorization": "Bearer x"})
    for word, who in (("b", "y"), ("a", "x"), ("b", "y")):
        lists(word, talk=talk, headers={"Authorization": f"Bearer {who}"})
    assert found(talk, VARIES, "list_order_unstable") == []


def test_order_counts_for_equal_sets_only() -> None:
    code = "list_order_unstable"
    assert found(lists("ab", "ba"), code) == [f"{code} warning /exchanges/1/response/body"]
    assert found(lists("ab", "bac", "abc"), code) == [f"{code} warning /exchanges/2/response/body"]
    assert found(lists("ab", "abc"), code) == []


def test_pages_make_one_list() -> None:
    talk = modern()
    for cursor, word, following in ((None, "a", "2"), ("2", "b", None), (None, "b", "9"), ("9", "a", None)):
        result = {"tools": [tool(name) for name in word], "ttlMs": 0, "cacheScope": "private"}
        talk.ask(params=None if cursor is None else {"cursor": cursor},
                 result=result | ({} if following is None else {"nextCursor": following}))  # fmt: skip
    assert found(talk, "list_order_unstable") == ["list_order_unstable warning /exchanges/3/response/body"]


UNTOLD = "list_change_not_notified"


def watched(*chunks: Json, declared: bool = True, ended: str = "open", opened: float = 500) -> Talk:
    server = {"tools": {"listChanged": True} if declared else {}}
    talk = legacy("2025-06-18").begin(server=server)
    for exchange in talk.exchanges:
        exchange["started_ms"] = exchange["ended_ms"] = 1
    return talk.get(stream(*chunks, ended=ended) | {"started_ms": opened}, at=opened)


def relisted(talk: Talk, *words: str) -> Talk:
    for number, word in enumerate(words):
        at = 1000 + 7000 * number
        listed(talk, *[tool(name) for name in word], at=at, until=at + 10)
    return talk


def test_a_change_is_announced_where_it_can_be() -> None:
    told = event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    assert found(relisted(watched(), "a", "ab", "ab"), UNTOLD) == [f"{UNTOLD} warning /exchanges/4/response/body"]
    assert found(relisted(watched({"t_ms": 3000, "text": told}), "a", "ab", "ab"), UNTOLD) == []
    assert found(relisted(watched({"t_ms": 12_000, "text": told}), "a", "ab", "ab"), UNTOLD) == []


def test_what_could_not_be_announced() -> None:
    assert found(relisted(watched(declared=False), "a", "ab", "ab"), UNTOLD) == []
    assert found(relisted(watched(opened=4000), "a", "ab", "ab"), UNTOLD) == []
    assert found(relisted(watched(), "a", "a", "a"), UNTOLD) == []
    # The capture ends before the notification is overdue.
    assert found(relisted(watched(), "a", "ab"), UNTOLD) == []


# --- resources, content ---


def test_updates_within_what_was_subscribed_to() -> None:
    code = "resource_update_without_subscription"

    def updated(subscribed: str | None, uri: str, **members: Any) -> list[str]:
        talk = legacy("2025-06-18", **members).begin(server={"resources": {"subscribe": True}})
        if subscribed is not None:
            talk.ask("resources/subscribe", {"uri": subscribed}, result={})
        notification = {"method": "notifications/resources/updated", "params": {"uri": uri}}
        talk.get(stream(event({"jsonrpc": "2.0", **notification})))
        return [line.split()[0] for line in found(talk, code)]

    assert updated("file:///a", "file:///a") == []
    assert updated("file:///a", "file:///a/b/c") == []
    assert updated("file:///a", "file:///ab") == [code]
    assert updated("note:7", "note:7/1") == []  # what lies within an opaque URI, only its server knows
    assert updated(None, "file:///a") == [code]
    assert updated(None, "file:///a", session=None) == [code]
    assert updated(None, "file:///a", session=None, complete=False) == []


@pytest.mark.parametrize(
    ("data", "findings"),
    [
        ("", []),
        ("QUJD", []),
        ("QQ==", []),
        ("QQ", ["warning"]),
        ("Q", ["error"]),
        ("QU JD", ["error"]),
        ("QUJD\n", ["error"]),
        ("QU-_", ["error"]),
        ("QQ====", ["error"]),
        ("Ä", ["error"]),
    ],
)
def test_base64(data: str, findings: list[str]) -> None:
    block = {"type": "audio", "data": data, "mimeType": "audio/wav"}
    talk = called(legacy(), {"content": [block]})
    assert [line.split()[1] for line in found(talk, "binary_content_not_base64")] == findings


def test_where_binary_content_is_looked_for() -> None:
    bad, image = "**", {"type": "image", "data": "**", "mimeType": "image/png"}
    holders: list[Talk] = [
        legacy().ask("resources/read", {"uri": "file:///a"}, result={"contents": [{"uri": "file:///a", "blob": bad}]}),
        legacy().ask("prompts/get", {"name": "p"}, result={"messages": [{"role": "user", "content": image}]}),
        called(legacy(), {"content": [{"type": "resource", "resource": {"uri": "file:///a", "blob": bad}}]}),
        legacy().post({"jsonrpc": "2.0", "id": 1, "result": {"role": "user", "model": "m", "content": image}}, {
            "status": 202, "headers": {}}),
        modern().call(result={"content": [image]}),
    ]  # fmt: skip
    assert [found(talk, "binary_content_not_base64") != [] for talk in holders] == [True] * 5
    inert = called(legacy(), {"content": [text(bad)], "structuredContent": {"data": bad, "type": "image"}})
    assert found(inert, "binary_content_not_base64") == []


# --- tasks ---

TASKS: Json = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}


def tasked(support: str | None, *, as_task: bool, server: Json | None = None, **members: Any) -> list[str]:
    execution = {} if support is None else {"execution": {"taskSupport": support}}
    talk = legacy(**members).begin(server=TASKS if server is None else server)
    called(listed(talk, tool() | execution), {"content": []}, params={"task": {}} if as_task else {})
    return [line.split()[0] for line in found(talk, "task_not_negotiated")]


def test_tools_and_tasks() -> None:
    code = "task_not_negotiated"
    assert tasked("required", as_task=True) == tasked("optional", as_task=True) == tasked(None, as_task=False) == []
    assert tasked("optional", as_task=False) == tasked("forbidden", as_task=False) == []
    assert (
        tasked("forbidden", as_task=True) == tasked(None, as_task=True) == tasked("required", as_task=False) == [code]
    )
    # Without the capability no tool can require anything.
    assert tasked("required", as_task=False, server={"tools": {}}) == []
    assert tasked("forbidden", as_task=True, session=None, complete=False) == []


def state(status: str) -> Json:
    return {"taskId": "t-1", "status": status, "createdAt": "x", "lastUpdatedAt": "y", "ttl": None}


def states(*told: str) -> Talk:
    talk = legacy().begin(server=TASKS)
    called(talk, {"task": state("working")}, params={"task": {}})
    for status in told:
        talk.ask("tasks/get", {"taskId": "t-1"}, result=state(status))
    return talk


def test_ends_of_tasks() -> None:
    code = "task_status_invalid"
    assert found(states("working", "input_required", "working", "completed", "completed"), code) == []
    assert found(states("failed", "completed"), code) == [f"{code} error /exchanges/4/response/body"]
    cancelled = states("completed").ask("tasks/cancel", {"taskId": "t-1"}, result=state("cancelled"))
    assert found(cancelled, code) == [f"{code} error /exchanges/4/response/body"]
    refused = states("completed").ask("tasks/cancel", {"taskId": "t-1"}, error={"code": -32602, "message": "over"})
    assert found(refused, code) == []


def test_polls_that_cross_show_nothing() -> None:
    talk = legacy().begin(server=TASKS)
    called(talk, {"task": state("working")}, params={"task": {}}, at=1000, until=1010)
    talk.ask("tasks/get", {"taskId": "t-1"}, result=state("completed"), at=2000, until=2100)
    talk.ask("tasks/get", {"taskId": "t-1"}, result=state("working"), at=2010, until=2200)
    assert found(talk, "task_status_invalid") == []


# --- the rest ---


def test_url_elicitation_is_judged_by_what_was_declared() -> None:
    code = "url_elicitation_error_invalid"
    one = {"mode": "url", "elicitationId": "e", "url": "https://example.com", "message": "m"}
    error = {"code": -32042, "message": "more", "data": {"elicitations": [one]}}
    assert found(legacy().begin(client={"elicitation": {}}).ask(error=error), code) != []
    assert found(legacy().begin(client={"elicitation": {"url": {}}}).ask(error=error), code) == []
    assert found(legacy().ask(error=error), code) == []
    assert found(legacy("2025-06-18").begin().ask(error=error), code) == []


@pytest.mark.parametrize(
    ("level", "answer", "is_wrong"),
    [
        ("loud", {"error": {"code": -32602, "message": "m"}}, False),
        ("loud", {"error": {"code": -32601, "message": "m"}}, False),
        ("loud", {"error": {"code": -32603, "message": "m"}}, True),
        ("loud", {"result": {}}, True),
        (7, {"result": {}}, True),
        ("emergency", {"result": {}}, False),
    ],
)
def test_unknown_log_levels(level: Any, answer: Json, is_wrong: bool) -> None:
    talk = legacy().begin(server={"logging": {}}).ask("logging/setLevel", {"level": level}, **answer)
    assert bool(found(talk, "invalid_log_level_accepted")) is is_wrong


def test_deprecated_features_are_notes() -> None:
    code = "deprecated_feature_used"
    talk = modern().call(meta={META + "clientCapabilities": {"sampling": {}, "roots": {}}})
    assert found(talk, code) == [f"{code} info /exchanges/0"] * 2
    assert found(modern().call(meta={META + "clientCapabilities": {"elicitation": {}}}), code) == []
