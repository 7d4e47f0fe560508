"""The tool definitions that were delivered to each client, as far as they designate parameters to be mirrored.

2026-07-28 basic/transports/streamable-http#custom-headers-from-tool-parameters. A definition counts for the client that
it was delivered to (the same mark), until that client is told that the list changed or gets another definition.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable
from mcp_wire.conversation.clients import client_mark
from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Message
from mcp_wire.protocol.error_codes import HEADER_MISMATCH
from mcp_wire.protocol.mirrored_headers import PARAM_PREFIX, Designation, designated_parameters
from mcp_wire.wire.strict_json import canonical

MAX_DEFINITIONS_REMEMBERED: Final = 4_096
MAX_DEFINITION_BYTES_REMEMBERED: Final = 4 * 1024 * 1024
"""Bytes of the names in remembered definitions, roughly."""
MAX_CLIENTS_REMEMBERED: Final = 4_096
MAX_REFUSED_CALLS_REMEMBERED: Final = 1_024


@dataclass(slots=True)
class _Delivered:
    designation: Designation
    generation: int


@dataclass(slots=True)
class ToolDefinitions:
    """What designates headers, by client and tool name; and the calls that were refused for their headers."""

    _delivered: BoundedTable[tuple[bytes, str], _Delivered] = field(
        default_factory=lambda: BoundedTable(MAX_DEFINITIONS_REMEMBERED, weight_ceiling=MAX_DEFINITION_BYTES_REMEMBERED)
    )
    _generations: BoundedTable[bytes, int] = field(default_factory=lambda: BoundedTable(MAX_CLIENTS_REMEMBERED))
    _refused: BoundedTable[tuple[bytes, bytes], bytes] = field(
        default_factory=lambda: BoundedTable(MAX_REFUSED_CALLS_REMEMBERED)
    )
    _lists: BoundedTable[bytes, int] = field(default_factory=lambda: BoundedTable(MAX_CLIENTS_REMEMBERED))

    def take(self, message: Message) -> None:
        """Learn from a message of 2026-07-28, of either side."""
        if message.method == "notifications/tools/list_changed" and message.sender == "server":
            mark = client_mark(message.exchange.request)
            self._generations.put(mark, (self._generations.get(mark) or 0) + 1)
        elif message.method == "tools/list" and message.is_request and message.sender == "client":
            mark = client_mark(message.exchange.request)
            self._lists.put(mark, (self._lists.get(mark) or 0) + 1)
        elif message.is_response and message.sender == "server" and message.call is not None:
            if message.call.method == "tools/list" and message.result is not None:
                self._learn(message)
            elif message.call.method == "tools/call" and message.error_code == HEADER_MISMATCH:
                call = message.call.request
                self._refused.put(self._call_key(call), _headers_digest(call))

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
                delivered = _Delivered(designation, self._generations.get(mark) or 0)
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
        if delivered is None or delivered.generation != (self._generations.get(mark) or 0):
            return None
        return delivered.designation

    def was_refused_unchanged(self, call: Message) -> bool | None:
        """Was the same call of the same client refused with -32020, with no tools/list asked since?

        True: and its headers are the same again. False: they were corrected. None: no such refusal.
        """
        refused = self._refused.get(self._call_key(call))
        return None if refused is None else refused == _headers_digest(call)

    def _call_key(self, call: Message) -> tuple[bytes, bytes]:
        mark = client_mark(call.exchange.request)
        asked = [call.params.get("name"), call.params.get("arguments")]
        return mark, digest(f"{self._lists.get(mark) or 0} {canonical(asked)}")


def _headers_digest(call: Message) -> bytes:
    headers = call.exchange.request.headers
    names = sorted(name for name in headers.names() if name.startswith(PARAM_PREFIX))
    return digest("\n".join(f"{name}:{headers.joined(name)}" for name in names))


def _weight(name: str, designation: Designation) -> int:
    steps = sum(len(step) for parameter in designation.parameters for step in parameter.path)
    return len(name) + steps + sum(len(parameter.name) for parameter in designation.parameters)
