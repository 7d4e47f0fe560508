"""Shows changed flows again, in mitmweb and in mitmproxy's terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from mitmproxy import contentviews, ctx, http
from mitmproxy.hooks import UpdateHook

from mcp_wire.live.flow_notes import NOTES

WEB_INTERVAL_S: Final = 0.4
TERMINAL_INTERVAL_S: Final = 2.0
"""Longer: there, a flow that is shown again is shown from its top."""


class UserInterface:
    """The interface of the running mitmproxy, if it has one: see `of_master`. `view` is our content view."""

    def __init__(self, view: contentviews.Contentview, *, is_web: bool) -> None:
        self._view = view
        self._is_web = is_web
        self.interval_s = WEB_INTERVAL_S if is_web else TERMINAL_INTERVAL_S

    @classmethod
    def of_master(cls, view: contentviews.Contentview) -> UserInterface | None:
        """None where flows are not kept for anybody to look at (mitmdump)."""
        addons: Any = ctx.master.addons
        if addons.get("view") is None:
            return None
        return cls(view, is_web=addons.get("webaddon") is not None)

    def show_comments(self) -> None:
        """mitmweb's flow list shows comments in a column of its own, unless a person has chosen the columns."""
        if self._is_web and ctx.options.web_columns == ctx.options.default("web_columns"):
            ctx.options.update(web_columns=[*ctx.options.web_columns, "comment"])  # type: ignore[no-untyped-call]

    def update(self, flows: list[http.HTTPFlow]) -> None:
        ctx.master.addons.trigger(UpdateHook(flows))

    def refresh(self, flows: list[http.HTTPFlow]) -> None:
        if self._is_web:
            self._refresh_in_browser(flows)
        elif any(flow is self._focused() for flow in flows):
            # The terminal keeps what a view said of a body; a view that says something else makes it ask again.
            contentviews.registry.on_change.send(self._view)

    def refresh_all(self) -> None:
        """The same of every flow that there is something to say of."""
        view: Any = ctx.master.addons.get("view")  # type: ignore[no-untyped-call]
        flows = [flow for flow in view if isinstance(flow, http.HTTPFlow) and NOTES in flow.metadata]
        if flows:
            self.refresh(flows)

    def _refresh_in_browser(self, flows: list[http.HTTPFlow]) -> None:
        """A browser asks for a content again when its hash changes, so let it change and change back."""
        with _other_contents(flows):
            self.update(flows)
        self.update(flows)

    def _focused(self) -> object:
        view: Any = ctx.master.addons.get("view")  # type: ignore[no-untyped-call]
        return view.focus.flow


@contextmanager
def _other_contents(flows: list[http.HTTPFlow]) -> Iterator[None]:
    messages = [message for flow in flows for message in (flow.request, flow.response) if message is not None]
    contents = [(message, message.raw_content) for message in messages]
    try:
        for message, content in contents:
            if content is not None:
                message.raw_content = content + b"\n"
        yield
    finally:
        for message, content in contents:
            message.raw_content = content
