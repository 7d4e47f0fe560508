"""The hooks: what mitmproxy tells becomes parts of exchanges, in one order, behind the traffic and never before it.

Whatever goes wrong in here is logged once and costs evidence, not traffic.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from mitmproxy import connection, ctx, exceptions, http
from mitmproxy import flow as mitmproxy_flow
from mitmproxy.addonmanager import Loader

from mcp_wire.live import endings
from mcp_wire.live.clock import Clock, Microseconds
from mcp_wire.live.exchange import read_body
from mcp_wire.live.exit_code import end_incomplete
from mcp_wire.live.faults import Faults
from mcp_wire.live.front import Front
from mcp_wire.live.judge_messages import Message
from mcp_wire.live.loaded import LoadedEntry, LoadedFlows
from mcp_wire.live.marks import (
    CHUNKS,
    ENDED,
    IN_SCOPE,
    MARK,
    NO_REQUEST_BODY,
    NO_RESPONSE_BODY,
    RECEIVED,
    TIMES,
    UNSEEN_BOUNDARIES,
    SeenTimes,
    remove_marks,
)
from mcp_wire.live.messages import endpoint, head_of, headers, target
from mcp_wire.live.options import (
    CHANGEABLE,
    OPTIONS,
    BadOption,
    Settings,
    command_lines,
    refusal,
    repair_deferred,
    settings_of,
)
from mcp_wire.live.outbox import PAUSE_S
from mcp_wire.live.outgoing import Judging, Outgoing
from mcp_wire.live.parts import TOO_LARGE, AskPart, Ending, EndPart, HeadPart, LostPart, RequestPart
from mcp_wire.live.probation import Probation
from mcp_wire.live.recognition import Recogniser, Verdict
from mcp_wire.live.stored import request_part, stored_request, was_observed
from mcp_wire.live.tap import Allowance, BodyTap, Copy, ResponseTap
from mcp_wire.reports.words import printable
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.media_types import essence

logger: Final = logging.getLogger("mcp_conformance")

LOADING_PAUSE_S: Final = 0.5
"""Loaded flows are judged together once none has come for so long."""
RELOADED_S: Final = 1.0
"""A script that is loaded again is so at once; one that is not by then was dropped."""
LOADED_OCTETS_AHEAD: Final = 32 * 1024 * 1024
LOADED_ENTRIES_AT_ONCE: Final = 1_024
"""Loaded flows are handed over so far ahead of the judge, and so many parts between two turns of the proxy."""
OVERTAKEN: Final = "another addon took the stream"
MAX_EVIDENCE_OCTETS: Final = 64 * 1024
"""A longer body of a POST is not asked whether its endpoint speaks MCP: clients begin with a small `initialize`."""


class _Watched:
    """One live flow that is, or may turn out to be, MCP."""

    __slots__ = (
        "at",
        "body",
        "exchange",
        "flow",
        "head",
        "head_at",
        "request",
        "request_tap",
        "response_tap",
        "verdict",
    )

    def __init__(self, flow: http.HTTPFlow, verdict: Verdict, at: Microseconds) -> None:
        self.flow = flow
        self.verdict = verdict
        self.at = at
        """When the request was complete; until then, when its head came."""
        self.exchange: Outgoing | None = None
        self.body: tuple[bytes | None, str] = None, "the response came before the request was complete"
        """Of the request; None where it was not captured, for the reason given."""
        self.request: tuple[Microseconds, RequestPart] | None = None
        """As it was handed over, and the time that it was given."""
        self.head: HeadPart | None = None
        self.head_at: Microseconds | None = None
        self.request_tap: BodyTap | None = None
        self.response_tap: ResponseTap | None = None


def _guarded[**Arguments](hook: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """An exception out of a hook would keep the event from the addons behind this one."""

    @functools.wraps(hook)
    def guarded(*arguments: Arguments.args, **named: Arguments.kwargs) -> None:
        try:
            hook(*arguments, **named)
        except Exception as problem:
            addon = arguments[0]
            assert isinstance(addon, ConformanceAddon)
            addon.fault(problem)

    return guarded


class ConformanceAddon:
    """Observes MCP in any mode of mitmproxy. `open_judge` starts whatever judges and writes, and tells the listener."""

    def __init__(self, open_judge: Callable[[Settings, Callable[[Message], None]], Judging]) -> None:
        self._open_judge = open_judge
        self._judging: Judging | None = None
        self._settings: Settings | None = None
        self._values: dict[str, str] = {}
        self._over = False
        self._clock = Clock()
        self.recogniser = Recogniser()
        self._allowance = Allowance()
        self._watched: dict[str, _Watched] = {}
        self._active: dict[str, Microseconds] = {}
        """When each client connection was last seen to carry something."""
        self._loaded = LoadedFlows(self._begin_loaded, self._clock.zero_wall_us)
        self._loading: Iterator[LoadedEntry] = iter(())
        self._loading_timer: asyncio.TimerHandle | None = None
        self._exchanges = 0
        self._faults = Faults()
        self._front = Front(self.fault)
        self.addons = [self._front.commands]

    # Start and end

    def load(self, loader: Loader) -> None:
        # Values from the command line wait there, and mitmproxy may choke on them in silence after this hook.
        refusals, warnings = repair_deferred(getattr(ctx.options, "deferred", {}))
        for name, option in OPTIONS.items():
            loader.add_option(name, str, option.default, option.help)
        for warning in warnings:
            logger.warning(warning)
        self._refuse(refusals)
        self._front.load()

    def configure(self, updated: set[str]) -> None:
        ours = updated & OPTIONS.keys()
        if not ours or self._over:
            return
        values = {name: getattr(ctx.options, name) for name in OPTIONS}
        if self._judging is None:
            refusals = [problem for name, value in values.items() if (problem := refusal(name, value)) is not None]
            self._refuse(refusals)
            return
        for name in sorted(ours - CHANGEABLE):
            if values[name] != self._values[name]:
                raise exceptions.OptionsError(f"{name}={values[name]} is refused: it can only be set at the start.")  # type: ignore[no-untyped-call]
        try:
            self._settings = settings_of(values)
        except BadOption as problem:
            raise exceptions.OptionsError(str(problem)) from None  # type: ignore[no-untyped-call]
        self._front.redact_view(self._settings.view_redacted, redact_names=self._settings.redact_names)

    def running(self) -> None:
        self._start()

    def _start(self) -> bool:
        """Open the judge, once. Connections may be accepted before `running`, so every hook asks."""
        if self._judging is not None:
            return True
        if self._over:
            return False
        self._values = {name: getattr(ctx.options, name) for name in OPTIONS}
        try:
            self._settings = settings_of(self._values)
            self._judging = self._open_judge(self._settings, self._front.hear)
            self._front.redact_view(self._settings.view_redacted, redact_names=self._settings.redact_names)
            self._front.start(self._ask, command_lines(self._settings), annotate=self._settings.annotate)
        except BadOption as problem:
            self._refuse([str(problem)])
        except OSError as problem:
            why = problem.strerror or type(problem).__name__
            self._refuse([f"mcp_output={self._values['mcp_output']} is refused: {why}; allowed is a writable folder."])
        except Exception as problem:
            self._refuse([f"mcp_conformance.py could not start: {type(problem).__name__}: {problem}"])
        return self._judging is not None

    def _refuse(self, problems: list[str]) -> None:
        """Stop mitmproxy where it starts: it must not seem to observe. One that runs already has traffic to pass on."""
        for problem in problems:
            logger.error(problem)
        if problems:
            self._over = True
            if not _still_starting():
                logger.error("mcp_conformance.py observes nothing. The traffic goes on, and streams may be held back.")
                end_incomplete("mcp_conformance.py could not start again while mitmproxy ran.")

    @_guarded
    def done(self) -> None:
        """Everything that runs is still open when the capture ends. Sync: mitmproxy reloads scripts so."""
        if not ctx.master.should_exit.is_set():
            asyncio.get_running_loop().call_later(RELOADED_S, _notice_unloading)
        if self._over:
            return
        for watched in list(self._watched.values()):
            self._finish(watched, endings.STILL_OPEN)
        self._over = True
        if self._judging is not None:
            assert self._settings is not None
            self._hand_over_the_rest(self._judging)
            complete = self._judging.finish()
            self._front.finish(self._settings.output)
            if not complete or self._faults:
                folder = printable(str(self._settings.output))
                end_incomplete(f"The record of this run in {folder} is incomplete; the log says why.")

    def _ask(self) -> None:
        if self._judging is not None and not self._over:
            self._judging.put(("", self._clock.now(), AskPart()))

    # Live traffic

    @_guarded
    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if not self._start():
            return
        if not flow.live:
            self._gather(flow)
            return
        remove_marks(flow.metadata)
        at = self._notice(flow)
        verdict = Verdict.BODY_DECIDES if self._scope else self.recogniser.head(*self._head(flow))
        if verdict is Verdict.OTHER and not self._scope:
            # Its response may still be an event stream, which must not be held back; nothing else is kept of it.
            return
        watched = self._watched[flow.id] = _Watched(flow, verdict, at)
        self._tap_request(watched)

    @_guarded
    def request(self, flow: http.HTTPFlow) -> None:
        watched = self._watched.get(flow.id)
        if watched is None or not flow.live:
            return
        watched.at = self._notice(flow)
        watched.body = raw, why_not = self._request_body(watched)
        if watched.exchange is None:
            self._recognise(watched, raw, why_not)
        if watched.exchange is not None and flow.request.raw_content is None and raw is not None:
            flow.request.raw_content = raw  # for whoever shows or saves it; the wire has had it

    @_guarded
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        if not flow.live or not self._start():
            return
        at = self._notice(flow)
        watched = self._watched.get(flow.id)
        if watched is not None and watched.exchange is None:
            # Everything is handed over in the order of its times: what is told only now has come only now.
            watched.at = at
            self._recognise_late(watched)
            at = self._clock.now()
        exchange = watched.exchange if watched is not None else None
        head = head_of(flow, boundaries_observed=flow.response.raw_content is None)  # type: ignore[union-attr]
        if watched is None or exchange is None:
            if head.events and not self._scope and not flow.response.stream:  # type: ignore[union-attr]
                watched = self._watched.setdefault(flow.id, _Watched(flow, Verdict.OTHER, at))
                self._tap_response(watched, head)
            elif watched is not None:
                self._drop(watched)
            return
        if exchange.on_probation and not head.events:
            exchange.silent = True
            self._drop(watched)
            return
        if not exchange.on_probation:
            self.recogniser.answered(endpoint(flow), head.status, head.headers)
        watched.head, watched.head_at = head, at
        self._tap_response(watched, head)
        exchange.put(at, head)

    @_guarded
    def response(self, flow: http.HTTPFlow) -> None:
        watched = self._watched.get(flow.id)
        if watched is not None:
            self._notice(flow)
            self._finish(watched, endings.of_response(flow))

    @_guarded
    def error(self, flow: mitmproxy_flow.Flow) -> None:
        if not isinstance(flow, http.HTTPFlow):
            return
        watched = self._watched.get(flow.id)
        if watched is None:
            return
        idle = self._is_idle(flow)
        if watched.exchange is None and watched.verdict is Verdict.MCP:
            watched.at = self._notice(flow)
            self._begin(watched, self._request_part(flow, None, "the request was not completed"))
        self._finish(watched, endings.of_error(flow, idle=idle))

    @_guarded
    def client_disconnected(self, client: connection.Client) -> None:
        """Every flow has had its end before this; one that has not is one that mitmproxy lost in a crash of its own."""
        self._active.pop(client.id, None)
        for watched in [watched for watched in self._watched.values() if watched.flow.client_conn.id == client.id]:
            self._finish(watched, endings.UNKNOWN)

    # Recognition

    @property
    def _scope(self) -> bool:
        return self._settings is not None and self._settings.scope is not None

    def _in_scope(self, flow: http.HTTPFlow) -> bool:
        return self._settings is not None and self._settings.scope is not None and bool(self._settings.scope(flow))

    def _head(self, flow: http.HTTPFlow) -> tuple[str, str, str, Headers]:
        return endpoint(flow), flow.request.method, target(flow), headers(flow.request)

    def _recognise(self, watched: _Watched, raw: bytes | None, why_not: str) -> None:
        flow = watched.flow
        if self._scope:
            is_mcp = self._in_scope(flow)
        else:
            is_mcp = watched.verdict is not Verdict.BODY_DECIDES or self._shows_mcp(flow, raw)
        if is_mcp:
            self._begin(watched, self._request_part(flow, raw, why_not))

    def _shows_mcp(self, flow: http.HTTPFlow, raw: bytes | None) -> bool:
        """Does the body of a POST to an unknown endpoint show that it is MCP?"""
        if not raw or len(raw) > MAX_EVIDENCE_OCTETS:
            return False
        lines = headers(flow.request)
        if "content-encoding" not in lines and b'"jsonrpc"' not in raw:
            return False
        return self.recogniser.body(read_body(lines, raw, ""))

    def _recognise_late(self, watched: _Watched) -> None:
        """The request did not decide, or is not complete although its response begins."""
        flow = watched.flow
        assert flow.response is not None
        if self._scope:
            is_mcp = self._in_scope(flow)
        else:
            is_mcp = watched.verdict is Verdict.MCP or "mcp-session-id" in flow.response.headers
        if is_mcp:
            raw, why_not = watched.body
            raw = flow.request.raw_content if raw is None else raw
            self._begin(watched, self._request_part(flow, raw, why_not))

    def _begin(self, watched: _Watched, part: RequestPart) -> None:
        watched.exchange = self._exchange(watched.flow, part, watched.verdict is Verdict.FIRST_EVENT_DECIDES)
        watched.request = watched.at, part
        watched.exchange.put(watched.at, part)

    def _exchange(self, flow: http.HTTPFlow, part: RequestPart, on_probation: bool) -> Outgoing:
        assert self._judging is not None
        self._exchanges += 1
        probation = Probation(part.origin.endpoint, self.recogniser) if on_probation and not self._scope else None
        name = f"x-{self._exchanges}"
        self._front.follow(name, flow, certain=probation is None)
        return Outgoing(name, self._judging, probation)

    def _request_part(self, flow: http.HTTPFlow, raw: bytes | None, why_not: str) -> RequestPart:
        return request_part(flow, raw, why_not, exact_scope=self._scope)

    # Bodies

    def _tap_request(self, watched: _Watched) -> None:
        """Where the user has large bodies streamed, a body has to be caught on its way; else mitmproxy keeps it."""
        request = watched.flow.request
        stream = request.stream
        if watched.verdict is Verdict.BODY_DECIDES and not (self._scope or _may_be_json(request)):
            return  # somebody's large upload: that it is streamed shall save memory
        # A body of unknown size is switched to streaming once it has grown, too late for a callable.
        may_switch = (
            bool(ctx.options.stream_large_bodies)
            and watched.flow.response is None
            and "content-length" not in request.headers
            and request.method.upper() == "POST"
        )
        if stream or may_switch:
            inner = stream if callable(stream) else None
            watched.request_tap = BodyTap(Copy(self._allowance), inner, self.fault)
            request.stream = watched.request_tap

    def _request_body(self, watched: _Watched) -> tuple[bytes | None, str]:
        request, tap = watched.flow.request, watched.request_tap
        if tap is None:
            return request.raw_content, "it was streamed"
        data = self._close(tap)
        if request.raw_content is None and tap.copy.whole and (tap.received or request.stream is tap):
            return data, ""
        return request.raw_content, "it was streamed, and not kept"

    def _tap_response(self, watched: _Watched, head: HeadPart) -> None:
        response = watched.flow.response
        assert response is not None
        if response.raw_content is not None:  # another addon has answered; nothing will be streamed
            return
        if not head.events and ctx.options.modify_body:  # which needs the body whole
            return
        inner = response.stream if callable(response.stream) else None
        watched.response_tap = ResponseTap(
            Copy(self._allowance),
            inner,
            self.fault,
            self._clock,
            functools.partial(self._noticed, watched.flow.client_conn.id),
            watched.exchange if head.events else None,
        )
        response.stream = watched.response_tap
        if head.events and watched.exchange is not None:
            self._front.stream(watched.flow, watched.response_tap)

    def _close(self, tap: BodyTap) -> bytes:
        tap.closed = True
        return tap.copy.close()

    def _finish(self, watched: _Watched, ending: Ending) -> None:
        """The end of a flow, whichever hook brings it first."""
        exchange, tap = watched.exchange, watched.response_tap
        self._front.over(watched.flow)
        self._drop(watched)
        at = self._clock.now()
        body, why_not = self._response_body(watched, ending)
        if exchange is None or exchange.silent:
            return
        head = watched.head
        pieces = {CHUNKS: b""} if tap is None else tap.marks.as_metadata
        overtaken = _is_overtaken(watched)
        if head is not None and head.events:
            if overtaken and watched.flow.response.raw_content != b"":  # type: ignore[union-attr]
                exchange.put(at, LostPart(OVERTAKEN))
                at = self._clock.now()
            elif tap is None and body:
                exchange.chunk(at, body)
                pieces = {CHUNKS: MARK.pack(self._clock.zero_wall_us + at, len(body))}
                at = self._clock.now()
            body = None
        octets = tap.received if tap is not None and not overtaken else (len(body) if body is not None else None)
        exchange.put(at, EndPart(ending, octets, body, why_not))
        if not exchange.silent:
            self._mark(watched, ending, at, pieces, why_not if body is None else None)

    def _mark(
        self,
        watched: _Watched,
        ending: Ending,
        at: Microseconds,
        pieces: dict[str, bytes],
        no_response_body: str | None,
    ) -> None:
        """Note with the flow what its file would not tell otherwise."""
        assert watched.request is not None
        request_at, request = watched.request
        metadata, head, zero = watched.flow.metadata, watched.head, self._clock.zero_wall_us
        head_us = None if watched.head_at is None else zero + watched.head_at
        metadata[TIMES] = SeenTimes(zero + request_at, head_us, zero + at).packed()
        if request.exact_scope:
            metadata[IN_SCOPE] = True
        if request.raw is None:
            metadata[NO_REQUEST_BODY] = request.why_not
        if ending.ended is not None:
            metadata[ENDED] = str(ending.ended)
        overtaken = _is_overtaken(watched)
        if watched.response_tap is not None and not overtaken:
            metadata[RECEIVED] = watched.response_tap.received
        if head is None:
            return
        if not head.events:
            if no_response_body is not None:
                metadata[NO_RESPONSE_BODY] = no_response_body
            return
        metadata.update(pieces)
        if overtaken or not head.boundaries_observed:
            metadata[UNSEEN_BOUNDARIES] = True

    def _response_body(self, watched: _Watched, ending: Ending) -> tuple[bytes | None, str]:
        """The response's body as far as it is known to be whole. Leaves a copy with the flow, for whoever shows it."""
        response, tap = watched.flow.response, watched.response_tap
        if tap is None:
            raw = response.raw_content if response is not None else None
            return (raw if ending.whole else None), "it was not kept"
        assert response is not None
        data = self._close(tap)
        if _is_overtaken(watched):
            kept = response.raw_content is not None and (not response.stream or not response.raw_content)
            return (response.raw_content if kept and ending.whole else None), OVERTAKEN
        if response.raw_content is None:
            response.raw_content = data
        if not ending.whole:
            return None, "the response did not come to its end"
        if not tap.copy.whole:
            return None, TOO_LARGE
        return data, ""

    def _drop(self, watched: _Watched) -> None:
        self._watched.pop(watched.flow.id, None)
        if watched.request_tap is not None and not watched.request_tap.closed:
            self._close(watched.request_tap)

    # Time

    def _notice(self, flow: http.HTTPFlow) -> Microseconds:
        now = self._active[flow.client_conn.id] = self._clock.now()
        return now

    def _noticed(self, client: str, at: Microseconds) -> None:
        self._active[client] = at
        self._front.seen()

    def _is_idle(self, flow: http.HTTPFlow) -> bool:
        """Was the client's connection silent for as long as mitmproxy lets one be?"""
        last = self._active.get(flow.client_conn.id)
        return last is not None and self._clock.now() - last >= ctx.options.tcp_timeout * 1_000_000

    # Loaded flows

    def _gather(self, flow: http.HTTPFlow) -> None:
        """A flow that is not live: all of it is there. Or another addon has just killed it; then nothing came of it."""
        if flow.response is None and flow.error is not None and flow.error.msg == mitmproxy_flow.Error.KILLED_MESSAGE:
            return
        self._loaded.add(flow)
        if self._loading_timer is not None:
            self._loading_timer.cancel()
        if self._loaded.is_full:
            self._judge_loaded()
        else:
            self._loading_timer = asyncio.get_running_loop().call_later(LOADING_PAUSE_S, self._judge_loaded)

    @_guarded
    def _judge_loaded(self) -> None:
        if self._loading_timer is not None:
            self._loading_timer.cancel()
        self._loading_timer = None
        self._loading = itertools.chain(self._loading, self._loaded.entries())
        self._hand_over_loaded()

    @_guarded
    def _hand_over_loaded(self) -> None:
        """A stretch of what was loaded, then the proxy's turn again."""
        if self._over or self._judging is None:
            return
        left = LOADED_ENTRIES_AT_ONCE
        while left and self._judging.waiting_octets < LOADED_OCTETS_AHEAD:
            entry = next(self._loading, None)
            if entry is None:
                return
            entry.hand_over()
            left -= 1
        asyncio.get_running_loop().call_later(0 if not left else PAUSE_S, self._hand_over_loaded)

    def _hand_over_the_rest(self, judging: Judging) -> None:
        for entry in itertools.chain(self._loading, self._loaded.entries()):
            entry.hand_over()
            if judging.waiting_octets > LOADED_OCTETS_AHEAD:
                judging.flush()

    def _begin_loaded(self, flow: http.HTTPFlow) -> tuple[Outgoing, RequestPart] | None:
        part = replace(stored_request(flow), exact_scope=self._scope)
        verdict = Verdict.MCP if was_observed(flow) else self.recogniser.head(*self._head(flow))
        if self._scope:
            is_mcp = self._in_scope(flow)
        elif verdict is Verdict.BODY_DECIDES:
            is_mcp = self._shows_mcp(flow, part.raw)
        else:
            is_mcp = verdict is not Verdict.OTHER
        if flow.response is not None and verdict is not Verdict.OTHER and "mcp-session-id" in flow.response.headers:
            is_mcp = True
        if not is_mcp:
            return None
        exchange = self._exchange(flow, part, verdict is Verdict.FIRST_EVENT_DECIDES)
        if flow.response is not None and not exchange.on_probation:
            self.recogniser.answered(part.origin.endpoint, flow.response.status_code, headers(flow.response))
        return exchange, part

    def fault(self, problem: Exception) -> None:
        """Say once what went wrong in here."""
        sentence = self._faults.sentence(problem)
        if sentence is not None:
            logger.warning(sentence)


def _notice_unloading() -> None:
    """mitmproxy drops a script whose file is missing when it looks, and one that cannot be loaded again."""
    if ctx.master.addons.get(ConformanceAddon.__name__.lower()) is None:  # type: ignore[no-untyped-call]
        logger.warning("mcp_conformance.py is not loaded any more: nothing is observed, and streams may be held back.")
        end_incomplete("mcp_conformance.py was unloaded while mitmproxy ran.")


def _is_overtaken(watched: _Watched) -> bool:
    """Another addon has put something else in the place of the tap, before anything went through it."""
    tap, response = watched.response_tap, watched.flow.response
    return tap is not None and response is not None and not tap.received and response.stream is not tap


def _still_starting() -> bool:
    """mitmproxy is about to look whether an error was logged, and then exits with 1."""
    check = ctx.master.addons.get("errorcheck")  # type: ignore[no-untyped-call]
    return getattr(check, "logger", None) in logging.getLogger().handlers


def _may_be_json(request: http.Request) -> bool:
    media_type = essence(request.headers.get("content-type"))
    return media_type is None or media_type.endswith(("/json", "+json"))
