"""The pinned protocol revisions, one profile each. See docs/profiles.md for sources and review dates."""

import re
from dataclasses import dataclass
from typing import Final

SPECIFICATION: Final = "https://modelcontextprotocol.io/specification"

R2025_03_26: Final = "2025-03-26"
R2025_06_18: Final = "2025-06-18"
R2025_11_25: Final = "2025-11-25"
R2026_07_28: Final = "2026-07-28"

ALL_REVISIONS: Final = (R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28)
SESSION_REVISIONS: Final = (R2025_03_26, R2025_06_18, R2025_11_25)
"""The revisions with `initialize`, `Mcp-Session-Id`, GET streams and resumption."""
MODERN_REVISIONS: Final = (R2026_07_28,)

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_RELEASE: Final = re.compile(r"20(?:2[4-9]|[3-9][0-9])-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])")

UNDETERMINED: Final = "undetermined"
"""The `profile` of a transcript whose traffic never named a revision: only version-neutral rules speak."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One pinned revision. `archived` profiles are read from old transcripts and never chosen for live traffic."""

    name: str
    revision: str
    normative: bool = True
    draft: bool = False
    archived: bool = False

    @property
    def has_sessions(self) -> bool:
        """Sessions, GET streams and resumption exist (transports#session-management up to 2025-11-25)."""
        return self.revision in SESSION_REVISIONS

    @property
    def is_modern(self) -> bool:
        """POST only, `_meta` on every request, no sessions (2026-07-28 on)."""
        return self.revision in MODERN_REVISIONS


PROFILES: Final[dict[str, Profile]] = {
    profile.name: profile
    for profile in (
        Profile("stable-2025-03-26", R2025_03_26),
        Profile("stable-2025-06-18", R2025_06_18),
        Profile("stable-2025-11-25", R2025_11_25),
        Profile("stable-2026-07-28", R2026_07_28),
        Profile("draft-2026-07-28", R2026_07_28, normative=False, draft=True, archived=True),
    )
}


def is_date_version(version: str) -> bool:
    """Written as every released version is (YYYY-MM-DD)."""
    return _DATE.fullmatch(version) is not None


def could_be_released(version: str) -> bool:
    """A date on which a revision can have been released: any of this century since the first, in 2024."""
    return _RELEASE.fullmatch(version) is not None


def is_modern_version(version: str) -> bool:
    """2026-07-28 or a later one: a version without `initialize`, sessions and GET, as far as is known today."""
    return is_date_version(version) and version >= MODERN_REVISIONS[0]


def profile_of_revision(revision: str) -> Profile | None:
    """The live profile of a protocol version as named on the wire, None for a version without a profile."""
    return PROFILES.get(f"stable-{revision}")
