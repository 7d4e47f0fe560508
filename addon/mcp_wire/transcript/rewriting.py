"""Transcripts and journals that someone else wrote, redacted: the same in the same places, labels for the values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final, Literal

from mcp_wire.conversation.profile_selection import UNKNOWN
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.profiles import PROFILES, UNDETERMINED
from mcp_wire.transcript.document import Document, JsonObject, exchange_id
from mcp_wire.transcript.journal import JournalHeader, JournalRecord
from mcp_wire.transcript.naming import Names, Naming, plainly_named
from mcp_wire.transcript.reading import observations
from mcp_wire.transcript.writing import Recorded, gathered
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.observation import Observation, RequestSeen
from mcp_wire.wire.strict_json import MISSING, JsonValue, LongInteger, Missing


def redacted_exchanges(document: Document, redactor: Redactor) -> list[Recorded]:
    """The exchanges that can be read, redacted, in the order of the document, under the names that are shown.

    Ids that are missing, empty, no strings or used twice stay so, and so do malformed labels of overlaps.
    """
    # What profile it is under changes nothing about what was seen.
    known = document if document.is_judged else Document(document.members | {"profile": UNDETERMINED})
    known = plainly_named(known)
    redacted = (one for observation in observations(known) for one in redactor.feed(observation))
    exchanges = sorted(gathered(redacted), key=lambda recorded: recorded.request.index or 0)
    for recorded in exchanges:
        members = known.exchanges[recorded.request.index or 0]
        assert isinstance(members, dict)
        # Where two exchanges have one id, the reader has given them different ones; the fault of the document stays.
        recorded.request = replace(recorded.request, exchange=exchange_id(members) or recorded.request.exchange)
        recorded.malformed = _malformed(members)
    return exchanges


def redacted_header(document: Document, redactor: Redactor) -> JournalHeader:
    """What the document says of its conversation as a whole, redacted."""
    return JournalHeader(
        redacted_profile(document.profile or UNDETERMINED, redactor),
        redactor.redact_tuple(document.interoperability_tuple),
        document.complete_from_start,
        document.payloads_whole,
    )


def redacted_records(read: Callable[[], Iterable[JournalRecord]], redactor: Redactor) -> Iterator[JournalRecord]:
    """The records of a journal, redacted. `read` is called twice, to know all ids before the first is replaced."""
    requests = [record for record in map(naming, read()) if record is not None]
    names, known = Names.of_requests(requests), {own for own, _, _ in requests}
    for record in read():
        if isinstance(record, JournalHeader):
            profile = redacted_profile(record.profile, redactor)
            named = redactor.redact_tuple(record.interoperability_tuple)
            yield replace(record, profile=profile, interoperability_tuple=named)
        elif record.exchange in known:
            for redacted in redactor.feed(record):
                yield plain_record(redacted, names)


def naming(record: JournalRecord | None) -> Naming | None:
    """The names that a record of a request gives."""
    if not isinstance(record, RequestSeen):
        return None
    return record.exchange, record.server_side_of, record.concurrent_group


def plain_record(seen: Observation, names: Names) -> Observation:
    """The same with the names that are shown."""
    if isinstance(seen, RequestSeen):
        group, upstream = seen.concurrent_group, seen.server_side_of
        seen = replace(
            seen,
            concurrent_group=None if group is None else names.group(group),
            server_side_of=None if upstream is None else names.exchange(upstream),
        )
    return replace(seen, exchange=names.exchange(seen.exchange))


def _malformed(exchange: JsonObject) -> dict[str, JsonValue | Literal[Missing.MISSING]]:
    """Members that name the exchange and are malformed: a value of the same type, or none."""
    found: dict[str, JsonValue | Literal[Missing.MISSING]] = {}
    for name in ("id", "concurrent_group", "server_side_of"):
        value = exchange.get(name, MISSING)
        if value is MISSING and name != "id":
            continue
        if not isinstance(value, str) or not value:
            found[name] = _EMPTY.get(type(value), value)
    return found


_EMPTY: Final[dict[type, JsonValue]] = {int: 0, float: 0.5, dict: {}, list: [], LongInteger: 0}


def redacted_profile(profile: str, redactor: Redactor) -> str:
    """The profile that a document names: one that is known, or has the form of one, as it is; any other as a label."""
    if profile in PROFILES or profile in (UNDETERMINED, UNKNOWN):  # UNKNOWN: ours, for a version not to be shown
        return profile
    if not (profile.isascii() and profile.isprintable()):  # a label would be as malformed, and no name of a profile
        return UNKNOWN
    standing, _, version = profile.partition("-")
    if standing in ("stable", "draft"):
        return f"{standing}-{redactor.show(Evidence('version', version))}"
    return redactor.show(Evidence("text", profile))
