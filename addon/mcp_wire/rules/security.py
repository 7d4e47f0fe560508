"""Signals of unsafe use: foreign origins, credentials where they do not belong, missing challenges."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Request, ResponseHead
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.judging.finding import Party
from mcp_wire.protocol.gateways import names_gateway
from mcp_wire.protocol.hosts import is_loopback, is_private
from mcp_wire.protocol.profiles import R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28
from mcp_wire.wire.evidence import Evidence

BOOK: Final = RuleBook("security")
rule = BOOK.rule

MCP_METHODS: Final = ("POST", "GET", "DELETE")
SIGNS_OF_A_PROXY: Final = ("forwarded", "via", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip")


@rule(
    "foreign_origin_accepted",
    level="warning",
    party="server",
    layer="security",
    version_neutral=True,
    cites={
        R2025_03_26: "basic/transports#security-warning",
        R2025_06_18: "basic/transports#security-warning",
        R2025_11_25: "basic/transports#security-warning",
        R2026_07_28: "basic/transports/streamable-http#security-endpoint",
    },
    says="A request from a foreign Origin is refused.",
    fix="Check Origin against the origins that you serve, and answer 403 to any other.",
    exceptions=(
        "Which origins are allowed is the server's policy and not visible: a warning. An origin on the request's own "
        "host is not foreign, nor is loopback to loopback. `Origin: null`, and schemes other than http and https "
        "(browser extensions, editors), may be allowed on purpose. So may an origin that the response names in "
        "Access-Control-Allow-Origin, and any origin (`*`) unless the server is addressed by a loopback name, where "
        "that is what DNS rebinding exploits. Refusals other than 403 are not judged: 403 is a duty since 2025-11-25 "
        "only, and why a request was refused is not visible. A proxy may have rewritten Host."
    ),
    evidence="Origin and Host of the request, and the response head.",
)
def foreign_origin_is_refused(head: ResponseHead, conversation: Conversation) -> Verdicts:
    request = head.exchange.request
    origin = request.headers.get("origin")
    if origin is None or request.method.upper() not in MCP_METHODS or conversation.legacy_transport:
        return
    own = _host_of(f"//{request.headers.get('host') or ''}")
    foreign = _host_of(origin) if origin.lower().startswith(("http://", "https://")) else None
    if own is None or foreign is None:
        yield CannotTell("Host or Origin is missing, or no web origin")
        return
    if foreign == own or (is_loopback(foreign) and is_loopback(own)):
        return
    allowed = head.headers.get("access-control-allow-origin")
    if head.status == 403:
        yield SATISFIED
    elif not head.is_success:
        yield CannotTell("the request was refused, and not visibly for its Origin")
    elif allowed is not None and (allowed == origin or (allowed == "*" and not is_loopback(own))):
        yield CannotTell("the server allows the origin expressly")
    else:
        yield Violated(
            request.headers_path,
            f"A request from Origin {{}} to another host was answered {head.status}.",
            (Evidence("header:origin", origin),),
        )


def _host_of(url: str) -> str | None:
    """The host of a URL or authority in lower case; None where there is none or it is malformed."""
    try:
        return urlsplit(url).hostname or None
    except ValueError:
        return None


@rule(
    "access_token_in_query",
    level="error",
    party="client",
    layer="security",
    version_neutral=True,
    cites={
        R2025_03_26: "basic/authorization#token-requirements",
        R2025_06_18: "basic/authorization#token-requirements",
        R2025_11_25: "basic/authorization#token-requirements",
        R2026_07_28: "basic/authorization#token-requirements",
    },
    says="No access token stands in the query of the URL.",
    fix="Send it as `Authorization: Bearer ...`, and replace the one that has been in a URL.",
    exceptions=(
        "`access_token` is the parameter that the clause means. Keys of the server's own making (`api_key`, `token` "
        "and the like) are outside the authorization pages: a warning, because URLs end up in logs. Told by the "
        "parameter's name alone; the value is never shown."
    ),
    evidence="The request target.",
)
def no_token_in_the_query(request: Request, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    names = _query_names(request.target)
    path = f"{request.exchange.path}/request/path"
    if "access_token" in names:
        yield Violated(path, "The query of the URL has an access_token.")
    elif not _OTHER_KEYS.isdisjoint(names):
        name = min(_OTHER_KEYS & names)
        yield Violated(path, f"The query of the URL has `{name}`, which looks like a credential.", level="warning")
    else:
        yield SATISFIED


_OTHER_KEYS: Final = frozenset(
    {"api_key", "apikey", "api-key", "token", "auth_token", "authtoken", "bearer_token", "id_token", "refresh_token"}
)
_SEPARATORS: Final = re.compile("[&;]")


def _query_names(target: str) -> set[str]:
    query = target.partition("#")[0].partition("?")[2]
    return {pair.partition("=")[0].lower() for pair in _SEPARATORS.split(query)}


@rule(
    "authorization_missing_in_session",
    level="error",
    party="client",
    layer="security",
    version_neutral=True,
    cites={
        R2025_03_26: "basic/authorization#token-requirements",
        R2025_06_18: "basic/authorization#token-requirements",
        R2025_11_25: "basic/authorization#token-requirements",
        R2026_07_28: "basic/authorization#token-requirements",
    },
    says="A client that is authorised sends Authorization on every request of its session.",
    fix="Send the token on every request, GET and DELETE included, and carry it over redirects of the same origin.",
    exceptions=(
        "Only within one Mcp-Session-Id. Not where the server has served the session without Authorization before (an "
        "endpoint of mixed access), nor where the request carries a Cookie, which may be the credential."
    ),
    evidence="An earlier request of the same session that carried Authorization.",
)
def authorization_is_on_every_request(request: Request, conversation: Conversation) -> Verdicts:
    session = request.exchange.session
    if request.session_id is None or session.authorized is None or conversation.legacy_transport:
        return
    if "authorization" in request.headers:
        if session.authorized is not request.exchange:
            yield SATISFIED
    elif session.served_unauthorized is not None or "cookie" in request.headers:
        yield CannotTell("the endpoint may not ask for Authorization here")
    else:
        yield Violated(
            request.headers_path,
            "The request has no Authorization; earlier requests of the same session had one.",
        )


@rule(
    "unauthorized_without_challenge",
    level="warning",
    party="server",
    layer="security",
    version_neutral=True,
    cites={
        "RFC 9110": "https://www.rfc-editor.org/rfc/rfc9110#section-15.5.2",
        R2025_06_18: "basic/authorization#authorization-server-location",
        R2025_11_25: "basic/authorization#protected-resource-metadata-discovery-requirements",
        R2026_07_28: (
            "basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements"
        ),
    },
    says="A 401 carries WWW-Authenticate; in 2025-06-18 a Bearer challenge names resource_metadata.",
    fix='Send `WWW-Authenticate: Bearer resource_metadata="..."` with every 401.',
    exceptions=(
        "Later revisions let a well-known URI stand in for resource_metadata, 2025-03-26 knows none. Schemes other "
        "than Bearer are outside the authorization pages. A gateway may have answered: then it is not known whose "
        "fault it is."
    ),
    evidence="The response head.",
)
def unauthorized_has_challenge(head: ResponseHead, conversation: Conversation) -> Verdicts:
    if head.status != 401 or conversation.legacy_transport:
        return
    challenge = head.headers.joined("www-authenticate")
    if challenge is None:
        party: Party = "either" if _may_be_a_gateways(head) else "server"
        yield Violated(head.headers_path, "The 401 has no WWW-Authenticate header.", party=party)
    elif conversation.revision == R2025_06_18 and _is_bearer_without_metadata(challenge):
        yield Violated(head.headers_path, "The Bearer challenge of the 401 does not name resource_metadata.")
    else:
        yield SATISFIED


def _is_bearer_without_metadata(challenge: str) -> bool:
    return _BEARER.search(challenge) is not None and "resource_metadata" not in challenge.lower()


_BEARER: Final = re.compile(r"(?:^|,)[ \t]*bearer(?:[ \t,]|$)", re.IGNORECASE)


def _may_be_a_gateways(head: ResponseHead) -> bool:
    return head.media_type == "text/html" or names_gateway(head.headers)


@rule(
    "credentials_over_cleartext",
    level="warning",
    party="client",
    layer="security",
    version_neutral=True,
    cites={
        R2025_03_26: "basic/authorization#security-considerations",
        R2025_06_18: "basic/authorization#communication-security",
        R2025_11_25: "basic/authorization#communication-security",
        R2026_07_28: "basic/authorization/security-considerations#communication-security",
    },
    says="Credentials and session ids go over TLS, or no further than loopback.",
    fix="Use https.",
    exceptions=(
        "Judged where it is known that the client itself asked for `http://`: a capture made in the client (HAR), a "
        "forward or transparent proxy, a target in absolute form. A reverse proxy, which the client takes for the "
        "server, does not tell. Not on the way to loopback or to a private name or address, nor where a header tells "
        "of a proxy before the tap, which may have ended TLS."
    ),
    evidence="The request head, its host, and the scheme that the client asked for.",
    rule_set="extended",
)
def credentials_are_not_sent_in_the_clear(request: Request, _conversation: Conversation) -> Verdicts:
    if not any(name in request.headers for name in ("authorization", "cookie", "mcp-session-id")):
        return
    absolute = request.target.lower().startswith(("http://", "https://"))
    scheme = request.target.lower().partition("://")[0] if absolute else request.scheme
    host = _host_of(request.target if absolute else f"//{request.headers.get('host') or ''}")
    if scheme == "https" or (host is not None and is_loopback(host)):
        yield SATISFIED
    elif scheme is None or host is None:
        yield CannotTell("the scheme or the host that the client asked for is not known")
    elif is_private(host) or any(name in request.headers for name in SIGNS_OF_A_PROXY):
        yield CannotTell("the hop that was seen may lie behind what ends TLS")
    else:
        yield Violated(
            f"{request.exchange.path}/request/path" if absolute else request.headers_path,
            "Credentials or a session id were sent over http to a host that is not loopback.",
        )
