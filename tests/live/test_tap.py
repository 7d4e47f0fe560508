"""What passes the proxy is what was sent, at once, and the observer is told of exactly that."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from mcp_wire.wire.observation import Ended
from tests.live.peers import EVENT_STREAM_HEAD, LAST_CHUNK, Received, Server, ask, chunked
from tests.live.proxy import Proxy, fresh_path

INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
).encode()
POST = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server().running() as server:
        yield server


@pytest.fixture(scope="module")
def proxy(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("proxy")
    modes = [f"reverse:http://127.0.0.1:{server.port}", "regular"]
    with Proxy(modes, folder, mcp_output=str(folder / "output")).running() as proxy:
        yield proxy


def test_chunks_pass_as_they_were_sent(server: Server, proxy: Proxy) -> None:
    path = fresh_path()
    events = [b"id: 1\ndata:\n\n", b"data: {\"jsonrpc\":\"2.0\",", b"\"id\":0,\"result\":{}}\n\n"]

    def script(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD, *(chunked(event) for event in events), LAST_CHUNK)

    server.scripts[path] = script
    answer = ask(proxy.ports[0], "POST", path, POST, INITIALIZE)
    assert list(answer.reader.chunks()) == events
    told = proxy.recorder.ended(path)
    assert told.chunks == events
    assert told.request.body.value == json.loads(INITIALIZE)
    assert told.end is not None and told.end.ended is Ended.COMPLETE
    assert told.end.received_octets == sum(map(len, events))
