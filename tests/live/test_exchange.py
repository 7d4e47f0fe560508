"""Parts of exchanges become observations, and what all of them hold together has a bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.judging.judge import Judge
from mcp_wire.live import exchange as module
from mcp_wire.live.directory import Origin
from mcp_wire.live.exchange import TOO_MUCH_UNFINISHED, Exchanges
from mcp_wire.live.parts import Ending, EndPart, Entry, HeadPart, LostPart, Part, RequestPart
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.rules import rules_of
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import Ended, Observation, ResponseBody, ResponseChunk
from tests.live.mcp import INITIALIZE

ORIGIN = Origin("http://example.test:80/mcp", "c")
REQUEST = RequestPart(ORIGIN, "POST", "/mcp", "HTTP/1.1", Headers([("Content-Type", "application/json")]), INITIALIZE)
HEAD = HeadPart(200, Headers([("Content-Type", "text/event-stream")]), True, True)
END = EndPart(Ending(Ended.COMPLETE, whole=True), 0, None, "")


def taken(exchanges: Exchanges, name: str, *parts: Part) -> list[Observation]:
    entries: list[Entry] = [(name, 2 * at, part) for at, part in enumerate(parts)]
    return [observation for entry in entries for _, observation in exchanges.take(entry)]


def test_many_unfinished_events_at_once_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNFINISHED_OCTETS", 1_000)
    exchanges = Exchanges()
    for number in range(20):
        taken(exchanges, f"x-{number}", REQUEST, HEAD, b"data: 1\n\ndata: " + b"a" * 44)  # 50 unfinished octets each
    (chunk, given_up) = taken(exchanges, "x-7", b"b")
    assert isinstance(chunk, ResponseChunk)
    assert isinstance(given_up, ResponseBody) and given_up.body.absence == TOO_MUCH_UNFINISHED
    assert taken(exchanges, "x-7", b"\n\n") == []
    # There is room again, for others and for new ones.
    assert [type(seen) for seen in taken(exchanges, "x-8", b"b" * 40)] == [ResponseChunk]
    taken(exchanges, "x-9", END)
    assert [type(seen) for seen in taken(exchanges, "x-10", b"b" * 40, b"\n\n")] == [ResponseChunk, ResponseChunk]
    for number in range(20):
        taken(exchanges, f"x-{number}", END)
    assert exchanges._unfinished == 0


@given(st.lists(st.sampled_from(["\n", "\r", "\r\n"]), min_size=1, max_size=10), st.integers(1, 12))
def test_complete_events_leave_nothing_unfinished_whatever_ends_their_lines(ends: list[str], size: int) -> None:
    stream = "".join(f"id: 1{end}data: {{}}{end}{end}" for end in ends).encode()
    exchanges = Exchanges()
    taken(exchanges, "x-1", REQUEST, HEAD)
    for position in range(0, len(stream), size):
        taken(exchanges, "x-1", stream[position : position + size])
    assert exchanges._unfinished <= 1  # an LF that may still belong to the CR before it


@pytest.mark.parametrize("beginning", [b"data: 1", b'data: {"jsonrpc":', b"id: 7\n"])
def test_what_was_lost_is_blamed_on_nobody(beginning: bytes) -> None:
    """The event that was running when content was given up may have been complete."""
    seen = taken(Exchanges(), "x-1", REQUEST, HEAD, b"data:\n\n", beginning, LostPart("for a test"), END)
    redactor = Redactor()
    judge = Judge(rules_of(), Conversation(PROFILES["stable-2025-11-25"], True, True), redactor.show)
    redacted = [shown for observation in seen for shown in redactor.feed(observation)]
    for observation in seen:
        judge.feed(observation)
    assert "incomplete_sse_event" not in {finding.code for finding in judge.findings()}
    assert [type(observation) for observation in redacted] == [type(observation) for observation in seen]
    assert not redactor._streams
