"""Which resource lies within another, as far as their URIs say (2026-07-28 ResourceUpdatedNotificationParams)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

MAX_LENGTH: Final = 2_048
MAX_SEGMENTS: Final = 64
"""A longer URI counts as opaque. Redaction replaces it as a whole, and the verdict must not hang on that."""

_HIERARCHICAL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]{0,31})://([^/?#\\\s]*)([^?#\s]*)(?:\?[^#\s]*)?(?:#\S*)?")


def location(uri: str) -> tuple[str, ...] | None:
    """Scheme, authority and path segments of a URI whose path says what lies within what; None for an opaque one.

    Query and fragment are left out, percent-encoding is undone, and a slash at the end says nothing.
    """
    if len(uri) > MAX_LENGTH or uri.count("/") + uri.count("&") > MAX_SEGMENTS:
        return None
    found = _HIERARCHICAL.fullmatch(uri)
    if found is None:
        return None
    segments = [unquote(segment, errors="replace") for segment in found[3].split("/")]
    if ".." in segments or "." in segments:
        return None
    while segments and not segments[-1]:
        segments.pop()
    return found[1].lower(), found[2].lower(), *segments


@dataclass(frozen=True, slots=True)
class Resources:
    """Some resources, as they were asked for. `has_opaque`: what lies within some of them, only their server knows."""

    uris: frozenset[str]
    locations: frozenset[tuple[str, ...]]
    has_opaque: bool

    @classmethod
    def of(cls, uris: Iterable[str]) -> Resources:
        named = frozenset(uris)
        locations = [location(uri) for uri in named]
        return cls(named, frozenset(one for one in locations if one is not None), None in locations)

    def covers(self, uri: str) -> bool | None:
        """Is it one of them, or within one of them? None where the URIs do not tell."""
        if uri in self.uris:
            return True
        place = location(uri)
        if place is None:
            return None
        if any(outer in self.locations for outer in _outer(place)):
            return True
        return None if self.has_opaque else False


def _outer(place: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The place itself and everything around it, up to the authority."""
    return (place[:length] for length in range(2, len(place) + 1))
