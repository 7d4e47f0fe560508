"""How client and server agree on a version, and the errors that say they cannot (2026-07-28 basic/versioning)."""

from __future__ import annotations

import re
from typing import Final

from mcp_wire.conversation.clients import client_info_mark
from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import EVENT_STREAM, CaptureEnd, Message, Request, ResponseHead
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.error_codes import HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CAPABILITY, UNSUPPORTED_VERSION
from mcp_wire.protocol.meta_keys import META_CLIENT_CAPABILITIES, META_VERSION
from mcp_wire.protocol.methods import Capability, declares
from mcp_wire.protocol.profiles import (
    MODERN_REVISIONS,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
    is_date_version,
    is_modern_version,
)
from mcp_wire.rules.mirroring import answered_request, mirrored_method
from mcp_wire.rules.reasons import CUT_BY_HAND, REFUSED_FIRST, SERVER_IS_OF_UNKNOWN_ERA
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.media_types import accept_lists
from mcp_wire.wire.strict_json import JsonValue, canonical

BOOK: Final = RuleBook("versioning")
rule = BOOK.rule


MAX_EVIDENCE_AGE_MS: Final = 5 * 60 * 1000.0
"""A server's list of versions may change with its next deployment."""


def _refused_for_another_reason(status: int) -> bool:
    return status in (401, 403, 404, 405, 406, 413, 415, 429) or status >= 500


def _named_versions(request: Message) -> set[str]:
    """The versions that a request names: one, unless header and body contradict each other."""
    versions = [request.exchange.request.version_header, request.meta.get(META_VERSION)]
    if request.method == "initialize":
        versions.append(request.params.get("protocolVersion"))
    return {version for version in versions if isinstance(version, str)}


@rule(
    "unsupported_version_not_rejected",
    level="error",
    party="server",
    layer="response_framing",
    revisions=(R2025_06_18, R2025_11_25, R2026_07_28),
    cites={
        R2025_06_18: "basic/transports#protocol-version-header",
        R2025_11_25: "basic/transports#protocol-version-header",
        R2026_07_28: "basic/transports/streamable-http#protocol-version-header",
    },
    says="A protocol version that the server cannot or does not support is refused with 400 (2026-07-28: and -32022).",
    fix="Answer 400; from 2026-07-28 on with an UnsupportedProtocolVersionError.",
    exceptions=(
        "Up to 2025-11-25 only values that are no version at all are judged: which versions a server supports is not "
        "advertised there. Not on `initialize`. In 2026-07-28 the server's own list (server/discover, or the data of "
        "its latest -32022) has to leave the version out, and must not be older than five minutes; an answer to "
        "server/discover itself is not judged. 401, 403, 404, 405, 406, 413, 415, 429 and 5xx go first; -32020 with "
        "400 is accepted where header and body differ."
    ),
    evidence="The request head and the status; in 2026-07-28 the answer and the server's list of versions.",
)
def unknown_version_is_refused(fact: ResponseHead | Message, conversation: Conversation) -> Verdicts:
    if isinstance(fact, Message):
        if conversation.is_modern:
            yield from _unsupported_is_refused(fact, conversation)
    elif not conversation.is_modern and not conversation.legacy_transport:
        yield from _nonsense_is_refused(fact)


def _nonsense_is_refused(head: ResponseHead) -> Verdicts:
    request = head.exchange.request
    version = request.version_header
    if not version or request.headers.repeated("mcp-protocol-version") or request.is_initialize:
        return
    # Drafts have had names of their own, which a server may well know.
    if is_date_version(version) or version.upper().startswith("DRAFT"):
        return
    if head.status == 400:
        yield SATISFIED
    elif not head.is_success:
        yield REFUSED_FIRST
    elif request.method.upper() == "POST" and not request.body.is_captured:
        yield CannotTell("the request body was not captured, so it may be an initialize")
    else:
        yield Violated(
            head.status_path,
            f"MCP-Protocol-Version is {{}}, which is no version, and the request was answered {head.status}, not 400.",
            (Evidence("version", version),),
        )


def _unsupported_is_refused(message: Message, conversation: Conversation) -> Verdicts:
    request, head = answered_request(message, conversation), message.exchange.head
    supported = conversation.era.supported
    if request is None or head is None:
        return
    if message.error_code == UNSUPPORTED_VERSION:
        if head.status == 400:
            yield SATISFIED
        else:
            yield Violated(head.status_path, f"An UnsupportedProtocolVersionError has status {head.status}, not 400.")
        return
    versions = _named_versions(request)
    if supported is None or not supported.whole or not versions or versions & supported.versions:
        return
    if request.method == "server/discover":
        return
    if supported.t_ms is None or message.t_ms is None or message.t_ms - supported.t_ms > MAX_EVIDENCE_AGE_MS:
        yield CannotTell("the server's list of versions is too old, or of unknown age")
    elif _refused_for_another_reason(head.status) or (head.status == 400 and message.error_code == HEADER_MISMATCH):
        yield REFUSED_FIRST
    else:
        yield Violated(
            head.status_path,
            f"The request names version {{}}, which the server's own list leaves out; it was answered {head.status} "
            "without -32022.",
            (Evidence("version", min(versions)),),
        )


