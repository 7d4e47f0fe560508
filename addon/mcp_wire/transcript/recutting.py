"""Event streams with other chunk boundaries or line ends than the ones that were seen, and the same meaning."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Literal

from mcp_wire.transcript.document import is_event_stream
from mcp_wire.transcript.writing import Recorded
from mcp_wire.wire.observation import Milliseconds, ResponseChunk

LineEnd = Literal["cr", "lf", "crlf"]
Cut = Callable[[Sequence[ResponseChunk]], Iterator[ResponseChunk]]
"""The chunks of one stream in, chunks of the same octets out; empty ones stay, for the sake of their times."""

JOIN_WITHIN_MS: Final = 5.0
"""Chunks this close to each other may become one; further apart, when each came is evidence."""
JOIN_CHANCE: Final = 0.5
CUT_CHANCES: Final = (0.75, 0.5, 0.25)
"""Of a first, second and third new boundary in one chunk."""

_OCTETS: Final[dict[LineEnd, bytes]] = {"cr": b"\r", "lf": b"\n", "crlf": b"\r\n"}
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")


def recut(recorded: Recorded, cut: Cut) -> Recorded:
    """The exchange with its stream cut anew; without a stream, the exchange as it is."""
    if recorded.response is None or not is_event_stream(recorded.response.headers):
        return recorded
    return replace(recorded, chunks=cut(list(recorded.chunks)))


def bytewise(chunks: Sequence[ResponseChunk]) -> Iterator[ResponseChunk]:
    """One octet a chunk."""
    for chunk in chunks:
        if not chunk.data:
            yield chunk
        for octet in chunk.data:
            yield replace(chunk, data=bytes((octet,)))


def linewise(chunks: Sequence[ResponseChunk]) -> Iterator[ResponseChunk]:
    """One line with its end a chunk; what came of a line earlier comes with its rest."""
    held = b""
    following = _next_octets(chunks)
    for number, chunk in enumerate(chunks):
        is_last = number + 1 == len(chunks)
        if not chunk.data and not is_last:
            yield chunk
            continue
        data = held + chunk.data
        ends = [end.end() for end in _LINE_END.finditer(data)]
        if is_last:
            ends.append(len(data))
        elif data.endswith(b"\r") and following[number] == b"\n":
            ends.pop()
        start = 0
        for end in ends:
            if end > start or not data:
                yield replace(chunk, data=data[start:end])
            start = end
        held = data[start:]


def _next_octets(chunks: Sequence[ResponseChunk]) -> list[bytes]:
    """For each chunk the first octet behind it, empty chunks passed over; b"" behind the last."""
    octets: list[bytes] = []
    following = b""
    for chunk in reversed(chunks):
        octets.append(following)
        following = chunk.data[:1] or following
    octets.reverse()
    return octets


def at_random(random: Callable[[], float], others: Iterable[Milliseconds], *, joining: bool = True) -> Cut:
    """Cut wherever `random` (0 <= x < 1) says.

    `joining`: chunks may also become one, where they were close and nothing was seen of other exchanges between them
    (`others`: when something was). The first chunk is not joined: when an answer began is evidence.
    """
    moments = sorted(others)

    def cut(chunks: Sequence[ResponseChunk]) -> Iterator[ResponseChunk]:
        held = b""
        since: Milliseconds | None = None
        for number, chunk in enumerate(chunks):
            since = since if held else chunk.t_ms
            data = held + chunk.data
            start = 0
            for place in _places(random, len(held), len(data)):
                yield replace(chunk, data=data[start:place])
                start = place
            # Chance first, so that the cuts of what follows do not depend on whether joining is allowed.
            joins = random() < JOIN_CHANCE and joining and 0 < number < len(chunks) - 1
            if joins and _are_close(since, chunks[number + 1].t_ms, moments):
                held = data[start:]
            else:
                held = b""
                yield replace(chunk, data=data[start:])

    return cut


def with_line_ends(line_end: LineEnd) -> Cut:
    """Every line ends so. Boundaries stay where they are; one inside CRLF goes behind it."""
    wanted = _OCTETS[line_end]

    def change(chunks: Sequence[ResponseChunk]) -> Iterator[ResponseChunk]:
        after_cr = False
        for chunk in chunks:
            data = chunk.data
            if data:
                rest = data[1:] if after_cr and data.startswith(b"\n") else data
                after_cr = data.endswith(b"\r")
                data = _LINE_END.sub(lambda _: wanted, rest)
            yield replace(chunk, data=data)

    return change


def _places(random: Callable[[], float], start: int, end: int) -> list[int]:
    """Offsets behind the first octet and before the last end, each at most once, in order."""
    room = end - start - 1
    chosen = [random() for chance in CUT_CHANCES if room > 0 and random() < chance]
    return sorted({start + 1 + int(place * room) for place in chosen})


def _are_close(first: Milliseconds | None, second: Milliseconds | None, others: Sequence[Milliseconds]) -> bool:
    if first is None or second is None:
        return first is second
    if second - first > JOIN_WITHIN_MS:
        return False
    nearest = bisect_left(others, first)
    return nearest == len(others) or others[nearest] > second
