"""What the judge says of exchanges, put on their flows and shown while it happens.

Whatever is shown is shown again at intervals, not with every chunk: in mitmweb an update costs as much as the body of
its flow is long. Bytes of an open stream that a person may be looking at are lent to its flow in the same intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol
from weakref import WeakValueDictionary

from mitmproxy import http

from mcp_wire.live.flow_notes import forget_notes, notes_of, put_notes
from mcp_wire.live.judge_messages import Noted
from mcp_wire.live.marks import CHUNKS, EDGES
from mcp_wire.live.messages import headers
from mcp_wire.live.recognition import is_foreign
from mcp_wire.live.session_labels import SessionLabels
from mcp_wire.wire.body import Body

OCTETS_A_SECOND: Final = 8 * 1024 * 1024
"""A stream of so many octets is updated once a second at most: each update copies and hashes what has come so far."""
MAX_READ_OCTETS: Final = 256 * 1024
"""A longer request that the judge has not spoken of yet is not asked whether it is another protocol's."""


class Tap(Protocol):
    """The bytes of a stream on its way: how many were received, how many of them are kept."""

    @property
    def received(self) -> int: ...

    @property
    def kept(self) -> int: ...

    def so_far(self) -> tuple[bytes, dict[str, bytes]]:
        """What is kept, and the marks of its chunks as metadata."""
        ...


class Showing(Protocol):
    """Where flows are shown: at the earliest so many seconds after they were shown last."""

    @property
    def interval_s(self) -> float: ...

    def update(self, flows: list[http.HTTPFlow]) -> None:
        """These flows have changed."""
        ...

    def refresh(self, flows: list[http.HTTPFlow]) -> None:
        """What is shown of the content of these flows has changed, though the content has not."""
        ...


@dataclass(slots=True)
class _Stream:
    flow: http.HTTPFlow
    tap: Tap
    lent: bytes | None = None
    """What stands in the flow as its body: ours, and only for looking at."""
    received: int = 0
    """Octets that had come when the judge was asked last."""
    pause_s: float = 0.0
    """Until the bytes are lent again."""

    @property
    def is_behind(self) -> bool:
        return self.lent is None or self.tap.kept != len(self.lent)


class Annotations:
    """The flows that are followed, by the names of their exchanges.

    `later` schedules a call in some seconds; `ask` asks the judge how far it is. `showing` None: nobody looks while
    traffic runs, so that flows get their notes and nothing is shown again. `annotate`: markers and comments as well.
    """

    def __init__(
        self,
        later: Callable[[float, Callable[[], None]], object],
        ask: Callable[[], None],
        showing: Showing | None,
        sessions: SessionLabels,
        *,
        annotate: bool,
    ) -> None:
        self._later = later
        self._ask = ask
        self._showing = showing
        self._interval_s = showing.interval_s if showing is not None else 0.0
        self._sessions = sessions
        self._annotate = annotate
        self._flows: WeakValueDictionary[str, http.HTTPFlow] = WeakValueDictionary()
        self._followed: WeakValueDictionary[str, http.HTTPFlow] = WeakValueDictionary()
        self._streams: dict[str, _Stream] = {}
        self._changed: dict[str, http.HTTPFlow] = {}
        self._scheduled = False

    def follow(self, exchange: str, flow: http.HTTPFlow, *, certain: bool = True) -> None:
        """This flow is, or (not `certain`) may turn out to be, the exchange of this name."""
        if flow.live:
            forget_notes(flow)
        self._flows[exchange] = flow
        if certain:
            self._followed[flow.id] = flow

    def is_mcp(self, flow: http.HTTPFlow) -> bool:
        """The judge has spoken of it, or will."""
        if notes_of(flow) is not None:
            return True
        if flow.id not in self._followed:
            return False
        raw = flow.request.raw_content or b""
        return len(raw) > MAX_READ_OCTETS or not is_foreign(headers(flow.request), Body.read(raw))

    def stream(self, flow: http.HTTPFlow, tap: Tap) -> None:
        """The response of this flow is an event stream that begins now."""
        if self._showing is not None:
            self._streams[flow.id] = _Stream(flow, tap)
            self._schedule()

    def seen(self) -> None:
        """Something of a stream has come. Cheap: called for every chunk."""
        if self._streams:
            self._schedule()

    def over(self, flow: http.HTTPFlow) -> None:
        """The stream of this flow ends: what was lent to it is taken back."""
        stream = self._streams.pop(flow.id, None)
        if stream is not None and stream.lent is not None and flow.response is not None:
            if flow.response.raw_content is stream.lent:
                flow.response.raw_content = None
            for name in (CHUNKS, EDGES):
                flow.metadata.pop(name, None)

    def noted(self, noted: Noted) -> http.HTTPFlow | None:
        """Put the notes on the flow, if it still exists."""
        flow = self._flows.get(noted.flow)
        if flow is None:
            return None
        put_notes(flow, replace(noted.notes, session=self._sessions.of(flow)), annotate=self._annotate)
        if self._showing is not None:
            self._changed[flow.id] = flow
            self._schedule()
        return flow

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._later(self._interval_s, self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        showing = self._showing
        assert showing is not None
        grown = {stream.flow.id: stream.flow for stream in [*self._streams.values()] if self._lend(stream)}
        changed = self._changed
        self._changed = {}
        if grown or changed:
            showing.update([*(grown | changed).values()])
        refreshed = [flow for flow in changed.values() if flow.id not in grown]
        if refreshed:
            showing.refresh(refreshed)
        if self._advanced(self._streams.values()):
            self._ask()
        if any(stream.is_behind for stream in self._streams.values()):
            self._schedule()

    def _lend(self, stream: _Stream) -> bool:
        """Let the flow show what has come of its stream. False where there is nothing new, or it is too early."""
        stream.pause_s -= self._interval_s
        response = stream.flow.response
        if stream.pause_s > 0 or response is None or not stream.is_behind:
            return False
        if response.raw_content is not stream.lent:  # another addon has put something there
            del self._streams[stream.flow.id]
            return False
        data, marks = stream.tap.so_far()
        response.raw_content = stream.lent = data
        stream.flow.metadata.update(marks)
        stream.pause_s = len(data) / OCTETS_A_SECOND
        return True

    def _advanced(self, streams: Iterable[_Stream]) -> bool:
        advanced = False
        for stream in streams:
            advanced = advanced or stream.received != stream.tap.received
            stream.received = stream.tap.received
        return advanced
