"""The parts of an interoperability tuple: which there are, which of them nobody has told, and how two tellings join."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcp_wire.wire.strict_json import JsonValue

PARTS: Final = (
    "client",
    "server",
    "sdk",
    "runtime",
    "intermediaries",
    "endpoint",
    "revision",
    "http_version",
    "tls",
    "user_agent",
    "server_software",
    "failure_time",
    "request_ids",
    "reproduction",
)
"""The parts of a tuple, in the order in which they are written."""
PEERS: Final = ("client", "server")
LISTS: Final = ("sdk", "runtime", "intermediaries", "request_ids")
OPTIONAL: Final = ("user_agent", "server_software")
"""They tell of the peers where these do not name themselves, and are not missed where they do."""
NONE: Final = "none"
"""Said of `tls`: plain text. Said by an operator of a list: there are none."""


def unknown_parts(members: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """What should be recorded before anything is changed, and is not known."""
    unknown: list[str] = []
    for name in PARTS:
        if name not in members:
            unknown += [] if name in OPTIONAL else [name]
        elif name in PEERS:
            peer = members[name]
            unknown += [
                f"{name}.{part}" for part in ("name", "version") if not isinstance(peer, dict) or part not in peer
            ]
    return tuple(unknown)


def server_name(members: Mapping[str, JsonValue]) -> str | None:
    """What the server calls itself."""
    server = members.get("server")
    name = server.get("name") if isinstance(server, dict) else None
    return name if isinstance(name, str) else None


def completed(members: Mapping[str, JsonValue], further: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The tuple with what is only said elsewhere. Where both say something, `members` stands; lists are joined."""
    merged = dict(members)
    for name, value in further.items():
        known = merged.get(name)
        if known is None:
            merged[name] = value
        elif isinstance(known, list) and isinstance(value, list):
            merged[name] = [*known, *(item for item in value if item not in known)]
        elif (
            isinstance(known, dict)
            and isinstance(value, dict)
            and known.get("name", value.get("name")) == value.get("name")
        ):
            merged[name] = value | known
    return {name: merged[name] for name in (*PARTS, *merged) if name in merged}


def contradicted(members: Mapping[str, JsonValue], stated: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """What an operator states and the tuple does not show, because something else was seen or stood there before."""
    return {name: value for name, value in stated.items() if name in members and _differs(members[name], value)}


def _differs(shown: JsonValue, stated: JsonValue) -> bool:
    if isinstance(shown, dict) and isinstance(stated, dict):
        return any(shown.get(part) != said for part, said in stated.items())
    if isinstance(shown, list) and isinstance(stated, list):
        # Lists are joined: only that there are none can be wrong.
        return bool(shown) and not stated
    return shown != stated
