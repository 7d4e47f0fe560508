"""Origins, credentials and challenges: what is a signal, and what is somebody's right."""

from __future__ import annotations

import pytest

from mcp_wire.transcript.document import Document
from mcp_wire.validation import validate
from tests.rules.talk import Json, Talk, found, json_answer, legacy, outcome, refusal

ORIGIN = "https://app.example"


def visit(origin: str | None, host: str | None, status: int = 200, **response_headers: str) -> Talk:
    answer = json_answer({"jsonrpc": "2.0", "id": 100, "result": {"tools": []}}, status)
    answer["headers"] |= {name.replace("_", "-"): value for name, value in response_headers.items()}
    return legacy(complete=False).ask(headers={"Origin": origin, "Host": host}, answer=answer)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (visit(ORIGIN, "localhost:3000"), "violated"),
        (visit(ORIGIN, "127.0.0.1:3000", Access_Control_Allow_Origin="*"), "violated"),
        (visit(ORIGIN, "mcp.example"), "violated"),
        (visit(ORIGIN, "mcp.example", Access_Control_Allow_Origin="*"), "cannot_tell"),
        (visit(ORIGIN, "localhost:3000", Access_Control_Allow_Origin=ORIGIN), "cannot_tell"),
        (visit(ORIGIN, "localhost:3000", 403), "satisfied"),
        (visit(ORIGIN, "localhost:3000", 400), "cannot_tell"),
        (visit(ORIGIN, None), "cannot_tell"),
        (visit("null", "localhost:3000"), "cannot_tell"),
        (visit("chrome-extension://abc", "localhost:3000"), "cannot_tell"),
        (visit("https://[", "localhost:3000"), "cannot_tell"),
        (visit("http://localhost:6274", "127.0.0.1:3000"), "not_observed"),
        (visit("http://[::1]:6274", "localhost:3000"), "not_observed"),
        (visit("https://MCP.example", "mcp.example:8443"), "not_observed"),
        (visit(None, "localhost:3000"), "not_observed"),
        (legacy().add("OPTIONS", {"Origin": ORIGIN, "Host": "localhost"}, None, {"status": 204, "headers": {}}),
         "not_observed"),
    ],
)  # fmt: skip
def test_origins(talk: Talk, expected: str) -> None:
    assert outcome(talk, "foreign_origin_accepted") == expected


@pytest.mark.parametrize(
    ("target", "level"),
    [
        ("/mcp", None),
        ("/mcp?access_token=x", "error"),
        ("/mcp?a=1&ACCESS_TOKEN=x", "error"),
        ("/mcp?access_token", "error"),
        ("/mcp?a=1;access_token=x", "error"),
        ("/mcp?api_key=x", "warning"),
        ("/mcp?token=x&api_key=y", "warning"),
        ("/mcp?next=access_token", None),
        ("/mcp/access_token=x", None),
        ("/mcp#?access_token=x", None),
    ],
)
def test_queries(target: str, level: str | None) -> None:
    expected = [] if level is None else [f"access_token_in_query {level} /exchanges/0/request/path"]
    assert found(legacy(complete=False).ask(path=target), "access_token_in_query") == expected


AUTHORIZED = {"Authorization": "Bearer example"}


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (legacy(complete=False).ask(headers=AUTHORIZED).ask(), "violated"),
        (legacy(complete=False).ask(headers=AUTHORIZED).get(), "violated"),
        (legacy(complete=False).ask(headers=AUTHORIZED).ask(headers=AUTHORIZED), "satisfied"),
        (legacy(complete=False).ask().ask(headers=AUTHORIZED).ask(), "cannot_tell"),  # mixed access
        (legacy(complete=False).ask(answer=refusal(401)).ask(headers=AUTHORIZED).ask(), "violated"),
        (legacy(complete=False).ask(headers=AUTHORIZED).ask(headers={"Cookie": "a=b"}), "cannot_tell"),
        (legacy(complete=False, session=None).ask(headers=AUTHORIZED).ask(), "not_observed"),  # whose request?
        (
            legacy(complete=False).ask(headers=AUTHORIZED).ask(headers={"Mcp-Session-Id": "other"}),
            "not_observed",
        ),
    ],
)
def test_authorization_in_a_session(talk: Talk, expected: str) -> None:
    assert outcome(talk, "authorization_missing_in_session") == expected


def unauthorized(**headers: str) -> Json:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"status": 401, "headers": {"Content-Type": "text/plain", **named}, "body_text": "no"}


@pytest.mark.parametrize(
    ("version", "answer", "expected"),
    [
        ("2025-03-26", unauthorized(), [("warning", "server")]),
        ("2025-11-25", unauthorized(WWW_Authenticate="Bearer"), []),
        ("2025-06-18", unauthorized(WWW_Authenticate="Bearer"), [("warning", "server")]),
        ("2025-06-18", unauthorized(WWW_Authenticate='Bearer resource_metadata="https://a.example/"'), []),
        ("2025-06-18", unauthorized(WWW_Authenticate='Basic realm="bearer"'), []),
        ("2025-06-18", unauthorized(WWW_Authenticate='Basic realm="a", Bearer scope="b"'), [("warning", "server")]),
        ("2025-11-25", unauthorized(Via="1.1 gateway"), [("warning", "either")]),
        ("2025-11-25", unauthorized(Content_Type="text/html"), [("warning", "either")]),
    ],
)
def test_challenges(version: str, answer: Json, expected: list[tuple[str, str]]) -> None:
    report = validate(Document(legacy(version).initialize(answer=answer).document()))
    told = [(one.level, one.party) for one in report.findings if one.code == "unauthorized_without_challenge"]
    assert told == expected


@pytest.mark.parametrize(
    ("target", "headers", "expected"),
    [
        ("/mcp", AUTHORIZED, "cannot_tell"),
        ("https://mcp.example/mcp", AUTHORIZED, "satisfied"),
        ("http://localhost:3000/mcp", AUTHORIZED, "satisfied"),
        ("http://mcp.example/mcp", AUTHORIZED, "violated"),
        ("http://mcp.example/mcp", {"Mcp-Session-Id": None}, "not_observed"),
    ],
)
def test_cleartext(target: str, headers: dict[str, str | None], expected: str) -> None:
    talk = legacy(complete=False).ask(path=target, headers=headers)
    assert outcome(talk, "credentials_over_cleartext") == expected
