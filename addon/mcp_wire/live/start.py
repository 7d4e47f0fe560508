"""What the addon starts: the judge."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from mcp_wire.judging.idempotency import Decision
from mcp_wire.live.judge_messages import Message, Opening
from mcp_wire.live.judge_process import JUDGE, JudgeProcess
from mcp_wire.live.options import BadOption, Settings
from mcp_wire.reports.words import printable

for package in ("pydantic", "mcp_types"):
    if find_spec(package) is None:
        # Only the judge's process imports them; that one is missing has to be said before it starts.
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def open_judge(settings: Settings, hear: Callable[[Message], None], *, module: str = JUDGE) -> JudgeProcess:
    """`hear` is told what the judge says.

    Raises OSError, with a sentence's middle as its `strerror`, where the output folder cannot be used, and BadOption
    where the file of idempotency decisions cannot.
    """
    decisions = None if settings.idempotency is None else _decisions(settings.idempotency)
    opening = Opening(
        settings.output,
        settings.profile,
        settings.extended,
        settings.reports,
        redact_names=settings.redact_names,
        tuple_words=settings.tuple_words,
        decisions=decisions,
    )
    return JudgeProcess(opening, hear, module=module)


def _decisions(file: Path) -> tuple[Decision, ...]:
    # Imported when it is needed: it brings what redacts, which takes half a second.
    from mcp_wire.idempotency_file import MAX_FILE_OCTETS, IdempotencyError, read_decisions

    try:
        if file.exists() and not file.is_file():
            raise IdempotencyError("it is no file")
        with file.open("rb") as opened:
            return read_decisions(opened.read(MAX_FILE_OCTETS + 1))
    except OSError as problem:
        why = f"it cannot be read ({problem.strerror or type(problem).__name__})"
    except IdempotencyError as problem:
        why = str(problem)
    raise BadOption(
        f"mcp_idempotency={printable(str(file))} is refused: {why}; allowed is a file as docs/idempotency.md tells."
    )
