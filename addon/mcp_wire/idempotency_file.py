"""The file in which owners write down their idempotency decisions (docs/idempotency.md): text in, decisions out.

An entry may lack what it takes to be complete: that is not confirmed, and the advice says so. What is said has to be
well-formed, and fit to stand in reports that others get.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Final, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from mcp_wire.judging.idempotency import CONFIRMATIONS, MAX_ATTEMPTS, Decision
from mcp_wire.privacy.json_redaction import JsonRedaction
from mcp_wire.privacy.labels import is_label
from mcp_wire.privacy.redactor import Redactor
from mcp_wire.privacy.secret_search import secrets_in
from mcp_wire.privacy.secret_shapes import is_drawn_at_random
from mcp_wire.privacy.values import Values, looks_random
from mcp_wire.wire.json_complaints import complaint
from mcp_wire.wire.strict_json import JsonValue, read_json

MAX_FILE_OCTETS: Final = 1024 * 1024
MAX_TEXT: Final = 300
"""Characters of an owner, a rollback or a guard: they stand in every piece of advice."""
MAX_NAME: Final = 200
"""Characters of what a decision is about."""


class IdempotencyError(ValueError):
    """The text holds no decisions. The message says where and what should be there, in one clause, and repeats no
    value: what is wrong with it may be that it is a secret."""


def read_decisions(text: str | bytes) -> tuple[Decision, ...]:
    """The decisions in a file. Raises IdempotencyError."""
    if len(text) > MAX_FILE_OCTETS:
        raise IdempotencyError(f"it is larger than {MAX_FILE_OCTETS // 1024} KiB")
    reading = read_json(text)
    wrong = complaint(text, reading, "file of decisions")
    if wrong is not None:
        raise IdempotencyError(wrong)
    try:
        file = _File.model_validate(reading.value)
    except ValidationError as problem:
        raise IdempotencyError(_clause(problem.errors(include_url=False, include_input=False)[0])) from None
    decisions = tuple(map(_decision, file.decisions))
    seen: dict[tuple[str | None, ...], int] = {}
    for number, decision in enumerate(decisions):
        first = seen.setdefault(decision.about, number)
        if first != number:
            raise IdempotencyError(f"decisions/{number} is about the same as decisions/{first}")
    return decisions


# --- the form ---


_NO_FILE: Final = "it is no object with a list of decisions in `decisions`"
_WANTED: Final = {
    "string_type": "has to be text",
    "string_unicode": "has to be text",
    "bool_type": "has to be true or false",
    "int_type": f"has to be a whole number from 1 to {MAX_ATTEMPTS}",
    "model_type": "has to be an object",
}
_MEMBER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_ -]{0,39}")


def _clause(error: ErrorDetails) -> str:
    """What pydantic has to say, as a clause without the value."""
    *above, last = steps = [str(step) for step in error["loc"]] or [""]
    place = "/".join(steps)
    if error["type"] == "extra_forbidden":
        model = _Confirmations if above[-1:] == ["confirmations"] else _Entry if above else _File
        named = f"a member {last}" if _MEMBER.fullmatch(last) and not looks_random(last) else "a member"
        where = "/".join(above) or "it"
        return f"{where} has {named} that means nothing here; allowed are {', '.join(model.model_fields)}"
    if len(steps) == 1:
        return _NO_FILE
    return f"{place} {_WANTED.get(error['type'], error['msg'])}"


def _fault(wanted: str) -> PydanticCustomError:
    return PydanticCustomError("wanted", "{wanted}", {"wanted": wanted})


def _plain(value: str) -> str:
    value = value.strip()
    if len(value) > MAX_TEXT or not value.isprintable():
        raise _fault(f"has to be one line of text, of at most {MAX_TEXT} characters")
    if secrets_in(value) or any(map(is_drawn_at_random, value.split())):
        raise _fault("has something in it that looks like a secret; it stands in reports")
    return value


def _day(value: str) -> str:
    if value:
        try:
            is_day = date.fromisoformat(value).isoformat() == value
        except ValueError:
            is_day = False
        if not is_day:
            raise _fault("has to be a day, written YYYY-MM-DD")
    return value


def _attempts(value: int) -> int:
    if not 1 <= value <= MAX_ATTEMPTS:
        raise _fault(_WANTED["int_type"])
    return value


def _tool(value: str) -> str:
    if is_label(value):
        raise _fault("is a label, which is another tool in another transcript; name the exchange instead")
    if JsonRedaction(Values()).tool_name(value) != value:
        raise _fault("has to be the name of a tool that redaction leaves as it is; name the exchange instead")
    return value


def _server(value: str) -> str:
    members: dict[str, JsonValue] = {"server": {"name": value}}
    if not value or Redactor().redact_tuple(members) != members:
        raise _fault("has to be the name that the server gives itself in serverInfo, as reports have it")
    return value


def _name(value: str) -> str:
    if not value or len(value) > MAX_NAME or not value.isprintable():
        raise _fault(f"has to be a name of at most {MAX_NAME} characters")
    return value


def _file_name(value: str) -> str:
    if "/" in value or "\\" in value:
        raise _fault("has to be the name of the transcript's file, without its folder")
    return _name(value)


_Text = Annotated[StrictStr, AfterValidator(_plain)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Confirmations(_Form):
    no_duplicate_effect: StrictBool = False
    no_unseen_commit: StrictBool = False
    retry_policy_permits: StrictBool = False
    fresh_jsonrpc_id: StrictBool = False


class _Entry(_Form):
    tool: Annotated[StrictStr, AfterValidator(_tool)] = ""
    server: Annotated[StrictStr, AfterValidator(_server)] = ""
    exchange: Annotated[StrictStr, AfterValidator(_name)] = ""
    transcript: Annotated[StrictStr, AfterValidator(_file_name)] = ""
    owner: _Text = ""
    date: Annotated[StrictStr, AfterValidator(_day)] = ""
    confirmations: _Confirmations = _Confirmations()
    attempts: Annotated[StrictInt, AfterValidator(_attempts)] = 0
    rollback: _Text = ""
    duplicate_effect_guard: _Text = ""

    @model_validator(mode="after")
    def _is_about_one_thing(self) -> Self:
        if bool(self.tool) == bool(self.exchange):
            raise _fault("has to name a tool or an exchange, one of the two")
        if self.server and not self.tool:
            raise _fault("names a server, which goes with a tool only")
        if self.transcript and not self.exchange:
            raise _fault("names a transcript, which goes with an exchange only")
        if self.exchange and not self.transcript:
            raise _fault("has to name the transcript of its exchange: an id is unique in one transcript only")
        return self


class _File(_Form):
    decisions: list[_Entry]


def _decision(entry: _Entry) -> Decision:
    said = entry.confirmations
    return Decision(
        tool=entry.tool or None,
        server=entry.server or None,
        exchange=entry.exchange or None,
        transcript=entry.transcript or None,
        owner=entry.owner,
        date=entry.date,
        confirmations=frozenset(name for name in CONFIRMATIONS if getattr(said, name)),
        attempts=entry.attempts,
        rollback=entry.rollback,
        duplicate_effect_guard=entry.duplicate_effect_guard,
    )
