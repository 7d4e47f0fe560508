"""Request headers that mirror the body (2026-07-28 basic/transports/streamable-http#request-metadata)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Message
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.meta_keys import META_VERSION
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2026_07_28
from mcp_wire.rules.mirroring import (
    ENCODING_FAULTS,
    Mirrored,
    State,
    encoding_fault_alone,
    follows_revision,
    mirrored_method,
    mirrored_name,
    mirrored_parameters,
    parameter_headers,
)
from mcp_wire.rules.reasons import CUT_BY_HAND
from mcp_wire.wire.evidence import Evidence

BOOK: Final = RuleBook("headers")
rule = BOOK.rule


@rule(
    "method_header_mismatch",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#standard-request-headers"},
    says="Mcp-Method repeats the JSON-RPC method of the body, letter for letter.",
    fix="Copy `method` into Mcp-Method, unencoded.",
    exceptions=(
        "Requests only: the revision leaves the headers of notification POSTs undefined (the archived draft profile "
        "goes on to judge them). Not on an `initialize`, which belongs to earlier revisions. The Base64 form is not "
        "for this header."
    ),
    evidence="The request head and the whole request body.",
)
def method_header_mirrors_body(message: Message, conversation: Conversation) -> Verdicts:
    if not follows_revision(message, conversation):
        return
    mirrored = mirrored_method(message)
    if mirrored is None:
        return
    path = message.exchange.request.headers_path
    method = Evidence("method", message.method)
    if mirrored.state == "equal":
        yield SATISFIED
    elif mirrored.sent is None:
        yield Violated(path, "The request has no Mcp-Method header; the body says {}.", (method,))
    else:
        yield Violated(path, "Mcp-Method is {}; the body says {}.", (Evidence("method", mirrored.sent), method))


@rule(
    "body_version_mismatch",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic#meta"},
    says="Every request names its protocol version in `_meta`.",
    fix='Send `"io.modelcontextprotocol/protocolVersion": "2026-07-28"` in `params._meta` of every request.',
    exceptions=(
        "Requests only (the archived draft profile goes on to judge notifications too), and not an `initialize`, which "
        "belongs to earlier revisions. Where the header names another revision than `_meta`, "
        "`conflicting_version_evidence` speaks. In a transcript that a person may have cut, an absent `_meta` proves "
        "nothing (but to the archived draft profile)."
    ),
    evidence="The whole request body.",
    consequence_of=("conflicting_version_evidence",),
)
def meta_names_version(message: Message, conversation: Conversation) -> Verdicts:
    if not follows_revision(message, conversation):
        return
    path = message.exchange.request.body_path
    version = message.meta.get(META_VERSION)
    archived = conversation.profile is not None and conversation.profile.archived
    if version == R2026_07_28:
        yield SATISFIED
    elif version is None and not conversation.payloads_whole and not archived:
        yield CUT_BY_HAND
    elif version is None:
        yield Violated(path, f"`params._meta` does not name {META_VERSION}.")
    else:
        shown = Evidence("version", version)
        yield Violated(path, "`params._meta` names protocol version {} under 2026-07-28.", (shown,))


@rule(
    "name_header_mismatch",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#standard-request-headers"},
    says="Mcp-Name repeats params.name of tools/call and prompts/get, and params.uri of resources/read.",
    fix="Copy the name or URI into Mcp-Name; encode it as `=?base64?...?=` where it is not plain ASCII.",
    exceptions=(
        "Compared after decoding the Base64 form, by code points: no case folding, no percent-decoding. Mcp-Name on "
        "other methods is neither demanded nor a fault. A value that is encoded wrongly is "
        "`header_value_encoding_invalid`."
    ),
    evidence="The request head and the whole request body.",
)
def name_header_mirrors_body(message: Message, conversation: Conversation) -> Verdicts:
    mirrored = mirrored_name(message) if follows_revision(message, conversation) else None
    if mirrored is None:
        return
    path = message.exchange.request.headers_path
    kind = "uri" if message.method == "resources/read" else "name"
    if not conversation.payloads_whole:
        yield CUT_BY_HAND
    elif mirrored.state == "equal":
        yield SATISFIED
    elif mirrored.state == "missing":
        yield Violated(
            path, f"The {message.method} has no Mcp-Name header; its {kind} is {{}}.", (Evidence(kind, mirrored.value),)
        )
    elif mirrored.state == "different":
        yield Violated(
            path,
            f"Mcp-Name of the {message.method} is {{}}; its {kind} is {{}}.",
            (Evidence("header:mcp-name", mirrored.sent), Evidence(kind, mirrored.value)),
        )
    elif mirrored.state == "perhaps_dropped":
        yield CannotTell("the name is empty, and some proxies drop empty headers")


@rule(
    "param_header_mismatch",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#custom-headers-from-tool-parameters"},
    says="Each parameter that a tool's definition marks with x-mcp-header is mirrored in its Mcp-Param header.",
    fix="Mirror each marked argument; ask tools/list again when definitions change.",
    exceptions=(
        "Judged only by the definition that this client was given in the capture (same credentials, product and "
        "clientInfo) and that no list_changed has put in doubt: a client that never saw it may leave the headers out. "
        "Integers are compared as numbers, strings by code points after decoding. An argument of another type than "
        "declared is not compared. An absent header for an empty string proves nothing: some proxies drop it. An "
        "integer beyond plus or minus 2^53-1 may not be mirrored at all. Wrong encoding is "
        "`header_value_encoding_invalid`."
    ),
    evidence="The tools/list result, and the whole call.",
)
def parameter_headers_mirror_arguments(message: Message, conversation: Conversation) -> Verdicts:
    path = message.exchange.request.headers_path
    for mirrored in _designated(message, conversation):
        shown = Evidence("name", mirrored.name)
        if not conversation.payloads_whole:
            yield CUT_BY_HAND
        elif mirrored.state in ("equal", "equal_number"):
            yield SATISFIED
        elif mirrored.state == "perhaps_dropped":
            yield CannotTell("the argument is empty, and some proxies drop empty headers")
        elif mirrored.state in _PARAMETER_FAULTS:
            yield Violated(path, _PARAMETER_FAULTS[mirrored.state], (shown,))


_PARAMETER_FAULTS: Final[dict[State, str]] = {
    "missing": "The call has an argument that its tool's definition wants mirrored in {}, and no such header.",
    "different": "{} does not say what the argument says that it mirrors.",
    "unsafe_integer": "{} is to mirror an integer beyond plus or minus 2^53-1, which must not be mirrored.",
}


def _designated(message: Message, conversation: Conversation) -> list[Mirrored]:
    if message.method != "tools/call" or not follows_revision(message, conversation):
        return []
    return list(mirrored_parameters(message, conversation.tools.designation_for(message)))


@rule(
    "param_header_unexpected",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#server-behavior-for-custom-headers"},
    says="No Mcp-Param header is sent for a marked argument that is null or absent.",
    fix="Leave the header out when there is no value.",
    exceptions=(
        "Judged only by the definition that this client was given in the capture, as in `param_header_mismatch`. "
        "Headers that no definition explains are to be tolerated, and are."
    ),
    evidence="The tools/list result, and the whole call.",
)
def no_parameter_header_without_value(message: Message, conversation: Conversation) -> Verdicts:
    for mirrored in _designated(message, conversation):
        if mirrored.value is not None:
            continue
        if not conversation.payloads_whole:
            yield CUT_BY_HAND
        elif mirrored.state == "omitted":
            yield SATISFIED
        else:
            yield Violated(
                message.exchange.request.headers_path,
                "{} was sent, and the argument that it mirrors is null or absent.",
                (Evidence("name", mirrored.name),),
            )


@rule(
    "header_value_encoding_invalid",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#value-encoding"},
    says="Mcp-Name and Mcp-Param headers are plain ASCII, or Base64 of UTF-8 between `=?base64?` and `?=`.",
    fix="Send `=?base64?<Base64 of UTF-8>?=` for a value that is not plain ASCII or looks like that form itself.",
    exceptions=(
        "`=?BASE64?...?=` and a missing `?=` are plain text, no broken form. Encoding without need is allowed. A tab "
        "inside a value is not judged. Whether a value needed encoding is read from the body, so only where it was "
        "captured, and for parameters only where the tool's definition was."
    ),
    evidence="The request head; for a value that needed encoding, the whole request.",
)
def mirrored_values_are_encoded(message: Message, conversation: Conversation) -> Verdicts:
    if not follows_revision(message, conversation):
        return
    path = message.exchange.request.headers_path
    for name, state in _encodings(message, conversation).items():
        if state in ENCODING_FAULTS:
            yield Violated(path, _ENCODING_FAULTS[state], (Evidence("name", name),))
        else:
            yield SATISFIED


_ENCODING_FAULTS: Final[dict[State, str]] = {
    "invalid_characters": "{} holds characters that no header value may hold; such a value is sent in Base64.",
    "undecodable": "{} has the Base64 form, but what it holds is no Base64 of UTF-8.",
    "not_encoded": "{} mirrors a value that has to be sent in Base64, and was sent plain.",
}


def _encodings(message: Message, conversation: Conversation) -> dict[str, State]:
    """Each mirrored header that was sent, with the fault of its encoding, or "equal" where nothing is wrong with it."""
    headers = message.exchange.request.headers
    sent = dict(parameter_headers(message))
    if "mcp-name" in headers and not headers.repeated("mcp-name"):
        sent["mcp-name"] = headers.get("mcp-name") or ""
    found: dict[str, State] = {name: encoding_fault_alone(value) or "equal" for name, value in sent.items()}
    if conversation.payloads_whole:
        mirrored = [mirrored_name(message), *_designated(message, conversation)]
        found.update((one.name, one.state) for one in mirrored if one is not None and one.name in found)
    return found
