"""Command line parsing with one line of complaint and exit code 2, which is what scripts can rely on."""

from __future__ import annotations

import argparse
from typing import NoReturn

from mcp_wire.cli.streams import UsageError


class OneLineParser(argparse.ArgumentParser):
    """Raises UsageError instead of printing its usage."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{' '.join(message.split())} (try {self.prog} --help)")
