"""Everything that a person sees of a run: the flow list, the content view, the commands, and the lines of the log."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from mitmproxy import contentviews, http

from mcp_wire.live.annotations import Annotations, Tap
from mcp_wire.live.commands import MCPCommands
from mcp_wire.live.content_view import MCPContentview
from mcp_wire.live.flow_view import FlowView
from mcp_wire.live.judge_messages import Explained, Message, Noted
from mcp_wire.live.session_labels import SessionLabels
from mcp_wire.live.showing import UserInterface
from mcp_wire.live.terminal import Terminal

logger: Final = logging.getLogger("mcp_conformance")


class Front:
    """What the hooks tell of flows goes in, and what the judge says of them; nothing comes back.

    `fault` hears of exceptions in what runs by itself.
    """

    def __init__(self, fault: Callable[[Exception], None]) -> None:
        self._fault = fault
        self._explanations: Mapping[str, str] = {}
        self._annotations: Annotations | None = None
        self._sessions = SessionLabels()
        self._texts = FlowView(self._sessions)
        self._view = MCPContentview(self._texts, self._is_mcp)
        self._terminal = Terminal(logger.log)
        self._showing: UserInterface | None = None
        self.commands = MCPCommands(lambda: self._explanations)

    def load(self) -> None:
        contentviews.add(self._view)

    def start(self, ask: Callable[[], None], options: Mapping[str, Sequence[str]], *, annotate: bool) -> None:
        """Flows come from now on. `ask` asks the judge how far it is; `annotate`: put markers and comments on flows.

        `options`: see `MCPCommands.run_with`.
        """
        self.commands.run_with(options)
        self._showing = UserInterface.of_master(self._view)
        if self._showing is not None and annotate:
            self._showing.show_comments()
        self._annotations = Annotations(self._later, ask, self._showing, self._sessions, annotate=annotate)

    def redact_view(self, wanted: bool, *, redact_names: bool) -> None:
        """Show values in the content view redacted (`redact_names`: names of tools as well), or as they are."""
        if wanted == self._texts.is_redacted:
            return
        if wanted:
            self._texts.redact()
            # What redacts takes a second to be imported, and the traffic must not wait.
            arguments = (asyncio.get_running_loop(), redact_names)
            threading.Thread(target=self._make_redactor, args=arguments, daemon=True).start()
        else:
            self._texts.show_values()
        self._show_again()

    def hear(self, message: Message) -> None:
        """The judge has said something."""
        try:
            self._terminal.hear(message)
            if isinstance(message, Noted) and self._annotations is not None:
                self._annotations.noted(message)
            elif isinstance(message, Explained):
                self._explanations = message.texts
        except Exception as problem:
            self._fault(problem)

    def follow(self, exchange: str, flow: http.HTTPFlow, *, certain: bool) -> None:
        """This flow is, or (not `certain`) may turn out to be, the exchange of this name."""
        if self._annotations is not None:
            self._annotations.follow(exchange, flow, certain=certain)

    def stream(self, flow: http.HTTPFlow, tap: Tap) -> None:
        """An event stream begins."""
        if self._annotations is not None:
            self._annotations.stream(flow, tap)

    def seen(self) -> None:
        """A chunk has come. Cheap."""
        if self._annotations is not None:
            self._annotations.seen()

    def over(self, flow: http.HTTPFlow) -> None:
        """The response of this flow ends."""
        if self._annotations is not None:
            self._annotations.over(flow)

    def finish(self, folder: Path) -> None:
        """The judge has finished, and has written to this folder."""
        self._terminal.summary(folder)

    def _is_mcp(self, flow: http.HTTPFlow) -> bool:
        return self._annotations is not None and self._annotations.is_mcp(flow)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                call()
            except Exception as problem:
                self._fault(problem)

        asyncio.get_running_loop().call_later(seconds, guarded)

    def _make_redactor(self, loop: asyncio.AbstractEventLoop, redact_names: bool) -> None:
        from mcp_wire.privacy.redactor import Redactor

        def ready() -> None:
            self._texts.redact_with(Redactor(keep_tool_names=not redact_names))
            self._show_again()

        with contextlib.suppress(RuntimeError):  # the proxy has ended meanwhile
            loop.call_soon_threadsafe(ready)

    def _show_again(self) -> None:
        """The view says something else now, of whatever is on the screen."""
        if self._showing is not None:
            self._showing.refresh_all()
