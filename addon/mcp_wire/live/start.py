"""What the addon starts: the judge with its rules, the output folder, and a log line for every new finding."""

from __future__ import annotations

import logging
from typing import Final

from mcp_wire.live.observer import Observer, ObserverSettings, Reported
from mcp_wire.live.options import Settings
from mcp_wire.live.output import OutputFolder
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.rules import rules_of

logger: Final = logging.getLogger("mcp_conformance")


def open_observer(settings: Settings) -> Observer:
    """Raises OSError, with a sentence's middle as its `strerror`, where the output folder cannot be used."""
    rules = rules_of(extended=settings.extended)
    return Observer(
        ObserverSettings(rules, PROFILES[settings.profile] if settings.profile is not None else None),
        OutputFolder(settings.output, rules=rules, log=logger.warning),
        on_finding=_log_finding,
        log=logger.warning,
    )


def _log_finding(reported: Reported) -> None:
    """One line. Never at mitmproxy's error level, which means that mitmproxy itself has failed."""
    finding = reported.finding
    logger.log(
        logging.INFO if finding.level == "info" else logging.WARNING,
        "%s: %s (%s) at %s: %s",
        finding.level,
        finding.code,
        finding.party,
        finding.path,
        finding.message,
    )
