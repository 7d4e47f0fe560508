"""How an answer shows that a gateway wrote it, and not the server behind it (RFC 9110 3.7 and 15.6).

A gateway's products and header fields show that one stands in the way; they do not show that it wrote the answer. Only
a status with which gateways speak of themselves does, or its products together with a status with which they refuse.
"""

from __future__ import annotations

from typing import Final

from mcp_wire.wire.headers import Headers

GATEWAY_STATUSES: Final = frozenset({502, 504, 530, *range(520, 528)})
"""A gateway speaks of its own trouble with the server behind it (RFC 9110 15.6.3, 15.6.5; 52x and 530 are common)."""

LIMIT_STATUSES: Final = frozenset({408, 413, 429, 431, 503})
"""Said when a limit was reached: of a gateway, or of the server."""

GATEWAY_PRODUCTS: Final = frozenset(
    {
        *("nginx", "openresty", "tengine", "angie", "apisix", "kong", "tyk", "caddy", "traefik", "haproxy", "squid"),
        *("envoy", "istio-envoy", "varnish", "cloudflare", "cloudfront", "akamaighost", "awselb", "fastly", "ats"),
        *("microsoft-azure-application-gateway", "azure-application-gateway", "railway-edge", "vercel", "fly"),
        *("google frontend", "esf", "gws", "bigip", "netlify", "mcp-gateway"),
    }
)
"""Products in `Server`, in lower case and without version."""

GATEWAY_FIELDS: Final = frozenset(
    {
        *("via", "cf-ray", "cf-cache-status", "x-cache", "x-proxy-cache", "x-served-by", "x-amz-cf-id", "x-azure-ref"),
        *("x-vercel-id", "fly-request-id", "x-railway-request-id", "x-cloud-trace-context"),
    }
)
GATEWAY_FIELD_FAMILIES: Final = ("x-envoy-", "x-kong-")


def names_gateway(headers: Headers) -> bool:
    """A header field of the response shows that a gateway stands between this tap and the server."""
    product = (headers.get("server") or "").partition("/")[0].strip().lower()
    if product in GATEWAY_PRODUCTS:
        return True
    return any(name in GATEWAY_FIELDS or name.startswith(GATEWAY_FIELD_FAMILIES) for name in headers.names())


def is_gateway_answer(status: int, headers: Headers) -> bool:
    """The head of an answer without a JSON-RPC message is a gateway's own."""
    return status in GATEWAY_STATUSES or (status in LIMIT_STATUSES and names_gateway(headers))
