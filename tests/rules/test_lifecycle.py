"""The handshake and what it negotiated: times, shared conversations, captures that begin or end in the middle."""

from __future__ import annotations

import pytest

from tests.rules.talk import Json, Talk, found, json_answer, legacy, modern, outcome, refusal, stream

NOT_FOUND = {"code": -32601, "message": "Method not found"}
CHANGED = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'


def server_request(method: str, params: str = "{}", at: float | None = None) -> object:
    text = f'data: {{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}\n\n'
    return text if at is None else {"t_ms": at, "text": text}


# Who may speak first


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (legacy(session=None).ask(), "violated"),
        (legacy(session=None, complete=False).ask(), "cannot_tell"),
        (legacy().ask(), "cannot_tell"),  # a stored session id
        (legacy(session=None).ask("ping", result={}), "not_observed"),
        (legacy(session=None).get(), "not_observed"),
        (legacy(session=None).notify(), "not_observed"),
        (legacy(session=None).add("POST", {}, None, refusal()).ask(), "cannot_tell"),  # perhaps the initialize
        (legacy(session=None).begin().ask(), "satisfied"),
    ],
)
def test_initialize_is_first(talk: Talk, expected: str) -> None:
    assert outcome(talk, "initialize_not_first") == expected


def early(*, until: float = 900, at: float = 100, method: str = "tools/list", complete: bool = True) -> Talk:
    talk = legacy(session=None, complete=complete).initialize(at=0, until=until)
    talk.ask(method, at=at, until=at + 10, answer=refusal())
    return talk.notify(at=until + 10, until=until + 20)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (early(), "violated"),
        (early(until=140), "satisfied"),  # they crossed
        (early(method="ping"), "satisfied"),
        (early(complete=False), "cannot_tell"),  # whose request it was is not known
        (legacy(session=None).initialize(answer=refusal(), at=0, until=900).ask(at=100, until=110), "not_observed"),
    ],
)
def test_requests_wait_for_the_answer(talk: Talk, expected: str) -> None:
    assert outcome(talk, "request_before_initialize_response") == expected


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (legacy().begin().ask(), "satisfied"),
        (legacy().initialize(), "not_observed"),  # it leaves
        (legacy().initialize().ask("ping", result={}), "not_observed"),
        (legacy().initialize().ask(), "violated"),
        (legacy().initialize(at=0, until=10).ask(at=20, until=30), "cannot_tell"),  # the capture ends too soon
        (legacy().initialize(at=0, until=10).ask(at=20, until=1_500), "violated"),
        (legacy().initialize(at=0, until=10).ask(at=20, until=1_500).notify(at=900, until=910), "satisfied"),
        (legacy().initialize(at=0, until=10).ask(at=20, until=1_500).notify(at=1_100, until=1_110), "violated"),
        (legacy().initialize().ask().notify(), "cannot_tell"),  # the order is not known
        (legacy().initialize(answer=refusal()).ask(), "not_observed"),
        (legacy(complete=False, session=None).initialize().ask(), "cannot_tell"),  # perhaps of another client
        (legacy(session=None).initialize().initialize(id=1).ask(), "cannot_tell"),
        (legacy().initialize().add("POST", {}, None, refusal()).ask(), "cannot_tell"),  # perhaps the notification
        (legacy().initialize().ask("notifications/initialized", result={}).ask(), "satisfied"),  # with an id
        (legacy("2025-03-26").initialize().post([{"jsonrpc": "2.0", "method": "notifications/initialized"}],
            {"status": 202, "headers": {}}).ask(), "satisfied"),  # in a batch
        (legacy(complete=False).ask(), "not_observed"),  # joined midway
    ],
)  # fmt: skip
def test_initialized_is_sent(talk: Talk, expected: str) -> None:
    assert outcome(talk, "missing_initialized") == expected


def test_missing_initialized_is_told_once() -> None:
    talk = legacy().initialize(at=0, until=10)
    for number in range(4):
        talk.ask(at=2_000 * (number + 1), until=2_000 * (number + 1) + 10)
    assert found(talk, "missing_initialized") == ["missing_initialized error /exchanges/1/request/body"]


@pytest.mark.parametrize(
    ("method", "at", "expected"),
    [("roots/list", 60, 1), ("ping", 60, 0), ("roots/list", 550, 0), ("roots/list", 800, 0)],
)
def test_server_waits_for_initialized(method: str, at: float, expected: int) -> None:
    talk = legacy().initialize(at=0, until=20, client={"roots": {}})
    talk.get(stream(server_request(method, at=at)), at=30).notify(at=700, until=710)
    assert len(found(talk, "server_request_before_initialized")) == expected


@pytest.mark.parametrize(
    ("refused", "sent", "expected"),
    [(True, True, "error"), (False, True, "info"), (True, False, None)],
)
def test_initialize_with_a_session_id(refused: bool, sent: bool, expected: str | None) -> None:
    old = "6d1f0c9e-83b4-4f57-9a2d-5e07c1b8f3a6"
    talk = legacy(complete=False).ask(headers={"Mcp-Session-Id": old}, answer=refusal(404) if refused else None)
    talk.initialize(headers={"Mcp-Session-Id": old} if sent else {})
    level = f"initialize_with_session_id {expected} /exchanges/1/request/headers"
    assert found(talk, "initialize_with_session_id") == ([] if expected is None else [level])


