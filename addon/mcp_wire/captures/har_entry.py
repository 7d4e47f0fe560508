"""One entry of a HAR file, as browsers and proxies write them.

A HAR file tells less than the wire did, and each producer leaves out something else. What is not in it is "not
captured", and no evidence. What a producer is known to write differently:

- All: bodies are decoded, whatever Content-Encoding says; where chunks were cut is unknown. Dates have fewer decimals
  than durations, so that an answer may seem to end after what followed it: it is taken to have come as early as that
  allows, since what seems to overlap and does not would be held against the client.
- Browsers: pseudo-headers of HTTP/2 stand among the headers; lines of a repeated header are one value with line ends.
- Browsers and mitmproxy: an event stream that names no charset is UTF-8, and its text was made as if it were not.
- mitmproxy: a body that was not stored is "" of size 0; the time to connect may lie before the request. A flow that has
  an answer and an error is written twice, and the time to connect stands in the first of the two only.
- Chrome: the client's connection is `_connectionId`, not `connection`; `_eventSourceMessages` has the times of events.
- Chrome and Playwright (`_error`, `_failureText`), Charles (`_charlesStatus`): say how it ended.
- This tool (`--report har`): `_chunks` has the times of the chunks.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlsplit

from mcp_wire.captures.stored import StoredExchange
from mcp_wire.conversation.facts import EVENT_STREAM
from mcp_wire.live.clock import Microseconds
from mcp_wire.live.directory import Origin
from mcp_wire.live.parts import (
    MAX_BODY_OCTETS,
    TOO_LARGE,
    Ending,
    EndPart,
    HeadPart,
    LostPart,
    Part,
    RequestPart,
    pieces_of,
)
from mcp_wire.live.recognition import endpoint_of
from mcp_wire.transcript.forms import BODYLESS_METHODS, BODYLESS_STATUSES, says_empty, scheme_of
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.media_types import essence
from mcp_wire.wire.observation import Ended
from mcp_wire.wire.sse import EventStreamReader

NOT_IN_THE_FILE: Final = "the file does not hold it"
PARTLY_IN_THE_FILE: Final = "the file holds only a part of it"
MAX_MILLISECONDS: Final = 1e12

MITMPROXY: Final = "mitmproxy"
"""Its name as a producer, in lower case."""
THIS_TOOL: Final = "mcp-conformance"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION: Final = re.compile(r":[0-9]{2}\.([0-9]{1,6})")
_VERSION: Final = re.compile(r"(?:http/|h)?([123])(?:\.([0-9]))?(?:\+quic/[0-9]+)?")
_RARELY_WITH_BODY: Final = frozenset({"DELETE", "OPTIONS"})
_PORTS: Final = {"http": 80, "https": 443}

_FAILURES: Final = {
    "net::ERR_ABORTED": Ended.CLIENT_CLOSED,
    "net::ERR_CONTENT_LENGTH_MISMATCH": Ended.SERVER_CLOSED,
    "net::ERR_EMPTY_RESPONSE": Ended.SERVER_CLOSED,
    "net::ERR_INCOMPLETE_CHUNKED_ENCODING": Ended.SERVER_CLOSED,
}
"""What Chromium says of an end (net/base/net_error_list.h), where that tells who brought it about."""

type Json = dict[str, Any]


class BrokenEntry(Exception):
    """An entry that cannot be read. The message is a clause and holds nothing from the entry."""


def exchange_of_entry(text: bytes, offset: int, creator: str) -> StoredExchange | None:
    """The exchange; None where it is none of HTTP (`data:`, `ws:`, an extension). Raises BrokenEntry.

    `creator`: the name of the producer in lower case, "" where there is none.
    """
    return _Entry(_parsed(text), text, offset, creator).exchange()


class _Entry:
    def __init__(self, entry: Json, text: bytes, offset: int, creator: str) -> None:
        self._entry = entry
        self._text = text
        self._offset = offset
        self._from_mitmproxy = creator == MITMPROXY
        self._from_this_tool = creator == THIS_TOOL
        self._request = _object(entry, "request", "it has no request")
        self._begun_us, resolution_us = _date(entry.get("startedDateTime"))
        # mitmproxy leaves the fraction out where it is zero.
        self._resolution_us = 1 if self._from_mitmproxy else resolution_us
        # Some fill up with zeros what they know to the millisecond only.
        self._exact = self._from_mitmproxy or self._begun_us % 1000 != 0

    def exchange(self) -> StoredExchange | None:
        url = self._request.get("url")
        if not isinstance(url, str):
            raise BrokenEntry("its request has no URL")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise BrokenEntry("the URL of its request is none") from None
        if parts.scheme not in _PORTS or not host:
            return None
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        endpoint = endpoint_of(parts.scheme, host, port or _PORTS[parts.scheme], target)
        request = self._request_part(endpoint, target)
        return StoredExchange(self._identity(), request, tuple(self._parts(request)), exact=self._exact)

    def _identity(self) -> str:
        """Equal only where everything is, the moment at which it began included: a recording that was written twice.

        Within a millisecond, a client can send the same twice: where time is no finer, no two are the same recording.
        """
        if not self._exact:
            return f"entry-{self._offset}"
        text, timings = self._text, self._entry.get("timings")
        if self._from_mitmproxy and isinstance(timings, dict):
            timings = {name: value for name, value in timings.items() if name not in ("connect", "ssl")}
            entry = {name: value for name, value in self._entry.items() if name != "time"}
            text = json.dumps(entry | {"timings": timings}).encode()
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    def _request_part(self, endpoint: str, target: str) -> RequestPart:
        method = self._request.get("method")
        if not isinstance(method, str) or not method:
            raise BrokenEntry("its request has no method")
        lines = _headers(self._request)
        version = _http_version(self._request) or ""
        raw, why_not = _limited(*self._request_body(method, lines))
        connection = self._entry.get("_connectionId")
        known = isinstance(connection, str) and connection not in ("", "0")
        origin = Origin(endpoint, f"connection-{connection}" if known else f"entry-{self._offset}", version or None)
        # A proxy may have written down the URL for which it asked itself.
        scheme = None if self._from_mitmproxy or self._from_this_tool else scheme_of(origin.endpoint.partition(":")[0])
        return RequestPart(origin, method, target, version, lines, raw, why_not, decoded=True, scheme=scheme)

    def _request_body(self, method: str, lines: Headers) -> tuple[bytes | None, str]:
        posted = self._request.get("postData")
        posted = posted if isinstance(posted, dict) else {}
        text = posted.get("text")
        if isinstance(text, str) and text:
            return self._octets(text, posted, None), ""
        if posted.get("params"):
            return None, NOT_IN_THE_FILE
        # Producers say that a body which they do not have is empty, so only methods that rarely have one are believed.
        rarely = method.upper() in BODYLESS_METHODS | _RARELY_WITH_BODY and "content-length" not in lines
        empty = says_empty(lines) or rarely or (self._from_mitmproxy and text == "")
        return (b"" if empty else None), NOT_IN_THE_FILE

    # The response

    def _parts(self, request: RequestPart) -> Iterator[tuple[Microseconds, Part]]:
        sent_us, head_us, ended_us = self._times()
        yield sent_us, request
        response = self._entry.get("response")
        status = response.get("status") if isinstance(response, dict) else None
        if not isinstance(response, dict) or not isinstance(status, int) or not 100 <= status <= 599:
            yield ended_us, EndPart(Ending(_ended(self._entry, response)), None, None, "")
            return
        lines = _headers(response)
        events = essence(lines.get("content-type")) == EVENT_STREAM
        version = _http_version(response)
        other_version = version if version != request.http_version else None
        body, why_not = self._response_body(request.method, status, lines, response, events)
        chunks, observed = self._chunks(body or b"", head_us) if events else ([], True)
        yield head_us, HeadPart(status, lines, events, observed, other_version, decoded=True)
        for at, data in chunks:
            ended_us = max(ended_us, at)
            yield at, data
        if events and why_not:
            ended_us = max(ended_us, head_us)
            yield ended_us, LostPart(why_not)
        ended = _ended(self._entry, response)
        whole = None if events else _limited(None if why_not else body, why_not)
        yield ended_us, EndPart(Ending(ended), None, *(whole or (None, "")))

    def _response_body(
        self, method: str, status: int, lines: Headers, response: Json, events: bool
    ) -> tuple[bytes | None, str]:
        """What there is of it, and why that is not all; "" where it is."""
        content = response.get("content")
        content = content if isinstance(content, dict) else {}
        text, size = content.get("text"), content.get("size")
        if not isinstance(text, str) or not text:
            empty = status in BODYLESS_STATUSES or method.upper() == "HEAD" or says_empty(lines)
            told = size == 0 and "content-length" not in lines and not events and not self._from_mitmproxy
            return (b"", "") if empty or told else (None, NOT_IN_THE_FILE)
        octets = self._octets(text, content, lines)
        # Some count the octets of the body, some those of the text that they write.
        longest = max(len(octets), len(text.encode("utf-8", "surrogatepass")))
        is_cut = isinstance(size, int) and size > longest and "content-encoding" not in lines
        return octets, PARTLY_IN_THE_FILE if is_cut else ""

    def _octets(self, text: str, content: Json, lines: Headers | None) -> bytes:
        if content.get("encoding") == "base64":
            try:
                # Some break it into lines. What is not of its alphabet would be passed over otherwise.
                return base64.b64decode("".join(text.split()), validate=True)
            except (binascii.Error, ValueError):
                raise BrokenEntry("a body in it is said to be base64, and is none") from None
        if lines is not None and not text.isascii() and _is_stream_without_charset(lines):
            octets = _as_it_was(text, certain=self._from_mitmproxy)
            if octets is not None:
                return octets
        try:
            return text.encode("utf-8", "surrogateescape" if self._from_mitmproxy else "strict")
        except UnicodeEncodeError:
            # No octets make a lone surrogate: a producer cut the text in half there.
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()

    def _chunks(self, body: bytes, head_us: Microseconds) -> tuple[list[tuple[Microseconds, bytes]], bool]:
        """The pieces of a stream, and whether they are chunks that were seen as they arrived."""
        timed = self._own_chunks()
        if timed is not None and sum(octets for _, octets in timed) == len(body):
            return _pieces(body, timed, head_us), self._entry.get("_chunkBoundaries") == "observed"
        timed = self._events(body)
        if timed is not None:
            return _pieces(body, timed, head_us), False
        return [(head_us, piece) for piece in pieces_of(body)], False

    def _own_chunks(self) -> list[tuple[Microseconds, int]] | None:
        """Time and octets of each chunk, as our own report has them."""
        listed, since_ms = self._entry.get("_chunks"), _milliseconds(self._entry.get("_startedMs"))
        if not isinstance(listed, list) or since_ms is None:
            return None
        timed = []
        for item in listed:
            octets, t_ms = (
                (item.get("octets"), _milliseconds(item.get("t_ms"))) if isinstance(item, dict) else (0, None)
            )
            if not isinstance(octets, int) or octets < 0 or t_ms is None:
                return None
            timed.append((self._begun_us + round((t_ms - since_ms) * 1000), octets))
        return timed

    def _events(self, body: bytes) -> list[tuple[Microseconds, int]] | None:
        """Time and octets of each event, as Chrome has them."""
        listed = self._entry.get("_eventSourceMessages")
        if not isinstance(listed, list) or not listed:
            return None
        times = [_milliseconds(item.get("time")) if isinstance(item, dict) else None for item in listed]
        ends = [block.end for block in EventStreamReader().feed(body, chunk=0) if block.dispatched]
        if len(ends) != len(times):
            return None
        seconds = [time for time in times if time is not None]
        if len(seconds) != len(times):
            return None
        ends[-1] = len(body)
        sizes = [end - start for start, end in pairwise([0, *ends])]
        return [(round(time * 1_000_000), size) for time, size in zip(seconds, sizes, strict=True)]

    # Times

    def _times(self) -> tuple[Microseconds, Microseconds, Microseconds]:
        """When the request was sent, the response head came, and it was over."""
        timings = self._entry.get("timings")
        timings = timings if isinstance(timings, dict) else {}
        before = ("send",) if self._from_mitmproxy else ("blocked", "dns", "connect", "send")
        sent = sum(_duration_us(timings.get(name)) for name in before)
        if "wait" not in timings and "receive" not in timings:
            head = ended = max(sent, _duration_us(self._entry.get("time")))
        else:
            head = sent + _duration_us(timings.get("wait"))
            ended = head + _duration_us(timings.get("receive"))
        begun = self._begun_us
        head_us = max(begun + sent, begun + head - self._resolution_us)
        return begun + sent, head_us, max(head_us, begun + ended - self._resolution_us)


def _pieces(
    body: bytes, timed: list[tuple[Microseconds, int]], begun_us: Microseconds
) -> list[tuple[Microseconds, bytes]]:
    """The body, cut after so many octets; times never run backwards."""
    pieces = []
    position, at = 0, begun_us
    for moment, octets in timed:
        at = max(at, moment)
        pieces.append((at, body[position : position + octets]))
        position += octets
    return pieces


def _parsed(text: bytes) -> Json:
    try:
        entry = json.loads(text)
    except UnicodeDecodeError:
        raise BrokenEntry("it is not UTF-8") from None
    except (ValueError, RecursionError):
        raise BrokenEntry("it is no JSON") from None
    if not isinstance(entry, dict):
        raise BrokenEntry("it is no object")
    return entry


def _object(entry: Json, name: str, complaint: str) -> Json:
    value = entry.get(name)
    if not isinstance(value, dict):
        raise BrokenEntry(complaint)
    return value


def _headers(message: Json) -> Headers:
    listed = message.get("headers")
    if not isinstance(listed, list):
        raise BrokenEntry("it has no headers")
    lines: list[tuple[str, str]] = []
    for item in listed:
        name, value = (item.get("name"), item.get("value")) if isinstance(item, dict) else _pair(item)
        if not isinstance(name, str) or not isinstance(value, str | None):
            raise BrokenEntry("a header in it is none")
        if name and not name.startswith(":"):
            lines += ((name, line) for line in (value or "").split("\n"))
    return Headers(lines)


def _pair(item: object) -> tuple[object, object]:
    """Some producers list pairs."""
    if isinstance(item, list) and len(item) == 2:
        return item[0], item[1]
    raise BrokenEntry("a header in it is none")


def _http_version(message: Json) -> str | None:
    """As mitmproxy has it: HTTP/1.1, HTTP/2.0, HTTP/3."""
    named = message.get("httpVersion")
    found = _VERSION.fullmatch(named.lower()) if isinstance(named, str) else None
    if found is None:
        return None
    if found[1] == "1":
        return f"HTTP/1.{found[2] or 1}"
    return "HTTP/2.0" if found[1] == "2" else "HTTP/3"


def _date(value: object) -> tuple[Microseconds, Microseconds]:
    """Microseconds since 1970, and the last decimal in microseconds."""
    if not isinstance(value, str):
        raise BrokenEntry("it has no startedDateTime")
    try:
        when = datetime.fromisoformat(value)
        begun = (when if when.tzinfo is not None else when.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        raise BrokenEntry("its startedDateTime is no date") from None
    fraction = _FRACTION.search(value)
    return begun // timedelta(microseconds=1), 10 ** (6 - (len(fraction[1]) if fraction is not None else 0))


def _duration_us(value: object) -> Microseconds:
    """Zero where it is not known: null, absent, or -1."""
    return round(max(_milliseconds(value) or 0, 0) * 1000)


def _milliseconds(value: object) -> float | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_MILLISECONDS
    return value if fits else None  # type: ignore[return-value]  # only numbers fit


def _limited(body: bytes | None, why_not: str) -> tuple[bytes | None, str]:
    return (None, TOO_LARGE) if body is not None and len(body) > MAX_BODY_OCTETS else (body, why_not)


def _is_stream_without_charset(lines: Headers) -> bool:
    media_type = lines.get("content-type")
    return essence(media_type) == EVENT_STREAM and "charset" not in (media_type or "").lower()


def _as_it_was(text: str, *, certain: bool) -> bytes | None:
    """The octets of a text that was decoded as latin-1 or windows-1252; None where it seems that it was not.

    `certain`: it was. Otherwise only if they are UTF-8: by chance, hardly any text would be.
    """
    for table in (_LATIN_1, _WINDOWS_1252):
        try:
            octets = bytes(map(table.__getitem__, text))
            if not certain:
                octets.decode()
        except (KeyError, UnicodeDecodeError):
            continue
        return octets
    return None


_LATIN_1: Final = {chr(octet): octet for octet in range(256)}
_WINDOWS_1252: Final = {bytes((octet,)).decode("cp1252", "ignore") or chr(octet): octet for octet in range(256)}
"""As browsers have it (https://encoding.spec.whatwg.org/#windows-1252): five octets that stand for themselves."""


def _ended(entry: Json, response: object) -> Ended | None:
    told = response if isinstance(response, dict) else {}
    if told.get("_charlesStatus") == "COMPLETE":
        return Ended.COMPLETE
    for failure in (told.get("_failureText"), told.get("_error"), entry.get("_error")):
        if isinstance(failure, str) and failure:
            return _FAILURES.get(failure)
    return None
