"""Flows as the models of the content view: running or over, live or loaded from a file, raw or redacted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Final, Protocol

from mitmproxy import http

from mcp_wire.conversation.facts import EVENT_STREAM
from mcp_wire.live import endings
from mcp_wire.live.exchange import read_body
from mcp_wire.live.flow_notes import notes_of
from mcp_wire.live.marks import (
    ENDED,
    RECEIVED,
    UNSEEN_BOUNDARIES,
    MarkedRun,
    marked_runs,
    received_octets,
    seen_times,
)
from mcp_wire.live.messages import headers, target
from mcp_wire.live.session_labels import SessionLabels
from mcp_wire.reports.exchange_view import RequestView, ResponseView, request_text, response_text, wanted_events
from mcp_wire.reports.header_checks import header_checks
from mcp_wire.reports.shown_stream import ChunkRun, Chunks, Selection, shown_stream
from mcp_wire.wire.body import Body
from mcp_wire.wire.content_coding import decoder_for
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.media_types import essence
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from mcp_wire.wire.strict_json import MISSING, dump_json

MAX_DECODED_OCTETS: Final = 32 * 1024 * 1024
"""Of a content-coded body, so much is decoded for the view."""
MAX_COMPARED_OCTETS: Final = 1024 * 1024
"""A larger request body is not held against the headers, and not redacted as JSON."""
_NOT_CAPTURED: Final = "it was not captured"
_NOT_READY: Final = "What redacts is being made ready: look again in a second."


class Redacting(Protocol):
    """What redacts for the view. Equal values have equal labels, in everything that it shows."""

    def feed(self, observation: Observation) -> list[Observation]: ...

    def show(self, evidence: Evidence) -> str: ...


class FlowView:
    """The texts of the content view. Values are shown as they are, until `redact` is called."""

    def __init__(self, sessions: SessionLabels) -> None:
        self.is_redacted = False
        self._redactor: Redacting | None = None
        self._sessions = sessions
        self._count = 0

    def redact(self) -> None:
        """Show redacted values only; none at all until `redact_with` gives what redacts."""
        self.is_redacted = True

    def redact_with(self, redactor: Redacting) -> None:
        """Redact with this, if values are still to be redacted."""
        self._redactor = redactor if self.is_redacted else None

    def show_values(self) -> None:
        """Show values as they are."""
        self.is_redacted = False
        self._redactor = None

    def request(self, flow: http.HTTPFlow) -> str:
        """The request of a flow as text."""
        return request_text(self._request(flow)) if self._is_ready() else _NOT_READY

    def response(self, flow: http.HTTPFlow) -> str:
        """The response of a flow as text, as far as it has come."""
        return response_text(self._response(flow)) if self._is_ready() else _NOT_READY

    def _is_ready(self) -> bool:
        if not self.is_redacted:
            return True
        if self._redactor is None:
            return False
        for session in self._sessions.seen():  # in their order, so that they have the labels of the flow list
            self._redactor.show(Evidence("session", session))
        return True

    def _request(self, flow: http.HTTPFlow) -> RequestView:
        notes = notes_of(flow)
        seen = self._request_seen(flow)
        raw = flow.request.raw_content
        return RequestView(
            method=seen.method,
            target=seen.path,
            checks=tuple(header_checks(seen.headers, seen.body, notes.profile if notes is not None else None)),
            body=_text(seen.body) if self._redactor is not None else _raw_text(raw, seen.headers),
            absent=seen.body.absence or _NOT_CAPTURED,
            notes=notes,
            session=notes.session if notes is not None else None,
        )

    def _response(self, flow: http.HTTPFlow) -> ResponseView:
        response = flow.response
        assert response is not None
        lines = headers(response)
        notes = notes_of(flow)
        raw = response.raw_content or b""
        ended, is_running, reset_code = _ending(flow)
        view = ResponseView(
            status=response.status_code,
            media_type=lines.get("content-type") or "",
            is_running=is_running,
            ended=ended,
            reset_code=reset_code,
            octets=received_octets(flow.metadata) or len(raw),
            lasted_ms=_lasted_ms(flow, is_running),
            notes=notes,
            session=notes.session if notes is not None else None,
        )
        remarks = []
        if view.octets > len(raw):
            remarks.append(f"Only the first {len(raw)} bytes of the body were kept.")
        if essence(lines.get("content-type")) == EVENT_STREAM:
            return self._stream(flow, view, raw, lines, remarks)
        body = _decoded(raw, lines)
        if body.fault:
            remarks.append(f"Not all of the body could be decoded: {body.fault}.")
        text: str | None = body.data.decode("utf-8", "replace")
        if self._redactor is not None:
            text = self._redacted_body(flow, lines, body.data)
        return replace(view, body=text, remarks=tuple(remarks))

    def _stream(
        self, flow: http.HTTPFlow, view: ResponseView, raw: bytes, lines: Headers, remarks: list[str]
    ) -> ResponseView:
        runs = marked_runs(flow.metadata, len(raw)) if flow.metadata.get(UNSEEN_BOUNDARIES) is not True else []
        is_whole = len(runs) == 1
        body = _decoded(raw, lines, [octets for _, octets in runs[0].chunks] if is_whole else ())
        if body.fault:
            remarks.append(f"Not all of the stream could be decoded: {body.fault}.")
        if runs and not is_whole:
            if "content-encoding" in lines:
                runs = []
            else:
                remarks.append("Of its many chunks only the first and the last were kept apart.")
        zero = _begun_us(flow)
        chunks = Chunks(tuple(_run(run, body.ends if is_whole else None, zero) for run in runs))
        rewrite = self._rewritten if self._redactor is not None else None
        stream = shown_stream(body.data, chunks, Selection(wanted_events(view.notes)), rewrite)
        return replace(
            view,
            stream=stream,
            chunks=runs[-1].first + len(runs[-1].chunks) if runs else None,
            boundaries_known=bool(runs) or not raw,
            lasted_ms=view.lasted_ms if view.lasted_ms is not None else chunks.latest_ms,
            remarks=tuple(remarks),
        )

    # Redaction

    def _request_seen(self, flow: http.HTTPFlow) -> RequestSeen:
        request, lines = flow.request, headers(flow.request)
        raw = request.raw_content
        if raw is not None and len(raw) > MAX_COMPARED_OCTETS:
            body = Body.not_captured("it is too large to be shown here" if self._redactor else "")
        else:
            body = read_body(lines, raw, _NOT_CAPTURED)
        seen = RequestSeen(self._name(), None, request.method, target(flow), lines, body, request.http_version)
        if self._redactor is None:
            return seen
        [redacted] = self._redactor.feed(seen)
        self._redactor.feed(ExchangeEnded(seen.exchange, None, None))
        assert isinstance(redacted, RequestSeen)
        return redacted

    def _redacted_body(self, flow: http.HTTPFlow, lines: Headers, data: bytes) -> str | None:
        assert self._redactor is not None
        self._request_seen(flow)  # so that what the response repeats has the label that it has there
        name = self._name()
        if len(data) > MAX_COMPARED_OCTETS:
            return None
        self._redactor.feed(ResponseSeen(name, None, 200, lines))
        [redacted] = self._redactor.feed(ResponseBody(name, None, Body.read(data)))
        self._redactor.feed(ExchangeEnded(name, None, None))
        assert isinstance(redacted, ResponseBody)
        return _text(redacted.body)

    def _rewritten(self, raw: bytes, is_whole: bool, cuts: Sequence[int]) -> tuple[bytes, Sequence[int]]:
        """One block, redacted: by itself it means what it means in its stream."""
        assert self._redactor is not None
        name = self._name()
        edges = [0, *cuts, len(raw)]
        pieces = [raw[start:end] for start, end in pairwise(edges)]
        if is_whole:
            pieces.append(b"\n\n")
        out: list[Observation] = []
        for piece in pieces:
            out += self._redactor.feed(ResponseChunk(name, None, piece))
        out += self._redactor.feed(ExchangeEnded(name, None, None))
        rewritten = [chunk.data for chunk in out if isinstance(chunk, ResponseChunk)]
        text = b"".join(rewritten)
        places: list[int] = []
        position = 0
        for data in rewritten[: len(cuts)]:
            position += len(data)
            places.append(position)
        places += [position] * (len(cuts) - len(places))
        if is_whole:
            text = text.rstrip(b"\n")
        return text, [min(place, len(text)) for place in places]

    def _name(self) -> str:
        self._count += 1
        return f"view-{self._count}"


class _Decoded:
    """A body without its content coding: the bytes, and where in them each of its chunks ended."""

    def __init__(self, data: bytes, ends: Sequence[int] = (), fault: str = "") -> None:
        self.data = data
        self.ends = ends
        self.fault = fault


def _decoded(raw: bytes, lines: Headers, lengths: Sequence[int] = ()) -> _Decoded:
    coding = lines.joined("content-encoding")
    if coding is None:
        ends = []
        position = 0
        for octets in lengths:
            position += octets
            ends.append(position)
        return _Decoded(raw, ends)
    decoder = decoder_for(coding)
    data = bytearray()
    ends = []
    position = 0
    for octets in lengths or (len(raw),):
        for piece in decoder.pieces(raw[position : position + octets]):
            data += piece
            if len(data) > MAX_DECODED_OCTETS:
                return _Decoded(bytes(data), ends, f"it is larger than {MAX_DECODED_OCTETS // 1024 // 1024} MiB")
        if decoder.failed is not None:
            return _Decoded(bytes(data), ends, decoder.failed)
        position += octets
        ends.append(len(data))
    return _Decoded(bytes(data), ends if lengths else ())


def _run(run: MarkedRun, ends: Sequence[int] | None, zero_us: int) -> ChunkRun:
    """`ends`: where its chunks end in the decoded stream; None: nothing is coded."""
    if ends is None:
        ends = list(accumulate((octets for _, octets in run.chunks), initial=run.begin))[1:]
    times = [max(0.0, (wall_us - zero_us) / 1000) for wall_us, _ in run.chunks[: len(ends)]]
    return ChunkRun(run.first, run.begin, ends, times)


def _begun_us(flow: http.HTTPFlow) -> int:
    seen = seen_times(flow.metadata)
    if seen is not None:
        return seen.request_us
    return round((flow.request.timestamp_end or flow.request.timestamp_start) * 1_000_000)


def _ending(flow: http.HTTPFlow) -> tuple[Ended | None, bool, str | None]:
    """How it ended; whether it still runs; the code of a reset."""
    response = flow.response
    is_over = ENDED in flow.metadata or RECEIVED in flow.metadata or flow.error is not None
    if flow.live and not is_over and (response is None or response.timestamp_end is None):
        return None, True, None
    ending = endings.of_stored(flow)
    return ending.ended, False, ending.reset_code


def _lasted_ms(flow: http.HTTPFlow, is_running: bool) -> float | None:
    if is_running:
        return None
    seen = seen_times(flow.metadata)
    if seen is not None:
        return (seen.ended_us - seen.request_us) / 1000
    over = flow.response.timestamp_end if flow.response is not None else None
    return max(0.0, over - flow.request.timestamp_start) * 1000 if over is not None else None


def _text(body: Body) -> str | None:
    """The text of a redacted body."""
    if not body.is_captured:
        return None
    if body.text is not None:
        return body.text
    return "" if body.value is MISSING else dump_json(body.value)


def _raw_text(raw: bytes | None, lines: Headers) -> str | None:
    return None if raw is None else _decoded(raw, lines).data.decode("utf-8", "replace")
