"""What the rules about requests and about the evidence of their revision must not say, and where they cannot tell."""

from __future__ import annotations

import pytest

from mcp_wire.transcript.document import Document
from mcp_wire.validation import validate
from tests.rules.talk import BOTH, META, Talk, found, legacy, modern, outcome, refusal, stream

LIST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
ENDPOINT = "event: endpoint\ndata: /messages\n\n"


def undetermined() -> Talk:
    return Talk("undetermined", complete=False, session=None)


@pytest.mark.parametrize(
    "accept",
    [
        BOTH,
        "text/event-stream, application/json;q=0.1",
        "APPLICATION/JSON;charset=utf-8 , Text/Event-Stream;q=1.000",
        "text/html, application/json, text/event-stream",
    ],
)
def test_post_accept_lists_both(accept: str) -> None:
    assert outcome(legacy().begin().ask(headers={"Accept": accept}), "invalid_post_accept") == "satisfied"


@pytest.mark.parametrize(
    "accept",
    [None, "", "*/*", "application/json", "application/*, text/*", "application/json, text/event-stream;q=0",
     "application/json;q=2, text/event-stream", "application/jsonp, text/event-stream"],
)  # fmt: skip
def test_post_accept_does_not_list_both(accept: str | None) -> None:
    talk = legacy().begin().ask(headers={"Accept": accept})
    assert found(talk, "invalid_post_accept") == ["invalid_post_accept error /exchanges/2/request/headers"]


def test_accept_on_several_lines_is_one_list() -> None:
    talk = legacy().begin().ask()
    talk.exchanges[2]["request"]["headers"] = [
        ["Accept", "application/json"],
        ["accept", "text/event-stream"],
        ["Content-Type", "application/json"],
        ["MCP-Protocol-Version", "2025-11-25"],
    ]
    assert outcome(talk, "invalid_post_accept") == "satisfied"


def test_page_visit_is_no_stream_request() -> None:
    talk = legacy().begin().add("GET", {"Accept": "text/html,*/*;q=0.8"}, None, refusal(404))
    assert found(talk, "invalid_get_accept", "missing_protocol_version_header") == []


def test_get_accept_is_not_judged_at_2026() -> None:
    talk = modern().add("GET", {"Accept": "application/json", "MCP-Protocol-Version": "2026-07-28"}, None, refusal(405))
    assert found(talk, "invalid_get_accept", "get_removed_in_profile") == [
        "get_removed_in_profile error /exchanges/0/request/method"
    ]


@pytest.mark.parametrize("method", ["OPTIONS", "HEAD", "head"])
def test_ordinary_http_beside_mcp(method: str) -> None:
    talk = legacy().begin().add(method, {"Origin": "https://app.example"}, None, {"status": 204, "headers": {}})
    assert found(talk, "unsupported_http_method") == []


def test_lower_case_methods_are_what_they_mean() -> None:
    talk = legacy().begin().add("get", talk_headers(), None, stream())
    assert found(talk, "unsupported_http_method", "invalid_get_accept", "missing_protocol_version_header") == []


def talk_headers() -> dict[str, str]:
    return {"Accept": "text/event-stream", "MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": "s"}


def test_redirect_explains_a_message_in_a_get() -> None:
    redirect = {"status": 302, "headers": {"Location": "/mcp/"}}
    talk = legacy(complete=False).post(LIST, redirect).add("GET", talk_headers(), LIST, refusal(405))
    assert outcome(talk, "jsonrpc_message_not_posted") == "satisfied"
    assert found(talk, "jsonrpc_message_not_posted") == []


def test_unsupported_method_explains_a_message_in_it() -> None:
    report = validate(Document(legacy(complete=False).add("PUT", talk_headers(), LIST, refusal(405)).document()))
    errors = {one.code: one.consequences for one in report.findings if one.level == "error"}
    assert errors["unsupported_http_method"] == ("jsonrpc_message_not_posted",)


def test_version_header_is_never_owed_by_initialize() -> None:
    for version in ("2025-06-18", "2025-11-25"):
        assert found(legacy(version).initialize(), "protocol_version_mismatch") == []


def test_version_header_is_not_owed_before_the_answer_to_initialize() -> None:
    talk = (
        legacy(session=None).initialize(at=0, until=900).ask(headers={"MCP-Protocol-Version": None}, at=100, until=110)
    )
    assert found(talk, "protocol_version_mismatch") == []


def test_version_header_is_unknown_to_2025_03_26() -> None:
    talk = legacy("2025-03-26").begin().ask(headers={"MCP-Protocol-Version": None}).get()
    assert found(talk, "protocol_version_mismatch", "missing_protocol_version_header") == []


def test_post_that_was_not_captured_may_be_an_initialize() -> None:
    talk = legacy().add("POST", {"Accept": BOTH}, None, refusal(400))
    assert outcome(talk, "protocol_version_mismatch") == "cannot_tell"


def test_differing_header_is_a_warning_where_the_negotiation_was_seen() -> None:
    talk = legacy("2025-06-18").begin().ask(headers={"MCP-Protocol-Version": "2025-11-25"})
    assert found(talk, "protocol_version_mismatch", "protocol_version_not_negotiated") == [
        "protocol_version_not_negotiated warning /exchanges/2/request/headers"
    ]


