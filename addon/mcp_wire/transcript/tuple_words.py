"""An operator's words for parts of the interoperability tuple that the traffic does not show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from mcp_wire.privacy.redactor import Redactor
from mcp_wire.transcript.tuple_parts import LISTS, NONE, PARTS, PEERS
from mcp_wire.wire.strict_json import JsonValue

_PEER: Final = re.compile(r"(\S.*?)[/ ] *(v?[0-9]\S*)")


class TupleError(ValueError):
    """An operator's word that cannot stand in a tuple. The message is one clause, and does not repeat the value."""


def asserted_parts(words: Iterable[str]) -> dict[str, JsonValue]:
    """The tuple that an operator's `NAME=VALUE` words say. Raises TupleError for what has no place in one.

    Its values stand in files that others get, so they are what redaction leaves as it is: names and versions of
    products, words of the protocol.
    """
    members: dict[str, JsonValue] = {}
    for word in words:
        name, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not value:
            raise TupleError("it has to be NAME=VALUE")
        if name not in PARTS:
            raise TupleError(f"a part of the tuple is one of {', '.join(PARTS)}")
        if name in LISTS:
            listed = members.setdefault(name, [])
            assert isinstance(listed, list)
            listed += [] if value == NONE else [value]
        elif name in members:
            raise TupleError(f"{name} is said twice")
        else:
            members[name] = _peer_of(value) if name in PEERS else value
    redacted = Redactor().redact_tuple(members)
    for name, said in members.items():
        if redacted[name] != said:
            raise TupleError(f"{name} has to be {_WANTED.get(name, 'a name, and perhaps a version, of a product')}")
    return members


_WANTED: Final = {
    "client": "a name and a version, as in example-client/1.4.0",
    "server": "a name and a version, as in example-server/2.1.0",
    "endpoint": "a path of public words, as in /mcp",
    "revision": "a protocol version, as in 2025-11-25",
    "failure_time": "a time, as in 2026-11-30T09:30:00Z",
    "request_ids": "the id of an exchange, as in x-7, or a small number",
    "reproduction": "a command or the name of a test, without values",
}


def _peer_of(value: str) -> JsonValue:
    """`name/version`, `name version` or a name."""
    found = _PEER.fullmatch(value)
    return {"name": value} if found is None else {"name": found[1], "version": found[2]}
