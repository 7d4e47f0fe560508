"""Whole bodies: JSON by place, anything else as one label."""

from __future__ import annotations

import re
from typing import Final

from mcp_wire.privacy.allow_lists import REASON_WORDS
from mcp_wire.privacy.json_redaction import JsonRedaction, TooDeepError
from mcp_wire.privacy.json_text import TOO_DEEP, apply, redact_json
from mcp_wire.wire.body import NOT_CAPTURED, Body
from mcp_wire.wire.strict_json import MISSING

_MAX_REASON: Final = 120
_REASON_DIGITS: Final = 5
_REASON: Final = re.compile(r"[A-Za-z]+|[0-9]+|[ ,.;:'/-]")
_NOT_READABLE: Final = TOO_DEEP.decode()


def redact_body(body: Body, redaction: JsonRedaction) -> Body:
    """The same kind of body: empty, not captured, JSON with the same types and faults, or no JSON."""
    if not body.is_captured:
        return body if _is_plain(body.absence or "") else NOT_CAPTURED
    if body.is_empty:
        return body
    if body.text is None:
        try:
            value = None if body.value is MISSING else redaction.message(body.value)  # type: ignore[arg-type]
        except (TooDeepError, RecursionError):
            return Body.of_text(_NOT_READABLE, utf8=body.utf8)
        return Body.of_value(value)  # type: ignore[arg-type]  # no repeated names went in, so none come out
    raw = body.text.encode("utf-8", "surrogatepass")
    replacements = redact_json(raw, redaction)
    if replacements is None:
        return Body.of_text(redaction.labels.text(body.text), utf8=body.utf8)
    return Body.of_text(apply(raw, replacements).decode("utf-8", "surrogatepass"), utf8=body.utf8)


def _is_plain(reason: str) -> bool:
    """A reason is a sentence of an edge, but a transcript may have come from anywhere."""
    parts = _REASON.findall(reason[: _MAX_REASON + 1])
    if not reason or len(reason) > _MAX_REASON or "".join(parts) != reason:
        return False
    words = [part for part in parts if part.isalnum()]
    digits = sum(len(word) for word in words if word.isdigit())
    return digits <= _REASON_DIGITS and all(word.isdigit() or word.lower() in REASON_WORDS for word in words)
