"""HAR files of five producers: two that were made by Chromium, one by mitmproxy's own code, and two built after what
Firefox and Charles write."""

from __future__ import annotations

import base64
import copy
import io
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_wire.captures.conversion import Conversion
from mcp_wire.captures.har import HarFile
from mcp_wire.captures.replay import Index, replayed
from mcp_wire.captures.stored import UnreadableCapture
from mcp_wire.live.directory import Origin
from mcp_wire.live.exchange import Exchanges
from mcp_wire.live.parts import MAX_PIECE_OCTETS
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from tests.captures_read.sessions import (
    SECRET,
    SESSION_ID,
    Json,
    charles_entry,
    chrome_entry,
    firefox_entry,
    har,
    mitmproxy_har,
    session,
)

DATA = Path(__file__).parent / "data"
METHODS = ["initialize", "notifications/initialized", "tools/call"]


def seen_in(data: bytes) -> tuple[list[tuple[Origin, Observation]], list[str]]:
    capture = HarFile(io.BytesIO(data))
    index = Index(capture.places())
    exchanges = Exchanges()
    seen = [one for entry in replayed(capture, index) for one in exchanges.take(entry)]
    return seen, [str(one) for one in index.left_out]


def told(data: bytes) -> list[Observation]:
    seen, left_out = seen_in(data)
    assert left_out == []
    return [observation for _, observation in seen]


def of[Kind: Observation](kind: type[Kind], observations: Iterable[Observation]) -> list[Kind]:
    return [one for one in observations if isinstance(one, kind)]


def methods(observations: Iterable[Observation]) -> list[object]:
    return [one.body.value.get("method") for one in of(RequestSeen, observations) if isinstance(one.body.value, dict)]


PRODUCERS: dict[str, Callable[[], bytes]] = {
    "chrome": lambda: har("WebInspector", map(chrome_entry, session())),
    "firefox": lambda: har("Firefox", map(firefox_entry, session())),
    "charles": lambda: har("Charles Proxy", map(charles_entry, session())),
    "mitmproxy": lambda: mitmproxy_har(session()),
    "a real DevTools": lambda: (DATA / "devtools.har").read_bytes(),
    "a real Playwright": lambda: (DATA / "playwright.har").read_bytes(),
}
BUILT = [name for name in PRODUCERS if not name.startswith("a real")]


@pytest.mark.parametrize("producer", PRODUCERS)
def test_every_producer_tells_the_session(producer: str) -> None:
    observations = told(PRODUCERS[producer]())
    assert methods(observations) == METHODS
    requests = of(RequestSeen, observations)
    assert json.dumps(requests[2].body.value, ensure_ascii=False) == session()[2].body.decode()
    assert [one.status for one in of(ResponseSeen, observations)] == [200, 202, 200]
    stream = b"".join(one.data for one in of(ResponseChunk, observations))
    assert stream.decode() == session()[2].response
    assert [one.body.is_captured for one in of(ResponseBody, observations)] == [True, True]
    assert of(ResponseSeen, observations)[2].boundaries_observed is False
    assert all(name[0] != ":" for one in requests for name, _ in one.headers)


@pytest.mark.parametrize("producer", PRODUCERS)
def test_nothing_is_found_in_a_session_without_fault(producer: str, tmp_path: Path) -> None:
    capture = HarFile(io.BytesIO(PRODUCERS[producer]()))
    with Conversion(tmp_path) as conversion:
        (converted,) = conversion.convert("session", capture, Index(capture.places()))
        conversion.commit()
    assert converted.name == "session.stable-2025-11-25.endpoint-1.session-1.json"
    assert converted.exchanges == 3
    assert converted.report.findings == ()
    text = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not [secret for secret in (SECRET, SESSION_ID, "Grüße") if secret.encode() in text]


@pytest.mark.parametrize("producer", BUILT)
def test_times(producer: str) -> None:
    observations = told(PRODUCERS[producer]())
    begun = [round(one.t_ms or 0) for one in of(RequestSeen, observations)]
    assert begun == [0, 200, 300]
    # A millisecond early at most: see the next test.
    for one, (_, answered, _) in zip(of(ResponseSeen, observations), (one.times for one in session()), strict=True):
        assert answered * 1000 - 1 <= (one.t_ms or 0) <= answered * 1000 + 0.01


