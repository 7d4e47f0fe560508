"""The scheme that a client asked for: known to a proxy that it was told to use, not to one taken for the server."""

from __future__ import annotations

import pytest
from mitmproxy.proxy import mode_specs

from mcp_wire.live.stored import stored_request
from tests.live.flows import flow


@pytest.mark.parametrize(
    ("mode", "scheme"),
    [("regular", "http"), ("socks5", "http"), ("transparent", "http"), ("reverse:http://127.0.0.1:3", None)],
)
def test_modes(mode: str, scheme: str | None) -> None:
    seen = flow(b"{}")
    seen.client_conn.proxy_mode = mode_specs.ProxyMode.parse(mode)
    assert stored_request(seen).scheme == scheme
