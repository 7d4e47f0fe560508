"""docs/transcript-format.md says what the reader reads, and its example is one."""

from __future__ import annotations

import re
from pathlib import Path

from mcp_wire.protocol.profiles import PROFILES, UNDETERMINED
from mcp_wire.transcript.reading import read_document
from mcp_wire.validation import validate
from mcp_wire.wire.observation import Ended

TEXT = (Path(__file__).parents[2] / "docs" / "transcript-format.md").read_text(encoding="utf-8")


def test_the_example_conforms() -> None:
    [example] = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    report = validate(read_document(example))
    assert [finding.code for finding in report.findings if finding.level != "info"] == []
    assert report.coverage["invalid_get_accept"].outcome == "satisfied"


def test_every_word_of_the_format_is_documented() -> None:
    words = {
        *("profile", "tuple", "payloads", "complete_from_start", "exchanges", "id", "concurrent_group", "idempotent"),
        "server_side_of",
        *("started_ms", "ended_ms", "request", "method", "path", "http_version", "headers", "body", "body_text"),
        *("body_utf8", "body_base64", "not_captured", "response", "status", "chunks", "chunk_boundaries", "t_ms"),
        *("text", "base64", "body_ms", "ended", "disconnected", "received_octets", "reset_code"),
        *PROFILES,
        UNDETERMINED,
        *Ended,
    }
    assert [word for word in sorted(words) if f"`{word}`" not in TEXT] == []
