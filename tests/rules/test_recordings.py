"""Recorded traffic of real peers: nothing is said of it but what is true, however much of it a tap missed.

The recordings are no part of this repository; without them these tests are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_wire.live.directory import Origin
from mcp_wire.wire.body import NOT_CAPTURED
from mcp_wire.wire.observation import Observation, RequestSeen, ResponseBody, ResponseChunk
from tests.captures import findings_of, recordings, seen_in, split

type Seen = Iterable[tuple[Origin, Observation]]

CONFIRMED = {
    "server_capability_undeclared": "the Python SDK's servers announce changes of lists that they declared fixed",
    "duplicate_event_id": "the same store replays it under the id of the priming event, with other data",
    "invalid_sse_jsonrpc": "the TypeScript SDK's example event store replays the priming event as `data: {}`",
    "replay_from_other_stream": "the reference server's event store replays events of other streams",
    "concurrent_stream_rejected": "the TypeScript SDK's servers refuse a second GET stream with 409",
}
"""Deviations that were confirmed by reading the recordings against the clauses."""

NEEDS_EVERY_EXCHANGE = {
    "missing_initialized": "it was the notification",
    "response_id_mismatch": "it carried the request that a later response answers",
    "duplicate_response": "it carried the request a second time",
    "last_event_id_never_issued": "it carried the event",
}
"""What a lost exchange may make seem so: a capture with a hole in the middle looks like one without."""

pytestmark = pytest.mark.skipif(not recordings(), reason="no recordings beside this checkout")
RECORDINGS = [pytest.param(path, id=path.name.removesuffix(".jsonl.gz")) for path in recordings()]


@pytest.mark.parametrize("path", RECORDINGS)
def test_only_confirmed_deviations_are_found(path: Path) -> None:
    loud = {finding.code for _, finding in findings_of(path) if finding.level != "info"}
    assert loud <= CONFIRMED.keys()
    assert "observer_error" not in {finding.code for _, finding in findings_of(path)}


@pytest.mark.parametrize("path", RECORDINGS)
def test_joining_midway_makes_up_nothing(path: Path) -> None:
    seen = seen_in(path)
    exchanges = _exchanges(seen)
    whole = _loud(seen)
    for number in range(1, len(exchanges)):
        missed = set(exchanges[:number])
        made_up = _loud(one for one in seen if one[1].exchange not in missed) - whole
        assert not made_up, f"joined at {exchanges[number]}"


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDINGS)
def test_what_was_missed_makes_up_nothing(path: Path) -> None:
    seen = seen_in(path)
    whole = _loud(seen)
    for exchange in _exchanges(seen):
        assert _loud(_without_exchange(seen, exchange)) - whole <= NEEDS_EVERY_EXCHANGE.keys(), f"{exchange} missed"
        assert not _loud(_without_request_body(seen, exchange)) - whole, f"request body of {exchange} missed"
        assert not _loud(_without_response_body(seen, exchange)) - whole, f"response body of {exchange} missed"


def _exchanges(seen: Seen) -> list[str]:
    return [observation.exchange for _, observation in seen if isinstance(observation, RequestSeen)]


def _loud(seen: Seen) -> set[str]:
    """The codes of all findings that are no notes."""
    return {finding.code for one in split(seen) for finding in one.judged().findings() if finding.level != "info"}


def _without_exchange(seen: Seen, exchange: str) -> Seen:
    return (one for one in seen if one[1].exchange != exchange)


def _without_request_body(seen: Seen, exchange: str) -> Seen:
    for origin, observation in seen:
        if isinstance(observation, RequestSeen) and observation.exchange == exchange:
            yield origin, replace(observation, body=NOT_CAPTURED)
        else:
            yield origin, observation


def _without_response_body(seen: Seen, exchange: str) -> Seen:
    told = False
    for origin, observation in seen:
        if observation.exchange == exchange and isinstance(observation, ResponseBody | ResponseChunk):
            if not told:
                told = True
                yield origin, ResponseBody(exchange, observation.t_ms, NOT_CAPTURED)
        else:
            yield origin, observation
