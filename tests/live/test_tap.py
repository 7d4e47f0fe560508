"""What passes the proxy is what was sent, at once, and the observer is told of exactly that."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import socket
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest
from mitmproxy import http
from mitmproxy.io import FlowReader, FlowWriter

from mcp_wire.live.faults import Faults
from mcp_wire.live.marks import CHUNKS, RECEIVED, stored_chunks
from mcp_wire.live.parts import MAX_BODY_OCTETS, EndPart, HeadPart, RequestPart
from mcp_wire.wire.headers import NO_HEADERS
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    RequestSeen,
    ResponseChunk,
    ResponseSeen,
)
from tests.live.mcp import INITIALIZE, POST, RESULT
from tests.live.peers import EVENT_STREAM_HEAD, LAST_CHUNK, Answer, Received, Server, answer, ask, chunked, send
from tests.live.proxy import PATIENCE_S, Proxy, fresh_path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

EVENTS = [b"id: 1\ndata:\n\n", b": ping\r\n\r\n", b'id: 2\ndata: {"jsonrpc":"2.0",', b'"id":0,"result":{}}\n\n']
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server().running() as server:
        yield server


@pytest.fixture(scope="module")
def kept() -> KeepFlows:
    return KeepFlows()


@pytest.fixture(scope="module")
def overtaking() -> Overtake:
    return Overtake()


@pytest.fixture(scope="module")
def proxy(
    server: Server, kept: KeepFlows, overtaking: Overtake, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("proxy")
    modes = [f"reverse:http://127.0.0.1:{server.port}", "regular", "socks5"]
    with Proxy(modes, folder, before=[kept], after=[overtaking], mcp_output=str(folder / "output")).running() as proxy:
        yield proxy


class KeepFlows:
    """Another addon, before ours in the chain: what it sees at the end is what others are left with."""

    def __init__(self) -> None:
        self.flows: dict[str, http.HTTPFlow] = {}
        self.stream: Callable[[bytes], Any] | None = None
        self.answer: http.Response | None = None

    def request(self, flow: http.HTTPFlow) -> None:
        self.flows[flow.request.path] = flow
        if self.answer is not None:
            flow.response, self.answer = self.answer, None

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        if self.stream is not None:
            assert flow.response is not None
            flow.response.stream, self.stream = self.stream, None


class Overtake:
    """Another addon, behind ours in the chain: it puts something else in the place of our taps."""

    def __init__(self) -> None:
        self.request: Callable[[bytes], Any] | bool | None = None
        self.response: Callable[[bytes], Any] | bool | None = None

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if self.request is not None:
            flow.request.stream, self.request = self.request, None

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        if self.response is not None:
            assert flow.response is not None
            flow.response.stream, self.response = self.response, None


class Gzip:
    def __init__(self) -> None:
        self._object = zlib.compressobj(wbits=31)

    def __call__(self, data: bytes) -> bytes:
        return self._object.compress(data) + self._object.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._object.flush()


class Brotli:
    def __init__(self) -> None:
        self._object = brotli.Compressor()

    def __call__(self, data: bytes) -> bytes:
        return bytes(self._object.process(data) + self._object.flush())

    def end(self) -> bytes:
        return bytes(self._object.finish())


class Zstd:
    def __init__(self) -> None:
        self._object = zstd.ZstdCompressor()

    def __call__(self, data: bytes) -> bytes:
        return bytes(self._object.compress(data, zstd.ZstdCompressor.FLUSH_BLOCK))

    def end(self) -> bytes:
        return bytes(self._object.flush())


class Identity:
    def __call__(self, data: bytes) -> bytes:
        return data

    def end(self) -> bytes:
        return b""


CODINGS: dict[str, Any] = {"identity": Identity, "gzip": Gzip, "br": Brotli, "zstd": Zstd}


def post(proxy: Proxy, path: str) -> Answer:
    return ask(proxy.ports[0], "POST", path, POST, INITIALIZE)


@pytest.mark.parametrize("coding", CODINGS)
def test_chunks_pass_as_they_were_sent(server: Server, proxy: Proxy, coding: str) -> None:
    path = fresh_path()
    coder = CODINGS[coding]()
    wire = [coder(event) for event in EVENTS]
    tail = coder.end()
    encoding = b"" if coding == "identity" else b"Content-Encoding: %s\r\n" % coding.encode()
    received = threading.Semaphore(0)

    def script(request: Received) -> None:
        request.send(HEAD + b"Transfer-Encoding: chunked\r\n" + encoding + b"\r\n")
        for piece in wire:
            request.send(chunked(piece))
            assert received.acquire(timeout=PATIENCE_S)  # the next chunk leaves only when this one has arrived
        request.send(chunked(tail) if tail else b"", LAST_CHUNK)

    server.scripts[path] = script
    reply = post(proxy, path)
    for piece in wire:
        assert reply.reader.chunk() == piece
        received.release()
    assert list(reply.reader.chunks()) == ([tail] if tail else [])
    told = proxy.recorder.ended(path)
    assert told.chunks == EVENTS + ([b""] if tail else [])
    assert told.head.boundaries_observed
    assert told.bodies == []
    assert told.end is not None and told.end.ended is Ended.COMPLETE
    assert told.end.received_octets == sum(map(len, wire)) + len(tail)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("framing", ["length", "close"])
def test_other_framings_pass_at_once_too(server: Server, proxy: Proxy, coding: str, framing: str) -> None:
    path = fresh_path()
    coder = CODINGS[coding]()
    wire = [coder(event) for event in EVENTS]
    wire[-1] += coder.end()
    encoding = b"" if coding == "identity" else b"Content-Encoding: %s\r\n" % coding.encode()
    length = b"Content-Length: %d\r\n" % sum(map(len, wire)) if framing == "length" else b"Connection: close\r\n"
    received = threading.Semaphore(0)

    def script(request: Received) -> None:
        request.send(HEAD + length + encoding + b"\r\n")
        for piece in wire:
            request.send(piece)
            assert received.acquire(timeout=PATIENCE_S)
        if framing == "close":
            raise EOFError

    server.scripts[path] = script
    reply = post(proxy, path)
    for piece in wire:
        assert reply.reader.exactly(len(piece)) == piece
        received.release()
    told = proxy.recorder.ended(path)
    assert told.chunks == EVENTS
    assert told.end is not None
    assert told.end.ended is (Ended.COMPLETE if framing == "length" else Ended.SERVER_CLOSED)
    assert told.end.received_octets == sum(map(len, wire))


def test_times_order_every_observation(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    server.scripts[path] = lambda request: request.send(EVENT_STREAM_HEAD + chunked(*EVENTS) + LAST_CHUNK)
    assert list(post(proxy, path).reader.chunks()) == EVENTS
    told = proxy.recorder.ended(path)
    assert [type(observation) for observation in told.all] == [
        RequestSeen,
        ResponseSeen,
        *[ResponseChunk] * len(EVENTS),
        ExchangeEnded,
    ]
    times = [observation.t_ms for observation in told.all]
    assert all(later > earlier for earlier, later in pairwise(times))  # type: ignore[operator]
    assert all(time is not None and round(time * 1000) / 1000 == time for time in times)
    (origin,) = set(told.origins)
    assert origin.endpoint == f"http://127.0.0.1:{server.port}{path}"
    assert (origin.http_version, origin.tls) == ("HTTP/1.1", None)


def test_a_json_answer_is_not_held_back(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    halves = RESULT[:20], RESULT[20:]
    received = threading.Event()

    def script(request: Received) -> None:
        request.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        request.send(chunked(halves[0]))
        assert received.wait(PATIENCE_S)
        request.send(chunked(halves[1]), LAST_CHUNK)

    server.scripts[path] = script
    reply = post(proxy, path)
    assert reply.reader.chunk() == halves[0]
    received.set()
    assert list(reply.reader.chunks()) == [halves[1]]
    told = proxy.recorder.ended(path)
    assert told.body.body.value == json.loads(RESULT)
    assert told.chunks == []


@pytest.mark.parametrize("coding", CODINGS)
def test_a_json_answer_is_decoded(server: Server, proxy: Proxy, coding: str) -> None:
    path = fresh_path()
    coder = CODINGS[coding]()
    wire = coder(RESULT) + coder.end()
    encoding = b"" if coding == "identity" else b"Content-Encoding: %s\r\n" % coding.encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n" % (encoding, len(wire))
    server.scripts[path] = lambda request: request.send(head + wire)
    assert post(proxy, path).reader.exactly(len(wire)) == wire
    assert proxy.recorder.ended(path).body.body.value == json.loads(RESULT)


@pytest.mark.parametrize("limit", [None, "1", "10m"])
def test_streaming_does_not_depend_on_stream_large_bodies(server: Server, proxy: Proxy, limit: str | None) -> None:
    path = fresh_path()
    received = threading.Semaphore(0)

    def script(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD)
        for event in EVENTS:
            request.send(chunked(event))
            assert received.acquire(timeout=PATIENCE_S)
        request.send(LAST_CHUNK)

    server.scripts[path] = script
    with proxy.options(stream_large_bodies=limit):
        reply = post(proxy, path)
        for event in EVENTS:
            assert reply.reader.chunk() == event
            received.release()
        told = proxy.recorder.ended(path)
    assert told.chunks == EVENTS
    assert told.request.body.value == json.loads(INITIALIZE)
    assert server.requests[-1].body == INITIALIZE


def test_a_streamed_request_of_unknown_size_is_caught(server: Server, proxy: Proxy, kept: KeepFlows) -> None:
    path = fresh_path()
    server.scripts[path] = lambda request: request.send(EVENT_STREAM_HEAD + LAST_CHUNK)
    with proxy.options(stream_large_bodies="1"):
        body = chunked(INITIALIZE[:30], INITIALIZE[30:]) + LAST_CHUNK
        reply = ask(proxy.ports[0], "POST", path, {**POST, "Transfer-Encoding": "chunked"}, body)
        assert list(reply.reader.chunks()) == []
        told = proxy.recorder.ended(path)
    assert told.request.body.value == json.loads(INITIALIZE)
    assert server.requests[-1].body == INITIALIZE
    assert kept.flows[path].request.raw_content == INITIALIZE


def test_a_response_before_the_request_is_complete(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    first, rest = INITIALIZE[:30], INITIALIZE[30:]
    answered = threading.Event()
    seen: list[bytes] = []

    def listen() -> None:
        connection, _ = early.accept()
        with connection:
            while b"\r\n\r\n" not in b"".join(seen):
                seen.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            answered.wait(PATIENCE_S)

    with socket.create_server(("127.0.0.1", 0)) as early:
        threading.Thread(target=listen, daemon=True).start()
        path = f"http://127.0.0.1:{early.getsockname()[1]}{path}"
        endpoint = path.replace("127.0.0.1", "example.test")
        proxy.call(lambda: proxy.addon.recogniser.answered(endpoint, 200, NO_HEADERS))
        with proxy.options(stream_large_bodies="1"):
            connection = send(proxy.ports[1], "POST", path, {**POST, "Content-Length": str(len(INITIALIZE))})
            connection.sendall(first)
            reply = answer(connection)
            assert (reply.status, reply.reader.exactly(2)) == (413, b"no")
            told = proxy.recorder.ended("/" + path.split("/", 3)[3])
            connection.sendall(rest)
            answered.set()
            connection.close()
    assert not told.request.body.is_captured
    assert (told.head.status, told.body.body.text) == (413, "no")
    assert told.end is not None and told.end.ended is Ended.COMPLETE


@pytest.mark.parametrize("kind", [RequestPart, HeadPart, bytes, EndPart])
def test_a_judge_that_throws_costs_the_traffic_nothing(
    server: Server, proxy: Proxy, kind: type, caplog: pytest.LogCaptureFixture
) -> None:
    stream, json_path = fresh_path(), fresh_path()
    server.scripts[stream] = lambda request: request.send(EVENT_STREAM_HEAD + chunked(*EVENTS) + LAST_CHUNK)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(RESULT)
    server.scripts[json_path] = lambda request: request.send(head + RESULT)
    proxy.addon._faults = Faults()
    caplog.clear()
    proxy.recorder.throw_at = kind
    try:
        assert list(post(proxy, stream).reader.chunks()) == EVENTS
        assert post(proxy, json_path).reader.exactly(len(RESULT)) == RESULT
        assert proxy.recorder.ended(stream).chunks == EVENTS
        assert proxy.recorder.ended(json_path).body.body.value == json.loads(RESULT)
    finally:
        proxy.recorder.throw_at = None
    said = [record.getMessage() for record in caplog.records if "observer_error" in record.getMessage()]
    assert len(said) == 1 and "RuntimeError" in said[0] and "thrown for a test" not in said[0]


@pytest.mark.parametrize(
    ("coding", "wire", "decoded"),
    [
        ("gzip", EVENTS[0], b""),
        ("sdch", EVENTS[0], b""),
        ("gzip", gzip.compress(b"data: " + bytes(64 << 20), 9), None),
    ],
    ids=["malformed", "unknown", "bomb"],
)
def test_content_that_cannot_be_decoded_passes(
    server: Server, proxy: Proxy, coding: str, wire: bytes, decoded: bytes | None
) -> None:
    path = fresh_path()
    head = HEAD + b"Transfer-Encoding: chunked\r\nContent-Encoding: %s\r\n\r\n" % coding.encode()
    server.scripts[path] = lambda request: request.send(head + chunked(wire) + LAST_CHUNK)
    assert b"".join(post(proxy, path).reader.chunks()) == wire
    told = proxy.recorder.ended(path)
    assert not told.body.body.is_captured  # said once
    assert told.end is not None and told.end.received_octets == len(wire)
    if decoded is not None:
        assert b"".join(told.chunks) == decoded


@pytest.mark.slow
def test_an_event_of_64_mib(server: Server, proxy: Proxy, kept: KeepFlows) -> None:
    path = fresh_path()
    piece = b"0123456789abcdef" * 4096
    sent = hashlib.sha256()

    def script(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD)
        for data in [b"data: ", *[piece] * 1024, b"\n\n"]:
            sent.update(data)
            request.send(chunked(data))
        request.send(LAST_CHUNK)

    server.scripts[path] = script
    received = hashlib.sha256()
    for data in post(proxy, path).reader.chunks():
        received.update(data)
    told = proxy.recorder.ended(path)
    assert received.digest() == sent.digest()
    assert told.end is not None and told.end.received_octets == 64 * 1024 * 1024 + 8
    assert sum(map(len, told.chunks)) == told.end.received_octets or not told.body.body.is_captured
    stored = kept.flows[path].response.raw_content  # type: ignore[union-attr]
    assert stored is not None and MAX_BODY_OCTETS - len(piece) <= len(stored) <= MAX_BODY_OCTETS
    proxy.recorder.seen.clear()


def test_a_body_above_the_limit_is_not_captured(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    body = b" " * (MAX_BODY_OCTETS + 1)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    server.scripts[path] = lambda request: request.send(head + body)
    assert post(proxy, path).reader.exactly(len(body)) == body
    told = proxy.recorder.ended(path)
    assert not told.body.body.is_captured
    assert told.end is not None and told.end.received_octets == len(body)


def test_another_event_stream_is_not_held_back_and_gets_silence(server: Server, proxy: Proxy, kept: KeepFlows) -> None:
    path = fresh_path("/v1/chat/completions")
    events = [b'data: {"choices":[]}\n\n', b"data: [DONE]\n\n"]
    received = threading.Event()

    def script(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD, chunked(events[0]))
        assert received.wait(PATIENCE_S)
        request.send(chunked(events[1]), LAST_CHUNK)

    server.scripts[path] = script
    before = len(proxy.recorder.seen)
    reply = ask(proxy.ports[0], "POST", path, {"Content-Type": "application/json"}, b'{"stream":true}')
    assert reply.reader.chunk() == events[0]
    received.set()
    assert list(reply.reader.chunks()) == [events[1]]
    proxy.call(lambda: None)
    assert proxy.recorder.seen[before:] == []
    flow = kept.flows[path]
    assert flow.response is not None and flow.response.raw_content == b"".join(events)
    assert CHUNKS not in flow.metadata


def test_the_callable_of_another_addon_stays_in_force(server: Server, proxy: Proxy, kept: KeepFlows) -> None:
    path = fresh_path()

    def shout(data: bytes) -> Iterable[bytes]:
        return [data.upper()] if data else [b": end\n\n"]

    server.scripts[path] = lambda request: request.send(EVENT_STREAM_HEAD + chunked(*EVENTS) + LAST_CHUNK)
    kept.stream = shout
    assert list(post(proxy, path).reader.chunks()) == [*(event.upper() for event in EVENTS), b": end\n\n"]
    assert proxy.recorder.ended(path).chunks == EVENTS  # what the server sent is what is judged


def halves(data: bytes) -> list[bytes]:
    return [part for part in (data[:3], data[3:]) if part]


@pytest.mark.parametrize("stream", [False, True, halves])
@pytest.mark.parametrize("events", [False, True])
def test_what_another_addon_takes_over_is_not_captured_and_nobody_is_blamed(
    server: Server, proxy: Proxy, kept: KeepFlows, overtaking: Overtake, stream: Any, events: bool
) -> None:
    path = fresh_path()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(RESULT) + RESULT
    if events:
        answer = EVENT_STREAM_HEAD + chunked(*EVENTS) + LAST_CHUNK
    server.scripts[path] = lambda request: request.send(answer)
    overtaking.response = stream
    reply = post(proxy, path)
    body = b"".join(reply.reader.chunks()) if events else reply.reader.exactly(len(RESULT))
    assert body == (b"".join(EVENTS) if events else RESULT)
    told = proxy.recorder.ended(path)
    assert told.chunks == []
    whole = stream is False and not events
    if whole:
        assert told.body.body.value == json.loads(RESULT)
    else:
        assert told.body.body.absence == "another addon took the stream"
    assert told.end is not None
    assert (told.end.ended, told.end.received_octets) == (Ended.COMPLETE, len(RESULT) if whole else None)
    assert (kept.flows[path].metadata.get(RECEIVED), kept.flows[path].response.raw_content) == (  # type: ignore[union-attr]
        None,
        body if stream is False else None,
    )


def test_an_empty_answer_is_empty_whoever_streams_it(server: Server, proxy: Proxy, overtaking: Overtake) -> None:
    path = fresh_path()
    server.scripts[path] = lambda request: request.send(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
    overtaking.response = True
    assert post(proxy, path).status == 202
    told = proxy.recorder.ended(path)
    assert told.end is not None
    assert (told.body.body.text, told.end.received_octets) == ("", 0)


def test_a_request_that_another_addon_streams_is_not_captured(
    server: Server, proxy: Proxy, overtaking: Overtake
) -> None:
    path = fresh_path()
    length = b"Content-Length: %d\r\n\r\n" % len(RESULT)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s\r\n"
    server.scripts[path] = lambda request: request.send(head + length + RESULT)
    overtaking.request = True
    assert post(proxy, path).reader.exactly(len(RESULT)) == RESULT
    assert proxy.recorder.ended(path).request.body.absence == "it was streamed"


def test_an_answer_of_another_addon_is_judged_without_boundaries(server: Server, proxy: Proxy, kept: KeepFlows) -> None:
    path = fresh_path()
    kept.answer = http.Response.make(200, b"".join(EVENTS), {"Content-Type": "text/event-stream"})
    reply = post(proxy, path)
    assert reply.reader.exactly(len(b"".join(EVENTS))) == b"".join(EVENTS)
    told = proxy.recorder.ended(path)
    assert told.chunks == [b"".join(EVENTS)]
    assert not told.head.boundaries_observed
    assert told.end is not None and told.end.ended is Ended.COMPLETE


def test_what_is_left_with_the_flow_survives_a_file(server: Server, proxy: Proxy, kept: KeepFlows) -> None:
    path = fresh_path()
    server.scripts[path] = lambda request: request.send(EVENT_STREAM_HEAD + chunked(*EVENTS) + LAST_CHUNK)
    list(post(proxy, path).reader.chunks())
    told = proxy.recorder.ended(path)
    file = io.BytesIO()
    FlowWriter(file).add(kept.flows[path])  # type: ignore[no-untyped-call]
    file.seek(0)
    (flow,) = FlowReader(file).stream()
    assert isinstance(flow, http.HTTPFlow) and flow.response is not None
    assert flow.response.raw_content == b"".join(EVENTS)
    chunks, observed = stored_chunks(flow.response.raw_content, flow.metadata)
    assert observed
    assert [chunk.data for chunk in chunks] == EVENTS
    between = [later.t_ms - earlier.t_ms for earlier, later in pairwise(told.all[2:6])]  # type: ignore[operator]
    stored = [later.wall_us - earlier.wall_us for earlier, later in pairwise(chunks)]  # type: ignore[operator]
    assert [round(gap * 1000) for gap in between] == stored


def test_regular_mode_names_the_endpoint_that_the_client_asked_for(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    server.scripts[path] = lambda request: request.send(EVENT_STREAM_HEAD + chunked(*EVENTS) + LAST_CHUNK)
    url = f"http://localhost:{server.port}{path}"
    connection = send(proxy.ports[1], "POST", f"{url}?key=secret", {**POST, "Content-Length": str(len(INITIALIZE))})
    connection.sendall(INITIALIZE)
    assert list(answer(connection).reader.chunks()) == EVENTS
    told = proxy.recorder.ended(path)
    # The Host header that the helper sends is what the client called the server.
    assert told.origins[0].endpoint == f"http://example.test:{server.port}{path}"
    assert told.request.path == f"{path}?key=secret"


def test_transparent_modes_name_the_endpoint_by_its_host_header(server: Server, proxy: Proxy) -> None:
    """SOCKS has the same inner mode as the transparent and local modes: an address on the wire, a name in Host."""
    path = fresh_path()
    server.scripts[path] = lambda request: request.send(EVENT_STREAM_HEAD + chunked(*EVENTS) + LAST_CHUNK)
    with socket.create_connection(("127.0.0.1", proxy.ports[2])) as connection:
        connection.sendall(b"\x05\x01\x00")
        assert connection.recv(2) == b"\x05\x00"
        connection.sendall(b"\x05\x01\x00\x01\x7f\x00\x00\x01" + server.port.to_bytes(2, "big"))
        assert connection.recv(10)[:2] == b"\x05\x00"
        head = f"POST {path} HTTP/1.1\r\nHost: tools.test\r\nContent-Length: {len(INITIALIZE)}\r\n\r\n"
        connection.sendall(head.encode() + INITIALIZE)
        assert list(answer(connection).reader.chunks()) == EVENTS
    told = proxy.recorder.ended(path)
    assert told.chunks == EVENTS
    assert told.origins[0].endpoint == f"http://tools.test:{server.port}{path}"


def test_somebody_elses_large_upload_is_not_kept(server: Server, proxy: Proxy, kept: KeepFlows) -> None:
    path = fresh_path("/upload")
    server.scripts[path] = lambda request: request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    body = bytes(100_000)
    with proxy.options(stream_large_bodies="1k"):
        answered = ask(proxy.ports[0], "POST", path, {"Content-Type": "application/octet-stream"}, body)
        assert answered.reader.exactly(2) == b"ok"
    assert server.requests[-1].body == body
    assert kept.flows[path].request.raw_content is None


def test_header_octets_become_text_without_surrogates(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-A: \xc3\xa9\r\nx-b: \xe9\r\nX-A: 2\r\n"
    server.scripts[path] = lambda request: request.send(head + b"Content-Length: 0\r\n\r\n")
    assert post(proxy, path).status == 200
    told = proxy.recorder.ended(path)
    assert told.head.headers.raw == (
        ("Content-Type", "text/event-stream"),
        ("X-A", "é"),
        ("x-b", "é"),
        ("X-A", "2"),
        ("Content-Length", "0"),
    )
    assert told.chunks == []
    assert told.end is not None and (told.end.ended, told.end.received_octets) == (Ended.COMPLETE, 0)
