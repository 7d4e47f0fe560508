"""Which methods each revision defines, who may send them, and what goes with them.

Sources: schema/<revision>/schema.ts of the specification (the unions ClientRequest, ClientNotification, ServerRequest,
ServerNotification and, in 2026-07-28, InputRequest); for capabilities basic/lifecycle#capability-negotiation up to
2025-11-25, basic/versioning after it, and the page of each feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from mcp_wire.protocol.profiles import (
    ALL_REVISIONS,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
    SESSION_REVISIONS,
)
from mcp_wire.wire.strict_json import JsonValue

Party = Literal["client", "server"]
MethodKind = Literal["request", "notification"]


@dataclass(frozen=True, slots=True)
class Capability:
    """What must have been declared, and by whom: `owner` "server", path ("resources", "subscribe")."""

    owner: Party
    path: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Method:
    """One method as one party may send it in one revision.

    `capability`: None where none is needed.
    `result`: the schema's name of the result type; None for notifications.
    `paginated`: params may carry `cursor`, the result `nextCursor`.
    `cacheable`: a complete result carries `ttlMs` and `cacheScope` (2026-07-28 server/utilities/caching).
    `interim`: the result may be an InputRequiredResult (2026-07-28 basic/patterns#multi-round-trip-requests).
    `task_capability`: what lets the request be sent with `params.task`, answered by a CreateTaskResult
    (2025-11-25 basic/utilities/tasks); None where that does not exist.
    `name_member`: the member of params that `Mcp-Name` mirrors (2026-07-28); None where nothing is mirrored.
    """

    name: str
    kind: MethodKind
    sender: Party
    capability: Capability | None = None
    result: str | None = None
    paginated: bool = False
    cacheable: bool = False
    interim: bool = False
    task_capability: Capability | None = None
    name_member: str | None = None

    @property
    def receiver(self) -> Party:
        return other_party(self.sender)


def other_party(party: Party) -> Party:
    return "server" if party == "client" else "client"


def method_of(revision: str, sender: Party, name: str) -> Method | None:
    """The method as this party may send it in this revision; None where the revision's schema has no such message.

    2025-11-25 `tasks/*` are there; tasks in 2026-07-28 belong to an extension and are not.
    """
    return _METHODS.get((revision, sender, name))


def methods_of(revision: str) -> tuple[Method, ...]:
    """All of a revision, ordered by sender and name."""
    return tuple(method for (of, _, _), method in sorted(_METHODS.items()) if of == revision)


def is_defined_anywhere(name: str) -> bool:
    """Some pinned revision defines it, for some party. What none defines is an extension's or a vendor's own."""
    return name in _NAMES


def revisions_of(name: str, sender: Party | None = None) -> tuple[str, ...]:
    """The revisions that define the method (for this sender), oldest first."""
    return tuple(
        revision
        for revision in ALL_REVISIONS
        if any((revision, party, name) in _METHODS for party in _PARTIES if sender in (None, party))
    )


def required_capabilities(revision: str, sender: Party, name: str, params: JsonValue) -> tuple[Capability, ...]:
    """What this message needs declared, sub-flags that depend on its params included. () where nothing is needed."""
    method = method_of(revision, sender, name)
    if method is None:
        return ()
    needed = [] if method.capability is None else [method.capability]
    if isinstance(params, dict):
        if name in _INPUT_REQUESTS:
            needed.extend(_sub_capabilities(revision, name, params))
        if method.task_capability is not None and "task" in params:
            needed.append(method.task_capability)
    return tuple(needed)


def input_request_capabilities(name: str, params: JsonValue) -> tuple[Capability, ...]:
    """What the client must have declared for a member of `inputRequests` (2026-07-28); () for an unknown method."""
    capability = _INPUT_REQUESTS.get(name)
    if capability is None:
        return ()
    return (capability, *(_sub_capabilities(R2026_07_28, name, params) if isinstance(params, dict) else ()))


def declares(capabilities: JsonValue, capability: Capability) -> bool:
    """Do a party's declared capabilities hold this one? A flag counts only when true, an object when it is there.

    `elicitation: {}` means `elicitation.form` (2025-11-25 and 2026-07-28 client/elicitation#capabilities).
    """
    value: JsonValue = capabilities
    for step in capability.path:
        if not isinstance(value, dict):
            return False
        if capability.path == _FORM.path and step == "form" and not value:
            return True
        value = value.get(step)
    return value is True or isinstance(value, dict)


def _sub_capabilities(revision: str, name: str, params: dict[str, JsonValue]) -> list[Capability]:
    if revision not in (R2025_11_25, R2026_07_28):
        return []
    if name == "elicitation/create":
        return [_URL if params.get("mode") == "url" else _FORM]
    if name == "sampling/createMessage" and ("tools" in params or "toolChoice" in params):
        return [Capability("client", ("sampling", "tools"))]
    return []


_PARTIES: Final[tuple[Party, ...]] = ("client", "server")
_FORM: Final = Capability("client", ("elicitation", "form"))
_URL: Final = Capability("client", ("elicitation", "url"))
_INPUT_REQUESTS: Final = {
    "sampling/createMessage": Capability("client", ("sampling",)),
    "roots/list": Capability("client", ("roots",)),
    "elicitation/create": Capability("client", ("elicitation",)),
}

INPUT_REQUEST_METHODS: Final = frozenset(_INPUT_REQUESTS)
"""What a member of `inputRequests` may ask (2026-07-28 schema InputRequest)."""

LISTEN_FILTERS: Final = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
}
"""Notification -> the member of `subscriptions/listen`'s filter that asks for it (2026-07-28 SubscriptionFilter)."""

REQUEST_SCOPED_NOTIFICATIONS: Final = frozenset({"notifications/progress", "notifications/message"})
"""Belong to the stream of the request they are about, not to a listen stream (2026-07-28)."""

_METHODS: Final[dict[tuple[str, Party, str], Method]] = {}


def _server(*path: str) -> Capability:
    return Capability("server", path)


def _client(*path: str) -> Capability:
    return Capability("client", path)


def _request(
    name: str,
    sender: Party,
    revisions: tuple[str, ...],
    result: str,
    capability: Capability | None = None,
    *,
    paginated: bool = False,
    cacheable: bool = False,
    interim: bool = False,
    task_capability: Capability | None = None,
    name_member: str | None = None,
) -> None:
    for revision in revisions:
        modern = revision == R2026_07_28
        _METHODS[revision, sender, name] = Method(
            name,
            "request",
            sender,
            capability,
            result,
            paginated=paginated,
            cacheable=cacheable and modern,
            interim=interim and modern,
            task_capability=task_capability if revision == R2025_11_25 else None,
            name_member=name_member if modern else None,
        )


def _notification(name: str, sender: Party, revisions: tuple[str, ...], capability: Capability | None = None) -> None:
    for revision in revisions:
        _METHODS[revision, sender, name] = Method(name, "notification", sender, capability)


_ELICITATION_REVISIONS: Final = (R2025_06_18, R2025_11_25)
_TASK_REVISIONS: Final = (R2025_11_25,)
_MODERN: Final = (R2026_07_28,)

# Client requests
_request("initialize", "client", SESSION_REVISIONS, "InitializeResult")
_request("ping", "client", SESSION_REVISIONS, "EmptyResult")
_request("server/discover", "client", _MODERN, "DiscoverResult", cacheable=True)
_request("subscriptions/listen", "client", _MODERN, "SubscriptionsListenResult")
_request("completion/complete", "client", ALL_REVISIONS, "CompleteResult", _server("completions"))
_request("logging/setLevel", "client", SESSION_REVISIONS, "EmptyResult", _server("logging"))
_request(
    "prompts/get", "client", ALL_REVISIONS, "GetPromptResult", _server("prompts"), interim=True, name_member="name"
)
_request(
    "prompts/list", "client", ALL_REVISIONS, "ListPromptsResult", _server("prompts"), paginated=True, cacheable=True
)
_request(
    "resources/list",
    "client",
    ALL_REVISIONS,
    "ListResourcesResult",
    _server("resources"),
    paginated=True,
    cacheable=True,
)
_request(
    "resources/templates/list",
    "client",
    ALL_REVISIONS,
    "ListResourceTemplatesResult",
    _server("resources"),
    paginated=True,
    cacheable=True,
)
_request(
    "resources/read",
    "client",
    ALL_REVISIONS,
    "ReadResourceResult",
    _server("resources"),
    cacheable=True,
    interim=True,
    name_member="uri",
)
_request("resources/subscribe", "client", SESSION_REVISIONS, "EmptyResult", _server("resources", "subscribe"))
_request("resources/unsubscribe", "client", SESSION_REVISIONS, "EmptyResult", _server("resources", "subscribe"))
_request(
    "tools/call",
    "client",
    ALL_REVISIONS,
    "CallToolResult",
    _server("tools"),
    interim=True,
    task_capability=_server("tasks", "requests", "tools", "call"),
    name_member="name",
)
_request("tools/list", "client", ALL_REVISIONS, "ListToolsResult", _server("tools"), paginated=True, cacheable=True)

# Server requests. In 2026-07-28 they exist only inside an InputRequiredResult (INPUT_REQUEST_METHODS).
_request("ping", "server", SESSION_REVISIONS, "EmptyResult")
_request("roots/list", "server", SESSION_REVISIONS, "ListRootsResult", _client("roots"))
_request(
    "sampling/createMessage",
    "server",
    SESSION_REVISIONS,
    "CreateMessageResult",
    _client("sampling"),
    task_capability=_client("tasks", "requests", "sampling", "createMessage"),
)
_request(
    "elicitation/create",
    "server",
    _ELICITATION_REVISIONS,
    "ElicitResult",
    _client("elicitation"),
    task_capability=_client("tasks", "requests", "elicitation", "create"),
)

# Tasks: both parties may ask the one that runs the task, which is the one that must have declared it.
for _sender in _PARTIES:
    _runs: Party = other_party(_sender)
    _request("tasks/get", _sender, _TASK_REVISIONS, "GetTaskResult", Capability(_runs, ("tasks",)))
    _request("tasks/result", _sender, _TASK_REVISIONS, "GetTaskPayloadResult", Capability(_runs, ("tasks",)))
    _request(
        "tasks/list", _sender, _TASK_REVISIONS, "ListTasksResult", Capability(_runs, ("tasks", "list")), paginated=True
    )
    _request("tasks/cancel", _sender, _TASK_REVISIONS, "CancelTaskResult", Capability(_runs, ("tasks", "cancel")))
    _notification("notifications/tasks/status", _sender, _TASK_REVISIONS, Capability(_sender, ("tasks",)))

# Notifications
_notification("notifications/initialized", "client", SESSION_REVISIONS)
_notification("notifications/roots/list_changed", "client", SESSION_REVISIONS, _client("roots", "listChanged"))
_notification("notifications/cancelled", "client", ALL_REVISIONS)
_notification("notifications/cancelled", "server", ALL_REVISIONS)
_notification("notifications/progress", "client", SESSION_REVISIONS)
_notification("notifications/progress", "server", ALL_REVISIONS)
_notification("notifications/message", "server", ALL_REVISIONS, _server("logging"))
_notification("notifications/prompts/list_changed", "server", ALL_REVISIONS, _server("prompts", "listChanged"))
_notification("notifications/resources/list_changed", "server", ALL_REVISIONS, _server("resources", "listChanged"))
_notification("notifications/resources/updated", "server", ALL_REVISIONS, _server("resources", "subscribe"))
_notification("notifications/tools/list_changed", "server", ALL_REVISIONS, _server("tools", "listChanged"))
_notification("notifications/elicitation/complete", "server", (R2025_11_25,), _client("elicitation", "url"))
_notification("notifications/subscriptions/acknowledged", "server", _MODERN)

_NAMES: Final = frozenset(name for _, _, name in _METHODS)
