"""Where redaction has to keep what a rule reads, both read it alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.privacy import labels as label_module
from mcp_wire.protocol.hosts import is_loopback
from mcp_wire.protocol.secret_names import names_a_secret
from mcp_wire.rules import request_metadata, security
from mcp_wire.wire.body import Body
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import Ended, ExchangeEnded, RequestSeen, ResponseSeen
from tests.privacy.conversations import answered_by_body, redact, request

META_KEYS = st.one_of(
    st.text(alphabet="aZ9-_./ é\n", max_size=8),
    st.from_regex(r"[a-z]{1,3}(\.[a-z]{1,3})?/[a-z0-9._-]{0,4}", fullmatch=True),
    st.sampled_from(["redacted-1/name", "name-2-", "io.modelcontextprotocol/x", "io.modelcontextprotocol/-", "a/b/c"]),
)
TRACES = st.one_of(
    st.text(alphabet='ab=,; \té"0', max_size=8),
    st.sampled_from(
        [
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            f"00-{'0' * 32}-00f067aa0ba902b7-01",
            "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7",
            "userId=alice;p=1,isProduction=false",
        ]
    ),
)
HOSTS = st.sampled_from(
    [
        *("localhost", "LOCALHOST", "app.localhost", "127.0.0.1", "127.1.2.3", "[::1]", "10.0.0.1", "192.0.2.7"),
        *(
            "example.com",
            "Example.com",
            "other.example",
            "intranet",
            "a b",
            "",
            "[::1",
            "[foo]",
            "[2001:db8::7]",
            "é.example",
        ),
        *(
            "user@example.com",
            "user:x@localhost",
            "example.com:8080",
            "localhost:3000",
            "example.com:x",
            "example.com/x",
        ),
    ]
)


@given(st.lists(META_KEYS, max_size=4, unique=True), st.booleans())
def test_keys_of_meta(keys: list[str], needs_prefix: bool) -> None:
    value: Any = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": dict.fromkeys(keys, True)}}
    (seen,) = redact([request(body=Body.of_value(value))])
    assert isinstance(seen, RequestSeen)
    new: Any = seen.body.value
    shown = list(new["params"]["_meta"])
    assert [request_metadata._is_key(key, needs_prefix=needs_prefix) for key in shown] == [
        request_metadata._is_key(key, needs_prefix=needs_prefix) for key in keys
    ]


@given(TRACES)
def test_trace_contexts(value: str) -> None:
    for key, is_valid in request_metadata._TRACE_FORMATS.items():
        message: Any = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {key: value}}}
        (seen,) = redact([request(body=Body.of_value(message))])
        assert isinstance(seen, RequestSeen)
        new: Any = seen.body.value
        assert is_valid(new["params"]["_meta"][key]) == is_valid(value)
        assert redact([seen]) == [seen]


@given(
    st.one_of(
        st.from_regex(r"[A-Za-z]{2,6}([-_][A-Za-z]{2,6}){0,2}", fullmatch=True),
        st.sampled_from(
            [
                "Api-Key",
                "apiKey",
                "password",
                "User-Password",
                "Page-Token",
                "token",
                "Access-Token",
                "Region",
                "SSN",
                "Max-Tokens",
            ]
        ),
    )
)
def test_names_of_secrets(name: str) -> None:
    (seen,) = redact([request(headers=[(f"Mcp-Param-{name}", "x")])])
    assert isinstance(seen, RequestSeen)
    ((shown, _),) = seen.headers
    assert names_a_secret(shown[len("Mcp-Param-") :]) == names_a_secret(name)
    assert redact([seen]) == [seen]


@given(HOSTS, HOSTS, st.sampled_from(["http://", "https://", "HTTP://", "chrome-extension://", "acme://"]))
def test_origins_and_hosts(origin: str, host: str, scheme: str) -> None:
    (seen,) = redact([request(headers=[("Origin", scheme + origin), ("Host", host)])])
    assert isinstance(seen, RequestSeen)
    new_origin, new_host = seen.headers.get("origin") or "", seen.headers.get("host") or ""
    before = security._host_of(scheme + origin), security._host_of(f"//{host}")
    after = security._host_of(new_origin), security._host_of(f"//{new_host}")
    assert [one is None for one in after] == [one is None for one in before]
    assert (after[0] == after[1]) == (before[0] == before[1])
    for old, new in zip(before, after, strict=True):
        if old is not None and new is not None:
            assert is_loopback(new) == is_loopback(old)
    assert new_origin.startswith(scheme) or scheme == "acme://"
    assert redact([seen]) == [seen]


@given(st.text(alphabet="ab=&;%+#?", max_size=12), st.sampled_from(["access_token", "token", "Api_Key", "other"]))
def test_names_in_queries(text: str, name: str) -> None:
    target = f"/mcp?{text}&{name}=secret"
    (seen,) = redact([request(path=target)])
    assert isinstance(seen, RequestSeen)
    known = {"access_token", *security._OTHER_KEYS}
    assert security._query_names(seen.path) & known == security._query_names(target) & known
    assert redact([seen]) == [seen]


@pytest.mark.parametrize(
    "session_id",
    ["", "a", "demo 17", "1" * 15, "1" * 19, "1" * 20, "é" * 20, "0123456789abcdef", "0123 456789abcdef", "a" * 300],
)
def test_session_ids(session_id: str) -> None:
    head = ResponseSeen("x-1", None, 200, Headers([("Mcp-Session-Id", session_id)]))
    _, seen = redact([request(), head])
    assert isinstance(seen, ResponseSeen)
    new = seen.headers.get("mcp-session-id") or ""
    assert all("\x21" <= character <= "\x7e" for character in new) == all(
        "\x21" <= character <= "\x7e" for character in session_id
    )
    weak = len(session_id) < 16 or (session_id.isdigit() and len(session_id) <= 19)
    assert label_module.is_strong_session_label(new) == (not weak)
    assert (len(new) < 16 and not label_module.is_strong_session_label(new)) == weak


@pytest.mark.parametrize(
    ("declared", "ended", "counted", "told"),
    [
        (70, Ended.SERVER_CLOSED, None, 50),  # cut: the length is the evidence
        (70, Ended.COMPLETE, None, None),  # nobody counted, so a text of another length proves nothing
        (50, Ended.COMPLETE, None, 50),  # whole, which its label would not be
        (50, None, None, 50),
        (50, Ended.COMPLETE, 60, 60),
    ],
)
def test_the_length_of_a_body_outlives_its_label(
    declared: int, ended: Ended | None, counted: int | None, told: int | None
) -> None:
    seen = answered_by_body(Body.of_text("x" * 50))
    seen[1] = ResponseSeen("x-1", None, 200, Headers([("Content-Length", str(declared))]))
    seen[3] = ExchangeEnded("x-1", None, ended, received_octets=counted)
    *_, last = redact(seen)
    assert last == ExchangeEnded("x-1", None, ended, received_octets=told)
