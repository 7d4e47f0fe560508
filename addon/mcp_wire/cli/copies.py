"""A transcript in, a redacted one out: what `redact` and `resplit` have in common."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import BinaryIO, Final

from mcp_wire.captures.kinds import Kind, hint, hint_of_document, kind_of
from mcp_wire.cli.streams import STANDARD_OUTPUT, UsageError, read_input, shown_name
from mcp_wire.judging.finding import Finding
from mcp_wire.rules.transcript_form import UNREDACTED_SECRET
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.reading import TranscriptInputError, read_document
from mcp_wire.validation import validate

SAME: Final = 0
DIFFERENT: Final = 1

_EXCHANGES: Final = b'"exchanges"'
_BLOCK_OCTETS: Final = 1024 * 1024


def read_transcript(name: str) -> Document:
    """A transcript that may be copied. Raises UsageError."""
    return transcript_in(name, read_input(name))


def transcript_in(name: str, text: bytes) -> Document:
    try:
        document = read_document(text)
    except TranscriptInputError as problem:
        raise UsageError(f"{shown_name(name)}: {hint(text) or problem}") from problem
    if not isinstance(document.members.get("exchanges"), list):
        why = hint_of_document(document.value) or "is no transcript; a transcript is an object with a list of exchanges"
        raise UsageError(f"{shown_name(name)}: {why}")
    return document


def transcript_held(file: BinaryIO) -> Document | None:
    """The transcript in an open file of JSON; None where it holds none, or none that can be read."""
    if not _mentions_exchanges(file):
        return None
    try:
        document = read_document(file.read())
    except TranscriptInputError:
        return None
    return document if isinstance(document.members.get("exchanges"), list) else None


def spare(output: str, made_of: Iterable[str]) -> None:
    """See to it that a report does not take the place of what it is made of, nor of any other transcript or capture.

    Raises UsageError.
    """
    if output == STANDARD_OUTPUT:
        return
    why = None
    try:
        if any(name == output or _is_same(name, output) for name in made_of):
            why = "is an input"
        elif os.path.isfile(output):
            with open(output, "rb") as file:
                why = _evidence_in(file)
    except (OSError, ValueError):
        return  # what is wrong with it shows when it is written
    if why is not None:
        raise UsageError(f"{shown_name(output)}: {why}; a report does not replace it")


def _is_same(name: str, output: str) -> bool:
    return os.path.exists(name) and os.path.exists(output) and os.path.samefile(name, output)


def _evidence_in(file: BinaryIO) -> str | None:
    match kind_of(file):
        case Kind.FLOWS | Kind.JOURNAL as kind:
            return f"is {kind}"
        case Kind.JSON as kind if transcript_held(file) is not None:
            return f"is {kind}"
    return None


def _mentions_exchanges(file: BinaryIO) -> bool:
    before = b""
    file.seek(0)
    while block := file.read(_BLOCK_OCTETS):
        if _EXCHANGES in before + block:
            file.seek(0)
            return True
        before = block[-len(_EXCHANGES) :]
    return False


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
