"""A transcript or journal that redaction would change is told, place by place; one that was redacted is clean."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wire.privacy.redactor import Redactor
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.journal import JournalHeader, encode
from mcp_wire.transcript.reading import read_document
from mcp_wire.transcript.rewriting import redacted_exchanges, redacted_header
from mcp_wire.transcript.unredacted import unredacted_in, unredacted_in_journal
from mcp_wire.transcript.writing import transcript_parts, transcript_text
from mcp_wire.wire.observation import Observation
from tests.privacy.conversations import canaries, planted, redact
from tests.privacy.planted_secrets import ANYBODYS, BASIC, BY_SHAPE
from tests.transcript.strategies import captures

CLEAN: dict[str, Any] = {
    "profile": "stable-2025-11-25",
    "payloads": "shape",
    "complete_from_start": True,
    "tuple": {"client": {"name": "example-client", "version": "1.4.0"}, "endpoint": "/mcp"},
    "exchanges": [
        {
            "id": "x-1",
            "started_ms": 0,
            "ended_ms": 12.5,
            "request": {
                "method": "POST",
                "path": "/mcp",
                "http_version": "HTTP/1.1",
                "headers": {
                    "Accept": "application/json, text/event-stream",
                    "Authorization": "Bearer redacted-1",
                    "Content-Type": "application/json",
                    "Mcp-Session-Id": "session-A",
                },
                "body": {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tools/call",
                    "params": {"name": "add", "arguments": {"name-1": 1000000000001, "name-2": ["redacted-2"]}},
                },
            },
            "response": {
                "status": 200,
                "headers": [["Content-Type", "text/event-stream"], ["Set-Cookie", "name-3=redacted-3"]],
                "chunks": [": ping\n\n", {"t_ms": 3, "text": "id: cursor-1\ndata: {}\n\n"}, {"base64": "OiBvawoK"}],
                "ended": "complete",
            },
        },
        {
            "id": "x-2",
            "concurrent_group": "overlap-1",
            "idempotent": False,
            "request": {"method": "GET", "path": "/mcp", "headers": {"Accept": "text/event-stream"}, "body": None},
            "response": {"status": 405, "headers": {}, "body_text": "redacted-4", "ended": "complete"},
        },
    ],
}


def places(document: Any) -> list[tuple[str, str]]:
    return [(found.place, found.kind) for found in unredacted_in(Document(document))]


def test_a_redacted_transcript_is_clean() -> None:
    assert places(CLEAN) == []


def at(*steps: str | int) -> Callable[[Any], Any]:
    def parent(document: Any) -> Any:
        for one in steps:
            document = document[one]
        return document

    return parent


X1, X2 = ("exchanges", 0), ("exchanges", 1)
LISTED = "that is not on the allow-lists"
UNREAD = "part that cannot be read, so that it cannot be redacted"
CANARY = "qX7fKz02LmWv9RbTc5JdYs8P"
CHANGES: list[tuple[Callable[[Any], Any], str | int, Any, str, str]] = [
    (at(), "note", CANARY, "/*", UNREAD),
    (at(), CANARY, 1, "/*", UNREAD),
    (at(), "payloads", CANARY, "/payloads", UNREAD),
    (at(), "complete_from_start", CANARY, "/complete_from_start", UNREAD),
    (at(), "profile", f"stable-{CANARY}", "/profile", UNREAD),
    (at("tuple"), "endpoint", f"/mcp/{CANARY}", "/tuple/endpoint", f"text {LISTED}"),
    (at("tuple", "client"), "name", CANARY, "/tuple/client/name", f"text {LISTED}"),
    (at(*X1), "id", "acme", "/exchanges/0/id", "name that a person gave"),
    (at(*X1), "comment", "", "/exchanges/0/*", UNREAD),
    (at(*X1), "started_ms", CANARY, "/exchanges/0/started_ms", UNREAD),
    (at(*X2), "concurrent_group", CANARY, "/exchanges/1/concurrent_group", "name that a person gave"),
    (at(*X2), "server_side_of", CANARY, "/exchanges/1/server_side_of", "name that a person gave"),
    (at(*X2), "response", CANARY, "/exchanges/1/response", UNREAD),
    (at(*X2), "request", {"method": CANARY}, "/exchanges/1", UNREAD),
    (at("exchanges"), 1, CANARY, "/exchanges/1", UNREAD),
    (at(*X1, "request"), "method", CANARY, "/exchanges/0/request/method", f"text {LISTED}"),
    (at(*X1, "request"), "path", "/mcp?user=alice", "/exchanges/0/request/path", f"text {LISTED}"),
    (at(*X1, "request"), "path", "/teams/acme", "/exchanges/0/request/path", f"text {LISTED}"),
    (at(*X1, "request"), "http_version", CANARY, "/exchanges/0/request/http_version", f"text {LISTED}"),
    (at(*X1, "request"), "body_text", CANARY, "/exchanges/0/request/body_text", UNREAD),
    (at(*X1, "request"), "chunks", [CANARY], "/exchanges/0/request/chunks", UNREAD),
    (at(*X1, "request", "headers"), "X-Who", "alice", "/exchanges/0/request/headers/X-Name-4",
     f"header value {LISTED}"),
    (at(*X1, "request", "headers"), "X-Who", "alice", "/exchanges/0/request/headers", f"header name {LISTED}"),
    (at(*X1, "request", "headers"), "Mcp-Session-Id", CANARY, "/exchanges/0/request/headers/Mcp-Session-Id",
     f"header value {LISTED}"),
    (at(*X1, "request", "headers"), "Cookie", "a=b", "/exchanges/0/request/headers/Cookie", f"header value {LISTED}"),
    (at(*X1, "request", "body"), "id", CANARY, "/exchanges/0/request/body/id", f"text {LISTED}"),
    (at(*X1, "request", "body"), CANARY, 1, "/exchanges/0/request/body/name-4", f"name {LISTED}"),
    (at(*X1, "request", "body", "params", "arguments"), "name-1", 42,
     "/exchanges/0/request/body/params/arguments/name-1", f"number {LISTED}"),
    (at(*X1, "request", "body", "params", "arguments", "name-2"), 0, "Bergen",
     "/exchanges/0/request/body/params/arguments/name-2/0", f"text {LISTED}"),
    (at(*X1, "request", "body", "params"), "name", CANARY, "/exchanges/0/request/body/params/name", f"text {LISTED}"),
    (at(*X1, "response", "headers", 1), 1, "sid=alice", "/exchanges/0/response/headers/1/1", f"header value {LISTED}"),
    (at(*X1, "response", "headers", 1), 0, "X-Who", "/exchanges/0/response/headers/1/0", f"header name {LISTED}"),
    (at(*X1, "response", "chunks"), 0, ": hello Alice\n\n", "/exchanges/0/response/chunks/0", f"event {LISTED}"),
    (at(*X1, "response", "chunks"), 2, {"base64": base64.b64encode(b": Alice\n\n").decode()},
     "/exchanges/0/response/chunks/2", f"event {LISTED}"),
    (at(*X1, "response", "chunks", 1), "note", CANARY, "/exchanges/0/response/chunks/1", UNREAD),
    (at(*X1, "response", "chunks", 1), "t_ms", CANARY, "/exchanges/0/response/chunks", UNREAD),
    (at(*X1, "response"), "body", {"a": CANARY}, "/exchanges/0/response/body", UNREAD),
    (at(*X1, "response"), "ended", CANARY, "/exchanges/0/response/ended", UNREAD),
    (at(*X1, "response"), "reset_code", "Alice", "/exchanges/0/response/reset_code", f"text {LISTED}"),
    (at(*X1, "response"), "not_captured", CANARY, "/exchanges/0/response/not_captured", f"text {LISTED}"),
    (at(*X1, "response"), "chunk_boundaries", CANARY, "/exchanges/0/response/chunk_boundaries", UNREAD),
    (at(*X2, "response"), "body_text", "alice", "/exchanges/1/response/body_text", f"text {LISTED}"),
    (at(*X2, "response"), "body_text", '{"user": "alice"}', "/exchanges/1/response/body_text", f"text {LISTED}"),
    (at(*X2, "response"), "status", CANARY, "/exchanges/1/response", UNREAD),
    (at(*X2, "response"), "disconnected", CANARY, "/exchanges/1/response/disconnected", UNREAD),
]  # fmt: skip


@pytest.mark.parametrize(("parent", "name", "value", "place", "kind"), CHANGES)
def test_what_redaction_would_replace_is_told(
    parent: Callable[[Any], Any], name: Any, value: Any, place: str, kind: str
) -> None:
    document = copy.deepcopy(CLEAN)
    parent(document)[name] = value
    found = places(document)
    assert (place, kind) in found
    assert CANARY not in json.dumps(found)


def test_one_raw_value_leaves_the_labels_of_others_beyond_doubt() -> None:
    document = copy.deepcopy(CLEAN)
    document["exchanges"][0]["request"]["body"]["params"] = {
        "name": "add",
        "arguments": {"city": "Bergen", "year": 1999},
    }
    assert {place for place, _ in places(document)} == {
        f"/exchanges/0/request/body/params/arguments/{name}" for name in ("name-1", "name-2")
    }


@pytest.mark.parametrize(
    "body",
    [
        {"body_base64": base64.b64encode(b'{"user": "alice"}').decode()},
        {"body_base64": base64.b64encode(b"\xffalice").decode()},
        {"body_base64": "alice!"},
        {"body_text": ["alice"]},
        {"body": {"user": "alice"}},
        {"body": "alice"},
    ],
)
def test_a_body_is_told_however_it_is_written(body: dict[str, Any]) -> None:
    document = copy.deepcopy(CLEAN)
    document["exchanges"][1]["response"] = {"status": 405, "headers": {}, **body}
    assert {place.split("/")[4] for place, _ in places(document)} == set(body)


def test_an_invented_transcript_is_looked_through_for_shapes_only() -> None:
    [token] = BY_SHAPE["npm token"]
    document = copy.deepcopy(CLEAN) | {"values": "invented"}
    document["exchanges"][0]["id"] = "call"
    document["exchanges"][0]["request"]["headers"]["Mcp-Session-Id"] = ANYBODYS["UUID"]
    document["exchanges"][0]["request"]["body"]["params"]["arguments"] = {"city": "Bergen"}
    assert places(document) == []
    document["exchanges"][0]["request"]["body"]["params"]["arguments"] = {"city": f"Bergen {token}"}
    assert places(document) == [("/exchanges/0/request/body/params/arguments/*", "npm token")]


def in_header(secret: str) -> tuple[str | int, ...]:
    return (*X1, "request", "headers", "Authorization")


PLANTED = [
    *((kind, secret) for kind, secrets in BY_SHAPE.items() for secret in secrets),
    *(("", secret) for secret in ANYBODYS.values()),
]
SLOTS: dict[str, tuple[tuple[str | int, ...], str | int, Callable[[str], Any], str]] = {
    "header": ((*X1, "request", "headers"), "Authorization", lambda x: f"Bearer {x}", "request/headers/Authorization"),
    "cookie": ((*X1, "request", "headers"), "Cookie", lambda x: f"a=b; sid={x}", "request/headers/Cookie"),
    "path": ((*X1, "request"), "path", lambda x: f"/mcp?access_token={x.replace(' ', '%20')}", "request/path"),
    "argument": (
        (*X1, "request", "body", "params", "arguments"), "name-1", lambda x: x,
        "request/body/params/arguments/name-1",
    ),
    "sensitive argument": (
        (*X1, "request", "body", "params", "arguments"), "password", lambda x: x,
        "request/body/params/arguments/password",
    ),
    "argument in Base64": (
        (*X1, "request", "body", "params", "arguments"), "name-1", lambda x: base64.b64encode(x.encode()).decode(),
        "request/body/params/arguments/name-1",
    ),
    "comment": ((*X1, "response", "chunks"), 0, lambda x: f": {x}\n\n", "response/chunks/0"),
    "event id": ((*X1, "response", "chunks"), 0, lambda x: f"id: {x}\ndata:\n\n", "response/chunks/0"),
    "event, cut": (
        (*X1, "response"), "chunks", lambda x: ['data: {"a":"' + x[:7], x[7:12], x[12:] + '"}\n\n'],
        "response/chunks/0",
    ),
    "event, in octets": (
        (*X1, "response"), "chunks", lambda x: [{"base64": base64.b64encode(f"data: é{x[:9]}".encode()[:7]).decode()},
        {"base64": base64.b64encode(f"data: é{x}\n\n".encode()[7:]).decode()}], "response/chunks/0",
    ),
    "event, in two lines": (
        (*X1, "response"), "chunks", lambda x: [f"data: {x[:9]}\ndata: {x[9:]}\n\n"], "response/chunks/0",
    ),
    "event, escaped": (
        (*X1, "response"), "chunks",
        lambda x: ['data: {"a":"' + "".join(f"\\u{ord(one):04x}" for one in x) + '"}\n\n'], "response/chunks/0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("slot", SLOTS)
def test_a_planted_secret_is_told_in_every_place(slot: str) -> None:
    steps, name, dress, place = SLOTS[slot]
    for kind, secret in PLANTED:
        document = copy.deepcopy(CLEAN)
        at(*steps)(document)[name] = dress(secret)
        found = places(document)
        assert f"/exchanges/0/{place}" in [where for where, _ in found]
        assert secret not in json.dumps(found)
        invented = places(document | {"values": "invented"})
        if kind and "sensitive" not in slot and slot not in ("header", "cookie", "path"):
            assert (f"/exchanges/0/{place}", kind) in invented
        elif slot in ("header", "cookie", "path", "sensitive argument"):
            assert f"/exchanges/0/{place}" in [where for where, _ in invented]


def test_a_name_and_a_password_are_told() -> None:
    document = copy.deepcopy(CLEAN)
    document["exchanges"][0]["request"]["headers"]["Authorization"] = f"Basic {BASIC}"
    place = "/exchanges/0/request/headers/Authorization"
    assert places(document) == [(place, "user name and password (Basic)")]


def redacted_text(document: Document) -> str:
    redactor = Redactor()
    exchanges = redacted_exchanges(document, redactor)
    return "".join(transcript_parts(redacted_header(document, redactor), exchanges))


@given(captures)
def test_what_redaction_leaves_is_clean(observations: list[Observation]) -> None:
    raw = read_document(transcript_text(JournalHeader("stable-2025-11-25"), observations))
    assert unredacted_in(read_document(redacted_text(raw))) == []


@given(canaries().flatmap(lambda canary: st.tuples(st.just(canary), planted(canary))))
@settings(max_examples=150)
def test_a_canary_is_told_and_its_redacted_copy_is_clean(case: tuple[str, list[Observation]]) -> None:
    canary, observations = case
    header = JournalHeader("stable-2025-11-25")
    raw = read_document(transcript_text(header, observations))
    found = unredacted_in(raw)
    assert canary not in json.dumps([(one.place, one.kind) for one in found])
    copied = redacted_text(raw)
    assert unredacted_in(read_document(copied)) == []
    assert bool(found) == (transcript_text(header, observations) != copied)


def journal(records: Iterable[JournalHeader | Observation]) -> list[bytes]:
    return [f"{encode(record)}\n".encode() for record in records]


HEADER = JournalHeader("stable-2025-11-25", {"endpoint": "/mcp"}, complete_from_start=True)


@given(captures)
def test_a_redacted_journal_is_clean(observations: list[Observation]) -> None:
    lines = journal([HEADER, *redact(observations)])
    own = [found for found in unredacted_in_journal(lambda: lines) if found.kind != "name that a person gave"]
    assert own == []
    torn = [*lines, b'{"seen": "chunk", "exch']
    assert [found for found in unredacted_in_journal(lambda: torn) if found.kind != "name that a person gave"] == []


@given(canaries().flatmap(lambda canary: st.tuples(st.just(canary), planted(canary))))
@settings(max_examples=100)
def test_a_raw_journal_is_told_by_its_lines(case: tuple[str, list[Observation]]) -> None:
    _, observations = case
    lines = journal([HEADER, *observations])
    changed = [
        number
        for number, (before, after) in enumerate(zip(lines, journal([HEADER, *redact(observations)]), strict=False), 1)
        if before != after
    ]
    found = list(unredacted_in_journal(lambda: lines))
    assert [f"line {number}" for number in changed] == [one.place for one in found]


def test_what_is_no_record_is_told() -> None:
    lines = [*journal([HEADER]), b"alice\n", b'{"seen": "request"}\n', *journal([HEADER])]
    assert [(one.place, one.kind) for one in unredacted_in_journal(lambda: lines)] == [
        ("line 2", "line that is no record of a journal"),
        ("line 3", "line that is no record of a journal"),
    ]
    extra = json.dumps(json.loads(journal([HEADER])[0]) | {"note": "alice"}).encode()
    assert [one.place for one in unredacted_in_journal(lambda: [extra + b"\n"])] == ["line 1"]
