"""`--report jsonl`: one finding a line, with the same members as `findings.jsonl` of a live run.

A line is a finding and nothing else: the interoperability tuple, recovery and coverage are in the other forms."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_wire.reports.json_report import accepted_object, finding_object
from mcp_wire.reports.model import NamedReport, Results
from mcp_wire.wire.strict_json import JsonValue, dump_json


def render(results: Results) -> str:
    """The lines; what a baseline accepts has its `reason`. No findings give an empty text."""
    # NEL is a line end to some readers; within JSON it can only stand in a string, where an escape says the same.
    return "".join(f"{line}\n" for line in _lines(results)).replace("\x85", "\\u0085")


def _lines(results: Results) -> Iterator[str]:
    for named in results.reports:
        about: dict[str, JsonValue] = {"transcript": named.transcript, "profile": named.report.profile}
        for members in _members(named):
            yield dump_json(members | about)
    for finding in results.further:
        yield dump_json(finding_object(finding))


def _members(named: NamedReport) -> Iterator[dict[str, JsonValue]]:
    yield from map(finding_object, named.report.findings)
    yield from map(accepted_object, named.report.accepted)
