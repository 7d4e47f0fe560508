"""Tools: what their definitions say, and whether results keep it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Message
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.json_schema import conforms, dialect_of, faults_of_schema
from mcp_wire.protocol.profiles import R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28
from mcp_wire.protocol.tool_names import MAX_TOOL_NAME_LENGTH, has_only_plain_characters
from mcp_wire.rules.proven import UNPROVEN, is_proven
from mcp_wire.rules.reasons import CUT_BY_HAND
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.strict_json import MISSING, JsonValue

BOOK: Final = RuleBook("features")
rule = BOOK.rule

SCHEMAS_ARE_VALID: Final = (R2025_11_25, R2026_07_28)
"""From here on schemas have to be valid in their dialect (basic/index#schema-validation)."""
STRUCTURED: Final = (R2025_06_18, R2025_11_25, R2026_07_28)


def listed_tools(message: Message) -> Iterator[dict[str, JsonValue]]:
    """The definitions in a tools/list result."""
    call, result = message.call, message.result
    if message.sender == "server" and call is not None and call.method == "tools/list" and result is not None:
        tools = result.get("tools")
        yield from (tool for tool in (tools if isinstance(tools, list) else ()) if isinstance(tool, dict))


@rule(
    "tool_definition_invalid",
    level="error",
    party="server",
    layer="payload",
    version_neutral=True,
    cites={
        R2025_03_26: "schema#tool",
        R2025_06_18: "schema#tool",
        R2025_11_25: "server/tools#tool",
        R2026_07_28: "server/tools#tool",
    },
    says="A tool has an inputSchema with type object; from 2025-11-25 on its schemas are valid JSON Schema.",
    fix='Give a tool without parameters `{"type": "object", "additionalProperties": false}`; check schemas before use.',
    exceptions=(
        "Dialects other than 2020-12 (the default), 2019-09 and draft-07 are not judged, nothing is fetched, and of a "
        "schema only the first 5,000 subschemas are looked at. The text of patterns and identifiers is not judged."
    ),
    evidence="A tools/list result, whole.",
)
def definition_is_usable(message: Message, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    for tool in listed_tools(message):
        if not conversation.payloads_whole:
            yield CUT_BY_HAND
            return
        fault = _fault_of_definition(tool, conversation)
        if fault is None:
            yield SATISFIED
        else:
            yield Violated(message.path, f"Tool {{}}: {fault}.", (Evidence("name", tool.get("name")),))


def _fault_of_definition(tool: dict[str, JsonValue], conversation: Conversation) -> str | None:
    given = tool.get("inputSchema", MISSING)
    if given is MISSING:
        return "there is no inputSchema"
    if not isinstance(given, dict):
        return "the inputSchema is no object"
    if given.get("type") != "object":
        return "the inputSchema does not have type object"
    revision = conversation.revision
    if revision not in SCHEMAS_ARE_VALID or not is_in_force(conversation):
        return None
    returned = tool.get("outputSchema")
    if revision == R2025_11_25 and isinstance(returned, dict) and returned.get("type") != "object":
        return "the outputSchema does not have type object"
    for name, schema in (("inputSchema", given), ("outputSchema", returned)):
        dialect = dialect_of(schema) if isinstance(schema, dict) else None
        if isinstance(schema, dict) and dialect is not None:
            faults = faults_of_schema(schema, dialect)
            if faults:
                shown = "; ".join(f"`{fault.keyword}` {fault.reason}" for fault in faults)
                return f"the {name} is no valid JSON Schema ({shown})"
    return None


def is_in_force(conversation: Conversation) -> bool:
    """The server is bound by the revision: it was negotiated, or the server has shown that it speaks 2026-07-28."""
    return not conversation.is_modern or is_proven(conversation)


@rule(
    "tool_name_invalid",
    level="warning",
    party="server",
    layer="payload",
    revisions=(R2025_11_25, R2026_07_28),
    rule_set="extended",
    cites="server/tools#tool-names",
    says="Tool names have 1 to 128 characters of A-Z, a-z, 0-9, `_`, `-` and `.`, and are unique.",
    fix="Rename the tool.",
    exceptions="A SHOULD. Gateways that bring several servers together often set a prefix off with `:` or `/`.",
    evidence="A tools/list result; for names used twice the whole list, page by page.",
)
def tool_name_is_plain(message: Message, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    tools = list(listed_tools(message))
    if tools and not is_in_force(conversation):
        yield UNPROVEN
        return
    for tool in tools:
        name = tool.get("name")
        if not isinstance(name, str):
            continue
        if len(name) > MAX_TOOL_NAME_LENGTH or not name:
            yield Violated(message.path, f"A tool's name has {'no' if not name else 'more than 128'} characters.")
        elif not has_only_plain_characters(name):
            yield Violated(message.path, "The tool name {} has other characters.", (Evidence("name", name),))
        else:
            yield SATISFIED
    listing = conversation.listings.completed
    if listing is not None and listing.method == "tools/list" and listing.has_twins:
        yield Violated(message.path, "Two tools of the list have the same name.", about="twins")


def _tool_result(message: Message) -> dict[str, JsonValue] | None:
    """A complete result of tools/call: no error of the tool, no interim result, no task."""
    call, result = message.call, message.result
    if message.sender != "server" or call is None or call.method != "tools/call" or result is None:
        return None
    interim = result.get("resultType", "complete") != "complete"
    task = "task" in result and "task" in call.request.params
    return None if interim or task or result.get("isError") is True else result


@rule(
    "structured_content_mismatch",
    level="error",
    party="server",
    layer="payload",
    revisions=STRUCTURED,
    rule_set="extended",
    cites="server/tools#output-schema",
    says="A tool with an outputSchema returns structuredContent that conforms to it.",
    fix="Return structuredContent that fits the outputSchema, or correct the schema.",
    exceptions=(
        "Errors of the tool, interim results and tasks are exempt. What hangs on the text or size of a value "
        "(`pattern`, `minimum`, `maxLength` ...), on a reference out of the schema or on another dialect is left open; "
        "`format` is an annotation. Not judged once the list has changed since the call."
    ),
    evidence="The definition that was delivered to this client last, the call, and the whole result.",
)
def structured_content_fits(message: Message, conversation: Conversation) -> Verdicts:
    result, call = _tool_result(message), message.call
    if result is None or call is None or conversation.legacy_transport:
        return
    interface = conversation.interfaces.called_under(call)
    if interface is None or interface.output_schema is None:
        return
    session = call.request.exchange.session
    if not is_in_force(conversation):
        yield UNPROVEN
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    elif not conversation.is_modern and session.id is None and not conversation.is_one_client(session):
        yield CannotTell("without a session id the definition may have gone to another client")
    elif not conversation.interfaces.is_unchanged(call, is_modern=conversation.is_modern):
        yield CannotTell("the definition changed after the call")
    elif "structuredContent" not in result:
        yield Violated(
            message.path, "Tool {} has an outputSchema, and its result has no structuredContent.", _named(message)
        )
    else:
        fits = conforms(interface.output_schema, result["structuredContent"])
        if fits is None:
            yield CannotTell("the schema asks for more than a transcript keeps")
        elif fits:
            yield SATISFIED
        else:
            yield Violated(
                message.path, "The structuredContent of tool {} does not conform to its outputSchema.", _named(message)
            )


def _named(message: Message) -> tuple[Evidence, ...]:
    return (Evidence("name", message.call.request.params.get("name") if message.call is not None else None),)


@rule(
    "structured_content_without_text",
    level="warning",
    party="server",
    layer="payload",
    revisions=STRUCTURED,
    rule_set="extended",
    cites="server/tools#structured-content",
    says="A result with structuredContent also has a text block, for clients that know no structured content.",
    fix="Add the serialized JSON as a text block.",
    exceptions=(
        "A SHOULD for compatibility. Whether the text says the same as the JSON is not compared: transcripts do not "
        "keep texts, and a sentence for people instead is common."
    ),
    evidence="The whole result.",
)
def structured_content_has_text(message: Message, conversation: Conversation) -> Verdicts:
    result = _tool_result(message)
    if result is None or "structuredContent" not in result or conversation.legacy_transport:
        return
    blocks = result.get("content")
    if isinstance(blocks, list) and any(isinstance(block, dict) and block.get("type") == "text" for block in blocks):
        yield SATISFIED
    elif not is_in_force(conversation):
        yield UNPROVEN
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    else:
        yield Violated(message.path, "The result of tool {} has structuredContent and no text block.", _named(message))
