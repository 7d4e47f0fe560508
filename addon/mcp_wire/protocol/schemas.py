"""The shape of message payloads, judged by `mcp-types`, corrected by `schema_errata`.

Only shapes: what a page of the specification says beyond the schema is the business of rules. The envelope (`jsonrpc`,
`id`, `method`) is not judged here either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import mcp_types.methods as official
from pydantic import BaseModel, TypeAdapter, ValidationError

from mcp_wire.protocol.meta_keys import META_CLIENT_INFO, META_SERVER_INFO
from mcp_wire.protocol.methods import Party, method_of
from mcp_wire.protocol.profiles import R2025_11_25, R2026_07_28
from mcp_wire.protocol.schema_errata import (
    LATER_LISTS,
    LATER_MEMBERS,
    LATER_OPTIONAL,
    LATER_SHAPES,
    SCALAR_VALUES,
    is_before,
)
from mcp_wire.wire.jsonrpc import Envelope
from mcp_wire.wire.strict_json import MISSING, JsonValue, LongInteger

MAX_FAULTS: Final = 20
"""Faults reported for one message."""

MAX_NODES: Final = 20_000
"""Values inside one payload (free-form parts apart) up to which it is judged whole; see `_shortened`."""

MAX_COMPLAINTS: Final = 5_000
"""Complaints of the validator that are looked through for one message."""

SHORT_LIST: Final = 50
"""Items that are judged of each list of an oversized payload."""

CLOSED_VOCABULARIES: Final[Mapping[str, frozenset[str]]] = {
    member: frozenset(words.split())
    for member, words in {
        "action": "accept cancel decline",
        "audience": "assistant user",
        "cacheScope": "private public",
        "format": "date date-time email uri",
        "includeContext": "allServers none thisServer",
        "io.modelcontextprotocol/logLevel": "alert critical debug emergency error info notice warning",
        "level": "alert critical debug emergency error info notice warning",
        "mode": "auto form none required url",
        "resultType": "complete input_required",
        "role": "assistant user",
        "status": "cancelled completed failed input_required working",
        "taskSupport": "forbidden optional required",
        "theme": "dark light",
        "type": "array audio boolean image integer number object ref/prompt ref/resource resource resource_link "
        "string text tool_result tool_use",
    }.items()
}
"""Member -> the words that the schemas allow there. Redaction has to keep these words, or the verdict changes; any
other string in such a member has to become one that is not among them."""

BOUNDED_NUMBERS: Final = frozenset({"priority", "costPriority", "speedPriority", "intelligencePriority", "ttlMs"})
"""Members whose number is compared with a bound (0..1; ttlMs from 0 on): redaction has to keep the number."""


VALUED_MEMBERS: Final = frozenset({*CLOSED_VOCABULARIES, *BOUNDED_NUMBERS, "method"})
"""Members of which the schema asks for more than a type. (Of lists it may also ask for a length.)"""

MAX_SHAPES_REMEMBERED: Final = 4_096
MAX_SHAPE: Final = 128
"""Names, types and values in a shape that is remembered."""
MAX_SHAPE_TEXT: Final = 64
"""Characters of a name or value in it."""


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """One place where a payload differs from the schema.

    `pointer`: JSON pointer from the message's root; a member name that is data, not schema, is `*`.
    `reason`: a predicate without any value of the message ("is not a string").
    `code`: the finding that has this very fault for its subject, None where `invalid_message_schema` is the only one.
    """

    pointer: str
    reason: str
    code: str | None = None


def can_judge(revision: str, sender: Party, envelope: Envelope, request_method: str | None = None) -> bool:
    """Is there a schema for this message? Not for unknown methods, extensions, tasks and error responses."""
    return _subject(revision, sender, envelope, request_method) is not None


def check_message(
    revision: str, sender: Party, envelope: Envelope, request_method: str | None = None
) -> list[SchemaFault]:
    """The schema faults of one message, in document order; [] also where `can_judge` says False.

    `sender` sent this message. `request_method` is the method of the request that a response answers.
    """
    shape = _shape_of(envelope)
    kind = (revision, sender, envelope.kind, envelope.method or request_method, envelope.id_present, shape)
    if shape is not None and kind in _KNOWN_SOUND:
        return []
    faults = _faults_of(revision, sender, envelope, request_method)
    if shape is not None and not faults:
        if len(_KNOWN_SOUND) >= MAX_SHAPES_REMEMBERED:
            _KNOWN_SOUND.clear()
        _KNOWN_SOUND.add(kind)
    return faults


def _faults_of(revision: str, sender: Party, envelope: Envelope, request_method: str | None) -> list[SchemaFault]:
    subject = _subject(revision, sender, envelope, request_method)
    if subject is None:
        return []
    faults: dict[SchemaFault, None] = {}
    if subject.lacks_id:
        faults[SchemaFault("/id", _REASONS["missing"])] = None
    for part in (subject, *_identity_of_server(subject, revision)):
        for steps, reason in _differences(part, revision):
            pointer = part.prefix + "".join("/" + step.shown for step in steps if step.kind != "arm")
            faults[SchemaFault(pointer, reason, _own_code(pointer, reason, revision, envelope))] = None
            if len(faults) == MAX_FAULTS:
                return list(faults)
    return list(faults)


# --- shapes that were found without fault ---

_KNOWN_SOUND: Final[set[tuple[object, ...]]] = set()
"""Most messages of a stream differ from one before in nothing that the schema asks for."""


def _shape_of(envelope: Envelope) -> tuple[object, ...] | None:
    """Equal for payloads that the schema cannot tell apart; None where a payload is too large to be remembered.

    The schema asks for the names and types of members, and for the value where that is one of a few words or numbers.
    """
    content = envelope.result if envelope.kind == "response" else envelope.params
    if content is MISSING:
        return ()
    shape: list[object] = []
    return tuple(shape) if _describe(content, "", shape) else None


def _describe(value: JsonValue, name: str, shape: list[object]) -> bool:
    kind = type(value)
    shape.append(kind)
    if len(shape) > MAX_SHAPE:
        return False
    if isinstance(value, dict):
        for member, item in value.items():
            if len(member) > MAX_SHAPE_TEXT:
                return False
            shape.append(member)
            if not _describe(item, member, shape):
                return False
        shape.append(None)
    elif isinstance(value, list):
        if not all(_describe(item, name, shape) for item in value):
            return False
        shape.append(None)
    elif name in VALUED_MEMBERS:
        if isinstance(value, str) and len(value) > MAX_SHAPE_TEXT:
            return False
        shape.append(value)
    return True


# --- which schema ---


@dataclass(frozen=True, slots=True)
class _Subject:
    annotation: Any
    payload: JsonValue
    prefix: str
    lacks_id: bool = False


def _subject(revision: str, sender: Party, envelope: Envelope, request_method: str | None) -> _Subject | None:
    if envelope.kind in ("request", "notification"):
        return _message_subject(revision, sender, envelope)
    if envelope.kind == "response" and request_method is not None:
        return _result_subject(revision, sender, envelope.result, request_method)
    return None


def _message_subject(revision: str, sender: Party, envelope: Envelope) -> _Subject | None:
    key = (envelope.method or "", revision)
    requests, notifications = (
        (official.CLIENT_REQUESTS, official.CLIENT_NOTIFICATIONS)
        if sender == "client"
        else (official.SERVER_REQUESTS, official.SERVER_NOTIFICATIONS)
    )
    # The envelope is given, so that only params are judged.
    payload: dict[str, JsonValue] = {"jsonrpc": "2.0", "method": envelope.method}
    model = notifications.get(key)
    is_request = model is None
    if is_request:
        model = requests.get(key)
        payload["id"] = 0
    if model is None:
        return None
    if envelope.params is not MISSING:
        payload["params"] = envelope.params
    return _Subject(model, payload, "", lacks_id=is_request and not envelope.id_present)


def _result_subject(revision: str, sender: Party, result: Any, request_method: str) -> _Subject | None:
    results = official.SERVER_RESULTS if sender == "server" else official.CLIENT_RESULTS
    annotation: Any = results.get((request_method, revision))
    if annotation is None:
        return None
    if isinstance(result, dict):
        if revision == R2026_07_28:
            result_type = result.get("resultType")
            if isinstance(result_type, str) and result_type not in CLOSED_VOCABULARIES["resultType"]:
                return None  # an extension's result
            arm = _arm_of_result(annotation, result_type == "input_required")
            if arm is None:
                return None  # input_required where it cannot be: another finding
            annotation = arm
        else:
            asked = method_of(revision, "client" if sender == "server" else "server", request_method)
            if asked is not None and asked.task_capability is not None and "task" in result:
                return None  # a CreateTaskResult
    return _Subject(annotation, result, "/result")


def _arm_of_result(annotation: Any, interim: bool) -> Any:
    arms = _arms(annotation)
    for arm in arms:
        if (arm.__name__ == "InputRequiredResult") is interim:
            return arm
    return None


def _identity_of_server(subject: _Subject, revision: str) -> Iterator[_Subject]:
    meta = subject.payload.get("_meta") if isinstance(subject.payload, dict) else None
    if revision == R2026_07_28 and subject.prefix and isinstance(meta, dict) and META_SERVER_INFO in meta:
        prefix = f"{subject.prefix}/_meta/{_Step('member', META_SERVER_INFO).shown}"
        yield _Subject(_implementation(), meta[META_SERVER_INFO], prefix)


@cache
def _implementation() -> Any:
    """The class of a party's identity. mcp-types does not export it, so it is taken from where requests have it."""
    annotation: Any = official.CLIENT_REQUESTS["server/discover", R2026_07_28]
    for name in ("params", "_meta", META_CLIENT_INFO):
        annotation = _arms(_members(annotation)[name].annotation)[0]
    return annotation