def test_what_followed_at_once_did_not_overlap() -> None:
    """Dates are cut to milliseconds: the second request seems to come half a millisecond before the first's answer."""
    first, second, _ = map(chrome_entry, session())
    first["startedDateTime"], first["timings"] = "2026-01-01T00:00:00.100Z", {"send": 0, "wait": 10, "receive": 3.5}
    second["startedDateTime"], second["timings"] = "2026-01-01T00:00:00.113Z", {"send": 0, "wait": 1, "receive": 0}
    kinds = [(type(one).__name__, one.exchange) for one in told(har("WebInspector", [second, first]))]
    assert kinds.index(("ExchangeEnded", "x-1")) < kinds.index(("RequestSeen", "x-2"))


def test_precise_dates_are_taken_at_their_word() -> None:
    (entry,) = json.loads(mitmproxy_har(session()[:1]))["log"]["entries"]
    entry["startedDateTime"] = "2026-01-01T00:00:00.100001+00:00"
    observations = told(har("mitmproxy", [entry]))
    assert [round(one.t_ms or 0, 3) for one in observations] == [0, 99.999, 109.999, 110.0]


def test_versions_of_http() -> None:
    versions = {"h2": "HTTP/2.0", "HTTP/2": "HTTP/2.0", "http/1.1": "HTTP/1.1", "h3": "HTTP/3", "HTTP/1.0": "HTTP/1.0"}
    for written, read in (*versions.items(), ("unknown", None), (None, None)):
        entry = chrome_entry(session()[0])
        entry["request"]["httpVersion"] = written
        (request,) = of(RequestSeen, told(har("WebInspector", [entry])))
        assert request.http_version == (read or ""), written


def test_the_connection_of_chrome_is_one_and_the_port_of_firefox_is_none() -> None:
    chrome = {origin.connection for origin, _ in seen_in(PRODUCERS["chrome"]())[0]}
    assert chrome == {"connection-12"}
    firefox = {origin.connection for origin, _ in seen_in(PRODUCERS["firefox"]())[0]}
    assert len(firefox) == 3
    (origin,) = {origin.endpoint for origin, _ in seen_in(PRODUCERS["charles"]())[0]}
    assert origin == "https://mcp.example.com:443/mcp"


# Headers


def test_lines_of_one_header_and_pairs() -> None:
    entry = chrome_entry(session()[0])
    entry["response"]["headers"] += [{"name": "Vary", "value": "Origin\nAccept"}, {"name": "X-Odd", "value": None}]
    entry["request"]["headers"] = [[one["name"], one["value"]] for one in entry["request"]["headers"]]
    observations = told(har("WebInspector", [entry]))
    (head,) = of(ResponseSeen, observations)
    assert head.headers.all("vary") == ("Origin", "Accept")
    assert head.headers.get("x-odd") == ""
    (request,) = of(RequestSeen, observations)
    assert request.headers.get("accept") == "application/json, text/event-stream"


# Bodies


def streamed(content: Json, headers: dict[str, str] | None = None, creator: str = "x") -> list[Observation]:
    entry = firefox_entry(session()[2])
    entry["response"]["content"] = content
    entry["response"]["headers"] += [{"name": name, "value": value} for name, value in (headers or {}).items()]
    return told(har(creator, [entry]))


def answered(content: Json | None, status: int = 200, headers: dict[str, str] | None = None) -> ResponseBody:
    entry = firefox_entry(session()[0])
    entry["response"] |= {"content": content, "status": status}
    entry["response"]["headers"] += [{"name": name, "value": value} for name, value in (headers or {}).items()]
    (body,) = of(ResponseBody, told(har("x", [entry])))
    return body