@rule(
    "unsupported_version_error_data",
    level="error",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/versioning#protocol-version-negotiation"},
    says="An UnsupportedProtocolVersionError lists the supported versions and repeats the requested one.",
    fix="Send `data: {supported: [...], requested: ...}`.",
    exceptions=(
        "What was requested is not compared for an `initialize`, nor where header and body of the request differ. The "
        "status is judged by `unsupported_version_not_rejected`."
    ),
    evidence="The error, and the request that it answers.",
)
def unsupported_version_error_says_what_is(message: Message, conversation: Conversation) -> Verdicts:
    if message.sender != "server" or message.error_code != UNSUPPORTED_VERSION:
        return
    supported, requested = message.error_data.get("supported"), message.error_data.get("requested")
    if not isinstance(supported, list) or not supported or not all(isinstance(one, str) for one in supported):
        yield (
            Violated(message.path, "The -32022 error does not list supported versions in `data.supported`.")
            if conversation.payloads_whole
            else CUT_BY_HAND
        )
        return
    call = message.call
    named = _named_versions(call.request) if call is not None and call.method != "initialize" else set()
    if len(named) != 1:
        return
    version = named.pop()
    if version in supported:
        yield Violated(
            message.path, "The -32022 error lists {} as supported, which it refuses.", (Evidence("version", version),)
        )
    elif requested == version:
        yield SATISFIED
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    else:
        yield Violated(
            message.path,
            "`data.requested` of the -32022 error is not the version of the request, {}.",
            (Evidence("version", version),),
        )


@rule(
    "legacy_fallback_after_modern_error",
    level="warning",
    party="client",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#backward-compatibility"},
    says="After a modern error a client corrects its request; it does not fall back to initialize or to HTTP+SSE.",
    fix="Send the request again with a supported version, or with what the error asks for.",
    exceptions=(
        "A modern error is 400 with -32020, -32021 or -32022; the last one only where it lists 2026-07-28 or later. "
        "Not where the two requests come from different clients, as far as credentials, product and clientInfo show."
    ),
    evidence=(
        "The refusal, and the next request of a client that cannot be told apart from the refused one, both in one "
        "transcript. Live and in `convert` an `initialize`, and a GET that names no version, go to a conversation of "
        "their own, because they may belong to an earlier revision; so there it is found only where the profile is "
        "pinned: `mcp_profile=stable-2026-07-28`, `convert --profile stable-2026-07-28`."
    ),
)
def modern_error_is_corrected(request: Request, conversation: Conversation) -> Verdicts:
    refusal = conversation.era.refusal_before
    if refusal is None or not refusal.names_modern_version:
        return
    if request.is_initialize:
        info = client_info_mark(request)
        if refusal.client_info is None or info is None or refusal.client_info == info:
            yield Violated(
                request.body_path,
                f"The client falls back to initialize after 400 with {refusal.code}, which only a server of 2026-07-28 "
                "or later sends.",
            )
    elif _is_transport_probe(request):
        yield Violated(
            request.method_path,
            f"The client probes for the HTTP+SSE transport after 400 with {refusal.code}, which only a server of "
            "2026-07-28 or later sends.",
        )
    else:
        yield SATISFIED


def _is_transport_probe(request: Request) -> bool:
    headers = request.headers
    return (
        request.method.upper() == "GET"
        and request.session_id is None
        and request.version_header is None
        and headers.get("user-agent") is not None
        and accept_lists(headers.joined("accept"), EVENT_STREAM)
    )


@rule(
    "discover_not_implemented",
    level="error",
    party="server",
    layer="response_framing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "server/discover"},
    says="A server of 2026-07-28 implements server/discover.",
    fix="Implement server/discover.",
    exceptions=(
        "Only where the server has shown, before or after, that it speaks 2026-07-28: a server of earlier revisions "
        "owes nothing. A 404 without a JSON-RPC error may be a wrong address or a gateway. Not where the request "
        "itself is malformed."
    ),
    evidence="The request, its -32601, and another answer that shows the server to speak 2026-07-28.",
)
def discovery_is_implemented(fact: Message | CaptureEnd, conversation: Conversation) -> Verdicts:
    answer = conversation.era.refused_discovery if isinstance(fact, CaptureEnd) else fact
    if answer is None or answer.call is None or answer.call.method != "server/discover" or not answer.is_response:
        return
    if answer.result is not None:
        yield SATISFIED
    elif answer.error_code == METHOD_NOT_FOUND and _is_well_formed(answer.call.request):
        if conversation.server_is_modern:
            yield Violated(
                answer.path,
                "server/discover was answered with -32601, and the server serves other requests of 2026-07-28.",
                exchange=answer.exchange.id,
            )
        elif isinstance(fact, CaptureEnd):
            yield SERVER_IS_OF_UNKNOWN_ERA


def _is_well_formed(request: Message) -> bool:
    mirrored = mirrored_method(request)
    has_metadata = META_VERSION in request.meta and META_CLIENT_CAPABILITIES in request.meta
    return has_metadata and mirrored is not None and mirrored.state == "equal"


