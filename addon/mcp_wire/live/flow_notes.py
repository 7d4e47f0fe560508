"""What a flow carries of its notes, and what was put on it for a flow list. Every value may be saved to a file.

A marker or a comment that a person has set is never touched, also one that was set over ours, or taken off.
"""

from __future__ import annotations

from typing import Final

from mitmproxy import flow as mitmproxy_flow

from mcp_wire.reports.exchange_notes import ExchangeNotes, Mark, unpacked

NOTES: Final = "mcp_notes"
"""str: the notes on the exchange, packed; see `exchange_notes`. Redacted."""
COMMENT: Final = "mcp_comment"
MARKER: Final = "mcp_marker"
"""str: what we last put on the flow. What is there and is not this was set by a person."""

MARKERS: Final[dict[Mark, str]] = {
    "error": ":red_circle:",
    "warning": ":orange_circle:",
    "conforming": ":green_circle:",
    "not_judged": ":white_circle:",
}


def notes_of(flow: mitmproxy_flow.Flow) -> ExchangeNotes | None:
    """The notes that a flow carries, if it does."""
    return unpacked(flow.metadata.get(NOTES))


def put_notes(flow: mitmproxy_flow.Flow, notes: ExchangeNotes, *, annotate: bool) -> None:
    """Give a flow its notes; `annotate`: also its marker and its comment."""
    flow.metadata[NOTES] = notes.packed()
    if not annotate:
        return
    if flow.comment == flow.metadata.get(COMMENT, ""):
        flow.comment = flow.metadata[COMMENT] = notes.comment
    if flow.marked == flow.metadata.get(MARKER, ""):
        flow.marked = flow.metadata[MARKER] = MARKERS[notes.mark]


def clear_annotations(flow: mitmproxy_flow.Flow) -> bool:
    """Take our marker and comment off a flow, for good. False where there was neither."""
    comment, marker = flow.metadata.get(COMMENT), flow.metadata.get(MARKER)
    was_annotated = False
    if comment and flow.comment == comment:
        flow.comment = ""
        was_annotated = True
    if marker and flow.marked == marker:
        flow.marked = ""
        was_annotated = True
    return was_annotated


def forget_notes(flow: mitmproxy_flow.Flow) -> None:
    """A flow that is replayed brings along what was said of its first run."""
    clear_annotations(flow)
    for name in (NOTES, COMMENT, MARKER):
        flow.metadata.pop(name, None)
