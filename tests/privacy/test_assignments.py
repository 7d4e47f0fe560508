"""Secrets under their names are found where they are meant; words, code and stand-ins are none."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from mcp_wire.privacy.assignments import ASSIGNED, SESSION, assigned_secrets_in
from mcp_wire.privacy.guard import secrets_by_line
from mcp_wire.privacy.secret_search import COOKIE, CREDENTIALS

ROOT = Path(__file__).parents[2]

# Put together here, so that no scanner takes this file for a leak.
CHOSEN = "hunter2" + "-SECRETERR"
WITH_SIGNS = "Tr0ub4" + "dor&3"
A_WORD = "Wint3r" + "Lake9X"
HEXADECIMAL = "1f3a9c0b7d2e4f5a" + "8b6c9d0e1f2a3b4c"


def kinds(text: str) -> list[str]:
    return [kind for _, kind in secrets_by_line(io.BytesIO(text.encode()))]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"password: {CHOSEN}", ASSIGNED),
        (f"password={WITH_SIGNS}", ASSIGNED),
        (f"  - PASSWORD: {CHOSEN}  # of the test system", ASSIGNED),
        (f'"password": "{CHOSEN}"', ASSIGNED),
        (f'{{\\"password\\": \\"{CHOSEN}\\"}}', ASSIGNED),
        (f"export DB_PASSWORD='{WITH_SIGNS}'", ASSIGNED),
        (f'password: str = "{CHOSEN}"', ASSIGNED),
        (f"login?user=a&password={WITH_SIGNS}&next=1", ASSIGNED),
        ("passphrase: correct!horse", ASSIGNED),
        ("password: hunt" + "er2", ASSIGNED),
        ("GITHUB_TOKEN=abcd1234" + "efgh", ASSIGNED),
        ("client_secret: kP9-" + "xx12", ASSIGNED),
        ('clientSecret = "kP9-' + 'xx12"', ASSIGNED),
        ("api_key=ab12cd34" + "ef", ASSIGNED),
        ("code_verifier=ab12cd34" + "ef", ASSIGNED),
        ("Authorization: Bearer tok-" + "SECRETBEARER-1234567890abcdef", CREDENTIALS),
        ("curl -H 'Authorization: Bearer abc123" + "def' http://127.0.0.1", CREDENTIALS),
        ("Cookie: theme=dark; sid=abc123" + "def456", COOKIE),
        ("set-cookie: sid=abc123" + "def456; Path=/; Secure", COOKIE),
        (f"docker run -e DB_PASSWORD={A_WORD} img", ASSIGNED),
        (f"docker run -e 'DB_PASSWORD={A_WORD}' img", ASSIGNED),
        (f"PGPASSWORD={A_WORD} psql", ASSIGNED),
        (f"X-Api-Key: {A_WORD}", ASSIGNED),
        (f"curl -H 'X-Api-Key: {A_WORD}' http://127.0.0.1", ASSIGNED),
        (f'curl -H \\"x-api-key: {A_WORD}\\" http://127.0.0.1', ASSIGNED),
        (f"Server=db;User Id=app;Password={A_WORD};Pooling=1", ASSIGNED),
        (f'"Server=db;Pwd={A_WORD}"', ASSIGNED),
        (f"Mcp-Session-Id: {HEXADECIMAL}", SESSION),
        (f"curl -H 'Mcp-Session-Id: {HEXADECIMAL}' http://127.0.0.1", SESSION),
    ],
)
def test_values_that_somebody_means(text: str, kind: str) -> None:
    assert kinds(f"first\n{text}\nlast\n") == [kind]
    assert [sighting.kind for sighting in assigned_secrets_in(text)] == [kind]
    assert kinds(f"first\r\n{text}\r\nlast\r\n") == [kind]


@pytest.mark.parametrize(
    "text", [f"DB_PASSWORD={A_WORD}", f"password: {A_WORD}", f"API_KEY={A_WORD}", f"a=1;Password={A_WORD}"]
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r", ""])
def test_line_ends_of_any_system(text: str, line_end: str) -> None:
    assert kinds(f"first{line_end or chr(10)}{text}{line_end}") == [ASSIGNED]


@pytest.mark.parametrize(
    "text",
    [
        "password: str",
        "password: str | None = None",
        "password: None",
        "password:",
        'password = ""',
        "password=password",
        "password: password1",
        "password: redacted-1",
        "password: ***",
        "password=<your password 1>",
        "password: ${DB_PASS1}",
        "password: $DB_PASS1",
        "password: {{ vault.pass1 }}",
        "password: %(pass1)s",
        "password: example-pass-1",
        "password: change the password, wherever it is in use, by 9am",
        "password: change-me-1",
        "secret: required",
        "token: token-1",
        "token: sha256",
        "token: 2026-07-28",
        "token: 3600s",
        "token: /run/secrets/token1",
        "token: './token1.txt'",
        "token: https://127.0.0.1/token1",
        "Token: '#d0d0d0'",
        "token = get_token2()",
        "token = config.token2",
        "    token=token2,",
        "connect(PASSWORD=given2)",
        "connect(HOST, PASSWORD=given2, PORT)",
        "run -e DB_PASSWORD=password1 img",
        "run -e DB_PASSWORD=$DB_PASS1 img",
        "for (;;password=taken2);",
        "'password: given2'",
        "f'x-api-key: {given2}'",
        "secret = secrets[secret1]",
        'assert password == "hunter2"',
        '"progressToken": "abc12345x"',
        "nextPageToken=abc12def",
        "max_tokens: 4096x8",
        '"type": "password", "value2": 1',
        "Authorization: Bearer redacted-1",
        "Authorization: Bearer <token1>",
        "Authorization: Bearer access-token-1",
        "Cookie: name-1=redacted-1",
        "Set-Cookie: name-1=redacted-1; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=3600; Path=/v1/mcp1",
        "stickycookie:g,stream_large_bodies1:v",
        "Mcp-Session-Id: session-A",
        "Mcp-Session-Id: redacted-1",
        "Mcp-Session-Id: <the id from above, 32 digits>",
    ],
)
def test_words_code_and_stand_ins(text: str) -> None:
    assert kinds(text) == []


@pytest.mark.parametrize("folder", ["addon", "docs", "scripts"])
def test_our_own_sources_have_none(folder: str) -> None:
    for path in (ROOT / folder).rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert list(assigned_secrets_in(path.read_text(errors="replace"))) == [], path


@pytest.mark.parametrize(
    "text", ["password=" * 100_000, "password" * 100_000, "a" * 800_000 + "password", "cookie: " * 99_999]
)
def test_long_lines_are_no_trouble(text: str) -> None:
    assert list(assigned_secrets_in(text)) == []
