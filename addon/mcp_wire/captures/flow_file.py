"""Flow files of mitmproxy (`mitmdump -w`), read flow by flow, with this addon's marks and without them.

A file is a row of records, each with its length before it (mitmproxy.io). So a flow that cannot be read is left out
and the next one is read; where a length makes no sense, nothing behind it can be.
"""

from __future__ import annotations

import gc
import io
import os
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from mitmproxy import exceptions, http
from mitmproxy.flow import Flow
from mitmproxy.io import FlowReader

from mcp_wire.captures.stored import LeftOut, Place, StoredExchange, UnreadableCapture
from mcp_wire.live.clock import Microseconds
from mcp_wire.live.stored import stored_parts, stored_request, was_observed

MAX_FLOW_OCTETS: Final = 64 * 1024 * 1024
"""A larger flow is left out: mitmproxy reads a flow whole, several times its size in memory."""

GARBAGE_OCTETS: Final = 32 * 1024 * 1024
"""mitmproxy leaves every flow that it has read in a cycle of references. So much is read before those are broken up."""

MAX_TIME_US: Final[Microseconds] = 253_402_300_800_000_000
"""The end of the year 9999, as in a HAR file."""

_LENGTH: Final = re.compile(rb"([0-9]{1,12}):")
_LENGTH_OCTETS: Final = 13


class FlowFile:
    """A flow file, open and seekable. See Capture."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.seek(0, os.SEEK_END)
        self._garbage = 0

    def places(self) -> Iterator[Place | LeftOut]:
        number = 0
        offset = 0
        anything = False
        while offset < self._size:
            number += 1
            where = f"flow {number}, at byte {offset}"
            size = self._record_size(offset)
            if size is None:
                if not anything:
                    raise UnreadableCapture("no flow in it can be read")
                yield LeftOut(where, "cut off or damaged; nothing behind it can be read")
                return
            if size > MAX_FLOW_OCTETS:
                yield LeftOut(where, f"larger than {MAX_FLOW_OCTETS // 1024 // 1024} MiB")
            else:
                try:
                    flow = self._flow(offset, size)
                    exchange = exchange_of(flow) if isinstance(flow, http.HTTPFlow) else None
                except _TimesOutOfRange:
                    yield LeftOut(where, "its times are none")
                except _UNREADABLE:
                    yield LeftOut(where, "not a flow that this version of mitmproxy can read")
                else:
                    anything = True
                    if exchange is not None:
                        yield Place(exchange.parts[0][0], offset)
            offset += size
        if not anything:
            raise UnreadableCapture("no flow in it can be read" if self._size else "it is empty")

    def exchange(self, place: Place) -> StoredExchange:
        size = self._record_size(place.offset)
        assert size is not None
        flow = self._flow(place.offset, size)
        assert isinstance(flow, http.HTTPFlow)
        return exchange_of(flow)

    def _record_size(self, offset: int) -> int | None:
        """Octets of the record that begins there, its length and its type included; None where it has no end."""
        self._file.seek(offset)
        found = _LENGTH.match(self._file.read(_LENGTH_OCTETS))
        if found is None:
            return None
        size = found.end() + int(found[1]) + 1
        return size if offset + size <= self._size else None

    def _flow(self, offset: int, size: int) -> Flow:
        self._garbage += size
        if self._garbage > GARBAGE_OCTETS:
            self._garbage = 0
            gc.collect()
        self._file.seek(offset)
        return _flow(self._file.read(size))


def exchange_of(flow: http.HTTPFlow) -> StoredExchange:
    request = stored_request(flow)
    parts = tuple(stored_parts(flow, request))
    if not all(abs(at) <= MAX_TIME_US for at, _ in parts):
        raise _TimesOutOfRange
    return StoredExchange(flow.id, request, parts, was_observed(flow))


class _TimesOutOfRange(Exception):
    pass


_UNREADABLE: Final = (
    exceptions.FlowReadException,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What mitmproxy raises for a record that was changed by hand, or is none of its own."""


def _flow(record: bytes) -> Flow:
    for flow in FlowReader(io.BytesIO(record)).stream():
        return flow
    raise ValueError("there is no flow")
