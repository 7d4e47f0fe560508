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
            raise TupleError(f"{name} has to be {WANTED[name]}")
    said_time = members.get("failure_time")
    if isinstance(said_time, str) and _WITHOUT_ZONE.search(said_time):
        raise TupleError(f"failure_time has to be {WANTED['failure_time']}")
    return members


_WITHOUT_ZONE: Final = re.compile(r"[T ][0-9:.]+$")
_PRODUCT: Final = "the name of a product and perhaps its version, as in python-sdk/2.3.0, in words that are no key"
_TOKENS: Final = (
    "a name with a version behind a slash, as in example-gateway/1.2 (without one only the names of well-known "
    "products are taken, such as nginx: another could be a host)"
)
WANTED: Final = {
    "client": "a name and a version, as in example-client/1.4.0",
    "server": "a name and a version, as in example-server/2.1.0",
    "endpoint": "a path of public words, as in /mcp",
    "revision": "a protocol version, as in 2025-11-25",
    "sdk": _PRODUCT,
    "runtime": _PRODUCT,
    "intermediaries": _TOKENS,
    "user_agent": _TOKENS,
    "server_software": _TOKENS,
    "http_version": "the version of HTTP, as in HTTP/1.1",
    "tls": "the version of TLS, as in TLSv1.3, or none",
    "failure_time": "a time with its zone, as in 2026-11-30T09:30:00Z, or a day",
    "request_ids": "the id of an exchange, as in x-7, or a small number",
    "reproduction": (
        "a command or the name of a test, without URLs, ids, secrets, quotation marks and paths from the root: at most "
        "12 words, as in pytest tests/test_resume.py -k resume"
    ),
}


def _peer_of(value: str) -> JsonValue:
    """`name/version`, `name version` or a name."""
    found = _PEER.fullmatch(value)
    return {"name": value} if found is None else {"name": found[1], "version": found[2]}
