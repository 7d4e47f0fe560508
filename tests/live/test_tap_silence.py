"""Traffic that is not MCP passes the same proxy, and not a word is said of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from mcp_wire.wire.observation import Ended
from tests.live.mcp import GET, INITIALIZE, POST
from tests.live.peers import EVENT_STREAM_HEAD, LAST_CHUNK, Received, Server, ask, chunked
from tests.live.proxy import PATIENCE_S, Proxy, fresh_path

JSON_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server().running() as server:
        yield server


@pytest.fixture(scope="module")
def proxy(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("proxy")
    modes = [f"reverse:http://127.0.0.1:{server.port}"]
    with Proxy(modes, folder, mcp_output=str(folder / "output")).running() as proxy:
        yield proxy


def quiet(proxy: Proxy, since: int) -> bool:
    proxy.call(lambda: None)
    return proxy.recorder.seen[since:] == []


@pytest.mark.parametrize(
    ("method", "target", "headers", "body"),
    [
        ("GET", "/.well-known/oauth-protected-resource", {"MCP-Protocol-Version": "2025-06-18"}, None),
        ("POST", "/token", {"Content-Type": "application/x-www-form-urlencoded"}, b"grant_type=refresh_token"),
        ("POST", "/register", {**JSON, "MCP-Protocol-Version": "2025-06-18"}, b'{"redirect_uris":["http://x"]}'),
        ("POST", "/a2a", JSON, b'{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}'),
        ("POST", "/a2a", JSON, b'{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t"}}'),
        ("POST", "/eth", JSON, b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'),
        ("POST", "/lsp", JSON, b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":1}}'),
        ("POST", "/api", JSON, b'{"hello":"world"}'),
        ("GET", "/", {"Accept": "text/html"}, None),
    ],
)
def test_other_requests(
    server: Server, proxy: Proxy, method: str, target: str, headers: dict[str, str], body: bytes | None
) -> None:
    server.scripts[target] = lambda request: request.send(JSON_OK)
    since = len(proxy.recorder.seen)
    assert ask(proxy.ports[0], method, target, headers, body).reader.exactly(2) == b"{}"
    assert quiet(proxy, since)


@pytest.mark.parametrize(
    "events",
    [
        [b": hello\n\n", b"event: price\ndata: 1\n\n", b"event: price\ndata: 2\n\n"],
        [b"data: /messages\n\n", b"event: endpoint\ndata: /messages\n\n"],
        [b"event: endpoint\ndata: nothing like an address\n\n", b"data: 1\n\n"],
        [b"event: endpoint\n\n", b"data: x\n\n"],
        [],
    ],
    ids=["prices", "too late", "no address", "not dispatched", "empty"],
)
def test_other_event_streams_over_get(server: Server, proxy: Proxy, events: list[bytes]) -> None:
    path = fresh_path("/events")
    received = threading.Semaphore(0)

    def script(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD)
        for event in events:
            request.send(chunked(event))
            assert received.acquire(timeout=PATIENCE_S)
        request.send(LAST_CHUNK)

    server.scripts[path] = script
    since = len(proxy.recorder.seen)
    reply = ask(proxy.ports[0], "GET", path, GET)
    for event in events:
        assert reply.reader.chunk() == event  # and not held back
        received.release()
    assert list(reply.reader.chunks()) == []
    assert quiet(proxy, since)


def test_a_first_event_that_never_comes_is_not_waited_for_without_bound(server: Server, proxy: Proxy) -> None:
    path = fresh_path("/events")
    comments = [b": %d\n\n" % number for number in range(1000)]
    server.scripts[path] = lambda request: request.send(
        EVENT_STREAM_HEAD, chunked(*comments), chunked(b"event: endpoint\ndata: /m\n\n"), LAST_CHUNK
    )
    since = len(proxy.recorder.seen)
    assert len(list(ask(proxy.ports[0], "GET", path, GET).reader.chunks())) == 1001
    assert quiet(proxy, since)


def test_the_transport_of_2024_11_05_is_told_from_its_start_and_then_left_alone(server: Server, proxy: Proxy) -> None:
    path, messages = fresh_path("/sse"), fresh_path("/messages")
    first, second = b": hi\n\nevent: endp", b"oint\ndata: %s?sessionId=7\n\n" % messages.encode()
    received = threading.Semaphore(0)

    def script(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD)
        for piece in (first, second):
            request.send(chunked(piece))
            assert received.acquire(timeout=PATIENCE_S)
        request.send(LAST_CHUNK)

    server.scripts[path] = script
    server.scripts[messages] = lambda request: request.send(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
    reply = ask(proxy.ports[0], "GET", path, GET)
    assert reply.reader.chunk() == first
    received.release()
    assert reply.reader.chunk() == second
    told = proxy.recorder.wait(path, lambda told: len(told.chunks) == 2)
    assert told.chunks == [first, second]
    assert told.head.status == 200
    times = [observation.t_ms for observation in told.all]
    assert times == sorted(times, key=lambda time: time or 0.0)
    assert ask(proxy.ports[0], "POST", f"{messages}?sessionId=7", POST, INITIALIZE).status == 202
    received.release()
    told = proxy.recorder.ended(path)
    assert told.end is not None and told.end.ended is Ended.COMPLETE
    assert proxy.recorder.of(messages).all == []


def test_other_json_rpc_on_an_mcp_endpoint(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    server.scripts[path] = lambda request: request.send(JSON_OK)
    assert ask(proxy.ports[0], "POST", path, POST, INITIALIZE).status == 200
    assert proxy.recorder.ended(path).head.status == 200
    since = len(proxy.recorder.seen)
    body = b'{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}'
    assert ask(proxy.ports[0], "POST", path, JSON, body).reader.exactly(2) == b"{}"
    assert quiet(proxy, since)


def test_a_get_on_a_known_endpoint_needs_no_header(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    server.scripts[path] = lambda request: request.send(JSON_OK)
    assert ask(proxy.ports[0], "POST", path, POST, INITIALIZE).status == 200
    proxy.recorder.ended(path)
    proxy.recorder.seen.clear()
    server.scripts[path] = lambda request: request.send(EVENT_STREAM_HEAD, chunked(b"data: {}\n\n"), LAST_CHUNK)
    assert list(ask(proxy.ports[0], "GET", path, GET).reader.chunks()) == [b"data: {}\n\n"]
    assert proxy.recorder.ended(path).chunks == [b"data: {}\n\n"]


def test_a_session_id_in_the_answer_is_evidence(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    server.scripts[path] = lambda request: request.send(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s\r\nContent-Length: 2\r\n\r\n{}"
    )
    assert ask(proxy.ports[0], "POST", path, JSON, b"{oops").status == 200
    told = proxy.recorder.ended(path)
    assert told.request.body.text == "{oops"
    assert told.body.body.value == {}


class TestScope:
    """With `mcp_scope` it is exactly what the filter matches, whatever it is."""

    def test_inside(self, server: Server, proxy: Proxy) -> None:
        path = fresh_path("/scope")
        server.scripts[path] = lambda request: request.send(EVENT_STREAM_HEAD, chunked(b"data: 1\n\n"), LAST_CHUNK)
        with proxy.options(mcp_scope="~u /scope/"):
            assert list(ask(proxy.ports[0], "POST", path, {}, b"anything").reader.chunks()) == [b"data: 1\n\n"]
            told = proxy.recorder.ended(path)
        assert told.request.body.text == "anything"
        assert told.chunks == [b"data: 1\n\n"]

    def test_outside(self, server: Server, proxy: Proxy) -> None:
        path = fresh_path()
        server.scripts[path] = lambda request: request.send(JSON_OK)
        since = len(proxy.recorder.seen)
        with proxy.options(mcp_scope="~u /scope/"):
            assert ask(proxy.ports[0], "POST", path, POST, INITIALIZE).reader.exactly(2) == b"{}"
            assert quiet(proxy, since)

    def test_decided_by_the_answer(self, server: Server, proxy: Proxy) -> None:
        path = fresh_path()
        server.scripts[path] = lambda request: request.send(JSON_OK)
        with proxy.options(mcp_scope="~c 200"):
            assert ask(proxy.ports[0], "PUT", path, JSON, b"{}").reader.exactly(2) == b"{}"
            told = proxy.recorder.ended(path)
        assert told.request.method == "PUT"
        assert told.body.body.value == {}

    def test_a_bad_filter_changes_nothing(self, proxy: Proxy) -> None:
        with pytest.raises(Exception, match="mcp_scope=~nope ~x is refused"), proxy.options(mcp_scope="~nope ~x"):
            pass
        assert proxy.master.options.mcp_scope == ""

    def test_other_options_are_for_the_start_only(self, proxy: Proxy) -> None:
        with pytest.raises(Exception, match="mcp_extended=true is refused"), proxy.options(mcp_extended="true"):
            pass
        assert proxy.master.options.mcp_extended == "false"
