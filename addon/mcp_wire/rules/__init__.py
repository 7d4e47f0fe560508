"""Every rule of the product, one file a finding family. A rule is a small function beside its declaration."""

from typing import Final

from mcp_wire.judging.declaration import Rule
from mcp_wire.rules import (
    buffering,
    caching,
    cancellation,
    capabilities,
    event_streams,
    features,
    header_annotations,
    intermediaries,
    jsonrpc_messages,
    lifecycle,
    lists,
    mirrored_headers,
    multi_round_trip,
    profile_evidence,
    progress,
    relayed_exchanges,
    replays,
    request_construction,
    request_metadata,
    resources,
    responses,
    resumption,
    security,
    sessions,
    stream_endings,
    stream_routing,
    subscriptions,
    tasks,
    tools,
    transcript_form,
    unanswered_requests,
    utilities,
    version_negotiation,
)

BOOKS: Final = (
    transcript_form.BOOK,
    profile_evidence.BOOK,
    request_construction.BOOK,
    jsonrpc_messages.BOOK,
    mirrored_headers.BOOK,
    header_annotations.BOOK,
    request_metadata.BOOK,
    version_negotiation.BOOK,
    lifecycle.BOOK,
    capabilities.BOOK,
    responses.BOOK,
    sessions.BOOK,
    event_streams.BOOK,
    stream_routing.BOOK,
    stream_endings.BOOK,
    resumption.BOOK,
    replays.BOOK,
    unanswered_requests.BOOK,
    cancellation.BOOK,
    progress.BOOK,
    subscriptions.BOOK,
    multi_round_trip.BOOK,
    caching.BOOK,
    utilities.BOOK,
    intermediaries.BOOK,
    buffering.BOOK,
    relayed_exchanges.BOOK,
    tools.BOOK,
    lists.BOOK,
    resources.BOOK,
    tasks.BOOK,
    features.BOOK,
    security.BOOK,
)

ALL_RULES: Final[tuple[Rule, ...]] = tuple(rule for book in BOOKS for rule in book.rules)


def rules_of(*, extended: bool = False) -> tuple[Rule, ...]:
    """The default rule set, or everything."""
    return ALL_RULES if extended else tuple(rule for rule in ALL_RULES if rule.rule_set == "default")
