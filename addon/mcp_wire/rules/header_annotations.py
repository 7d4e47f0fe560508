"""Tool definitions that designate headers, and how clients and servers deal with them (2026-07-28, x-mcp-header)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Message
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.error_codes import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
)
from mcp_wire.protocol.mirrored_headers import PARAM_PREFIX, Designation, designated_parameters
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2026_07_28
from mcp_wire.protocol.secret_names import names_a_secret
from mcp_wire.rules.mirroring import (
    MISMATCHES,
    answered_request,
    follows_revision,
    mirrored_method,
    mirrored_name,
    mirrored_parameters,
    mismatched_headers,
)
from mcp_wire.rules.reasons import CUT_BY_HAND, REFUSED_FIRST, SERVER_IS_OF_UNKNOWN_ERA
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.strict_json import JsonValue

BOOK: Final = RuleBook("headers")
rule = BOOK.rule

OTHER_REFUSALS: Final = (METHOD_NOT_FOUND, INVALID_PARAMS, MISSING_CAPABILITY, UNSUPPORTED_VERSION)
"""Errors for other faults of a request, which a server may find first."""


@rule(
    "invalid_tool_header_annotation",
    level="error",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#schema-extension"},
    says="Each x-mcp-header is a unique token on a string, integer or boolean reached by `properties` alone.",
    fix="Mark only such properties, each with a header name of its own; clients must drop the tool otherwise.",
    exceptions=(
        "`Method` and `Name` are legal (they give Mcp-Param-Method). A list of types such as `[string, null]` is not "
        "covered by the text: a note. Type `number` is forbidden by the page, though a proposal before it had it."
    ),
    evidence="A tools/list result of a server that has shown to speak 2026-07-28.",
)
def annotations_are_valid(message: Message, conversation: Conversation) -> Verdicts:
    for name, designation in _listed(message):
        if not conversation.server_is_modern:
            yield SERVER_IS_OF_UNKNOWN_ERA
            return
        tool = Evidence("name", name)
        if designation.faults:
            faults = ", ".join(_FAULTS[fault] for fault in designation.faults)
            yield Violated(message.path, f"The definition of tool {{}} is invalid: its x-mcp-header {faults}.", (tool,))
        elif designation.undecided:
            yield Violated(
                message.path,
                "Tool {} marks a parameter with a list of types; the text does not say whether it is to be mirrored.",
                (tool,),
                level="info",
            )
        elif designation.parameters:
            yield SATISFIED


_FAULTS: Final = {
    "empty": "is empty",
    "not_a_string": "is no string",
    "not_a_token": "is no token",
    "repeated": "is used twice",
    "type_not_primitive": "stands on a property that is no string, integer or boolean",
    "type_is_a_list": "stands on a property with a list of types",
    "not_reachable": "stands where `properties` alone do not lead",
}


def _listed(message: Message) -> Iterator[tuple[str, Designation]]:
    """The tools of a tools/list result, with what each designates."""
    for tool in _tools(message):
        name = tool.get("name")
        yield (name if isinstance(name, str) else ""), designated_parameters(tool.get("inputSchema"))


def _tools(message: Message) -> list[dict[str, JsonValue]]:
    call = message.call
    if message.sender != "server" or call is None or call.method != "tools/list" or message.result is None:
        return []
    tools = message.result.get("tools")
    return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


@rule(
    "invalid_tool_called",
    level="error",
    party="client",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#schema-extension"},
    says="A client does not call a tool whose definition it has to reject.",
    fix="Leave tools with invalid x-mcp-header out of the client's list.",
    exceptions="Only where the definition was given to this client in the capture, and nothing has put it in doubt.",
    evidence="The tools/list result and the call.",
)
def no_invalid_tool_is_called(message: Message, conversation: Conversation) -> Verdicts:
    if message.method != "tools/call" or not follows_revision(message, conversation):
        return
    designation = conversation.tools.designation_for(message)
    if designation is None or designation.undecided:
        return
    if designation.is_valid:
        yield SATISFIED
    else:
        yield Violated(
            message.exchange.request.body_path,
            "Tool {} was called, whose definition the client had to reject for its x-mcp-header.",
            (Evidence("name", message.params.get("name")),),
        )


@rule(
    "sensitive_param_header",
    level="warning",
    party="server",
    layer="security",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "server/tools#x-mcp-header"},
    says="No parameter that looks secret by its header's name is mirrored into a header.",
    fix="Remove the x-mcp-header: every proxy on the way sees and logs headers.",
    exceptions=(
        "A guess by the header's name: whole words such as password, secret, credential, authorization, api-key, and "
        "`token` alone or as access, auth, bearer, refresh or session token. Page-Token and Max-Tokens are harmless."
    ),
    evidence="A tools/list result.",
    rule_set="extended",
)
def no_secret_is_mirrored(message: Message, conversation: Conversation) -> Verdicts:
    for tool, designation in _listed(message):
        if not conversation.server_is_modern:
            yield SERVER_IS_OF_UNKNOWN_ERA
            return
        for parameter in designation.parameters:
            if names_a_secret(parameter.name):
                yield Violated(
                    message.path,
                    "Tool {} mirrors a parameter into {}, which by its name is secret.",
                    (Evidence("name", tool), Evidence("name", parameter.header)),
                )
            else:
                yield SATISFIED


@rule(
    "tools_list_not_refreshed",
    level="warning",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#client-behavior"},
    says="After a HeaderMismatch about Mcp-Param headers a client asks tools/list before it repeats the call.",
    fix="Ask tools/list, build the headers anew, and repeat the call once.",
    exceptions=(
        "Giving up is fine, and so is a repetition with other headers. Where Mcp-Method, Mcp-Name or the version is at "
        "fault, or where the known definition agrees with the headers, asking again is pointless."
    ),
    evidence="The refused call, its -32020 answer, and the repetition by a client that cannot be told apart from it.",
    rule_set="extended",
)
def list_is_refreshed_before_repeating(message: Message, conversation: Conversation) -> Verdicts:
    if message.method != "tools/call" or not follows_revision(message, conversation):
        return
    unchanged = conversation.tools.was_refused_unchanged(message)
    if unchanged is None:
        return
    if not unchanged:
        yield SATISFIED
        return
    designation = conversation.tools.designation_for(message)
    states = [mirrored.state for mirrored in mirrored_parameters(message, designation)]
    if _standard_headers_agree(message) and (designation is None or any(state in MISMATCHES for state in states)):
        yield Violated(
            message.exchange.request.headers_path,
            "A call that was refused with -32020 is sent again with the same headers, and tools/list was not "
            "asked in between.",
        )


def _standard_headers_agree(message: Message) -> bool:
    mirrored = (mirrored_method(message), mirrored_name(message))
    return all(one is not None and one.state == "equal" for one in mirrored)


@rule(
    "header_mismatch_not_rejected",
    level="error",
    party="server",
    layer="response_framing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#server-validation"},
    says="A request whose headers contradict its body is refused with 400 and -32020.",
    fix="Compare headers and body before acting; answer 400 with a HeaderMismatch error that has the request's id.",
    exceptions=(
        "A refusal without a JSON-RPC error may come from an intermediary, which owes none. 401, 403, 404, 429 and 5xx "
        "go first, and so may -32601, -32602, -32021 and -32022 with status 400: the request may have other faults. A "
        "missing version header is only judged at a server that lists no version before 2026-07-28. What an "
        "intermediary between tap and server changed is not visible."
    ),
    evidence=(
        "The whole request, its answer, and a server that has shown to speak 2026-07-28; for Mcp-Param headers the "
        "definition that the client was given."
    ),
)
def mismatch_is_refused(message: Message, conversation: Conversation) -> Verdicts:
    request = answered_request(message, conversation)
    head = message.exchange.head
    if request is None or head is None:
        return
    mismatched = mismatched_headers(request, conversation)
    if not mismatched:
        return
    if not conversation.payloads_whole:
        yield CUT_BY_HAND
        return
    if not conversation.server_is_modern:
        yield SERVER_IS_OF_UNKNOWN_ERA
        return
    refused = message.is_error and message.error_code == HEADER_MISMATCH
    if refused and head.status == 400:
        yield SATISFIED
    elif head.status in (401, 403, 404, 429) or head.status >= 500:
        yield REFUSED_FIRST
    elif head.status == 400 and message.error_code in OTHER_REFUSALS:
        yield CannotTell("the request was refused for another fault first")
    else:
        outcome = "served" if message.result is not None else f"answered with {_error(message)}"
        # Names of standard headers are the specification's; those of parameters are the server's own.
        header = next((name for name in mismatched if not name.startswith(PARAM_PREFIX)), None)
        yield Violated(
            head.status_path,
            f"A request whose {header or '{}'} contradicts its body was {outcome} and status {head.status}; it had to "
            "be refused with 400 and -32020.",
            () if header is not None else (Evidence("name", mismatched[0]),),
        )


def _error(message: Message) -> str:
    code = message.error_code
    return f"error {code}" if code is not None and -32768 <= code <= -32000 else "an error of its own"


@rule(
    "numeric_header_rejected",
    level="warning",
    party="server",
    layer="response_framing",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/transports/streamable-http#server-validation"},
    says="An integer in another notation (42.0 for 42) is no header mismatch.",
    fix="Compare integers as numbers.",
    exceptions="Only where every other mirrored header agrees, so that nothing else can be the reason.",
    evidence="The definition that the client was given, the call and its answer.",
    rule_set="extended",
)
def integers_are_compared_as_numbers(message: Message, conversation: Conversation) -> Verdicts:
    request = answered_request(message, conversation)
    if request is None or request.method != "tools/call" or not conversation.payloads_whole:
        return
    states = [one.state for one in mirrored_parameters(request, conversation.tools.designation_for(request))]
    if "equal_number" not in states or mismatched_headers(request, conversation) or "unexpected" in states:
        return
    if message.error_code == HEADER_MISMATCH:
        yield Violated(
            message.path,
            "A call was refused with -32020 although its Mcp-Param headers differ from the arguments in notation only.",
        )
    else:
        yield SATISFIED
