"""What may leave the process of one conversation: observations in, redacted observations out.

Transcript, journal, findings, logs: all of it is made from what comes out here, under one set of labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, assert_never

from mcp_wire.privacy.allow_lists import (
    EVENT_TYPES,
    HTTP_VERSION,
    META_KEYS,
    NUMBER_HEADERS,
    OUT_OF_RANGE,
    RESET_CODES,
    RESET_NUMBER,
    WORDS_OF_METHODS,
)
from mcp_wire.privacy.body_redaction import redact_body
from mcp_wire.privacy.header_redaction import HeaderRedaction, is_mcp_header
from mcp_wire.privacy.json_redaction import JsonRedaction, JsonTree
from mcp_wire.privacy.stream_redaction import Redacted, StreamRedaction
from mcp_wire.privacy.tuple_redaction import TupleRedaction
from mcp_wire.privacy.values import Values
from mcp_wire.protocol.methods import is_defined_anywhere
from mcp_wire.wire.body import EVENT_TOO_LARGE, Body
from mcp_wire.wire.evidence import Evidence
from mcp_wire.wire.headers import NO_HEADERS
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from mcp_wire.wire.strict_json import JsonValue, LongInteger, dump_json

MAX_OPEN_STREAMS: Final = 4_096
"""Event streams redacted at the same time; of a further one only empty chunks are kept."""

MAX_SHOWN: Final = 200
"""Characters of a value in a message."""

MAX_OCTETS: Final = NUMBER_HEADERS["content-length"]

_TOOL_CALL: Final = "tools/call"
_LENGTH: Final = re.compile(r"[0-9]{1,15}")
_FAILED: Final = "redacted"


class Redactor:
    """Redacts one conversation. Nothing in the traffic makes it raise; what it cannot handle it leaves out.

    `keep_tool_names`: names of tools stay as they are, unless they look like keys.
    """

    def __init__(self, *, keep_tool_names: bool = True) -> None:
        self._values = Values()
        self._json = JsonRedaction(self._values, keep_tool_names=keep_tool_names)
        self._headers = HeaderRedaction(self._values, self._json)
        self._tuple = TupleRedaction(self._values, self._headers)
        self._streams: dict[str, StreamRedaction] = {}
        self._bodies: dict[str, tuple[int, int | None]] = {}  # declared and actual octets, by exchange
        self._long: dict[str, int] = {}  # declared octets that are out of range
        self.failures = 0
        """Observations that were left without content because redacting them failed."""

    def reserve(self, text: str) -> None:
        """Keep the labels that stand in a text (of a transcript, say) for what they stand for there."""
        self._values.labels.reserve(text)

    def feed(self, observation: Observation) -> list[Observation]:
        """The redacted observations that this one completes, in order.

        Chunks of an event stream come out when their events are complete, at the latest with the end of the exchange.
        """
        try:
            return self._redacted(observation)
        except Exception:  # a fault of ours must neither stop the traffic nor let anything through
            self.failures += 1
            return _without_content(observation)

    def show(self, evidence: Evidence) -> str:
        """A value from the wire as text for a message: the label that it has in the transcript, on one line.

        Kinds beside those of `Evidence`: `key` (of `_meta`, or the name of an extension) and `event` (its type). The
        name of an Mcp-* header is a `name`.
        """
        try:
            shown = self._shown(evidence.kind, evidence.value)
        except Exception:  # see `feed`
            return _FAILED
        shown = "".join(character if character.isprintable() else _escaped(character) for character in shown)
        return shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "…"

    def label_path(self, path: str) -> str:
        """A request target or a URL, as the transcript has it."""
        try:
            return self._values.uri(path)
        except Exception:  # see `feed`
            return _FAILED

    def redact_tuple(self, members: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The interoperability tuple: names and versions of products stay, the endpoint becomes a redacted path."""
        try:
            return self._tuple.redact(members)
        except Exception:  # see `feed`
            return {}

    # --- observations ---

    def _redacted(self, observation: Observation) -> list[Observation]:
        match observation:
            case RequestSeen():
                return [self._request(observation)]
            case ResponseSeen():
                self._expect_octets(observation)
                headers = self._headers.headers(observation.headers)
                return [replace(observation, headers=headers, http_version=self._version(observation.http_version))]
            case ResponseChunk():
                stream = self._streams.get(observation.exchange)
                if stream is None:
                    if len(self._streams) >= MAX_OPEN_STREAMS:
                        return [replace(observation, data=b"")]
                    stream = self._streams[observation.exchange] = StreamRedaction(self._values, self._json)
                was_given_up = stream.given_up
                chunks = _chunks(observation.exchange, stream.feed(observation.data, observation.t_ms))
                if stream.given_up and not was_given_up:
                    return [*chunks, ResponseBody(observation.exchange, observation.t_ms, EVENT_TOO_LARGE)]
                return chunks
            case ResponseBody():
                self._count_octets(observation)
                body = replace(observation, body=redact_body(observation.body, self._json))
                if observation.body.is_captured or observation.exchange not in self._streams:
                    return [body]
                # The rest of the stream was not captured, so that nothing completes what waits.
                return [*_chunks(observation.exchange, self._streams.pop(observation.exchange).end()), body]
            case ExchangeEnded():
                observation = self._with_octets(observation)
                code = observation.reset_code
                if code is not None and code.upper() not in RESET_CODES and not RESET_NUMBER.fullmatch(code):
                    observation = replace(observation, reset_code=self._values.text(code))
                stream = self._streams.pop(observation.exchange, None)
                if stream is None or stream.given_up:
                    return [observation]
                rest = _chunks(observation.exchange, stream.end())
                if stream.given_up:
                    return [*rest, ResponseBody(observation.exchange, observation.t_ms, EVENT_TOO_LARGE), observation]
                return [*rest, observation]
            case _:
                assert_never(observation)

    def _expect_octets(self, head: ResponseSeen) -> None:
        length = head.headers.get("content-length") or ""
        if _LENGTH.fullmatch(length) and int(length) > MAX_OCTETS and len(self._long) < MAX_OPEN_STREAMS:
            self._long[head.exchange] = int(length)
        if (
            _LENGTH.fullmatch(length)
            and "content-encoding" not in head.headers
            and len(self._bodies) < MAX_OPEN_STREAMS
        ):
            self._bodies[head.exchange] = (int(length), None)

    def _count_octets(self, seen: ResponseBody) -> None:
        found = self._bodies.get(seen.exchange)
        if found is not None and seen.body.is_captured:
            text = seen.body.text
            octets = seen.body.raw_size if text is None else len(text.encode("utf-8", "surrogatepass"))
            self._bodies[seen.exchange] = (found[0], octets)

    def _with_octets(self, ended: ExchangeEnded) -> ExchangeEnded:
        """A label has another length than its value: where that counts, the body's own length is said beside it.

        It counts where a length was declared, and the body had it or was cut by the server.
        """
        declared, octets = self._bodies.pop(ended.exchange, (0, None))
        long = self._long.pop(ended.exchange, None)
        received = ended.received_octets
        if received is not None and received > MAX_OCTETS:
            # As much as was declared, or less, or more: that is all that anybody asks.
            received = OUT_OF_RANGE - 1 if long is not None and received < long else OUT_OF_RANGE
            return replace(ended, received_octets=received)
        if octets is None or received is not None:
            return ended
        tells = octets >= declared or ended.ended is Ended.SERVER_CLOSED
        return replace(ended, received_octets=octets) if tells else ended

    def _request(self, request: RequestSeen) -> RequestSeen:
        self._headers.remember(request.headers)
        # The body first: a mirrored header is shown as the body's value is.
        body = redact_body(request.body, self._json)
        if _may_call_tool(request):
            self._headers.remember_tool(request.headers)
        return replace(
            request,
            method=self._http_method(request.method),
            path=self._values.target(request.path),
            headers=self._headers.headers(request.headers),
            body=body,
            http_version=self._version(request.http_version),
        )

    def _version(self, version: str | None) -> str | None:
        return version if version is None or HTTP_VERSION.fullmatch(version) else self._values.text(version)

    def _http_method(self, method: str) -> str:
        return method if method.upper() in WORDS_OF_METHODS else self._values.text(method, "method")

    # --- messages ---

    def _shown(self, kind: str, value: object) -> str:
        if kind.startswith("header:"):
            return self._headers.value(kind.removeprefix("header:"), value) if isinstance(value, str) else _FAILED
        if not isinstance(value, str):
            return self._shown_json(kind, value)
        match kind:
            case "method":
                return value if value.upper() in WORDS_OF_METHODS else self._json.method(value)
            case "id" | "token":
                return dump_json(self._values.text(value, "id"))
            case "name":
                return self._headers.name(value) if is_mcp_header(value) else self._json.mirrored_name(value)
            case "key":
                return self._json.member_name(value, "meta")
            case "event":
                return value if value in EVENT_TYPES else self._values.text(value)
            case "uri":
                return self._values.uri(value)
            case "cursor":
                return self._values.text(value, "cursor")
            case "session":
                return self._values.labels.text(value, "session")
            case "version":
                return self._headers.version(value)
            case _:
                return value if value in EVENT_TYPES or value in META_KEYS else self._values.text(value)

    def _shown_json(self, kind: str, value: object) -> str:
        if not (value is None or isinstance(value, bool | int | float | LongInteger | list | dict)):
            return _FAILED
        tree: JsonTree = value
        if kind == "code" and isinstance(tree, int | float | LongInteger):
            return dump_json(self._json.number(tree, "code"))
        redacted = self._json.identifier(tree) if kind in ("id", "token") else self._json.free(tree)
        return dump_json(redacted)  # type: ignore[arg-type]


def _may_call_tool(request: RequestSeen) -> bool:
    """By the method in its body, failing that by its header. Where neither tells, it may name a prompt or a file."""
    value = request.body.value
    for method in (value.get("method") if isinstance(value, dict) else None, request.headers.get("mcp-method")):
        if isinstance(method, str) and is_defined_anywhere(method):
            return method == _TOOL_CALL
    return False


def _chunks(exchange: str, chunks: list[Redacted]) -> list[Observation]:
    return [ResponseChunk(exchange, chunk.t_ms, chunk.data) for chunk in chunks]


def _without_content(observation: Observation) -> list[Observation]:
    body = Body.not_captured("it could not be redacted")
    match observation:
        case RequestSeen():
            return [replace(observation, method="POST", path="/", headers=NO_HEADERS, body=body, http_version=None)]
        case ResponseSeen():
            return [replace(observation, headers=NO_HEADERS, http_version=None)]
        case ResponseChunk():
            return [replace(observation, data=b"")]
        case ResponseBody():
            return [replace(observation, body=body)]
        case ExchangeEnded():
            return [replace(observation, reset_code=None)]
        case _:
            assert_never(observation)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
