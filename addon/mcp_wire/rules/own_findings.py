"""Findings that no rule about the traffic makes: of the run's own demands, and of the observer's own failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.judging.declaration import SATISFIED, RuleBook, Verdicts, Violated
from mcp_wire.judging.ledger import EVIDENCE_FORGOTTEN, EVIDENCE_FORGOTTEN_FIX, OBSERVER_ERROR
from mcp_wire.wire.evidence import Evidence

BOOK = RuleBook("own findings")
rule = BOOK.rule

REPORT_TRUNCATED: Final = "report_truncated"
STALE_BASELINE_ENTRY: Final = "stale_baseline_entry"


@dataclass(frozen=True, slots=True)
class Requirement:
    """The demand that a rule must have come to a verdict (`--require`). `otherwise` says what happened instead."""

    code: str
    was_exercised: bool
    otherwise: str


@dataclass(frozen=True, slots=True)
class ObserverFailure:
    """Never judged: the ledger itself reports it, once for each kind of failure."""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Never judged: the ledger itself reports it, once for each kind of evidence."""


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """An entry of a baseline (`--baseline`) whose transcripts were validated. `path`: its place in the baseline."""

    path: str
    code: str
    scope: str
    was_needed: bool


@dataclass(frozen=True, slots=True)
class Truncation:
    """Never judged: a report form that has a limit says so itself."""


@rule(
    "required_rule_not_exercised",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="A rule named with --require was kept or broken at least once in what was validated.",
    fix=(
        "Have the rule judged: add a transcript in which it has something to judge, and do not leave it out "
        "(--select, --ignore, --extended). Or take its code out of --require."
    ),
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
    STALE_BASELINE_ENTRY,
    level="warning",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="Every entry of the baseline accepts a finding that is still made.",
    fix="Take the entry out of the baseline, or run --update-baseline: left in, it would hide the same fault later.",
    evidence="The findings in all transcripts that the entry's scope names.",
    exceptions="An entry whose transcripts were not validated, or whose rule was not run, is not judged.",
)
def baseline_entry_is_needed(entry: BaselineEntry, _conversation: Conversation | None) -> Verdicts:
    if entry.was_needed:
        yield SATISFIED
    else:
        yield Violated(
            entry.path,
            f"The baseline accepts {entry.code} in {{}}, where it was not found any more.",
            (Evidence("scope", entry.scope),),
            about=f"{entry.code} {entry.scope}",
        )


@rule(
    REPORT_TRUNCATED,
    level="info",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="A report lists every finding.",
    fix="Use --report json, which has no limit on findings, or validate fewer transcripts at once.",
    evidence="The number of findings, and the limit of the report's form.",
    exceptions="Only forms with a limit of their own: SARIF.",
)
def report_is_whole(_truncation: Truncation, _conversation: Conversation | None) -> Verdicts:
    yield SATISFIED


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


@rule(
    EVIDENCE_FORGOTTEN,
    level="info",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="Everything that a rule in force may still ask for is remembered.",
    fix=EVIDENCE_FORGOTTEN_FIX,
    evidence=(
        "A limit that was reached (docs/limits.md names all of them): once for each kind of evidence and conversation, "
        "with the exchange where it first happened, and a count of what was lost."
    ),
    exceptions=(
        "It is nobody's fault, changes neither validity nor exit code, and takes nothing back of what was found. What "
        "no rule in force would ask for any more is let go without a word. Where a limit is one of octets, it is those "
        "on the wire that count, so that a redacted transcript, which is smaller, may be judged whole."
    ),
)
def evidence_was_kept(_forgetting: Forgetting, _conversation: Conversation | None) -> Verdicts:
    yield SATISFIED
