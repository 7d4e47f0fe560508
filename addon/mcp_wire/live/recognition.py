"""Is this MCP? By evidence only, so that other traffic through the same proxy gets silence.

Nothing here reads more than a request (and, for the transport of 2024-11-05, the first event of a stream). The
verdict on an endpoint outlives the exchange that gave the evidence: what follows on it is MCP as well.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final
from urllib.parse import parse_qsl, urljoin, urlsplit

from mcp_wire.conversation.bounded import BoundedTable
from mcp_wire.conversation.facts import EVENT_STREAM
from mcp_wire.protocol.methods import revisions_of
from mcp_wire.wire.body import Body
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.media_types import accept_lists, essence
from mcp_wire.wire.strict_json import JsonValue

MAX_ENDPOINTS_REMEMBERED: Final = 1_024

_REFUSED_STATUSES: Final = frozenset({404, 405, 501})
"""Answers that do not make an endpoint an MCP endpoint: clients probe, and fall back to another transport."""

_AMBIGUOUS_METHODS: Final = frozenset({"ping", "tasks/get", "tasks/cancel", "tasks/list"})
"""MCP methods that other JSON-RPC protocols (A2A among them) have under the same name: no evidence by themselves."""

_FOREIGN_PREFIXES: Final = (
    *("message/send", "message/stream", "tasks/resubscribe", "tasks/pushNotificationConfig/", "agent/"),  # A2A
    *("eth_", "net_", "web3_", "debug_", "engine_"),  # Ethereum
    *("textDocument/", "workspace/", "window/", "$/"),  # Language Server Protocol
)

_LEGACY_SESSION_PARAMETERS: Final = frozenset({"sessionid", "session_id"})
_OAUTH_MEMBERS: Final = frozenset({"grant_type", "redirect_uris", "client_id", "client_secret"})


class Verdict(Enum):
    MCP = auto()
    BODY_DECIDES = auto()
    """A POST to an endpoint of which nothing is known yet."""
    FIRST_EVENT_DECIDES = auto()
    """A GET for an event stream from such an endpoint: it may be the transport of 2024-11-05."""
    OTHER = auto()


class Recogniser:
    """What is known of the endpoints so far. An endpoint is `scheme://host:port/path`, without the query."""

    def __init__(self) -> None:
        self._known: BoundedTable[str, bool] = BoundedTable(MAX_ENDPOINTS_REMEMBERED)
        self._legacy: BoundedTable[str, bool] = BoundedTable(MAX_ENDPOINTS_REMEMBERED)

    def is_known(self, endpoint: str) -> bool:
        return endpoint in self._known

    def head(self, endpoint: str, method: str, target: str, headers: Headers) -> Verdict:
        """What the head of a request says. `target` is the path with its query."""
        method = method.upper()
        if _is_discovery(target) or endpoint in self._legacy:
            return Verdict.OTHER
        if _says(headers, "upgrade", "websocket") or _says(headers, "sec-fetch-mode", "navigate"):
            return Verdict.OTHER
        if _header_evidence(method, headers):
            return Verdict.MCP
        if self.is_known(endpoint):
            return Verdict.MCP
        if method == "POST":
            return Verdict.OTHER if _is_legacy_post(target, headers) else Verdict.BODY_DECIDES
        if method == "GET" and accept_lists(headers.joined("accept"), EVENT_STREAM):
            return Verdict.FIRST_EVENT_DECIDES
        return Verdict.OTHER

    def body(self, body: Body) -> bool:
        """Does the body of a POST to an unknown endpoint show that it is MCP?"""
        messages = body.value if isinstance(body.value, list) else [body.value]
        return any(_is_mcp_message(message) for message in messages)

    def answered(self, endpoint: str, status: int, headers: Headers) -> None:
        """An exchange that was recognised on this endpoint was answered so."""
        if "mcp-session-id" in headers or not (status in _REFUSED_STATUSES or 300 <= status < 400 or status >= 500):
            self._known.put(endpoint, True)

    def legacy_stream(self, endpoint: str, data: str) -> bool:
        """The first event of a GET stream was `endpoint`, with this data. Is it the transport of 2024-11-05?

        If so, the messages that its client POSTs to the address named there are left alone from now on.
        """
        where = data.strip()
        if not where.startswith(("/", "http://", "https://", "?", "./")):
            return False
        try:
            messages = urlsplit(urljoin(endpoint, where))
        except ValueError:
            return False
        if (messages.scheme, messages.hostname) != (urlsplit(endpoint).scheme, urlsplit(endpoint).hostname):
            return False
        self._legacy.put(endpoint_of(*_parts(messages.scheme, messages.hostname, messages.port), messages.path), True)
        return True


def is_foreign(headers: Headers, body: Body) -> bool:
    """A request that another protocol makes on the same endpoint: OAuth, or other JSON-RPC without MCP headers."""
    value = body.value
    if isinstance(value, dict) and "jsonrpc" not in value and not _OAUTH_MEMBERS.isdisjoint(value):
        return True
    if any(name.startswith("mcp-") for name in headers.names()):
        return False
    messages = value if isinstance(value, list) else [value]
    methods = [message["method"] for message in messages if isinstance(message, dict) and "method" in message]
    return bool(methods) and all(isinstance(name, str) and name.startswith(_FOREIGN_PREFIXES) for name in methods)


def endpoint_of(scheme: str, host: str, port: int, target: str) -> str:
    """`scheme://host:port/path`; the query of `target`, if it has one, is no part of it."""
    host = f"[{host}]" if ":" in host else host.lower()
    return f"{scheme}://{host}:{port}{target.partition('?')[0]}"


def _says(headers: Headers, name: str, value: str) -> bool:
    return (headers.get(name) or "").lower() == value


def _parts(scheme: str, host: str | None, port: int | None) -> tuple[str, str, int]:
    return scheme, host or "", port or (443 if scheme == "https" else 80)


def _header_evidence(method: str, headers: Headers) -> bool:
    if method == "OPTIONS":
        return "mcp-" in (headers.joined("access-control-request-headers") or "").lower()
    if "mcp-session-id" in headers or "mcp-method" in headers:
        return True
    if "mcp-protocol-version" in headers:
        # Requests of the OAuth dance may carry it too; a form is a token request, a plain GET is discovery.
        if method == "POST":
            return essence(headers.get("content-type")) != "application/x-www-form-urlencoded"
        return method == "GET" and accept_lists(headers.joined("accept"), EVENT_STREAM)
    return False


def _is_discovery(target: str) -> bool:
    return "/.well-known/" in target.partition("?")[0]


def _is_legacy_post(target: str, headers: Headers) -> bool:
    """A client message of the 2024-11-05 transport, whose stream began before the proxy did.

    Its session is in the query, and it does not ask for an event stream, which every later revision's POST does.
    """
    if accept_lists(headers.joined("accept"), EVENT_STREAM):
        return False
    query = parse_qsl(target.partition("?")[2], keep_blank_values=True, max_num_fields=None)
    return any(name.lower() in _LEGACY_SESSION_PARAMETERS for name, _ in query)


def _is_mcp_message(message: object) -> bool:
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str) or not revisions_of(method, "client"):
        return False
    if method == "initialize":  # the Language Server Protocol has one too
        return isinstance(params, dict) and isinstance(params.get("protocolVersion"), str)
    if method in _AMBIGUOUS_METHODS:
        return _names_an_mcp_task(params)
    return True


def _names_an_mcp_task(params: JsonValue) -> bool:
    return isinstance(params, dict) and isinstance(params.get("taskId"), str)
