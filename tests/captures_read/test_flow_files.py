"""Flow files that were written without the addon, that are damaged, and that hold other things."""

from __future__ import annotations

import io
import random
import weakref
from collections.abc import Iterable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mitmproxy.flow import Error, Flow
from mitmproxy.test import tflow

from mcp_wire.captures.flow_file import FlowFile
from mcp_wire.captures.replay import Index, replayed
from mcp_wire.captures.stored import Place, StoredExchange, UnreadableCapture
from mcp_wire.live.clock import TICK
from mcp_wire.live.exchange import Exchanges
from mcp_wire.live.parts import EndPart, Entry, HeadPart, RequestPart
from mcp_wire.wire.observation import Observation, RequestSeen, ResponseChunk, ResponseSeen
from tests.captures_read.sessions import STARTED_S, Spoken, flow_file, flow_of, session


def told(data: bytes) -> tuple[list[Observation], list[str]]:
    """What a file tells, and what of it was left out."""
    capture = FlowFile(io.BytesIO(data))
    index = Index(capture.places())
    exchanges = Exchanges()
    seen = [observation for entry in replayed(capture, index) for _, observation in exchanges.take(entry)]
    return seen, [str(one) for one in index.left_out]


def requests_in(seen: Iterable[Observation]) -> list[str]:
    return [str(one.body.value["method"]) for one in seen if isinstance(one, RequestSeen)]  # type: ignore[index,call-overload]


METHODS = ["initialize", "notifications/initialized", "tools/call"]


def test_a_session_in_the_order_of_time() -> None:
    seen, left_out = told(flow_file(map(flow_of, session())))
    assert requests_in(seen) == METHODS
    assert left_out == []
    (stream,) = [one for one in seen if isinstance(one, ResponseChunk)]
    assert stream.data == session()[2].response.encode()
    assert [one.boundaries_observed for one in seen if isinstance(one, ResponseSeen)][-1] is False


@given(st.permutations(range(3)))
@settings(max_examples=6)
def test_the_order_of_the_file_is_nothing(order: list[int]) -> None:
    flows = [flow_of(spoken) for spoken in session()]
    seen, _ = told(flow_file(flows[number] for number in order))
    assert seen == told(flow_file(flows))[0]


def test_a_flow_that_is_there_twice_counts_once() -> None:
    flows = [flow_of(spoken) for spoken in session()]
    assert told(flow_file([*flows, flows[0], flows[2]]))[0] == told(flow_file(flows))[0]


def test_overlapping_exchanges_are_taken_apart_by_time() -> None:
    around = session()[2]
    within = Spoken(
        "POST", {"jsonrpc": "2.0", "id": 2, "method": "ping"}, 202, times=(0.4, 0.5, 0.6), headers=around.headers
    )
    seen, _ = told(flow_file([flow_of(session()[0]), flow_of(within), flow_of(around)]))
    order = [(type(one).__name__, one.exchange) for one in seen]
    call, ping = (one.exchange for one in seen[3:] if isinstance(one, RequestSeen))
    assert order.index(("ResponseChunk", call)) < order.index(("RequestSeen", ping))
    assert order.index(("ExchangeEnded", ping)) < order.index(("ExchangeEnded", call))


def test_times_are_those_of_the_file() -> None:
    capture = FlowFile(io.BytesIO(flow_file(map(flow_of, session()))))
    entries = list(replayed(capture, Index(capture.places())))
    assert [at for _, at, part in entries if isinstance(part, RequestPart)] == [0, 200_000, 300_000]
    assert [at for _, at, part in entries if isinstance(part, HeadPart)] == [100_000, 210_000, 350_000]
    assert all(later - earlier >= TICK for (_, earlier, _), (_, later, _) in pairwise(entries))
    assert isinstance(entries[-1][2], EndPart)


def test_other_traffic_gets_silence() -> None:
    page = Spoken("GET", None, 200, "<html>", "text/html", path="/index.html")
    other = Spoken(
        "POST", {"jsonrpc": "2.0", "id": 1, "method": "eth_call"}, 200, "{}", "application/json", path="/rpc"
    )
    flows: list[Flow] = [flow_of(page), tflow.ttcpflow(), tflow.tdnsflow(), flow_of(other), tflow.twebsocketflow()]
    seen, left_out = told(flow_file([*flows, *map(flow_of, session())]))
    assert requests_in(seen) == METHODS
    assert left_out == []


def test_an_endpoint_is_known_by_its_answer() -> None:
    """The body of this request was not stored, but the answer to it names a session."""
    flow = flow_of(session()[0])
    flow.request.raw_content = None
    seen, _ = told(flow_file([flow, *map(flow_of, session()[1:])]))
    assert [one.body.is_captured for one in seen if isinstance(one, RequestSeen)] == [False, True, True]


# What cannot be read


def records(flows: Iterable[Flow]) -> list[bytes]:
    return [flow_file([flow]) for flow in flows]


def test_a_broken_flow_is_left_out_with_its_place() -> None:
    first, second, third = records(map(flow_of, session()))
    assert second.count(b"7:request;") == 1
    seen, left_out = told(first + second.replace(b"7:request;", b"7:requeXt;") + third)
    assert requests_in(seen) == ["initialize", "tools/call"]
    assert left_out == [f"flow 2, at byte {len(first)}: not a flow that this version of mitmproxy can read"]


