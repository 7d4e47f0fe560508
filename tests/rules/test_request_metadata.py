"""`_meta`: keys, trace context, and what a server does with a request that lacks what is required."""

from __future__ import annotations

import pytest

from tests.rules.talk import META, Json, found, json_answer, legacy, modern, outcome, refusal

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN = "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("key", "valid"),
    [
        ("progressToken", True),
        ("a", True),
        ("", True),
        ("com.example/", True),
        ("com.example/a.b_c-d", True),
        ("io.modelcontextprotocol/anything", True),
        ("x1/y", True),
        ("/name", False),
        ("1com/name", False),
        ("com-/name", False),
        ("com..example/name", False),
        ("com.example/-name", False),
        ("com.example/name.", False),
        ("com.example/a/b", False),
        ("na me", False),
        ("é", False),
    ],
)
def test_keys(key: str, valid: bool) -> None:
    for version in ("2025-06-18", "2025-11-25"):
        talk = legacy(version).begin().ask(params={"_meta": {key: 1}})
        expected = [] if valid else ["meta_key_invalid error /exchanges/2/request/body"]
        assert found(talk, "meta_key_invalid") == expected


def test_keys_are_free_in_2025_03_26() -> None:
    assert found(legacy("2025-03-26").begin().ask(params={"_meta": {"na me": 1}}), "meta_key_invalid") == []


def test_keys_of_results_are_the_servers() -> None:
    talk = legacy().begin().ask(result={"tools": [], "_meta": {"na me": 1}})
    assert found(talk, "meta_key_invalid") == ["meta_key_invalid error /exchanges/2/response/body"]


@pytest.mark.parametrize(("identifier", "valid"), [("io.example/ui", True), ("ui", False), ("io.example/", True)])
def test_extension_identifiers_need_a_prefix(identifier: str, valid: bool) -> None:
    talk = modern().ask(meta={META + "clientCapabilities": {"extensions": {identifier: {}}}})
    assert (found(talk, "meta_key_invalid") == []) is valid


@pytest.mark.parametrize(
    ("key", "value", "valid"),
    [
        ("traceparent", f"00-{TRACE_ID}-{SPAN}-01", True),
        ("traceparent", f"00-{TRACE_ID}-{SPAN}-01-more", False),
        ("traceparent", f"cc-{TRACE_ID}-{SPAN}-01-more", True),
        ("traceparent", f"ff-{TRACE_ID}-{SPAN}-01", False),
        ("traceparent", f"00-{TRACE_ID.upper()}-{SPAN}-01", False),
        ("traceparent", f"00-{TRACE_ID}-{'0' * 16}-01", False),
        ("traceparent", 7, False),
        ("tracestate", "", True),
        ("tracestate", "a=1,, b@c=x y", True),
        ("tracestate", "A=1", False),
        ("tracestate", "a", False),
        ("baggage", "a=1;p;q=2, b = x%20y", True),
        ("baggage", "a", False),
        ("baggage", "a=x y", False),
    ],
)
def test_trace_context(key: str, value: object, valid: bool) -> None:
    assert (found(modern().ask(meta={key: value}), "trace_context_invalid") == []) is valid


@pytest.mark.parametrize(
    ("meta", "answer", "expected"),
    [
        ({META + "clientCapabilities": None}, {}, 1),
        ({META + "clientCapabilities": None}, {"error": {"code": -32602, "message": "no"}, "status": 400}, 0),
        ({META + "clientCapabilities": None}, {"error": {"code": -32602, "message": "no"}}, 1),  # with status 200
        ({META + "protocolVersion": None}, {"error": {"code": -32020, "message": "no"}, "status": 400}, 0),
        ({META + "protocolVersion": None}, {"error": {"code": -32603, "message": "no"}, "status": 500}, 0),
        ({META + "protocolVersion": None}, {"answer": refusal()}, 0),
        ({META + "clientInfo": None}, {}, 0),
    ],
)
def test_missing_metadata_is_refused(meta: Json, answer: Json, expected: int) -> None:
    assert len(found(modern().ask().ask(meta=meta, **answer), "invalid_meta_not_rejected")) == expected


def test_request_without_modern_marker_may_be_an_earlier_one() -> None:
    talk = modern().ask().ask(meta={META + "protocolVersion": None}, headers={"MCP-Protocol-Version": None})
    assert found(talk, "invalid_meta_not_rejected") == []


def test_server_of_an_earlier_revision_owes_nothing() -> None:
    answer = json_answer({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}})
    talk = modern().ask(meta={META + "clientCapabilities": None}, id=1, answer=answer)
    assert outcome(talk, "invalid_meta_not_rejected") == "cannot_tell"
    assert outcome(talk, "server_info_missing") == "cannot_tell"


def test_missing_members_prove_nothing_in_a_transcript_cut_by_hand() -> None:
    talk = modern(shape=False).ask(meta={META + "clientCapabilities": None, META + "clientInfo": None})
    for code in ("client_capabilities_missing", "client_info_missing", "invalid_meta_not_rejected"):
        assert outcome(talk, code) == "cannot_tell"
