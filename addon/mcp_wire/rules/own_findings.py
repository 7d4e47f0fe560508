"""Findings that no rule about the traffic makes: of the run's own demands, and of the observer's own failures."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.judging.declaration import SATISFIED, RuleBook, Verdicts, Violated
from mcp_wire.judging.ledger import OBSERVER_ERROR

BOOK = RuleBook("own findings")
rule = BOOK.rule


@dataclass(frozen=True, slots=True)
class Requirement:
    """The demand that a rule must have come to a verdict (`--require`). `otherwise` says what happened instead."""

    code: str
    was_exercised: bool
    otherwise: str


@dataclass(frozen=True, slots=True)
class ObserverFailure:
    """Never judged: the ledger itself reports it, once for each kind of failure."""


@rule(
    "required_rule_not_exercised",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="A rule named with --require was kept or broken at least once in what was validated.",
    fix="Add a transcript in which the rule has something to judge, or take its code out of --require.",
    evidence="The coverage of all transcripts given.",
    exceptions="A rule that could not tell was not exercised.",
)
def required_rule_was_exercised(requirement: Requirement, _conversation: Conversation | None) -> Verdicts:
    if requirement.was_exercised:
        yield SATISFIED
    else:
        yield Violated(
            "/",
            f"The required rule {requirement.code} was never exercised: {requirement.otherwise}.",
            about=requirement.code,
        )


@rule(
    OBSERVER_ERROR,
    level="info",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="The observer read and judged everything that it was given.",
    fix="Report it together with the transcript; the verdicts of other rules stand.",
    evidence="A failure of the observer's own.",
    exceptions="The traffic itself is never affected.",
)
def observer_did_not_fail(_failure: ObserverFailure, _conversation: Conversation | None) -> Verdicts:
    yield SATISFIED
