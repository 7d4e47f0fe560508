"""Results of 2026-07-28 that ask for input, and the retries that give it (basic/patterns/mrtr)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import CaptureEnd, Message
from mcp_wire.conversation.round_trips import INPUT_REQUIRED, Retry
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdict, Verdicts, Violated
from mcp_wire.protocol.error_codes import INVALID_REQUEST, METHOD_NOT_FOUND, MODERN_CODES, PARSE_ERROR
from mcp_wire.protocol.meta_keys import META_CLIENT_CAPABILITIES
from mcp_wire.protocol.methods import INPUT_REQUEST_METHODS, declares, input_request_capabilities, method_of
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2026_07_28
from mcp_wire.protocol.schemas import CLOSED_VOCABULARIES, check_message
from mcp_wire.rules.proven import UNPROVEN, is_proven
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.strict_json import MISSING, JsonValue

BOOK: Final = RuleBook("mrtr")
rule = BOOK.rule

CLIENT_DUTIES: Final = {R2026_07_28: "basic/patterns/mrtr#client-requirements-basic-workflow"}
SERVER_DUTIES: Final = {R2026_07_28: "basic/patterns/mrtr#server-requirements-basic-workflow"}
RESULT_TYPES: Final = CLOSED_VOCABULARIES["resultType"]
PROTOCOL_ERRORS: Final = frozenset({PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, *MODERN_CODES})
"""Said of the message, its headers, its version or the client's capabilities, never of what a retry brings."""

CUT_BY_HAND: Final = CannotTell("members may have been removed from this transcript by hand")
UNLINKED: Final = CannotTell("it is not known for sure which result the retry answers")
LINK: Final = (
    "What a retry answers is known by its requestState. Where it has none that was given, the only open result for the "
    "same method and name that asked for the same input is taken for it: at once where the capture saw the endpoint's "
    "whole history, else at its end, if no other retry turned out to answer that result. Where several fit, no verdict."
)


def _result_of(message: Message) -> dict[str, JsonValue] | None:
    """The result that the server owes a request of this revision; None for everything else."""
    call = message.call
    if message.sender != "server" or call is None or call.sender != "client" or call.method == "initialize":
        return None
    return message.result


def _interim_of(message: Message) -> dict[str, JsonValue] | None:
    """The result, where it asks for input."""
    result = _result_of(message)
    return result if result is not None and result.get("resultType") == INPUT_REQUIRED else None


def _capabilities_of(message: Message) -> JsonValue:
    """What the request that was answered declares; None where it declares nothing readable."""
    declared = message.call.request.meta.get(META_CLIENT_CAPABILITIES) if message.call is not None else None
    return declared if isinstance(declared, dict) else None


def _declares_extensions(message: Message) -> bool:
    declared = _capabilities_of(message)
    return isinstance(declared, dict) and any(declared.get(kind) for kind in ("extensions", "experimental"))


@rule(
    "result_type_invalid",
    level="error",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic#result-responses"},
    says="Every result says its type: `complete`, `input_required`, or one of an extension that the client declared.",
    fix='Set `"resultType": "complete"` on every ordinary result.',
    exceptions=(
        "Errors have no type. Where the request declares an extension or anything experimental, an unknown type may "
        "belong to it. What the server advertises does not matter: without the client's declaration it has to keep to "
        "the core protocol (basic/versioning#extension-negotiation). A server that was never seen to speak 2026-07-28 "
        "owes no type."
    ),
    evidence="The whole result, and the request that it answers.",
)
def result_says_its_type(message: Message, conversation: Conversation) -> Verdicts:
    result = _result_of(message)
    if result is None:
        return
    named = result.get("resultType", MISSING)
    if isinstance(named, str) and named in RESULT_TYPES:
        yield SATISFIED
    elif not is_proven(conversation):
        yield UNPROVEN
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    elif named is MISSING:
        yield Violated(message.path, "The result has no resultType.")
    elif not isinstance(named, str):
        yield Violated(message.path, "The resultType of the result is no string.", about="type")
    elif _capabilities_of(message) is None or _declares_extensions(message):
        yield CannotTell("the type may belong to an extension")
    else:
        shown = Evidence("text", named)
        yield Violated(
            message.path, "The result has the type {}, and its request declares no extension.", (shown,), about="value"
        )


