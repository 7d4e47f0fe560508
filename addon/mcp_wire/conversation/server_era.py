"""What a server has said of the versions and features that it supports, and which modern refusals its clients got.

Sources: 2026-07-28 basic/versioning#protocol-version-negotiation, server/discover, and
basic/transports/streamable-http#backward-compatibility.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Limit, Memory
from mcp_wire.conversation.clients import authorization_mark, client_info_mark, sender_mark
from mcp_wire.conversation.facts import Message, Request
from mcp_wire.protocol.error_codes import METHOD_NOT_FOUND, MODERN_CODES, UNSUPPORTED_VERSION
from mcp_wire.protocol.profiles import is_modern_version
from mcp_wire.wire.observation import Milliseconds
from mcp_wire.wire.strict_json import JsonValue

MAX_VERSIONS_REMEMBERED: Final = 64
MAX_VERSION_LENGTH: Final = 64
"""A longer text is no version that anybody could support."""
MAX_CREDENTIALS_REMEMBERED: Final = 256
MAX_CLIENTS_REMEMBERED: Final = 1_024

LISTED_VERSIONS: Final = Memory(
    "versions in the server's own list",
    (
        "unsupported_version_not_rejected",
        "initialize_error_without_versions",
        "legacy_method_not_405",
        "version_not_echoed",
        "header_mismatch_not_rejected",
    ),
)
INITIALIZED_VERSIONS: Final = Memory("versions that an initialize was answered with", ("version_not_echoed",))
DISCOVERED: Final = Memory(
    "capabilities that server/discover gave to different credentials", ("server_capability_undeclared",)
)
REFUSALS: Final = Memory(
    "clients whose latest request was refused for its version", ("legacy_fallback_after_modern_error",)
)


@dataclass(frozen=True, slots=True)
class SupportedVersions:
    """A server's own list, from a DiscoverResult or the data of a -32022 error. `whole` False: it was too long."""

    versions: frozenset[str]
    t_ms: Milliseconds | None
    whole: bool


@dataclass(frozen=True, slots=True)
class ModernRefusal:
    """A 400 with a recognised modern error, which proves that the server speaks 2026-07-28 or later."""

    code: int
    names_modern_version: bool
    """For -32022: the error lists a version that has no `initialize`. For the other codes: True."""
    client_info: bytes | None
    """A mark of the refused client's clientInfo, None where it gave none."""


@dataclass(frozen=True, slots=True)
class VersionProof:
    """When a server showed that it supports a version."""

    t_ms: Milliseconds | None


@dataclass(slots=True)
class ServerEra:
    """What is known of a server's versions."""

    supported: SupportedVersions | None = None
    """The latest list of versions."""
    initialized: BoundedTable[str, VersionProof] = field(
        default_factory=lambda: BoundedTable(MAX_VERSIONS_REMEMBERED, memory=INITIALIZED_VERSIONS)
    )
    """Versions that an `initialize` was answered with, and when last."""
    discovered: BoundedTable[bytes, dict[str, JsonValue]] = field(
        default_factory=lambda: BoundedTable(MAX_CREDENTIALS_REMEMBERED, memory=DISCOVERED)
    )
    """The capabilities of the latest DiscoverResult, by the credentials that asked for it."""
    refused_discovery: Message | None = None
    """The first "method not found" for a server/discover from a server that had not yet shown to be modern."""
    refusal_before: ModernRefusal | None = None
    """The modern refusal that the sender of the current request got for its request before."""
    _refusals: BoundedTable[bytes, ModernRefusal] = field(
        default_factory=lambda: BoundedTable(MAX_CLIENTS_REMEMBERED, memory=REFUSALS)
    )
    _listed_limit: Limit = field(default_factory=lambda: Limit(LISTED_VERSIONS, f"{MAX_VERSIONS_REMEMBERED}"))

    @property
    def is_modern_only(self) -> bool:
        """The server itself lists only versions that have neither sessions nor GET."""
        supported = self.supported
        if supported is None or not supported.whole or not supported.versions:
            return False
        return all(is_modern_version(version) for version in supported.versions)

    def proof_of(self, version: str) -> VersionProof | None:
        """The latest proof that the server supports a version; None without one."""
        proof, listed = self.initialized.get(version), self.supported
        if proof is None and listed is not None and version in listed.versions:
            return VersionProof(listed.t_ms)
        return proof

    def capabilities_for(self, request: Request) -> dict[str, JsonValue] | None:
        """What the server advertised by server/discover to the credentials of this request."""
        return self.discovered.get(authorization_mark(request))

    def take_request(self, request: Request) -> None:
        """Whatever a client sends next, the refusal before it is used up."""
        mark = sender_mark(request)
        self.refusal_before = self._refusals.get(mark)
        self._refusals.discard(mark)

    def take(self, message: Message, *, server_is_modern: bool) -> None:
        """Learn from a response of the server."""
        call, result = message.call, message.result
        if message.sender != "server" or not message.is_response:
            return
        if message.error_code == UNSUPPORTED_VERSION:
            self._supports(message.error_data.get("supported"), message.t_ms)
        if call is None or call.sender != "client":
            return
        request = call.request.exchange.request
        head = message.exchange.head
        if message.error_code in MODERN_CODES and head is not None and head.status == 400:
            self._refused(request, message)
        if call.method == "server/discover" and message.error_code == METHOD_NOT_FOUND and not server_is_modern:
            self.refused_discovery = self.refused_discovery or message
        if call.method == "server/discover" and result is not None:
            self._supports(result.get("supportedVersions"), message.t_ms)
            capabilities = result.get("capabilities")
            if isinstance(capabilities, dict):
                self.discovered.put(authorization_mark(request), capabilities)
        if call.method == "initialize" and result is not None:
            version = result.get("protocolVersion")
            if isinstance(version, str) and len(version) <= MAX_VERSION_LENGTH:
                self.initialized.put(version, VersionProof(message.t_ms))

    def _supports(self, listed: JsonValue, t_ms: Milliseconds | None) -> None:
        if isinstance(listed, list) and listed:
            versions = frozenset(
                version
                for version in listed[:MAX_VERSIONS_REMEMBERED]
                if isinstance(version, str) and len(version) <= MAX_VERSION_LENGTH
            )
            self.supported = SupportedVersions(versions, t_ms, len(listed) <= MAX_VERSIONS_REMEMBERED)
            if not self.supported.whole:
                self._listed_limit.lose()

    def _refused(self, request: Request, message: Message) -> None:
        assert message.error_code is not None
        names_modern = message.error_code != UNSUPPORTED_VERSION or (
            self.supported is not None and any(is_modern_version(version) for version in self.supported.versions)
        )
        refusal = ModernRefusal(message.error_code, names_modern, client_info_mark(request))
        self._refusals.put(sender_mark(request), refusal)
