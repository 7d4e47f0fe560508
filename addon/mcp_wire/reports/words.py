"""Words that every text for people shares, and text that cannot harm the place it is shown in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from mcp_wire.judging.finding import LEVELS, Layer, Party
from mcp_wire.protocol.profiles import PROFILES, UNDETERMINED
from mcp_wire.reports.model import Report, has_findings_at
from mcp_wire.transcript.tuple_parts import PARTS
from mcp_wire.wire.strict_json import JsonValue

MAX_UNCERTAIN_RULES_NAMED: Final = 4
MAX_ITEMS_SHOWN: Final = 16
"""Items of one part of an interoperability tuple that text for people shows."""

WHO_MUST_ACT: Final[dict[Party, str]] = {
    "client": "the client must act",
    "server": "the server must act",
    "intermediary": "an intermediary must act",
    "either": "one of the peers must act",
    "pipeline": "the capture must be repaired",
}


def layer_words(layer: Layer) -> str:
    """`request_construction` as words."""
    return layer.replace("_", " ")


def printable(text: str) -> str:
    """One line without control or formatting characters: ids and names come from files that anybody may have made."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape", "replace").decode() for char in text)


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def listed(items: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *rest, last = items
    return f"{', '.join(rest)} and {last}" if rest else last


def verdict(report: Report) -> str:
    """`2 errors and 1 info`, or `no findings`."""
    levels = Counter(finding.level for finding in report.findings)
    parts = [counted(levels[level], level, "info" if level == "info" else None) for level in LEVELS if levels[level]]
    return listed(parts) if parts else "no findings"


def profile_words(report: Report) -> str:
    """By which revision the conversation was judged."""
    if report.profile == UNDETERMINED:
        return "no revision was ever named, so only rules that hold in every revision were judged"
    if report.profile not in PROFILES:
        return "not judged: no profile that is known here"
    remarks = ", ".join((*(["a draft"] if report.draft else []), *([] if report.normative else ["not normative"])))
    return f"judged as {report.profile}" + (f" ({remarks})" if remarks else "")


def tuple_rows(report: Report) -> Iterator[tuple[str, str]]:
    """The interoperability tuple, a row a part: its name in words, and what is known of it."""
    for name in PARTS:
        value = _part(report.interoperability_tuple.get(name))
        otherwise = _part(report.tuple_contradicted.get(name))
        if value and otherwise:
            value += f" (stated: {otherwise}, which is not what is seen)"
        if value:
            yield name.replace("_", " "), value


def _part(value: JsonValue) -> str:
    """A part of a tuple in one line; empty where it is none that can be shown."""
    if isinstance(value, dict):
        return " ".join(part for name in ("name", "version") if isinstance(part := value.get(name), str))
    if isinstance(value, list):
        items = [item for item in value if isinstance(item, str)]
        more = len(items) - MAX_ITEMS_SHOWN
        shown = ", ".join(items[:MAX_ITEMS_SHOWN]) + (f" and {more} more" if more > 0 else "")
        return shown if value else "none"
    return value if isinstance(value, str) else ""


def coverage_sentences(report: Report) -> str:
    """How far the rules could judge."""
    outcomes = Counter(coverage.outcome for coverage in report.coverage.values())
    judged = outcomes["satisfied"] + outcomes["violated"]
    parts = [f"{outcomes['satisfied']} satisfied", f"{outcomes['violated']} violated"]
    sentences = [f"Of {counted(len(report.coverage), 'rule')}, {judged} came to a verdict: {listed(parts)}."]
    rest = []
    if outcomes["cannot_tell"]:
        rest.append(f"{outcomes['cannot_tell']} could not tell ({_uncertain(report)})")
    if outcomes["not_observed"]:
        rest.append(f"{outcomes['not_observed']} had nothing to judge")
    if outcomes["not_applicable"]:
        rest.append(f"{outcomes['not_applicable']} are not part of this profile")
    if rest:
        sentences.append(f"{listed(rest)}.")
    if not has_findings_at((*report.findings, *(one.finding for one in report.accepted)), "error"):
        sentences.append("No error was seen on the wire; that certifies neither peer.")
    return " ".join(sentences)


def _uncertain(report: Report) -> str:
    uncertain = [(code, one.reasons) for code, one in report.coverage.items() if one.outcome == "cannot_tell"]
    named = [f"{code}: {reasons[0]}" if reasons else code for code, reasons in uncertain[:MAX_UNCERTAIN_RULES_NAMED]]
    more = len(uncertain) - len(named)
    return "; ".join(named) + (f"; and {more} more" if more else "")