def test_cancelled_call_with_the_id_of_initialize() -> None:
    talk = legacy().begin().ask(id=0, answer=stream(ended="open")).notify("notifications/cancelled", {"requestId": 0})
    assert outcome(talk, "initialize_cancelled") == "satisfied"  # the id now names the later request
    cancelled = legacy().begin().notify("notifications/cancelled", {"requestId": "0"})
    assert outcome(cancelled, "initialize_cancelled") == "not_observed"


@pytest.mark.parametrize(("between", "expected"), [(1_000, "violated"), (301_000, "cannot_tell")])
def test_version_that_was_used_before(between: float, expected: str) -> None:
    talk = legacy(session=None).initialize(at=0, until=10)
    talk.initialize(id=1, answered="2025-06-18", at=between, until=between + 10)
    assert outcome(talk, "version_not_echoed") in (expected, "satisfied")
    assert (found(talk, "version_not_echoed") != []) is (expected == "violated")


# What was negotiated


@pytest.mark.parametrize(
    ("server", "answer", "expected"),
    [
        ({"prompts": {}}, {"result": {"prompts": []}}, []),
        ({"prompts": {}}, {"error": NOT_FOUND}, []),
        ({}, {"error": NOT_FOUND}, ["client_used_undeclared_capability error /exchanges/2/request/body"]),
        ({}, {"result": {"prompts": []}}, ["server_capability_undeclared warning /exchanges/2/response/body"]),
        (
            {},
            {"result": {"prompts": [{"name": "a"}]}},
            ["server_capability_undeclared error /exchanges/2/response/body"],
        ),
        ({}, {"answer": refusal(404)}, []),
    ],
)
def test_features_of_the_server(server: Json, answer: Json, expected: list[str]) -> None:
    codes = ("client_used_undeclared_capability", "server_capability_undeclared")
    assert found(legacy().begin(server=server).ask("prompts/list", **answer), *codes) == expected
    # Without the handshake, or where a person may have cut it, nothing is known of what was declared.
    assert found(legacy(complete=False).ask("prompts/list", **answer), *codes) == []
    assert found(legacy(shape=False).begin(server=server).ask("prompts/list", **answer), *codes) == []


def test_capabilities_were_only_advice_in_2025_03_26() -> None:
    talk = legacy("2025-03-26").begin(server={}).ask("prompts/list", error=NOT_FOUND)
    assert found(talk, "client_used_undeclared_capability") == [
        "client_used_undeclared_capability warning /exchanges/2/request/body"
    ]


@pytest.mark.parametrize(
    ("client", "request_", "expected"),
    [
        ({}, server_request("ping"), 0),
        ({}, server_request("roots/list"), 1),
        ({"roots": {}}, server_request("roots/list"), 0),
        ({"elicitation": {}}, server_request("elicitation/create"), 0),
        ({"elicitation": {}}, server_request("elicitation/create", '{"mode":"url"}'), 1),
        ({"elicitation": {"url": {}}}, server_request("elicitation/create", '{"mode":"url"}'), 0),
        ({"sampling": {}}, server_request("sampling/createMessage", '{"tools":[]}'), 1),
        ({"sampling": {"tools": {}}}, server_request("sampling/createMessage", '{"tools":[]}'), 0),
        ({}, server_request("com.example/ask"), 0),
    ],
)
def test_features_of_the_client(client: Json, request_: object, expected: int) -> None:
    talk = legacy().begin(client=client).get(stream(request_))
    assert len(found(talk, "server_used_undeclared_capability")) == expected


@pytest.mark.parametrize(
    ("server", "expected"),
    [({"tools": {"listChanged": True}}, 0), ({"tools": {"listChanged": False}}, 1), ({"tools": {}}, 1)],
)
def test_notifications_need_a_capability(server: Json, expected: int) -> None:
    talk = legacy().begin(server=server).get(stream(CHANGED, CHANGED))
    assert len(found(talk, "server_capability_undeclared")) == expected


def test_one_finding_a_capability() -> None:
    talk = legacy().begin(server={})
    for method in ("prompts/list", "prompts/list", "resources/list"):
        talk.ask(method, error=NOT_FOUND)
    assert found(talk, "client_used_undeclared_capability") == [
        "client_used_undeclared_capability error /exchanges/2/request/body",
        "client_used_undeclared_capability error /exchanges/4/request/body",
    ]


def test_at_2026_only_what_the_same_credentials_discovered_counts() -> None:
    result = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0, "cacheScope": "public"}
    talk = modern().ask().ask("server/discover", result=result, headers={"Authorization": "Bearer a"}).ask()
    assert found(talk, "server_capability_undeclared") == []
    talk.ask(headers={"Authorization": "Bearer a"}, answer=json_answer({}))
    talk.ask(result={"tools": [{"name": "a"}]}, headers={"Authorization": "Bearer a"})
    assert found(talk, "server_capability_undeclared") == [
        "server_capability_undeclared error /exchanges/4/response/body"
    ]
