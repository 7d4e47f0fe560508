"""The form of the transcript document. What these rules find is a fault of the capture, never of a peer.

They read the document itself; the last two rules find on the wire what a document cannot tell any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Request, ResponseHead
from mcp_wire.judging.declaration import SATISFIED, RuleBook, Verdict, Verdicts, Violated
from mcp_wire.protocol.profiles import PROFILES, UNDETERMINED
from mcp_wire.transcript.document import (
    Document,
    chunks_of,
    exchange_id,
    faulty_members,
    headers_of,
    is_event_stream,
    is_status,
)
from mcp_wire.transcript.secrets import secrets_of
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.strict_json import JsonValue

BOOK = RuleBook("transcript form")
rule = BOOK.rule

UNREDACTED_SECRET: Final = "unredacted_secret"

_ONE_FIELD_LINE: Final = "https://www.rfc-editor.org/rfc/rfc9110#section-5.3"
_CHANGELOG: Final = "https://modelcontextprotocol.io/specification/2026-07-28/changelog"


@rule(
    "invalid_document",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="A transcript is one JSON object.",
    fix="Write one object with `profile` and `exchanges`.",
    evidence="The parsed document.",
)
def document_is_an_object(document: Document, _conversation: Conversation) -> Verdicts:
    if isinstance(document.value, dict):
        yield SATISFIED
    else:
        yield Violated("/", "The top level of the transcript is no JSON object.")


@rule(
    "unknown_profile",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="A transcript names one pinned profile, exactly; nothing else is judged where it does not.",
    fix=f"Set `profile` to one of {', '.join(PROFILES)}, or to {UNDETERMINED} where no revision was ever named.",
    evidence="The parsed document.",
    exceptions="An unknown name is never mapped to the nearest profile.",
)
def profile_is_known(document: Document, _conversation: Conversation) -> Verdicts:
    if not isinstance(document.value, dict):
        return
    if document.is_judged:
        yield SATISFIED
    elif document.profile is None:
        yield Violated("/profile", "The transcript names no profile, so nothing else was judged.")
    else:
        yield Violated("/profile", "The transcript's profile is none that is known here, so nothing else was judged.")


@rule(
    "profile_superseded",
    level="info",
    party="pipeline",
    layer="profile_mixing",
    revisions=("2026-07-28",),
    cites={"2026-07-28": _CHANGELOG},
    says="The archived draft profile has been superseded by the released revision.",
    fix="Set `profile` to stable-2026-07-28 to have the released revision judged.",
    evidence="The parsed document.",
)
def profile_is_current(document: Document, _conversation: Conversation) -> Verdicts:
    profile = PROFILES.get(document.profile or "")
    if profile is not None and not profile.archived:
        yield SATISFIED
    elif profile is not None:
        yield Violated(
            "/profile",
            "This profile is the archived draft: only what its own checks judged was judged. "
            "The revision was released as 2026-07-28.",
        )


@rule(
    "invalid_exchanges",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="`exchanges` is an array with at least one exchange.",
    fix="Write at least one exchange.",
    evidence="The parsed document, with a known profile.",
)
def exchanges_are_listed(document: Document, _conversation: Conversation) -> Verdicts:
    if not document.is_judged:
        return
    if document.exchanges:
        yield SATISFIED
    else:
        yield Violated("/exchanges", "`exchanges` is missing, empty or no array.")


@rule(
    "invalid_exchange",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="Every exchange is an object, and its optional members have the form that the transcript format gives them.",
    fix="Write an object for each exchange; leave an optional member out where its value is not known.",
    evidence="The parsed document.",
)
def exchange_is_an_object(document: Document, _conversation: Conversation) -> Verdicts:
    for index, exchange in enumerate(document.exchanges):
        path = f"/exchanges/{index}"
        if not isinstance(exchange, dict):
            yield Violated(path, "The exchange is no JSON object.")
            continue
        faults: list[Verdict] = [
            Violated(f"{path}{place}", f"`{place[1:]}` has to be {wanted}.", exchange=exchange_id(exchange))
            for place, wanted in faulty_members(exchange)
        ]
        yield from faults or [SATISFIED]


@rule(
    "invalid_exchange_id",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="Every exchange has a non-empty string as its id.",
    fix="Give each exchange a label of its own when it is captured.",
    evidence="The parsed document.",
)
def exchange_has_an_id(document: Document, _conversation: Conversation) -> Verdicts:
    for index, exchange in document.objects():
        if exchange_id(exchange) is not None:
            yield SATISFIED
        else:
            yield Violated(f"/exchanges/{index}/id", "The exchange's id is missing, empty or no string.")


@rule(
    "duplicate_exchange_id",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="No two exchanges of a transcript have the same id.",
    fix="Number the exchanges as they are captured.",
    evidence="The parsed document.",
)
def exchange_id_is_unique(document: Document, _conversation: Conversation) -> Verdicts:
    taken: dict[str, int] = {}
    for index, exchange in document.objects():
        name = exchange_id(exchange)
        if name is None:
            continue
        first = taken.setdefault(name, index)
        if first == index:
            yield SATISFIED
        else:
            yield Violated(f"/exchanges/{index}/id", f"The exchange has the id of /exchanges/{first}.", exchange=name)


@rule(
    "invalid_concurrent_group",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="`concurrent_group`, where it is given, is a non-empty string.",
    fix="Leave it out, or give all exchanges that are known to have overlapped the same label.",
    evidence="The parsed document.",
)
def concurrent_group_is_a_label(document: Document, _conversation: Conversation) -> Verdicts:
    for index, exchange in document.objects():
        group = exchange.get("concurrent_group")
        if group is None:
            continue
        if isinstance(group, str) and group:
            yield SATISFIED
        else:
            yield _fault(exchange, f"/exchanges/{index}/concurrent_group", "`concurrent_group` is no non-empty string.")


@rule(
    "invalid_exchange_shape",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="`request` is an object, and so is `response` where a response head was seen.",
    fix="Write both as objects; leave `response` out where no response head was seen.",
    evidence="The parsed document.",
    exceptions="An absent response is no fault: then no response head was seen.",
)
def request_and_response_are_objects(document: Document, _conversation: Conversation) -> Verdicts:
    for index, exchange in document.objects():
        response = exchange.get("response", {})
        if isinstance(exchange.get("request"), dict) and isinstance(response, dict):
            yield SATISFIED
        else:
            yield _fault(exchange, f"/exchanges/{index}", "`request` or `response` is no object.")


@rule(
    "invalid_http_method",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="The HTTP method of a request is a string.",
    fix="Write the method as it stood in the request line.",
    evidence="The parsed document.",
)
def method_is_a_string(document: Document, _conversation: Conversation) -> Verdicts:
    for index, exchange, request in document.requests():
        if isinstance(request.get("method"), str):
            yield SATISFIED
        else:
            yield _fault(exchange, f"/exchanges/{index}/request/method", "The HTTP method is missing or no string.")


@rule(
    "invalid_headers",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="Headers are an object of strings, or an array of [name, value] pairs where a name repeats.",
    fix="Write every name and value as a string; write {} where there were no headers.",
    evidence="The parsed document.",
)
def headers_are_strings(document: Document, _conversation: Conversation) -> Verdicts:
    for _, exchange, path, value in _header_parts(document):
        if headers_of(value) is not None:
            yield SATISFIED
        else:
            yield _fault(exchange, path, "The headers are neither an object of strings nor an array of pairs.")


@rule(
    "duplicate_header",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    cites={"RFC 9110": _ONE_FIELD_LINE},
    says="An object of headers names no field twice in different spellings.",
    fix="Write the headers as an array of [name, value] pairs where a name repeats.",
    evidence="The parsed document.",
    exceptions="Field names are compared without regard to case (RFC 9110 5.1).",
)
def object_names_each_header_once(document: Document, _conversation: Conversation) -> Verdicts:
    for _, exchange, path, value in _header_parts(document):
        headers = headers_of(value)
        if headers is None:
            continue
        if headers.clashes:
            yield _fault(exchange, path, "Two names in one object of headers differ only in their case.")
        else:
            yield SATISFIED


@rule(
    "invalid_chunks",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="A response with media type text/event-stream has its chunks in an array, as they were observed.",
    fix="Write each chunk in observed order as a string, or as an object with `text` or `base64`; say in "
    "`not_captured` why there are none.",
    evidence="The parsed document.",
)
def chunks_are_listed(document: Document, _conversation: Conversation) -> Verdicts:
    for index, exchange, response in document.responses():
        headers = headers_of(response.get("headers"))
        if headers is None or not is_event_stream(headers):
            continue
        if chunks_of(response) is not None:
            yield SATISFIED
        else:
            yield _fault(
                exchange,
                f"/exchanges/{index}/response/chunks",
                "The chunks of the event stream are no array of strings or chunk objects.",
            )


@rule(
    "invalid_status",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="The status of a response is an integer from 100 to 599.",
    fix="Write the status code as a number; leave `response` out where no response head was seen.",
    evidence="The parsed document.",
)
def status_is_a_number(document: Document, _conversation: Conversation) -> Verdicts:
    for index, exchange, response in document.responses():
        if is_status(response.get("status")):
            yield SATISFIED
        else:
            yield _fault(exchange, f"/exchanges/{index}/response/status", "The status is no integer from 100 to 599.")


@rule(
    "invalid_disconnected",
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="`disconnected`, where it is given, is true or false.",
    fix="Write true only where the response ended before its proper end; leave it out where that is not known.",
    evidence="The parsed document.",
)
def disconnected_is_a_boolean(document: Document, _conversation: Conversation) -> Verdicts:
    for index, exchange, response in document.responses():
        if "disconnected" not in response:
            continue
        if isinstance(response["disconnected"], bool):
            yield SATISFIED
        else:
            yield _fault(exchange, f"/exchanges/{index}/response/disconnected", "`disconnected` is no boolean.")


@rule(
    UNREDACTED_SECRET,
    level="error",
    party="pipeline",
    layer="capture_pipeline",
    version_neutral=True,
    says="A transcript holds nothing that shows itself to be a secret.",
    fix="Do not publish it: stop, quarantine, rotate, recapture (docs/quarantine.md). `mcp-conformance redact` makes a "
    "copy without secrets, which does not make the exposed ones good again.",
    evidence="The parsed document, event streams put together: shapes that issuers give their secrets, and random "
    "values where only credentials stand.",
    exceptions="Labels, placeholders, and ids of sessions, which look like any other id. `mcp-conformance guard` tells "
    "of everything that redaction would replace.",
)
def holds_no_secret(document: Document, _conversation: Conversation) -> Verdicts:
    if not document.is_judged:
        return
    found = False
    for secret in secrets_of(document.as_written):
        found = True
        place = secret.place if secret.event is None else f"{secret.place.rpartition('/')[0]}/{secret.event}"
        exchange = None if secret.exchange is None else exchange_id(document.exchanges[secret.exchange])
        message = f"This holds what looks like a secret: {secret.kind}."
        yield Violated(place, message, about=secret.kind, exchange=exchange)
    if not found:
        yield SATISFIED


@rule(
    "duplicate_header",
    level="error",
    party="client",
    layer="request_construction",
    version_neutral=True,
    cites={"RFC 9110": _ONE_FIELD_LINE},
    says="A request carries a header that takes one value on one line only.",
    fix="Send the header once. Where a gateway adds it, let it replace the one that is there.",
    evidence="The request's header lines.",
    exceptions="Fields that are lists (Accept, Cache-Control …) may be repeated.",
)
def request_header_is_sent_once(request: Request, _conversation: Conversation) -> Verdicts:
    yield from _sent_once(request.headers, request.headers_path)


@rule(
    "duplicate_header",
    level="error",
    party="server",
    layer="response_framing",
    version_neutral=True,
    cites={"RFC 9110": _ONE_FIELD_LINE},
    says="A response carries a header that takes one value on one line only.",
    fix="Send the header once. Where a gateway adds it, let it replace the one that is there.",
    evidence="The response's header lines.",
    exceptions="Fields that are lists (Vary, Cache-Control …) and Set-Cookie may be repeated.",
)
def response_header_is_sent_once(head: ResponseHead, _conversation: Conversation) -> Verdicts:
    yield from _sent_once(head.headers, head.headers_path)


def _sent_once(headers: Headers, path: str) -> Verdicts:
    # Two spellings in an object of the document are that document's fault, and reported as such.
    repeated = [name for name in headers.repeated_singletons() if name not in headers.clashes]
    if not repeated:
        yield SATISFIED
    for name in repeated:
        yield Violated(path, f"`{name}` stands on several lines, though it takes one value.", about=name)


def _header_parts(document: Document) -> Iterator[tuple[int, JsonValue, str, JsonValue]]:
    """Place, exchange, path and value of every `headers` member, of requests first in each exchange."""
    for index, exchange in document.objects():
        for side in ("request", "response"):
            part = exchange.get(side)
            if isinstance(part, dict):
                yield index, exchange, f"/exchanges/{index}/{side}/headers", part.get("headers")


def _fault(exchange: JsonValue, path: str, message: str) -> Verdict:
    return Violated(path, message, exchange=exchange_id(exchange))
