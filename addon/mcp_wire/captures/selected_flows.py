"""Flows that a person has selected in mitmproxy, converted as a flow file of them would be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mitmproxy.flow import Flow

from mcp_wire.captures.conversion import Conversion, Converted
from mcp_wire.captures.flow_file import Flows
from mcp_wire.captures.replay import Index
from mcp_wire.judging.declaration import Rule
from mcp_wire.protocol.profiles import Profile

NAME: Final = "flows"


@dataclass(frozen=True, slots=True)
class Summary:
    """What was written, and what limits made incomplete. `str` of it is one line for a person."""

    converted: tuple[Converted, ...]
    said: tuple[str, ...] = ()

    @property
    def exchanges(self) -> int:
        return sum(one.exchanges for one in self.converted)

    def __str__(self) -> str:
        if not self.converted:
            return "There is no MCP in these flows; nothing was written."
        findings = [finding for one in self.converted for finding in one.report.findings]
        errors = sum(finding.level == "error" for finding in findings)
        warnings = sum(finding.level == "warning" for finding in findings)
        parts = (
            _counted(len(self.converted), "transcript"),
            _counted(self.exchanges, "exchange"),
            _counted(errors, "error"),
            _counted(warnings, "warning"),
        )
        return ", ".join(parts) + "".join(f" {sentence}" for sentence in self.said)


def convert_flows(
    flows: Sequence[Flow],
    folder: Path,
    *,
    rules: Sequence[Rule] | None = None,
    profile: Profile | None = None,
) -> Summary:
    """Write a redacted transcript of each conversation in these flows, and its findings, into a folder.

    `rules` None: the default set. `profile` None: by evidence. Takes as long as judging takes. Raises OSError; then
    nothing is written.
    """
    said: list[str] = []
    capture = Flows(flows)
    with Conversion(folder, rules, profile, said.append) as conversion:
        converted = conversion.convert(NAME, capture, Index(capture.places()))
        conversion.commit()
    return Summary(tuple(converted), tuple(said))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