@rule(
    "input_required_wrong_method",
    level="error",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "basic/patterns/mrtr#supported-requests"},
    says="Only tools/call, prompts/get and resources/read may be answered with a result that asks for input.",
    fix="Answer other requests with a complete result or an error.",
    exceptions="Methods that an extension defines follow their own rules.",
    evidence="The result, and the request that it answers.",
)
def input_is_asked_where_it_may_be(message: Message, _conversation: Conversation) -> Verdicts:
    if _interim_of(message) is None or message.call is None:
        return
    method = method_of(R2026_07_28, "client", message.call.method or "")
    if method is None:
        return
    if method.interim:
        yield SATISFIED
    else:
        yield Violated(message.path, f"The {method.name} was answered with a result that asks for input.")


@rule(
    "input_required_empty",
    level="error",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites=SERVER_DUTIES,
    says="A result that asks for input has inputRequests or requestState.",
    fix="Include at least one of them, or answer with a complete result.",
    exceptions=(
        "requestState alone is legal: it asks the client to come again. Empty inputRequests without requestState keep "
        "to the letter, and ask for nothing: info."
    ),
    evidence="The whole result.",
)
def asks_for_something(message: Message, conversation: Conversation) -> Verdicts:
    result = _interim_of(message)
    if result is None:
        return
    if result.get("requestState") or result.get("inputRequests"):
        yield SATISFIED
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    elif "requestState" in result or "inputRequests" in result:
        yield Violated(
            message.path,
            "The result asks for input, and what it asks for is empty.",
            level="info",
            about="empty",
        )
    else:
        yield Violated(message.path, "The result asks for input with neither inputRequests nor requestState.")


def _requests_in(message: Message) -> Iterator[dict[str, JsonValue]]:
    """The input requests of a result, those that are no objects left out."""
    result = _interim_of(message)
    requests = result.get("inputRequests") if result is not None else None
    if isinstance(requests, dict):
        yield from (request for request in requests.values() if isinstance(request, dict))


@rule(
    "input_request_invalid_method",
    level="error",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites=SERVER_DUTIES,
    says="An input request is elicitation/create, sampling/createMessage or roots/list.",
    fix="Ask with one of the three methods.",
    exceptions="Where the request declares an extension, that may define further ones.",
    evidence="The whole result, and the request that it answers.",
)
def input_requests_are_known(message: Message, conversation: Conversation) -> Verdicts:
    methods = [request.get("method") for request in _requests_in(message)]
    unknown = [method for method in methods if not isinstance(method, str) or method not in INPUT_REQUEST_METHODS]
    if not methods:
        return
    if not unknown:
        yield SATISFIED
    elif _declares_extensions(message):
        yield CannotTell("an extension may define the method")
    elif not all(isinstance(method, str) for method in unknown) and not conversation.payloads_whole:
        yield CUT_BY_HAND
    elif isinstance(unknown[0], str):
        yield Violated(message.path, "An input request has the method {}.", (Evidence("method", unknown[0]),))
    else:
        yield Violated(message.path, "An input request has no method.")