# --- how a payload differs from it ---


@dataclass(frozen=True, slots=True)
class _Step:
    """One step into a payload: a `member` that the schema defines, a `key` of a map, an `index`, or an `arm` of a union
    (which is no step into the data)."""

    kind: Literal["member", "key", "index", "arm"]
    name: str
    owner: str = field(default="", compare=False)

    @property
    def shown(self) -> str:
        if self.kind == "key":
            return "*"
        return self.name.replace("~", "~0").replace("/", "~1")


_Path = tuple[_Step, ...]


@dataclass(frozen=True, slots=True)
class _Complaint:
    steps: _Path
    type: str
    reason: str
    counts: bool


_REASONS: Final = {
    "missing": "required member is missing",
    "string_type": "is not a string",
    "int_type": "is not a number",
    "float_type": "is not a number",
    "bool_type": "is not a boolean",
    "list_type": "is not an array",
    "dict_type": "is not an object",
    "model_type": "is not an object",
    "literal_error": "is none of the allowed values",
    "greater_than_equal": "is below the allowed range",
    "less_than_equal": "is above the allowed range",
    "too_long": "has too many items",
}
_NO_SHAPE: Final = "fits none of the allowed shapes"
_NULL: Final = "is null, where the member may only be left out"
_WRONG_KIND: Final = frozenset({"model_type", "dict_type", "list_type"})
_DISCRIMINATORS: Final = frozenset({"type", "mode", "method"})


