"""The names of the forms of a report, and of the files that a live run writes them to. Imports nothing."""

from __future__ import annotations

from typing import Final

FILE_NAMES: Final = {
    "human": "report.txt",
    "json": "report.json",
    "jsonl": "report.jsonl",
    "sarif": "report.sarif",
    "junit": "report.junit.xml",
    "markdown": "report.md",
    "html": "report.html",
    "har": "report.har",
}
