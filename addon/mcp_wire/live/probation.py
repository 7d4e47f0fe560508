"""A GET's stream that may be the transport of 2024-11-05: kept from the judge until its first event shows it."""

from __future__ import annotations

from typing import Final

from mcp_wire.live.parts import EndPart, Entry, HeadPart, LostPart
from mcp_wire.live.recognition import Recogniser
from mcp_wire.wire.content_coding import Decoder, decoder_for
from mcp_wire.wire.sse import EventStreamReader

MAX_HELD_OCTETS: Final = 64 * 1024
"""Of the stream, content-coded and decoded alike."""
MAX_HELD_PARTS: Final = 256


class Probation:
    """Holds the parts of one exchange. `endpoint` is the one that its GET named."""

    def __init__(self, endpoint: str, recogniser: Recogniser) -> None:
        self._endpoint = endpoint
        self._recogniser = recogniser
        self._held: list[Entry] = []
        self._octets = 0
        self._decoder: Decoder | None = None
        self._reader = EventStreamReader()

    def hold(self, entry: Entry) -> list[Entry] | None:
        """Everything held, once it is known to be that transport; nothing, once it is known not to be; else None."""
        self._held.append(entry)
        part = entry[2]
        if isinstance(part, HeadPart):
            self._decoder = decoder_for(part.content_encoding)
        elif isinstance(part, LostPart | EndPart):
            return []
        elif isinstance(part, bytes):
            return self._chunk(part)
        return None

    def _chunk(self, data: bytes) -> list[Entry] | None:
        if self._decoder is None or len(self._held) > MAX_HELD_PARTS or self._octets + len(data) > MAX_HELD_OCTETS:
            return []
        for piece in self._decoder.pieces(data):
            self._octets += len(piece)
            for block in self._reader.feed(piece, chunk=0):
                if block.dispatched:
                    is_endpoint = block.event_type == "endpoint"
                    legacy = is_endpoint and self._recogniser.legacy_stream(self._endpoint, block.data or "")
                    return self._held if legacy else []
            if self._octets > MAX_HELD_OCTETS:
                return []
        return [] if self._decoder.failed is not None else None
