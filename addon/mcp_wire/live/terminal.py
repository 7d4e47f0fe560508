"""What a person at a terminal reads while traffic runs: one line a finding, and at the end what came of it.

mitmweb and mitmproxy have the same lines in their event logs. Everything in them is redacted.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mcp_wire.judging.finding import LEVELS, Finding, Level
from mcp_wire.live.judge_messages import Finished, Message, Reported, Said
from mcp_wire.reports.words import counted, listed, printable

MAX_PHRASE: Final = 160
MAX_CODES: Final = 500
"""Codes that the summary tells apart; there are fewer rules."""
MAX_SUMMARY_LINES: Final = 20
NOTHING_SEEN: Final = (
    "No MCP exchange was seen, so nothing was judged. Did the client go through this proxy, and did the server answer?"
)

Log = Callable[[int, str], None]


class Terminal:
    """`log` takes a level of the `logging` module and a line. Never mitmproxy's error level: that means that mitmproxy
    itself has failed."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._found: Counter[tuple[Level, str, str]] = Counter()
        self._finished: Finished | None = None

    def hear(self, message: Message) -> None:
        """Say what the judge says, as far as it is for people."""
        match message:
            case Reported(finding):
                key = (finding.level, finding.code, finding.party)
                if key in self._found or len(self._found) < MAX_CODES:
                    self._found[key] += 1
                self._log(logging.INFO if finding.level == "info" else logging.WARNING, finding_line(message))
            case Said(level, sentence):
                self._log(level, sentence)
            case Finished():
                self._finished = message
            case _:
                pass

    def summary(self, folder: Path) -> None:
        """Everything is over: say what was seen and found, and which files there are now."""
        finished = self._finished
        if finished is None:
            return
        if not (finished.exchanges or self._found):
            self._log(logging.INFO, NOTHING_SEEN)
            return
        seen = f"{counted(finished.exchanges, 'MCP exchange')} in {counted(finished.conversations, 'conversation')}"
        self._log(logging.INFO, f"{seen}: {self._verdict()}.")
        ordered = sorted(self._found.items(), key=lambda item: (LEVELS.index(item[0][0]), -item[1], item[0][1]))
        for (level, code, party), count in ordered[:MAX_SUMMARY_LINES]:
            times = "" if count == 1 else f" ×{count}"
            self._log(logging.INFO, f"  {level} {code}{times} · {party}")
        if len(ordered) > MAX_SUMMARY_LINES:
            self._log(logging.INFO, f"  and {len(ordered) - MAX_SUMMARY_LINES} more")
        if finished.files:
            self._log(logging.INFO, f"Written to {printable(str(folder))}: {listed(finished.files)}.")

    def _verdict(self) -> str:
        counts: Counter[Level] = Counter()
        for (level, _, _), count in self._found.items():
            counts[level] += count
        parts = [
            counted(counts[level], level, "info" if level == "info" else None) for level in LEVELS if counts[level]
        ]
        return listed(parts) if parts else "no findings"


def finding_line(reported: Reported) -> str:
    """`error invalid_post_accept · POST tools/call, x-3 of <transcript> · client · <phrase>`."""
    finding = reported.finding
    where = ", ".join(part for part in (reported.what, _exchange(finding)) if part)
    if reported.transcript is not None:
        where += f" of {reported.transcript.rpartition('/')[2].removesuffix('.json')}"
    parts = (f"{finding.level} {finding.code}", where, finding.party, _phrase(finding.message))
    return printable(" · ".join(part.strip() for part in parts if part.strip()))


def _exchange(finding: Finding) -> str:
    return finding.exchange if finding.exchange is not None else finding.path


def _phrase(message: str) -> str:
    """The first sentence, if it is short."""
    first, stop, _ = message.partition(". ")
    phrase = f"{first}." if stop else message
    return phrase if len(phrase) <= MAX_PHRASE else f"{phrase[: MAX_PHRASE - 1]}…"
