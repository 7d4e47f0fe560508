"""A transcript in, a redacted one out: what `redact` and `resplit` have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from mcp_wire.cli.streams import UsageError, read_input, shown_name
from mcp_wire.judging.finding import Finding
from mcp_wire.rules.transcript_form import UNREDACTED_SECRET
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import TranscriptInputError, read_document
from mcp_wire.validation import validate

SAME: Final = 0
DIFFERENT: Final = 1


def read_transcript(name: str) -> Document:
    """A transcript that may be copied. Raises UsageError."""
    return transcript_in(name, read_input(name))


def transcript_in(name: str, text: bytes) -> Document:
    try:
        document = read_document(text)
    except TranscriptInputError as problem:
        raise UsageError(f"{shown_name(name)}: {problem}") from problem
    if not isinstance(document.members.get("exchanges"), list):
        raise UsageError(f"{shown_name(name)}: is no transcript; a transcript is an object with a list of exchanges")
    return document


def differences(document: Document, copy: str) -> list[str]:
    """What is found in one of the two and not in the other, in words; nothing where the copy proves the same."""
    before, after = _verdict(document), _verdict(read_document(copy))
    told = [f"the copy lacks {_shown(one, count)}" for one, count in (before - after).items()]
    return told + [f"the copy has {_shown(one, count)} besides" for one, count in (after - before).items()]


def _verdict(document: Document) -> Counter[tuple[str, str, str, int]]:
    return Counter(_identities(validate(document).findings))


def _identities(findings: Iterable[Finding]) -> Iterable[tuple[str, str, str, int]]:
    # That a secret is gone is what a copy is made for.
    return ((one.code, one.level, one.path, one.count) for one in findings if one.code != UNREDACTED_SECRET)


def _shown(one: tuple[str, str, str, int], count: int) -> str:
    code, _, path, _ = one
    return f"{code} at {path}" + (f" ({count} times)" if count > 1 else "")
