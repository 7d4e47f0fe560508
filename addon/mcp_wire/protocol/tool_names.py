"""What the name of a tool should look like (2025-11-25 and 2026-07-28 server/tools#tool-names)."""

from __future__ import annotations

import re
from typing import Final

MAX_TOOL_NAME_LENGTH: Final = 128

_OTHER_CHARACTERS: Final = re.compile(r"[^A-Za-z0-9_.\-]")


def has_only_plain_characters(name: str) -> bool:
    """None but letters and digits of ASCII, `_`, `-` and `.`; true of an empty name."""
    return _OTHER_CHARACTERS.search(name) is None
