"""Flows that were loaded from a file (`-r`), judged as if they came by again.

A file holds flows in the order in which they ended. What is judged is the order in which things happened, so flows are
gathered first and taken apart into one sequence of parts, by time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from mitmproxy import http

from mcp_wire.live.clock import TICK, Microseconds
from mcp_wire.live.outgoing import Outgoing
from mcp_wire.live.parts import EndPart, Part, RequestPart
from mcp_wire.live.stored import begun_us, stored_parts
from mcp_wire.wire.observation import Ended

MAX_GATHERED_OCTETS: Final = 256 * 1024 * 1024
"""Bodies gathered before they are judged. A larger file is judged in stretches, each in the order of its times."""


@dataclass(frozen=True, slots=True)
class LoadedEntry:
    """A part of a flow, to be handed over in its turn."""

    exchange: Outgoing
    at: Microseconds
    part: Part

    def hand_over(self) -> None:
        if isinstance(self.part, bytes):
            self.exchange.chunk(self.at, self.part)
        else:
            self.exchange.put(self.at, self.part)


class LoadedFlows:
    """Gathers flows. `begin` makes an exchange and its first part of a flow, or None where it is not MCP.

    `zero_wall_us`: the zero of the clock of what is observed live, so that what was loaded comes before it.
    """

    def __init__(
        self, begin: Callable[[http.HTTPFlow], tuple[Outgoing, RequestPart] | None], zero_wall_us: Microseconds
    ) -> None:
        self._begin = begin
        self._flows: dict[str, http.HTTPFlow] = {}
        self._octets = 0
        # Rounded, so that the times of one file keep their distances in every run.
        self._zero = zero_wall_us // TICK * TICK
        self._last: Microseconds | None = None

    def __len__(self) -> int:
        return len(self._flows)

    @property
    def is_full(self) -> bool:
        return self._octets > MAX_GATHERED_OCTETS

    def add(self, flow: http.HTTPFlow) -> None:
        """Take a flow in; one that is announced twice counts once."""
        if flow.id not in self._flows:
            self._flows[flow.id] = flow
            for message in (flow.request, flow.response):
                self._octets += len(message.raw_content or b"") if message is not None else 0

    def entries(self) -> Iterator[LoadedEntry]:
        """Everything gathered, in the order of time, with strictly increasing times. Empties the collection."""
        flows = sorted(self._flows.values(), key=begun_us)
        self._flows.clear()
        self._octets = 0
        parts: list[LoadedEntry] = []
        for flow in flows:
            begun = self._begin(flow)
            if begun is not None:
                exchange, request = begun
                parts += (LoadedEntry(exchange, at, part) for at, part in stored_parts(flow, request))
        # What was still running was so when everything else was over: that the capture stopped is seen last.
        parts.sort(key=lambda entry: (_is_open_end(entry.part), entry.at))
        for entry in parts:
            at = entry.at // TICK * TICK - self._zero
            self._last = at if self._last is None else max(self._last + TICK, at)
            yield replace(entry, at=self._last)


def _is_open_end(part: Part) -> bool:
    return isinstance(part, EndPart) and part.ending.ended is Ended.OPEN
