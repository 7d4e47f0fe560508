"""A transcript document, judged: document in, report out. The live run's report is made by the same function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.judging.declaration import Rule
from mcp_wire.judging.idempotency import Decisions
from mcp_wire.judging.judge import Judge
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.reports.model import NOT_APPLICABLE, Report, RuleCoverage
from mcp_wire.reports.timeline import SHOWN, Detail, Timeline, timeline_of
from mcp_wire.rules import rules_of
from mcp_wire.rules.archived_draft import ARCHIVED_DRAFT_CODES
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.interop_tuple import InteropTuple
from mcp_wire.transcript.naming import plainly_named
from mcp_wire.transcript.reading import observations
from mcp_wire.transcript.rewriting import redacted_profile
from mcp_wire.transcript.tuple_parts import completed, contradicted, server_name
from mcp_wire.wire.observation import Observation
from mcp_wire.wire.strict_json import JsonValue

PROGRESS_STEP: Final = 1_024
"""Observations between two words on how far judging is."""


def validate(
    document: Document,
    rules: Iterable[Rule] | None = None,
    redactor: Redactor | None = None,
    on_progress: Callable[[float], None] = lambda share: None,
    asserted: Mapping[str, JsonValue] | None = None,
    decisions: Decisions | None = None,
) -> Report:
    """Judge one transcript. `rules` None: the default rule set. Raises nothing for any document.

    `redactor`: gives the labels in messages; a timeline made with the same one has the same labels. `on_progress` is
    told from time to time which share of the transcript has been judged, from 0 to 1. `asserted`: what an operator says
    of the interoperability tuple (`asserted_parts`). `decisions`: those about repeating requests, for this transcript.
    The names of exchanges are shown as `plainly_named` has them, the profile as `redacted_profile` does.
    """
    redactor = redactor or Redactor()
    document = plainly_named(document)
    chosen = tuple(rules_of() if rules is None else rules)
    profile = PROFILES.get(document.profile or "")
    conversation = Conversation(
        profile,
        payloads_whole=document.payloads_whole,
        complete_from_start=document.complete_from_start,
    )
    judge = Judge(rules_in(document.profile, chosen), conversation, redactor.show, decisions)
    judge.consider(document)
    shown = InteropTuple(document.profile or "", asserted)
    if document.is_judged:
        told = observations(document)
        for number, observation in enumerate(told):
            # First, as in a live run: messages name things by the labels that these have in the transcript.
            shown.take(redactor.feed(observation))
            judge.feed(observation)
            if number % PROGRESS_STEP == 0:
                on_progress(number / len(told))
        judge.finish()
    # What the document says stands: the edge that wrote it saw more, and so may its author have done.
    members = completed(redactor.redact_tuple(document.interoperability_tuple), shown.members)
    named = document.profile and redacted_profile(document.profile, redactor)
    return report_of(judge, named, members, chosen, shown.stated)


def redacted_timeline(
    document: Document, report: Report, redactor: Redactor | None = None, detail: Detail = SHOWN
) -> Timeline:
    """What a transcript tells, redacted as the report on it is: pass the redactor with which it was validated."""
    redactor = redactor or Redactor()
    named = plainly_named(document)
    redacted = (one for observation in observations(named) for one in redactor.feed(observation))
    return _timeline(redacted, document, report, detail)


def recorded_timeline(document: Document, report: Report, detail: Detail = SHOWN) -> Timeline:
    """What a transcript tells that this program has written: it is redacted already. Not for anybody else's."""
    return _timeline(observations(document), document, report, detail)


def _timeline(redacted: Iterable[Observation], document: Document, report: Report, detail: Detail) -> Timeline:
    findings = (*report.findings, *(accepted.finding for accepted in report.accepted))
    return timeline_of(
        redacted,
        document.profile,
        places=[finding.path for finding in findings],
        complete_from_start=document.complete_from_start,
        detail=detail,
    )


def rules_in(profile_name: str | None, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules that a profile lets speak, whatever its revision: an archived one only those that it had."""
    profile = PROFILES.get(profile_name or "")
    if profile is None or not profile.archived:
        return tuple(rules)
    return tuple(rule for rule in rules if rule.code in ARCHIVED_DRAFT_CODES)


def report_of(
    judge: Judge,
    profile_name: str | None,
    interoperability_tuple: Mapping[str, JsonValue],
    rules: Iterable[Rule],
    stated: Mapping[str, JsonValue],
) -> Report:
    """The report on what a judge has found so far.

    `rules` are all rules that were chosen, so that those which the profile does not have are reported as such.
    `stated`: what an operator says of the tuple; what of it is not so is reported.
    """
    profile = PROFILES.get(profile_name or "")
    judged = judge.ledger.coverage
    return Report(
        profile=profile_name,
        draft=profile.draft if profile is not None else False,
        normative=profile.normative if profile is not None else False,
        interoperability_tuple=interoperability_tuple,
        tuple_contradicted=contradicted(interoperability_tuple, stated),
        findings=tuple(judge.findings()),
        recovery=tuple(judge.recovery(server_name(interoperability_tuple))),
        coverage={
            code: RuleCoverage.of(judged[code]) if code in judged else NOT_APPLICABLE
            for code in sorted({rule.code for rule in rules} | judged.keys())
        },
        findings_dropped=judge.ledger.dropped,
    )
