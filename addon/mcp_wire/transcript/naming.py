"""Names that a person gave to exchanges and overlaps: what could be anybody's becomes a name of ours.

The reader of a transcript does this, so that no report, timeline or copy shows another name. Equal names stay equal,
different ones different, and a name that is malformed stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from mcp_wire.privacy.plain_names import OF_EXCHANGES, OF_OVERLAPS, is_plain
from mcp_wire.transcript.document import Document, JsonObject
from mcp_wire.wire.strict_json import JsonValue

_MEMBERS: Final = ("id", "server_side_of", "concurrent_group")

type Naming = tuple[str, str | None, str | None]
"""Of one request: the id of its exchange, the id that it refers to, and the label of its overlap."""


class Names:
    """The names in one transcript or journal, and what is shown for each."""

    __slots__ = ("_exchanges", "_groups")

    def __init__(self, exchanges: Iterable[str | None], groups: Iterable[str | None]) -> None:
        """`exchanges`: ids, and what refers to ids. `groups`: labels of overlaps. In the order of the document."""
        self._exchanges = _shown(exchanges, OF_EXCHANGES)
        self._groups = _shown(groups, OF_OVERLAPS)

    @staticmethod
    def of_requests(requests: Sequence[Naming]) -> Names:
        """The names in a journal."""
        own, upstream, groups = zip(*requests, strict=True) if requests else ((), (), ())
        return Names((*own, *upstream), groups)

    def exchange(self, name: str) -> str:
        return self._exchanges.get(name, name)

    def group(self, name: str) -> str:
        return self._groups.get(name, name)

    @property
    def all_stay(self) -> bool:
        """Every name is shown as it is."""
        return all(name == shown for names in (self._exchanges, self._groups) for name, shown in names.items())


def plainly_named(document: Document) -> Document:
    """The same document with the names that are shown; `as_written` of it gives the original."""
    listed = document.members.get("exchanges")
    exchanges = listed if isinstance(listed, list) else []
    names = Names(
        (_text(exchange, name) for name in ("id", "server_side_of") for exchange in exchanges),
        (_text(exchange, "concurrent_group") for exchange in exchanges),
    )
    if names.all_stay:
        return document
    renamed: list[JsonValue] = [_renamed(one, names) if isinstance(one, dict) else one for one in exchanges]
    return Document(document.members | {"exchanges": renamed}, document.as_written)


def _shown(names: Iterable[str | None], prefix: str) -> dict[str, str]:
    different = list(dict.fromkeys(name for name in names if name))
    stay = {name for name in different if is_plain(name, len(different))}
    shown: dict[str, str] = {}
    number = 0
    for name in different:
        if name in stay:
            shown[name] = name
            continue
        number += 1
        while f"{prefix}-{number}" in stay:
            number += 1
        shown[name] = f"{prefix}-{number}"
    return shown


def _renamed(exchange: JsonObject, names: Names) -> JsonObject:
    changed: JsonObject = {}
    for member, shown in (
        ("id", names.exchange),
        ("server_side_of", names.exchange),
        ("concurrent_group", names.group),
    ):
        value = exchange.get(member)
        if isinstance(value, str):
            changed[member] = shown(value)
    return exchange | changed


def _text(exchange: JsonValue, member: str) -> str | None:
    value = exchange.get(member) if isinstance(exchange, dict) else None
    return value if isinstance(value, str) else None
