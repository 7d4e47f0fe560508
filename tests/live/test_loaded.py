"""Flow files: what was recorded is judged as it was when it passed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import connection, http
from mitmproxy.flow import Error
from mitmproxy.io import FlowWriter

from mcp_wire.live import endings, marks
from mcp_wire.live.marks import CHUNKS, ENDED, MARK, RECEIVED, StoredChunk, stored_chunks, stored_ending
from mcp_wire.wire.observation import Ended, Observation
from tests.live.mcp import GET, INITIALIZE, POST, RESULT
from tests.live.peers import EVENT_STREAM_HEAD, LAST_CHUNK, Received, Server, ask, chunked
from tests.live.proxy import PATIENCE_S, Proxy, Recorder

EVENTS = [b"id: 1\ndata:\n\n", b'id: 2\ndata: {"jsonrpc":"2.0",', b'"id":0,"result":{}}\n\n']
REPOSITORY = Path(__file__).resolve().parents[2]
MITMDUMP = Path(sys.executable).parent / "mitmdump"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Recorder, int]:
    """A file of overlapping flows, what was told of them live, and the port that the server had."""
    folder = tmp_path_factory.mktemp("recorded")
    posted, over = threading.Event(), threading.Event()

    def post(request: Received) -> None:
        if b'"initialize"' in request.body:
            request.send(EVENT_STREAM_HEAD, *(chunked(event) for event in EVENTS), LAST_CHUNK)
        else:
            request.send(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")

    def get(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD, chunked(EVENTS[0]))
        assert posted.wait(PATIENCE_S)
        request.send(chunked(b": still here\n\n"))
        over.wait(PATIENCE_S)

    def cut(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD, chunked(EVENTS[0]))
        raise EOFError

    with Server().running() as server:
        server.scripts["/mcp"] = lambda request: get(request) if request.method == "GET" else post(request)
        server.scripts["/cut"] = cut
        proxy = Proxy([f"reverse:http://127.0.0.1:{server.port}"], folder, save_stream_file=str(folder / "flows"))
        with proxy.running():
            list(ask(proxy.ports[0], "POST", "/mcp", POST, INITIALIZE).reader.chunks())
            stream = ask(proxy.ports[0], "GET", "/mcp", GET)
            assert stream.reader.chunk() == EVENTS[0]
            ready = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
            assert ask(proxy.ports[0], "POST", "/mcp", POST, ready).status == 202
            posted.set()
            assert stream.reader.chunk() == b": still here\n\n"
            broken = ask(proxy.ports[0], "POST", "/cut", POST, INITIALIZE)
            assert broken.reader.chunk() == EVENTS[0]
            proxy.recorder.ended("/cut")
        over.set()
        return folder / "flows", proxy.recorder, server.port


def comparable(recorder: Recorder) -> list[tuple[Any, ...]]:
    """Everything that was told, in order, without clock times and names of connections."""
    return [
        (
            origin.endpoint,
            type(observation).__name__,
            *(getattr(observation, field.name) for field in fields(observation) if field.name != "t_ms"),
        )
        for origin, observation in recorder.seen
    ]


def times_of(observations: list[Observation]) -> list[int]:
    """In microseconds since the first of them; a file's own times lie before the clock of the run that reads it."""
    times = [round((observation.t_ms or 0.0) * 1000) for observation in observations]
    return [time - times[0] for time in times]


def test_a_file_tells_what_was_told_live(recorded: tuple[Path, Recorder, int], tmp_path: Path) -> None:
    file, live, _ = recorded
    again = Proxy(["regular"], tmp_path, rfile=str(file))
    with again.running():
        pass
    assert comparable(again.recorder) == comparable(live)
    times = times_of([observation for _, observation in again.recorder.seen])
    assert all(later > earlier for earlier, later in pairwise(times))
    assert all(observation.t_ms is not None and observation.t_ms < 0 for _, observation in again.recorder.seen)


