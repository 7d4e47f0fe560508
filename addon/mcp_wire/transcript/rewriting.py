"""Transcripts and journals that someone else wrote, redacted: the same in the same places, labels for the values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from mcp_wire.judging.declaration import Evidence
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.profiles import UNDETERMINED
from mcp_wire.transcript.document import Document, exchange_id
from mcp_wire.transcript.journal import JournalHeader, JournalRecord
from mcp_wire.transcript.reading import observations
from mcp_wire.transcript.writing import Recorded, gathered
from mcp_wire.wire.observation import Observation, RequestSeen

NOBODY: Final = "x-0"
"""The id of an exchange that is not in the transcript."""

_EXCHANGE: Final = re.compile(r"x-[1-9][0-9]{0,8}")
_GROUP: Final = re.compile(r"(?:overlap|group)-[1-9][0-9]{0,8}")


def redacted_exchanges(document: Document, redactor: Redactor) -> list[Recorded]:
    """The exchanges that can be read, redacted, in the order of the document.

    Ids of exchanges and labels of overlaps are a person's words: they become `x-N` and `overlap-N`, equal ones equal.
    """
    # What profile it is under changes nothing about what was seen.
    known = document if document.is_judged else Document(document.members | {"profile": UNDETERMINED})
    redacted = (one for observation in observations(known) for one in redactor.feed(observation))
    exchanges = sorted(gathered(redacted), key=lambda recorded: recorded.request.index or 0)
    # Where two exchanges have one id, the reader has given them different ones; the fault of the document stays.
    own = {
        recorded.request.exchange: exchange_id(known.exchanges[recorded.request.index or 0])
        or recorded.request.exchange
        for recorded in exchanges
    }
    ids = _renamed((own[recorded.request.exchange] for recorded in exchanges), _EXCHANGE, "x")
    groups = _renamed((recorded.request.concurrent_group for recorded in exchanges), _GROUP, "overlap")
    for recorded in exchanges:
        request = recorded.request
        recorded.request = replace(_request(request, ids, groups), exchange=ids[own[request.exchange]])
    return exchanges


def redacted_header(document: Document, redactor: Redactor) -> JournalHeader:
    """What the document says of its conversation as a whole, redacted."""
    return JournalHeader(
        _profile(document, redactor),
        redactor.redact_tuple(document.interoperability_tuple),
        document.complete_from_start,
        document.payloads_whole,
    )


def redacted_records(read: Callable[[], Iterable[JournalRecord]], redactor: Redactor) -> Iterator[JournalRecord]:
    """The records of a journal, redacted. `read` is called twice, to know all ids before the first is replaced."""
    requests = (record for record in read() if isinstance(record, RequestSeen))
    names = [(record.exchange, record.concurrent_group) for record in requests]
    ids = _renamed((name for name, _ in names), _EXCHANGE, "x")
    groups = _renamed((group for _, group in names), _GROUP, "overlap")
    for record in read():
        if isinstance(record, JournalHeader):
            profile = _profile(Document({"profile": record.profile}), redactor)
            named = redactor.redact_tuple(record.interoperability_tuple)
            yield replace(record, profile=profile, interoperability_tuple=named)
        elif record.exchange in ids:
            for redacted in redactor.feed(record):
                yield _named(redacted, ids, groups)


def is_own_name(name: str) -> bool:
    """The id of an exchange or the label of an overlap is one of ours, so that it stays."""
    return _EXCHANGE.fullmatch(name) is not None or _GROUP.fullmatch(name) is not None or name == NOBODY


def _named(seen: Observation, ids: dict[str, str], groups: dict[str, str]) -> Observation:
    seen = _request(seen, ids, groups) if isinstance(seen, RequestSeen) else seen
    return replace(seen, exchange=ids[seen.exchange])


def _request(seen: RequestSeen, ids: dict[str, str], groups: dict[str, str]) -> RequestSeen:
    """With our words in place of a person's, but for its own id."""
    upstream_of = None if seen.server_side_of is None else ids.get(seen.server_side_of, NOBODY)
    return replace(seen, concurrent_group=groups.get(seen.concurrent_group or ""), server_side_of=upstream_of)


def _profile(document: Document, redactor: Redactor) -> str:
    profile = document.profile
    if profile is None or document.is_judged:
        return profile or UNDETERMINED
    standing, _, version = profile.partition("-")
    if standing in ("stable", "draft"):
        return f"{standing}-{redactor.show(Evidence('version', version))}"
    return redactor.show(Evidence("text", profile))


def _renamed(names: Iterable[str | None], kept: re.Pattern[str], prefix: str) -> dict[str, str]:
    """A name of our own for each; those that are such already stay."""
    different = list(dict.fromkeys(name for name in names if name))
    taken = {name for name in different if kept.fullmatch(name)}
    renamed: dict[str, str] = {}
    number = 0
    for name in different:
        if name in taken:
            renamed[name] = name
            continue
        number += 1
        while f"{prefix}-{number}" in taken:
            number += 1
        renamed[name] = f"{prefix}-{number}"
    return renamed