@rule(
    "method_not_found_status",
    level="error",
    party="server",
    layer="response_framing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#protocol-version-header"},
    says="An unknown method is answered 404 with -32601.",
    fix="Send status 404 with the -32601 error.",
    exceptions=(
        "Not for `initialize`, whose refusal is implementation-defined. A 404 without -32601 is not judged: it may be "
        "a wrong address, a gateway, or a server of an earlier revision."
    ),
    evidence="The error and its status, from a server that has shown to speak 2026-07-28.",
)
def method_not_found_is_404(message: Message, conversation: Conversation) -> Verdicts:
    head = message.exchange.head
    if message.error_code != METHOD_NOT_FOUND or answered_request(message, conversation) is None or head is None:
        return
    if head.status == 404:
        yield SATISFIED
    elif not conversation.server_is_modern:
        yield SERVER_IS_OF_UNKNOWN_ERA
    else:
        yield Violated(head.status_path, f"The error -32601 was sent with status {head.status}, not 404.")


@rule(
    "missing_capability_error",
    level="error",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic#meta"},
    says="The error -32021 has status 400 and lists capabilities that the request did not declare.",
    fix="Send 400 with `data.requiredCapabilities` holding exactly what is missing.",
    exceptions="`elicitation: {}` declares form mode only. A capability within another (sampling.tools) is its own.",
    evidence="The request's `_meta`, the error and its status.",
)
def missing_capability_is_named(message: Message, conversation: Conversation) -> Verdicts:
    request, head = answered_request(message, conversation), message.exchange.head
    if message.error_code != MISSING_CAPABILITY or request is None or head is None:
        return
    if head.status != 400:
        yield Violated(message.path, f"The error -32021 was sent with status {head.status}, not 400.", about="status")
    required = message.error_data.get("requiredCapabilities")
    if not conversation.payloads_whole:
        yield CUT_BY_HAND
    elif not isinstance(required, dict) or not required:
        yield Violated(
            message.path, "The error -32021 does not list what is missing in `data.requiredCapabilities`.", about="data"
        )
    elif all(declares(request.meta.get(META_CLIENT_CAPABILITIES), one) for one in _capabilities_in(required)):
        yield Violated(message.path, "The error -32021 asks only for what was declared.", about="declared")
    elif head.status == 400:
        yield SATISFIED


def _capabilities_in(required: JsonValue) -> list[Capability]:
    """The innermost capabilities of a capabilities object."""
    found: list[Capability] = []
    pending: list[tuple[tuple[str, ...], JsonValue]] = [((), required)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict) and value:
            pending.extend(((*path, name), inner) for name, inner in value.items())
        else:
            found.append(Capability("client", path))
    return found


@rule(
    "initialize_error_without_versions",
    level="warning",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/versioning#backward-compatibility-with-initialization-based-versions"},
    says="A server of 2026-07-28 alone names its versions in the error that refuses an initialize.",
    fix="Name the supported versions in the error, best in `data.supported` for programs and people alike.",
    exceptions=(
        "Only where the server's own list names no version before 2026-07-28. 401 and 403 are not judged. What the "
        "error's message says in words is not judged either: transcripts do not keep words. So the finding is left for "
        "an error that says nothing at all."
    ),
    evidence="The server's list of versions, and the error.",
    rule_set="extended",
)
def initialize_refusal_names_versions(message: Message, conversation: Conversation) -> Verdicts:
    call, head = message.call, message.exchange.head
    if message.sender != "server" or not message.is_error or call is None or call.method != "initialize":
        return
    if head is None or head.status in (401, 403) or not conversation.era.is_modern_only:
        return
    error = message.envelope.error if isinstance(message.envelope.error, dict) else {}
    if _DATE.search(canonical(error.get("data"))):
        yield SATISFIED
    elif error.get("message"):
        yield CannotTell("the error's message may name versions in its words")
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    else:
        yield Violated(message.path, "The error that refuses initialize names no protocol version.")


_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@rule(
    "modern_version_negotiated_by_initialize",
    level="warning",
    party="server",
    layer="profile_mixing",
    revisions=MODERN_REVISIONS,
    version_neutral=True,
    cites={R2026_07_28: "basic/versioning#terminology"},
    says="initialize negotiates a version that has initialize.",
    fix="Answer initialize with a version up to 2025-11-25, or with an error.",
    exceptions=(
        "No clause forbids it in so many words: 2026-07-28 has no handshake, so the pair means nothing. The session is "
        "not judged by 2026-07-28 for it. Also judged where no revision is known, which is what such a result leads to."
    ),
    evidence="The InitializeResult.",
)
def initialize_negotiates_a_session_version(message: Message, conversation: Conversation) -> Verdicts:
    if message.result is None or message.call is None or conversation.legacy_transport:
        return
    version = message.result.get("protocolVersion")
    if message.call.method != "initialize" or not isinstance(version, str):
        return
    if is_modern_version(version):
        yield Violated(
            message.path,
            "initialize was answered with version {}, which has no initialize.",
            (Evidence("version", version),),
        )
    else:
        yield SATISFIED
