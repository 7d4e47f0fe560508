"""The headers of a request that say something of MCP, and whether its body says the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from mcp_wire.protocol.meta_keys import META_VERSION
from mcp_wire.protocol.methods import method_of
from mcp_wire.protocol.mirrored_headers import PARAM_PREFIX, ParameterType, compare, decode, expected_text
from mcp_wire.protocol.profiles import MODERN_REVISIONS, PROFILES
from mcp_wire.wire.body import Body
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.strict_json import MISSING, JsonValue, Missing

Agreement = Literal["agrees", "differs", "unknown", "alone"]
"""`alone`: there is nothing in the body to hold it against."""

_PLAIN: Final = ("accept", "content-type", "last-event-id", "origin")


@dataclass(frozen=True, slots=True)
class HeaderCheck:
    """One header line as it stood (`value` None: it is absent), and what the body says, as a clause."""

    name: str
    value: str | None
    agreement: Agreement = "alone"
    remark: str = ""


def header_checks(headers: Headers, body: Body, profile: str | None) -> Iterator[HeaderCheck]:
    """What to know of the headers of one request. `profile`: the one that it is judged by, None where not known."""
    message = body.value if isinstance(body.value, dict) else {}
    known = PROFILES.get(profile or "")
    is_modern = known is not None and known.is_modern and "id" in message
    yield from _version(headers, message, known.revision if known is not None else None)
    yield from _method(headers, message, body, is_modern)
    yield from _name(headers, message, is_modern)
    for name, value in headers:
        if name.lower().startswith(PARAM_PREFIX):
            yield _parameter(name, value, message)
    for name in ("mcp-session-id", *_PLAIN):
        for seen, value in headers:
            if seen.lower() == name:
                yield HeaderCheck(seen, value)


def _version(headers: Headers, message: dict[str, JsonValue], revision: str | None) -> Iterator[HeaderCheck]:
    values = headers.all("mcp-protocol-version")
    params = _object(message.get("params"))
    in_meta = _object(params.get("_meta")).get(META_VERSION)
    offered = params.get("protocolVersion") if message.get("method") == "initialize" else None
    if not values:
        if isinstance(in_meta, str):
            yield HeaderCheck("MCP-Protocol-Version", None, "differs", f"_meta names {in_meta}")
        elif isinstance(offered, str):
            yield HeaderCheck("MCP-Protocol-Version", None, "alone", f"initialize offers {offered} in its body")
        elif revision is not None and revision not in MODERN_REVISIONS:
            yield HeaderCheck("MCP-Protocol-Version", None, "alone", f"the revision in force is {revision}")
        return
    for value in values:
        if isinstance(in_meta, str):
            remark = "_meta names the same" if in_meta == value else f"_meta names {in_meta}"
            yield HeaderCheck("MCP-Protocol-Version", value, _agreement(in_meta == value), remark)
        elif isinstance(offered, str):
            yield HeaderCheck("MCP-Protocol-Version", value, "alone", f"initialize offers {offered} in its body")
        elif revision is not None:
            remark = "the revision in force" if value == revision else f"the revision in force is {revision}"
            yield HeaderCheck("MCP-Protocol-Version", value, _agreement(value == revision), remark)
        else:
            yield HeaderCheck("MCP-Protocol-Version", value)


def _method(headers: Headers, message: dict[str, JsonValue], body: Body, is_modern: bool) -> Iterator[HeaderCheck]:
    method = message.get("method")
    values = headers.all("mcp-method")
    if not values and is_modern and isinstance(method, str):
        yield HeaderCheck("Mcp-Method", None, "differs", f"the body says {method}")
    for value in values:
        if isinstance(method, str):
            remark = "the body says the same" if method == value else f"the body says {method}"
            yield HeaderCheck("Mcp-Method", value, _agreement(method == value), remark)
        else:
            why = "the body names no method" if body.is_captured else "the body was not captured"
            yield HeaderCheck("Mcp-Method", value, "unknown", why)


def _name(headers: Headers, message: dict[str, JsonValue], is_modern: bool) -> Iterator[HeaderCheck]:
    method = message.get("method")
    defined = method_of(MODERN_REVISIONS[0], "client", method) if isinstance(method, str) else None
    member = defined.name_member if defined is not None else None
    value = _object(message.get("params")).get(member, MISSING) if member is not None else MISSING
    values = headers.all("mcp-name")
    if not values and is_modern and value is not MISSING:
        yield HeaderCheck("Mcp-Name", None, "differs", f"params.{member} is {_shown(value)}")
    for header in values:
        if value is MISSING:
            remark = "the body has nothing that it mirrors"
            yield HeaderCheck("Mcp-Name", header, "unknown" if method is None else "differs", remark)
        else:
            yield _mirrored("Mcp-Name", header, value, f"params.{member}")


def _parameter(name: str, header: str, message: dict[str, JsonValue]) -> HeaderCheck:
    arguments = _object(_object(message.get("params")).get("arguments"))
    wanted = name[len(PARAM_PREFIX) :].lower()
    for argument, value in arguments.items():
        if argument.lower() == wanted:
            return _mirrored(name, header, value, f"arguments.{argument}")
    return HeaderCheck(name, header, "unknown", "no argument has this name; the tool's definition says what it mirrors")


def _mirrored(name: str, header: str, value: JsonValue | Missing, where: str) -> HeaderCheck:
    declared: ParameterType = (
        "boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "integer"
    )
    outcome = compare(header, value, declared)  # type: ignore[arg-type]  # MISSING was ruled out
    decoded = decode(header)
    said = f" (decoded: {decoded.text})" if decoded.encoded and decoded.text is not None else ""
    match outcome:
        case "equal" | "equal_number":
            return HeaderCheck(name, header, "agrees", f"{where} is the same{said}")
        case "not_comparable":
            return HeaderCheck(name, header, "unknown", f"{where} is of a type that is not mirrored")
        case "undecodable":
            return HeaderCheck(name, header, "differs", "its Base64 cannot be decoded")
        case _:
            return HeaderCheck(name, header, "differs", f"{where} is {_shown(value)}{said}")


def _agreement(is_equal: bool) -> Agreement:
    return "agrees" if is_equal else "differs"


def _object(value: JsonValue | Missing) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _shown(value: JsonValue | Missing) -> str:
    text = expected_text(value) if value is not MISSING else None
    return text if text is not None else "of another type"
