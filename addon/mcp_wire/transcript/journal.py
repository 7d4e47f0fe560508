"""The journal: one line of JSON for each redacted observation, written as it happens, so that a crash loses little.

A journal line is an observation in the forms of the transcript (docs/transcript-format.md), with the word for what was
seen and the id of its exchange. A line that a crash has torn is no record, and nothing before it is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mcp_wire.protocol.profiles import UNDETERMINED
from mcp_wire.transcript.document import JsonObject, time_of
from mcp_wire.transcript.forms import (
    asserted_form,
    body_form,
    body_of,
    data_form,
    data_of,
    ending_form,
    ending_of,
    request_form,
    request_of,
    response_form,
    response_of,
    timed,
)
from mcp_wire.wire.observation import (
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from mcp_wire.wire.strict_json import MAX_DEPTH, JsonValue, dump_json, read_json

JOURNAL_VERSION: Final = 1
MAX_LINE_DEPTH: Final = MAX_DEPTH + 8
"""A body of the greatest depth that is judged fits into a line."""


@dataclass(frozen=True, slots=True)
class JournalHeader:
    """What is said of a conversation as a whole. A later header replaces an earlier one: peers name themselves late."""

    profile: str = UNDETERMINED
    interoperability_tuple: Mapping[str, JsonValue] = field(default_factory=dict)
    complete_from_start: bool = False
    payloads_whole: bool = True
    """Every member of every payload is there. False of a copy of what a person may have cut parts out of."""


JournalRecord = Observation | JournalHeader

_WORDS: Final[dict[type, str]] = {
    RequestSeen: "request",
    ResponseSeen: "response",
    ResponseChunk: "chunk",
    ResponseBody: "body",
    ExchangeEnded: "end",
}


def encode(record: JournalRecord) -> str:
    """One line without its line end."""
    if isinstance(record, JournalHeader):
        header: JsonObject = {
            "journal": JOURNAL_VERSION,
            "profile": record.profile,
            "tuple": dict(record.interoperability_tuple),
            "complete_from_start": record.complete_from_start,
        }
        return dump_json(header if record.payloads_whole else header | {"payloads_whole": False})
    members: JsonObject = {"seen": _WORDS[type(record)], "exchange": record.exchange}
    return dump_json(members | timed("t_ms", record.t_ms) | _members(record))


def decode(line: str | bytes) -> JournalRecord | None:
    """The record that a line holds; None for a torn or foreign line."""
    reading = read_json(line, max_depth=MAX_LINE_DEPTH)
    if not reading.strict or not isinstance(reading.value, dict):
        return None
    members = reading.value
    if members.get("journal") == JOURNAL_VERSION:
        return _header(members)
    exchange = members.get("exchange")
    return _observation(members, exchange) if isinstance(exchange, str) else None


def _members(record: Observation) -> JsonObject:
    match record:
        case RequestSeen():
            return asserted_form(record) | request_form(record)
        case ResponseSeen():
            return response_form(record)
        case ResponseChunk():
            return data_form(record.data)
        case ResponseBody():
            return body_form(record.body)
        case ExchangeEnded():
            return ending_form(record)


def _header(members: JsonObject) -> JournalHeader | None:
    profile, named = members.get("profile"), members.get("tuple")
    if not isinstance(profile, str) or not isinstance(named, dict):
        return None
    complete, whole = members.get("complete_from_start") is True, members.get("payloads_whole") is not False
    return JournalHeader(profile, named, complete, whole)


def _observation(members: JsonObject, exchange: str) -> Observation | None:
    t_ms = time_of(members.get("t_ms"))
    match members.get("seen"):
        case "request":
            return request_of(members, members, exchange, t_ms)
        case "response":
            return response_of(members, exchange, t_ms)
        case "chunk":
            data = data_of(members)
            return None if data is None else ResponseChunk(exchange, t_ms, data)
        case "body":
            return ResponseBody(exchange, t_ms, body_of(members))
        case "end":
            return ending_of(members, exchange, t_ms)
        case _:
            return None
