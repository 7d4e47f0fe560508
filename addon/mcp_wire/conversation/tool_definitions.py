"""The tool definitions that were delivered to each client, as far as they designate parameters to be mirrored.

2026-07-28 basic/transports/streamable-http#custom-headers-from-tool-parameters. A definition counts for the client that
it was delivered to (the same mark), until that client is told that the list changed or gets another definition.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Memory
from mcp_wire.conversation.clients import client_mark
from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Message
from mcp_wire.conversation.generations import Generations
from mcp_wire.protocol.error_codes import HEADER_MISMATCH
from mcp_wire.protocol.mirrored_headers import PARAM_PREFIX, Designation, designated_parameters
from mcp_wire.wire.strict_json import canonical

MIRRORED: Final = ("mcp-method", "mcp-name", "mcp-protocol-version")
"""What a -32020 may be about, other than `Mcp-Param-*`."""
MAX_DEFINITIONS_REMEMBERED: Final = 4_096
MAX_DEFINITION_BYTES_REMEMBERED: Final = 4 * 1024 * 1024
"""Bytes of the names in remembered definitions, roughly."""
MAX_CLIENTS_REMEMBERED: Final = 4_096
MAX_REFUSED_CALLS_REMEMBERED: Final = 1_024

DEFINITIONS: Final = Memory(
    "tool definitions that name headers",
    (
        "param_header_mismatch",
        "param_header_unexpected",
        "header_value_encoding_invalid",
        "numeric_header_rejected",
        "header_mismatch_not_rejected",
        "invalid_tool_called",
    ),
)
CHANGES: Final = Memory(
    "clients whose definitions of headers became stale",
    (
        "param_header_mismatch",
        "param_header_unexpected",
        "header_value_encoding_invalid",
        "numeric_header_rejected",
        "header_mismatch_not_rejected",
        "invalid_tool_called",
    ),
)
REFUSED: Final = Memory("calls that were refused for their headers", ("tools_list_not_refreshed",))
LISTS: Final = Memory("clients that asked for the tools again", ("tools_list_not_refreshed",))


@dataclass(slots=True)
class _Delivered:
    designation: Designation
    generation: int


@dataclass(slots=True)
class ToolDefinitions:
    """What designates headers, by client and tool name; and the calls that were refused for their headers."""

    _delivered: BoundedTable[tuple[bytes, str], _Delivered] = field(
        default_factory=lambda: BoundedTable(
            MAX_DEFINITIONS_REMEMBERED, weight_ceiling=MAX_DEFINITION_BYTES_REMEMBERED, memory=DEFINITIONS
        )
    )
    _generations: Generations[bytes] = field(
        default_factory=lambda: Generations(BoundedTable(MAX_CLIENTS_REMEMBERED, memory=CHANGES))
    )
    _refused: BoundedTable[tuple[bytes, bytes], bytes] = field(
        default_factory=lambda: BoundedTable(MAX_REFUSED_CALLS_REMEMBERED, memory=REFUSED)
    )
    _lists: Generations[bytes] = field(
        default_factory=lambda: Generations(BoundedTable(MAX_CLIENTS_REMEMBERED, memory=LISTS))
    )

    def take(self, message: Message) -> None:
        """Learn from a message of 2026-07-28, of either side."""
        if message.method == "notifications/tools/list_changed" and message.sender == "server":
            self._generations.begin(client_mark(message.exchange.request))
        elif message.method == "tools/list" and message.is_request and message.sender == "client":
            self._lists.begin(client_mark(message.exchange.request))
        elif message.is_response and message.sender == "server" and message.call is not None:
            if message.call.method == "tools/list" and message.result is not None:
                self._learn(message)
            elif message.call.method == "tools/call" and message.error_code == HEADER_MISMATCH:
                call = message.call.request
                mark = client_mark(call.exchange.request)
                self._refused.put(_call_key(call, mark, self._lists.known(mark)), _headers_digest(call))

    def _learn(self, message: Message) -> None:
        tools = (message.result or {}).get("tools")
        assert message.call is not None
        mark = client_mark(message.call.request.exchange.request)
        for tool in tools if isinstance(tools, list) else ():
            name = tool.get("name") if isinstance(tool, dict) else None
            if not isinstance(tool, dict) or not isinstance(name, str):
                continue
            designation = designated_parameters(tool.get("inputSchema"))
            if designation.parameters or designation.faults or designation.undecided:
                delivered = _Delivered(designation, self._generations.known(mark))
                self._delivered.put((mark, name), delivered, _weight(name, designation))
            else:
                self._delivered.discard((mark, name))

    def designation_for(self, call: Message) -> Designation | None:
        """What the definition last delivered to the caller designates; None where nothing is known to be in force."""
        name = call.params.get("name")
        if call.method != "tools/call" or not isinstance(name, str):
            return None
        mark = client_mark(call.exchange.request)
        delivered = self._delivered.get((mark, name))
        if delivered is None or delivered.generation != self._generations.of(mark):
            return None
        return delivered.designation

    def was_refused_unchanged(self, call: Message) -> bool | None:
        """Was the same call of the same client refused with -32020, with no tools/list asked since?

        True: and its headers are the same again. False: they were corrected. None: no such refusal.
        """
        mark = client_mark(call.exchange.request)
        refused = self._refused.get(_call_key(call, mark, self._lists.of(mark)))
        return None if refused is None else refused == _headers_digest(call)


def _call_key(call: Message, mark: bytes, lists: int | None) -> tuple[bytes, bytes]:
    asked = [call.params.get("name"), call.params.get("arguments")]
    return mark, digest(f"{lists} {canonical(asked)}")


def _headers_digest(call: Message) -> bytes:
    headers = call.exchange.request.headers
    names = sorted(name for name in headers.names() if name.startswith(PARAM_PREFIX) or name in MIRRORED)
    return digest("\n".join(f"{name}:{headers.joined(name)}" for name in names))


def _weight(name: str, designation: Designation) -> int:
    steps = sum(len(step) for parameter in designation.parameters for step in parameter.path)
    return len(name) + steps + sum(len(parameter.name) for parameter in designation.parameters)