def test_the_same_file_twice_is_the_same_to_the_microsecond(
    recorded: tuple[Path, Recorder, int], tmp_path: Path
) -> None:
    tellings = []
    for number in range(2):
        again = Proxy(["regular"], tmp_path / str(number), rfile=str(recorded[0]))
        with again.running():
            pass
        tellings.append((comparable(again.recorder), times_of([seen for _, seen in again.recorder.seen])))
    assert tellings[0] == tellings[1]


def test_mitmdump_reads_a_file_and_writes_transcripts(recorded: tuple[Path, Recorder, int], tmp_path: Path) -> None:
    command: list[str | Path] = [MITMDUMP, "-s", REPOSITORY / "addon" / "mcp_conformance.py", "-nr", recorded[0]]
    command += ["--set", f"confdir={tmp_path / 'authority'}", "--set", f"mcp_output={tmp_path / 'output'}"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    transcripts = [json.loads(path.read_text()) for path in (tmp_path / "output" / "transcripts").iterdir()]
    exchanges = [exchange for transcript in transcripts for exchange in transcript["exchanges"]]
    assert sorted(exchange["response"].get("ended", "") for exchange in exchanges) == [
        "complete",
        "complete",
        "open",
        "server_closed",
    ]
    (first,) = [exchange for exchange in exchanges if len(exchange["response"].get("chunks", ())) == len(EVENTS)]
    assert first["response"].get("chunk_boundaries", "observed") == "observed"


# Files that were recorded without this addon


def flow_of(**changes: Any) -> http.HTTPFlow:
    client = connection.Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2))
    flow = http.HTTPFlow(client, connection.Server(address=("127.0.0.1", 3)))
    flow.request = http.Request.make("POST", "http://127.0.0.1:3/mcp", INITIALIZE, [*_lines(POST)])
    flow.request.timestamp_start, flow.request.timestamp_end = 100.0, 100.5
    flow.response = http.Response.make(200, RESULT, {"Content-Type": "application/json"})
    flow.response.timestamp_start, flow.response.timestamp_end = 101.0, 102.0
    for name, value in changes.items():
        setattr(flow, name, value)
    return flow


def _lines(headers: dict[str, str]) -> Iterator[tuple[bytes, bytes]]:
    for name, value in headers.items():
        yield name.encode(), value.encode()


def load(tmp_path: Path, *flows: http.HTTPFlow) -> Recorder:
    file = tmp_path / "flows"
    with file.open("wb") as handle:
        writer = FlowWriter(handle)  # type: ignore[no-untyped-call]
        for flow in flows:
            writer.add(flow)
    proxy = Proxy(["regular"], tmp_path / "authority", rfile=str(file))
    with proxy.running():
        pass
    return proxy.recorder


def test_a_stored_answer(tmp_path: Path) -> None:
    told = load(tmp_path, flow_of()).of("/mcp")
    assert told.body.body.value == json.loads(RESULT)
    assert times_of(told.all) == [0, 500_000, 1_500_000, 1_500_001]
    assert told.end is not None and told.end.ended is Ended.COMPLETE
    assert told.end.received_octets == len(RESULT)


def test_a_stored_stream_has_no_boundaries(tmp_path: Path) -> None:
    flow = flow_of()
    flow.response = http.Response.make(200, b"".join(EVENTS), {"Content-Type": "text/event-stream"})
    told = load(tmp_path, flow).of("/mcp")
    assert told.chunks == [b"".join(EVENTS)]
    assert not told.head.boundaries_observed


def test_a_stream_that_was_not_stored(tmp_path: Path) -> None:
    flow = flow_of(error=Error("Client disconnected.", 103.0))
    flow.response = http.Response.make(200, b"", {"Content-Type": "text/event-stream"})
    flow.response.raw_content = None
    flow.response.timestamp_end = None
    told = load(tmp_path, flow).of("/mcp")
    assert told.chunks == []
    assert not told.body.body.is_captured
    assert told.end is not None and told.end.ended is Ended.CLIENT_CLOSED


def test_a_request_that_was_not_stored(tmp_path: Path) -> None:
    flow = flow_of()
    flow.request.headers["Mcp-Session-Id"] = "s"
    flow.request.raw_content = None
    told = load(tmp_path, flow).of("/mcp")
    assert not told.request.body.is_captured


