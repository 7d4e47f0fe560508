"""Capabilities: both sides use only what the other has declared, and declare what they offer.

2025-03-26 to 2025-11-25 basic/lifecycle#operation; the duty to declare holds in 2026-07-28 as well.
"""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Message
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.methods import Capability, Party, declares, method_of, required_capabilities
from mcp_wire.protocol.profiles import ALL_REVISIONS, R2025_03_26, SESSION_REVISIONS
from mcp_wire.rules.reasons import CLIENTS_UNKNOWN, CUT_BY_HAND
from mcp_wire.wire.strict_json import JsonValue

BOOK: Final = RuleBook("lifecycle")
rule = BOOK.rule


@rule(
    "client_used_undeclared_capability",
    level="error",
    levels={R2025_03_26: "warning"},
    party="client",
    layer="lifecycle",
    revisions=SESSION_REVISIONS,
    cites="basic/lifecycle#operation",
    says="A client uses only features that the server has declared.",
    fix="Look at the server's capabilities before calling.",
    exceptions=(
        "Judged by the answer: where the server serves the request, the declaration is what is missing, and "
        "`server_capability_undeclared` speaks. 2025-03-26 only says SHOULD. One finding for each capability."
    ),
    evidence="The session's InitializeResult, the request and the error that answers it.",
)
def client_keeps_to_capabilities(message: Message, conversation: Conversation) -> Verdicts:
    call, session = message.call, message.exchange.session
    if message.sender != "server" or call is None or call.sender != "client" or not message.is_response:
        return
    if conversation.legacy_transport:
        return
    for capability in _needed(call.request, "server", conversation):
        if session.server_capabilities is None or not conversation.is_one_client(session):
            yield CLIENTS_UNKNOWN
        elif declares(session.server_capabilities, capability):
            yield SATISFIED
        elif not conversation.payloads_whole:
            yield CUT_BY_HAND
        elif message.is_error:
            yield Violated(
                call.request.path,
                f"{call.method} needs the capability {capability}, which the server did not declare.",
                about=str(capability),
                exchange=call.request.exchange.id,
            )


def _needed(request: Message, owner: Party, conversation: Conversation) -> list[Capability]:
    """What a request needs its receiver to have declared. A method of the specification, where it needs anything."""
    revision, method = conversation.revision, request.method
    if revision is None or method is None:
        return []
    needed = required_capabilities(revision, request.sender, method, request.params)
    return [capability for capability in needed if capability.owner == owner]


@rule(
    "server_used_undeclared_capability",
    level="error",
    levels={R2025_03_26: "warning"},
    party="server",
    layer="lifecycle",
    revisions=SESSION_REVISIONS,
    cites="basic/lifecycle#operation",
    says="A server uses only features that the client has declared.",
    fix="Look at the client's capabilities before asking.",
    exceptions=(
        "`elicitation: {}` means form mode. ping needs nothing. 2025-03-26 only says SHOULD. One finding for each "
        "capability."
    ),
    evidence="The session's own initialize, and the request.",
)
def server_keeps_to_capabilities(message: Message, conversation: Conversation) -> Verdicts:
    session = message.exchange.session
    if message.sender != "server" or not message.is_request or conversation.legacy_transport:
        return
    for capability in _needed(message, "client", conversation):
        if session.client_capabilities is None or not conversation.is_one_client(session):
            yield CLIENTS_UNKNOWN
        elif declares(session.client_capabilities, capability):
            yield SATISFIED
        elif not conversation.payloads_whole:
            yield CUT_BY_HAND
        else:
            yield Violated(
                message.path,
                f"{message.method} needs the capability {capability}, which the client did not declare.",
                about=str(capability),
            )


@rule(
    "server_capability_undeclared",
    level="error",
    party="server",
    layer="lifecycle",
    cites=dict.fromkeys(ALL_REVISIONS, "server/tools#capabilities"),
    says="A server declares the capability of every feature that it offers.",
    fix="Declare the capability, with listChanged and subscribe for the notifications of changes.",
    exceptions=(
        "An empty list of something undeclared does no harm: a warning. In 2026-07-28 only what server/discover said "
        "to the same credentials counts, and a client need not ask. `logging: {}` is a declaration. One finding for "
        "each capability. The clause cited is that of tools; prompts, resources, logging and completion have their own."
    ),
    evidence="The InitializeResult of the session or the DiscoverResult, and a result or notification.",
)
def offered_features_are_declared(message: Message, conversation: Conversation) -> Verdicts:
    if message.sender != "server" or conversation.legacy_transport:
        return
    for capability in _offered(message, conversation):
        declared = _declared_by_server(message, conversation)
        if declared is None:
            yield CannotTell("what the server declared to this client was not captured")
        elif declares(declared, capability):
            yield SATISFIED
        elif not conversation.payloads_whole:
            yield CUT_BY_HAND
        else:
            what = message.method if message.call is None else f"The result of {message.call.method}"
            yield Violated(
                message.path,
                f"{what} needs the capability {capability}, and the server did not declare it.",
                about=str(capability),
                level="warning" if _is_empty_list(message) else None,
            )


def _offered(message: Message, conversation: Conversation) -> list[Capability]:
    """The server's capabilities that a result or a notification of the server makes use of."""
    if message.is_notification:
        method = method_of(conversation.revision or "", "server", message.method or "")
        capability = method.capability if method is not None else None
        return [capability] if capability is not None and capability.owner == "server" else []
    if message.result is None or message.call is None or message.call.sender != "client":
        return []
    offered = _needed(message.call.request, "server", conversation)
    request = message.call.request
    method = method_of(conversation.revision or "", "client", request.method or "")
    if method is not None and "task" not in message.result:
        # An ordinary result: the server ignored the request for a task (2025-11-25 basic/utilities/tasks lets it).
        offered = [capability for capability in offered if capability != method.task_capability]
    return offered


def _declared_by_server(message: Message, conversation: Conversation) -> dict[str, JsonValue] | None:
    if conversation.is_modern:
        return conversation.era.capabilities_for(message.exchange.request)
    session = message.exchange.session
    return session.server_capabilities if conversation.is_one_client(session) else None


def _is_empty_list(message: Message) -> bool:
    if message.result is None or message.call is None or not (message.call.method or "").endswith("/list"):
        return False
    lists = [value for value in message.result.values() if isinstance(value, list)]
    return bool(lists) and not any(lists)
