"""What is found as a secret, in which dress, and what never is."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.privacy import secret_search
from mcp_wire.privacy.guard import BLOCK_OCTETS, secrets_by_line
from mcp_wire.privacy.secret_search import secret_in_header, secret_in_member, secrets_in
from mcp_wire.privacy.secret_shapes import SHAPES, is_drawn_at_random
from tests.privacy.planted_secrets import ANYBODYS, BASIC, BY_SHAPE, drawn

SECRETS = [
    pytest.param(kind, secret, id=f"{kind} {number}")
    for kind, all_ in BY_SHAPE.items()
    for number, secret in enumerate(all_)
]
DRESSES: Final[dict[str, Callable[[str], str]]] = {
    "alone": lambda secret: secret,
    "in a sentence": lambda secret: f"The key is {secret}, do not tell.",
    "in quotes": lambda secret: f"const key = '{secret}';",
    "in JSON": lambda secret: json.dumps({"a": [1, {"value": secret}]}),
    "in JSON in JSON": lambda secret: json.dumps({"text": json.dumps({"value": f"\n{secret}\t"})}),
    "with every character escaped": lambda secret: '"' + "".join(f"\\u{ord(one):04x}" for one in secret) + '"',
    "percent-encoded": lambda secret: "/mcp?x=" + "".join(f"%{ord(one):02X}" for one in secret) + "&y=1",
    "percent-encoded where it must be": lambda secret: f"/mcp?x={quote(secret, safe='')}",
    "in Base64": lambda secret: f"=?base64?{base64.b64encode(f'a key: {secret}'.encode()).decode()}?=",
    "in URL-safe Base64": lambda secret: base64.urlsafe_b64encode(f"é {secret}\n".encode()).decode(),
    "in a data URL of JSON": lambda secret: json.dumps(
        "data:text/plain;base64," + base64.b64encode(secret.encode()).decode()
    ),
    "in Markdown": lambda secret: f"Call it with `{secret}`.",
    "between line ends": lambda secret: f"\r\n{secret}\r\n",
}


def kinds(text: str) -> set[str]:
    return {sighting.kind for sighting in secrets_in(text)}


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_a_secret_is_known_by_its_shape(kind: str, secret: str, dress: str) -> None:
    assert kind in kinds(DRESSES[dress](secret))


def test_every_shape_is_tried() -> None:
    assert {shape.kind for shape in SHAPES} == set(BY_SHAPE)


PLACES = {
    "bearer token": [
        "Authorization: Bearer {}",
        "authorization: bearer  {}",
        'curl -H "Authorization: Bearer {}" https://example.com',
        '{{"name": "Authorization", "value": "Bearer {}"}}',
        '["Authorization", "Bearer {}"]',
    ],
    "cookie": [
        "Cookie: theme=dark; sid={}",
        "Set-Cookie: sid={}; Path=/; HttpOnly",
        '{{"name": "Cookie", "value": "sid={}"}}',
        '"Cookie": "sid={}; lang=en"',
        '["Set-Cookie", "sid={}; Secure"]',
    ],
    "PKCE verifier or challenge": [
        "grant_type=authorization_code&code_verifier={}",
        '{{"code_verifier": "{}"}}',
        "GET /authorize?code_challenge={}&code_challenge_method=S256",
        "codeVerifier: '{}'",
    ],
    "credential in a URL": [
        "https://example.com/mcp?access_token={}",
        "/mcp?a=b&api_key={}&c=d",
        "/callback?code={}&state=1",
    ],
    "random value under the name of a secret": [
        '{{"password": "{}"}}',
        "export MY_SECRET={}",
        "x-api-key: {}",
        "client_secret={}&a=b",
        "aws_secret_access_key = {}",
        '{{"refreshToken":"{}"}}',
        'apiKey: "{}"',
        '"Authorization": "{}"',
    ],
    "credentials in a header": ['{{"name": "X-Csrf-Token", "value": "{}"}}'],
}


@pytest.mark.parametrize("secret", ANYBODYS)
@pytest.mark.parametrize(("kind", "place"), [(kind, place) for kind, places in PLACES.items() for place in places])
def test_a_secret_is_known_by_its_place(kind: str, place: str, secret: str) -> None:
    value = ANYBODYS[secret]
    if "PKCE" in kind:
        value = (value + value + value)[:64]
    text = place.format(value)
    assert kind in kinds(text)
    assert kind in kinds(json.dumps({"log": text}))
    assert kinds(text.replace(value, "redacted-7")) == set()
    assert kinds(value) == set()


def test_name_and_password() -> None:
    assert kinds(f"Authorization: Basic {BASIC}") == {"user name and password (Basic)"}
    assert kinds("Basic authentication of everything") == set()
    assert kinds("postgres://nobody:" + "hunter22@db.example/x") == {"password in a URL"}
    assert (
        kinds("https://user:" + "password@example.com, https://a:" + "${PASSWORD}@b, https://redacted-1@host-1.example")
        == set()
    )


@pytest.mark.parametrize(
    "text",
    [
        "Bearer example-not-a-token",
        "Bearer redacted-1, Basic redacted-2, Cookie: name-1=redacted-3; name-2=redacted-4",
        'WWW-Authenticate: Bearer resource_metadata="https://mcp.example/.well-known/oauth-protected-resource"',
        "Authorization: Bearer <your-access-token-goes-here>",
        "token = secrets.token_urlsafe(32)",
        "password: ${MY_VERY_LONG_PASSWORD_1234567}",
        "session-A weak-B redacted-12 tool-3!-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "00-00000000000000000000000000000007-0000000000000007-01",
        "Mcp-Session-Id: 1868a90c-0c11-4f1a-9d2e-3f5b6a7c8d9e",
        "nextCursor: " + drawn(40),
        '{"progressToken": "4f1a9d2e3f5b6a7c8d9e0011", "requestState": "4f1a9d2e3f5b6a7c8d9e0011"}',
        '"integrity": "sha512-LgrD2OphHuG12vfKFKz6SOnq7bKHQmhGJIAYdD+MZBn2npHEyry6uD8zvktodtl5CQM85MO0anUyD9JwmUmxww"',
        "token: 2026-08-31T17:49:06.123456Z",
        "task-management-and-disk-partitioning-utilities sk-learn-all-about-it-in-one-afternoon",
        "eyJhbGciOi is how they begin; eyJust.a.word",
        "AKIAIOSFODNN, AKIAAAAAAAAAAAAAAAAA",
        "-----BEGIN CERTIFICATE-----",
        "the private key and the PRIVATE KEYS of others",
    ],
)  # fmt: skip
def test_what_is_no_secret(text: str) -> None:
    assert secrets_in(text) == []


@pytest.mark.parametrize("name", ["authorization", "proxy-authorization", "x-api-key", "dpop", "cookie", "x-my-secret"])
def test_headers_of_credentials(name: str) -> None:
    for secret in ANYBODYS.values():
        value = f"a=1; sid={secret}" if name == "cookie" else secret
        assert secret_in_header(name, value) is not None
        assert secret_in_header("mcp-session-id", secret) is None
    assert secret_in_header(name, "redacted-1") is None
    assert secret_in_header(name, "name-1=redacted-1") is None


def test_members_under_the_name_of_a_secret() -> None:
    for secret in ANYBODYS.values():
        assert secret_in_member("clientSecret", secret) == "random value under the name of a secret"
        assert secret_in_member("cursor", secret) is None
        assert secret_in_member("code_verifier", (secret * 3)[:64]) == "PKCE verifier or challenge"
    assert secret_in_member("password", "hunter2") is None


@given(st.text())
def test_any_text_is_looked_through(text: str) -> None:
    for sighting in secrets_in(text):
        assert 0 <= sighting.at <= len(text)


@given(st.lists(st.sampled_from(["", "a b", "x" * 40, "{}", "Bearer {}"]), min_size=1), st.sampled_from(["\n", "\r\n"]))
def test_the_line_is_right(lines: list[str], end: str) -> None:
    [secret] = BY_SHAPE["npm token"]
    text = end.join(lines).replace("{}", secret)
    expected = [number for number, line in enumerate(lines, 1) if "{}" in line]
    assert [line for line, kind in secrets_by_line(io.BytesIO(text.encode())) if kind == "npm token"] == expected


@pytest.mark.parametrize("before", [0, 10, BLOCK_OCTETS - 20, BLOCK_OCTETS - 1, 2 * BLOCK_OCTETS + 3])
@pytest.mark.parametrize("filler", ["a b\n", "é; "])
def test_a_long_file_is_read_piece_by_piece(before: int, filler: str) -> None:
    [secret] = BY_SHAPE["Groq API key"]
    octets = len(filler.encode())
    text = filler * (before // octets) + " " + secret + "\n" + filler * 1000
    line = text[: text.index(secret)].count("\n") + 1
    assert list(secrets_by_line(io.BytesIO(text.encode()))) == [(line, "Groq API key")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_heeded(encoding: str) -> None:
    [secret] = BY_SHAPE["Notion token"]
    assert list(secrets_by_line(io.BytesIO(f"first\n{secret}\n".encode(encoding)))) == [(2, "Notion token")]


@pytest.mark.parametrize(
    "piece",
    ["eyJ", "a", "A1b2", "://a:", "cookie=", "Bearer ", "%25", "\\\\", "sk-", '"name":"', "aGVsbG8gd29ybGQg", "&code="],
)
def test_work_is_linear(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0

    def counted[Found](look: Callable[[str], Found]) -> Callable[[str], Found]:
        def counting(text: str) -> Found:
            nonlocal looked_at
            looked_at += len(text)
            return look(text)

        return counting

    for name in ("is_drawn_at_random", "shapes_in", "_has_cookie", "_decoded", "_without_escapes"):
        monkeypatch.setattr(secret_search, name, counted(getattr(secret_search, name)))

    def characters(size: int) -> int:
        nonlocal looked_at
        looked_at = 0
        secrets_in(piece * (size // len(piece)))
        return looked_at

    small, large = characters(40_000), characters(80_000)
    assert small > 0
    # Twice, and what the ends of the text keep short.
    assert large <= 2.2 * small + 1_000


def test_random_and_thought_up() -> None:
    assert all(map(is_drawn_at_random, ANYBODYS.values()))
    words = "example-not-a-token progress-token-12345 MyServiceAccountKeyName01 v2-api-key-3-of-4-2025 2025-11-25"
    assert not any(map(is_drawn_at_random, words.split()))
