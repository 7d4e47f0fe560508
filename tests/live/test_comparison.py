"""The comparison that the live tests rest on: it must see every change, or their silence means nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.peers.exchanges import SeenExchange, assert_same_bytes, read_exchanges, write_exchange
from tests.peers.http1 import exchanges_of
from tests.peers.wiretap import TappedConnection

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
POST = b"POST /mcp HTTP/1.1\r\nHost: a\r\nLast-Event-ID: e-1\r\nContent-Length: 2\r\n\r\n{}"

ANSWERED = SeenExchange("POST", "/mcp", b"{}", status=200, response_body=b"data: 1\n\n", complete=True)


@pytest.mark.parametrize(
    "received",
    [
        replace(ANSWERED, response_body=b"data: 2\n\n"),
        replace(ANSWERED, response_body=b"data: 1\n", complete=False),
        replace(ANSWERED, response_body=b"", complete=False),
        replace(ANSWERED, response_body=b"data: 1", complete=False, client_left=True),
        replace(ANSWERED, status=202),
        replace(ANSWERED, response_headers=[(b"x-added", b"1")]),
        replace(ANSWERED, request_body=b"{ }"),
        replace(ANSWERED, last_event_id="e-1"),
    ],
    ids=str,
)
def test_a_difference_is_seen(received: SeenExchange) -> None:
    with pytest.raises(AssertionError):
        assert_same_bytes([ANSWERED], [received])


def test_a_lost_or_invented_exchange_is_seen() -> None:
    with pytest.raises(AssertionError):
        assert_same_bytes([ANSWERED, ANSWERED], [ANSWERED])
    with pytest.raises(AssertionError):
        assert_same_bytes([ANSWERED], [ANSWERED, ANSWERED])


def test_equal_requests_are_matched_by_their_answers() -> None:
    other = replace(ANSWERED, response_body=b"data: 2\n\n")
    assert_same_bytes([ANSWERED, other, ANSWERED], [ANSWERED, ANSWERED, other])


def test_leaving_a_get_stream_may_miss_its_end_but_not_change_its_beginning() -> None:
    opened = replace(ANSWERED, method="GET")
    left = replace(opened, response_body=b"data", complete=False, client_left=True)
    assert_same_bytes([opened, opened], [left, opened])
    with pytest.raises(AssertionError):
        assert_same_bytes([opened], [replace(left, response_body=b"dato")])


def test_kept_alive_connection_holds_several_exchanges() -> None:
    connection = TappedConnection(
        from_client=bytearray(POST + b"GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n"),
        from_server=bytearray(
            b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n" + STREAM_HEAD + b"3\r\nid:\r\n2\r\n 1\r\n0\r\n\r\n"
        ),
    )
    first, second = exchanges_of([connection])
    assert (first.method, first.request_body, first.last_event_id) == ("POST", b"{}", "e-1")
    assert (first.status, first.response_body, first.complete) == (202, b"", True)
    assert (second.method, second.response_body, second.complete) == ("GET", b"id: 1", True)
    assert second.response_headers[0] == (b"Content-Type", b"text/event-stream")


@pytest.mark.parametrize(("closed_by", "client_left"), [("client", True), ("server", False), ("tap", False)])
def test_cut_stream_keeps_what_arrived(closed_by: str, client_left: bool) -> None:
    connection = TappedConnection(bytearray(POST), bytearray(STREAM_HEAD + b"9\r\ndata:"))
    connection.closed_by = closed_by  # type: ignore[assignment]
    (exchange,) = exchanges_of([connection])
    assert (exchange.response_body, exchange.complete, exchange.client_left) == (b"data:", False, client_left)


def test_unanswered_request_has_no_status() -> None:
    (exchange,) = exchanges_of([TappedConnection(bytearray(POST), bytearray(), "client")])
    assert (exchange.status, exchange.complete, exchange.client_left) == (None, False, True)


def test_written_exchanges_are_read_back(tmp_path: Path) -> None:
    exchanges = [ANSWERED, replace(ANSWERED, response_body=b"\xff\x00", client_left=True, http_version="HTTP/2")]
    for exchange in exchanges:
        write_exchange(tmp_path / "seen.jsonl", exchange)
    assert read_exchanges(tmp_path / "seen.jsonl") == exchanges
