"""How mitmproxy's process ends where the record of a run is incomplete: not with 0, as though all was well.

mitmproxy has no way to ask for an exit code: an exception out of the hook `done` would keep the addons behind from
saving what they hold. So the code is set when its own main function has returned and nothing is left to be done.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Any, Final

INCOMPLETE: Final = 2
"""As for `mcp-conformance`: there is no verdict that anybody could rely on."""

_MAIN: Final = "mitmproxy.tools.main"

_reasons: list[str] = []
"""Of this process, not of an addon: mitmproxy makes a new addon each time that the script is loaded again."""


def end_incomplete(reason: str) -> None:
    """Once mitmproxy is through, say this on standard error and exit with INCOMPLETE; the first reason counts.

    Does nothing where the master is part of another program: that decides itself how it ends.
    """
    main = next(filter(_is_main, asyncio.all_tasks()), None)
    if main is not None:
        _reasons.append(reason)
        if len(_reasons) == 1:
            main.add_done_callback(_exit)


def _is_main(task: asyncio.Task[Any]) -> bool:
    frame = getattr(task.get_coro(), "cr_frame", None)
    return frame is not None and frame.f_globals.get("__name__") == _MAIN


def _exit(main: asyncio.Task[Any]) -> None:
    if main.cancelled() or main.exception() is not None:
        return  # it ends with a code of its own
    with contextlib.suppress(OSError, ValueError):
        print(f"mcp_conformance.py: {_reasons[0]} Exit code {INCOMPLETE}.", file=sys.stderr, flush=True)
    raise SystemExit(INCOMPLETE)
