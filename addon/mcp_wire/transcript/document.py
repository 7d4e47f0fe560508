"""A transcript document as a parsed JSON value, and the words for its form (docs/transcript-format.md).

Form rules and the reader ask the same questions here, so that what a rule complains of is exactly what is not read.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcp_wire.protocol.profiles import PROFILES, UNDETERMINED
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.media_types import essence
from mcp_wire.wire.observation import Ended
from mcp_wire.wire.strict_json import JsonValue

type JsonObject = dict[str, JsonValue]

SHAPE_PAYLOADS: Final = "shape"
MAX_TIME_MS: Final = 1e12
"""Thirty years: a larger time is no time relative to a capture's first exchange."""
MAX_OCTETS: Final = 2**63 - 1

ENDING_MEMBERS: Final = ("disconnected", "ended", "received_octets", "reset_code")
"""They stand in `response`, or in the exchange itself where no response head was seen."""
_ENDED: Final = frozenset(Ended)
_EVENT_STREAM: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed transcript. `value` is whatever JSON the text held; nothing is taken for granted.

    `original`: that JSON, where names in `value` were replaced (`plainly_named`).
    """

    value: JsonValue
    original: Document | None = None

    @property
    def as_written(self) -> Document:
        """The document with the names that its author gave."""
        return self if self.original is None else self.original

    @property
    def members(self) -> JsonObject:
        """The members of the top-level object; none where it is no object."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def profile(self) -> str | None:
        """The profile as named by the document, known or not; None where it is no string."""
        name = self.members.get("profile")
        return name if isinstance(name, str) else None

    @property
    def is_judged(self) -> bool:
        """The profile is known (or says that there is none to know): the exchanges are judged."""
        return self.profile in PROFILES or self.profile == UNDETERMINED

    @property
    def exchanges(self) -> list[JsonValue]:
        """The exchanges; none where the list is no list, or where nothing but the profile is judged."""
        listed = self.members.get("exchanges") if self.is_judged else None
        return listed if isinstance(listed, list) else []

    @property
    def interoperability_tuple(self) -> JsonObject:
        named = self.members.get("tuple")
        return named if isinstance(named, dict) else {}

    @property
    def payloads_whole(self) -> bool:
        """Every member of every payload is still there, values apart (`"payloads": "shape"`)."""
        return self.members.get("payloads") == SHAPE_PAYLOADS

    @property
    def complete_from_start(self) -> bool:
        return self.members.get("complete_from_start") is True

    def objects(self) -> Iterator[tuple[int, JsonObject]]:
        """The exchanges that are objects, each with its place in the document."""
        for index, exchange in enumerate(self.exchanges):
            if isinstance(exchange, dict):
                yield index, exchange

    def requests(self) -> Iterator[tuple[int, JsonObject, JsonObject]]:
        """Place, exchange and request of every exchange whose request is an object."""
        for index, exchange in self.objects():
            request = exchange.get("request")
            if isinstance(request, dict):
                yield index, exchange, request

    def responses(self) -> Iterator[tuple[int, JsonObject, JsonObject]]:
        """Place, exchange and response of every exchange whose response is an object."""
        for index, exchange in self.objects():
            response = exchange.get("response")
            if isinstance(response, dict):
                yield index, exchange, response


def exchange_id(exchange: JsonValue) -> str | None:
    """The id of an exchange; None where it has none that can be used."""
    value = exchange.get("id") if isinstance(exchange, dict) else None
    return value if isinstance(value, str) and value else None


def headers_of(value: JsonValue) -> Headers | None:
    """Header lines from an object of strings or a list of pairs of strings; None for anything else."""
    if isinstance(value, dict):
        members = {name: text for name, text in value.items() if isinstance(text, str)}
        return Headers.from_object(members) if len(members) == len(value) else None
    if not isinstance(value, list):
        return None
    lines = [
        (line[0], line[1])
        for line in value
        if isinstance(line, list) and len(line) == 2 and isinstance(line[0], str) and isinstance(line[1], str)
    ]
    return Headers(lines) if len(lines) == len(value) else None


