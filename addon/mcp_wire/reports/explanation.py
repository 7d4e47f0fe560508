"""A rule explained, from its declaration and nothing else: for the terminal, and as JSON for other tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mcp_wire.judging.declaration import Rule
from mcp_wire.protocol.profiles import ALL_REVISIONS
from mcp_wire.reports.human_report import PLAIN_STYLE, Style
from mcp_wire.reports.words import WHO_MUST_ACT, layer_words, listed
from mcp_wire.wire.strict_json import JsonValue, dump_json


def explanations_json(rules: Iterable[Rule]) -> str:
    """A JSON array with one object a declaration; a code that judges several things has several."""
    return dump_json([rule_object(rule) for rule in rules], sort_keys=True, indent=2) + "\n"


def explanations_text(rules: Sequence[Rule], style: Style = PLAIN_STYLE) -> str:
    """All explanations, one paragraph a declaration."""
    return "\n".join("\n".join(_explanation(rule, style)) + "\n" for rule in rules)


def rule_object(rule: Rule) -> dict[str, JsonValue]:
    """Everything that a declaration says."""
    return {
        "code": rule.code,
        "level": rule.level,
        "levels": dict(rule.levels),
        "party": rule.party,
        "layer": rule.layer,
        "family": rule.family,
        "set": rule.rule_set,
        "revisions": list(rule.revisions),
        "version_neutral": rule.version_neutral,
        "says": rule.says,
        "evidence": rule.evidence,
        "exceptions": rule.exceptions,
        "fix": rule.fix,
        "consequence_of": list(rule.consequence_of),
        "citations": [
            {"revision": citation.revision, "section": citation.section, "url": citation.url}
            for citation in rule.citations
        ],
    }


def _explanation(rule: Rule, style: Style) -> Iterator[str]:
    level = style.level(rule.level, rule.level)
    others = "".join(f", {other} in {revision}" for revision, other in rule.levels.items())
    yield f"{style.bold(rule.code)}: {level}{others}; {WHO_MUST_ACT[rule.party]} ({layer_words(rule.layer)})"
    yield from style.paragraph(rule.says)
    yield from _labelled("judged in", _revisions(rule), style)
    if rule.rule_set == "extended":
        yield from _labelled("set", "extended: judged with --extended only", style)
    yield from _labelled("evidence", rule.evidence, style)
    yield from _labelled("except", rule.exceptions, style)
    yield from _labelled("fix", rule.fix, style)
    if rule.consequence_of:
        explained = f"not reported where {listed(rule.consequence_of)} explains it in the same exchange"
        yield from _labelled("folded", explained, style)
    for citation in rule.citations:
        yield from _labelled("clause", f"{citation.revision} {citation.section}", style)
        yield from _labelled("", citation.url, style)


def _revisions(rule: Rule) -> str:
    named = "every revision" if rule.revisions == ALL_REVISIONS else listed(rule.revisions)
    return f"{named}, and where no revision is known" if rule.version_neutral else named


def _labelled(label: str, text: str, style: Style) -> Iterator[str]:
    if text:
        yield from style.paragraph(text, f"  {label:<9} ", " " * 12)
