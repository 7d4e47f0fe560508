"""Tasks of 2025-11-25: what was negotiated, and how their states follow each other (basic/utilities/tasks)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Message
from mcp_wire.conversation.tasks import states_in
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.methods import Capability, declares
from mcp_wire.protocol.profiles import R2025_11_25
from mcp_wire.rules.reasons import CUT_BY_HAND
from mcp_wire.wire.evidence import Evidence

BOOK: Final = RuleBook("features")
rule = BOOK.rule

TASKS_FOR_TOOLS: Final = Capability("server", ("tasks", "requests", "tools", "call"))
TASKS_PAGE: Final = "basic/utilities/tasks"


@rule(
    "task_not_negotiated",
    level="error",
    party="client",
    layer="lifecycle",
    revisions=(R2025_11_25,),
    rule_set="extended",
    cites=f"{TASKS_PAGE}#tool-level-negotiation",
    says="A tool is called as a task exactly as the server's capabilities and its `execution.taskSupport` allow.",
    fix="Call as a task only where the server declares it and the tool says `optional` or `required`.",
    exceptions="The tool's own word counts only where its definition was delivered to this client in the capture.",
    evidence="The InitializeResult of the session, the tool's definition, and the call.",
    consequence_of=("client_used_undeclared_capability",),
)
def task_was_negotiated(message: Message, conversation: Conversation) -> Verdicts:
    call = message.call
    if message.sender != "client" or message.method != "tools/call" or call is None or conversation.legacy_transport:
        return
    session, as_task = message.exchange.session, "task" in message.params
    interface = conversation.interfaces.called_under(call)
    if session.server_capabilities is None or not conversation.is_one_client(session):
        if as_task:
            yield CannotTell("the capabilities of this session's server were not seen")
        return
    if not conversation.payloads_whole:
        yield CUT_BY_HAND
        return
    declared = declares(session.server_capabilities, TASKS_FOR_TOOLS)
    tool = (Evidence("name", message.params.get("name")),)
    path = message.exchange.request.body_path
    if as_task and not declared:
        yield Violated(
            path, "Tool {} was called as a task; the server did not declare tasks.requests.tools.call.", tool
        )
    elif interface is None:
        if as_task:
            yield CannotTell("the definition of the tool was not seen")
    elif as_task and interface.task_support not in ("optional", "required"):
        yield Violated(path, "Tool {} was called as a task, which its definition does not allow.", tool)
    elif not as_task and declared and interface.task_support == "required":
        yield Violated(path, "Tool {} was not called as a task, which its definition requires.", tool)
    else:
        yield SATISFIED


@rule(
    "task_status_invalid",
    level="error",
    party="either",
    layer="lifecycle",
    revisions=(R2025_11_25,),
    rule_set="extended",
    cites=f"{TASKS_PAGE}#task-status-lifecycle",
    says="A task begins as `working`, and what is completed, failed or cancelled stays so.",
    fix="Follow the state diagram; answer tasks/cancel for a finished task with -32602.",
    exceptions=(
        "A state contradicts an end only if it was asked for after the end had been seen: polls that cross may arrive "
        "in any order, and so may notifications. Between two polls states may be missed. So may they before the "
        "CreateTaskResult: a task may have begun as `working` and be over when its server says that it exists. That is "
        "no fault; only where `lastUpdatedAt` still is `createdAt` is it noted (info), since clocks may be coarse."
    ),
    evidence="The CreateTaskResult; or the end of the task, and a later question about it with its answer.",
)
def task_keeps_its_states(message: Message, conversation: Conversation) -> Verdicts:
    call = message.call
    if message.result is None or call is None or conversation.legacy_transport:
        return
    asked_for_task = "task" in call.request.params
    for task_id, status in states_in(message):
        end = conversation.tasks.end_before(call, task_id)
        if asked_for_task:
            yield from _beginning(message, status)
        elif end is None:
            continue
        elif status == end:
            yield SATISFIED
        else:
            yield Violated(
                message.path,
                f"A task that was {end} before has another state now.",
                party=message.sender,
                about="ended",
            )


def _beginning(message: Message, status: str) -> Verdicts:
    task = message.result.get("task") if message.result is not None else None
    created = task.get("createdAt") if isinstance(task, dict) else None
    updated = task.get("lastUpdatedAt") if isinstance(task, dict) else None
    if status == "working":
        yield SATISFIED
    elif created is None or created != updated:
        yield CannotTell("the task may have been working before its CreateTaskResult was sent")
    else:
        yield Violated(
            message.path,
            "A new task is not `working`, and by its own times has not changed since it was created.",
            level="info",
            party=message.sender,
        )
