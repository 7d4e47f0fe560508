"""The interoperability tuple: who spoke with whom, over what, as far as the beginning of a conversation shows it.

Live, it is read from redacted observations only, so it can show nothing that the transcript itself does not. What
redaction replaced by a label is unknown, and unknown parts are absent. What the traffic does not show, the operator may
say; what it shows, it shows better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from mcp_wire.conversation.exchange_reader import ExchangeReader
from mcp_wire.conversation.facts import Fact, Message
from mcp_wire.conversation.profile_selection import bundled
from mcp_wire.privacy.labels import is_label
from mcp_wire.protocol.meta_keys import META_CLIENT_INFO, META_SERVER_INFO
from mcp_wire.transcript.tuple_parts import completed
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import ExchangeEnded, Observation, RequestSeen, ResponseBody, ResponseChunk, ResponseSeen
from mcp_wire.wire.strict_json import JsonValue

EXCHANGES_READ: Final = 16
"""Peers name themselves early or never; later exchanges are not asked."""
MAX_INTERMEDIARIES: Final = 8


class InteropTuple:
    """The tuple of one conversation, growing while its first exchanges are read."""

    __slots__ = ("_asserted", "_left", "_members", "_readers")

    def __init__(self, profile: str, asserted: Mapping[str, JsonValue] | None = None) -> None:
        """`asserted`: what an operator says (see `asserted_parts`)."""
        self._asserted = asserted or {}
        self._members: dict[str, JsonValue] = {}
        self._readers: dict[str, ExchangeReader] = {}
        self._left = EXCHANGES_READ
        known = bundled(profile)
        if known is not None:
            self._members["revision"] = known.revision

    @property
    def members(self) -> dict[str, JsonValue]:
        """A copy, in a fixed order."""
        return completed(self._members, self._asserted)

    @property
    def stated(self) -> Mapping[str, JsonValue]:
        """What an operator says, whether the traffic bears it out or not."""
        return self._asserted

    def take(self, redacted: Iterable[Observation], tls: str | None = None) -> bool:
        """Read on. True if something was learned. `tls`: the version with which the requests were sent, or `none`."""
        if not self._left and not self._readers:
            return False
        learned = False
        for observation in redacted:
            for name, value in self._told(observation, tls):
                if name == "intermediaries":
                    learned = self._passed_through(value) or learned
                elif name not in self._members:
                    self._members[name] = value
                    learned = True
        return learned

    def _told(self, observation: Observation, tls: str | None) -> Iterator[tuple[str, JsonValue]]:
        if isinstance(observation, RequestSeen):
            if not self._left:
                return
            self._left -= 1
            reader = self._readers[observation.exchange] = ExchangeReader(0, observation)
            yield from _of_request(observation, tls)
            yield from _named(reader.request(observation))
            return
        found = self._readers.get(observation.exchange)
        if found is None:
            return
        match observation:
            case ResponseSeen():
                yield from _known("server_software", observation.headers.get("server"))
                yield from _via(observation.headers)
                yield from _named(found.response(observation))
            case ResponseChunk():
                if "server" not in self._members:
                    yield from _named(found.chunk(observation))
            case ResponseBody():
                if "server" not in self._members:
                    yield from _named(found.body(observation))
            case ExchangeEnded():
                del self._readers[observation.exchange]
                yield from _named(found.end(observation))

    def _passed_through(self, value: JsonValue) -> bool:
        passed = self._members.setdefault("intermediaries", [])
        assert isinstance(passed, list)
        if value in passed or len(passed) >= MAX_INTERMEDIARIES:
            return False
        passed.append(value)
        return True


def _of_request(request: RequestSeen, tls: str | None) -> Iterator[tuple[str, JsonValue]]:
    yield from _known("endpoint", request.path.partition("?")[0])
    yield from _known("http_version", request.http_version)
    yield from _known("tls", tls)
    yield from _known("user_agent", request.headers.get("user-agent"))
    yield from _via(request.headers)


def _via(headers: Headers) -> Iterator[tuple[str, JsonValue]]:
    for value in headers.all("via"):
        yield from _known("intermediaries", value)


def _known(name: str, value: str | None) -> Iterator[tuple[str, JsonValue]]:
    if value and not is_label(value):
        yield name, value


def _named(facts: Iterable[Fact]) -> Iterator[tuple[str, JsonValue]]:
    for fact in facts:
        if not isinstance(fact, Message):
            continue
        if fact.sender == "client":
            yield from _peer("client", fact.meta.get(META_CLIENT_INFO))
            if fact.method == "initialize":
                yield from _peer("client", fact.params.get("clientInfo"))
        elif fact.result is not None:
            meta = fact.result.get("_meta")
            yield from _peer("server", fact.result.get("serverInfo"))
            yield from _peer("server", meta.get(META_SERVER_INFO) if isinstance(meta, dict) else None)


def _peer(side: str, info: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if not isinstance(info, dict):
        return
    known: dict[str, JsonValue] = {
        name: value
        for name in ("name", "version")
        if isinstance(value := info.get(name), str) and value and not is_label(value)
    }
    if known:
        yield side, known
