"""Gateways, framing, ends and buffering: what proves that somebody in between did it, and what does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import ResponseHead
from mcp_wire.judging.declaration import SATISFIED, RuleBook, Verdicts
from mcp_wire.judging.judge import Judge
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import observations
from mcp_wire.validation import validate
from tests.rules.talk import Json, Talk, found, json_answer, legacy, modern, outcome, stream


def page(status: int, **headers: str) -> Json:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"status": status, "headers": {"Content-Type": "text/html", **named}, "body_text": "<html></html>"}


def event(message: Json) -> str:
    return f"data: {json.dumps(message)}\n\n"


def progress(value: int) -> str:
    return event(
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t", "progress": value}}
    )


def answer(id: int = 102) -> str:
    return event({"jsonrpc": "2.0", "id": id, "result": {"content": []}})


def call(talk: Talk, response: Json, **members: Any) -> Talk:
    params = {"name": "sum", "arguments": {}, "_meta": {"progressToken": "t"}}
    return talk.ask("tools/call", params, id=102, answer=response, **members)


# --- whose answer is it? ---

GATEWAY = "gateway_error_response"


@pytest.mark.parametrize(
    "response",
    [page(502), page(504), page(521), {"status": 504, "headers": {}, "body_text": ""}, page(503, Server="nginx/1.22.1"),
     page(413, Via="1.1 edge"), page(429, CF_Ray="8a1-FRA"), page(503, X_Envoy_Upstream_Service_Time="4"),
     page(503, Server="Google Frontend")],
)  # fmt: skip
def test_a_gateway_answered(response: Json) -> None:
    assert found(call(legacy().begin(), response), GATEWAY) == [f"{GATEWAY} warning /exchanges/2/response/status"]


@pytest.mark.parametrize(
    "response",
    [page(404), page(405), page(400, Server="nginx"), page(404, Via="1.1 edge"), page(500), page(503), page(429),
     page(503, Server="uvicorn"),
     json_answer({"jsonrpc": "2.0", "id": 102, "error": {"code": -32603, "message": "down"}}, 502),
     {"status": 200, "headers": {"Content-Type": "application/json", "Server": "nginx", "Via": "1.1 edge"},
      "body": {"jsonrpc": "2.0", "id": 102, "result": {"content": []}}}],
)  # fmt: skip
def test_the_server_may_have_answered(response: Json) -> None:
    assert found(call(legacy().begin(), response), GATEWAY) == []


def test_the_conversation_has_a_word_for_it_before_the_body_is_there() -> None:
    asked: list[bool] = []
    book = RuleBook("test")

    @book.rule("asks", level="info", party="either", layer="intermediary", says="", fix="", version_neutral=True)
    def asks(head: ResponseHead, _conversation: Conversation) -> Verdicts:
        asked.append(head.exchange.answered_by_gateway)
        yield SATISFIED

    talk = call(call(call(legacy(), page(504)), page(404)), json_answer({"message": "timeout"}, 504))
    conversation = Conversation(PROFILES["stable-2025-11-25"], payloads_whole=True, complete_from_start=True)
    judge = Judge(book.rules, conversation, lambda evidence: evidence.kind)
    for observation in observations(Document(talk.document())):
        judge.feed(observation)
    assert asked == [True, False, False]
    assert [exchange.answered_by_gateway for exchange in conversation.recent] == [True, False, True]


def test_both_sides_settle_it() -> None:
    front = call(legacy().begin(), page(500))
    assert found(call(front, page(500), server_side_of="x-2"), GATEWAY) == []
    front = call(legacy().begin(), page(500), at=1000, until=1500)
    back = call(front, json_answer({"jsonrpc": "2.0", "id": 102, "result": {"content": []}}), server_side_of="x-2",
                at=1010, until=1400)  # fmt: skip
    assert found(back, GATEWAY) == [f"{GATEWAY} warning /exchanges/2/response/status"]


# --- redirects, framing, coding, caches ---


def test_redirects() -> None:
    def redirected(status: int) -> list[str]:
        response = {"status": status, "headers": {"Location": "/mcp/"}}
        return found(call(legacy().begin(), response), "post_redirected")

    assert redirected(303) == ["post_redirected warning /exchanges/2/response/status"]
    assert redirected(308) == ["post_redirected info /exchanges/2/response/status"]
    assert found(legacy().begin().get({"status": 302, "headers": {}}), "post_redirected") == []


@pytest.mark.parametrize(
    ("headers", "chunks", "findings"),
    [
        ({"Content-Length": "0"}, [], []),
        ({"Content-Length": "0"}, [answer()], ["content_length_on_sse warning /exchanges/2/response/headers"]),
        ({"Content-Length": "90"}, [answer()], []),
        ({"Content-Length": "190"}, [progress(1), answer()], []),
        ({"Content-Length": "190"}, [{"t_ms": 10, "text": progress(1)}, {"t_ms": 900, "text": answer()}], []),
    ],
)
def test_lengths_of_streams(headers: Json, chunks: list[Any], findings: list[str]) -> None:
    response = stream(*chunks, ended="complete")
    response["headers"].update(headers)
    assert found(call(legacy("2025-06-18").begin(), response), "content_length_on_sse") == findings


@pytest.mark.parametrize(
    ("accepted", "coding", "is_fine"),
    [
        (None, "gzip", True),
        ("gzip, br", "br", True),
        ("*", "gzip", True),
        ("gzip;q=0", "gzip", False),
        ("*;q=0, gzip", "gzip", True),
        ("", "gzip", False),
        ("br", "gzip", False),
        ("br", "identity", True),
        ("x-gzip", "gzip", True),
        ("gzip", "gzip, zstd", False),
    ],
)
def test_codings_of_streams(accepted: str | None, coding: str, is_fine: bool) -> None:
    response = stream(answer(), ended="complete")
    response["headers"]["Content-Encoding"] = coding
    talk = call(legacy("2025-06-18").begin(), response, headers={"Accept-Encoding": accepted})
    assert (outcome(talk, "sse_compressed") == "satisfied") is is_fine


@pytest.mark.parametrize(
    ("headers", "is_cached"),
    [
        ({"Age": "0"}, False),
        ({"Age": "7"}, True),
        ({"Age": "soon"}, False),
        ({"X-Cache": "Hit from cloudfront"}, True),
        ({"X-Cache": "TCP_MISS"}, False),
        ({"CF-Cache-Status": "DYNAMIC"}, False),
        ({"X-Proxy-Cache": "MISS, HIT"}, True),
    ],
)
def test_caches(headers: dict[str, str], is_cached: bool) -> None:
    response = json_answer({"jsonrpc": "2.0", "id": 102, "result": {"content": []}})
    response["headers"].update(headers)
    assert bool(found(call(legacy().begin(), response), "cached_mcp_response")) is is_cached
    assert found(legacy().add("GET", {}, None, page(200, **headers)), "cached_mcp_response") == []


def test_a_gateway_that_knows_mcp_may_serve_what_is_public() -> None:
    def listed(scope: str, id: int = 7) -> list[str]:
        result = {"resultType": "complete", "tools": [], "ttlMs": 1000, "cacheScope": scope}
        response = json_answer({"jsonrpc": "2.0", "id": id, "result": result})
        response["headers"]["X-Cache"] = "HIT"
        return found(modern().call().ask(answer=response, id=7), "cached_mcp_response")

    assert listed("public") == []
    assert listed("private") == ["cached_mcp_response warning /exchanges/1/response/headers"]
    assert listed("public", id=6) == ["cached_mcp_response warning /exchanges/1/response/headers"]


# --- ends ---


def ended(ended: str, *chunks: str, headers: Json | None = None, **members: Any) -> Talk:
    response = stream(*chunks, ended=ended) | members
    response["headers"].update(headers or {})
    return call(legacy("2025-06-18").begin(), response)


CUT = "truncated_response"


@pytest.mark.parametrize("how", ["client_closed", "client_reset", "proxy_closed", "open", "complete"])
def test_what_the_server_did_not_cut(how: str) -> None:
    talk = ended(
        how, progress(1), headers={"Content-Length": "5000"}, received_octets=110 if how != "complete" else 5000
    )
    assert found(talk, CUT) == []


def test_a_body_that_ends_with_its_connection_may_be_whole() -> None:
    assert found(ended("server_closed", progress(1)), CUT) == []
    assert outcome(ended("server_closed", progress(1)), CUT) == "cannot_tell"
    chunked = {"Transfer-Encoding": "chunked"}
    assert found(ended("server_closed", progress(1), headers=chunked), CUT) == [f"{CUT} warning /exchanges/2/response"]


def test_nothing_is_lost_once_the_response_is_there() -> None:
    assert found(ended("server_reset", answer()), CUT) == [f"{CUT} info /exchanges/2/response"]


@pytest.mark.parametrize("status", [204, 304])
def test_what_has_no_body_by_itself_is_not_short(status: int) -> None:
    response = {"status": status, "headers": {"Content-Length": "44"}, "ended": "complete", "received_octets": 0}
    assert found(call(legacy().begin(), response), CUT) == []


def test_a_text_that_stands_for_a_longer_one_is_not_short() -> None:
    response = {"status": 500, "headers": {"Content-Type": "text/plain", "Content-Length": "21"}, "body_text": "no",
                "ended": "complete"}  # fmt: skip
    assert found(call(legacy().begin(), response), CUT) == []


def http2(**members: Any) -> Talk:
    talk = call(legacy("2025-06-18").begin(), stream(progress(1)) | members)
    talk.exchanges[-1]["request"]["http_version"] = "HTTP/2.0"
    return talk


@pytest.mark.parametrize(
    ("members", "level"),
    [
        ({"ended": "server_reset"}, "warning"),
        ({"ended": "server_reset", "reset_code": "REFUSED_STREAM"}, "warning"),
        ({"ended": "server_reset", "reset_code": "NO_ERROR"}, "warning"),
        ({"ended": "client_reset", "reset_code": "CANCEL"}, None),
        ({"ended": "client_reset", "reset_code": "PROTOCOL_ERROR"}, "warning"),
        ({"ended": "client_closed"}, None),
        ({"ended": "complete"}, None),
    ],
)
def test_resets(members: Json, level: str | None) -> None:
    expected = [] if level is None else [f"http2_stream_reset {level} /exchanges/2/response"]
    # One cause, one finding: what was reset was also cut.
    assert found(http2(**members), "http2_stream_reset", CUT) == expected


@pytest.mark.parametrize("answered", [False, True])
def test_a_refusal_proves_something_only_in_place_of_an_answer(answered: bool) -> None:
    talk = http2(ended="server_reset", reset_code="REFUSED_STREAM")
    exchange = talk.exchanges[-1]
    if not answered:
        del exchange["response"]
        exchange |= {"ended": "server_reset", "reset_code": "REFUSED_STREAM"}
    (finding,) = [one for one in validate(Document(talk.document())).findings if one.code == "http2_stream_reset"]
    assert ("sending it again is safe" in finding.message) is not answered


def test_a_reset_of_unknown_side_may_be_the_client_leaving() -> None:
    talk = http2(reset_code="CANCEL")
    del talk.exchanges[-1]["response"]["ended"]
    assert outcome(talk, "http2_stream_reset") == "cannot_tell"


# --- time ---

BUFFERED = "response_buffered"


def at(t_ms: float, text: str) -> Json:
    return {"t_ms": t_ms, "text": text}


def timed(*chunks: Json, until: float, **members: Any) -> Talk:
    return call(legacy("2025-06-18").begin(), stream(*chunks, ended="complete"), at=1000, until=until, **members)


def test_one_side_only_suspects() -> None:
    all_at_once = progress(1) + progress(2) + answer()
    assert found(timed(at(4000, all_at_once), until=4001), BUFFERED) == [
        f"{BUFFERED} info /exchanges/2/response/chunks"
    ]
    # It may have taken its time, or there was nothing to send before.
    assert found(timed(at(2500, all_at_once), until=2501), BUFFERED) == []
    assert found(timed(at(4000, answer()), until=4001), BUFFERED) == []
    assert found(timed(at(1500, ": open\n\n"), at(4000, all_at_once), until=4001), BUFFERED) == []
    # A burst in the middle of a stream that goes on is no sign of a buffer.
    assert found(timed(at(4000, all_at_once), until=9000), BUFFERED) == []


def test_two_sides_need_the_same_events() -> None:
    sent = [at(1500, progress(1)), at(3900, answer())]
    front = timed(at(3950, progress(1)), at(3951, answer()), until=4000)
    params = {"name": "sum", "arguments": {}, "_meta": {"progressToken": "t"}}

    def behind(*chunks: Json) -> Talk:
        talk = timed(at(3950, progress(1)), at(3951, answer()), until=4000)
        return talk.ask("tools/call", params, id=102, answer=stream(*chunks, ended="complete"), at=1005, until=3999,
                        server_side_of="x-2")  # fmt: skip

    assert found(front, BUFFERED) == []
    assert found(behind(*sent), BUFFERED) == [f"{BUFFERED} warning /exchanges/2/response/chunks"]
    assert found(behind(at(3940, progress(1)), at(3945, answer())), BUFFERED) == []
    assert outcome(behind(at(1500, ": ping\n\n"), *sent), BUFFERED) == "cannot_tell"


# --- two sides ---


def two_sides(front: Json, back: Json, **members: Any) -> Talk:
    talk = modern().call(id=7, headers=front, at=0, until=50)
    return talk.call(id=7, headers=back, at=5, until=45, server_side_of="x-0", **members)


@pytest.mark.parametrize(
    ("front", "back", "findings"),
    [
        ({"Accept": "application/json,text/event-stream"}, {}, []),
        ({}, {"Accept": None, "ACCEPT": "application/json, text/event-stream"}, []),
        ({}, {"Mcp-Name": None}, ["mcp_header_altered error /exchanges/0/request/headers"]),
        ({}, {"Mcp-Param-Region": "eu"}, ["mcp_header_altered error /exchanges/0/request/headers"]),
        (
            {"Authorization": "Bearer a"},
            {"Authorization": "Bearer b"},
            ["mcp_header_altered info /exchanges/0/request/headers"],
        ),
        ({"Authorization": "Bearer a"}, {}, ["mcp_header_altered error /exchanges/0/request/headers"]),
        ({}, {"X-Forwarded-For": "10.0.0.1"}, []),
    ],
)  # fmt: skip
def test_altered_headers(front: Json, back: Json, findings: list[str]) -> None:
    assert found(two_sides(front, back), "mcp_header_altered") == findings


def test_what_was_seen_behind_is_compared_and_not_judged() -> None:
    talk = two_sides({}, {"Accept": None, "MCP-Protocol-Version": "2025-06-18"})
    assert found(talk, "invalid_post_accept", "protocol_version_mismatch", "post_replayed_same_id") == []
    assert found(two_sides({}, {}), "request_id_reused", "post_replayed_same_id", "response_id_mismatch") == []


def test_an_unknown_front_is_no_error() -> None:
    talk = modern().call(server_side_of="nowhere", headers={"Accept": None})
    assert found(talk, "mcp_header_altered", "invalid_post_accept") == []


@pytest.mark.parametrize(
    ("first", "is_replayed"),
    [
        ({"status": 503, "headers": {}}, True),
        ({"status": 401, "headers": {"WWW-Authenticate": "Bearer"}}, False),
        ({"status": 429, "headers": {}}, False),
    ],
)
def test_replays_after_a_refusal(first: Json, is_replayed: bool) -> None:
    talk = modern().call(id=7, at=0, until=90)
    talk.call(id=7, server_side_of="x-0", at=5, until=30, answer=first)
    talk.call(id=7, server_side_of="x-0", at=35, until=80)
    assert bool(found(talk, "intermediary_replayed_post")) is is_replayed


def test_another_request_is_no_replay() -> None:
    talk = modern().call(id=7, at=0, until=90)
    talk.call(id=7, server_side_of="x-0", at=5, until=30).call(id=8, server_side_of="x-0", at=35, until=80)
    assert found(talk, "intermediary_replayed_post") == []
