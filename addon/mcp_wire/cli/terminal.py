"""What the reader's terminal can show."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Final

from mcp_wire.reports.human_report import DEFAULT_WIDTH, PLAIN_STYLE, Style

NARROWEST: Final = 60


def style_for(output: str | None) -> Style:
    """Colours and the terminal's width where standard output is a terminal; plain text for files and pipes."""
    if output is not None or sys.stdout is None or not sys.stdout.isatty():
        return PLAIN_STYLE
    width = min(max(shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns, NARROWEST), DEFAULT_WIDTH)
    return Style(width, colour=not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")
