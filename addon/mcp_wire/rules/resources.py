"""Resources, and the binary content of whatever a message carries."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Message
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdict, Verdicts, Violated
from mcp_wire.protocol.profiles import (
    MODERN_REVISIONS,
    R2025_03_26,
    R2025_06_18,
    R2025_11_25,
    R2026_07_28,
    SESSION_REVISIONS,
)
from mcp_wire.rules.proven import UNPROVEN, is_proven
from mcp_wire.rules.reasons import CUT_BY_HAND
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.strict_json import JsonValue

BOOK: Final = RuleBook("features")
rule = BOOK.rule


@rule(
    "empty_resource_contents",
    level="warning",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    rule_set="extended",
    cites={R2026_07_28: "server/resources#error-handling"},
    says="A resource that does not exist is answered with an error, not with empty contents.",
    fix="Return -32602 for unknown resources.",
    exceptions="A resource that exists and holds nothing may look the same: a warning, though the text says MUST NOT.",
    evidence="The whole result of resources/read.",
)
def contents_are_not_empty(message: Message, conversation: Conversation) -> Verdicts:
    call, result = message.call, message.result
    if message.sender != "server" or call is None or call.method != "resources/read" or result is None:
        return
    contents = result.get("contents")
    if not isinstance(contents, list) or result.get("resultType", "complete") != "complete":
        return
    if contents:
        yield SATISFIED
    elif not is_proven(conversation):
        yield UNPROVEN
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    else:
        yield Violated(message.path, "resources/read was answered with no contents at all.")


@rule(
    "binary_content_not_base64",
    level="error",
    party="either",
    layer="payload",
    version_neutral=True,
    rule_set="extended",
    cites={
        R2025_03_26: "server/resources#security-considerations",
        R2025_06_18: "server/resources#security-considerations",
        R2025_11_25: "server/resources#security-considerations",
        R2026_07_28: "server/resources#security-considerations",
    },
    says="Binary content is Base64, and an image or a sound names its media type.",
    fix="Encode with the standard alphabet (RFC 4648 4), padding included; set mimeType to `image/png` and the like.",
    exceptions=(
        "Where nothing but the padding is missing: a warning. Absent members are `invalid_message_schema`. An empty "
        "text is Base64 of nothing."
    ),
    evidence="The whole message: contents of resources, content blocks of tools, prompts and sampling.",
)
def binary_content_is_base64(message: Message, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    for holder in _binary_parts(message):
        for member in ("blob", "data"):
            value = holder.get(member)
            if isinstance(value, str):
                yield _verdict_on(member, value, message)
        media_type = holder.get("mimeType")
        if holder.get("type") in ("image", "audio") and isinstance(media_type, str) and "/" not in media_type[1:]:
            yield Violated(
                message.path, "The mimeType of an image or a sound is none.", party=message.sender, about="media type"
            )


def _verdict_on(member: str, value: str, message: Message) -> Verdict:
    if _is_base64(value):
        return SATISFIED
    if _is_base64(value + "=" * (-len(value) % 4)):
        return Violated(
            message.path,
            f"The Base64 in `{member}` lacks its padding.",
            level="warning",
            party=message.sender,
            about="padding",
        )
    return Violated(message.path, f"`{member}` is not Base64.", party=message.sender)


def _is_base64(value: str) -> bool:
    try:
        base64.b64decode(value.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _binary_parts(message: Message) -> Iterator[dict[str, JsonValue]]:
    """Contents of resources, images and sounds in a message, as the places of the schema have them."""
    carried = message.result if message.is_response else message.params
    if carried is None:
        return
    yield from _contents(carried.get("contents"))
    yield from _blocks(carried.get("content"))
    yield from _messages(carried.get("messages"))
    asked, answered = carried.get("inputRequests"), carried.get("inputResponses")
    for request in asked.values() if isinstance(asked, dict) else ():
        params = request.get("params") if isinstance(request, dict) else None
        yield from _messages(params.get("messages") if isinstance(params, dict) else None)
    for response in answered.values() if isinstance(answered, dict) else ():
        yield from _blocks(response.get("content") if isinstance(response, dict) else None)


def _messages(messages: JsonValue) -> Iterator[dict[str, JsonValue]]:
    for one in _objects(messages):
        yield from _blocks(one.get("content"))


def _blocks(content: JsonValue) -> Iterator[dict[str, JsonValue]]:
    for block in _objects(content if isinstance(content, list) else [content]):
        if block.get("type") in ("image", "audio"):
            yield block
        elif block.get("type") == "resource":
            yield from _contents([block.get("resource")])
        elif block.get("type") == "tool_result":
            yield from _blocks_of_result(block.get("content"))


def _blocks_of_result(content: JsonValue) -> Iterator[dict[str, JsonValue]]:
    for block in _objects(content):
        if block.get("type") in ("image", "audio"):
            yield block
        elif block.get("type") == "resource":
            yield from _contents([block.get("resource")])


def _contents(contents: JsonValue) -> Iterator[dict[str, JsonValue]]:
    yield from (one for one in _objects(contents) if "blob" in one)


def _objects(values: JsonValue) -> Iterable[dict[str, JsonValue]]:
    return (value for value in (values if isinstance(values, list) else ()) if isinstance(value, dict))


@rule(
    "resource_update_without_subscription",
    level="warning",
    party="server",
    layer="payload",
    revisions=SESSION_REVISIONS,
    rule_set="extended",
    cites="server/resources#subscriptions",
    says="A server tells of updated resources to the clients that subscribed to them.",
    fix="Send notifications/resources/updated to subscribers only.",
    exceptions=(
        "The text only describes it. A resource within one that was subscribed to is covered, as far as URIs say what "
        "lies within what. What was subscribed to once counts to the end: a notification may cross an unsubscribe."
    ),
    evidence="A session seen whole, from its initialize on.",
)
def update_was_subscribed_to(message: Message, conversation: Conversation) -> Verdicts:
    uri = message.params.get("uri")
    if message.sender != "server" or message.method != "notifications/resources/updated" or not isinstance(uri, str):
        return
    session = message.exchange.session
    subscribed = conversation.resource_subscriptions.of(session)
    resources = subscribed.resources() if subscribed is not None else None
    covered = resources.covers(uri) if resources is not None else False
    if conversation.legacy_transport:
        return
    if covered:
        yield SATISFIED
    elif not conversation.is_one_client(session) or conversation.resource_subscriptions.forgotten:
        yield CannotTell("the session was not seen whole, or may be several clients'")
    elif conversation.unread_post is not None or (subscribed is not None and resources is None):
        yield CannotTell("some subscription may have been missed")
    elif covered is None:
        yield CannotTell("the URIs do not say whether it lies within what was subscribed to")
    else:
        yield Violated(
            message.path,
            "notifications/resources/updated came for {}, which was never subscribed to.",
            (Evidence("uri", uri),),
        )