def _differences(subject: _Subject, revision: str) -> Iterator[tuple[_Path, str]]:
    payload = subject.payload
    if not _is_within(payload, MAX_NODES):
        payload = _shortened(payload)
        if not _is_within(payload, MAX_NODES):
            return
    adapter = _adapter(subject.annotation)
    try:
        value = adapter.validate_python(payload, strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        if error.error_count() > MAX_COMPLAINTS:
            try:
                adapter.validate_python(_shortened(payload), strict=True, by_alias=True, by_name=False)
                return
            except ValidationError as shorter:
                error = shorter
                if error.error_count() > MAX_COMPLAINTS:
                    return
        complaints = [
            _complaint(subject.annotation, details, revision)
            for details in error.errors(include_url=False, include_context=False)
        ]
        for complaint in _reduced(complaints, 0):
            yield complaint.steps, complaint.reason
    else:
        yield from _leniencies(value, revision)


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)


_FREE_FORM: Final = frozenset({"arguments", "structuredContent", "data", "input", "metadata"})


def _is_within(payload: JsonValue, nodes: int) -> bool:
    """Are there at most so many values in it, not counting free-form parts, in which nothing can be wrong?"""
    pending: list[JsonValue] = [payload]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            nodes -= len(value)
            if nodes < 0:
                return False
            for name, item in value.items():
                if isinstance(item, list) or (isinstance(item, dict) and name not in _FREE_FORM):
                    pending.append(item)
        elif isinstance(value, list):
            nodes -= len(value)
            if nodes < 0:
                return False
            pending.extend(item for item in value if isinstance(item, dict | list))
    return True