def test_flows_are_taken_apart_by_time(tmp_path: Path) -> None:
    late, early = flow_of(), flow_of()
    late.request.timestamp_start, late.request.timestamp_end = 101.5, 101.6
    assert late.response is not None
    late.response.timestamp_start, late.response.timestamp_end = 101.7, 103.0
    recorder = load(tmp_path, late, early)
    assert [(type(observation).__name__, observation.exchange) for _, observation in recorder.seen] == [
        ("RequestSeen", "x-1"),
        ("ResponseSeen", "x-1"),
        ("RequestSeen", "x-2"),
        ("ResponseSeen", "x-2"),
        ("ResponseBody", "x-1"),
        ("ExchangeEnded", "x-1"),
        ("ResponseBody", "x-2"),
        ("ExchangeEnded", "x-2"),
    ]


def test_other_traffic_in_a_file_gets_silence(tmp_path: Path) -> None:
    flow = flow_of()
    flow.request.raw_content = b'{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}'
    assert load(tmp_path, flow).seen == []


@pytest.mark.parametrize(
    ("error", "noted", "ended", "code"),
    [
        ("Connection killed.", None, Ended.PROXY_CLOSED, None),
        ("Client disconnected.", None, Ended.CLIENT_CLOSED, None),
        ("Client disconnected.", "proxy_closed", Ended.PROXY_CLOSED, None),
        ("Client disconnected.", "nonsense", Ended.CLIENT_CLOSED, None),
        ("stream reset by client (CANCEL)", None, None, "CANCEL"),
        ("stream reset by client (CANCEL)", "server_reset", Ended.SERVER_RESET, "CANCEL"),
        ("server closed connection", None, Ended.SERVER_CLOSED, None),
        (
            "HTTP/1 protocol error: peer closed connection without sending complete message body (received 1 bytes, …)",
            None,
            Ended.SERVER_CLOSED,
            None,
        ),
        ("HTTP/1 protocol error: illegal chunk header: bytearray(b'zz')", None, Ended.PROXY_CLOSED, None),
        ("Response body exceeds mitmproxy's body_size_limit.", None, Ended.PROXY_CLOSED, None),
        ("something new", None, None, None),
    ],
)
def test_endings_in_a_file(error: str, noted: str | None, ended: Ended | None, code: str | None) -> None:
    flow = flow_of(error=Error(error, 103.0))
    if noted is not None:
        flow.metadata[ENDED] = noted
    ending = endings.of_stored(flow)
    assert (ending.ended, ending.reset_code) == (ended, code)
    assert not ending.whole


def test_an_idle_limit_may_have_ended_a_long_exchange() -> None:
    flow = flow_of(error=Error("Client disconnected.", 100.0 + 601))
    assert endings.of_stored(flow).ended is None


def test_a_flow_that_was_written_while_it_ran_is_open() -> None:
    flow = flow_of()
    assert flow.response is not None
    flow.response.timestamp_end = None
    assert endings.of_stored(flow).ended is Ended.OPEN


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {CHUNKS: b"short"},
        {CHUNKS: MARK.pack(1, 2)},
        {CHUNKS: "text"},
        {CHUNKS: MARK.pack(1, 5) + MARK.pack(2, 6)},
        {ENDED: 7, RECEIVED: "x"},
    ],
)
def test_marks_that_do_not_fit_are_no_marks(metadata: dict[str, Any]) -> None:
    assert stored_chunks(b"0123456789", metadata) == ([StoredChunk(None, b"0123456789")], False)
    assert stored_ending(metadata) is None
    assert marks.received_octets(metadata) is None


def test_too_many_marks_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "MAX_MARKS", 3)
    chunks = marks.MarkedChunks()
    for number in range(3):
        chunks.add(number, 1)
    assert stored_chunks(b"abc", {CHUNKS: bytes(chunks.packed)})[1]
    chunks.add(3, 1)
    assert bytes(chunks.packed) == b""
