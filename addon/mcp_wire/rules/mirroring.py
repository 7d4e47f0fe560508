"""What became of the headers that mirror the body of one request: the common ground of the rules about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Message
from mcp_wire.protocol.meta_keys import META_VERSION
from mcp_wire.protocol.methods import method_of
from mcp_wire.protocol.mirrored_headers import (
    PARAM_PREFIX,
    Designation,
    ParameterType,
    argument_at,
    compare,
    decode,
    expected_text,
    has_invalid_characters,
    is_safe_integer,
    needs_encoding,
)
from mcp_wire.protocol.profiles import R2026_07_28
from mcp_wire.wire.strict_json import MISSING, JsonValue, is_integer

State = Literal[
    "equal",
    "equal_number",
    "different",
    "missing",
    "unexpected",
    "omitted",
    "unsafe_integer",
    "perhaps_dropped",
    "not_comparable",
    "invalid_characters",
    "undecodable",
    "not_encoded",
]
"""`unexpected`: sent although there is no value; `omitted`: rightly not sent; `perhaps_dropped`: an empty value, whose
empty header some proxies drop. The last three are faults of the encoding."""

ENCODING_FAULTS: Final = ("invalid_characters", "undecodable", "not_encoded")
MISMATCHES: Final = ("different", "missing", *ENCODING_FAULTS)
"""States that a server which reads the body has to refuse (#server-validation)."""


@dataclass(frozen=True, slots=True)
class Mirrored:
    """One header of a request, as `name` in lower case, the value that it mirrors, and how the two agree."""

    name: str
    value: JsonValue
    sent: str | None
    state: State


def follows_revision(message: Message, conversation: Conversation) -> bool:
    """Is this a client request that owes the headers and `_meta` of 2026-07-28?

    An `initialize` belongs to the revisions before, whatever conversation it stands in: a client that falls back.
    """
    if message.sender != "client" or message.exchange.request.method.upper() != "POST" or message.in_batch:
        return False
    if conversation.profile is not None and conversation.profile.archived:
        return message.is_request or message.is_notification
    return message.is_request and message.method != "initialize"


def answered_request(message: Message, conversation: Conversation) -> Message | None:
    """The 2026-07-28 request that a server's response answers on the request's own exchange; None for anything else."""
    call = message.call
    if message.sender != "server" or not message.is_response or call is None or call.sender != "client":
        return None
    if call.request.exchange is not message.exchange or not follows_revision(call.request, conversation):
        return None
    return call.request


def mirrored_method(message: Message) -> Mirrored | None:
    """How Mcp-Method agrees with the body; None where it stands on several lines."""
    headers = message.exchange.request.headers
    if headers.repeated("mcp-method"):
        return None
    sent = headers.get("mcp-method")
    state: State = "missing" if sent is None else "equal" if sent == message.method else "different"
    return Mirrored("mcp-method", message.method, sent, state)


def mirrored_name(message: Message) -> Mirrored | None:
    """How Mcp-Name agrees with the body; None for methods that mirror no name, or where the body has none to mirror."""
    method = method_of(R2026_07_28, "client", message.method or "")
    headers = message.exchange.request.headers
    if method is None or method.name_member is None or headers.repeated("mcp-name"):
        return None
    value = message.params.get(method.name_member)
    if not isinstance(value, str):
        return None
    sent = headers.get("mcp-name")
    return Mirrored("mcp-name", value, sent, _state(sent, value, "string"))


def mirrored_parameters(message: Message, designation: Designation | None) -> Iterator[Mirrored]:
    """How each designated parameter agrees with its header; nothing where the definition is unknown or invalid."""
    for parameter in designation.parameters if designation is not None else ():
        value = argument_at(message.params.get("arguments", MISSING), parameter.path)
        sent = message.exchange.request.headers.joined(parameter.header)
        if value is MISSING or value is None:
            yield Mirrored(parameter.header, None, sent, "omitted" if sent is None else "unexpected")
        elif parameter.type == "integer" and is_integer(value) and not is_safe_integer(value):
            yield Mirrored(parameter.header, value, sent, "unsafe_integer")
        else:
            yield Mirrored(parameter.header, value, sent, _state(sent, value, parameter.type))


def encoding_fault_alone(sent: str) -> State | None:
    """What is wrong with a header's encoding whatever it mirrors; None where nothing is."""
    if has_invalid_characters(sent):
        return "invalid_characters"
    return "undecodable" if decode(sent).text is None else None


def _state(sent: str | None, value: JsonValue, declared: ParameterType) -> State:
    if compare(sent or "", value, declared) == "not_comparable":
        return "not_comparable"
    if sent is None:
        return "missing" if value != "" else "perhaps_dropped"
    alone = encoding_fault_alone(sent)
    if alone is not None:
        return alone
    if needs_encoding(expected_text(value) or "") and not decode(sent).encoded:
        return "not_encoded"
    return compare(sent, value, declared)


def mismatched_headers(message: Message, conversation: Conversation) -> list[str]:
    """Names of the mirrored headers of a request that its server has to refuse, in lower case."""
    request = message.exchange.request
    found: list[str] = []
    version, meta = request.version_header, message.meta.get(META_VERSION)
    if not request.headers.repeated("mcp-protocol-version"):
        if version is None and conversation.era.is_modern_only:
            found.append("mcp-protocol-version")
        if version is not None and isinstance(meta, str) and version != meta:
            found.append("mcp-protocol-version")
    standard = (mirrored_method(message), mirrored_name(message))
    found.extend(mirrored.name for mirrored in standard if mirrored is not None and mirrored.state in MISMATCHES)
    designation = conversation.tools.designation_for(message)
    found.extend(
        mirrored.name for mirrored in mirrored_parameters(message, designation) if mirrored.state in MISMATCHES
    )
    return found


def parameter_headers(message: Message) -> Iterator[tuple[str, str]]:
    """The Mcp-Param-* headers of a request: lower-case name and value, several lines joined."""
    headers = message.exchange.request.headers
    for name in headers.names():
        if name.startswith(PARAM_PREFIX):
            yield name, headers.joined(name) or ""
