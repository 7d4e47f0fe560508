"""What stands in a transcript or a journal that redaction would not have left there: anything beyond the allow-lists.

The document is held against its own redacted copy, so whatever the copy does not repeat is told, members that nobody
reads and parts that cannot be read included.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from mcp_wire.privacy.redactor import Redactor
from mcp_wire.transcript.document import (
    SHAPE_PAYLOADS,
    Document,
    JsonObject,
    base64_bytes,
    chunks_of,
    headers_of,
    is_time,
)
from mcp_wire.transcript.forms import body_form, body_of
from mcp_wire.transcript.journal import JournalHeader, JournalRecord, decode, encode
from mcp_wire.transcript.naming import Names
from mcp_wire.transcript.reading import read_document
from mcp_wire.transcript.rewriting import (
    naming,
    plain_record,
    redacted_exchanges,
    redacted_header,
    redacted_records,
)
from mcp_wire.transcript.secrets import (
    BODY_MEMBERS,
    CHUNK_MEMBERS,
    PUBLIC_NAMES,
    Secret,
    escaped,
    secrets_of,
    step,
)
from mcp_wire.transcript.writing import Recorded, transcript_parts
from mcp_wire.wire.observation import Ended, ExchangeEnded, Observation, RequestSeen
from mcp_wire.wire.strict_json import JsonValue, dump_json, read_json

INVENTED: Final = "invented"
"""The value of `values` by which the author of a transcript says that nothing in it is from traffic."""

STRING: Final = "text that is not on the allow-lists"
NUMBER: Final = "number that is not on the allow-lists"
NAME: Final = "name that is not on the allow-lists"
HEADER: Final = "header value that is not on the allow-lists"
HEADER_NAME: Final = "header name that is not on the allow-lists"
STREAM: Final = "event that is not on the allow-lists"
LABEL: Final = "name that a person gave"
UNREAD: Final = "part that cannot be read, so that it cannot be redacted"
RECORD: Final = "record that redaction changes"
NO_RECORD: Final = "line that is no record of a journal"

_TIMES: Final = frozenset({"started_ms", "ended_ms", "body_ms", "t_ms"})
_LABELS: Final = frozenset({"id", "concurrent_group", "server_side_of"})


def unredacted_in(document: Document, redactor: Redactor | None = None) -> list[Secret]:
    """What is not redacted in a transcript, in its order; where a secret shows its shape, that is told.

    `redactor`: a new one, which says what counts; None: names of tools do not.

    Of a transcript that says that its values are invented, only what shows its shape is told.
    """
    known = list(secrets_of(document))
    if document.members.get("values") == INVENTED:
        return known
    told = {secret.place for secret in known}
    return known + [found for found in _beyond_allow_lists(document, redactor or Redactor()) if found.place not in told]


def unredacted_in_journal(read: Callable[[], Iterable[bytes]], redactor: Redactor | None = None) -> Iterator[Secret]:
    """The same of a journal, by line; `read` is called twice. What a crash tore off at its end is no fault."""
    redactor = redactor or Redactor()
    requests = []
    for line in read():
        redactor.reserve(line.decode(errors="replace"))
        named = naming(decode(line))
        requests += [named] if named is not None else []
    names = Names.of_requests(requests)
    waiting: dict[str, deque[tuple[int, bytes]]] = {}
    for number, line in enumerate(read(), 1):
        record = decode(line)
        if record is None:
            if line.endswith(b"\n"):
                yield Secret(f"line {number}", NO_RECORD)
            continue
        if isinstance(record, JournalHeader):
            [header] = redacted_records(lambda header=record: [header], redactor)  # type: ignore[misc]
            yield from _changed(number, line, header, names)
            continue
        waiting.setdefault(record.exchange, deque()).append((number, line))
        yield from _matched(redactor.feed(record), waiting, names)
    for exchange in list(waiting):
        yield from _matched(redactor.feed(ExchangeEnded(exchange, None, Ended.OPEN)), waiting, names)


def _matched(
    redacted: Iterable[Observation], waiting: dict[str, deque[tuple[int, bytes]]], names: Names
) -> Iterator[Secret]:
    """Each redacted record beside the line that it was made of: those of one exchange come in their order."""
    for record in redacted:
        lines = waiting.get(record.exchange)
        if lines:
            yield from _changed(*lines.popleft(), record, names)
        if isinstance(record, ExchangeEnded):
            waiting.pop(record.exchange, None)


def _changed(number: int, line: bytes, redacted: JournalRecord, names: Names) -> Iterator[Secret]:
    before, after = read_json(line).value, read_json(encode(redacted)).value
    assert isinstance(before, dict) and isinstance(after, dict)
    if any(name not in after or not _same(value, after[name]) for name, value in before.items()):
        yield Secret(f"line {number}", RECORD)
    elif isinstance(redacted, RequestSeen) and plain_record(redacted, names) != redacted:
        yield Secret(f"line {number}", LABEL)


def _beyond_allow_lists(document: Document, redactor: Redactor) -> Iterator[Secret]:
    # Else what is raw would take the labels of what is not, and both would differ from the copy.
    redactor.reserve(dump_json(document.value))
    copies = dict(_copies(redacted_exchanges(document, redactor)))
    header = redacted_header(document, redactor)
    for name, value in document.members.items():
        place = f"/{step(name)}"
        match name:
            case "exchanges" if isinstance(value, list):
                for index, exchange in enumerate(value):
                    yield from _exchange(exchange, copies.get(index), f"{place}/{index}")
            case "tuple":
                yield from _differences(value, dict(header.interoperability_tuple), place)
            case "profile" if value == header.profile:
                pass
            case "payloads" if value == SHAPE_PAYLOADS:
                pass
            case "complete_from_start" if isinstance(value, bool):
                pass
            case _:
                yield Secret(place, UNREAD)


def _copies(exchanges: Sequence[Recorded]) -> Iterator[tuple[int, JsonValue]]:
    """The redacted exchanges as their members stand in a transcript, by their places in the document."""
    for recorded in exchanges:
        [copy] = read_document("".join(transcript_parts(JournalHeader(), [recorded]))).exchanges
        yield recorded.request.index or 0, copy


def _exchange(old: JsonValue, new: JsonValue, place: str) -> Iterator[Secret]:
    if not isinstance(old, dict) or not isinstance(new, dict):
        yield Secret(place, UNREAD)
        return
    for name, value in old.items():
        inner, copy = f"{place}/{step(name)}", new.get(name)
        if name in ("request", "response") and isinstance(value, dict) and isinstance(copy, dict):
            yield from _part(value, copy, inner)
        elif not _is_kept(name, value, new):
            yield Secret(inner, LABEL if name in _LABELS and isinstance(value, str) else UNREAD)


def _part(old: JsonObject, new: JsonObject, place: str) -> Iterator[Secret]:
    not_captured = isinstance(old.get("not_captured"), str)
    read = None if not_captured else next((name for name in BODY_MEMBERS if name in old), None)
    for name, value in old.items():
        inner = f"{place}/{step(name)}"
        if name == "headers":
            yield from _headers(value, new.get(name), inner)
        elif name == "chunks" and isinstance(value, list) and "chunks" in new:
            yield from _chunks(value, new["chunks"], inner)
        elif name in BODY_MEMBERS and name == read:
            yield from _body(name, value, old, new, inner)
        elif not _is_kept(name, value, new):
            yield Secret(inner, STRING if name in new else UNREAD)


def _is_kept(name: str, value: JsonValue, new: JsonObject) -> bool:
    """The copy repeats the member, or the member can hold nothing that anybody could mind."""
    if name in PUBLIC_NAMES and (value is None or value == "" or isinstance(value, bool)):
        return True
    if name in _TIMES:
        return is_time(value)
    if name == "chunk_boundaries" and value == "observed":
        return True
    return name in new and _same(value, new[name])


def _headers(old: JsonValue, new: JsonValue, place: str) -> Iterator[Secret]:
    before, after = headers_of(old), headers_of(new)
    if before is None or after is None or len(before) != len(after):
        yield Secret(place, UNREAD)
        return
    for number, ((name, value), (new_name, new_value)) in enumerate(zip(before, after, strict=True)):
        if name != new_name:
            yield Secret(f"{place}/{number}/0" if isinstance(old, list) else place, HEADER_NAME)
        if value != new_value:
            below = f"/{number}/1" if isinstance(old, list) else f"/{escaped(new_name)}"
            yield Secret(place + below, HEADER)


def _chunks(old: list[JsonValue], new: JsonValue, place: str) -> Iterator[Secret]:
    before, after = chunks_of({"chunks": old}), chunks_of({"chunks": new})
    if before is None or after is None or len(before) != len(after):
        yield Secret(place, UNREAD)
        return
    for number, (item, (_, data), (_, new_data)) in enumerate(zip(old, before, after, strict=True)):
        if data != new_data:
            yield Secret(f"{place}/{number}", STREAM)
        elif isinstance(item, dict) and not CHUNK_MEMBERS.issuperset(item):
            yield Secret(f"{place}/{number}", UNREAD)


def _body(name: str, value: JsonValue, old: JsonObject, new: JsonObject, place: str) -> Iterator[Secret]:
    if name == "body" and "body" in new:
        yield from _differences(value, new["body"], place)
        return
    readable = name == "body" or (name == "body_text" and isinstance(value, str)) or base64_bytes(value) is not None
    told = body_form(body_of(old)) if readable else {}
    if not told or any(member not in new for member in told):
        if value is not None and value != "":
            yield Secret(place, UNREAD)
    elif any(True for member in told for _ in _differences(told[member], new[member], place)):
        yield Secret(place, STRING)


def _differences(old: JsonValue, new: JsonValue, place: str) -> Iterator[Secret]:
    """Where two values of one structure differ. Names are told as the redacted one has them."""
    if isinstance(old, dict) and isinstance(new, dict) and len(old) == len(new):
        for (name, value), (new_name, new_value) in zip(old.items(), new.items(), strict=True):
            inner = f"{place}/{escaped(new_name)}"
            if name != new_name:
                yield Secret(inner, NAME)
            yield from _differences(value, new_value, inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (item, new_item) in enumerate(zip(old, new, strict=True)):
            yield from _differences(item, new_item, f"{place}/{number}")
    elif not _same(old, new):
        yield Secret(place, STRING if isinstance(old, str) else UNREAD if isinstance(old, dict | list) else NUMBER)


def _same(old: object, new: object) -> bool:
    if type(old) is not type(new):
        return False
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_same(value, new[name]) for name, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_same, old, new))
    return old == new
