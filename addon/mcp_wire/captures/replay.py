"""A capture, told in the order in which things happened, as far as it is MCP.

A capture holds exchanges in the order in which they ended, or in none. Each is read when its time comes and let go of
when it is over: what runs at the same time is in memory, whatever the size of the capture.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from mcp_wire.captures.stored import Capture, LeftOut, Place, StoredExchange
from mcp_wire.live.clock import TICK, Microseconds
from mcp_wire.live.exchange import body_of
from mcp_wire.live.parts import EndPart, Entry, HeadPart, Part, RequestPart
from mcp_wire.live.probation import Probation
from mcp_wire.live.recognition import Recogniser, Verdict

MAX_EVIDENCE_OCTETS: Final = 64 * 1024
"""As live: a longer body of a POST is not asked whether its endpoint speaks MCP."""

MAX_LEFT_OUT_TOLD: Final = 100

MAX_COMPARED: Final = 16
"""Exchanges that began in the same microsecond and are held against each other whole; of more, only who they are."""

_TimedPart = tuple[str, Microseconds, Part]

_PLACE: Final = struct.Struct(">QQ")


class Index:
    """Where the exchanges of a capture stand, by time: 16 octets each, and what Python adds to them."""

    def __init__(self, places: Iterable[Place | LeftOut]) -> None:
        self.left_out: list[LeftOut] = []
        """The first of what cannot be read."""
        self.more_left_out = 0
        self.repeated = 0
        """Recordings of what was recorded already, and the first of those; known when everything was replayed."""
        self.first_repeated: Place | None = None
        self._packed: list[bytes] = []
        for place in places:
            if isinstance(place, LeftOut):
                if len(self.left_out) < MAX_LEFT_OUT_TOLD:
                    self.left_out.append(place)
                else:
                    self.more_left_out += 1
            else:
                self._packed.append(_PLACE.pack(max(place.at, 0), place.offset))
        self._packed.sort()

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[Place]:
        return (Place(*_PLACE.unpack(packed)) for packed in self._packed)

    def note_repeated(self, place: Place) -> None:
        """What stands there is a recording of an exchange that is there already."""
        self.repeated += 1
        if self.first_repeated is None:
            self.first_repeated = place


def replayed(capture: Capture, index: Index) -> Iterator[Entry]:
    """The parts of all exchanges that are MCP, with strictly increasing times since the first."""
    recognition = _Recognition()
    zero: Microseconds | None = None
    last = -TICK
    for name, wall_us, part in _in_order(_exchanges(capture, index), recognition):
        for held_name, held_us, held in recognition.take(name, wall_us, part):
            zero = held_us if zero is None else zero
            last = max(last + TICK, held_us - zero)
            yield held_name, last, held


def _exchanges(capture: Capture, index: Index) -> Iterator[tuple[Microseconds, StoredExchange]]:
    """By the time of their first parts; one that is there twice counts once."""
    for at, places in groupby(index, key=lambda place: place.at):
        for exchange in _distinct(capture, list(places), index):
            yield at, exchange


def _distinct(capture: Capture, places: Sequence[Place], index: Index) -> Iterator[StoredExchange]:
    """What began at the same moment. Whoever sends something again does so later, with other times throughout, where
    these are exact."""
    if len(places) == 1:
        yield capture.exchange(places[0])
        return
    # What was saved later knows more of an exchange that still ran at first.
    latest: dict[str, Place] = {}
    for place in places:
        identity = capture.exchange(place).identity
        if identity in latest:
            index.note_repeated(place)
        latest[identity] = place
    told: list[StoredExchange] = []
    for place in latest.values():
        exchange = capture.exchange(place)
        if exchange.exact and any(exchange.parts == one.parts for one in told):
            index.note_repeated(place)
            continue
        if len(latest) <= MAX_COMPARED:
            told.append(exchange)
        yield exchange


def _in_order(
    exchanges: Iterable[tuple[Microseconds, StoredExchange]], recognition: _Recognition
) -> Iterator[_TimedPart]:
    running: list[tuple[Microseconds, int, int, StoredExchange]] = []
    for number, (begun, exchange) in enumerate(exchanges):
        while running and running[0][0] < begun:
            yield from _next(running)
        recognition.expect(f"x-{number + 1}", exchange.recognised)
        heapq.heappush(running, (begun, number, 0, exchange))
    while running:
        yield from _next(running)


def _next(running: list[tuple[Microseconds, int, int, StoredExchange]]) -> Iterator[_TimedPart]:
    at, number, position, exchange = running[0]
    yield f"x-{number + 1}", at, exchange.parts[position][1]
    if position + 1 < len(exchange.parts):
        following = max(at, exchange.parts[position + 1][0])
        heapq.heapreplace(running, (following, number, position + 1, exchange))
    else:
        heapq.heappop(running)


@dataclass(slots=True)
class _Candidate:
    """An exchange that is, or may turn out to be, MCP."""

    request: RequestPart
    recognised: bool
    probation: Probation | None = None


class _Recognition:
    """Decides what live recognition decides, at the same moments and by the same evidence."""

    def __init__(self) -> None:
        self._recogniser = Recogniser()
        self._without_asking: set[str] = set()
        self._candidates: dict[str, _Candidate] = {}

    def expect(self, name: str, recognised: bool) -> None:
        """An exchange will begin; `recognised`: it is MCP."""
        if recognised:
            self._without_asking.add(name)

    def take(self, name: str, at: Microseconds, part: Part) -> list[Entry]:
        """The parts of MCP exchanges that can be told now."""
        if isinstance(part, RequestPart):
            return self._request(name, at, part)
        candidate = self._candidates.get(name)
        if candidate is None:
            return []
        entry = name, at, part
        if isinstance(part, EndPart):
            del self._candidates[name]
        if candidate.probation is not None:
            return self._on_probation(name, candidate, entry)
        if not isinstance(part, HeadPart):
            return [entry] if candidate.recognised else []
        told: list[Entry] = [entry]
        if not candidate.recognised:
            if "mcp-session-id" not in part.headers:
                del self._candidates[name]
                return []
            # Told only now, so it comes only now, as live.
            candidate.recognised = True
            told.insert(0, (name, at, candidate.request))
        self._recogniser.answered(candidate.request.origin.endpoint, part.status, part.headers)
        return told

    def _request(self, name: str, at: Microseconds, part: RequestPart) -> list[Entry]:
        if name in self._without_asking:
            self._without_asking.discard(name)
            verdict = Verdict.MCP
        else:
            verdict = self._recogniser.head(part.origin.endpoint, part.method, part.target, part.headers)
        if verdict is Verdict.OTHER:
            return []
        candidate = self._candidates[name] = _Candidate(part, verdict is Verdict.MCP or self._shows_mcp(part))
        if verdict is Verdict.FIRST_EVENT_DECIDES:
            candidate.probation = Probation(part.origin.endpoint, self._recogniser)
            return self._on_probation(name, candidate, (name, at, part))
        return [(name, at, part)] if candidate.recognised else []

    def _on_probation(self, name: str, candidate: _Candidate, entry: Entry) -> list[Entry]:
        assert candidate.probation is not None
        part = entry[2]
        released: list[Entry] | None = [] if isinstance(part, HeadPart) and not part.events else None
        if released is None:
            released = candidate.probation.hold(entry)
        if released is None:
            return []
        candidate.probation = None
        candidate.recognised = bool(released)
        if not released:
            self._candidates.pop(name, None)
        return released

    def _shows_mcp(self, part: RequestPart) -> bool:
        if not part.raw or len(part.raw) > MAX_EVIDENCE_OCTETS:
            return False
        is_coded = "content-encoding" in part.headers and not part.decoded
        if not is_coded and b'"jsonrpc"' not in part.raw:
            return False
        return self._recogniser.body(body_of(part))
