"""What runs when the proxy stops is still open; nothing is told after that, and nothing is lost for other addons."""

from __future__ import annotations

import threading
from pathlib import Path

from mitmproxy import http
from mitmproxy.io import FlowReader

from mcp_wire.live.marks import CHUNKS, ENDED, RECEIVED
from mcp_wire.wire.observation import Ended
from tests.live.mcp import INITIALIZE, POST
from tests.live.peers import EVENT_STREAM_HEAD, Received, Server, ask, chunked
from tests.live.proxy import PATIENCE_S, Proxy

EVENT = b"id: 1\ndata:\n\n"


def test_open_exchanges(tmp_path: Path) -> None:
    over = threading.Event()

    def script(request: Received) -> None:
        request.send(EVENT_STREAM_HEAD, chunked(EVENT))
        over.wait(PATIENCE_S)

    with Server().running() as server:
        server.scripts["/mcp"] = script
        proxy = Proxy([f"reverse:http://127.0.0.1:{server.port}"], tmp_path, save_stream_file=str(tmp_path / "flows"))
        with proxy.running():
            reply = ask(proxy.ports[0], "POST", "/mcp", POST, INITIALIZE)
            assert reply.reader.chunk() == EVENT
        over.set()
    told = proxy.recorder.of("/mcp")
    assert told.chunks == [EVENT]
    assert told.end is not None and told.end.ended is Ended.OPEN
    assert told.end.received_octets == len(EVENT)
    assert told.all[-1] is told.end
    assert proxy.recorder.finished == 1
    with (tmp_path / "flows").open("rb") as file:
        (flow,) = FlowReader(file).stream()
    assert isinstance(flow, http.HTTPFlow) and flow.response is not None
    assert flow.response.raw_content == EVENT
    assert flow.metadata[ENDED] == "open"
    assert flow.metadata[RECEIVED] == len(EVENT)
    assert len(flow.metadata[CHUNKS]) == 12
