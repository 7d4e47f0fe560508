"""`_meta`: what each request and result of 2026-07-28 says of its sender, and the form of its keys and values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Message
from mcp_wire.judging.declaration import SATISFIED, RuleBook, Verdicts, Violated
from mcp_wire.protocol.error_codes import HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION
from mcp_wire.protocol.meta_keys import META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_SERVER_INFO, META_VERSION
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2025_06_18, R2025_11_25, R2026_07_28
from mcp_wire.protocol.trace_context import is_baggage, is_trace_parent, is_trace_state
from mcp_wire.rules.mirroring import answered_request, follows_revision
from mcp_wire.rules.reasons import CUT_BY_HAND, REFUSED_FIRST, SERVER_IS_OF_UNKNOWN_ERA
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.strict_json import JsonValue

BOOK: Final = RuleBook("meta")
rule = BOOK.rule

REFUSALS_FOR_METADATA: Final = (INVALID_PARAMS, HEADER_MISMATCH, UNSUPPORTED_VERSION)


@rule(
    "client_capabilities_missing",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic#meta"},
    says="Every request carries clientCapabilities, an object, in `_meta`.",
    fix='Send `"io.modelcontextprotocol/clientCapabilities": {}` at least, in `params._meta` of every request.',
    exceptions="Requests only, and not an `initialize`, which belongs to earlier revisions. `{}` is enough.",
    evidence="The whole request body.",
)
def capabilities_are_sent(message: Message, conversation: Conversation) -> Verdicts:
    if not follows_revision(message, conversation):
        return
    path = message.exchange.request.body_path
    if isinstance(message.meta.get(META_CLIENT_CAPABILITIES), dict):
        yield SATISFIED
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    elif META_CLIENT_CAPABILITIES in message.meta:
        yield Violated(path, f"{META_CLIENT_CAPABILITIES} in `params._meta` is no object.")
    else:
        yield Violated(path, f"`params._meta` has no {META_CLIENT_CAPABILITIES}.")


@rule(
    "client_info_missing",
    level="warning",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic#meta"},
    says="Every request carries clientInfo in `_meta`, unless the client is configured not to.",
    fix="Send the client's name and version as `io.modelcontextprotocol/clientInfo` in `params._meta`.",
    exceptions="A client may be configured not to identify itself; servers must not demand it.",
    evidence="The whole request body.",
    rule_set="extended",
)
def client_identifies_itself(message: Message, conversation: Conversation) -> Verdicts:
    if not follows_revision(message, conversation):
        return
    if META_CLIENT_INFO in message.meta:
        yield SATISFIED
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    else:
        yield Violated(message.exchange.request.body_path, f"`params._meta` has no {META_CLIENT_INFO}.")


@rule(
    "server_info_missing",
    level="warning",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic#meta"},
    says="Every result carries serverInfo in `_meta`, unless the server is configured not to.",
    fix="Send the server's name and version as `io.modelcontextprotocol/serverInfo` in the result's `_meta`.",
    exceptions="Results only, not errors. A server may be configured not to identify itself.",
    evidence="A result of a server that has shown to speak 2026-07-28.",
    rule_set="extended",
)
def server_identifies_itself(message: Message, conversation: Conversation) -> Verdicts:
    call = message.call
    if message.sender != "server" or message.result is None or call is None or call.method == "initialize":
        return
    meta = message.result.get("_meta")
    if isinstance(meta, dict) and META_SERVER_INFO in meta:
        yield SATISFIED
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    elif not conversation.server_is_modern:
        yield SERVER_IS_OF_UNKNOWN_ERA
    else:
        yield Violated(message.path, f"The result's `_meta` has no {META_SERVER_INFO}.")


@rule(
    "meta_key_invalid",
    level="error",
    party="either",
    layer="payload",
    revisions=(R2025_06_18, R2025_11_25, R2026_07_28),
    cites={R2025_06_18: "basic#meta", R2025_11_25: "basic#meta", R2026_07_28: "basic#meta"},
    says="A `_meta` key is a name, with a prefix of dot-separated labels and a slash if any.",
    fix="Use a reversed domain name as prefix: `com.example/name`.",
    exceptions=(
        "Read in `params._meta` and in `_meta` of results; in 2026-07-28 also the extension identifiers of declared "
        "capabilities, whose prefix is mandatory. Who may use which reserved prefix is not judged: the definition "
        "changed between revisions, and extensions define keys. The empty name is legal."
    ),
    evidence="The message.",
    rule_set="extended",
)
def meta_keys_are_well_formed(message: Message, conversation: Conversation) -> Verdicts:
    keys = [(key, False) for key in _meta_of(message)]
    if conversation.is_modern:
        keys += [(key, True) for key in _extensions_of(message)]
    broken = [key for key, needs_prefix in keys if not _is_key(key, needs_prefix=needs_prefix)]
    if broken:
        yield Violated(
            message.path,
            "{} is no valid `_meta` key.",
            (Evidence("text", broken[0]),),
            party=message.sender,
        )
    elif keys:
        yield SATISFIED


_PREFIX: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*")
_NAME: Final = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")


def _is_key(key: str, *, needs_prefix: bool) -> bool:
    prefix, slash, name = key.rpartition("/")
    if not slash:
        return not needs_prefix and _NAME.fullmatch(name) is not None
    return _PREFIX.fullmatch(prefix) is not None and _NAME.fullmatch(name) is not None


def _meta_of(message: Message) -> dict[str, JsonValue]:
    if message.result is not None:
        meta = message.result.get("_meta")
        return meta if isinstance(meta, dict) else {}
    return message.meta


def _extensions_of(message: Message) -> Iterator[str]:
    holders = [message.meta.get(META_CLIENT_CAPABILITIES)]
    if message.result is not None:
        holders.append(message.result.get("capabilities"))
    for capabilities in holders:
        extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
        if isinstance(extensions, dict):
            yield from extensions


@rule(
    "trace_context_invalid",
    level="error",
    party="either",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic#meta"},
    says="traceparent, tracestate and baggage in `_meta` have the W3C formats.",
    fix="Copy the values of the W3C headers as they are.",
    exceptions=(
        "A traceparent of a later version may have more fields. HTTP headers of the same names are not looked at. A "
        "traceparent may not have a trace id or parent id of zeros."
    ),
    evidence="The message.",
    rule_set="extended",
)
def trace_context_is_w3c(message: Message, _conversation: Conversation) -> Verdicts:
    meta = _meta_of(message)
    for key, is_valid in _TRACE_FORMATS.items():
        if key not in meta:
            continue
        value = meta[key]
        if isinstance(value, str) and is_valid(value):
            yield SATISFIED
        else:
            yield Violated(message.path, f"`{key}` in `_meta` has not its W3C format.", party=message.sender, about=key)


_TRACE_FORMATS: Final = {"traceparent": is_trace_parent, "tracestate": is_trace_state, "baggage": is_baggage}


@rule(
    "invalid_meta_not_rejected",
    level="error",
    party="server",
    layer="response_framing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic#meta"},
    says="A request without protocolVersion or clientCapabilities in `_meta` is refused with 400 and -32602.",
    fix="Check `_meta` before acting; answer 400 with Invalid params.",
    exceptions=(
        "Only where MCP-Protocol-Version says 2026-07-28: without any modern marker a server may take the request for "
        "one of an earlier revision. -32020 and -32022 with 400 are accepted too: the header then contradicts the "
        "body, or the version is refused first. 401, 403, 404, 429 and 5xx go first. A refusal without a JSON-RPC "
        "error may come from an intermediary. A missing clientInfo must not be refused."
    ),
    evidence="The whole request, its answer, and a server that has shown to speak 2026-07-28.",
)
def missing_metadata_is_refused(message: Message, conversation: Conversation) -> Verdicts:
    request, head = answered_request(message, conversation), message.exchange.head
    if request is None or head is None or message.exchange.request.version_header != R2026_07_28:
        return
    missing = _missing_metadata(request)
    if missing is None:
        return
    if not conversation.payloads_whole:
        yield CUT_BY_HAND
    elif not conversation.server_is_modern:
        yield SERVER_IS_OF_UNKNOWN_ERA
    elif head.status == 400 and message.error_code in REFUSALS_FOR_METADATA:
        yield SATISFIED
    elif head.status in (401, 403, 404, 429) or head.status >= 500:
        yield REFUSED_FIRST
    else:
        outcome = "served" if message.result is not None else "refused with another error"
        yield Violated(
            head.status_path,
            f"A request without {missing} in `_meta` was {outcome} and status {head.status}; it had to be refused with "
            "400 and -32602.",
        )


def _missing_metadata(request: Message) -> str | None:
    """The first required key that a request's `_meta` lacks."""
    return next((key for key in (META_VERSION, META_CLIENT_CAPABILITIES) if key not in request.meta), None)
