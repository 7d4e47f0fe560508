"""A judge with a broken rule among the others: it raises for whatever it is asked. A module for JudgeProcess."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mcp_wire.judging.declaration import Verdicts
from mcp_wire.live.judge_main import serve
from mcp_wire.rules import rules_of

BROKEN: Final = "invalid_post_accept"


def main() -> None:
    serve([replace(rule, judge=_raises) if rule.code == BROKEN else rule for rule in rules_of()])


def _raises(fact: object, conversation: object) -> Verdicts:
    raise RuntimeError("a rule that was broken for a test")
