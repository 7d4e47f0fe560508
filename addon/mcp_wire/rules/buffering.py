"""How events travel: held back, delivered together, cut off by the clock."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Arrival, Ending, Relayed
from mcp_wire.conversation.idle_ends import was_due
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdict, Verdicts, Violated
from mcp_wire.protocol.profiles import R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28
from mcp_wire.wire.observation import Milliseconds

BOOK: Final = RuleBook("intermediary")
rule = BOOK.rule

HELD_BACK_MS: Final = 1_000.0
TOGETHER_MS: Final = 10.0
LONG_SILENCE_MS: Final = 2_000.0
FEW_EVENTS: Final = 3

WHATWG: Final = "https://html.spec.whatwg.org/multipage/server-sent-events.html"
STREAMING: Final = {
    R2026_07_28: "basic/transports/streamable-http#receiving-messages",
    **dict.fromkeys((R2025_03_26, R2025_06_18, R2025_11_25), "basic/transports#sending-messages-to-the-server"),
}


@rule(
    "response_buffered",
    level="warning",
    party="intermediary",
    layer="response_framing",
    version_neutral=True,
    cites=STREAMING,
    says="Events reach the client when the server sends them, not all at the end.",
    fix="Switch off response buffering on the way (for nginx `proxy_buffering off`, or send `X-Accel-Buffering: no`).",
    exceptions=(
        "Seen from one side it is a note only: a server may really write everything at the end. Delays below a second "
        "are not judged."
    ),
    evidence=(
        "Times of the events. From one side: three events or more, some of them no response, which all came within "
        "10 ms after more than two seconds without a byte. From both sides (`server_side_of`): an event that took more "
        "than a second longer than its way, and came together with a later one."
    ),
)
def events_are_not_held_back(fact: Ending | Relayed, conversation: Conversation) -> Verdicts:
    if conversation.legacy_transport:
        return
    verdict = _from_both_sides(fact) if isinstance(fact, Relayed) else _from_one_side(fact)
    if verdict is not None:
        yield verdict


def _from_both_sides(relayed: Relayed) -> Verdict | None:
    arrived, sent = relayed.exchange.arrivals, relayed.upstream.arrivals
    if not relayed.exchange.is_event_stream or not relayed.upstream.is_event_stream or not sent:
        return None
    if len(arrived) != len(sent):
        return CannotTell("the events of the two sides cannot be matched")
    times = [(one.t_ms, other.t_ms) for one, other in zip(arrived, sent, strict=True)]
    known = [(at, left) for at, left in times if at is not None and left is not None]
    if len(known) < len(times):
        return CannotTell("it is not known when the events were sent and arrived")
    delays = [
        at - left
        for (at, left), (next_at, _) in pairwise(known)
        if at - left > HELD_BACK_MS and next_at - at <= TOGETHER_MS
    ]
    if not delays:
        return SATISFIED
    return Violated(
        relayed.exchange.stream_path,
        f"An intermediary held events back: one arrived {max(delays) / 1000:.1f} s after it was sent, with the next.",
        exchange=relayed.exchange.id,
    )


def _from_one_side(ending: Ending) -> Verdict | None:
    exchange = ending.exchange
    head, asked_ms = exchange.head, exchange.request.t_ms
    if head is None or not exchange.is_event_stream or exchange.upstream or exchange.events < FEW_EVENTS:
        return None
    if not (exchange.messages > len(exchange.calls) or exchange.events > exchange.dispatched):
        return None
    first, last = exchange.first_chunk_ms, exchange.latest_arrival
    if first is None or last is None or last.t_ms is None or asked_ms is None or not head.boundaries_observed:
        return CannotTell("it is not known when the events arrived")
    if last.t_ms - first > HELD_BACK_MS:
        return SATISFIED
    if last.t_ms - first > TOGETHER_MS or first - asked_ms <= LONG_SILENCE_MS or not _is_over(ending, last.t_ms):
        return None
    return Violated(
        exchange.stream_path,
        f"All {exchange.events} events came at once after {(first - asked_ms) / 1000:.1f} s without a byte; an "
        "intermediary may have held them back.",
        level="info",
    )


def _is_over(ending: Ending, last_ms: Milliseconds) -> bool:
    """The burst was the end of the stream."""
    return ending.t_ms is not None and not ending.exchange.is_open and ending.t_ms - last_ms <= HELD_BACK_MS


@rule(
    "sse_chunk_coalesced",
    level="info",
    party="intermediary",
    layer="response_framing",
    version_neutral=True,
    rule_set="extended",
    cites={"WHATWG HTML": f"{WHATWG}#parsing-an-event-stream"},
    says="Whether each event came in a chunk of its own, which a client must not count on.",
    fix="In the client, collect bytes until the blank line; take no chunk for an event.",
    exceptions="Entirely legal, and ordinary behind gateways and above 64 KiB. The first 64 events are looked at.",
    evidence="The chunks as they arrived.",
)
def events_have_chunks_of_their_own(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    if exchange.head is None or not exchange.arrivals or conversation.legacy_transport:
        return
    if not exchange.head.boundaries_observed:
        yield CannotTell("the chunks were not seen as they arrived")
        return
    spread = sum(arrival.last_chunk > arrival.first_chunk for arrival in exchange.arrivals)
    together = _sharing(exchange.arrivals)
    if spread or together:
        ways = [f"{together} shared a chunk"] * bool(together) + [f"{spread} came in several"] * bool(spread)
        yield Violated(exchange.stream_path, f"Chunks are not events: of the events, {' and '.join(ways)}.")
    else:
        yield SATISFIED


def _sharing(arrivals: Sequence[Arrival]) -> int:
    """How many events end in the chunk in which the one before them ended."""
    return sum(later.last_chunk == earlier.last_chunk for earlier, later in pairwise(arrivals))


@rule(
    "idle_timeout_suspected",
    level="info",
    party="intermediary",
    layer="intermediary",
    version_neutral=True,
    rule_set="extended",
    cites={
        R2026_07_28: "basic/transports/streamable-http#receiving-messages",
        "WHATWG HTML": f"{WHATWG}#authoring-notes",
    },
    says="Streams are not ended by the same stretch of silence again and again.",
    fix="Send a comment more often than the stretch, or raise the timeout that it points to.",
    exceptions=(
        "A server's own idle timer looks the same. Three ends after silences of ten seconds or more that agree within "
        "two per cent. Ends that the client brought about, and streams that had done their work, do not count."
    ),
    evidence="When each stream carried its last event and when it ended, and who ended it.",
)
def silence_does_not_end_streams(ending: Ending, conversation: Conversation) -> Verdicts:
    exchange = ending.exchange
    if not exchange.is_event_stream or conversation.legacy_transport or exchange.is_open:
        return
    agreeing = conversation.idle_ends.agreeing
    if was_due(ending):
        yield SATISFIED
    elif 0 < len(agreeing) < FEW_EVENTS:
        yield CannotTell("fewer than three streams ended after the same silence")
    elif agreeing:
        message = f"{len(agreeing)} streams ended after {agreeing[-1] / 1000:.0f} s without an event."
        yield Violated(ending.path, message)
