"""Places where only a few values are harmless: what else is put there by somebody is replaced, and nothing is judged
differently for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wire.conversation.facts import UNPROCESSED
from mcp_wire.privacy.allow_lists import PRODUCTS
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.privacy.values import Values, is_product_name, is_product_version, looks_random
from mcp_wire.protocol.gateways import GATEWAY_PRODUCTS, names_gateway
from mcp_wire.protocol.profiles import could_be_released, is_date_version, is_modern_version
from mcp_wire.rules.intermediaries import HARMLESS_RESETS, KNOWN_RESETS
from mcp_wire.wire.body import Body
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from tests.privacy.conversations import answered_by_body, chunks_of, redact, redact_stream, request

PHONE = "4155551234"


def header(name: str, value: str) -> str:
    (seen,) = redact([request(headers=[(name, value)])])
    assert isinstance(seen, RequestSeen)
    assert redact([seen]) == [seen]
    return seen.headers.raw[0][1]


def message(value: Any) -> Any:
    (seen,) = redact([request(body=Body.of_value(value))])
    assert isinstance(seen, RequestSeen)
    assert redact([seen]) == [seen]
    return seen.body.value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("1.1 nginx", None),
        ("1.1 google", None),
        ("1.1 varnish (Varnish/6.0)", None),
        ("1.1 caddy, 2 cloudflare", None),
        ("HTTP/1.1 4f1a9d2e3f5b.cloudfront.net (CloudFront)", "HTTP/1.1 redacted-1 (CloudFront)"),
        ("1.1 squid/4.10 (squid/4.10)", None),
        ("1.1 intranet", "1.1 redacted-1"),
        ("1.1 alices-laptop, 1.1 nginx", "1.1 redacted-1, 1.1 nginx"),
        ("1.1 hunter2", "1.1 redacted-1"),
        (f"1.1 {PHONE}", "1.1 redacted-1"),
        ("1.1 proxy:8080", "1.1 redacted-1"),
        ("1.1 proxy.acme.example/1.0", "1.1 redacted-1"),
        ("1.1 nginx (alice)", "1.1 nginx (redacted-1)"),
        ("1.1 nginx/alice", "1.1 nginx/redacted-1"),
    ],
)
def test_via_names_products_and_nobody_elses_machines(value: str, shown: str | None) -> None:
    assert header("Via", value) == (shown or value)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("User-Agent", "node", None),
        ("User-Agent", "Mozilla/5.0 (KHTML, like Gecko) Chrome/141.0.7390.123", None),
        ("User-Agent", "claude-code/2.0.14 hunter2", "claude-code/2.0.14 redacted-1"),
        ("User-Agent", f"acme/{PHONE}", "acme/redacted-1"),
        ("User-Agent", "Python 3.12", None),
        ("User-Agent", "415 555 1234", "redacted-1 redacted-2 redacted-3"),
        ("Server", "Google Frontend", None),
        ("Server", "correct-horse-battery-staple", "redacted-1"),
        ("Server", "nginx/1.22.1", None),
        ("X-Powered-By", "Next.js", None),
        ("X-Powered-By", "alice.example/1.0", "redacted-1"),
    ],
)
def test_products_have_a_version_or_are_well_known(name: str, value: str, shown: str | None) -> None:
    assert header(name, value) == (shown or value)


def test_gateways_stay_recognisable() -> None:
    for product in GATEWAY_PRODUCTS:
        for value in (product, product.title(), f"{product}/1.0", f"{product}/x"):
            assert names_gateway(Headers([("Server", header("Server", value))]))
    assert all(product == product.lower() and not looks_random(product) for product in PRODUCTS)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Accept", f"text/html;v=1;q=0.5, */*;q={PHONE};x=1", "text/html;v=1;q=0.5, */*;q=OUT;redacted-1=1"),
        ("Accept", "text/html;q=0.41555", "text/html;q=redacted-1"),
        ("Accept-Encoding", f"gzip;q=0.8, br;q={PHONE}", "gzip;q=0.8, br;q=redacted-1"),
        ("TE", f"trailers;q=0.5, {PHONE}", "trailers;q=0.5, redacted-1"),
        ("Keep-Alive", f"timeout=5, max={PHONE}", "timeout=5, max=OUT"),
        ("Cache-Control", "max-age=86399, stale-if-error=20411231", "max-age=86399, stale-if-error=20408400"),
        ("Age", "123456", "122400"),
        ("Cache-Control", f"max-age=31536000, s-maxage={PHONE}", "max-age=31536000, s-maxage=OUT"),
        ("X-Accel-Buffering", "1234", "redacted-1"),
        ("X-Cache", f"HIT, {PHONE}", "HIT, OUT"),
        ("Age", PHONE, "OUT"),
        ("Age", "42", "42"),
        ("Age", "000", "000"),
        ("Retry-After", "120", "120"),
        ("Retry-After", PHONE, "OUT"),
        ("Retry-After", "Tue, 15 Nov 1994 08:12:31 GMT", "Tue, 15 Nov 1994 08:12:31 GMT"),
        ("Retry-After", "Abc, 41 Xyz 5551 23:40:00 GMT", "redacted-1"),
        ("Date", "Tue, 99 Nov 4155 55:12:34 GMT", "redacted-1"),
        ("Expires", "-1", "-1"),
        ("X-RateLimit-Remaining", "4999", "4999"),
        ("X-RateLimit-Limit", PHONE, "OUT"),
        ("Access-Control-Max-Age", PHONE, "OUT"),
        ("Content-Length", "999999999", "999999999"),
        ("Content-Length", PHONE, "OUT"),
        ("Host", "localhost:99998", "localhost:99999"),
        ("Host", "localhost:65535", "localhost:65535"),
        ("Origin", "http://localhost:70000", "http://localhost:99999"),
        ("MCP-Protocol-Version", "2099-12-31", "2099-12-31"),
        ("MCP-Protocol-Version", "1984-03-12", "1000-00-01"),
        ("MCP-Protocol-Version", "2030-13-45", "9000-00-01"),
        ("MCP-Protocol-Version", "DRAFT-1984-v12", "redacted-1"),
    ],
)  # fmt: skip
def test_numbers_and_dates_in_header_fields(name: str, value: str, shown: str) -> None:
    assert header(name, value) == shown.replace("OUT", "9" * 15)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"retry: 5000", b"retry: 5000"),
        (b"retry: 3600000", b"retry: 3600000"),
        (b"retry: 3600001", b"retry: 3600000"),
        (b"retry: 4155551234", b"retry: 3600000"),
        (b"retry: 0004155551234", b"retry: 3600000"),
        (b"retry: 00000000000003", b"retry: 3"),
        (b"retry: 0000000000", b"retry: 0"),
        (b"retry: 5s", b"retry: 5s"),
        (b"retry: -1", b"retry: -1"),
        (b"retry: 415555.123", b"retry: redacted-1"),
        (b"retry: +4155551234", b"retry: redacted-1"),
    ],
)
def test_delays(line: bytes, shown: bytes) -> None:
    once = redact_stream([line + b"\n\n"])
    assert once == [shown + b"\n\n"]
    assert redact_stream(once) == once


OWN = 10**12 + 1
LARGE = 91 * 10**14 + 2


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"id": 999_999}, None),
        ({"id": 4155551234}, {"id": OWN}),
        ({"id": 2**53 + 1}, {"id": LARGE}),
        ({"id": -4155551234.0}, {"id": -float(OWN)}),
        ({"id": 1.5}, None),
        ({"id": 0.4155551234}, {"id": OWN + 0.5}),
        ({"error": {"code": -32602}}, None),
        ({"error": {"code": 4155551234}}, {"error": {"code": OWN}}),
        ({"error": {"code": -4155551234}}, {"error": {"code": -OWN}}),
        ({"result": {"ttlMs": 86_400_000}}, None),
        ({"result": {"ttlMs": 7 * 86_400_000}}, None),
        ({"result": {"ttlMs": -1}}, None),
        ({"result": {"ttlMs": 4155551234}}, {"result": {"ttlMs": OWN}}),
        ({"result": {"ttlMs": 1.4155551234}}, {"result": {"ttlMs": OWN + 0.5}}),
        ({"result": {"annotations": {"priority": 0.4155551234}}}, {"result": {"annotations": {"priority": 0.42}}}),
        ({"result": {"annotations": {"priority": 4155551234}}}, {"result": {"annotations": {"priority": OWN}}}),
        ({"result": {"maxTokens": 4155551234}}, {"result": {"maxTokens": OWN}}),
        ({"result": {"progress": 4155551234}}, {"result": {"progress": OWN}}),
        ({"result": {"tools": [{"inputSchema": {"maximum": 4155551234, "minLength": 3, "minimum": -(2**31)}}]}},
         {"result": {"tools": [{"inputSchema": {"maximum": OWN, "minLength": 3, "minimum": -(2**31)}}]}}),
        ({"method": "tools/call", "params": {"_meta": {"progressToken": 4155551234}}},
         {"method": "tools/call", "params": {"_meta": {"progressToken": OWN}}}),
        ({"method": "notifications/cancelled", "params": {"requestId": 4155551234}},
         {"method": "notifications/cancelled", "params": {"requestId": OWN}}),
        ({"method": "notifications/progress", "params": {"progress": 4155551234, "total": 2**40}}, None),
    ],
)  # fmt: skip
def test_numbers_in_messages(value: Any, shown: Any) -> None:
    once = message({"jsonrpc": "2.0"} | value)
    assert json.dumps(once) == json.dumps({"jsonrpc": "2.0"} | (value if shown is None else shown))


@pytest.mark.parametrize(
    "shown", [(b"0e4155551234", b"0.0"), (b"-0", b"0"), (b"1e4155551234", b"1e999"), (b"-1E4155551", b"-1e999")]
)
def test_a_number_that_stays_is_written_in_one_way(shown: tuple[bytes, bytes]) -> None:
    data = b'data: {"jsonrpc":"2.0","id":%b}\n\n'
    assert redact_stream([data % shown[0]]) == [data % shown[1]]
    for kept in (b"NaN", b"Infinity", b"-Infinity", b"1.0", b"7", b"-0.0"):
        assert redact_stream([data % kept]) == [data % kept]


def test_an_id_keeps_its_label_however_many_numbers_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_wire.privacy.labels.MAX_VALUES_REMEMBERED", 8)
    call: Any = {
        "jsonrpc": "2.0",
        "id": 4155551234,
        "method": "tools/call",
        "params": {"name": "t", "arguments": [*range(50)]},
    }
    answer: Any = {"jsonrpc": "2.0", "id": 4155551234, "result": {}}
    asked, *_, answered, _ = redact(answered_by_body(Body.of_value(answer), request(Body.of_value(call))))
    assert isinstance(asked, RequestSeen)
    assert isinstance(answered, ResponseBody)
    assert isinstance(asked.body.value, dict)
    assert isinstance(answered.body.value, dict)
    assert asked.body.value["id"] == answered.body.value["id"] == OWN


@pytest.mark.parametrize(
    ("name", "stays"),
    [
        ("get_weather", True),
        ("iso8601_to_rfc3339", True),
        ("@scope/tool", True),
        ("call 415 555 1234", False),
        ("555-1234", False),
        ("Alice Smith likes cats", False),
        ("ssn-123-45-6789", False),
        ("mail alice@acme.example", False),
        ("/home/alice/tool", False),
        ("C:\\Users\\alice", True),  # wrong in its characters, which is judged; no user of a proxy sees Windows paths
    ],
)
def test_names_of_tools(name: str, stays: bool) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}}
    assert (message(call) == call) == stays


def test_a_mirrored_name_stays_only_where_it_is_known_to_be_a_tools() -> None:
    def shown(body: Body, *lines: tuple[str, str]) -> str | None:
        (seen,) = redact([request(body, [*lines, ("Mcp-Name", "alice")])])
        assert isinstance(seen, RequestSeen)
        return seen.headers.get("mcp-name")

    assert shown(Body.of_text('{"jsonrpc": "2.0", "met')) == "name-1"
    assert shown(Body.of_text('{"jsonrpc": "2.0", "met'), ("Mcp-Method", "prompts/get")) == "name-1"
    assert shown(Body.of_text('{"jsonrpc": "2.0", "met'), ("Mcp-Method", "tools/call")) == "alice"


@pytest.mark.parametrize(
    ("name", "stays"),
    [("Claude Code", True), ("my secret is the name of a dog", False), ("io.github.acme/server", True)],
)
def test_names_of_products(name: str, stays: bool) -> None:
    assert is_product_name(name) == stays


@pytest.mark.parametrize("version", ["141.0.7390.123", "20100101", "0.0.20251030", "2.0.0-rc.1", "v2", "2025.11.30"])
def test_versions(version: str) -> None:
    assert is_product_version(version)


@pytest.mark.parametrize(
    "version",
    [PHONE, "10.1.2.3", "192.168.0.17", "12345678", "1.4155551234", "12345.12345.12345.12345", "1.0-rc4155551"],
)
def test_numbers_that_are_no_versions(version: str) -> None:
    assert not is_product_version(version)


def test_ends_and_reasons() -> None:
    for code in {*HARMLESS_RESETS, *KNOWN_RESETS, *UNPROCESSED, "cancel", "0x010c"}:
        ended = ExchangeEnded("x-1", None, Ended.SERVER_RESET, reset_code=code)
        assert redact([request(), ended])[1] == ended
    for code in ("AKIAIOSFODNN7EXAMPLE", PHONE, "0x4155551234", "HUNTER"):
        (_, seen) = redact([request(), ExchangeEnded("x-1", None, Ended.SERVER_RESET, reset_code=code)])
        assert isinstance(seen, ExchangeEnded)
        assert seen.reset_code == "redacted-1"


@pytest.mark.parametrize(
    ("reason", "stays"),
    [
        ("larger than 64 MiB", True),
        ("it came faster than it could be judged", True),
        ("the file does not hold the whole stream", True),
        ("malformed zstd data, or a window above 8 MiB", True),
        ("another addon took the stream", True),
        ("decoded size exceeds 16 MiB and 500 times the coded size", True),
        ("too many events were unfinished at the same time", True),
        ("the password is hunter", False),
        ("for Alice", False),
        (f"larger than {PHONE}", False),
    ],
)
def test_reasons_are_made_of_known_words(reason: str, stays: bool) -> None:
    _, _, body, _ = redact(answered_by_body(Body.not_captured(reason)))
    assert isinstance(body, ResponseBody)
    assert body.body.absence == (reason if stays else "not captured")


@pytest.mark.parametrize("declared", [10, 4_155_551_234, 10**15 - 1])
@pytest.mark.parametrize("received", [0, 10, 4_155_551_233, 4_155_551_234, 4_155_551_235, 10**15 - 1, 10**16])
def test_counts_of_octets_compare_as_before(declared: int, received: int) -> None:
    told: list[Observation] = [
        request(),
        ResponseSeen("x-1", None, 200, Headers([("Content-Length", str(declared))])),
        ExchangeEnded("x-1", None, Ended.SERVER_CLOSED, received_octets=received),
    ]
    once = redact(told)
    _, head, ended = once
    assert isinstance(head, ResponseSeen)
    assert isinstance(ended, ExchangeEnded)
    assert redact(once) == once
    shown, counted = int(head.headers.get("content-length") or ""), ended.received_octets
    assert counted is not None
    assert (counted < shown) == (received < declared)
    assert "415555" not in f"{shown} {counted}"


@given(st.lists(st.from_regex(r"(19|20|90|10|41)[0-9]{2}-[0-9]{2}-[0-9]{2}", fullmatch=True), max_size=5))
def test_dates_of_versions_stay_as_old_and_as_different_as_they_were(versions: list[str]) -> None:
    values = Values()
    shown = [*map(values.version, versions)]
    assert len(set(shown)) == len(set(versions))
    for before, after in zip(versions, shown, strict=True):
        assert is_date_version(after)
        assert is_modern_version(after) == is_modern_version(before)
        assert after == before or not could_be_released(before)
        assert Values().version(after) == after


@pytest.mark.parametrize(
    ("members", "shown"),
    [
        ({"intermediaries": ["nginx/1.22", "nginx", "proxy.acme.example"]},
         {"intermediaries": ["nginx/1.22", "nginx", "redacted-1"]}),
        ({"customer": "Acme", "tls": "Acme"}, {"name-1": "redacted-1", "tls": "redacted-1"}),
        ({"tls": "TLSv1.3", "http_version": "HTTP/2.0", "runtime": ["CPython/3.13.0", "Python 3.12"]}, None),
        ({"server_software": "alices-laptop", "user_agent": "hunter2"},
         {"server_software": "redacted-1", "user_agent": "redacted-2"}),
        ({"request_ids": ["x-7", PHONE, "call-1"]}, {"request_ids": ["x-7", "id-1", "call-1"]}),
        ({"reproduction": "pytest /home/alice/tests"}, {"reproduction": "redacted-1"}),
        ({"reproduction": "pytest tests/test_a.py::test_b"}, None),
    ],
)  # fmt: skip
def test_tuples(members: Any, shown: Any) -> None:
    once = Redactor().redact_tuple(members)
    assert once == (members if shown is None else shown)
    assert Redactor().redact_tuple(once) == once


def test_a_message_shows_no_code_that_nobody_uses() -> None:
    assert Redactor().show(Evidence("code", -32602)) == "-32602"
    assert Redactor().show(Evidence("code", 4155551234)) == str(OWN)


# --- values that look like labels ---

LOOKALIKES = st.sampled_from(
    [
        *("redacted-1", "redacted-2", "session-A", "session-B", "weak-A", "cursor-1", "id-1", "id-2", "name-1"),
        *("tool-1", "method-1", "param-1", "host-1", "1000000000001", "1000-00-01", "http://host-1.example/redacted-1"),
        *("hunter2", "0123456789abcdef", "4f1a9d2e3f5b6a7c8d9e", "alice", "4155551234", "http://a.example/b"),
        *("1999-01-01", "2025-11-25"),
    ]
)
NUMBERS = st.sampled_from([OWN, OWN + 1, LARGE, 4155551234, 2**60, 10**12 + 1.5, 0.4155551234, 7, -OWN])


@given(
    st.lists(st.tuples(LOOKALIKES, LOOKALIKES, LOOKALIKES, NUMBERS, LOOKALIKES), min_size=1, max_size=6), st.booleans()
)
@settings(max_examples=150)
def test_what_looks_like_a_label_is_told_from_labels(
    rows: list[tuple[str, str, str, Any, str]], streamed: bool
) -> None:
    """At each kind of place, equal values stay equal and different ones different, whichever was met first."""
    told: list[Observation] = []
    for number, (session, cursor, argument, identifier, version) in enumerate(rows):
        exchange = f"x-{number + 1}"
        meta = {"io.modelcontextprotocol/protocolVersion": version}
        body = {
            "jsonrpc": "2.0",
            "id": identifier,
            "method": "tools/call",
            "params": {"name": "t", "arguments": {"a": argument, argument: identifier}, "_meta": meta},
        }
        lines = [("Mcp-Session-Id", session), ("Last-Event-ID", cursor), ("X-Odd", argument), ("Host", session)]
        told += [
            request(Body.of_value(body), [*lines, ("MCP-Protocol-Version", version)], exchange=exchange),
            ResponseSeen(exchange, None, 200, Headers([("Content-Type", "text/event-stream")])),
            *answered_stream(exchange, cursor, streamed),
        ]
    once = redact(told)
    assert redact(once) == once
    for before, after in zip(columns(told), columns(once), strict=True):
        for one, new in zip(before, after, strict=True):
            for other, other_new in zip(before, after, strict=True):
                assert (new == other_new) == (one == other), (one, new, other, other_new)


def answered_stream(exchange: str, cursor: str, streamed: bool) -> list[Observation]:
    if not streamed:
        return [ExchangeEnded(exchange, None, Ended.COMPLETE)]
    data = f"id: {cursor}\ndata: {{}}\n\n".encode()
    return [ResponseChunk(exchange, None, data), ExchangeEnded(exchange, None, Ended.COMPLETE)]


def columns(told: list[Observation]) -> list[list[Any]]:
    requests = [one for one in told if isinstance(one, RequestSeen)]
    bodies: list[Any] = [one.body.value for one in requests]
    cursors = [one.headers.get("last-event-id") for one in requests]
    streams = [chunk.decode()[4:].partition("\n")[0] for chunk in chunks_of(told)]
    arguments = [list(body["params"]["arguments"].items()) for body in bodies]
    return [
        [one.headers.get("mcp-session-id") for one in requests],
        [*cursors, *streams],
        [one.headers.get("host") for one in requests],
        [*(one.headers.get("mcp-protocol-version") for one in requests), *(version_of(body) for body in bodies)],
        [body["id"] for body in bodies],
        [pairs[0][1] for pairs in arguments],
        [one.headers.raw[2][1] for one in requests],
        [pairs[1][0] for pairs in arguments],
    ]


def version_of(body: Any) -> Any:
    return body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
