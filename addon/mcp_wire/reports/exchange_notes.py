"""What the judge has to say of one exchange, for a flow list, a content view and a command line.

Everything in it is redacted. It travels with the flow as one short text, which anybody may have edited before it is
read again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from mcp_wire.judging.finding import LEVELS, Finding, Level, Party
from mcp_wire.reports.words import counted, printable

MAX_FINDINGS: Final = 32
"""Findings of one exchange that are noted; further ones are counted."""
MAX_TEXT: Final = 600
"""Characters of one sentence."""
MAX_PACKED: Final = 24 * 1024
"""Characters of the packed form; beyond it, findings are left out from the end."""
MAX_CODES_NAMED: Final = 3

Mark = Literal["error", "warning", "conforming", "not_judged"]
"""How a flow is marked: by its worst finding; infos do not count."""


@dataclass(frozen=True, slots=True)
class NotedFinding:
    """A finding as far as it concerns one exchange: `path` is its first place there, `last_path` the latest."""

    code: str
    level: Level
    party: Party
    path: str
    message: str
    fix: str = ""
    clause: str = ""
    url: str = ""
    count: int = 1
    last_path: str | None = None

    @classmethod
    def of(cls, finding: Finding) -> NotedFinding:
        cited = finding.citation
        return cls(
            finding.code,
            finding.level,
            finding.party,
            finding.path,
            _short(finding.message),
            _short(finding.fix),
            "" if cited is None else f"{cited.revision} {cited.section}",
            "" if cited is None else cited.url,
            finding.count,
            finding.last_path if finding.last_path != finding.path else None,
        )


@dataclass(frozen=True, slots=True)
class NotedAdvice:
    """What to do about an exchange that was interrupted."""

    action: str
    condition: str


@dataclass(frozen=True, slots=True)
class ExchangeNotes:
    """The notes on one exchange.

    `why`: why this profile was chosen, as a clause. `transcript`: its file, within the output folder. `index`: the
    place of the exchange in it. `what`: HTTP method and JSON-RPC method. `session`: a label for its session id.
    `events`: those that a client gets of its stream so far, of so many `chunks`.
    """

    profile: str
    why: str
    is_judged: bool
    transcript: str
    index: int
    what: str
    events: int = 0
    chunks: int = 0
    is_stream: bool = False
    has_ended: bool = False
    findings: tuple[NotedFinding, ...] = ()
    left_out: int = 0
    advice: NotedAdvice | None = None
    session: str | None = None

    @property
    def path(self) -> str:
        return f"/exchanges/{self.index}"

    @property
    def mark(self) -> Mark:
        levels = {finding.level for finding in self.findings}
        if "error" in levels:
            return "error"
        if "warning" in levels:
            return "warning"
        return "conforming" if self.is_judged else "not_judged"

    @property
    def comment(self) -> str:
        """One line for a flow list: `1 error: invalid_post_accept · tools/call · 3 events / 7 chunks · session-A`."""
        parts = [self.verdict, self.what.partition(" ")[2]]
        if self.is_stream:
            parts.append(f"{counted(self.events, 'event')} / {counted(self.chunks, 'chunk')}")
        if self.advice is not None:
            parts.append(self.advice.action)
        parts.append(self.session or "")
        return printable(" · ".join(part for part in parts if part))

    @property
    def verdict(self) -> str:
        """`1 error: invalid_post_accept, 2 warnings: …`; without any, `no findings`, or that it is not judged."""
        parts: list[str] = []
        for level in LEVELS:
            found = [finding for finding in self.findings if finding.level == level]
            if found and not (level == "info" and parts):
                many = "info" if level == "info" else None
                parts.append(f"{counted(len(found), level, many)}: {_codes(found)}")
        if parts:
            return ", ".join(parts)
        return "no findings" if self.is_judged else "not judged"

    def packed(self) -> str:
        """At most MAX_PACKED characters of ASCII, unless a single finding is longer."""
        notes = self
        while True:
            text = json.dumps(_object(notes), separators=(",", ":"))
            if len(text) <= MAX_PACKED or not notes.findings:
                return text
            kept = notes.findings[: len(notes.findings) // 2]
            notes = replace(notes, findings=kept, left_out=notes.left_out + len(notes.findings) - len(kept))


def unpacked(text: object) -> ExchangeNotes | None:
    """The notes that a text holds; None where it holds none."""
    if not isinstance(text, str) or len(text) > 4 * MAX_PACKED:
        return None
    try:
        return _notes(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _codes(findings: list[NotedFinding]) -> str:
    named = [
        finding.code if finding.count == 1 else f"{finding.code} ×{finding.count}"
        for finding in findings[:MAX_CODES_NAMED]
    ]
    more = len(findings) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _object(notes: ExchangeNotes) -> dict[str, Any]:
    advice = notes.advice
    return {
        "profile": notes.profile,
        "why": notes.why,
        "judged": notes.is_judged,
        "transcript": notes.transcript,
        "exchange": notes.index,
        "what": notes.what,
        "session": notes.session,
        "stream": notes.is_stream,
        "events": notes.events,
        "chunks": notes.chunks,
        "ended": notes.has_ended,
        "findings": [
            {
                "code": finding.code,
                "level": finding.level,
                "party": finding.party,
                "path": finding.path,
                "message": finding.message,
                "fix": finding.fix,
                "clause": finding.clause,
                "url": finding.url,
                "count": finding.count,
                "last_path": finding.last_path,
            }
            for finding in notes.findings
        ],
        "left_out": notes.left_out,
        "advice": None if advice is None else {"action": advice.action, "condition": advice.condition},
    }


def _notes(value: dict[str, Any]) -> ExchangeNotes:
    advice = value["advice"]
    return ExchangeNotes(
        profile=_text(value["profile"]),
        why=_text(value["why"]),
        is_judged=value["judged"] is True,
        transcript=_text(value["transcript"]),
        index=int(value["exchange"]),
        what=_text(value["what"]),
        events=int(value["events"]),
        chunks=int(value["chunks"]),
        is_stream=value["stream"] is True,
        has_ended=value["ended"] is True,
        findings=tuple(_finding(finding) for finding in value["findings"]),
        left_out=int(value["left_out"]),
        advice=None if advice is None else NotedAdvice(_text(advice["action"]), _text(advice["condition"])),
        session=None if value["session"] is None else _text(value["session"]),
    )


def _finding(value: dict[str, Any]) -> NotedFinding:
    level, party, last_path = value["level"], value["party"], value["last_path"]
    if level not in LEVELS or party not in get_args(Party):
        raise ValueError
    return NotedFinding(
        code=_text(value["code"]),
        level=level,
        party=party,
        path=_text(value["path"]),
        message=_text(value["message"]),
        fix=_text(value["fix"]),
        clause=_text(value["clause"]),
        url=_text(value["url"]),
        count=int(value["count"]),
        last_path=None if last_path is None else _text(last_path),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return printable(value)