def is_status(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599


def is_time(value: JsonValue) -> bool:
    """Milliseconds since the first exchange of the capture, finite and of a sensible size."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -MAX_TIME_MS <= value <= MAX_TIME_MS


def bytes_of(text: JsonValue) -> bytes | None:
    """The UTF-8 bytes of a string; None where it is no string, or none that UTF-8 can say (lone surrogates)."""
    try:
        return text.encode() if isinstance(text, str) else None
    except UnicodeEncodeError:
        return None


def base64_bytes(text: JsonValue) -> bytes | None:
    """Bytes from base64 (RFC 4648 4); None where it is none."""
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        return None


def chunk_of(item: JsonValue) -> tuple[float | None, bytes] | None:
    """Time and bytes of one item of `chunks`: a string, or an object with `text` or `base64` and perhaps `t_ms`."""
    if not isinstance(item, dict):
        data = bytes_of(item)
        return None if data is None else (None, data)
    t_ms = item.get("t_ms")
    if ("text" in item) == ("base64" in item) or not (t_ms is None or is_time(t_ms)):
        return None
    data = bytes_of(item["text"]) if "text" in item else base64_bytes(item["base64"])
    return None if data is None else (time_of(t_ms), data)


def chunks_of(response: JsonObject) -> list[tuple[float | None, bytes]] | None:
    """The chunks of an event stream; None where they are no list of chunks and were not said to be uncaptured."""
    items = response.get("chunks")
    if items is None and isinstance(response.get("not_captured"), str):
        return []
    if not isinstance(items, list):
        return None
    chunks = [chunk for item in items if (chunk := chunk_of(item)) is not None]
    return chunks if len(chunks) == len(items) else None


def time_of(value: JsonValue) -> float | None:
    """A time, None where it is absent or none."""
    return value if is_time(value) else None  # type: ignore[return-value]  # is_time lets numbers pass only


def is_event_stream(headers: Headers) -> bool:
    return essence(headers.get("content-type")) == _EVENT_STREAM


def faulty_members(exchange: JsonObject) -> Iterator[tuple[str, str]]:
    """Optional members of one exchange that have a wrong form: path below the exchange, and what should be there."""
    yield from _faulty(exchange, "", ("started_ms", "ended_ms"), ("server_side_of", *ENDING_MEMBERS))
    for side in ("request", "response"):
        part = exchange.get(side)
        if isinstance(part, dict):
            others = ENDING_MEMBERS if side == "response" else ()
            yield from _faulty(part, f"/{side}", ("started_ms", "body_ms"), (*_TEXTS, *others))
            given = [name for name in ("body", "body_text", "body_base64") if name in part]
            if len(given) > 1:
                yield f"/{side}/{given[1]}", f"only one of {' and '.join(given)}"


_TEXTS: Final = (
    *("path", "scheme", "http_version", "not_captured"),
    *("body_text", "body_base64", "body_utf8", "chunk_boundaries"),
)


def _faulty(part: JsonObject, path: str, times: tuple[str, ...], others: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name in times:
        if part.get(name) is not None and not is_time(part[name]):
            yield f"{path}/{name}", "milliseconds as a number"
    for name in others:
        value = part.get(name)
        if value is not None and (wanted := _wanted(name, value)) is not None:
            yield f"{path}/{name}", wanted


def _wanted(name: str, value: JsonValue) -> str | None:
    match name:
        case "ended":
            return None if isinstance(value, str) and value in _ENDED else f"one of {', '.join(Ended)}"
        case "scheme":
            return None if value in ("http", "https") else "http or https"
        case "chunk_boundaries":
            return None if value in ("observed", "unknown") else "observed or unknown"
        case "received_octets":
            return None if octets_of(value) is not None else "a number of octets"
        case "body_base64":
            return None if base64_bytes(value) is not None else "base64"
        case "body_utf8":
            return None if isinstance(value, bool) else "a boolean"
        case "disconnected":
            return None  # It has a code of its own.
        case _:
            return None if isinstance(value, str) else "a string"


def octets_of(value: JsonValue) -> int | None:
    """A count of octets, None where it is absent or none."""
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_OCTETS
    return value if fits else None  # type: ignore[return-value]
