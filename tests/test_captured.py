"""Captured traffic (fixtures/captured/README.md): the verdicts are exact, and every fault that is found is explained.

What a tap missed makes nothing up: neither what came before it, nor an exchange that it lost.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import read_document
from tests.peers.captured import expected_of, transcripts, verdict_of
from tests.peers.recapture import FIXTURES, PAIRS, Json

SIZE_LIMIT = 1_500_000

NEEDS_EVERY_EXCHANGE = {
    "missing_initialized": "it was the notification",
    "response_id_mismatch": "it carried the request that a later response answers",
    "duplicate_response": "it carried the request a second time",
    "last_event_id_never_issued": "it carried the event",
    "progress_unknown_token": "it carried the request that gave the token",
}
"""What a lost exchange may make seem so: a capture with a hole in the middle looks like one without."""

SAID_BY_PEERS = ("s3cret", "naïve", "one line", "Grüße", "counted to", "the answer was", "after the close", "Tell me")
"""What tools, resources and arguments of the tours hold: payload, none of which may be left."""

CAPTURES = [pytest.param(path, id=f"{path.parent.name}/{path.stem}") for path in transcripts()]


@pytest.mark.parametrize("path", CAPTURES)
def test_verdict(path: Path) -> None:
    assert verdict_of(read_document(path.read_bytes())) == expected_of(path)


def test_every_finding_is_explained_and_every_explanation_found() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| `(\w+)` \|", (FIXTURES / "README.md").read_text(encoding="utf-8"), re.M)
    found = {(path.parent.name, finding["code"]) for path in transcripts() for finding in expected_of(path)["findings"]}
    assert found == set(rows)


def test_every_pair_has_its_captures() -> None:
    for pair in PAIRS:
        assert list((FIXTURES / pair.folder).glob(f"{pair.client.name}*.json")), f"{pair.folder}/{pair.client.name}"


@pytest.mark.parametrize("path", CAPTURES)
def test_nothing_is_left_of_what_the_peers_said(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [word for word in SAID_BY_PEERS if word in text] == []
    document = json.loads(text)
    assert document["payloads"] == "shape"
    for exchange in document["exchanges"]:
        for side in ("request", "response"):
            for name, value in _header_lines(exchange.get(side, {}).get("headers", {})):
                assert name.lower() not in ("authorization", "cookie", "set-cookie")
                assert name.lower() != "mcp-session-id" or re.fullmatch(r"session-\w+", value), value


def _header_lines(headers: Any) -> list[tuple[str, str]]:
    return list(headers.items()) if isinstance(headers, dict) else [(name, value) for name, value in headers]


def test_captures_stay_small() -> None:
    assert sum(path.stat().st_size for path in FIXTURES.rglob("*")) < SIZE_LIMIT


@pytest.mark.parametrize("path", CAPTURES)
def test_joining_midway_makes_up_nothing(path: Path) -> None:
    document, whole = _whole(path)
    document.pop("complete_from_start", None)
    exchanges = document["exchanges"]
    for number in range(1, len(exchanges)):
        assert not _codes(document | {"exchanges": exchanges[number:]}) - whole, f"joined at {exchanges[number]['id']}"


@pytest.mark.parametrize("path", CAPTURES)
def test_a_lost_exchange_makes_up_nothing(path: Path) -> None:
    document, whole = _whole(path)
    exchanges = document["exchanges"]
    if len(exchanges) == 1:
        pytest.skip("nothing would remain")
    for number, lost in enumerate(exchanges):
        rest = document | {"exchanges": exchanges[:number] + exchanges[number + 1 :]}
        assert _codes(rest) - whole <= NEEDS_EVERY_EXCHANGE.keys(), f"{lost['id']} lost"


def _whole(path: Path) -> tuple[Json, set[str]]:
    document: Json = json.loads(path.read_text(encoding="utf-8"))
    return document, {finding["code"] for finding in expected_of(path)["findings"]}


def _codes(document: Json) -> set[str]:
    return {finding["code"] for finding in verdict_of(Document(document))["findings"]}