def test_content_encoding_is_undone_already() -> None:
    chunks = of(ResponseChunk, streamed({"text": "data: {}\n\n"}, {"Content-Encoding": "gzip"}))
    assert [chunk.data for chunk in chunks] == [b"data: {}\n\n"]
    entry = firefox_entry(session()[0])
    entry["request"]["headers"].append({"name": "Content-Encoding", "value": "gzip"})
    assert methods(told(har("x", [entry]))) == ["initialize"]


def test_a_long_stream_is_judged_in_pieces() -> None:
    """So that not all of its events are in memory at once."""
    text = "data: é\n\n" * 300_000
    pieces = [chunk.data for chunk in of(ResponseChunk, streamed({"text": text}))]
    assert b"".join(pieces) == text.encode()
    assert [len(piece) <= MAX_PIECE_OCTETS and piece.endswith(b"\n") for piece in pieces] == [True, True, True]
    endless = "x" * (MAX_PIECE_OCTETS + 1)
    assert [len(chunk.data) for chunk in of(ResponseChunk, streamed({"text": endless}))] == [MAX_PIECE_OCTETS, 1]


def test_base64() -> None:
    body = base64.b64encode('data: "é"\n\n'.encode()).decode()
    (chunk,) = of(ResponseChunk, streamed({"text": body, "encoding": "base64"}))
    assert of(ResponseChunk, streamed({"text": f"{body[:8]}\r\n{body[8:]}\n", "encoding": "base64"})) == [chunk]
    assert chunk.data == 'data: "é"\n\n'.encode()


@pytest.mark.parametrize(
    "content", [None, {}, {"size": 0}, {"size": 500, "mimeType": "text/event-stream"}, {"text": ""}]
)
def test_a_stream_that_is_not_there_was_not_captured(content: Any) -> None:
    observations = streamed(content)
    assert of(ResponseChunk, observations) == []
    (lost,) = of(ResponseBody, observations)
    assert lost.body.absence == "the file does not hold it"


@pytest.mark.parametrize(
    ("content", "status", "headers", "is_captured"),
    [
        ({"size": 0, "text": ""}, 202, {}, True),
        ({"size": 0, "text": ""}, 200, {"Content-Length": "500"}, False),
        ({"size": 500}, 200, {}, False),
        ({"size": -1}, 200, {}, False),
        (None, 204, {}, True),
        (None, 200, {"Content-Length": "0"}, True),
        ({"size": 2, "text": "{}"}, 200, {}, True),
        ({"size": 900, "text": "{}"}, 200, {}, False),
        ({"size": 900, "text": "{}"}, 200, {"Content-Encoding": "gzip"}, True),
    ],
)
def test_an_empty_body_is_told_from_a_missing_one(
    content: Any, status: int, headers: dict[str, str], is_captured: bool
) -> None:
    assert answered(content, status, headers).body.is_captured is is_captured


def test_mitmproxy_writes_the_same_for_missing_and_empty() -> None:
    entry = json.loads(mitmproxy_har(session()[:1]))["log"]["entries"][0]
    entry["response"]["content"] |= {"size": 0, "text": ""}
    (body,) = of(ResponseBody, told(har("mitmproxy", [entry])))
    assert not body.body.is_captured


def test_requests_without_their_body() -> None:
    for posted, is_captured in (
        ({}, False),
        ({"text": ""}, False),
        ({"params": [{"name": "a"}]}, False),
        (None, False),
    ):
        entry = firefox_entry(session()[1])
        entry["request"]["postData"] = posted
        (request,) = of(RequestSeen, told(har("x", [entry])))
        assert request.body.is_captured is is_captured, posted
    for method, is_captured in (("GET", True), ("DELETE", True), ("POST", False)):
        entry = firefox_entry(session()[1])
        entry["request"] |= {"method": method}
        del entry["request"]["postData"]
        (request,) = of(RequestSeen, told(har("x", [entry])))
        assert request.body.is_captured is is_captured, method


