"""Where `mcp-types` and schema.ts of a revision part ways, each with the clause, in one place.

schema.ts is the source of truth (basic/index#schema: "the schema ... is the source of truth"). `mcp-types` has one set
of models for all revisions up to 2025-11-25 and one for 2026-07-28, made from schema.json. Names are its class names.

Stricter than schema.ts, so that its complaint is dropped:
- `number` is `integer` in schema.json (Resource.size, maxTokens, total, ttl, pollInterval ...): a fraction is legal.
  Where a page of the specification asks for an integer (ids, progress tokens, ttlMs), a rule of its own says so.
- A member that the revision does not define yet may hold anything (LATER_MEMBERS): objects are open in every schema.
- An integer too long for the interpreter, and a string with a lone surrogate, are still a number and a string.

Up to 2025-06-18 the params of a method do not repeat `_meta`. Request.params, which they refine, has it: it is judged.

More lenient, so that something is added:
- An optional member takes null in mcp-types; in schema.ts `member?: string` does not (`cursor`, `nextCursor`,
  `description` ...). Task.ttl is `number | null`, and `unknown` takes everything.
- Shapes that a later revision added (LATER_SHAPES, LATER_LISTS, LATER_OPTIONAL, SCALAR_VALUES).
- 2026-07-28 `CallToolResult | InputRequiredResult`: the second takes nearly any object; `resultType` decides instead.

- `_meta["io.modelcontextprotocol/serverInfo"]` takes anything in mcp-types, an Implementation in schema.ts.

More lenient, and left so (a miss is better than a false finding): the property schemas of an elicitation, boolean
schemas under a tool's `properties`, and all formats (uri, byte).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcp_wire.protocol.profiles import ALL_REVISIONS, R2025_06_18, R2025_11_25


def _members(revision: str, by_class: Mapping[str, str]) -> dict[tuple[str, str], str]:
    return {(owner, member): revision for owner, members in by_class.items() for member in members.split()}


LATER_MEMBERS: Final[Mapping[tuple[str, str], str]] = {
    **_members(
        R2025_06_18,
        {
            "Annotations": "lastModified",
            "AudioContent": "_meta",
            "BlobResourceContents": "_meta",
            "CallToolResult": "structuredContent",
            "ClientCapabilities": "elicitation",
            "CompleteRequestParams": "context",
            "EmbeddedResource": "_meta",
            "ImageContent": "_meta",
            "Implementation": "title",
            "Prompt": "_meta title",
            "PromptArgument": "title",
            "PromptReference": "title",
            "Resource": "_meta title",
            "ResourceTemplate": "_meta title",
            "Root": "_meta",
            "TextContent": "_meta",
            "TextResourceContents": "_meta",
            "Tool": "_meta outputSchema title",
        },
    ),
    **_members(
        R2025_11_25,
        {
            "CallToolRequestParams": "task",
            "ClientCapabilities": "tasks",
            "CreateMessageRequestParams": "task toolChoice tools",
            "ElicitRequestFormParams": "mode task",
            "Elicitation": "form url",
            "Implementation": "description icons websiteUrl",
            "InputSchema": "$schema",
            "OutputSchema": "$schema",
            "Prompt": "icons",
            "RequestedSchema": "$schema",
            "Resource": "icons",
            "ResourceLink": "icons",
            "ResourceTemplate": "icons",
            "Sampling": "context tools",
            "SamplingMessage": "_meta",
            "ServerCapabilities": "tasks",
            "Tool": "execution icons",
        },
    ),
}
"""(class, member) -> the first revision that defines it."""

LATER_SHAPES: Final[Mapping[str, tuple[str, str]]] = {
    "ResourceLink": (R2025_06_18, "type"),
    "ToolUseContent": (R2025_11_25, "type"),
    "ToolResultContent": (R2025_11_25, "type"),
    "ElicitRequestURLParams": (R2025_11_25, "requestedSchema"),
}
"""A member of a union -> the first revision that has it, and the member at which earlier ones fault it."""

LATER_LISTS: Final[Mapping[tuple[str, str], str]] = {
    ("SamplingMessage", "content"): R2025_11_25,
    ("CreateMessageResult", "content"): R2025_11_25,
}
"""Members that take an array only from this revision on."""

LATER_OPTIONAL: Final[Mapping[tuple[str, str], str]] = {("CancelledNotificationParams", "requestId"): R2025_11_25}
"""Members that are required before this revision (2025-11-25 leaves requestId out for tasks)."""

SCALAR_VALUES: Final[Mapping[tuple[str, str], str]] = {("ElicitResult", "content"): R2025_11_25}
"""Maps whose values are never null in schema.ts, and arrays only from this revision on."""


def is_before(revision: str, first: str | None) -> bool:
    """Is the revision older than the first one that has something? None: every revision has it."""
    return first is not None and ALL_REVISIONS.index(revision) < ALL_REVISIONS.index(first)
