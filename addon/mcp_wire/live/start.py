"""What the addon starts: the judge, and a log line for everything that it says."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import Final

from mcp_wire.live.judge_messages import Message, Opening, Reported, Said
from mcp_wire.live.judge_process import JUDGE, JudgeProcess
from mcp_wire.live.options import Settings

logger: Final = logging.getLogger("mcp_conformance")

for package in ("pydantic", "mcp_types"):
    if find_spec(package) is None:
        # Only the judge's process imports them; that one is missing has to be said before it starts.
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def open_judge(settings: Settings, *, module: str = JUDGE) -> JudgeProcess:
    """Raises OSError, with a sentence's middle as its `strerror`, where the output folder cannot be used."""
    return JudgeProcess(
        Opening(settings.output, settings.profile, settings.extended, settings.reports), hear, module=module
    )


def hear(message: Message) -> None:
    """Log what the judge says. Never at mitmproxy's error level, which means that mitmproxy itself has failed."""
    match message:
        case Reported(finding):
            logger.log(
                logging.INFO if finding.level == "info" else logging.WARNING,
                "%s: %s (%s) at %s: %s",
                finding.level,
                finding.code,
                finding.party,
                finding.path,
                finding.message,
            )
        case Said(level, sentence):
            logger.log(level, sentence)
        case _:
            pass
