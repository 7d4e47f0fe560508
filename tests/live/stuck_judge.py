"""A judge that takes nothing, for ever. A module for JudgeProcess."""

from __future__ import annotations

import sys
import time
from typing import NoReturn

from mcp_wire.live.judge_messages import Opened, framed


def main() -> NoReturn:
    sys.stdout.buffer.write(framed(Opened()))
    sys.stdout.buffer.flush()
    while True:
        time.sleep(60)
