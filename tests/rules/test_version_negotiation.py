"""Versions: who owes which refusal, what an error has to say, and what proves nothing."""

from __future__ import annotations

import pytest

from tests.rules.talk import META, Json, Modern, found, json_answer, legacy, modern, outcome, refusal

NOT_FOUND = {"code": -32601, "message": "Method not found"}


def unsupported(data: Json | None) -> Json:
    return {"code": -32022, "message": "Unsupported"} | ({} if data is None else {"data": data})


def discovered(*versions: str) -> Json:
    return {"supportedVersions": list(versions), "capabilities": {}, "ttlMs": 0, "cacheScope": "public"}


@pytest.mark.parametrize(
    ("version", "status", "expected"),
    [
        ("newest", 200, 1),
        ("2025-11-25, 2025-11-25", 200, 1),
        ("newest", 400, 0),
        ("newest", 401, 0),
        ("newest", 404, 0),
        ("2024-11-05", 200, 0),  # which versions a server supports is not visible
        ("2099-01-01", 200, 0),
        ("DRAFT-2026-v1", 200, 0),
    ],
)
def test_versions_that_are_none(version: str, status: int, expected: int) -> None:
    answer = None if status == 200 else refusal(status)
    talk = legacy("2025-06-18").begin().ask(headers={"MCP-Protocol-Version": version}, answer=answer)
    assert len(found(talk, "unsupported_version_not_rejected")) == expected


def test_header_on_initialize_is_not_judged() -> None:
    talk = legacy().initialize(headers={"MCP-Protocol-Version": "newest"})
    assert found(talk, "unsupported_version_not_rejected", "protocol_version_not_negotiated") == []


@pytest.mark.parametrize(("until", "expected"), [(1_000, 1), (301_000, 0)])
def test_list_of_versions_grows_old(until: float, expected: int) -> None:
    talk = modern().ask("server/discover", result=discovered("2027-03-01"), at=0, until=10)
    talk.ask(at=until, until=until + 10)
    assert len(found(talk, "unsupported_version_not_rejected")) == expected


def test_list_of_versions_of_unknown_age_proves_nothing() -> None:
    talk = modern().ask("server/discover", result=discovered("2027-03-01")).ask()
    assert outcome(talk, "unsupported_version_not_rejected") == "cannot_tell"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"supported": ["2027-03-01"], "requested": "2026-07-28"}, 0),
        ({"supported": ["2027-03-01"]}, 1),
        ({"supported": [], "requested": "2026-07-28"}, 1),
        ({"supported": "2027-03-01", "requested": "2026-07-28"}, 1),
        ({"supported": [2027], "requested": "2026-07-28"}, 1),
        (None, 1),
    ],
)
def test_error_data(data: Json | None, expected: int) -> None:
    talk = modern().ask(error=unsupported(data), status=400)
    assert len(found(talk, "unsupported_version_error_data")) == expected
    cut = modern(shape=False).ask(error=unsupported(data), status=400)
    assert found(cut, "unsupported_version_error_data") == []


def test_refused_initialize_may_leave_out_what_was_requested() -> None:
    answer = json_answer({"jsonrpc": "2.0", "id": 0, "error": unsupported({"supported": ["2026-07-28"]})}, 400)
    talk = modern(version="2025-11-25").initialize(answer=answer)
    assert found(talk, "unsupported_version_error_data", "legacy_fallback_after_modern_error") == []


def fallback(talk: Modern, info: str = "example-client", **headers: str) -> Modern:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": info, "version": "1.4.0"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    return talk.post(body, refusal(), headers)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (fallback(modern().ask(error=unsupported({"supported": ["2026-07-28"], "requested": "x"}), status=400)), 1),
        (fallback(modern().ask(error=unsupported({"supported": ["2025-11-25"], "requested": "x"}), status=400)), 0),
        (fallback(modern().ask(error={"code": -32021, "message": "no"}, status=400)), 1),
        (fallback(modern().ask(error={"code": -32021, "message": "no"}, status=200)), 0),
        (fallback(modern().ask(error={"code": -32000, "message": "no"}, status=400)), 0),
        (fallback(modern().ask(answer=refusal())), 0),
        (fallback(modern().ask(error={"code": -32020, "message": "no"}, status=400).ask()), 0),  # corrected first
        (fallback(modern().ask(error={"code": -32020, "message": "no"}, status=400), info="another"), 0),
        (fallback(modern().ask(error={"code": -32020, "message": "no"}, status=400), Authorization="Bearer b"), 0),
        (
            modern()
            .ask(error={"code": -32020, "message": "no"}, status=400)
            .add("GET", {"Accept": "text/event-stream"}, None, refusal(405)),
            0,  # nothing shows that it is the same client
        ),
    ],
)
def test_fallback(talk: Modern, expected: int) -> None:
    assert len(found(talk, "legacy_fallback_after_modern_error")) == expected


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        (modern().ask("server/discover", error=NOT_FOUND, status=404), "cannot_tell"),
        (modern().ask("server/discover", answer=refusal(404)).ask(), "not_observed"),
        (modern().ask("server/discover", error={"code": -32602, "message": "no"}, status=400).ask(), "not_observed"),
        (
            modern()
            .ask("server/discover", error=NOT_FOUND, status=404, meta={META + "clientCapabilities": None})
            .ask(),
            "not_observed",
        ),
        (modern().ask("server/discover", error=NOT_FOUND, status=404).ask(), "violated"),
    ],
)
def test_discovery(talk: Modern, expected: str) -> None:
    assert outcome(talk, "discover_not_implemented") == expected


def test_refused_initialize_may_have_any_status() -> None:
    answer = json_answer({"jsonrpc": "2.0", "id": 0, "error": NOT_FOUND}, 400)
    talk = modern(version="2025-11-25").ask().initialize(answer=answer)
    assert found(talk, "method_not_found_status") == []


@pytest.mark.parametrize(
    ("declared", "required", "expected"),
    [
        ({}, {"sampling": {}}, 0),
        ({"sampling": {}}, {"sampling": {"tools": {}}}, 0),
        ({"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}, 1),
        ({"elicitation": {}}, {"elicitation": {"form": {}}}, 1),
        ({"elicitation": {}}, {"elicitation": {"url": {}}}, 0),
        ({"elicitation": {}}, {"elicitation": {"form": {}, "url": {}}}, 0),
        ({}, {}, 1),
        ({}, [], 1),
    ],
)
def test_missing_capability(declared: Json, required: object, expected: int) -> None:
    error = {"code": -32021, "message": "no", "data": {"requiredCapabilities": required}}
    talk = modern().ask(meta={META + "clientCapabilities": declared}, error=error, status=400)
    assert len(found(talk, "missing_capability_error")) == expected
