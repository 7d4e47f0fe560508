"""What the addon starts: the judge."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from mcp_wire.live.judge_messages import Message, Opening
from mcp_wire.live.judge_process import JUDGE, JudgeProcess
from mcp_wire.live.options import Settings

for package in ("pydantic", "mcp_types"):
    if find_spec(package) is None:
        # Only the judge's process imports them; that one is missing has to be said before it starts.
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def open_judge(settings: Settings, hear: Callable[[Message], None], *, module: str = JUDGE) -> JudgeProcess:
    """`hear` is told what the judge says.

    Raises OSError, with a sentence's middle as its `strerror`, where the output folder cannot be used.
    """
    return JudgeProcess(
        Opening(settings.output, settings.profile, settings.extended, settings.reports), hear, module=module
    )