@pytest.mark.parametrize(
    ("text", "octets"),
    [
        ("data: naïve 文字\n\n", "data: naïve 文字\n\n".encode()),
        ("data: é\n\n", "data: é\n\n".encode()),
        ("data: Ã©\n\n", "data: é\n\n".encode()),
        ("data: \u0081 €\n\n", "data: \u0081 €\n\n".encode()),
        ("data: \ud83d\n\n", "data: \ufffd\n\n".encode()),
    ],
)
def test_streams_without_charset(text: str, octets: bytes) -> None:
    entry = firefox_entry(session()[2])
    entry["response"]["content"] = {"text": text}
    (chunk,) = of(ResponseChunk, told(json.dumps({"log": {"entries": [entry]}}).encode()))
    assert chunk.data == octets


def test_a_charset_is_taken_at_its_word() -> None:
    entry = firefox_entry(session()[2])
    entry["response"]["headers"] = [{"name": "Content-Type", "value": "text/event-stream; charset=utf-8"}]
    entry["response"]["content"] = {"text": "data: Ã©\n\n"}
    (chunk,) = of(ResponseChunk, told(har("x", [entry])))
    assert chunk.data == "data: Ã©\n\n".encode()


@pytest.mark.parametrize("raw", [b"data: \xff\xfe\n\n", "data: é\n\n".encode(), b"data: \x80\n\n"])
def test_octets_come_back_through_mitmproxy(raw: bytes) -> None:
    spoken = session()[2]
    flow_har = json.loads(mitmproxy_har([spoken]))
    content = flow_har["log"]["entries"][0]["response"]["content"]
    content["text"] = raw.decode("latin-1")
    (chunk,) = of(ResponseChunk, told(json.dumps(flow_har).encode()))
    assert chunk.data == raw


# Members that begin with _


def test_times_of_events_from_chrome() -> None:
    entry = chrome_entry(session()[2])
    entry["_eventSourceMessages"] = [
        {"time": 1_700_000_000.4, "eventName": "message", "eventId": "e-1", "data": ""},
        {"time": 1_700_000_000.9, "eventName": "message", "eventId": "e-2", "data": "…"},
    ]
    chunks = of(ResponseChunk, told(har("WebInspector", [entry])))
    assert [chunk.data.partition(b"\n")[0] for chunk in chunks] == [b"id: e-1", b"id: e-2"]
    assert [round(chunk.t_ms or 0) for chunk in chunks] == [100, 600]
    for damaged in ([], [{"time": 1}], [{"time": None}, {"time": 1}], [1, 2], "x"):
        entry["_eventSourceMessages"] = damaged
        assert len(of(ResponseChunk, told(har("WebInspector", [entry])))) == 1


def test_chunks_of_our_own_report() -> None:
    entry = firefox_entry(session()[2])
    octets = len(session()[2].response.encode())
    entry |= {"_startedMs": 300, "_chunkBoundaries": "observed"}
    entry["_chunks"] = [{"t_ms": 380, "octets": 10}, {"t_ms": 900, "octets": octets - 10}]
    observations = told(har("mcp-conformance", [entry]))
    chunks = of(ResponseChunk, observations)
    assert [len(chunk.data) for chunk in chunks] == [10, octets - 10]
    assert [round(chunk.t_ms or 0) for chunk in chunks] == [80, 600]
    assert of(ResponseSeen, observations)[0].boundaries_observed
    entry["_chunks"][0]["octets"] += 1
    assert len(of(ResponseChunk, told(har("mcp-conformance", [entry])))) == 1


@pytest.mark.parametrize(
    ("members", "ended"),
    [
        ({"_charlesStatus": "COMPLETE"}, Ended.COMPLETE),
        ({"_charlesStatus": "EXCEPTION"}, None),
        ({"_error": "net::ERR_INCOMPLETE_CHUNKED_ENCODING"}, Ended.SERVER_CLOSED),
        ({"_failureText": "net::ERR_ABORTED"}, Ended.CLIENT_CLOSED),
        ({"_error": "net::ERR_SOMETHING_NEW"}, None),
        ({"_error": None}, None),
        ({}, None),
    ],
)
def test_endings(members: Json, ended: Ended | None) -> None:
    entry = firefox_entry(session()[2])
    entry["response"] |= members
    (end,) = of(ExchangeEnded, told(har("x", [entry])))
    assert end.ended is ended


