"""The states of tasks as they were seen (2025-11-25 basic/utilities/tasks#task-status-lifecycle)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from mcp_wire.conversation.bounded import BoundedTable, Memory
from mcp_wire.conversation.facts import Call, Message, Sender, Session
from mcp_wire.wire.strict_json import JsonValue

MAX_TASKS_REMEMBERED: Final = 4_096
MAX_QUESTIONS_REMEMBERED: Final = 4_096
TASKS: Final = Memory("tasks that came to their end", ("task_status_invalid",))
QUESTIONS: Final = Memory("unanswered questions after a task's state", ("task_status_invalid",))
TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})

_Task = tuple[Session, Sender, str]


@dataclass(frozen=True, slots=True)
class _Known:
    """The end that a task had come to when its state was asked for."""

    question: Call
    task_id: str
    end: str


@dataclass(slots=True)
class Tasks:
    """The end that each task was seen to have come to, and what of that was known when its state was asked for."""

    _ends: BoundedTable[_Task, str] = field(default_factory=lambda: BoundedTable(MAX_TASKS_REMEMBERED, memory=TASKS))
    _known: BoundedTable[Call, _Known] = field(
        default_factory=lambda: BoundedTable(
            MAX_QUESTIONS_REMEMBERED,
            is_done=lambda known: known.question.is_answered,
            done_is_spent=True,
            memory=QUESTIONS,
        )
    )

    def take(self, message: Message) -> None:
        """Learn from a message of either side."""
        if message.is_request and message.call is not None and (message.method or "").startswith("tasks/"):
            task_id = message.params.get("taskId")
            owner: Sender = "server" if message.sender == "client" else "client"
            if isinstance(task_id, str):
                end = self._ends.get((message.exchange.session, owner, task_id))
                if end is not None:
                    self._known.put(message.call, _Known(message.call, task_id, end))
            return
        for task_id, status in states_in(message):
            if status in TERMINAL:
                key = (message.exchange.session, message.sender, task_id)
                if key not in self._ends:
                    self._ends.put(key, status)

    def end_before(self, question: Call, task_id: str) -> str | None:
        """The end that the task had come to, as far as was seen, when its state was asked for."""
        known = self._known.get(question)
        return known.end if known is not None and known.task_id == task_id else None


def states_in(message: Message) -> Iterator[tuple[str, str]]:
    """Task ids and states that a result or a status notification tells."""
    if message.method == "notifications/tasks/status":
        yield from _state(message.params)
    if message.result is None or message.call is None:
        return
    if message.call.method in ("tasks/get", "tasks/cancel"):
        yield from _state(message.result)
    elif message.call.method == "tasks/list":
        tasks = message.result.get("tasks")
        for task in tasks if isinstance(tasks, list) else ():
            yield from _state(task)
    elif "task" in message.call.request.params:
        yield from _state(message.result.get("task"))


def _state(task: JsonValue) -> Iterator[tuple[str, str]]:
    if isinstance(task, dict):
        task_id, status = task.get("taskId"), task.get("status")
        if isinstance(task_id, str) and isinstance(status, str):
            yield task_id, status
