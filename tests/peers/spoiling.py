"""A mitmproxy script that breaks one duty on the way, so that a conforming peer looks like one that does not keep it.

`--set spoil=NAME`. Spoils of answers stand between the server and the tap, those of requests between client and tap.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from mitmproxy import ctx, http
from mitmproxy.addonmanager import Loader

type Json = dict[str, Any]

META: Final = "io.modelcontextprotocol/"


def _body(message: http.Message) -> Json:
    try:
        value = json.loads(message.content or b"null")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


# --- of requests that a client sends ---


def _without(*names: str) -> Callable[[http.Request], None]:
    def spoil(request: http.Request) -> None:
        if _body(request).get("method") != "initialize":
            for name in names:
                request.headers.pop(name, None)

    return spoil


def _without_capabilities(request: http.Request) -> None:
    body = _body(request)
    if body.get("params", {}).get("_meta", {}).pop(META + "clientCapabilities", None) is not None:
        request.content = json.dumps(body).encode()


def _other_version_header(request: http.Request) -> None:
    if META + "protocolVersion" in _body(request).get("params", {}).get("_meta", {}):
        request.headers["MCP-Protocol-Version"] = "2025-11-25"


def _raw_parameters(request: http.Request) -> None:
    for name in [name for name in request.headers if name.lower().startswith("mcp-param-")]:
        request.headers.pop(name)


# --- of what a server is sent, so that it takes what it should refuse ---


def _origin_unseen(request: http.Request) -> None:
    request.headers.pop("Origin", None)


def _headers_from_body(request: http.Request) -> None:
    """A server that goes by the body alone."""
    body = _body(request)
    params = body.get("params") or {}
    version = params.get("_meta", {}).get(META + "protocolVersion")
    for name, value in (
        ("MCP-Protocol-Version", version),
        ("Mcp-Method", body.get("method")),
        ("Mcp-Name", params.get("name", params.get("uri"))),
    ):
        if isinstance(value, str) and version is not None:
            request.headers[name] = value


# --- of answers that a server gives ---


def _served(response: http.Response) -> None:
    if response.status_code in (400, 404):
        response.status_code = 200


def _lost_session_400(response: http.Response) -> None:
    if response.status_code == 404:
        response.status_code = 400


def _rewritten(pattern: bytes, replacement: bytes = b"") -> Callable[[bytes], bytes]:
    expression = re.compile(pattern, re.DOTALL)
    return lambda data: expression.sub(replacement, data)


_NOTHING: Final = b": nothing\n\n"
"""In an event's place: an empty chunk would end the stream."""

REQUESTS: Final[dict[str, Callable[[http.Request], None]]] = {
    "client-without-version-header": _without("MCP-Protocol-Version"),
    "client-without-method-header": _without("Mcp-Method", "Mcp-Name"),
    "client-without-capabilities": _without_capabilities,
    "client-with-another-version-header": _other_version_header,
    "client-without-parameter-headers": _raw_parameters,
    "client-without-last-event-id": _without("Last-Event-ID"),
    "server-without-origin-check": _origin_unseen,
    "server-without-header-checks": _headers_from_body,
}
HEADS: Final[dict[str, Callable[[http.Response], None]]] = {
    "server-refusing-with-200": _served,
    "server-without-404": _lost_session_400,
}
BODIES: Final[dict[str, Callable[[bytes], bytes]]] = {
    "server-without-result-type": _rewritten(rb'"resultType":\s?"[a-z_]+",?'),
    "server-without-caching-hints": _rewritten(rb'"ttlMs":\s?\d+,?'),
    "server-without-acknowledgement": _rewritten(
        rb"[^\n]*notifications/subscriptions/acknowledged.*?\n\r?\n", _NOTHING
    ),
    "server-with-other-subscription-ids": _rewritten(rb'(subscriptionId":\s?)("[^"]*"|\d+)', rb'\1"other"'),
    "server-without-priming": _rewritten(rb"\Aid: [^\n]*\r?\ndata:\s*?\r?\n(retry: \d+\r?\n)?\r?\n", _NOTHING),
    "server-without-retry": _rewritten(rb"retry: \d+\r?\n"),
    "server-with-other-error-ids": _rewritten(rb'"id":\s?\d+(?=,"error")', b'"id":"other"'),
    "server-without-discover": _rewritten(
        rb'"result":\{[^\n]*"supportedVersions".*\}', b'"error":{"code":-32601,"message":""}}'
    ),
}


class Spoiling:
    def load(self, loader: Loader) -> None:
        loader.add_option("spoil", str, "", "which duty is broken")

    def request(self, flow: http.HTTPFlow) -> None:
        if spoil := REQUESTS.get(ctx.options.spoil):
            spoil(flow.request)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        assert flow.response is not None
        if spoil := HEADS.get(ctx.options.spoil):
            spoil(flow.response)
        if flow.response.headers.get("content-type", "").startswith("text/event-stream"):
            flow.response.stream = BODIES.get(ctx.options.spoil, True)

    def response(self, flow: http.HTTPFlow) -> None:
        assert flow.response is not None
        if (spoil := BODIES.get(ctx.options.spoil)) and not flow.response.stream:
            flow.response.content = spoil(flow.response.content or b"")


addons = [Spoiling()]