def test_a_request_that_was_not_answered() -> None:
    for response in (None, {}, {"status": 0, "headers": [], "content": {}, "_error": "net::ERR_FAILED"}):
        entry = firefox_entry(session()[0])
        entry["response"] = response
        assert [type(one).__name__ for one in told(har("x", [entry]))] == ["RequestSeen", "ExchangeEnded"]


# The file


def test_who_wrote_it_may_stand_at_the_end() -> None:
    made = json.loads(mitmproxy_har(session()))
    creator = made["log"].pop("creator")
    made["log"]["creator"] = creator
    assert told(json.dumps(made).encode()) == told(mitmproxy_har(session()))


def test_a_byte_order_mark_and_other_members() -> None:
    log = json.loads(PRODUCERS["firefox"]())["log"]
    text = json.dumps({"_comment": [{"log": 1}], "log": {"entries": 7, "pages": [{"entries": []}]} | log, "x": None})
    assert told(b"\xef\xbb\xbf" + text.encode()) == told(PRODUCERS["firefox"]())


def test_what_is_not_http_is_not_missed() -> None:
    others = [firefox_entry(session()[0]) for _ in range(3)]
    for entry, url in zip(
        others, ("data:text/plain,x", "wss://mcp.example.com/", "chrome-extension://x/y"), strict=True
    ):
        entry["request"]["url"] = url
    assert methods(told(har("x", [*others, firefox_entry(session()[0])]))) == ["initialize"]


def broken(change: Callable[[Json], Any]) -> Json:
    entry = firefox_entry(session()[1])
    change(entry)
    return entry