@rule(
    "input_request_undeclared_capability",
    level="error",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites=SERVER_DUTIES,
    says="Input is asked for only in ways that the request being answered declares a capability for.",
    fix="Answer with -32021 and the required capabilities instead.",
    exceptions=(
        "Capabilities are declared request by request: those of other requests do not count. `elicitation: {}` means "
        "forms. A request without readable capabilities is `client_capabilities_missing`."
    ),
    evidence="The whole result, and the whole request that it answers.",
)
def input_requests_are_declared(message: Message, conversation: Conversation) -> Verdicts:
    declared = _capabilities_of(message)
    for request in _requests_in(message):
        method = request.get("method")
        if not isinstance(method, str) or method not in INPUT_REQUEST_METHODS:
            continue
        needed = input_request_capabilities(method, request.get("params"))
        lacking = [capability for capability in needed if not declares(declared, capability)]
        if declared is None:
            yield CannotTell("the request does not say what its client can do")
        elif not lacking:
            yield SATISFIED
        elif not conversation.payloads_whole:
            yield CUT_BY_HAND
        else:
            name = str(lacking[-1])
            yield Violated(
                message.path,
                f"An input request {method} needs the capability {name}, which the request does not declare.",
                about=name,
            )


def _retries(fact: Message | CaptureEnd, conversation: Conversation) -> Iterator[tuple[Retry, bool]]:
    """The retries to judge now, each with: is it known what it answers? A retry comes up once."""
    if isinstance(fact, CaptureEnd):
        # Where a request or a result was not captured, a whole round may be missing in between.
        is_whole = conversation.unread_post is None and not conversation.has_gaps
        yield from ((retry, stands and is_whole) for retry, stands in conversation.round_trips.at_end())
    elif fact.sender == "client" and fact.is_request:
        retry = conversation.round_trips.retry_of(fact)
        if retry is not None and retry.path == fact.path and retry.is_settled:
            yield retry, True


@rule(
    "mrtr_retry_reused_id",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites=CLIENT_DUTIES,
    says="A retry that brings the input has another JSON-RPC id than the request that was asked for it.",
    fix="Give every retry a new id.",
    exceptions=LINK + " That the first request was answered already makes no difference.",
    evidence="The result that asks for input, and its retry.",
)
def retry_has_its_own_id(fact: Message | CaptureEnd, conversation: Conversation) -> Verdicts:
    for retry, is_known in _retries(fact, conversation):
        if not is_known:
            yield UNLINKED
        elif retry.interim is not None and retry.id_key is not None:
            if retry.id_key == retry.interim.id_key:
                yield Violated(
                    retry.path,
                    f"The retry has the same id as the request that {retry.interim.path} answered.",
                    exchange=retry.exchange,
                )
            else:
                yield SATISFIED


@rule(
    "request_state_not_echoed",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites=CLIENT_DUTIES,
    says="A retry repeats the requestState that it was given, exactly.",
    fix="Keep the string as it is and send it back unread.",
    exceptions=LINK + " A request with neither inputResponses nor requestState is a new call, no retry.",
    evidence="The result that asks for input, and its retry, whole.",
)
def state_is_echoed(fact: Message | CaptureEnd, conversation: Conversation) -> Verdicts:
    for retry, is_known in _retries(fact, conversation):
        interim = retry.interim
        lacks_state = interim is not None and interim.state is not None and retry.state is None
        # One that never sends the state may well try again, which lays a second claim to the same result.
        if lacks_state and retry.basis == "guess" and not retry.interim_has_its_retry:
            is_known = is_known or (conversation.unread_post is None and not conversation.has_gaps)
        if not is_known:
            yield UNLINKED
        elif interim is None or interim.state is None:
            continue
        elif retry.state == interim.state:
            yield SATISFIED
        elif not conversation.payloads_whole:
            yield CUT_BY_HAND
        else:
            what = "lacks the requestState" if lacks_state else "carries another requestState than the one"
            yield Violated(
                retry.path,
                f"The retry {what} that {interim.path} gave.",
                exchange=retry.exchange,
                about="absent" if lacks_state else "",
            )