def _shortened(payload: JsonValue) -> JsonValue:
    """The payload with its lists (its own and those of its params) cut, so that a huge message costs what a small one
    costs. What is cut off is not judged."""
    if not isinstance(payload, dict):
        return payload
    short: dict[str, JsonValue] = {}
    for name, value in payload.items():
        if isinstance(value, list):
            short[name] = value[:SHORT_LIST]
        elif isinstance(value, dict) and name == "params":
            short[name] = {key: item[:SHORT_LIST] if isinstance(item, list) else item for key, item in value.items()}
        else:
            short[name] = value
    return short


def _complaint(annotation: Any, details: Any, revision: str) -> _Complaint:
    steps = _steps(annotation, details["loc"])
    kind: str = details["type"]
    given = details["input"]
    is_number = isinstance(given, float | LongInteger)
    counts = not (
        (is_number and kind in ("int_type", "float_type"))
        or kind == "string_unicode"
        or any(is_before(revision, LATER_MEMBERS.get((step.owner, step.name))) for step in steps)
    )
    return _Complaint(steps, kind, _REASONS.get(kind, "does not match the schema"), counts)


def _steps(annotation: Any, loc: tuple[int | str, ...]) -> _Path:
    """Read a complaint's location with the schema at hand: of itself it does not tell names in the schema from names in
    the data, nor either from arms of a union."""
    steps: list[_Step] = []
    for item in loc:
        arms = _arms(annotation)
        if len(arms) > 1:
            steps.append(_Step("arm", str(item)))
            annotation = next((arm for arm in arms if _is_tag(arm, str(item))), Any)
            continue
        annotation = arms[0]
        if isinstance(item, int):
            steps.append(_Step("index", str(item)))
            annotation = next(iter(get_args(annotation)), Any)
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
            owner = annotation.__name__
            member = _members(annotation).get(item)
            steps.append(_Step("key", item) if member is None else _Step("member", item, owner))
            annotation = Any if member is None else member.annotation
        else:
            steps.append(_Step("key", item))
            annotation = get_args(annotation)[1] if get_origin(annotation) is dict else Any
    return tuple(steps)


