"""The content view "MCP": chosen by itself for MCP, in mitmweb, mitmproxy and mitmdump."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mitmproxy import contentviews, http

from mcp_wire.live.flow_view import FlowView

PRIORITY: Final = 3.0
"""Above every view of mitmproxy's own."""
_NO: Final = -1.0


class MCPContentview(contentviews.Contentview):
    """`is_mcp`: is this flow known to be MCP?"""

    name = "MCP"
    syntax_highlight = "yaml"

    def __init__(self, views: FlowView, is_mcp: Callable[[http.HTTPFlow], bool]) -> None:
        self._views = views
        self._is_mcp = is_mcp

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        flow, message = metadata.flow, metadata.http_message
        if not isinstance(flow, http.HTTPFlow) or message is None:
            raise ValueError("The MCP view shows HTTP requests and responses only.")
        if message is flow.request:
            return self._views.request(flow)
        return self._views.response(flow)

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        flow = metadata.flow
        if metadata.http_message is None or not isinstance(flow, http.HTTPFlow):
            return _NO
        return PRIORITY if self._is_mcp(flow) else _NO