def test_header_on_two_lines_names_no_version() -> None:
    talk = legacy("2025-06-18").begin().ask()
    lines = [[name, value] for name, value in talk.exchanges[2]["request"]["headers"].items()]
    talk.exchanges[2]["request"]["headers"] = [*lines, ["mcp-protocol-version", "2025-11-25"]]
    assert found(talk, "protocol_version_mismatch", "protocol_version_not_negotiated") == []


def test_get_is_not_judged_where_the_negotiation_was_not_seen() -> None:
    talk = legacy(complete=False).ask().get(headers={"MCP-Protocol-Version": None})
    assert outcome(talk, "missing_protocol_version_header") == "cannot_tell"
    assert found(talk, "missing_protocol_version_header") == []


def test_get_is_not_judged_where_clients_may_share_a_conversation() -> None:
    talk = legacy(session=None).begin().begin(id=1).get(headers={"MCP-Protocol-Version": None})
    assert found(talk, "missing_protocol_version_header") == []


def test_modern_request_is_no_part_of_a_session() -> None:
    params = {"_meta": {META + "protocolVersion": "2026-07-28"}}
    talk = legacy().begin().ask(params=params, headers={"MCP-Protocol-Version": "2026-07-28"})
    assert found(talk, "protocol_version_not_negotiated", "missing_initialized", "initialize_not_first") == []


def test_get_without_a_version_may_belong_to_an_earlier_revision() -> None:
    talk = modern().add("GET", {"Accept": "text/event-stream"}, None, refusal(405))
    assert outcome(talk, "get_removed_in_profile") == "cannot_tell"
    talk.add("DELETE", {"Mcp-Session-Id": "s"}, None, refusal(405))
    assert outcome(talk, "delete_removed_in_profile") == "cannot_tell"


@pytest.mark.parametrize(
    ("content_type", "level"),
    [("application/json", None), ("application/json;charset=utf-8", None), ("application/json-rpc", "warning"),
     ("text/event-stream", "warning"), (None, "warning"), ("", "warning")],
)  # fmt: skip
def test_request_content_type(content_type: str | None, level: str | None) -> None:
    talk = legacy().begin().ask(headers={"Content-Type": content_type})
    expected = [] if level is None else [f"invalid_request_content_type {level} /exchanges/2/request/headers"]
    assert found(talk, "invalid_request_content_type") == expected


def test_empty_post_needs_no_label() -> None:
    talk = legacy().add("POST", {"Accept": BOTH}, None, refusal(400))
    talk.exchanges[0]["request"]["body_text"] = ""
    assert found(talk, "invalid_request_content_type") == []


# The evidence of the revision


def test_every_exchange_without_a_revision_is_counted() -> None:
    talk = undetermined().ask().ask().get()
    report = validate(Document(talk.document()))
    counts = [one.count for one in report.findings if one.code == "profile_undetermined"]
    assert counts == [3]


def test_unanswered_initialize_is_evidence_of_its_own() -> None:
    talk = Talk("undetermined", version="2025-11-25", session=None).initialize(answer=refusal())
    assert found(talk, "profile_undetermined", "unknown_protocol_version") == []


@pytest.mark.parametrize("version", ["2024-11-05", "2099-01-01", "newest"])
def test_unknown_version_is_a_note(version: str) -> None:
    talk = undetermined().ask(headers={"MCP-Protocol-Version": version})
    assert found(talk, "unknown_protocol_version", "profile_undetermined") == [
        "unknown_protocol_version info /exchanges/0/request/headers"
    ]


def test_meta_decides_over_the_header() -> None:
    talk = undetermined().ask(
        params={"_meta": {META + "protocolVersion": "2099-01-01"}}, headers={"MCP-Protocol-Version": "2025-11-25"}
    )
    assert found(talk, "unknown_protocol_version") == ["unknown_protocol_version info /exchanges/0/request/body"]


def test_legacy_transport_is_left_alone() -> None:
    talk = undetermined().get(stream(ENDPOINT), path="/sse", id="sse")
    talk.post(LIST, {"status": 202, "headers": {}}, {"Accept": "*/*", "Content-Type": None}, path="/messages")
    assert [one for one in found_all(talk) if not one.endswith("info")] == []


def test_endpoint_event_in_a_session_silences_nothing() -> None:
    talk = legacy().begin().get(stream(ENDPOINT)).ask(headers={"Accept": "*/*"})
    assert found(talk, "legacy_http_sse_transport") == ["legacy_http_sse_transport info /exchanges/2/response/chunks/0"]
    assert found(talk, "invalid_post_accept") == ["invalid_post_accept error /exchanges/3/request/headers"]


def test_legacy_transport_is_found_after_a_refused_post() -> None:
    talk = undetermined().ask(answer=refusal(405)).get(stream(": hello\n\n", ENDPOINT), path="/mcp")
    assert found(talk, "legacy_http_sse_transport") == ["legacy_http_sse_transport info /exchanges/1/response/chunks/1"]


def found_all(talk: Talk) -> list[str]:
    return [f"{one.code} {one.level}" for one in validate(Document(talk.document())).findings]
