"""How a rule is declared: everything that is said of it stands beside the function that judges.

    @rule(
        "invalid_get_accept",
        level="error",
        party="client",
        layer="request_construction",
        revisions=SESSION_REVISIONS,
        cites="basic/transports#listening-for-messages-from-the-server",
        says="A GET lists text/event-stream in Accept.",
        fix="Send `Accept: text/event-stream`.",
    )
    def get_lists_event_stream(request: Request, conversation: Conversation) -> Verdicts:
        if request.method.upper() != "GET":
            return
        if accept_lists(request.headers.joined("accept"), EVENT_STREAM):
            yield SATISFIED
        else:
            yield Violated(request.headers_path, "The GET's Accept does not list text/event-stream.")

The type of the first parameter says which kind of fact the rule reads (`Message | CaptureEnd`: both kinds). A rule that
yields nothing did not apply.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mcp_wire.judging.finding import Citation, Layer, Level, Party
from mcp_wire.protocol.profiles import ALL_REVISIONS, SPECIFICATION
from mcp_wire.wire.evidence import Evidence

RuleSet = Literal["default", "extended"]


@dataclass(frozen=True, slots=True)
class Violated:
    """The rule was broken at `path`. `message` may have `{}` for each piece of evidence, in order.

    `level` and `party` override the declaration for this case. `about` separates findings of one code that are
    different faults (one a capability, say); otherwise a repetition only adds to the count. `exchange` names the
    exchange at fault where it is not the one of the fact that was judged.
    """

    path: str
    message: str
    evidence: tuple[Evidence, ...] = ()
    level: Level | None = None
    party: Party | None = None
    about: str = ""
    exchange: str | None = None


@dataclass(frozen=True, slots=True)
class Satisfied:
    """The rule applied, and was kept."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The rule applied, but evidence is missing. `reason` is one phrase for the coverage report."""

    reason: str


SATISFIED: Final = Satisfied()
Verdict = Violated | Satisfied | CannotTell
Verdicts = Iterator[Verdict]


@dataclass(frozen=True, slots=True)
class Rule:
    """One declared rule. `levels` gives another level for single revisions, where the text differs."""

    code: str
    level: Level
    party: Party
    layer: Layer
    revisions: tuple[str, ...]
    version_neutral: bool
    citations: tuple[Citation, ...]
    says: str
    fix: str
    family: str
    exceptions: str
    evidence: str
    rule_set: RuleSet
    levels: Mapping[str, Level]
    consequence_of: tuple[str, ...]
    facts: tuple[type, ...]
    judge: Callable[[Any, Any], Verdicts]

    def level_in(self, revision: str | None) -> Level:
        return self.levels.get(revision, self.level) if revision is not None else self.level

    def citation_in(self, revision: str | None) -> Citation | None:
        """The clause of the revision in force, or the first one where that revision has none of its own."""
        for citation in self.citations:
            if citation.revision == revision:
                return citation
        return self.citations[0] if self.citations else None


@dataclass(slots=True)
class RuleBook:
    """The rules of one file, in order of declaration."""

    family: str
    rules: list[Rule] = field(default_factory=list)

    def rule(
        self,
        code: str,
        *,
        level: Level,
        party: Party,
        layer: Layer,
        says: str,
        fix: str,
        cites: str | Mapping[str, str] = "",
        revisions: tuple[str, ...] = ALL_REVISIONS,
        version_neutral: bool = False,
        exceptions: str = "",
        evidence: str = "",
        rule_set: RuleSet = "default",
        levels: Mapping[str, Level] | None = None,
        consequence_of: tuple[str, ...] = (),
    ) -> Callable[[Callable[[Any, Any], Verdicts]], Callable[[Any, Any], Verdicts]]:
        """Declare the decorated function as a rule.

        `cites` is a page and section of the specification (`basic/transports#session-management`), or a mapping from
        revision (or the name of another standard) to page and section (or to a full URL). `version_neutral` rules
        also speak where no revision is known. `consequence_of` names codes that explain this one in the same
        exchange: then only the root is reported.
        """

        def declare(judge: Callable[[Any, Any], Verdicts]) -> Callable[[Any, Any], Verdicts]:
            self.rules.append(
                Rule(
                    code=code,
                    level=level,
                    party=party,
                    layer=layer,
                    revisions=revisions,
                    version_neutral=version_neutral,
                    citations=tuple(_citations(cites, revisions)),
                    says=says,
                    fix=fix,
                    family=self.family,
                    exceptions=exceptions,
                    evidence=evidence,
                    rule_set=rule_set,
                    levels=levels or {},
                    consequence_of=consequence_of,
                    facts=_fact_types(judge),
                    judge=judge,
                )
            )
            return judge

        return declare


def _fact_types(judge: Callable[[Any, Any], Verdicts]) -> tuple[type, ...]:
    first = next(iter(inspect.signature(judge).parameters))
    hint = typing.get_type_hints(judge)[first]
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    assert all(isinstance(kind, type) for kind in kinds), f"{judge.__name__}: the first parameter must be kinds of fact"
    return kinds


def _citations(cites: str | Mapping[str, str], revisions: tuple[str, ...]) -> Iterator[Citation]:
    by_revision = dict.fromkeys(revisions, cites) if isinstance(cites, str) else cites
    for revision, where in by_revision.items():
        if not where:
            continue
        if where.startswith("https://"):
            yield Citation(revision, where.partition("#")[2] or where, where)
        else:
            yield Citation(revision, where, f"{SPECIFICATION}/{revision}/{where}")
