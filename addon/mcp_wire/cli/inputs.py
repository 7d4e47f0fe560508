"""Transcripts that a command line names."""

from __future__ import annotations

from mcp_wire.captures.kinds import hint, hint_of_document
from mcp_wire.cli.streams import UsageError, complain, read_input, shown_name
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import TranscriptInputError, read_document


def read_transcript(name: str) -> tuple[bytes, Document] | None:
    """The text of a transcript and what it says; None where it cannot be used, which is then complained of."""
    try:
        text = read_input(name)
    except UsageError as problem:
        complain("mcp-conformance", str(problem))
        return None
    try:
        document = read_document(text)
    except TranscriptInputError as problem:
        complain("mcp-conformance", f"{shown_name(name)}: {hint(text) or problem}")
        return None
    other = hint_of_document(document.value)
    if other is not None:
        complain("mcp-conformance", f"{shown_name(name)}: {other}")
    return text, document
