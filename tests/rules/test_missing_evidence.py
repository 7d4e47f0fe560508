"""What a capture lacks proves nothing: fixtures without one of their bodies, and what must then be left unsaid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.rules import rules_of
from mcp_wire.transcript.document import Document
from mcp_wire.validation import validate

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "rules"


def without_the_rest(fixture: str, index: int, part: str) -> Document:
    document: Any = json.loads((FIXTURES / f"{fixture}.json").read_text(encoding="utf-8"))
    message = document["exchanges"][index][part]
    message.pop("body", None)
    if "chunks" in message:
        message["chunks"] = message["chunks"][:1]
    message["not_captured"] = "the body is larger than what is kept"
    return Document(document)


@pytest.mark.parametrize(
    ("fixture", "index", "part", "code"),
    [
        # The round in between.
        ("input_responses_incomplete/pass-two-rounds", 1, "request", "request_state_not_echoed"),
        # The cancellation.
        ("response_after_cancel/pass-no-response", 1, "request", "stream_closed_without_response"),
        # Another request with the id of an earlier one.
        ("initialize_with_session_id/fail-after-404", 1, "request", "invalid_message_schema"),
        # The first response.
        ("blind_post_replay/fail-posted-again", 0, "response", "blind_post_replay"),
        # A second handshake.
        ("version_not_echoed/fail-supported-before", 2, "request", "protocol_version_not_negotiated"),
    ],
)
def test_what_was_not_captured_may_explain_it(fixture: str, index: int, part: str, code: str) -> None:
    report = validate(without_the_rest(fixture, index, part), rules_of(extended=True))
    assert code not in {finding.code for finding in report.findings}


def test_a_reset_after_what_was_not_read_is_a_note() -> None:
    document = without_the_rest("http2_stream_reset/fail-after-the-response", 2, "response")
    (reset,) = (one for one in validate(document).findings if one.code == "http2_stream_reset")
    assert reset.level == "info"


def test_202_where_nothing_names_a_revision_may_be_the_old_transport() -> None:
    call: Any = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    exchange: Any = {
        "id": "call",
        "request": {"method": "POST", "path": "/messages", "headers": {}, "body": call},
        "response": {"status": 202, "headers": {}, "body_text": "Accepted"},
    }
    report = validate(Document({"profile": "undetermined", "exchanges": [exchange]}))
    assert report.coverage["request_answered_without_content"].outcome == "cannot_tell"
