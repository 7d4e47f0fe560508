"""HTTP/2 on both sides, frame by frame: what passes is untouched, each stream has its own bytes and its own end, and
what mitmproxy refuses is nobody's fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import trustme
from hyperframe.frame import ContinuationFrame, DataFrame, Frame, HeadersFrame, PingFrame, PriorityFrame, RstStreamFrame

from mcp_wire.wire.observation import Ended
from tests.live import peers_h2
from tests.live.mcp import INITIALIZE, POST
from tests.live.proxy import Proxy, fresh_path

HEAD = [(":status", "200"), ("content-type", "text/event-stream")]
STREAMS = 100


@pytest.fixture(scope="module")
def server() -> Iterator[peers_h2.Server]:
    with peers_h2.Server(trustme.CA()).running() as server:
        yield server


@pytest.fixture(scope="module")
def proxy(server: peers_h2.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("proxy")
    mode = f"reverse:https://localhost:{server.port}"
    with Proxy([mode], folder, mcp_output=str(folder / "output")).running() as proxy:
        yield proxy


def send(request: peers_h2.Request, *frames: Frame) -> None:
    request.connection.flush()
    request.connection.socket.sendall(b"".join(frame.serialize() for frame in frames))


def encoded(request: peers_h2.Request, headers: Sequence[tuple[str, str]]) -> bytes:
    return bytes(request.connection.h2.encoder.encode(headers))


def head(request: peers_h2.Request, *headers: tuple[str, str]) -> HeadersFrame:
    return HeadersFrame(request.stream, data=encoded(request, [*HEAD, *headers]), flags=["END_HEADERS"])


def data(request: peers_h2.Request, octets: bytes, *, pad: int | None = None, end: bool = False) -> DataFrame:
    flags = [*(["END_STREAM"] if end else []), *([] if pad is None else ["PADDED"])]
    return DataFrame(request.stream, data=octets, pad_length=pad or 0, flags=flags)


def test_frames_of_every_shape(server: peers_h2.Server, proxy: Proxy) -> None:
    """A head in octets, other frames in between, padding, an event cut by empty frames in its CRLFs, an empty end."""
    path = fresh_path()
    pieces = [b"id: 1\r", b"", b"\ndata:\r\n", b"", b"\r", b"\n", b": \xe2\x9c", b"\x93\n\n"]

    def script(request: peers_h2.Request) -> None:
        block = encoded(request, HEAD)
        rest = [ContinuationFrame(request.stream, data=block[at : at + 1]) for at in range(1, len(block))]
        rest[-1].flags.add("END_HEADERS")
        send(request, HeadersFrame(request.stream, data=block[:1]), *rest)
        send(request, PingFrame(0, opaque_data=bytes(8)), PriorityFrame(request.stream, stream_weight=3))
        for number, piece in enumerate(pieces):
            send(request, data(request, piece, pad=(None, 0, 255)[number % 3]))
        send(request, data(request, b"", pad=7), data(request, b"", end=True))

    server.scripts[path] = script
    client = peers_h2.connect(proxy.ports[0])
    assert client.whole(client.ask("POST", path, POST, INITIALIZE)) == b"".join(pieces)
    told = proxy.recorder.ended(path)
    assert told.chunks == [piece for piece in pieces if piece]
    assert told.end is not None
    assert (told.end.ended, told.end.received_octets) == (Ended.COMPLETE, len(b"".join(pieces)))


def test_trailers_are_an_end_like_any_other(server: peers_h2.Server, proxy: Proxy) -> None:
    path = fresh_path()

    def script(request: peers_h2.Request) -> None:
        trailers = HeadersFrame(request.stream, data=encoded(request, [("x-checksum", "1")]))
        trailers.flags |= {"END_HEADERS", "END_STREAM"}
        send(request, head(request), data(request, b"data: 1\n\n"), trailers)

    server.scripts[path] = script
    client = peers_h2.connect(proxy.ports[0])
    assert client.whole(client.ask("POST", path, POST, INITIALIZE)) == b"data: 1\n\n"
    told = proxy.recorder.ended(path)
    assert told.end is not None and told.end.ended is Ended.COMPLETE


def test_many_streams_at_once(server: peers_h2.Server, proxy: Proxy) -> None:
    paths = [fresh_path() for _ in range(STREAMS)]
    asked: list[peers_h2.Request] = []
    codes = {1: 8, 2: 2}
    """One stream of three is cancelled, one ends in an error of its server, one is complete."""

    def script(request: peers_h2.Request) -> None:
        asked.append(request)
        if len(asked) < STREAMS:
            return
        for part in range(3):
            for one in asked:
                name = one.headers[":path"].encode()
                send(one, *([] if part else [head(one)]), data(one, b"data: %s" % name), data(one, b" %d\n\n" % part))
        for one in asked:
            code = codes.get(paths.index(one.headers[":path"]) % 3)
            send(one, data(one, b"", end=True) if code is None else RstStreamFrame(one.stream, error_code=code))

    client = peers_h2.connect(proxy.ports[0])
    server.scripts |= dict.fromkeys(paths, script)
    streams = [client.ask("POST", path, POST, INITIALIZE) for path in paths]
    client.wait(lambda client: len(client.ended) + len(client.resets) == STREAMS)
    for number, (path, stream) in enumerate(zip(paths, streams, strict=True)):
        expected = b"".join(b"data: %s %d\n\n" % (path.encode(), part) for part in range(3))
        told = proxy.recorder.ended(path)
        assert b"".join(told.chunks) == expected
        assert b"".join(client.data[stream]) == expected
        assert told.end is not None
        assert (told.end.ended, told.end.reset_code) == (
            (Ended.COMPLETE, None),
            (Ended.SERVER_RESET, "CANCEL"),
            (Ended.SERVER_RESET, "INTERNAL_ERROR"),
        )[number % 3]


@pytest.mark.parametrize(
    "headers",
    [
        [*HEAD, (":status", "404")],
        HEAD[1:],
        [*HEAD, ("Mcp-Session-Id", "upper")],
        [*HEAD, ("connection", "keep-alive"), ("transfer-encoding", "chunked")],
        [*HEAD, *((f"x-{number}", "v" * 4_000) for number in range(100))],
    ],
    ids=["two statuses", "no status", "upper case", "of the connection", "huge"],
)
def test_heads_that_mitmproxy_refuses(
    server: peers_h2.Server, proxy: Proxy, headers: Sequence[tuple[str, str]]
) -> None:
    path = fresh_path()

    def script(request: peers_h2.Request) -> None:
        block = encoded(request, headers)
        parts = [block[at : at + 16_000] for at in range(0, len(block), 16_000)]
        frames: list[Frame] = [HeadersFrame(request.stream, data=parts[0])]
        frames += [ContinuationFrame(request.stream, data=part) for part in parts[1:]]
        frames[-1].flags.add("END_HEADERS")
        send(request, *frames, data(request, b"data: 1\n\n", end=True))

    server.scripts[path] = script
    client = peers_h2.connect(proxy.ports[0])
    client.ask("POST", path, POST, INITIALIZE)
    told = proxy.recorder.ended(path)
    assert told.chunks == []
    assert told.end is not None and told.end.ended is Ended.PROXY_CLOSED
