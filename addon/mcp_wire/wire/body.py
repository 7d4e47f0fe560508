"""One body, whether its bytes passed by just now or a transcript tells of it.

A transcript says a body as `body` (a JSON value) where that says everything, else as `body_text`. Both readings of one
body are equal here, which is what lets a transcript be judged as the traffic was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from mcp_wire.wire.strict_json import (
    MISSING,
    FaultKind,
    JsonFault,
    JsonReading,
    JsonValue,
    Missing,
    canonical,
    dump_json,
    faults_of_value,
    read_json,
)

_SAID_BY_THE_VALUE: Final[frozenset[FaultKind]] = frozenset({"lone_surrogate"})
"""Faults that are found again in the JSON value when it is written and read."""


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A whole body, content-decoded.

    `value`: the JSON value, also a leniently read one; MISSING where the text is no JSON.
    `text`: the text, kept where `value` does not say everything (not JSON, or not strict JSON), None otherwise;
    undecodable bytes are U+FFFD in it. Exactly one of the two ways of writing a body in a transcript applies:
    `body_text` where `text` is given, else `body`.
    `raw_size`: bytes, None where only a transcript tells of the body.
    `utf8`: False where the bytes were not UTF-8.
    `absence`: why the body was not captured; None where it was.
    """

    value: JsonValue | Literal[Missing.MISSING] = MISSING
    text: str | None = None
    raw_size: int | None = field(default=None)
    faults: tuple[JsonFault, ...] = ()
    utf8: bool = True
    absence: str | None = None

    @classmethod
    def read(cls, raw: bytes) -> Body:
        """Read the bytes of a body. Never raises for their content."""
        if not raw:
            return EMPTY
        reading = read_json(raw)
        text: str | None = None
        if any(fault.kind not in _SAID_BY_THE_VALUE for fault in reading.faults):
            text = raw.decode(errors="replace")
        return cls(reading.value, text, len(raw), reading.faults, not reading.has("invalid_utf8"))

    @classmethod
    def of_value(cls, value: JsonValue) -> Body:
        """The body that a transcript gives as `body`: the value of a strict JSON text."""
        faults = faults_of_value(value)
        if any(fault.kind == "too_deep" for fault in faults):
            return cls.of_text(dump_json(value))
        return cls(value, None, None, faults)

    @classmethod
    def of_text(cls, text: str, *, utf8: bool = True) -> Body:
        """The body that a transcript gives as `body_text`. `utf8` False: its bytes were not UTF-8."""
        if not text:
            return EMPTY
        reading = read_json(text)
        faults = reading.faults if utf8 else (JsonFault("invalid_utf8"), *reading.faults)
        kept = text if any(fault.kind not in _SAID_BY_THE_VALUE for fault in faults) else None
        return cls(reading.value, kept, None, faults, utf8)

    @classmethod
    def not_captured(cls, reason: str) -> Body:
        """There is, or may be, a body, and nothing is known of it. `reason` is for people."""
        return cls(absence=reason)

    @property
    def is_captured(self) -> bool:
        return self.absence is None

    @property
    def is_empty(self) -> bool:
        """The body was seen, and has no bytes."""
        return self.text == ""

    @property
    def is_json(self) -> bool:
        """A JSON value was read, leniently if need be."""
        return self.value is not MISSING

    @property
    def strict(self) -> bool:
        """The body is strict JSON (see `JsonReading.strict`). An empty body is not."""
        return self.is_json and self.reading.strict

    @property
    def reading(self) -> JsonReading:
        return JsonReading(self.value, self.faults)

    def has(self, kind: FaultKind) -> bool:
        return self.reading.has(kind)

    def __eq__(self, other: object) -> bool:
        """Equal in everything that rules read: a transcript does not tell the size, and 1, 1.0 and true differ."""
        if not isinstance(other, Body):
            return NotImplemented
        return (self.text, self.faults, self.utf8, self.is_captured) == (
            other.text,
            other.faults,
            other.utf8,
            other.is_captured,
        ) and _same(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]


def _same(left: JsonValue | Literal[Missing.MISSING], right: JsonValue | Literal[Missing.MISSING]) -> bool:
    if left is MISSING or right is MISSING:
        return left is right
    return canonical(left) == canonical(right)


EMPTY: Final = Body(text="", raw_size=0)
EVENT_TOO_LARGE: Final = Body.not_captured("an event of the stream is larger than this tool reads")
NOT_CAPTURED: Final = Body.not_captured("not captured")
