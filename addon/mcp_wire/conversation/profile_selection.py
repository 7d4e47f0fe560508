"""Which revision an exchange is judged by, from evidence only: what a request names, what `initialize` negotiates.

Behaviour is no evidence (a GET, an event id, a status, a header that is missing): behaviour is what is being judged.
In particular the absence of a version header does not mean 2025-03-26; that is what a server may assume, not what a
client speaks (2025-11-25 basic/transports#protocol-version-header).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcp_wire.conversation.exchange_reader import ExchangeReader
from mcp_wire.conversation.facts import Ending, Message, ResponseHead
from mcp_wire.protocol.meta_keys import META_VERSION
from mcp_wire.protocol.profiles import MODERN_REVISIONS, PROFILES, Profile, could_be_released, profile_of_revision
from mcp_wire.wire.body import Body
from mcp_wire.wire.jsonrpc import Envelope, classify
from mcp_wire.wire.observation import (
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)

UNKNOWN: Final = "unknown"
"""The profile name for a version that is not even written like one. The value may be anything, so it is not shown."""

MAX_VERSION_LENGTH: Final = 64


def profile_name(version: str) -> str:
    """The profile name of a protocol version as named on the wire.

    A version without a profile keeps its name (`stable-2099-01-01`) if it is a date that a revision can have, and is
    `unknown` otherwise: it is never mapped to the nearest known one, and what may be anything names no file.
    """
    profile = profile_of_revision(version)
    if profile is not None:
        return profile.name
    return f"stable-{version}" if could_be_released(version) else UNKNOWN


def bundled(name: str) -> Profile | None:
    """The profile of that name, None for one that this tool does not have (`undetermined` included)."""
    return PROFILES.get(name)


@dataclass(frozen=True, slots=True)
class VersionEvidence:
    """What one request says of the revision that it speaks and of the session that it belongs to.

    `meta` is `params._meta["io.modelcontextprotocol/protocolVersion"]`, `header` is MCP-Protocol-Version. A header on
    two lines with two values names nothing. A `_meta` version that is no string is an empty, hence unknown, version.
    """

    meta: str | None
    header: str | None
    session_id: str | None
    is_initialize: bool

    @property
    def in_body_modern(self) -> bool:
        return self.meta in MODERN_REVISIONS

    @property
    def names_modern(self) -> bool:
        """The header or `_meta` names a revision without sessions. If they disagree, that is for its rules to say."""
        return self.meta in MODERN_REVISIONS or self.header in MODERN_REVISIONS

    @property
    def named(self) -> str | None:
        """The version that the request names for itself, None if it names none. `_meta` is the stronger evidence."""
        if self.meta in MODERN_REVISIONS or self.header in MODERN_REVISIONS:
            return MODERN_REVISIONS[0]
        return self.meta if self.meta is not None else self.header


def evidence_of(request: RequestSeen) -> VersionEvidence:
    """Read the evidence of one request. Total."""
    meta: str | None = None
    is_initialize = False
    for envelope in _envelopes(request.body):
        is_initialize = is_initialize or _is_initialize(envelope)
        if meta is None:
            meta = _meta_version(envelope)
    versions = {value[:MAX_VERSION_LENGTH] for value in request.headers.all("mcp-protocol-version")}
    header = versions.pop() if len(versions) == 1 else None
    return VersionEvidence(meta, header, request.headers.get("mcp-session-id") or None, is_initialize)


def _envelopes(body: Body) -> Iterator[Envelope]:
    if not body.is_json:
        return
    envelope = classify(body.value)  # type: ignore[arg-type]
    yield from envelope.members if envelope.kind == "batch" else (envelope,)


def _is_initialize(envelope: Envelope) -> bool:
    return envelope.kind == "request" and envelope.method == "initialize"


def _meta_version(envelope: Envelope) -> str | None:
    if not isinstance(envelope.params, dict):
        return None
    meta = envelope.params.get("_meta")
    if not isinstance(meta, dict) or META_VERSION not in meta:
        return None
    version = meta[META_VERSION]
    return version[:MAX_VERSION_LENGTH] if isinstance(version, str) else ""


@dataclass(frozen=True, slots=True)
class Negotiated:
    """How an `initialize` came out. `version` is None where there was an error, or no InitializeResult at all."""

    version: str | None


class InitializeWatch:
    """Reads the answer to one `initialize`, as JSON or as an event stream, until it says what was negotiated.

    `session_id` is the Mcp-Session-Id of a successful response head. Raises nothing: what cannot be read negotiates
    nothing.
    """

    __slots__ = ("_ids", "_reader", "session_id")

    def __init__(self, request: RequestSeen) -> None:
        self.session_id: str | None = None
        self._reader = ExchangeReader(0, request)
        self._ids = {
            fact.envelope.id_key
            for fact in self._reader.request(request)
            if isinstance(fact, Message) and _is_initialize(fact.envelope)
        }

    def feed(self, observation: Observation) -> Negotiated | None:
        """Take an observation of the exchange after its request. None: nothing decided yet."""
        try:
            return self._feed(observation)
        except Exception:  # a fault of ours must not keep the exchange waiting
            return Negotiated(None)

    def _feed(self, observation: Observation) -> Negotiated | None:
        match observation:
            case RequestSeen():
                return None
            case ResponseSeen():
                facts = self._reader.response(observation)
            case ResponseChunk():
                facts = self._reader.chunk(observation)
            case ResponseBody():
                facts = self._reader.body(observation)
            case ExchangeEnded():
                facts = self._reader.end(observation)
        for fact in facts:
            if isinstance(fact, ResponseHead) and fact.is_success:
                self.session_id = fact.session_id or None
            if isinstance(fact, Message) and fact.is_response and fact.envelope.id_key in self._ids:
                version = fact.result.get("protocolVersion") if fact.result is not None else None
                return Negotiated(version[:MAX_VERSION_LENGTH] if isinstance(version, str) else None)
            if isinstance(fact, Ending):
                return Negotiated(None)
        return None
