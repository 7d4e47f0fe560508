"""`mcp-conformance explain`: what a rule says, from its declaration."""

from __future__ import annotations

import argparse

from mcp_wire.cli.codes import nearest
from mcp_wire.cli.streams import UsageError, abandon_standard_output, shown_name, write_output
from mcp_wire.cli.terminal import style_for
from mcp_wire.judging.declaration import Rule
from mcp_wire.reports.explanation import explanations_json, explanations_text
from mcp_wire.rules import ALL_RULES, own_findings


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "explain",
        help="explain a finding's code",
        description="Explain what a code means: clause, evidence, exceptions, fix.",
        allow_abbrev=False,
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("code", nargs="?", metavar="CODE", help="the code of a finding")
    which.add_argument("--all", action="store_true", help="explain every rule")
    parser.add_argument("--json", action="store_true", help="as JSON, one object a declaration")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the explanation. Raises UsageError for an unknown code."""
    rules = (*ALL_RULES, *own_findings.BOOK.rules)
    chosen = rules if options.all else _declared(options.code, rules)
    try:
        write_output(None, explanations_json(chosen) if options.json else explanations_text(chosen, style_for(None)))
    except BrokenPipeError:
        abandon_standard_output()
    return 0


def _declared(code: str, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    found = tuple(rule for rule in rules if rule.code == code)
    if not found:
        hint = nearest(code, {rule.code for rule in rules}) or "explain --all lists all codes"
        raise UsageError(f"{shown_name(code)} is no code that is known here; {hint}")
    return found
