"""Commands for the prompt of mitmproxy and for the command bar of mitmweb.

Their names hold nothing but letters and dots: mitmweb takes no others. Flows are given as mitmproxy's commands take
them: `@focus`, `@shown`, `@marked`, `@all`, or a filter such as `~marker :red_circle:`; without any, those shown.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mitmproxy import command, ctx, exceptions, flow, http, types
from mitmproxy.hooks import UpdateHook

from mcp_wire.live.flow_notes import clear_annotations, notes_of
from mcp_wire.live.jobs import UNUSABLE, Jobs, Outcome
from mcp_wire.reports.exchange_notes import ExchangeNotes, NotedFinding
from mcp_wire.reports.form_names import FILE_NAMES
from mcp_wire.reports.words import counted, printable

logger: Final = logging.getLogger("mcp_conformance")


class _Shown(list[flow.Flow]):
    """Stands for the flows that are shown: an empty choice is another thing."""


SHOWN: Final = _Shown()


class MCPCommands:
    """The commands. `explanations`: for each code what the rule is about, once the judge has told."""

    name = "mcp_commands"

    def __init__(self, explanations: Callable[[], Mapping[str, str]]) -> None:
        self._explanations = explanations
        self._jobs = Jobs()

    def run_with(self, options: Mapping[str, Sequence[str]]) -> None:
        """`options`: command of `mcp-conformance` -> options with which it makes of flows what this run makes."""
        self._jobs.options = options

    @command.command("mcp.findings")  # type: ignore[untyped-decorator]
    def findings(self, flows: Sequence[flow.Flow] = SHOWN) -> Sequence[str]:
        """
        List what was found in these flows, a line each: level, code, exchange, who must act, and what is wrong.
        """
        lines = [_finding(notes, finding) for _, notes in _noted(_given(flows)) for finding in notes.findings]
        return lines or ["No findings."]

    @command.command("mcp.profile")  # type: ignore[untyped-decorator]
    def profile(self, flows: Sequence[flow.Flow] = SHOWN) -> Sequence[str]:
        """
        Say by which revision of the protocol each of these flows is judged, and why.
        """
        lines = [
            f"{notes.what or one.request.method}: "
            + (f"judged as {notes.profile}" if notes.is_judged else f"not judged by a revision ({notes.profile})")
            + f": {notes.why} (x-{notes.index + 1} of {notes.transcript})"
            for one, notes in _noted(_given(flows))
        ]
        return lines or ["None of these flows is known as MCP."]

    @command.command("mcp.explain")  # type: ignore[untyped-decorator]
    @command.argument("code", type=types.Choice("mcp.codes"))  # type: ignore[no-untyped-call, untyped-decorator]
    def explain(self, code: str) -> Sequence[str]:
        """
        Explain a finding's code: the duty, the clause, what to do.
        """
        text = self._explanations().get(code)
        if text is None:
            raise exceptions.CommandError(f"There is no rule {printable(code)}.")
        return text.rstrip().split("\n")

    @command.command("mcp.codes")  # type: ignore[untyped-decorator]
    def codes(self) -> Sequence[str]:
        """
        List the codes of all rules.
        """
        return sorted(self._explanations())

    @command.command("mcp.report")  # type: ignore[untyped-decorator]
    @command.argument("form", type=types.Choice("mcp.forms"))  # type: ignore[no-untyped-call, untyped-decorator]
    def report(self, form: str, path: types.Path, flows: Sequence[flow.Flow] = SHOWN) -> str:
        """
        Write a report on these flows to a file: human, json, jsonl, sarif, junit, markdown, html or har. It is made
        from redacted transcripts, beside the proxy; the event log says when it is there.
        """
        chosen, file = _some(flows), Path(path).expanduser().absolute()
        self._jobs.report(chosen, form, file, lambda outcome: _tell(f"The report {file}", outcome))
        return f"The report on {counted(len(chosen), 'flow')} is being made: {file}"

    @command.command("mcp.forms")  # type: ignore[untyped-decorator]
    def forms(self) -> Sequence[str]:
        """
        List the forms of a report.
        """
        return list(FILE_NAMES)

    @command.command("mcp.convert")  # type: ignore[untyped-decorator]
    def convert(self, path: types.Path, flows: Sequence[flow.Flow] = SHOWN) -> str:
        """
        Make redacted transcripts of these flows in a folder, one a conversation, and beside each what is found in it.
        """
        chosen, folder = _some(flows), Path(path).expanduser().absolute()
        self._jobs.convert(chosen, folder, lambda outcome: _tell(f"The transcripts in {folder}", outcome))
        return f"Transcripts of {counted(len(chosen), 'flow')} are being made: {folder}"

    @command.command("mcp.clear")  # type: ignore[untyped-decorator]
    def clear(self, flows: Sequence[flow.Flow] = SHOWN) -> str:
        """
        Take our markers and comments off these flows, for good. What a person has set stays.
        """
        cleared = [one for one in _given(flows) if clear_annotations(one)]
        ctx.master.addons.trigger(UpdateHook(cleared))
        return f"{counted(len(cleared), 'flow')} cleared."


def _given(flows: Sequence[flow.Flow]) -> Sequence[flow.Flow]:
    if flows is not SHOWN:
        return flows
    view: Any = ctx.master.addons.get("view")  # type: ignore[no-untyped-call]
    return list(view) if view is not None else []


def _some(flows: Sequence[flow.Flow]) -> list[flow.Flow]:
    chosen = [one for one in _given(flows) if isinstance(one, http.HTTPFlow)]
    if not chosen:
        raise exceptions.CommandError("There are no flows to look at.")
    return [*chosen]


def _noted(flows: Sequence[flow.Flow]) -> Iterator[tuple[http.HTTPFlow, ExchangeNotes]]:
    for one in flows:
        notes = notes_of(one)
        if isinstance(one, http.HTTPFlow) and notes is not None:
            yield one, notes


def _finding(notes: ExchangeNotes, finding: NotedFinding) -> str:
    times = "" if finding.count == 1 else f" ×{finding.count}"
    return (
        f"{finding.level} {finding.code}{times} · {notes.what} · {finding.party} · {finding.message} ({finding.path})"
    )


def _tell(what: str, outcome: Outcome) -> None:
    """Say in the event log what became of a job. Exit code 1 says that something was found, or left out."""
    for line in outcome.complained:
        logger.warning(printable(line))
    if outcome.code >= UNUSABLE or outcome.code < 0:
        logger.warning(f"{what}: could not be made.")
        return
    for line in outcome.said:
        logger.info(printable(line))
    logger.info(f"{what}: written.")