BROKEN: dict[str, tuple[Callable[[Json], Any], str]] = {
    "no date": (lambda entry: entry.pop("startedDateTime"), "it has no startedDateTime"),
    "no such date": (lambda entry: entry.update(startedDateTime="yesterday"), "its startedDateTime is no date"),
    "no request": (lambda entry: entry.update(request=None), "it has no request"),
    "no method": (lambda entry: entry["request"].pop("method"), "its request has no method"),
    "no URL": (lambda entry: entry["request"].pop("url"), "its request has no URL"),
    "no such URL": (lambda entry: entry["request"].update(url="http://[x/"), "the URL of its request is none"),
    "no such port": (lambda entry: entry["request"].update(url="http://x:99999/"), "the URL of its request is none"),
    "no headers": (lambda entry: entry["response"].pop("headers"), "it has no headers"),
    "no such header": (
        lambda entry: entry["request"].update(headers=[{"name": 1, "value": "x"}]),
        "a header in it is none",
    ),
    "no such pair": (lambda entry: entry["request"].update(headers=[["x"]]), "a header in it is none"),
    "nothing of base64": (
        lambda entry: entry["response"]["content"].update(text="%%%%", encoding="base64"),
        "a body in it is said to be base64, and is none",
    ),
    "no base64": (
        lambda entry: entry["response"]["content"].update(text="é", encoding="base64"),
        "a body in it is said to be base64, and is none",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_entry_is_left_out_with_its_place(what: str) -> None:
    change, why = BROKEN[what]
    first, _, third = map(firefox_entry, session())
    data = har("x", [first, broken(change), third])
    seen, left_out = seen_in(data)
    assert methods(observation for _, observation in seen) == ["initialize", "tools/call"]
    offset = data.index(b"{", data.index(b'"connection": "443"')) if what != "no request" else None
    assert left_out[0].startswith(f"entry 2, at byte {offset}: " if offset else "entry 2, at byte ")
    assert left_out == [left_out[0]]
    assert left_out[0].endswith(why)


def test_an_entry_that_is_no_json_costs_itself() -> None:
    data = har("x", map(firefox_entry, session())).replace(b'"method": "POST"', b'"method": P0ST', 2)
    data = data.replace(b'"method": P0ST', b'"method": "POST"', 1)
    seen, left_out = seen_in(data)
    assert methods(observation for _, observation in seen) == ["initialize", "tools/call"]
    assert [one.partition(": ")[2] for one in left_out] == ["it is no JSON"]


def test_octets_that_are_not_utf8() -> None:
    data = har("x", map(firefox_entry, session())).replace(b"secure", b"\xff", 1)
    seen, left_out = seen_in(data)
    assert methods(observation for _, observation in seen) == METHODS[1:]
    assert [one.partition(": ")[2] for one in left_out] == ["it is not UTF-8"]


@pytest.mark.parametrize("share", [0.35, 0.6, 0.9, 0.999])
def test_a_truncated_file_tells_what_came_before(share: float) -> None:
    later = [
        replace(one, times=(at + times[0], at + times[1], at + times[2]))
        for at in (0, 10, 20, 30)
        for one in session()
        for times in [one.times]
    ]
    whole = har("x", map(firefox_entry, later))
    data = whole[: int(len(whole) * share)]
    seen, left_out = seen_in(data)
    complete = data.count(b'"connection": "443"')
    assert len(of(RequestSeen, [one for _, one in seen])) in (complete, complete - 1)
    assert len(left_out) == 1
    assert left_out[0].endswith("cut off or damaged; nothing follows")


def test_an_entry_that_is_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [firefox_entry(spoken) for spoken in session()]
    entries[1]["comment"] = "x" * 10_000
    monkeypatch.setattr("mcp_wire.captures.har.MAX_ENTRY_OCTETS", 8_000)
    seen, left_out = seen_in(har("x", entries))
    assert methods(observation for _, observation in seen) == ["initialize", "tools/call"]
    assert left_out[0].endswith(": larger than 0 MiB")


@pytest.mark.parametrize(
    "data",
    [b"{}", b'{"log": 1}', b'{"log": {"entries": {}}}', b'{"log"', b'{"log": {"entries": [', b"[]", b"", b"{"],
)
def test_what_is_no_har_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableCapture):
        seen_in(data)


def test_a_har_without_entries_tells_nothing() -> None:
    assert told(har("x", [])) == []


@given(st.integers(0, 2**32))
@settings(max_examples=200)
def test_damage_never_raises(seed: int) -> None:
    chooser = random.Random(seed)
    data = bytearray(chooser.choice(DAMAGED))
    for _ in range(chooser.choice([1, 1, 3, 20])):
        place = chooser.randrange(len(data))
        match chooser.randrange(3):
            case 0:
                data[place] = chooser.randrange(256)
            case 1:
                del data[place : place + chooser.choice([1, 10, 1000])]
            case _:
                data[place:place] = chooser.choice([b"9", b'"', b"}", b"null", b"\\", b"\xff", b"[" * 5000])
    try:
        seen_in(bytes(data))
    except UnreadableCapture:
        return


DAMAGED = [PRODUCERS[name]() for name in BUILT]


@given(st.integers(0, 2**32))
@settings(max_examples=200)
def test_members_of_any_type_never_raise(seed: int) -> None:
    chooser = random.Random(seed)
    entry = copy.deepcopy(chooser.choice(ENTRIES))
    for _ in range(chooser.choice([1, 2, 5])):
        part: Any = entry
        while True:
            key = chooser.choice(list(part)) if isinstance(part, dict) else chooser.randrange(len(part))
            if isinstance(part[key], dict | list) and part[key] and chooser.random() < 0.7:
                part = part[key]
                continue
            part[key] = chooser.choice([None, True, -1, 0, 1e308, 10**30, "", "x", [], {}, [[]], {"text": 1}, "9" * 50])
            break
    observations, left_out = seen_in(har("mitmproxy", [entry, firefox_entry(session()[0])]))
    times = [one.t_ms or 0.0 for _, one in observations]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert len(left_out) <= 1


ENTRIES = [make(spoken) for make in (chrome_entry, firefox_entry, charles_entry) for spoken in session()]


def test_times_out_of_all_proportion() -> None:
    entry = firefox_entry(session()[0])
    entry["timings"] = {"send": 1e300, "wait": float("inf"), "receive": -5}
    observations = told(json.dumps({"log": {"entries": [entry]}}).encode())
    assert [round(one.t_ms or 0, 3) for one in observations] == [0, 0.002, 0.004, 0.005]
