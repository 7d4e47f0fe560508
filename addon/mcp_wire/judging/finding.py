"""A finding: who broke which clause, where, how often, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Level = Literal["error", "warning", "info"]
Party = Literal["client", "server", "intermediary", "either", "pipeline"]
Layer = Literal[
    "request_construction",
    "response_framing",
    "profile_mixing",
    "stream_routing",
    "session",
    "lifecycle",
    "payload",
    "security",
    "intermediary",
    "capture_pipeline",
]
LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Citation:
    """The clause that a rule rests on."""

    revision: str
    section: str
    url: str


@dataclass(slots=True)
class Finding:
    """One fault. Repetitions are counted; `path` and `exchange` name the first place, `last_path` the latest."""

    code: str
    level: Level
    party: Party
    layer: Layer
    path: str
    message: str
    exchange: str | None
    citation: Citation | None
    fix: str
    count: int = 1
    last_path: str | None = None
    consequences: tuple[str, ...] = ()
    """Codes of findings that this one explains and that are therefore not reported on their own."""
