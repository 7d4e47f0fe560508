"""A secret, wherever it is and however it is written or cut, is in nothing that may leave the process."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wire.privacy.redactor import Redactor
from mcp_wire.wire.body import Body
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import Ended, ExchangeEnded, Observation, RequestSeen, ResponseSeen
from tests.privacy.conversations import (
    FAULTY_TEXTS,
    HEADERS,
    PATHS,
    PREFIXES,
    REQUESTS,
    RESULTS,
    STREAMS,
    answered_by_body,
    answered_by_stream,
    base64_encoded,
    canaries,
    header_value,
    json_escaped,
    percent_encoded,
    planted,
    redact,
    request,
    text_of,
    windows,
)

CANARY = "qX7fKz02LmWv9RbTc5JdYs8P"
KINDS = ["method", "id", "name", "uri", "token", "cursor", "session", "version", "text", "other", "header:x-odd"]


def readings(text: str) -> str:
    """A text as it is, and as it reads once decoded."""
    unescaped = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    decoded = []
    for run in re.findall(r"[A-Za-z0-9+/]{4,}={0,2}", text):
        try:
            decoded.append(base64.b64decode(run + "=" * (-len(run) % 4)).decode("latin-1"))
        except (binascii.Error, ValueError):
            continue
    # A chunk that ends inside a value, or the lines of one event, must not hold parts of it either.
    joined = re.sub(r"\r|\n|data: ?", "", text)
    return "\n".join([text, unescaped, unquote(text), joined, *decoded])


def assert_absent(canary: str, observations: list[Observation]) -> None:
    found = readings(text_of(observations)).lower()
    assert not [part for part in windows(canary) if part in found], found


@given(canaries().flatmap(lambda canary: st.tuples(st.just(canary), planted(canary))))
@settings(max_examples=250)
def test_nothing_leaks(case: tuple[str, list[Observation]]) -> None:
    canary, observations = case
    assert_absent(canary, redact(observations))


@pytest.mark.parametrize("slot", HEADERS)
def test_no_header_leaks(slot: str) -> None:
    for number in range(len(PREFIXES.get(slot, "123"))):
        for hidden in (CANARY, percent_encoded(CANARY), base64_encoded(CANARY), f"é{CANARY}", f"a {CANARY}"):
            for line in ((slot, header_value(slot, hidden, number)), (slot.lower(), hidden), (f"X-{CANARY}", "1")):
                assert_absent(CANARY, redact([request(headers=[line])]))
                assert_absent(CANARY, redact([request(), ResponseSeen("x-1", None, 200, Headers([line]))]))
                shown = Redactor().show(Evidence(f"header:{line[0].lower()}", line[1]))
                assert not [part for part in windows(CANARY) if part in readings(shown).lower()]


def test_nothing_else_of_an_exchange_leaks() -> None:
    ended = ExchangeEnded("x-1", None, Ended.SERVER_RESET, reset_code=CANARY)
    seen = RequestSeen("x-1", None, CANARY, "/mcp", Headers(), Body.not_captured(CANARY), http_version=CANARY)
    redacted = redact([seen, ResponseSeen("x-1", None, 200, Headers(), http_version=CANARY), ended])
    assert_absent(CANARY, redacted)
    assert CANARY not in repr(redacted)


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leaks(path: str) -> None:
    for hidden in (CANARY, percent_encoded(CANARY), f"%zz{CANARY}", f"é{CANARY}"):
        target = path.format(hidden)
        assert_absent(CANARY, redact([request(path=target)]))
        assert not windows(CANARY) & windows(Redactor().label_path(target).lower())


@pytest.mark.parametrize("number", range(len(REQUESTS)))
def test_no_request_leaks(number: int) -> None:
    for text in (json.dumps(REQUESTS[number](CANARY)), json.dumps(REQUESTS[number]("é" + CANARY), ensure_ascii=False)):
        for written in (text, text.replace(CANARY, json_escaped(CANARY))):
            assert_absent(CANARY, redact([request(body=Body.read(written.encode()))]))


@pytest.mark.parametrize("number", range(len(RESULTS)))
def test_no_result_leaks(number: int) -> None:
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": RESULTS[number](CANARY)})
    assert_absent(CANARY, redact(answered_by_body(Body.read(text.encode()))))
    assert_absent(CANARY, redact(answered_by_stream([f"data: {text}\n\n".encode()])))


@pytest.mark.parametrize("number", range(len(FAULTY_TEXTS)))
def test_no_faulty_text_leaks(number: int) -> None:
    raw = FAULTY_TEXTS[number](CANARY).encode()
    for body in (raw, raw + b"\xff", CANARY.encode() + raw):
        assert_absent(CANARY, redact(answered_by_body(Body.read(body))))
        assert_absent(CANARY, redact(answered_by_stream([b"data: " + body.replace(b"\n", b"\ndata: ") + b"\n\n"])))
        assert_absent(CANARY, redact(answered_by_stream([body])))


@pytest.mark.parametrize("number", range(len(STREAMS)))
def test_no_stream_leaks_wherever_it_is_cut(number: int) -> None:
    stream = STREAMS[number](CANARY).encode()
    assert_absent(CANARY, redact(answered_by_stream([stream[at : at + 1] for at in range(len(stream))])))
    for at in range(len(stream)):
        assert_absent(CANARY, redact(answered_by_stream([stream[:at], stream[at:]])))
        assert_absent(CANARY, redact(answered_by_stream([stream[:at]])))


@pytest.mark.parametrize("kind", KINDS)
def test_no_message_leaks(kind: str) -> None:
    values: list[object] = [
        CANARY,
        f"notifications/{CANARY}",
        f"https://example.com/{CANARY}?{CANARY}",
        percent_encoded(CANARY),
        f"=?base64?{base64_encoded(CANARY)}?=",
        {"name": CANARY, CANARY: [CANARY]},
        [CANARY],
        CANARY.encode(),
    ]
    for value in values:
        shown = readings(Redactor().show(Evidence(kind, value))).lower()
        assert not [part for part in windows(CANARY) if part in shown]


def test_the_tuple_keeps_products_only() -> None:
    told: Any = {
        "client": {"name": "example-client", "version": "1.4.0"},
        "server": {"name": CANARY, "version": CANARY},
        "intermediaries": ["nginx/1.22", f"nginx/{CANARY}"],
        "endpoint": f"/mcp/{CANARY}",
        CANARY: {CANARY: 1},
    }
    redacted = Redactor().redact_tuple(told)
    assert redacted["client"] == {"name": "example-client", "version": "1.4.0"}
    assert redacted["intermediaries"][0] == "nginx/1.22"  # type: ignore[index]
    assert str(redacted["endpoint"]).startswith("/mcp/")
    assert not [part for part in windows(CANARY) if part in json.dumps(redacted).lower()]