@rule(
    "request_state_misused",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites=CLIENT_DUTIES,
    says="requestState and inputResponses go only on the retry of the request that they were asked for.",
    fix="Send them once more only with the same method, name and arguments, and no state where none was given.",
    exceptions=(
        LINK + " That a state or an answer was never asked for is said only where the capture saw the endpoint's whole "
        "history. Other arguments than those of the first request are a warning: the text asks to retry the original "
        "request, with no MUST of its own."
    ),
    evidence="The retry, and the results that ask for input; for what was never given, all of them.",
)
def state_stays_with_its_request(fact: Message | CaptureEnd, conversation: Conversation) -> Verdicts:
    for retry, is_known in _retries(fact, conversation):
        if not is_known:
            yield UNLINKED
        elif not conversation.payloads_whole:
            yield CUT_BY_HAND
        else:
            yield _use_of(retry)


def _use_of(retry: Retry) -> Verdict:
    interim = retry.interim
    if retry.basis == "foreign":
        problem = "The request carries a requestState that was given for another method, name or URI."
    elif interim is None:
        problem = "The request carries input that no result asked for, or a state that none gave."
    elif interim.state is None and retry.state is not None:
        problem = f"The retry carries a requestState, although {interim.path} gave none."
    elif interim.arguments != retry.arguments:
        problem = f"The retry repeats the request that {interim.path} answered with other arguments."
        return Violated(retry.path, problem, level="warning", exchange=retry.exchange, about="arguments")
    else:
        return SATISFIED
    return Violated(retry.path, problem, exchange=retry.exchange, about=retry.basis if interim is None else "")


@rule(
    "input_responses_incomplete",
    level="error",
    party="client",
    layer="request_construction",
    revisions=MODERN_REVISIONS,
    cites=CLIENT_DUTIES,
    says="A retry answers every input request of the result.",
    fix="Answer every key of inputRequests; declining an elicitation is an answer.",
    exceptions=LINK + " Never retrying is allowed. Answers that nobody asked for are ignored by servers.",
    evidence="The result that asks for input, and its retry, whole.",
)
def every_input_is_answered(fact: Message | CaptureEnd, conversation: Conversation) -> Verdicts:
    for retry, is_known in _retries(fact, conversation):
        missing = retry.missing_inputs
        if not is_known:
            yield UNLINKED
        elif missing == 0:
            yield SATISFIED
        elif missing is not None:
            if conversation.payloads_whole:
                where = retry.interim.path if retry.interim is not None else ""
                yield Violated(
                    retry.path,
                    f"The retry leaves {missing} of the input requests of {where} unanswered.",
                    exchange=retry.exchange,
                )
            else:
                yield CUT_BY_HAND


@rule(
    "missing_input_returned_error",
    level="warning",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    rule_set="extended",
    cites={R2026_07_28: "basic/patterns/mrtr#error-handling"},
    says="A retry that lacks some of the input is answered by asking for it again, not with an error.",
    fix="Answer with a new result of the type input_required.",
    exceptions=(
        "Only where the state was echoed and the answers that are there have the right shape: else the error may be "
        "about them. Refusals with 401, 403, 404, 429 or 5xx, and errors of the protocol itself, say nothing."
    ),
    evidence="The result that asks for input, its retry, and the error.",
)
def missing_input_is_asked_again(message: Message, conversation: Conversation) -> Verdicts:
    call = message.call
    if message.sender != "server" or not message.is_response or call is None or call.sender != "client":
        return
    retry = conversation.round_trips.retry_of(call.request)
    if retry is None or retry.interim is None or not retry.missing_inputs or not conversation.payloads_whole:
        return
    head = message.exchange.head
    if not message.is_error:
        yield SATISFIED
    elif retry.basis not in ("state", "history") or retry.state != retry.interim.state:
        yield UNLINKED
    elif message.error_code in PROTOCOL_ERRORS or head is None or head.status not in (200, 400):
        yield CannotTell("the error may be about something else")
    elif any(
        fault.pointer.startswith("/params/inputResponses")
        for fault in check_message(R2026_07_28, "client", call.request.envelope)
    ):
        yield CannotTell("the error may be about the shape of the answers")
    else:
        yield Violated(message.path, "A retry that lacks some of the input was answered with an error.")
