"""`mcp-conformance explain`: what a rule says, from its declaration."""

from __future__ import annotations

import argparse


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser("explain", help="explain a rule", description="Explain a rule.", allow_abbrev=False)
    parser.add_argument("code", nargs="?", metavar="CODE")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the explanation. Returns the exit code."""
    return 0
