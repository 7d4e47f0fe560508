"""Listen streams: what a server owes on them, and the many things that are no fault."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.rules.talk import META, Json, Modern, found, json_answer, modern, modern_result, outcome

CODES = (
    "subscription_ack_missing",
    "subscription_id_mismatch",
    "unrequested_notification",
    "resource_update_not_subscribed",
    "request_scoped_on_listen",
    "listen_closed_without_result",
)
SUBSCRIPTION_ID = META + "subscriptionId"
TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"


def event(message: Json) -> str:
    return f"data: {json.dumps(message)}\n\n"


def note(method: str, id: Any = 4, **params: Any) -> str:
    return event({"jsonrpc": "2.0", "method": method, "params": {**params, "_meta": {SUBSCRIPTION_ID: id}}})


def acknowledged(id: Any = 4, **granted: Any) -> str:
    filters = granted or {"toolsListChanged": True}
    return note("notifications/subscriptions/acknowledged", id, notifications=filters)


def closing(id: Any = 4) -> str:
    result = modern_result()
    result["_meta"][SUBSCRIPTION_ID] = id
    return event({"jsonrpc": "2.0", "id": id, "result": result})


def streamed(*events: Any, ended: str | None = "complete") -> Json:
    answer: Json = {"status": 200, "headers": {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}}
    answer["chunks"] = list(events)
    return answer if ended is None else answer | {"ended": ended}


def listening(*events: Any, wanted: Any = None, ended: str | None = "complete", id: Any = 4,
              talk: Modern | None = None, **members: Any) -> Modern:  # fmt: skip
    """`subscriptions/listen` at a server that has shown that it speaks 2026-07-28 (unless `talk` says otherwise)."""
    asked = {"notifications": {"toolsListChanged": True} if wanted is None else wanted}
    members.setdefault("answer", streamed(*events, ended=ended))
    return (talk or modern().list()).ask("subscriptions/listen", asked, id=id, **members)


def faults(talk: Modern) -> list[str]:
    return found(talk, *CODES)


@pytest.mark.parametrize("id", [0, -1, 1.0, "", "listen:0", 2**53 + 1])
def test_ids_of_every_kind(id: Any) -> None:
    assert faults(listening(acknowledged(id), note(TOOLS, id), closing(id), id=id)) == []


@pytest.mark.parametrize(("given", "sent"), [(4, "4"), ("4", 4), (4, 5), (4, None), (4, {}), (4, [4])])
def test_another_id(given: Any, sent: Any) -> None:
    talk = listening(acknowledged(given), note(TOOLS, sent), closing(given), id=given)
    assert faults(talk) == ["subscription_id_mismatch error /exchanges/1/response/chunks/1"]


def test_an_error_ends_a_stream_without_id() -> None:
    error = event({"jsonrpc": "2.0", "id": 4, "error": {"code": -32603, "message": "?"}})
    assert faults(listening(acknowledged(), error)) == []
    assert faults(listening(error)) == []


@pytest.mark.parametrize("ended", ["server_closed", "server_reset", "client_closed", "proxy_closed", "open", None])
def test_only_a_clean_end_by_the_server_is_judged(ended: str | None) -> None:
    assert faults(listening(acknowledged(), note(TOOLS), ended=ended)) == []
    assert faults(listening(": nothing yet\n\n", ended=ended)) == []


@pytest.mark.parametrize("also_result", [True, False])
def test_the_server_may_say_cancelled(also_result: bool) -> None:
    cancelled = event({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}})
    assert faults(listening(acknowledged(), cancelled, *([closing()] if also_result else []))) == []


def test_the_client_may_say_cancelled() -> None:
    talk = modern().list()
    talk.ask(
        "subscriptions/listen",
        {"notifications": {"toolsListChanged": True}},
        id=4,
        answer=streamed(acknowledged()),
        at=0,
        until=9000,
    )
    body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}}
    talk.post(body, {"status": 202, "headers": {}}, {"MCP-Protocol-Version": "2026-07-28"}, at=8000, until=8010)
    assert faults(talk) == []


def test_a_long_wait_for_the_acknowledgment_is_worth_a_note() -> None:
    def waiting(until: float) -> Modern:
        answer = streamed({"t_ms": 20, "text": ":\n\n"}, {"t_ms": until, "text": ":\n\n"}, ended="open")
        return listening(answer=answer | {"started_ms": 10}, talk=modern().list(at=-20, until=-10), at=0)

    assert faults(waiting(9_000)) == []
    assert faults(waiting(11_000)) == ["subscription_ack_missing info /exchanges/1/response/chunks"]


def test_unreadable_events_are_no_proof_of_silence() -> None:
    assert faults(listening("data: {oops\n\n")) == []
    assert outcome(listening("data: {oops\n\n"), "subscription_ack_missing") == "cannot_tell"


def test_what_came_before_the_proof_is_judged_with_it() -> None:
    before = [note(TOOLS, 5), note("notifications/prompts/list_changed")]
    proven = listening(*before, closing(), talk=modern())
    assert faults(proven) == [
        "subscription_ack_missing error /exchanges/0/response/chunks/0",
        "subscription_id_mismatch error /exchanges/0/response/chunks/0",
        "unrequested_notification error /exchanges/0/response/chunks/1",
    ]
    unproven = listening(*before, talk=modern(), ended="open")
    assert faults(unproven) == []
    assert outcome(unproven, "unrequested_notification") == "cannot_tell"


def test_other_streams_are_not_listen_streams() -> None:
    result = {"jsonrpc": "2.0", "id": 7, "result": modern_result(content=[])}
    talk = modern().call(id=7, answer=streamed(note("notifications/progress", progressToken=1), event(result)))
    assert faults(talk) == []


def test_a_listen_request_without_readable_filter_proves_nothing() -> None:
    unreadable: tuple[Any, ...] = (None, [], {"toolsListChanged": "yes", "resourceSubscriptions": "file:///a"})
    for wanted in unreadable:
        talk = modern().list().ask("subscriptions/listen", {"notifications": wanted} if wanted is not None else {},
                                   id=4, answer=streamed(acknowledged(), note(TOOLS), note(UPDATED, uri="file:///a"),
                                                         closing()))  # fmt: skip
        assert faults(talk) == []


def test_an_empty_list_of_resources_asks_for_none() -> None:
    talk = listening(
        acknowledged(resourceSubscriptions=[]),
        note(UPDATED, uri="file:///a"),
        closing(),
        wanted={"resourceSubscriptions": []},
    )
    assert faults(talk) == ["unrequested_notification error /exchanges/1/response/chunks/1"]


def test_kinds_of_extensions_are_their_own_affair() -> None:
    granted = acknowledged(**{"toolsListChanged": True, "com.example/jobsChanged": True})
    assert faults(listening(granted, note("notifications/com.example/jobs_changed"), closing())) == []


def test_one_finding_a_kind() -> None:
    prompts, resources = "notifications/prompts/list_changed", "notifications/resources/list_changed"
    talk = listening(acknowledged(), *[note(prompts), note(resources)] * 3, closing())
    assert faults(talk) == [
        "unrequested_notification error /exchanges/1/response/chunks/1",
        "unrequested_notification error /exchanges/1/response/chunks/2",
    ]


def test_very_long_filters_are_not_searched() -> None:
    wanted = {"resourceSubscriptions": [f"file:///{number}" for number in range(1_001)]}
    talk = listening(acknowledged(**wanted), note(UPDATED, uri="file:///z"), closing(), wanted=wanted)
    assert faults(talk) == []


def test_a_transcript_cut_by_hand_proves_no_absence() -> None:
    def cut(*events: str, wanted: Json) -> Modern:
        return listening(*events, wanted=wanted, talk=modern(shape=False).list())

    bare = event({"jsonrpc": "2.0", "method": TOOLS, "params": {}})
    assert faults(cut(acknowledged(toolsListChanged=True), bare, closing(), wanted={})) == []
    assert faults(cut(acknowledged(), note(TOOLS), closing(), wanted={"toolsListChanged": False})) == [
        "unrequested_notification error /exchanges/1/response/chunks/1"
    ]


def test_a_refusal_by_http_is_no_stream() -> None:
    assert faults(listening(answer=json_answer({"jsonrpc": "2.0", "id": 4, "error": {"code": -32601, "message": "?"}},
                                               404))) == []  # fmt: skip


def test_http2_has_its_own_pings() -> None:
    answer = streamed({"t_ms": 20, "text": acknowledged()}, {"t_ms": 90_000, "text": note(TOOLS)}, ended="open")

    def idle(version: str) -> Modern:
        talk = listening(answer=answer | {"started_ms": 10}, talk=modern().list(at=-20, until=-10), at=0)
        talk.exchanges[1]["request"]["http_version"] = version
        return talk

    assert found(idle("HTTP/2.0"), "no_keepalive_on_listen") == []
    assert found(idle("HTTP/1.1"), "no_keepalive_on_listen") == [
        "no_keepalive_on_listen info /exchanges/1/response/chunks"
    ]
