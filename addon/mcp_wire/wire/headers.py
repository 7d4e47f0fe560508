"""HTTP header fields as they were seen: order, spelling and repetition kept, looked up without regard to case.

Names: RFC 9110 5.1 (case-insensitive). Values: RFC 9110 5.5 (surrounding spaces and tabs are no part of the value).
Repetition: RFC 9110 5.3 (only list-valued fields may occur on several lines).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

SINGLETONS: Final = frozenset(
    {
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "content-type",
        "content-length",
        "last-event-id",
    }
)
"""Lower-case names of fields that take one value, so that a second line leaves no single value to read."""

_OPTIONAL_WHITESPACE: Final = " \t"
_ASCII_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def field_name(name: str) -> str:
    """The lower-case form under which two spellings of one field name meet.

    Only A-Z fold: with `str.lower` the Kelvin sign would meet "k", and a field name could pose as another.
    """
    return name.lower() if name.isascii() else name.translate(_ASCII_LOWER)


class Headers:
    """An immutable list of header lines.

    `raw`: (name, value) pairs as they were seen, values untrimmed.
    `clashes`: lower-case names that a JSON object held in two spellings (see `from_object`), sorted.
    """

    __slots__ = ("_values", "clashes", "raw")

    raw: tuple[tuple[str, str], ...]
    clashes: tuple[str, ...]
    _values: dict[str, tuple[str, ...]]

    def __init__(self, lines: Iterable[tuple[str, str]] = (), *, clashes: Iterable[str] = ()) -> None:
        raw = tuple((name, value) for name, value in lines)
        values: dict[str, list[str]] = {}
        for name, value in raw:
            values.setdefault(field_name(name), []).append(value.strip(_OPTIONAL_WHITESPACE))
        object.__setattr__(self, "raw", raw)
        object.__setattr__(self, "clashes", tuple(sorted(clashes)))
        object.__setattr__(self, "_values", {name: tuple(lines) for name, lines in values.items()})

    @classmethod
    def from_object(cls, members: Mapping[str, str]) -> Headers:
        """Read a JSON object of headers. Two spellings of one name are a fault of the document, kept in `clashes`."""
        seen: set[str] = set()
        clashes: set[str] = set()
        for name in members:
            key = field_name(name)
            (clashes if key in seen else seen).add(key)
        return cls(members.items(), clashes=clashes)

    def get(self, name: str) -> str | None:
        """The first value, trimmed; None when the field is absent. An empty field gives ""."""
        values = self._of(name)
        return values[0] if values else None

    def all(self, name: str) -> tuple[str, ...]:
        """Every value in order, trimmed; () when the field is absent."""
        return self._of(name)

    def joined(self, name: str) -> str | None:
        """The lines of a list-valued field as one list (RFC 9110 5.3); None when absent. Not for Set-Cookie."""
        values = self._of(name)
        return ", ".join(values) if values else None

    def repeated(self, name: str) -> bool:
        """Did the field occur on more than one line?"""
        return len(self._of(name)) > 1

    def repeated_singletons(self) -> tuple[str, ...]:
        """Lower-case names of one-value fields that occur on several lines, sorted."""
        return tuple(sorted(name for name in SINGLETONS if self.repeated(name)))

    def names(self) -> tuple[str, ...]:
        """Lower-case names, each once, in order of first appearance."""
        return tuple(self._values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self._of(name))

    def _of(self, name: str) -> tuple[str, ...]:
        # Most are asked for in lower case, and folding each name would cost more than looking it up.
        return self._values.get(name if name.islower() else field_name(name), ())

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and self.raw == other.raw and self.clashes == other.clashes

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        # Values may be secrets: a repr ends up in logs and assertion texts.
        return f"Headers({', '.join(name for name, _ in self.raw)})"

    def __reduce__(self) -> tuple[object, ...]:
        # The default would set attributes, which is refused.
        return _restored, (self.raw, self.clashes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Headers are immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("Headers are immutable")


def _restored(raw: tuple[tuple[str, str], ...], clashes: tuple[str, ...]) -> Headers:
    return Headers(raw, clashes=clashes)


NO_HEADERS: Final = Headers()