def _arms(annotation: Any) -> list[Any]:
    """The alternatives of a union, null apart; the annotation itself where it is none."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) not in (Union, UnionType):
        return [annotation]
    return [arm for part in get_args(annotation) if part is not type(None) for arm in _arms(part)] or [annotation]


def _is_tag(arm: Any, tag: str) -> bool:
    origin = get_origin(arm)
    if origin in (list, dict):
        return tag.startswith(f"{origin.__name__}[")
    return bool(getattr(arm, "__name__", None) == tag)


def _reduced(complaints: list[_Complaint], depth: int) -> list[_Complaint]:
    """Leave out what does not count, and of each union all but what says best why no arm of it fits."""
    kept: list[_Complaint] = []
    groups: dict[_Step, list[_Complaint]] = {}
    for complaint in complaints:
        if len(complaint.steps) == depth:
            if complaint.counts:
                kept.append(complaint)
        else:
            groups.setdefault(complaint.steps[depth], []).append(complaint)
    arms = [_reduced(group, depth + 1) for step, group in groups.items() if step.kind == "arm"]
    if arms:
        return kept + _why_no_arm_fits(arms, depth)
    for group in groups.values():
        kept.extend(_reduced(group, depth + 1))
    return kept


def _why_no_arm_fits(arms: list[list[_Complaint]], depth: int) -> list[_Complaint]:
    if not all(arms):
        return []
    shared = set.intersection(*({(c.steps[depth + 1 :], c.type) for c in arm} for arm in arms))
    if shared:
        return [c for c in arms[0] if (c.steps[depth + 1 :], c.type) in shared]
    ranked = sorted(arms, key=lambda arm: _distance(arm, depth))
    best = _distance(ranked[0], depth)
    if best[0] or (len(ranked) > 1 and _distance(ranked[1], depth) == best):
        return [_Complaint(ranked[0][0].steps[:depth], "no_shape", _NO_SHAPE, True)]
    return ranked[0]


def _distance(arm: list[_Complaint], depth: int) -> tuple[int, int]:
    """How far a value is from an arm: first whether it says itself to be another, then what is wrong with it."""
    another = sum(
        (len(c.steps) == depth + 1 and c.type in _WRONG_KIND)
        or (len(c.steps) == depth + 2 and c.type == "literal_error" and c.steps[-1].name in _DISCRIMINATORS)
        for c in arm
    )
    return another, len(arm)


# --- what mcp-types lets pass ---


@dataclass(frozen=True, slots=True)
class _Member:
    attribute: str
    annotation: Any
    takes_null: bool
    holds_models: bool


@cache
def _members(model: type[BaseModel]) -> dict[str, _Member]:
    """The members of a class by their names on the wire."""
    return {
        info.alias or attribute: _Member(
            attribute,
            info.annotation,
            takes_null=info.is_required() or Any in _arms(info.annotation),
            holds_models=_holds_models(info.annotation),
        )
        for attribute, info in model.model_fields.items()
    }


def _holds_models(annotation: Any) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return True
    return any(_holds_models(part) for part in get_args(annotation))


def _leniencies(value: Any, revision: str) -> Iterator[tuple[_Path, str]]:
    """Walk a validated payload, whose classes tell which arm of each union was taken."""
    pending: list[tuple[Any, _Path]] = [(value, ())]
    while pending:
        item, steps = pending.pop()
        if isinstance(item, BaseModel):
            yield from _leniencies_of(item, steps, revision, pending)
        elif isinstance(item, list):
            pending.extend((part, (*steps, _Step("index", str(i)))) for i, part in reversed(list(enumerate(item))))
        elif isinstance(item, dict):
            pending.extend((part, (*steps, _Step("key", str(key)))) for key, part in reversed(list(item.items())))


def _leniencies_of(
    item: BaseModel, steps: _Path, revision: str, pending: list[tuple[Any, _Path]]
) -> Iterator[tuple[_Path, str]]:
    owner = type(item).__name__
    first, member_at_fault = LATER_SHAPES.get(owner, (None, ""))
    if is_before(revision, first):
        reason = _REASONS["literal_error" if member_at_fault == "type" else "missing"]
        yield (*steps, _Step("member", member_at_fault, owner)), reason
    present = item.model_fields_set
    inside: list[tuple[Any, _Path]] = []
    for watched in _watched(type(item), revision):
        if watched.attribute not in present:
            if watched.is_required:
                yield (*steps, watched.step), _REASONS["missing"]
            continue
        content = getattr(item, watched.attribute)
        if content is None:
            if not watched.takes_null:
                yield (*steps, watched.step), _NULL
        elif watched.takes_no_list and isinstance(content, list):
            yield (*steps, watched.step), _REASONS["model_type"]
        elif watched.holds_scalars is not None and isinstance(content, dict):
            if any(part is None or (watched.holds_scalars and isinstance(part, list)) for part in content.values()):
                yield (*steps, watched.step, _Step("key", "")), _NO_SHAPE
        elif watched.holds_models:
            inside.append((content, (*steps, watched.step)))
    pending.extend(reversed(inside))


@dataclass(frozen=True, slots=True)
class _Watched:
    """What may be amiss with a member although the model took it. `holds_scalars`: None where the member is no map of
    plain values, else whether lists are excluded from it."""

    attribute: str
    step: _Step
    is_required: bool
    takes_null: bool
    takes_no_list: bool
    holds_scalars: bool | None
    holds_models: bool


@cache
def _watched(model: type[BaseModel], revision: str) -> tuple[_Watched, ...]:
    owner = model.__name__
    found = []
    for name, member in _members(model).items():
        key = (owner, name)
        if not is_before(revision, LATER_MEMBERS.get(key)):
            found.append(
                _Watched(
                    member.attribute,
                    _Step("member", name, owner),
                    is_required=is_before(revision, LATER_OPTIONAL.get(key)),
                    takes_null=member.takes_null,
                    takes_no_list=is_before(revision, LATER_LISTS.get(key)),
                    holds_scalars=is_before(revision, SCALAR_VALUES[key]) if key in SCALAR_VALUES else None,
                    holds_models=member.holds_models,
                )
            )
    return tuple(found)


# --- which finding a fault belongs to ---

_OWN_CODES: Final[Mapping[str, str]] = {
    "/params/_meta/progressToken": "progress_token_invalid",
    "/result/tools/*/inputSchema": "tool_definition_invalid",
    "/result/tools/*/inputSchema/type": "tool_definition_invalid",
}
_OWN_CODES_2026: Final[Mapping[str, str]] = {
    **_OWN_CODES,
    "/params/_meta/io.modelcontextprotocol~1protocolVersion": "body_version_mismatch",
    "/params/_meta/io.modelcontextprotocol~1clientCapabilities": "client_capabilities_missing",
    "/params/_meta/io.modelcontextprotocol~1subscriptionId": "subscription_id_mismatch",
    "/result/_meta/io.modelcontextprotocol~1subscriptionId": "subscription_id_mismatch",
    "/result/resultType": "result_type_invalid",
    "/result/ttlMs": "cache_hints_invalid",
    "/result/cacheScope": "cache_hints_invalid",
    "/result/inputRequests/*/method": "input_request_invalid_method",
}


_IN_A_TOOLS_SCHEMA: Final = re.compile(r"/result/tools/[0-9]+/(?:inputSchema|outputSchema)/")


def _own_code(pointer: str, reason: str, revision: str, envelope: Envelope) -> str | None:
    if pointer == "/params" and "params_type" in envelope.faults:
        return "invalid_jsonrpc_body"
    if not is_before(revision, R2025_11_25) and _IN_A_TOOLS_SCHEMA.match(pointer):
        return "tool_definition_invalid"
    if revision != R2026_07_28:
        return _OWN_CODES.get(_pattern(pointer))
    if envelope.kind == "request" and pointer in ("/params", "/params/_meta") and reason == _REASONS["missing"]:
        return "body_version_mismatch"
    if pointer == "/result/_meta" and reason == _REASONS["missing"]:
        return "subscription_id_mismatch"  # only a listen result has to have it
    return _OWN_CODES_2026.get(_pattern(pointer))


def _pattern(pointer: str) -> str:
    return "/".join("*" if part.isdigit() else part for part in pointer.split("/"))
