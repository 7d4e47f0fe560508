"""Faults of our own: each place said once, without the text of the exception, which may hold traffic."""

from __future__ import annotations

from typing import Final

MAX_FAULTS_SAID: Final = 16


class Faults:
    """Remembers which faults were said."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()

    def __bool__(self) -> bool:
        """Was there any?"""
        return bool(self._said)

    def sentence(self, problem: Exception) -> str | None:
        """What to say of it; None where it was said before, or enough was."""
        trace = problem.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = "" if trace is None else f"{trace.tb_frame.f_code.co_qualname}, line {trace.tb_lineno}"
        fault = (type(problem).__name__, place)
        if fault in self._said or len(self._said) >= MAX_FAULTS_SAID:
            return None
        self._said.add(fault)
        return f"observer_error: {fault[0]} in {place}; the traffic goes on, some evidence is lost."
