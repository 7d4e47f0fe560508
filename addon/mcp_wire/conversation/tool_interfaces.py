"""What tools promise of their results and of tasks, as their definitions were last delivered to each client.

Sources: server/tools#output-schema, and 2025-11-25 basic/utilities/tasks#tool-level-negotiation. A definition counts
for the client that it was delivered to, until that client gets another one or is told that the list changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Memory
from mcp_wire.conversation.clients import client_key
from mcp_wire.conversation.facts import Call, Message, Session
from mcp_wire.conversation.generations import Generations
from mcp_wire.wire.strict_json import JsonValue, canonical

MAX_TOOLS_REMEMBERED: Final = 4_096
MAX_SCHEMA_BYTES_REMEMBERED: Final = 8 * 1024 * 1024
"""Characters of the remembered output schemas."""
MAX_CLIENTS_REMEMBERED: Final = 1_024
MAX_CALLS_REMEMBERED: Final = 4_096

INTERFACES: Final = Memory("definitions of tools", ("structured_content_mismatch", "task_not_negotiated"))
CHANGES: Final = Memory(
    "clients that were told of changed tools", ("structured_content_mismatch", "task_not_negotiated")
)
CALLED: Final = Memory("tool calls in flight", ("structured_content_mismatch", "task_not_negotiated"))

Client = Session | bytes


@dataclass(frozen=True, slots=True, eq=False)
class ToolInterface:
    """`output_schema` None: there is none. `task_support`: the value of `execution.taskSupport`, whatever it is."""

    output_schema: dict[str, JsonValue] | None
    task_support: JsonValue
    generation: int


@dataclass(frozen=True, slots=True)
class _Called:
    call: Call
    interface: ToolInterface


@dataclass(slots=True)
class ToolInterfaces:
    """The interfaces in force, by client and tool name, and the one under which each tool was called."""

    _delivered: BoundedTable[tuple[Client, str], ToolInterface] = field(
        default_factory=lambda: BoundedTable(
            MAX_TOOLS_REMEMBERED, weight_ceiling=MAX_SCHEMA_BYTES_REMEMBERED, memory=INTERFACES
        )
    )
    _generations: Generations[Client] = field(
        default_factory=lambda: Generations(BoundedTable(MAX_CLIENTS_REMEMBERED, memory=CHANGES))
    )
    _called: BoundedTable[Call, _Called] = field(
        default_factory=lambda: BoundedTable(
            MAX_CALLS_REMEMBERED, is_done=lambda called: called.call.is_answered, done_is_spent=True, memory=CALLED
        )
    )

    def take(self, message: Message, *, is_modern: bool) -> None:
        """Learn from a message of either side."""
        if message.sender == "client":
            if message.method == "tools/call" and message.call is not None:
                self._note_call(message.call, is_modern)
        elif message.method == "notifications/tools/list_changed":
            client = client_key(message.exchange.request, is_modern=is_modern)
            self._generations.begin(client)
        elif message.result is not None and message.call is not None and message.call.method == "tools/list":
            self._learn(message.call, message.result.get("tools"), is_modern)

    def called_under(self, call: Call) -> ToolInterface | None:
        """What was in force when the tool was called; None where no definition is known."""
        called = self._called.get(call)
        return called.interface if called is not None else None

    def is_unchanged(self, call: Call, *, is_modern: bool) -> bool:
        """The definition that the tool was called under is still the one in force."""
        noted, name = self.called_under(call), call.request.params.get("name")
        client = client_key(call.request.exchange.request, is_modern=is_modern)
        if noted is None or not isinstance(name, str):
            return False
        same = self._delivered.get((client, name)) is noted
        return same and noted.generation == self._generations.of(client)

    def _note_call(self, call: Call, is_modern: bool) -> None:
        name = call.request.params.get("name")
        client = client_key(call.request.exchange.request, is_modern=is_modern)
        found = self._delivered.get((client, name)) if isinstance(name, str) else None
        if found is not None and found.generation == self._generations.of(client):
            self._called.put(call, _Called(call, found))

    def _learn(self, call: Call, tools: JsonValue, is_modern: bool) -> None:
        client = client_key(call.request.exchange.request, is_modern=is_modern)
        generation = self._generations.known(client)
        for tool in tools if isinstance(tools, list) else ():
            name = tool.get("name") if isinstance(tool, dict) else None
            if not isinstance(tool, dict) or not isinstance(name, str):
                continue
            schema, execution = tool.get("outputSchema"), tool.get("execution")
            support = execution.get("taskSupport") if isinstance(execution, dict) else None
            known = ToolInterface(schema if isinstance(schema, dict) else None, support, generation)
            weight = len(name) + (len(canonical(schema)) if isinstance(schema, dict) else 0)
            self._delivered.put((client, name), known, weight)
