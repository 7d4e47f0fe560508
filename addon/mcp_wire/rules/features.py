"""Smaller duties of single features: elicitation by URL, log levels, and what is deprecated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Message
from mcp_wire.conversation.log_levels import LOG_LEVELS
from mcp_wire.judging.declaration import SATISFIED, RuleBook, Verdicts, Violated
from mcp_wire.protocol.error_codes import INVALID_PARAMS, METHOD_NOT_FOUND, URL_ELICITATION_REQUIRED
from mcp_wire.protocol.meta_keys import META_CLIENT_CAPABILITIES, META_LOG_LEVEL
from mcp_wire.protocol.methods import Capability, declares
from mcp_wire.protocol.profiles import (
    MODERN_REVISIONS,
    R2025_03_26,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
)
from mcp_wire.rules.proven import UNPROVEN, is_proven
from mcp_wire.rules.reasons import CUT_BY_HAND
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.strict_json import MISSING, JsonValue

BOOK: Final = RuleBook("features")
rule = BOOK.rule

URL_ELICITATION: Final = Capability("client", ("elicitation", "url"))


@rule(
    "url_elicitation_error_invalid",
    level="error",
    party="server",
    layer="payload",
    revisions=(R2025_11_25,),
    rule_set="extended",
    cites="client/elicitation#url-elicitation-required-error",
    says="Error -32042 lists elicitations by URL, and goes to clients that declared elicitation.url.",
    fix="Put the elicitations into `data`, each with mode `url`, elicitationId, url and message.",
    exceptions="2026-07-28 has retired the code (`reserved_error_code`).",
    evidence="The whole error; for the capability the session's initialize.",
)
def url_elicitation_error_is_whole(message: Message, conversation: Conversation) -> Verdicts:
    if message.sender != "server" or message.error_code != URL_ELICITATION_REQUIRED or conversation.legacy_transport:
        return
    if not conversation.payloads_whole:
        yield CUT_BY_HAND
        return
    fault = _fault_of(message.error_data.get("elicitations"))
    yield Violated(message.path, f"The error -32042 {fault}.") if fault is not None else SATISFIED
    session = message.exchange.session
    if session.initialize_answered is None or not conversation.is_one_client(session):
        return
    if not declares(session.client_capabilities or {}, URL_ELICITATION):
        yield Violated(
            message.path, "The error -32042 went to a client that did not declare elicitation.url.", about="capability"
        )


def _fault_of(elicitations: JsonValue) -> str | None:
    if not isinstance(elicitations, list) or not elicitations:
        return "lists no elicitations"
    for one in elicitations:
        if not isinstance(one, dict) or one.get("mode") != "url":
            return "lists an elicitation that is not by URL"
        for member in ("elicitationId", "url", "message"):
            if not isinstance(one.get(member), str):
                return f"lists an elicitation without {member}"
    return None


@rule(
    "invalid_log_level_accepted",
    level="warning",
    party="server",
    layer="payload",
    rule_set="extended",
    cites={
        R2025_03_26: "server/utilities/logging#error-handling",
        R2025_06_18: "server/utilities/logging#error-handling",
        R2025_11_25: "server/utilities/logging#error-handling",
        R2026_07_28: "server/utilities/logging#error-handling",
    },
    says="An unknown log level is refused with -32602.",
    fix="Check the level against the eight of RFC 5424, and answer -32602 to any other.",
    exceptions="-32601 says that there is no logging. The client's own fault is `invalid_message_schema`.",
    evidence="A request with an unknown level, and its answer.",
)
def unknown_level_is_refused(message: Message, conversation: Conversation) -> Verdicts:
    call = message.call
    if message.sender != "server" or not message.is_response or call is None or conversation.legacy_transport:
        return
    level = _asked_level(call.request, conversation)
    if level is MISSING:
        return
    if isinstance(level, str) and level in LOG_LEVELS:
        if message.result is not None:
            yield SATISFIED
    elif message.error_code in (INVALID_PARAMS, METHOD_NOT_FOUND):
        yield SATISFIED
    elif conversation.is_modern and not is_proven(conversation):
        yield UNPROVEN
    elif message.is_error:
        code = Evidence("code", message.error_code)
        yield Violated(message.path, "An unknown log level was refused with {}, not with -32602.", (code,))
    else:
        yield Violated(message.path, "An unknown log level was accepted.")


def _asked_level(request: Message, conversation: Conversation) -> object:
    if conversation.is_modern:
        return request.meta.get(META_LOG_LEVEL, MISSING)
    return request.params.get("level", MISSING) if request.method == "logging/setLevel" else MISSING


@rule(
    "deprecated_feature_used",
    level="info",
    party="either",
    layer="payload",
    revisions=MODERN_REVISIONS,
    rule_set="extended",
    cites={R2026_07_28: "deprecated#deprecated"},
    says="Features that 2026-07-28 deprecates are not used any more.",
    fix="Follow the migration path in the specification's list of deprecated features.",
    exceptions="They work as before until they are removed; new implementations should not begin with them.",
    evidence="A declared capability, a request, or a notification of such a feature.",
)
def nothing_deprecated_is_used(message: Message, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport or message.is_error:
        return
    used = list(_deprecated(message))
    for feature in used:
        yield Violated(
            message.exchange.path,
            f"{feature} is deprecated since 2026-07-28.",
            party=message.sender,
            about=feature,
        )
    if not used and (META_CLIENT_CAPABILITIES in message.meta or message.result is not None):
        yield SATISFIED


def _deprecated(message: Message) -> Iterator[str]:
    if message.sender == "client":
        capabilities = message.meta.get(META_CLIENT_CAPABILITIES)
        declared = capabilities if isinstance(capabilities, dict) else {}
        yield from (f"The capability {name}" for name in ("roots", "sampling") if name in declared)
        if META_LOG_LEVEL in message.meta:
            yield "Logging"
        return
    if message.method == "notifications/message":
        yield "Logging"
    asked = message.result.get("inputRequests") if message.result is not None else None
    for request in asked.values() if isinstance(asked, dict) else ():
        method = request.get("method") if isinstance(request, dict) else None
        params = request.get("params") if isinstance(request, dict) else None
        if method == "roots/list":
            yield "Roots"
        elif method == "sampling/createMessage":
            yield "Sampling"
            if isinstance(params, dict) and params.get("includeContext") in ("thisServer", "allServers"):
                yield "includeContext"
