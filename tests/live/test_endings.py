"""How exchanges end: as far as mitmproxy lets it be known, and no further."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest
import trustme
from mitmproxy import http

from mcp_wire.wire.observation import Ended, ExchangeEnded
from tests.live import peers_h2
from tests.live.mcp import INITIALIZE, POST
from tests.live.peers import (
    EVENT_STREAM_HEAD,
    LAST_CHUNK,
    Answer,
    Received,
    Server,
    ask,
    chunked,
    reset,
    send,
)
from tests.live.proxy import PATIENCE_S, Proxy, fresh_path

EVENT = b"id: 1\ndata:\n\n"
JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class Killer:
    """Another addon, which kills flows of paths where a test asks for it."""

    def __init__(self) -> None:
        self.in_request: set[str] = set()
        self.flows: dict[str, http.HTTPFlow] = {}

    def request(self, flow: http.HTTPFlow) -> None:
        self.flows[flow.request.path] = flow
        if flow.request.path in self.in_request:
            flow.kill()  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server().running() as server:
        yield server


@pytest.fixture(scope="module")
def server_h2() -> Iterator[peers_h2.Server]:
    with peers_h2.Server(trustme.CA()).running() as server:
        yield server


@pytest.fixture(scope="module")
def killer() -> Killer:
    return Killer()


@pytest.fixture(scope="module")
def proxy(
    server: Server, server_h2: peers_h2.Server, killer: Killer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("proxy")
    modes = [
        f"reverse:http://127.0.0.1:{server.port}",
        "regular",
        f"reverse:https://localhost:{server_h2.port}",
    ]
    with Proxy(modes, folder, after=[killer], mcp_output=str(folder / "output")).running() as proxy:
        yield proxy


def _send_and_drop(*pieces: bytes) -> Callable[[Received], None]:
    def script(request: Received) -> None:
        request.send(*pieces)
        raise EOFError

    return script


@pytest.mark.parametrize(
    ("script", "ended", "octets"),
    [
        (_send_and_drop(EVENT_STREAM_HEAD, chunked(EVENT), LAST_CHUNK), Ended.COMPLETE, len(EVENT)),
        (_send_and_drop(JSON_HEAD, b"Content-Length: 2\r\n\r\n{}"), Ended.COMPLETE, 2),
        (_send_and_drop(JSON_HEAD, b"Connection: close\r\n\r\n{}"), Ended.SERVER_CLOSED, 2),
        (_send_and_drop(EVENT_STREAM_HEAD, chunked(EVENT)), Ended.SERVER_CLOSED, len(EVENT)),
        (_send_and_drop(EVENT_STREAM_HEAD, chunked(EVENT)[:-4]), Ended.SERVER_CLOSED, len(EVENT) - 2),
        (_send_and_drop(JSON_HEAD, b"Content-Length: 9\r\n\r\n{}"), Ended.SERVER_CLOSED, 2),
        (_send_and_drop(b"HTTP/1.1 204 No Content\r\n\r\n"), Ended.COMPLETE, 0),
        (_send_and_drop(), Ended.SERVER_CLOSED, None),
        (_send_and_drop(b"HTTP/1.1 200"), Ended.SERVER_CLOSED, None),
        (_send_and_drop(b"what?\r\n\r\n"), Ended.PROXY_CLOSED, None),
        (_send_and_drop(EVENT_STREAM_HEAD, chunked(EVENT), b"zz\r\n"), Ended.PROXY_CLOSED, len(EVENT)),
    ],
    ids=[
        "last-chunk",
        "length",
        "close-delimited",
        "cut-between-chunks",
        "cut-in-chunk",
        "cut-in-length",
        "no-content",
        "no-answer",
        "half-a-head",
        "no-http",
        "broken-framing",
    ],
)
def test_server_ends_http1(
    server: Server, proxy: Proxy, script: Callable[[Received], None], ended: Ended, octets: int | None
) -> None:
    path = fresh_path()
    server.scripts[path] = script
    with send(proxy.ports[0], "POST", path, POST, INITIALIZE) as connection:
        told = proxy.recorder.ended(path)
        connection.close()
    assert told.end == ExchangeEnded(told.request.exchange, told.end.t_ms, ended, received_octets=octets)  # type: ignore[union-attr]


def test_server_resets_http1(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    received = threading.Event()

    def script(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD, chunked(EVENT))
        received.wait(PATIENCE_S)
        reset(request.socket)

    server.scripts[path] = script
    reply = ask(proxy.ports[0], "POST", path, POST, INITIALIZE)
    assert reply.reader.chunk() == EVENT
    received.set()
    told = proxy.recorder.ended(path)
    # A reset cannot be told from a close here, so the weaker word stands.
    assert told.end is not None and told.end.ended is Ended.SERVER_CLOSED
    assert told.chunks == [EVENT]


@pytest.mark.parametrize("leave", [socket.socket.close, reset], ids=["close", "reset"])
def test_client_leaves_http1(server: Server, proxy: Proxy, leave: Callable[[socket.socket], None]) -> None:
    path = fresh_path()
    over = threading.Event()

    def script(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD, chunked(EVENT))
        over.wait(PATIENCE_S)

    server.scripts[path] = script
    reply = ask(proxy.ports[0], "POST", path, POST, INITIALIZE)
    assert reply.reader.chunk() == EVENT
    leave(reply.socket)
    told = proxy.recorder.ended(path)
    over.set()
    assert told.end is not None and told.end.ended is Ended.CLIENT_CLOSED
    assert told.chunks == [EVENT]


def test_client_leaves_before_the_answer(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    asked, over = threading.Event(), threading.Event()

    def script(request: Received) -> None:
        asked.set()
        over.wait(PATIENCE_S)

    server.scripts[path] = script
    with send(proxy.ports[0], "POST", path, POST, INITIALIZE):
        assert asked.wait(PATIENCE_S)
    told = proxy.recorder.ended(path)
    over.set()
    assert told.end is not None and told.end.ended is Ended.CLIENT_CLOSED
    assert told.end.received_octets is None
    assert len(told.all) == 2


def test_client_leaves_in_the_middle_of_its_request(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    headers = {**POST, "Mcp-Session-Id": "s", "Content-Length": "100"}
    with send(proxy.ports[0], "POST", path, headers) as connection:
        connection.sendall(b"{")
    told = proxy.recorder.ended(path)
    assert not told.request.body.is_captured
    assert told.end is not None and told.end.ended is Ended.CLIENT_CLOSED


def test_idle_limit_is_the_proxys_doing(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    over = threading.Event()

    def script(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD, chunked(EVENT))
        over.wait(PATIENCE_S)

    server.scripts[path] = script
    with proxy.options(tcp_timeout=1):
        reply = ask(proxy.ports[0], "POST", path, POST, INITIALIZE)
        assert reply.reader.chunk() == EVENT
        told = proxy.recorder.ended(path)
    over.set()
    assert told.end is not None and told.end.ended is Ended.PROXY_CLOSED


def test_killed_before_it_was_sent(proxy: Proxy, killer: Killer) -> None:
    path = fresh_path()
    killer.in_request.add(path)
    with send(proxy.ports[0], "POST", path, POST, INITIALIZE):
        told = proxy.recorder.ended(path)
    assert told.end is not None and told.end.ended is Ended.PROXY_CLOSED
    assert len(told.all) == 2


@pytest.mark.parametrize("then", ["server ends", "client leaves"])
def test_killed_while_streaming(server: Server, proxy: Proxy, killer: Killer, then: str) -> None:
    path = fresh_path()
    killed = threading.Event()

    def script(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD, chunked(EVENT))
        killed.wait(PATIENCE_S)
        request.send(chunked(EVENT))
        if then == "server ends":
            request.send(LAST_CHUNK)

    server.scripts[path] = script
    reply = ask(proxy.ports[0], "POST", path, POST, INITIALIZE)
    assert reply.reader.chunk() == EVENT
    proxy.call(killer.flows[path].kill)
    killed.set()
    assert reply.reader.chunk() == EVENT  # mitmproxy goes on forwarding, and so must we
    if then == "client leaves":
        reply.socket.close()
    told = proxy.recorder.ended(path)
    assert told.end is not None and told.end.ended is Ended.PROXY_CLOSED
    assert told.chunks == [EVENT, EVENT]


def test_no_server_there(proxy: Proxy) -> None:
    path = fresh_path()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}{path}"
    reply = ask(proxy.ports[1], "POST", url, POST, INITIALIZE)
    assert reply.status == 502
    told = proxy.recorder.ended(path)
    # Nobody closed anything: there was no connection.
    assert told.end is not None and told.end.ended is None
    assert len(told.all) == 2


def test_larger_than_the_users_limit(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    server.scripts[path] = lambda request: request.send(JSON_HEAD, b"Content-Length: 2000\r\n\r\n", bytes(2000))
    with proxy.options(body_size_limit="1k"):
        reply = ask(proxy.ports[0], "POST", path, POST, INITIALIZE)
        assert reply.status == 502
        told = proxy.recorder.ended(path)
    assert told.end is not None and told.end.ended is Ended.PROXY_CLOSED


def test_trailers_over_http1_crash_mitmproxy_until_the_client_leaves(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    server.scripts[path] = lambda request: request.send(EVENT_STREAM_HEAD, chunked(EVENT), b"0\r\nX-Trailer: 1\r\n\r\n")
    reply: Answer = ask(proxy.ports[0], "POST", path, POST, INITIALIZE)
    assert reply.reader.chunk() == EVENT
    reply.socket.close()
    told = proxy.recorder.ended(path)
    assert told.end is not None and told.end.ended is Ended.CLIENT_CLOSED


# HTTP/2

STREAM = ("content-type", "text/event-stream")


def _post_h2(proxy: Proxy, path: str) -> tuple[peers_h2.Client, int]:
    client = peers_h2.connect(proxy.ports[2])
    return client, client.ask("POST", path, {**POST, "content-length": str(len(INITIALIZE))}, INITIALIZE)


def test_http2_frames_pass_as_they_were_sent(server_h2: peers_h2.Server, proxy: Proxy) -> None:
    path = fresh_path()

    def script(request: peers_h2.Request) -> None:
        request.head(STREAM)
        request.data(EVENT)
        request.data(b"")  # an empty frame in the middle is no end
        request.data(EVENT)
        request.data(b"", end=True)

    server_h2.scripts[path] = script
    client, stream = _post_h2(proxy, path)
    assert client.whole(stream) == EVENT + EVENT
    assert [data for data in client.data[stream] if data] == [EVENT, EVENT]
    told = proxy.recorder.ended(path)
    assert told.chunks == [EVENT, EVENT]
    assert (told.request.http_version, told.origins[0].tls) == ("HTTP/2.0", "TLSv1.3")
    assert told.end is not None and told.end.ended is Ended.COMPLETE
    assert told.end.received_octets == 2 * len(EVENT)


@pytest.mark.parametrize(
    ("end", "ended", "code"),
    [
        (lambda request: request.reset(8), Ended.SERVER_RESET, "CANCEL"),
        (lambda request: request.reset(2), Ended.SERVER_RESET, "INTERNAL_ERROR"),
        (lambda request: request.reset(0), Ended.SERVER_RESET, "NO_ERROR"),
        (lambda request: request.go_away(0), Ended.PROXY_CLOSED, None),
        (lambda request: request.go_away(11), Ended.SERVER_CLOSED, None),
        (lambda request: request.hang_up(), Ended.SERVER_CLOSED, None),
    ],
    ids=["cancel", "internal-error", "no-error", "go-away", "go-away-error", "hang-up"],
)
def test_server_ends_http2(
    server_h2: peers_h2.Server,
    proxy: Proxy,
    end: Callable[[peers_h2.Request], None],
    ended: Ended,
    code: str | None,
) -> None:
    path = fresh_path()
    received = threading.Event()

    def script(request: peers_h2.Request) -> None:
        request.head(STREAM)
        request.data(EVENT)
        assert received.wait(PATIENCE_S)
        end(request)

    server_h2.scripts[path] = script
    client, stream = _post_h2(proxy, path)
    client.wait(lambda client: bool(client.data[stream]))
    received.set()
    told = proxy.recorder.ended(path)
    assert told.chunks == [EVENT]
    assert told.end is not None and (told.end.ended, told.end.reset_code) == (ended, code)


@pytest.mark.parametrize(
    ("end", "ended", "code"),
    [
        (lambda client, stream: client.reset(stream, 8), Ended.CLIENT_RESET, "CANCEL"),
        (lambda client, stream: client.go_away(), Ended.PROXY_CLOSED, None),
        (lambda client, stream: client.hang_up(), Ended.CLIENT_CLOSED, None),
    ],
    ids=["cancel", "go-away", "hang-up"],
)
def test_client_ends_http2(
    server_h2: peers_h2.Server,
    proxy: Proxy,
    end: Callable[[peers_h2.Client, int], None],
    ended: Ended,
    code: str | None,
) -> None:
    path = fresh_path()

    def script(request: peers_h2.Request) -> None:
        request.head(STREAM)
        request.data(EVENT)

    server_h2.scripts[path] = script
    client, stream = _post_h2(proxy, path)
    client.wait(lambda client: bool(client.data[stream]))
    end(client, stream)
    told = proxy.recorder.ended(path)
    assert told.chunks == [EVENT]
    assert told.end is not None and (told.end.ended, told.end.reset_code) == (ended, code)


def test_http2_inside_a_connect_tunnel(server_h2: peers_h2.Server, proxy: Proxy) -> None:
    path = fresh_path()

    def script(request: peers_h2.Request) -> None:
        request.head(STREAM)
        request.data(EVENT)

    server_h2.scripts[path] = script
    client = peers_h2.connect(proxy.ports[1], tunnel_to=f"localhost:{server_h2.port}")
    stream = client.ask("POST", path, POST, INITIALIZE)
    client.wait(lambda client: bool(client.data[stream]))
    client.connection.h2.reset_stream(stream, 8)
    client.connection.flush()
    told = proxy.recorder.ended(path)
    assert told.chunks == [EVENT]
    assert told.end is not None and (told.end.ended, told.end.reset_code) == (Ended.CLIENT_RESET, "CANCEL")
    assert told.origins[0].endpoint == f"https://localhost:{server_h2.port}{path}"
