"""Secrets in a transcript that show themselves by their shape or their place, put together from chunks where need be.

Where they stand is told, never what they are: a name that is not public is a `*` in the pointer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from mcp_wire.privacy.allow_lists import HEADER_NAMES, MEMBER_NAMES, META_KEYS, TUPLE_NAMES
from mcp_wire.privacy.labels import is_label
from mcp_wire.privacy.secret_search import secret_in_header, secret_in_member, secrets_in
from mcp_wire.transcript.document import (
    ENDING_MEMBERS,
    Document,
    JsonObject,
    base64_bytes,
    chunks_of,
    headers_of,
    is_event_stream,
)
from mcp_wire.wire.headers import field_name
from mcp_wire.wire.sse import Block, EventStreamReader
from mcp_wire.wire.strict_json import JsonValue, dump_json

HIDDEN: Final = "*"
"""A step of a pointer whose name may be somebody's secret."""

BODY_MEMBERS: Final = ("body", "body_text", "body_base64")
DOCUMENT_MEMBERS: Final = frozenset({"profile", "tuple", "payloads", "values", "complete_from_start", "exchanges"})
EXCHANGE_MEMBERS: Final = frozenset(
    {"id", "request", "response", "started_ms", "ended_ms", "concurrent_group", "idempotent", "server_side_of"}
    | {*ENDING_MEMBERS}
)
PART_MEMBERS: Final = frozenset(
    {"method", "path", "scheme", "headers", "http_version", "status", "chunks", "chunk_boundaries", "not_captured"}
    | {"started_ms", "body_ms", "body_utf8", *BODY_MEMBERS, *ENDING_MEMBERS}
)
CHUNK_MEMBERS: Final = frozenset({"t_ms", "text", "base64"})
PUBLIC_NAMES: Final = (
    DOCUMENT_MEMBERS | EXCHANGE_MEMBERS | PART_MEMBERS | CHUNK_MEMBERS | TUPLE_NAMES | MEMBER_NAMES | META_KEYS
)

_DATA: Final = "\ndata:"
_DATA_LINES: Final = re.compile(r"(?:^|\n)data:[^\n]*\ndata:")


@dataclass(frozen=True, slots=True)
class Secret:
    """One secret. `place`: a JSON pointer; in an event stream, to the chunk in which its event begins. `event`: the
    number by which findings name that event. `exchange`: the place of the exchange in the document, if it is in one."""

    place: str
    kind: str
    exchange: int | None = None
    event: int | None = None


def secrets_of(document: Document) -> Iterator[Secret]:
    """The secrets in a document, in its order. Raises nothing for any JSON value."""
    members = document.members
    if not members:
        yield from _in_value(document.value, "")
        return
    exchanges = members.get("exchanges")
    yield from _in_value({name: value for name, value in members.items() if name != "exchanges"}, "")
    if not isinstance(exchanges, list):
        yield from _in_value(exchanges, "/exchanges")
        return
    for index, exchange in enumerate(exchanges):
        place = f"/exchanges/{index}"
        for found in _in_exchange(exchange, place):
            yield Secret(found.place, found.kind, index, found.event)


def step(name: str, public: Iterable[str] = PUBLIC_NAMES) -> str:
    """One step of a JSON pointer (RFC 6901 3), hidden where the name is not public."""
    return escaped(name) if name in public or is_label(name) else HIDDEN


def escaped(name: str) -> str:
    """A name as a step of a pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def _header_place(headers: JsonValue, number: int, name: str) -> str:
    if isinstance(headers, list):
        return f"/{number}/1"
    return f"/{name if field_name(name) in HEADER_NAMES else HIDDEN}"


def _in_exchange(exchange: JsonValue, place: str) -> Iterator[Secret]:
    if not isinstance(exchange, dict):
        yield from _in_value(exchange, place)
        return
    yield from _in_value(
        {name: value for name, value in exchange.items() if name not in ("request", "response")}, place
    )
    for side in ("request", "response"):
        part = exchange.get(side)
        if isinstance(part, dict):
            yield from _in_part(part, f"{place}/{side}")
        else:
            yield from _in_value(part, f"{place}/{side}")


def _in_part(part: JsonObject, place: str) -> Iterator[Secret]:
    headers = headers_of(part.get("headers"))
    chunks = chunks_of(part) if headers is not None and is_event_stream(headers) else None
    handled = {"body_base64"} | ({"headers"} if headers is not None else set()) | ({"chunks"} if chunks else set())
    for number, (name, value) in enumerate(headers or ()):
        kind = secret_in_header(field_name(name), value)
        if kind is not None:
            yield Secret(f"{place}/headers{_header_place(part['headers'], number, name)}", kind)
        for sighting in secrets_in(name):
            yield Secret(f"{place}/headers", sighting.kind)
    raw = base64_bytes(part.get("body_base64"))
    if raw is not None:
        yield from (Secret(f"{place}/body_base64", one.kind) for one in secrets_in(raw.decode(errors="replace")))
    yield from _in_value({name: value for name, value in part.items() if name not in handled}, place)
    if chunks:
        yield from _in_stream([data for _, data in chunks], place)


def _in_stream(chunks: list[bytes], place: str) -> Iterator[Secret]:
    if not secrets_in(_joined(b"".join(chunks).decode(errors="replace"))):
        return
    reader = EventStreamReader()
    blocks: list[Block] = []
    for number, data in enumerate(chunks):
        blocks += reader.feed(data, chunk=number)
    tail = reader.end()
    for block in (*blocks, *([tail] if tail is not None else ())):
        kinds = dict.fromkeys(one.kind for one in secrets_in(_joined(block.raw.decode(errors="replace"))))
        for kind in kinds:
            yield Secret(f"{place}/chunks/{block.first_chunk}", kind, event=block.event_index)


def _joined(text: str) -> str:
    """A stream, and once more with the data lines of each event put together without their line ends."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    if _DATA_LINES.search(lines) is None:
        return text
    return f"{text}\n\n{lines.replace(f'{_DATA} ', '').replace(_DATA, '')}"


def _in_value(value: JsonValue, place: str) -> Iterator[Secret]:
    """Secrets in a JSON value. The text of it is looked at first: hardly any value has one."""
    if value is None or isinstance(value, bool | int | float):
        return
    kinds = [one.kind for one in secrets_in(dump_json(value))]
    if not kinds:
        return
    located = list(_in_tree(value, place, ""))
    yield from located or (Secret(place, kind) for kind in dict.fromkeys(kinds))


def _in_tree(value: JsonValue, place: str, name: str) -> Iterator[Secret]:
    if isinstance(value, dict):
        for inner, member in value.items():
            yield from (Secret(place, one.kind) for one in secrets_in(inner))
            yield from _in_tree(member, f"{place}/{step(inner)}", inner)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _in_tree(item, f"{place}/{number}", name)
    elif isinstance(value, str):
        kind = secret_in_member(name, value)
        if kind is not None:
            yield Secret(place, kind)
