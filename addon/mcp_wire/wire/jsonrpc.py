"""JSON-RPC 2.0 envelopes: what a JSON value is as a message, and what is wrong with it.

The kind follows from the members that are there, so that judging goes on past a fault; `faults` says what is wrong.
Sources: JSON-RPC 2.0 sections 4-6, and the MCP specification's basic/index#messages, which narrows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from mcp_wire.wire.records import record
from mcp_wire.wire.strict_json import MISSING, JsonValue, LongInteger, Missing, canonical, is_integer

Kind = Literal["request", "notification", "response", "error_response", "batch", "invalid"]

EnvelopeFault = Literal[
    "not_an_object",
    "jsonrpc_version",
    "method_type",
    "params_type",
    "params_array",
    "id_null",
    "id_fractional",
    "id_type",
    "id_absent",
    "method_and_response",
    "both_result_and_error",
    "neither",
    "result_type",
    "error_shape",
    "error_code",
    "error_message",
]
"""What can be wrong.

`params_array`, `id_null`, `id_fractional` and `result_type` (a result that is no object) are legal JSON-RPC and break
MCP alone. `id_absent`: a result without id. `neither`: no method, result or error. `error_shape`: no object;
`error_code`: absent or no integer; `error_message`: absent or no string.
"""

_LEGAL_JSON_RPC: Final[frozenset[EnvelopeFault]] = frozenset(
    {"params_array", "id_null", "id_fractional", "result_type"}
)

OptionalValue = JsonValue | Literal[Missing.MISSING]


@record
class Envelope:
    """One message, or one batch of them.

    `id`, `params`, `result`, `error` are MISSING when the member is absent. `method` is None when absent or no string.
    `members` are the envelopes of a batch, () otherwise. A batch inside a batch is `invalid`.
    """

    kind: Kind
    value: JsonValue
    id: OptionalValue = MISSING
    method: str | None = None
    params: OptionalValue = MISSING
    result: OptionalValue = MISSING
    error: OptionalValue = MISSING
    faults: tuple[EnvelopeFault, ...] = ()
    members: tuple[Envelope, ...] = ()

    @property
    def id_present(self) -> bool:
        return self.id is not MISSING

    @property
    def id_key(self) -> tuple[str, ...] | None:
        """`id_key` of the id; None where there is none."""
        return None if self.id is MISSING else id_key(self.id)

    @property
    def names_no_request(self) -> bool:
        """An error response with a null id or none: the answer to what could not be read (JSON-RPC 2.0 section 5 asks
        for null, MCP's schema from 2025-11-25 on for absence). No fault of the envelope; whether it was right to send
        it depends on the request and the status."""
        return self.kind == "error_response" and (self.id is MISSING or self.id is None)

    @property
    def is_message(self) -> bool:
        """One of the four kinds of message."""
        return self.kind not in ("batch", "invalid")


def classify(value: JsonValue) -> Envelope:
    """Read any JSON value as a JSON-RPC message. Total."""
    if isinstance(value, dict):
        return _message(value)
    if isinstance(value, list):
        members = tuple(
            _message(member) if isinstance(member, dict) else Envelope("invalid", member, faults=("not_an_object",))
            for member in value
        )
        return Envelope("batch", value, members=members)
    return Envelope("invalid", value, faults=("not_an_object",))


def is_valid_seed_envelope(envelope: Envelope, *, error_id_optional: bool = False) -> bool:
    """One JSON-RPC 2.0 object: a message with a string method and, if any, params that are an object or array; or a
    response with an id and exactly one of result and error (integer code, string message). An id is a string, a number
    or null. `error_id_optional`: an error response may leave out its id (2025-11-25 on, for unreadable requests).
    """
    if not envelope.is_message or not _LEGAL_JSON_RPC.issuperset(envelope.faults):
        return False
    return error_id_optional or envelope.kind != "error_response" or envelope.id is not MISSING


def id_key(value: JsonValue) -> tuple[str, ...]:
    """A hashable form of an id: two ids are the same id exactly when their keys are equal.

    The type counts: 1 is not "1". Numbers are equal when they are numerically equal, so 1.0 is 1: JSON has one number
    type (RFC 8259 6), JSON Schema calls 1.0 an integer, and a peer that reads numbers as doubles writes 1.0 back as 1.
    Never through a double where the text was an integer: 2^53 and 2^53 + 1 are two ids.
    """
    if isinstance(value, str):
        return ("string", value)
    if type(value) is int:
        return ("number", str(value))
    if value is None:
        return ("null",)
    if isinstance(value, bool):
        return ("boolean", "true" if value else "false")
    if isinstance(value, LongInteger):
        return ("number", value.text)
    if isinstance(value, float):
        return ("number", str(int(value)) if value.is_integer() else repr(value))
    return ("other", canonical(value))


def _message(value: dict[str, JsonValue]) -> Envelope:
    method = value.get("method", MISSING)
    identifier = value.get("id", MISSING)
    params = value.get("params", MISSING)
    result = value.get("result", MISSING)
    error = value.get("error", MISSING)
    kind = _kind(method, identifier, result, error)
    return Envelope(
        kind,
        value,
        identifier,
        method if isinstance(method, str) else None,
        params,
        result,
        error,
        tuple(_faults(kind, value.get("jsonrpc"), method, identifier, params, result, error)),
    )


def _kind(method: OptionalValue, identifier: OptionalValue, result: OptionalValue, error: OptionalValue) -> Kind:
    answers = (result is not MISSING) + (error is not MISSING)
    if method is MISSING:
        if answers != 1:
            return "invalid"
        return "response" if error is MISSING else "error_response"
    if answers or not isinstance(method, str):
        return "invalid"
    return "notification" if identifier is MISSING else "request"


def _faults(
    kind: Kind,
    version: OptionalValue,
    method: OptionalValue,
    identifier: OptionalValue,
    params: OptionalValue,
    result: OptionalValue,
    error: OptionalValue,
) -> Iterator[EnvelopeFault]:
    if version != "2.0":
        yield "jsonrpc_version"
    if method is not MISSING:
        if not isinstance(method, str):
            yield "method_type"
        if result is not MISSING or error is not MISSING:
            yield "method_and_response"
        if isinstance(params, list):
            yield "params_array"
        elif params is not MISSING and not isinstance(params, dict):
            yield "params_type"
    elif result is MISSING and error is MISSING:
        yield "neither"
    if result is not MISSING and error is not MISSING:
        yield "both_result_and_error"
    if identifier is MISSING:
        if kind == "response":
            yield "id_absent"
    elif identifier is None:
        if kind != "error_response":
            yield "id_null"
    elif not isinstance(identifier, str) and not is_integer(identifier):
        yield "id_fractional" if isinstance(identifier, float) else "id_type"
    if result is not MISSING and not isinstance(result, dict):
        yield "result_type"
    if error is not MISSING:
        if not isinstance(error, dict):
            yield "error_shape"
            return
        if not is_integer(error.get("code")):
            yield "error_code"
        if not isinstance(error.get("message"), str):
            yield "error_message"
