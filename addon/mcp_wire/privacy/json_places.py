"""Which part of a JSON document holds what: a table of places, walked from a message's root.

A place says what happens to the scalars in it and to which place each member leads. It is found by member names, not
by the schema of one method: the names of the MCP schemas mean the same wherever they occur, outside the parts that are
free (arguments, structured content, custom `_meta`, error data), and those are entered once and never left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from mcp_wire.privacy.allow_lists import ENUMERATED, LABELLED, PROTOCOL_NUMBERS, SCHEMA_NUMBERS

Scalars = (
    Literal[
        "label",
        "free",
        "progress",
        "id",
        "code",
        "milliseconds",
        "share",
        "tokens",
        "bound",
        "method",
        "json_rpc_version",
        "protocol_version",
        "name",
        "mirrored_name",
        "product",
        "product_version",
        "uri",
        "blob",
        "media_type",
        "error_word",
        "cursor",
        "schema_type",
        "schema_name",
        "format",
        "dialect",
        "reference",
        "parameter",
        "json_text",
        "trace_parent",
        "trace_state",
        "baggage",
    ]
    | frozenset[str]
)
"""What happens to strings and numbers at a place; a set: those words stay, all else gets a label.

Booleans and null stay everywhere. Numbers stay where they count something, within its range (`numbers`); elsewhere they
get a label.
"""

Names = Literal["known", "data", "meta"]
"""What happens to the names of members: `known` and `data` keep the public vocabulary and replace the rest (`data`:
also at the places that the table has no word for); `meta`: keys of `_meta` and of extensions."""


@dataclass(slots=True, eq=False)
class Place:
    """One kind of place. `members` lead on by name, `others` is where every other member leads; `items`: list items
    are in this place, None: in the same place as the list."""

    scalars: Scalars = "label"
    members: Mapping[str, Place] = field(default_factory=dict)
    others: Place | None = None
    items: Place | None = None
    names: Names = "known"

    def member(self, name: str) -> Place:
        found = self.members.get(name)
        if found is not None:
            return found
        return self.others if self.others is not None else FREE


FREE: Final = Place("free")
FREE.others = FREE

LABEL: Final = Place("label", others=FREE)
CODE: Final = Place("code", others=FREE)
PROGRESS: Final = Place("progress", others=FREE)
BOUND: Final = Place("bound", others=FREE)
ID: Final = Place("id", others=FREE)
METHOD: Final = Place("method", others=FREE)
JSON_RPC_VERSION: Final = Place("json_rpc_version", others=FREE)
PROTOCOL_VERSION: Final = Place("protocol_version", others=FREE)
TOOL_NAME: Final = Place("name", others=FREE)
URI: Final = Place("uri", others=FREE)
BLOB: Final = Place("blob", others=FREE)
MEDIA_TYPE: Final = Place("media_type", others=FREE)
CURSOR: Final = Place("cursor", others=FREE)
MIRRORED_NAME: Final = Place("mirrored_name", others=FREE)

IMPLEMENTATION: Final = Place(
    "product",
    {
        "name": Place("product", others=FREE),
        "version": Place("product_version", others=FREE),
        "icons": Place("label", {"src": URI, "mimeType": MEDIA_TYPE, "theme": Place(ENUMERATED["theme"], others=FREE)}),
        "websiteUrl": URI,
    },
    LABEL,
)

# --- JSON Schema ---

SCHEMA: Final = Place("label")
_PROPERTIES: Final = Place("label", others=SCHEMA, names="data")
_REQUIRED: Final = Place("schema_name", others=Place("schema_name", others=FREE), names="data")
SCHEMA.members = {
    "type": Place("schema_type", others=FREE),
    "properties": _PROPERTIES,
    "patternProperties": _PROPERTIES,
    "dependentSchemas": _PROPERTIES,
    "$defs": _PROPERTIES,
    "definitions": _PROPERTIES,
    "dependentRequired": _REQUIRED,
    "required": _REQUIRED,
    "items": SCHEMA,
    "prefixItems": SCHEMA,
    "additionalItems": SCHEMA,
    "unevaluatedItems": SCHEMA,
    "contains": SCHEMA,
    "additionalProperties": SCHEMA,
    "unevaluatedProperties": SCHEMA,
    "propertyNames": SCHEMA,
    "contentSchema": SCHEMA,
    "not": SCHEMA,
    "if": SCHEMA,
    "then": SCHEMA,
    "else": SCHEMA,
    "oneOf": SCHEMA,
    "anyOf": SCHEMA,
    "allOf": SCHEMA,
    "format": Place("format", others=FREE),
    "$schema": Place("dialect", others=FREE),
    "$ref": Place("reference", others=FREE),
    "$dynamicRef": Place("reference", others=FREE),
    "x-mcp-header": Place("parameter", others=FREE),
    "contentEncoding": Place(ENUMERATED["contentEncoding"], others=FREE),
    "contentMediaType": MEDIA_TYPE,
    "title": LABEL,
    "description": LABEL,
    "pattern": LABEL,
    "$comment": LABEL,
    "enum": FREE,
    "enumNames": FREE,
    "const": FREE,
    "default": FREE,
    "examples": FREE,
    **dict.fromkeys(SCHEMA_NUMBERS, BOUND),
}
SCHEMA.others = FREE
SCHEMA.members = {
    **SCHEMA.members,
    "dependencies": Place("label", others=Place("schema_name", SCHEMA.members, FREE), names="data"),
}

# --- capabilities ---

CAPABILITIES: Final = Place("label")
_EXTENSIONS: Final = Place("label", others=FREE, names="meta")
CAPABILITIES.members = {"experimental": _EXTENSIONS, "extensions": _EXTENSIONS}
CAPABILITIES.others = CAPABILITIES

# --- _meta ---

META: Final = Place(
    "label",
    {
        "progressToken": ID,
        "traceparent": Place("trace_parent", others=FREE),
        "tracestate": Place("trace_state", others=FREE),
        "baggage": Place("baggage", others=FREE),
        "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
        "io.modelcontextprotocol/clientInfo": IMPLEMENTATION,
        "io.modelcontextprotocol/serverInfo": IMPLEMENTATION,
        "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
        "io.modelcontextprotocol/logLevel": Place(ENUMERATED["level"], others=FREE),
        "io.modelcontextprotocol/subscriptionId": ID,
        "io.modelcontextprotocol/related-task": Place("label", {"taskId": LABEL}, FREE),
    },
    FREE,
    names="meta",
)

# --- what all messages share ---

PAYLOAD: Final = Place("label")
"""Params, results and what is inside them, outside the free parts."""
_TOOL: Final = Place("label")
CONTENT: Final = Place("label")
"""Content blocks; or what a person entered into a form, which is free."""
_REQUESTS: Final = Place("label", names="data")
_RESPONSES: Final = Place("label", names="data", others=PAYLOAD)
_ENUMERATED: Final = {name: Place(words, others=FREE) for name, words in ENUMERATED.items()}

PAYLOAD.members = {
    **_ENUMERATED,
    **{name: Place(counting, others=FREE) for name, counting in PROTOCOL_NUMBERS.items()},  # type: ignore[arg-type]
    "_meta": META,
    "protocolVersion": PROTOCOL_VERSION,
    "supportedVersions": PROTOCOL_VERSION,
    "supported": PROTOCOL_VERSION,
    "requested": PROTOCOL_VERSION,
    "capabilities": CAPABILITIES,
    "clientCapabilities": CAPABILITIES,
    "requiredCapabilities": CAPABILITIES,
    "clientInfo": IMPLEMENTATION,
    "serverInfo": IMPLEMENTATION,
    "arguments": Place("label", others=FREE, items=PAYLOAD),
    "input": FREE,
    "structuredContent": FREE,
    "metadata": FREE,
    "content": CONTENT,
    "data": BLOB,
    "blob": BLOB,
    "mimeType": MEDIA_TYPE,
    "text": Place("json_text", others=FREE),
    "uri": URI,
    "resourceSubscriptions": URI,
    "cursor": CURSOR,
    "nextCursor": CURSOR,
    "progressToken": ID,
    "requestId": ID,
    "name": MIRRORED_NAME,
    "tools": Place("label", items=_TOOL, others=PAYLOAD),
    "requestedSchema": SCHEMA,
    "inputRequests": _REQUESTS,
    "inputResponses": _RESPONSES,
    "annotations": PAYLOAD,
    "argument": PAYLOAD,
    "completion": PAYLOAD,
    "context": PAYLOAD,
    "contents": PAYLOAD,
    "elicitations": PAYLOAD,
    "execution": PAYLOAD,
    "hints": PAYLOAD,
    "icons": PAYLOAD,
    "messages": PAYLOAD,
    "modelPreferences": PAYLOAD,
    "notifications": PAYLOAD,
    "prompts": PAYLOAD,
    "ref": PAYLOAD,
    "resource": PAYLOAD,
    "resourceTemplates": PAYLOAD,
    "resources": PAYLOAD,
    "roots": PAYLOAD,
    "task": PAYLOAD,
    "tasks": PAYLOAD,
    "toolChoice": PAYLOAD,
    "error": Place("error_word", others=FREE),
    **dict.fromkeys(LABELLED, LABEL),
}
PAYLOAD.others = FREE
CONTENT.members = PAYLOAD.members
CONTENT.others = FREE

_TOOL.members = {
    **PAYLOAD.members,
    "name": TOOL_NAME,
    "inputSchema": SCHEMA,
    "outputSchema": SCHEMA,
}
_TOOL.others = FREE

TOOL_CALL: Final = Place("label", {**PAYLOAD.members, "name": TOOL_NAME}, FREE)
"""Params of tools/call."""
LOG_MESSAGE: Final = Place("label", {**PAYLOAD.members, "data": FREE}, FREE)
"""Params of notifications/message, whose data may be anything."""
PROGRESS_MADE: Final = Place("label", {**PAYLOAD.members, "progress": PROGRESS, "total": PROGRESS}, FREE)
"""Params of notifications/progress: each has to be more than the one before."""
PARAMS_OF: Final[Mapping[str, Place]] = {
    "tools/call": TOOL_CALL,
    "notifications/message": LOG_MESSAGE,
    "notifications/progress": PROGRESS_MADE,
}

ERROR: Final = Place("error_word", {"code": CODE, "message": LABEL, "data": PAYLOAD}, FREE)

MESSAGE: Final = Place(
    "label",
    {
        "jsonrpc": JSON_RPC_VERSION,
        "id": ID,
        "method": METHOD,
        "params": PAYLOAD,
        "result": PAYLOAD,
        "error": ERROR,
        "error_description": LABEL,
        "error_uri": URI,
        "message": LABEL,
    },
    FREE,
)
"""The root of a JSON text: a message, a batch of them, or what is neither."""
INPUT_REQUEST: Final = Place("label", {**PAYLOAD.members, "method": METHOD, "params": PAYLOAD}, FREE)
_REQUESTS.others = INPUT_REQUEST
