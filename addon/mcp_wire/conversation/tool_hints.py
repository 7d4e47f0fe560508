"""What a server says of its tools: may a call be repeated? (ToolAnnotations of the schema, from 2025-03-26 on)"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Memory
from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Message
from mcp_wire.wire.strict_json import JsonValue

MAX_TOOLS_REMEMBERED: Final = 4_096

HINTS: Final = Memory("tools that may be called again", ("reissue_may_duplicate_effect",))


@dataclass(slots=True)
class ToolHints:
    """The latest definition of each tool counts. Hints come from the server, and prove nothing."""

    _repeatable: BoundedTable[bytes, bool] = field(
        default_factory=lambda: BoundedTable(MAX_TOOLS_REMEMBERED, memory=HINTS)
    )

    def take(self, response: Message) -> None:
        """Learn from a tools/list result."""
        if response.call is None or response.call.method != "tools/list" or response.result is None:
            return
        tools = response.result.get("tools")
        for tool in tools if isinstance(tools, list) else ():
            name = tool.get("name") if isinstance(tool, dict) else None
            if isinstance(tool, dict) and isinstance(name, str):
                if _is_repeatable(tool.get("annotations")):
                    self._repeatable.put(digest(name), True)
                else:
                    self._repeatable.discard(digest(name))

    def is_repeatable(self, name: JsonValue) -> bool | None:
        """The tool was listed as read-only or idempotent; None where that is not known any more."""
        if isinstance(name, str) and digest(name) in self._repeatable:
            return True
        return None if self._repeatable.forgotten else False


def _is_repeatable(annotations: JsonValue) -> bool:
    if not isinstance(annotations, dict):
        return False
    return annotations.get("readOnlyHint") is True or annotations.get("idempotentHint") is True
