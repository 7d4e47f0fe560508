"""What is expected of a transcript (`NAME.expected.json` beside `NAME.json`), compared with what is found in it now.

    {"findings": [{"code": "invalid_status", "level": "error", "path": "/exchanges/0/response/status", "count": 1}],
     "recovery": [{"exchange": "x-2", "action": "do-not-replay"}], "extended": true}

`convert` writes such files, with all findings. `recovery` need not be there, and is not compared then. `extended`: the
findings are those of the extended rule set as well. Further members, also of findings, mean nothing here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from mcp_wire.judging.finding import LEVELS, Level
from mcp_wire.reports.model import SEVERITY, Report
from mcp_wire.reports.words import counted, printable
from mcp_wire.wire.json_complaints import complaint
from mcp_wire.wire.strict_json import JsonValue, read_json

EXPECTED: Final = ".expected.json"
"""The end of the names of such files, instead of `.json`."""


def expected_name(transcript: str) -> str:
    """The name of the file with what is expected of a transcript of this name."""
    return transcript.removesuffix(".json") + EXPECTED


class ExpectationError(ValueError):
    """The text expects nothing that can be compared. The message says where and what should be there, in one clause."""


@dataclass(frozen=True, slots=True, order=True)
class _Found:
    """A finding, as far as it is compared."""

    code: str
    path: str
    level: Level
    count: int

    @property
    def place(self) -> tuple[str, str]:
        return self.path, self.code

    def __str__(self) -> str:
        times = f", {self.count} times" if self.count != 1 else ""
        return f"{self.level} {printable(self.code)} at {printable(self.path)}{times}"


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is expected of one transcript. `recovery`: action by exchange, None where nothing is said of it."""

    findings: tuple[_Found, ...]
    recovery: dict[str, str] | None = None
    extended: bool = False


def expected_text(report: Report, *, extended: bool = False) -> str:
    """What is found as of now, as a file; the same for the same findings. `extended`: by the extended rule set too."""
    findings = [{"code": one.code, "level": one.level, "path": one.path, "count": one.count} for one in report.findings]
    recovery = [{"exchange": one.exchange, "action": one.action} for one in report.recovery]
    members = {"findings": findings, "recovery": recovery, **({"extended": True} if extended else {})}
    return json.dumps(members, indent=1) + "\n"


def read_expectation(text: str | bytes) -> Expectation:
    """What a file expects. Raises ExpectationError."""
    reading = read_json(text)
    wrong = complaint(text, reading, "file of expectations")
    if wrong is not None:
        raise ExpectationError(wrong)
    members = reading.value
    findings = members.get("findings") if isinstance(members, dict) else None
    if not isinstance(members, dict) or not isinstance(findings, list):
        raise ExpectationError("has no list `findings`")
    extended, recovery = members.get("extended", False), members.get("recovery")
    if not isinstance(extended, bool):
        raise ExpectationError("has an `extended` that is neither true nor false")
    return Expectation(
        tuple(_found(value, f"findings/{number}") for number, value in enumerate(findings)),
        None if recovery is None else _recovery(recovery),
        extended,
    )


def differences(expected: Expectation, report: Report, lowest: Level = "info") -> Iterator[str]:
    """What is found otherwise than expected, one line each, in the order of places; findings of `lowest` and above."""
    now = [_Found(one.code, one.path, one.level, one.count) for one in report.findings]
    wanted, found = _counted(expected.findings, lowest), _counted(now, lowest)
    missing, unexpected = _by_place(wanted - found), _by_place(found - wanted)
    for place in sorted(missing.keys() | unexpected.keys()):
        for gone, new in zip_longest(missing.get(place, ()), unexpected.get(place, ())):
            if new is None:
                yield f"missing: {gone}"
            elif gone is None:
                yield f"unexpected: {new}"
            else:
                yield f"{new}; expected: {_rest(gone, new)}"
    if report.findings_dropped:
        yield f"{counted(report.findings_dropped, 'further finding')} cannot be compared: they were not kept"
    if expected.recovery is not None:
        yield from _advice(expected.recovery, {one.exchange: str(one.action) for one in report.recovery})


def _rest(gone: _Found, new: _Found) -> str:
    """What was expected of a finding that is there."""
    level = [gone.level] if gone.level != new.level else []
    return " ".join([*level, *([counted(gone.count, "time")] if gone.count != new.count else [])])


def _advice(wanted: dict[str, str], given: dict[str, str]) -> Iterator[str]:
    for exchange in sorted(wanted.keys() | given.keys()):
        expected, now = wanted.get(exchange), given.get(exchange)
        named = f"advice for exchange {printable(exchange)}"
        if now is None:
            yield f"missing: {named}: {printable(expected or '')}"
        elif expected is None:
            yield f"unexpected: {named}: {now}"
        elif now != expected:
            yield f"{named}: {now}; expected: {printable(expected)}"


def _counted(findings: tuple[_Found, ...] | list[_Found], lowest: Level) -> Counter[_Found]:
    return Counter(one for one in findings if SEVERITY[one.level] >= SEVERITY[lowest])


def _by_place(findings: Counter[_Found]) -> dict[tuple[str, str], list[_Found]]:
    places: dict[tuple[str, str], list[_Found]] = {}
    for one in sorted(findings.elements()):
        places.setdefault(one.place, []).append(one)
    return places


def _found(value: JsonValue, place: str) -> _Found:
    members = value if isinstance(value, dict) else {}
    code, path, count = members.get("code"), members.get("path"), members.get("count")
    level = next((level for level in LEVELS if level == members.get("level")), None)
    if not (isinstance(code, str) and isinstance(path, str) and level and type(count) is int and count > 0):
        raise ExpectationError(f"{place} has to be an object with code, level, path and count")
    return _Found(code, path, level, count)


def _recovery(value: JsonValue) -> dict[str, str]:
    if not isinstance(value, list):
        raise ExpectationError("has a `recovery` that is no list")
    advice: dict[str, str] = {}
    for number, one in enumerate(value):
        members = one if isinstance(one, dict) else {}
        exchange, action = members.get("exchange"), members.get("action")
        if not isinstance(exchange, str) or not isinstance(action, str):
            raise ExpectationError(f"recovery/{number} has to be an object with exchange and action")
        advice[exchange] = action
    return advice