def test_a_flow_of_a_later_version_is_left_out() -> None:
    first, second = records(map(flow_of, session()[:2]))
    at = second.index(b"7:version;2:") + len(b"7:version;2:")
    seen, left_out = told(first + second[:at] + b"99" + second[at + 2 :])
    assert requests_in(seen) == ["initialize"]
    assert len(left_out) == 1


@pytest.mark.parametrize("octets", [1, 2, 100, 1000])
def test_a_file_that_is_cut_off_tells_what_came_before(octets: int) -> None:
    first, second = records(map(flow_of, session()[:2]))
    seen, left_out = told((first + second)[:-octets])
    assert requests_in(seen) == ["initialize"]
    assert left_out == [f"flow 2, at byte {len(first)}: cut off or damaged; nothing behind it can be read"]


def test_a_length_beyond_reason_is_no_length() -> None:
    (first,) = records([flow_of(session()[0])])
    seen, left_out = told(first + b"999999999999:" + first)
    assert requests_in(seen) == ["initialize"]
    assert len(left_out) == 1


@pytest.mark.parametrize("seconds", [1e13, 1e30, -1e30, float("inf"), float("nan")])
def test_times_that_are_none_are_left_out(seconds: float) -> None:
    flows = [flow_of(spoken) for spoken in session()]
    flows[1].request.timestamp_end = seconds
    seen, left_out = told(flow_file(flows))
    assert requests_in(seen) == ["initialize", "tools/call"]
    assert len(left_out) == 1


def test_a_flow_that_is_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = records(map(flow_of, session()))
    monkeypatch.setattr("mcp_wire.captures.flow_file.MAX_FLOW_OCTETS", len(third) - 1)
    seen, left_out = told(first + second + third)
    assert requests_in(seen) == METHODS[:2]
    assert left_out[0].startswith(f"flow 3, at byte {len(first + second)}: larger than ")


@pytest.mark.parametrize("data", [b"", b"12:abc", b"5:hello,", b"3:abc;", b"0:}", b"10:" + b"x" * 10 + b"}"])
def test_what_holds_no_flow_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableCapture):
        told(data)


@given(st.integers(0, 2**32))
@settings(max_examples=150)
def test_damage_never_raises(seed: int) -> None:
    chooser = random.Random(seed)
    data = bytearray(DAMAGED)
    for _ in range(chooser.choice([1, 1, 3, 20])):
        place = chooser.randrange(len(data))
        match chooser.randrange(3):
            case 0:
                data[place] = chooser.randrange(256)
            case 1:
                del data[place : place + chooser.choice([1, 10, 1000])]
            case _:
                data[place:place] = chooser.choice([b"9", b":", b"}", b"0:~", b"\xff"])
    try:
        told(bytes(data))
    except UnreadableCapture:
        return


DAMAGED = flow_file(map(flow_of, session()))


# Flows of any order and kind


def test_the_order_of_the_file_does_not_matter() -> None:
    """mitmweb saves flows as they are sorted."""
    flows: list[Flow] = [flow_of(spoken) for spoken in session()]
    in_order = list(_entries(flows))
    assert len(in_order) > 6
    assert list(_entries([tflow.ttcpflow(), tflow.tudpflow(), *reversed(flows)])) == in_order


def test_what_mitmproxy_sent_itself_is_traffic() -> None:
    """Replayed by a client or from a file: the server, or the client, saw it all the same."""
    flows = [flow_of(spoken) for spoken in session()]
    in_order = list(_entries(flows))
    flows[1].is_replay, flows[2].is_replay = "request", "response"
    assert list(_entries(flows)) == in_order


def test_a_request_that_was_never_answered_is_told() -> None:
    flows = [flow_of(spoken) for spoken in session()]
    flows[2].response = None
    flows[2].error = Error("Connection refused", STARTED_S + 0.4)
    told_of = list(_entries(flows))[-2:]
    assert [type(part) for _, _, part in told_of] == [RequestPart, EndPart]
    assert [at for _, at, _ in told_of] == [300_000, 400_000]


def _entries(flows: Iterable[Flow]) -> Iterator[Entry]:
    capture = FlowFile(io.BytesIO(flow_file(flows)))
    return replayed(capture, Index(capture.places()))


def test_a_flow_that_still_runs_is_open() -> None:
    flow = flow_of(session()[2])
    assert flow.response is not None
    flow.response.timestamp_end = None
    entries = list(_entries([flow]))
    end = entries[-1][2]
    assert isinstance(end, EndPart)
    assert end.ending.ended == "open"


def test_nothing_is_kept_of_what_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exchanges one after the other: of those before the one that is read, nothing is in memory."""
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    spoken = [Spoken("POST", listing, 200, "{}", "application/json", (at, at + 0.1, at + 0.2)) for at in range(100)]
    capture = FlowFile(io.BytesIO(flow_file(map(flow_of, spoken))))
    index = Index(capture.places())
    alive: weakref.WeakSet[StoredExchange] = weakref.WeakSet()
    most = 0
    read = {place: capture.exchange(place) for place in index}

    def noted(self: FlowFile, place: Place) -> StoredExchange:
        nonlocal most
        stored = read[place]
        exchange = _Noted(stored.identity, stored.request, stored.parts, stored.recognised)
        alive.add(exchange)
        most = max(most, len(alive))
        return exchange

    monkeypatch.setattr(FlowFile, "exchange", noted)
    assert sum(isinstance(part, EndPart) for _, _, part in replayed(capture, index)) == len(spoken)
    assert most <= 2


class _Noted(StoredExchange):
    """Can be asked whether it is still there."""

    __slots__ = ("__weakref__",)
    __hash__ = object.__hash__
