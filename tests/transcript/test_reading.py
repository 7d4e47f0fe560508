"""Documents become observations: strictness, order, and what is made of absent or broken parts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import MAX_DOCUMENT_DEPTH, TranscriptInputError, observations, read_document
from mcp_wire.validation import validate
from mcp_wire.wire.body import EMPTY
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from tests.transcript.strategies import json_values

JSON = {"Content-Type": "application/json"}
SSE = {"Content-Type": "text/event-stream"}


def exchange(name: str, **members: Any) -> dict[str, Any]:
    request = {"method": "POST", "path": "/mcp", "headers": dict(JSON), "body": {"jsonrpc": "2.0", "method": "m"}}
    response = members.pop("response", {"status": 202, "headers": {}, "body_text": ""})
    whole = {"id": name, "request": request | members.pop("request", {}), "response": response} | members
    return {key: value for key, value in whole.items() if value is not ...}


def told(*exchanges: Any) -> list[Observation]:
    return observations(Document({"profile": "stable-2025-11-25", "exchanges": list(exchanges)}))


def order(*exchanges: Any) -> list[str]:
    """`exchange:kind` in the order of the observations."""
    words = {RequestSeen: "request", ResponseSeen: "head", ResponseChunk: "chunk", ResponseBody: "body"}
    return [f"{seen.exchange}:{words.get(type(seen), 'end')}" for seen in told(*exchanges)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is empty; a transcript is one JSON object"),
        (b" \n", "is empty; a transcript is one JSON object"),
        (b"{", "line 1, column 2: is not JSON here; repair the transcript or write it again"),
        (b'{"a":\n [NaN]}', "line 2, column 3: has NaN or Infinity, which is no JSON"),
        (b'{"a":\n -Infinity}', "line 2, column 2: has NaN or Infinity, which is no JSON"),
        (b"[1e999]", "line 1, column 2: has a number beyond a double"),
        (b'{"a":1,\n"a":2}', "line 2, column 1: has the same member twice in one object"),
        (b'{"secret":"\xff"}', "line 1, byte 12: is not UTF-8"),
        (b"\xef\xbb\xbf{}", "begins with a byte order mark"),
        (b"{}\n{}", "line 2, column 1: goes on after its JSON value"),
        (b'"\xc3\xa9" NaN', "line 1, column 5: goes on after its JSON value"),
        (b"[" * 5000 + b"]" * 5000, f"is nested deeper than {MAX_DOCUMENT_DEPTH} levels"),
    ],
)
def test_text_that_is_no_strict_json_is_refused_with_its_place(text: bytes, message: str) -> None:
    with pytest.raises(TranscriptInputError) as refused:
        read_document(text)
    assert message in str(refused.value)
    assert "secret" not in str(refused.value)


def test_long_integers_and_lone_surrogates_are_json() -> None:
    assert isinstance(read_document(b"[" + b"9" * 5000 + b', "\\ud800"]').value, list)


def test_observations_come_in_the_order_of_their_times() -> None:
    stream = {
        "status": 200,
        "headers": SSE,
        "started_ms": 5,
        "chunks": [{"t_ms": 10, "text": "a"}, {"t_ms": 40, "text": "b"}],
    }
    assert order(
        exchange("s", started_ms=0, ended_ms=50, response=stream),
        exchange("p", started_ms=20, ended_ms=30),
    ) == ["s:request", "s:head", "s:chunk", "p:request", "p:head", "p:body", "p:end", "s:chunk", "s:end"]


def test_an_answer_without_times_of_its_own_came_at_the_end() -> None:
    slow, quick = exchange("slow", started_ms=0, ended_ms=50), exchange("quick", started_ms=10, ended_ms=20)
    assert order(slow, quick)[:2] == ["slow:request", "quick:request"]
    assert {seen.t_ms for seen in told(slow) if not isinstance(seen, RequestSeen)} == {50}


def test_the_head_of_a_stream_without_a_time_follows_its_request() -> None:
    stream = {"status": 200, "headers": SSE, "chunks": ["a", {"t_ms": 60, "text": "b"}]}
    assert order(
        exchange("s", started_ms=0, ended_ms=70, response=stream), exchange("p", started_ms=20, ended_ms=30)
    ) == ["s:request", "s:head", "s:chunk", "p:request", "p:head", "p:body", "p:end", "s:chunk", "s:end"]


def test_without_times_the_document_gives_the_order() -> None:
    assert order(exchange("b"), exchange("a")) == [
        f"{name}:{kind}" for name in "ba" for kind in ("request", "head", "body", "end")
    ]


def test_an_exchange_without_a_time_keeps_its_place_among_the_others() -> None:
    starts = [
        seen.exchange
        for seen in told(
            exchange("a", started_ms=0, ended_ms=90),
            exchange("b"),
            exchange("c", started_ms=40, ended_ms=50),
            exchange("d"),
        )
        if isinstance(seen, RequestSeen)
    ]
    assert starts == ["a", "b", "c", "d"]


def test_what_is_still_open_ends_last() -> None:
    stream = {"status": 200, "headers": SSE, "chunks": ["a"], "ended": "open"}
    assert order(exchange("s", response=stream), exchange("p"))[-1] == "s:end"


def test_times_that_run_backwards_do_not_reorder_an_exchange() -> None:
    stream = {"status": 200, "headers": SSE, "chunks": [{"t_ms": 9, "text": "a"}, {"t_ms": 3, "text": "b"}]}
    chunks = [seen for seen in told(exchange("s", started_ms=0, response=stream)) if isinstance(seen, ResponseChunk)]
    assert [(chunk.t_ms, chunk.data) for chunk in chunks] == [(9, b"a"), (3, b"b")]


def test_the_index_is_the_place_in_the_document_whatever_the_times_and_gaps() -> None:
    seen = told(exchange("late", started_ms=100), "no exchange", {"id": "x"}, exchange("early", started_ms=0))
    assert [(one.exchange, one.index) for one in seen if isinstance(one, RequestSeen)] == [("early", 3), ("late", 0)]


def test_exchanges_without_a_usable_id_are_told_under_their_place() -> None:
    seen = told(exchange("x"), exchange("x"), exchange(""), exchange("/exchanges/2"))
    names = [one.exchange for one in seen if isinstance(one, RequestSeen)]
    assert names == ["x", "/exchanges/1", "/exchanges/2'", "/exchanges/2"]


def test_a_response_that_cannot_be_read_was_not_seen() -> None:
    for response in ({"status": "200", "headers": {}}, {"status": 200, "headers": {"A": 1}}, {"status": True}):
        assert order(exchange("x", response=response)) == ["x:request", "x:end"]


def test_an_absent_response_may_still_say_how_the_exchange_ended() -> None:
    ended = told(exchange("x", response=..., ended="client_closed", ended_ms=7))[-1]
    assert ended == ExchangeEnded("x", 7, Ended.CLIENT_CLOSED)


def test_absent_bodies_are_not_captured_unless_the_head_says_that_there_is_none() -> None:
    def response_body(method: str, status: int, headers: dict[str, str]) -> ResponseBody:
        seen = told(exchange("x", request={"method": method}, response={"status": status, "headers": headers}))
        return next(one for one in seen if isinstance(one, ResponseBody))

    assert not response_body("POST", 200, JSON).body.is_captured
    assert not response_body("POST", 202, {"Content-Length": "0", "Transfer-Encoding": "chunked"}).body.is_captured
    for method, status, headers in (
        ("POST", 202, {"Content-Length": "0"}),
        ("POST", 204, {}),
        ("POST", 205, {}),
        ("GET", 304, {}),
        ("HEAD", 200, JSON),
    ):
        assert response_body(method, status, headers).body == EMPTY


def test_absent_request_bodies() -> None:
    request = {"method": "POST", "headers": {}}
    seen = told(
        {"id": "post", "request": request}, {"id": "get", "request": {"method": "GET", "headers": {}, "body": None}}
    )
    bodies = {one.exchange: one.body for one in seen if isinstance(one, RequestSeen)}
    assert not bodies["post"].is_captured
    assert bodies["get"] == EMPTY


def test_an_event_stream_without_chunks_may_say_why() -> None:
    response = {"status": 200, "headers": SSE, "not_captured": "the tap was full"}
    assert order(exchange("s", response=response)) == ["s:request", "s:head", "s:body", "s:end"]


def test_chunks_in_base64_and_text_are_the_same_bytes() -> None:
    response = {"status": 200, "headers": SSE, "chunks": [{"base64": "4pw="}, "é", {"t_ms": 1, "base64": ""}]}
    chunks = [one.data for one in told(exchange("s", response=response)) if isinstance(one, ResponseChunk)]
    assert chunks == [b"\xe2\x9c", "é".encode(), b""]


@given(json_values)
def test_no_document_makes_the_validator_fail(value: Any) -> None:
    report = validate(Document(value))
    assert "observer_error" not in {finding.code for finding in report.findings}
    assert not report.valid


members = st.dictionaries(
    st.sampled_from(
        [
            *("id", "request", "response", "started_ms", "ended_ms", "ended", "concurrent_group", "idempotent"),
            *("method", "path", "headers", "body", "body_text", "body_base64", "body_utf8", "not_captured"),
            *("status", "chunks", "disconnected", "received_octets", "reset_code", "chunk_boundaries", "http_version"),
        ]
    ),
    json_values
    | st.sampled_from(
        ["POST", "GET", 200, "open", "x", SSE, JSON, [["A", "b"]], 10**400, -1, "\ud800", ["data: 1\n\n"]]
    ),
    max_size=8,
)


@given(
    st.lists(
        st.builds(
            lambda outer, request, response: {"request": request, "response": response} | outer,
            members,
            members,
            members,
        )
        | members,
        max_size=3,
    )
)
def test_no_exchange_makes_the_validator_fail(exchanges: list[Any]) -> None:
    report = validate(Document({"profile": "stable-2025-06-18", "exchanges": exchanges}))
    assert "observer_error" not in {finding.code for finding in report.findings}
