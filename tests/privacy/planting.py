"""Conversations with a canary in every place that traffic has: in each of its shapes, its encodings, its cuts.

A place is one of the texts below, named where it is filled. A conversation fills each place that it has once; over
many conversations each place goes through all its shapes and encodings, and each stream through all cuts.
"""

from __future__ import annotations

import itertools
import json
import random
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.privacy.canary_shapes import ENCODINGS, LOOK_RANDOM, SHAPES, Canary, canary

PROFILES: Final = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

_JSON: Final = ("plain", "escaped", "base64", "url", "nested", "percent", "sentinel", "base64url", "hexadecimal")
_NAME: Final = ("plain", "escaped", "percent", "base64url")
_TEXT: Final = ("plain", "base64", "percent", "url", "html", "nested")
_HEADER: Final = ("plain", "percent", "base64", "sentinel", "url", "base64url", "latin-1")
_URL: Final = ("percent where needed", "percent", "percent twice", "base64url")

COUNTED: Final = tuple(shape for shape in SHAPES if shape != "digits")
"""Shapes for where HTTP or MCP count something: a number in the range of what is counted there stays, because rules
compare it. Seconds and octets go up to nine digits, so that only the longer numbers are canaries there."""
LONG: Final = ("long digits",)
ASCII: Final = tuple(shape for shape in SHAPES if shape not in ("accented", "wide"))
NO_NAME: Final = LOOK_RANDOM
"""Shapes for names of tools and products, which stay as long as they look like names: they say what met."""
NO_VERSION: Final = tuple(shape for shape in SHAPES if shape != "digits")
"""Shapes for versions of products, which stay: one may be a number of eight digits, a date."""

HEADERS: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    # name, what stands before the canary in its value, shapes
    ("Accept-Language", "", SHAPES),
    ("Access-Control-Request-Headers", "content-type, x-", SHAPES),
    ("Authorization", "Bearer ", SHAPES),
    ("Authorization", "Basic ", SHAPES),
    ("Authorization", "", SHAPES),
    ("Proxy-Authorization", "Digest username=", SHAPES),
    ("Cookie", "sid=", SHAPES),
    ("Cookie", "a=b; ", SHAPES),
    ("Set-Cookie", "sid=", SHAPES),
    ("Set-Cookie", "a=b; Path=/; Domain=", SHAPES),
    ("Forwarded", "for=", SHAPES),
    ("X-Forwarded-For", "203.0.113.9, ", SHAPES),
    ("X-Forwarded-Host", "", SHAPES),
    ("X-Api-Key", "", SHAPES),
    ("X-Request-Id", "", SHAPES),
    ("X-Amzn-Trace-Id", "Root=1-", SHAPES),
    ("Traceparent", "00-", SHAPES),
    ("Tracestate", "vendor=", SHAPES),
    ("Baggage", "userId=", SHAPES),
    ("ETag", '"', SHAPES),
    ("If-None-Match", 'W/"', SHAPES),
    ("Link", "<https://api.example.com/", SHAPES),
    ("Location", "https://api.example.com/", SHAPES),
    ("Location", "/login?next=", SHAPES),
    ("Content-Location", "/", SHAPES),
    ("Referer", "https://app.example.com/", SHAPES),
    ("Origin", "https://", SHAPES),
    ("Origin", "http://localhost:3000/", SHAPES),
    ("Mcp-Param-Region", "", SHAPES),
    ("Mcp-Param-Note", "a ", SHAPES),
    ("Mcp-Unheard-Of", "", SHAPES),
    ("WWW-Authenticate", 'Bearer realm="', SHAPES),
    ("WWW-Authenticate", 'Bearer resource_metadata="https://api.example.com/', SHAPES),
    ("WWW-Authenticate", 'Bearer error="invalid_token", error_description="', SHAPES),
    ("Warning", "199 - ", SHAPES),
    ("Server-Timing", "db;desc=", SHAPES),
    ("Content-Disposition", "attachment; filename=", SHAPES),
    ("Content-Security-Policy", "report-uri https://csp.example.com/", SHAPES),
    ("X-Served-By", "cache-", SHAPES),
    ("X-Internal-Tenant", "", SHAPES),
    ("Priority", "u=", SHAPES),
    ("CF-Ray", "", SHAPES),
    ("Vary", "Accept, ", SHAPES),
    ("Allow", "GET, ", SHAPES),
    ("Connection", "keep-alive, ", SHAPES),
    ("Sec-Fetch-Site", "", SHAPES),
    ("Pragma", "", SHAPES),
    ("Expires", "", SHAPES),
    ("Last-Modified", "", SHAPES),
    ("X-Powered-By", "", SHAPES),
    ("User-Agent", "probe/1.0 (", SHAPES),
    ("User-Agent", "", SHAPES),
    ("Server", "nginx (", SHAPES),
    ("Server", "nginx/", NO_VERSION),
    ("Server", "", SHAPES),
    ("Via", "1.1 ", SHAPES),
    ("Via", "1.1 nginx (", SHAPES),
    ("Alt-Svc", "h3=", SHAPES),
    ("X-Accel-Buffering", "", SHAPES),
    ("Accept-Encoding", "gzip;q=", SHAPES),
    ("Accept-Encoding", "gzip, ", SHAPES),
    ("Cache-Control", "no-cache, ", COUNTED),
    ("Cache-Control", "private=", COUNTED),
    ("X-Cache", "Hit from ", COUNTED),
    ("Keep-Alive", "timeout=", COUNTED),
    ("Retry-After", "", COUNTED),
    ("Age", "", COUNTED),
)
"""In each exchange some of them, in both directions: a proxy, or a test of a server, sends what it likes."""

FRAMING: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("Accept", "application/json, text/", SHAPES),
    ("Accept", "text/event-stream;q=", SHAPES),
    ("Content-Type", "application/", SHAPES),
    ("Content-Type", "application/json; charset=", SHAPES),
    ("Content-Encoding", "", SHAPES),
    ("Transfer-Encoding", "", SHAPES),
    ("Content-Length", "", COUNTED),
    ("TE", "trailers, ", SHAPES),
    ("Upgrade", "", SHAPES),
    ("Expect", "", SHAPES),
    ("Date", "", SHAPES),
    ("Trailer", "x-", SHAPES),
    ("Host", "", SHAPES),
    ("Host", "localhost:", SHAPES),
    ("MCP-Protocol-Version", "", SHAPES),
    ("MCP-Protocol-Version", "2025-11-25, ", SHAPES),
    ("Mcp-Method", "tools/", SHAPES),
    ("Mcp-Method", "", SHAPES),
    ("Mcp-Session-Id", "a b ", SHAPES),
)
"""What a transcript may say of heads that no proxy would pass, or that would change what the rest of a message is."""

ODD_HEADERS: Final = 6
"""So many in every head."""

CUTS: Final = ("whole", "octets", "inside canaries", "inside characters", "lines", "at random")
LINE_ENDS: Final = ("\n", "\r\n", "\r")
DATA_LINES: Final = ("one line", "lines between tokens", "lines inside canaries")


@dataclass(frozen=True, slots=True)
class Planted:
    canary: Canary
    place: str
    encoding: str
    cut: str
    written: str


@dataclass
class Exchange:
    """One exchange as it stood on the wire, after the transfer coding. `chunks` None: no event stream."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    status: int
    answer_headers: list[tuple[str, str]]
    answer: bytes = b""
    chunks: list[bytes] | None = None

    @property
    def answered(self) -> bytes:
        return self.answer if self.chunks is None else b"".join(self.chunks)


@dataclass
class Talk:
    """One conversation and what was planted in it."""

    number: int
    revision: str
    exchanges: list[Exchange] = field(default_factory=list)
    planted: list[Planted] = field(default_factory=list)


class Planter:
    """Gives out canaries. `used`: how often each place has been filled so far, by all conversations."""

    def __init__(self, talk: Talk, chance: random.Random, used: Counter[str]) -> None:
        self.talk = talk
        self.chance = chance
        self.cut = "none"
        self._used = used
        self._numbers: dict[str, str] = {}

    def _plant(self, place: str, encodings: Sequence[str], shapes: Sequence[str]) -> Planted:
        number = self._used[place] + zlib.crc32(place.encode())
        self._used[place] += 1
        shape = shapes[number % len(shapes)]
        encoding = encodings[number // len(shapes) % len(encodings)]
        if encoding == "latin-1" and shape == "wide":
            encoding = "plain"
        made = canary(shape, self.chance)
        written = ENCODINGS[encoding](made.value) if encoding != "escaped" else made.value
        planted = Planted(made, place, encoding, self.cut, written)
        self.talk.planted.append(planted)
        return planted

    def json(self, place: str, shapes: Sequence[str] = SHAPES) -> str:
        """A string in a JSON value that `dumped` will write."""
        return self._held(self._plant(f"json {place}", _JSON, shapes))

    def name(self, place: str, shapes: Sequence[str] = SHAPES) -> str:
        """The same for what is a name or an id: a member's, a tool's, a method's."""
        return self._held(self._plant(f"json {place}", _NAME, shapes))

    def number(self, place: str, form: str = "{}", shapes: Sequence[str] = ("digits",)) -> str:
        """A number in a JSON value that `dumped` will write, as this form has it."""
        planted = self._plant(f"json {place}", ("plain",), shapes)
        held = self._held(planted)
        self._numbers[held] = form.format(planted.written)
        return held

    def _held(self, planted: Planted) -> str:
        return f"\ue000{len(self.talk.planted) - 1}\ue001"

    def text(self, place: str, shapes: Sequence[str] = SHAPES) -> str:
        """A part of a text that is no JSON."""
        return self._plant(place, _TEXT, shapes).written

    def line(self, place: str, shapes: Sequence[str] = SHAPES, encodings: Sequence[str] = _NAME) -> str:
        """A value of a line of an event stream."""
        return self._plant(place, [one for one in encodings if one != "escaped"], shapes).written

    def in_url(self, place: str, shapes: Sequence[str] = SHAPES) -> str:
        return self._plant(f"url {place}", _URL, shapes).written

    def header(self, name: str, before: str = "", shapes: Sequence[str] = SHAPES) -> tuple[str, str]:
        written = self._plant(f"header {name}: {before}".rstrip(), _HEADER, shapes).written
        if before.startswith("Basic"):
            written = ENCODINGS["base64"](f"user:{written}") if written.isascii() else written
        after = '"' if before.count('"') % 2 else ")" if before.endswith("(") else ">" if before[:1] == "<" else ""
        return name, before + written + after

    def dumped(self, value: Any, *, lines: str = "one line") -> str:
        """JSON, each canary in its encoding. `lines`: where line ends are put for events of several data lines."""
        text = json.dumps(value, ensure_ascii=False, indent=1 if lines == "lines between tokens" else None)
        for number, planted in enumerate(self.talk.planted):
            mark = f"\ue000{number}\ue001"
            if mark in self._numbers:
                text = text.replace(f'"{mark}"', self._numbers[mark])
            elif mark in text:
                written = _as_json(planted, self.chance)
                if lines == "lines inside canaries":
                    half = _middle(written)
                    written = f"{written[:half]}\n{written[half:]}"
                text = text.replace(mark, written)
        return text


def _as_json(planted: Planted, chance: random.Random) -> str:
    if planted.encoding == "escaped":
        units = planted.written.encode("utf-16-be")
        return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
    return json.dumps(planted.written, ensure_ascii=chance.random() < 0.5)[1:-1]


def _middle(written: str) -> int:
    """In the middle, but not inside an escape."""
    half = len(written) // 2
    escape = written.rfind("\\", max(half - 5, 0), half)
    return escape if escape > 0 else half


# --- one conversation ---


def conversation(number: int, used: Counter[str]) -> Talk:
    """A conversation in the revision whose turn it is, the same for the same number and uses."""
    talk = Talk(number, PROFILES[number % len(PROFILES)])
    _Conversation(talk, Planter(talk, random.Random(number), used)).hold()
    return talk


class _Conversation:
    def __init__(self, talk: Talk, plant: Planter) -> None:
        self.talk, self.plant = talk, plant
        self.modern = talk.revision == "2026-07-28"
        self.session = ""
        self._id = 0
        self._headers = itertools.cycle(HEADERS)

    def hold(self) -> None:
        if self.modern:
            self._discover()
        else:
            self._initialize()
        self._list_tools()
        self._call_a_tool()
        self._read_a_resource()
        self._get_a_prompt()
        self._complete()
        if self.modern:
            self._ask_back()
        else:
            self._listen()
            self._answer_the_server()
        self._be_refused()
        self._meet_a_gateway()
        self._say_nonsense()
        self._leave()

    # How exchanges are made

    def post(
        self,
        message: Any,
        *,
        answer: Any = None,
        stream: str | None = None,
        status: int = 200,
        more: Iterable[tuple[str, str]] = (),
        text: bytes | None = None,
        answer_more: Iterable[tuple[str, str]] = (),
        query: str = "",
        body: bytes | None = None,
    ) -> None:
        plant = self.plant
        headers = [("Host", "api.example.com"), ("Accept", "application/json, text/event-stream")]
        headers += [("Content-Type", "application/json"), *self._standing(message), *more, *self._odd()]
        raw = body if body is not None else _octets(plant.dumped(message))
        answer_headers = [*answer_more, *self._odd()]
        exchange = Exchange("POST", f"/mcp{query}", headers, raw, status, answer_headers)
        if stream is not None:
            answer_headers.insert(0, ("Content-Type", "text/event-stream"))
            exchange.chunks = self._cut(stream)
        elif text is not None:
            exchange.answer = text
        elif answer is not None:
            answer_headers.insert(0, ("Content-Type", "application/json"))
            exchange.answer = _octets(plant.dumped(answer))
        self.talk.exchanges.append(exchange)

    def _odd(self) -> list[tuple[str, str]]:
        """The next header fields: in each conversation every one has its turn."""
        lines = [self.plant.header(*found) for found in itertools.islice(self._headers, ODD_HEADERS)]
        start = ("X-", "", "Mcp-Param-", "X-Amz-")[len(self.talk.planted) % 4]
        return [*lines, (start + self.plant.line("header name", ASCII, ("plain", "base64url", "hexadecimal")), "1")]

    def _standing(self, message: Any) -> list[tuple[str, str]]:
        if self.modern:
            method = message.get("method", "") if isinstance(message, dict) else ""
            return [("MCP-Protocol-Version", self.talk.revision), ("Mcp-Method", method)]
        if not self.session:
            return []
        version = [("MCP-Protocol-Version", self.talk.revision)] if self.talk.revision != "2025-03-26" else []
        return [*version, ("Mcp-Session-Id", self.session)]

    def _cut(self, stream: str) -> list[bytes]:
        data = _octets(stream.replace("\n", LINE_ENDS[self.talk.number // len(CUTS) % len(LINE_ENDS)]))
        chance, length = self.plant.chance, len(data)
        match self.plant.cut:
            case "octets":
                places: Iterable[int] = range(1, length)
            case "inside canaries":
                written = [_octets(planted.written) for planted in self.talk.planted]
                places = {at + len(one) // 2 for one in written if one and (at := data.find(one)) >= 0}
            case "inside characters":
                places = {at for at in range(1, length) if data[at] in range(0x80, 0xC0)}
            case "lines":
                places = {at + 1 for at in range(length - 1) if data[at] in b"\r\n"}
            case "at random":
                places = {chance.randrange(1, length) for _ in range(12)}
            case _:
                places = ()
        edges = [0, *sorted(places), length]
        return [data[start:end] for start, end in itertools.pairwise(edges)]

    def _next_cut(self, number: int = 0) -> None:
        self.plant.cut = CUTS[(self.talk.number + number) % len(CUTS)]

    def _event(self, value: Any, *, identifier: str = "", event: str = "") -> str:
        lines = DATA_LINES[(self.talk.number // 2) % len(DATA_LINES)]
        text = self.plant.dumped(value, lines=lines)
        data = "".join(f"data: {line}\n" for line in text.split("\n"))
        return (f"event: {event}\n" if event else "") + (f"id: {identifier}\n" if identifier else "") + data + "\n"

    def request(self, method: str, params: Any, *, identifier: Any = None) -> dict[str, Any]:
        self._id += 1
        if self.modern:
            params = params | {"_meta": self._modern_meta() | params.get("_meta", {})}
        return {"jsonrpc": "2.0", "id": self._id if identifier is None else identifier, "method": method} | (
            {"params": params} if params else {}
        )

    def _modern_meta(self) -> dict[str, Any]:
        return {
            "io.modelcontextprotocol/protocolVersion": self.talk.revision,
            "io.modelcontextprotocol/clientInfo": {"name": "example-client", "version": "1.4.0"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        }

    def result(self, request: dict[str, Any], members: dict[str, Any]) -> dict[str, Any]:
        complete: dict[str, Any] = {}
        if self.modern:
            ttl = self.plant.number("ttlMs", shapes=LONG)
            complete = {"resultType": "complete", "ttlMs": ttl, "cacheScope": self.plant.json("cacheScope")}
        return {"jsonrpc": "2.0", "id": request["id"], "result": complete | members}

    # What is said

    def _client(self, where: str) -> dict[str, Any]:
        plant = self.plant
        return {
            "name": plant.name(f"{where}.name", NO_NAME),
            "title": plant.json(f"{where}.title"),
            "version": plant.name(f"{where}.version", NO_VERSION),
            "websiteUrl": plant.json(f"{where}.websiteUrl"),
            "icons": [{"src": plant.json(f"{where}.icons.src"), "mimeType": "image/png"}],
        }

    def _initialize(self) -> None:
        plant = self.plant
        plant.cut = "none"
        request = self.request(
            "initialize",
            {
                "protocolVersion": self.talk.revision,
                "capabilities": {
                    "experimental": {plant.name("capability name"): {plant.name("capability member"): {}}},
                    "sampling": {},
                    "elicitation": {},
                },
                "clientInfo": self._client("clientInfo"),
                "_meta": {
                    plant.name("_meta key"): plant.json("_meta value"),
                    f"com.example/{plant.name('_meta key with prefix')}": plant.number("_meta number"),
                    f"{plant.name('_meta prefix')}/name": True,
                },
            },
            identifier=plant.name("request id"),
        )
        server = self._client("serverInfo")
        result = {
            "protocolVersion": self.talk.revision,
            "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "prompts": {}},
            "serverInfo": server,
            "instructions": plant.json("instructions"),
        }
        session = plant.header("Mcp-Session-Id", "", tuple(shape for shape in SHAPES if shape != "wide"))
        self.post(request, answer=self.result(request, result), answer_more=[session])
        self.session = session[1]
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, status=202)

    def _discover(self) -> None:
        plant = self.plant
        plant.cut = "none"
        request = self.request("server/discover", {"_meta": {plant.name("_meta key"): plant.json("_meta value")}})
        result = {
            "supportedVersions": [self.talk.revision, plant.json("supportedVersions")],
            "capabilities": {"tools": {}, "extensions": {plant.name("extension name"): {"a": plant.json("extension")}}},
            "serverInfo": self._client("serverInfo"),
            "instructions": plant.json("instructions"),
        }
        self.post(request, answer=self.result(request, result))

    def _list_tools(self) -> None:
        plant = self.plant
        request = self.request("tools/list", {"cursor": plant.json("cursor")}, identifier=plant.name("request id"))
        schema = {
            "type": "object",
            "$id": plant.json("schema $id"),
            "$comment": plant.json("schema $comment"),
            "title": plant.json("schema title"),
            "properties": {
                plant.name("schema property name"): {
                    "type": "string",
                    "description": plant.json("schema description"),
                    "default": plant.json("schema default"),
                    "enum": [plant.json("schema enum"), plant.number("schema enum number")],
                    "pattern": plant.json("schema pattern"),
                    "format": plant.json("schema format"),
                    "examples": [plant.json("schema example")],
                    "x-mcp-header": plant.name("x-mcp-header"),
                    "minLength": plant.number("schema bound"),
                },
                "region": {"$ref": f"#/$defs/{plant.name('schema $ref')}", "x-mcp-header": "Region"},
            },
            "required": [plant.name("schema required")],
            "$defs": {plant.name("schema $defs name"): {"const": plant.json("schema const")}},
            plant.name("schema keyword"): plant.json("schema keyword value"),
        }
        tool = {
            "name": plant.name("tool name", NO_NAME),
            "title": plant.json("tool title"),
            "description": plant.json("tool description"),
            "inputSchema": schema,
            "outputSchema": {"type": "object", "properties": {"out": {"description": plant.json("output schema")}}},
            "annotations": {"title": plant.json("tool annotation"), "readOnlyHint": True},
            "_meta": {plant.name("tool _meta key"): plant.json("tool _meta value")},
        }
        plain = {"name": "search", "description": plant.json("tool description"), "inputSchema": {"type": "object"}}
        result = {"tools": [tool, plain], "nextCursor": plant.json("nextCursor")}
        query = (
            f"?access_token={plant.in_url('query token')}&{plant.in_url('query name')}={plant.in_url('query value')}"
        )
        self.post(request, answer=self.result(request, result), query=query)

    def _call_a_tool(self) -> None:
        plant = self.plant
        token = plant.name("progress token")
        arguments = {
            "query": plant.json("argument"),
            plant.name("argument name"): plant.json("argument of that name"),
            "list": [
                plant.json("argument in a list"),
                plant.number("argument number"),
                {"deep": plant.json("argument")},
            ],
            "password": plant.json("argument named password"),
            "negative": plant.number("argument negative number", "-{}"),
            "fraction": plant.number("argument fraction", "{}.25"),
            "power": plant.number("argument power", "{}e2"),
            "region": plant.json("argument that a header mirrors"),
        }
        request = self.request(
            "tools/call", {"name": "search", "arguments": arguments, "_meta": {"progressToken": token}}
        )
        self._next_cut()
        stream = f"id: {plant.line('sse id')}\nretry: 1500\ndata:\n\n"
        stream += f": {plant.line('sse comment', encodings=_TEXT)}\n\n"
        # The numbers of progress stay: whether they grow is judged, and they are as large as the work is long.
        progress = {"progressToken": token, "progress": 1, "total": 2, "message": plant.json("progress message")}
        stream += self._event(
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}, identifier=plant.line("sse id")
        )
        logged = {
            "level": "info",
            "logger": plant.json("logger"),
            "data": {plant.name("log member"): plant.json("log")},
        }
        stream += self._event({"jsonrpc": "2.0", "method": "notifications/message", "params": logged})
        stream += self._event({"jsonrpc": "2.0", "method": f"notifications/{plant.name('notification method')}"})
        stream += f"event: {plant.line('sse event name')}\ndata: {plant.line('sse data', encodings=_TEXT)}\n\n"
        stream += f"{plant.line('sse field name')}: {plant.line('sse field value', encodings=_TEXT)}\ndata: \n\n"
        stream += f"retry: {plant.line('sse retry', COUNTED)}\ndata:\n\n"
        stream += f"retry: {plant.line('sse retry', LONG, ('plain',))}\ndata:\n\n"
        text = plant.line("sse data over two lines", encodings=("plain",))
        stream += f"data: {text[: len(text) // 2]}\ndata: {text[len(text) // 2 :]}\n\n"
        if self.talk.number % 8 == 5:
            stream += f"event: endpoint\ndata: /messages?sessionId={plant.in_url('of the old transport')}\n\n"
        content = [
            {"type": "text", "text": plant.json("result text")},
            {"type": "image", "data": plant.json("result image"), "mimeType": "image/png"},
            {"type": "resource_link", "uri": plant.json("result link"), "name": plant.json("result link name")},
            {"type": "resource", "resource": {"uri": "file:///a", "blob": plant.json("result blob"), "_meta": {}}},
            {"type": plant.json("content type"), "data": plant.json("unknown content")},
        ]
        inner = {"content": content, "structuredContent": {plant.name("structured name"): plant.json("structured")}}
        stream += self._event(self.result(request, inner), identifier=plant.line("sse id"), event="message")
        stream += f"data: {plant.line('sse unfinished event', encodings=_TEXT)}"
        more = [plant.header("Mcp-Param-Region")]
        if self.modern:
            more.append(plant.header("Mcp-Name", "", NO_NAME))
        self.post(request, stream=stream, more=more)

    def _read_a_resource(self) -> None:
        plant = self.plant
        plant.cut = "none"
        uri = (
            f"file:///home/{plant.name('resource uri')}/{plant.name('resource uri')}?{plant.name('resource uri query')}"
        )
        request = self.request("resources/read", {"uri": uri})
        contents = [
            {"uri": uri, "mimeType": "text/plain", "text": plant.json("resource text")},
            {
                "uri": plant.json("contents uri"),
                "mimeType": plant.json("mimeType"),
                "blob": plant.json("resource blob"),
            },
        ]
        self.post(
            request, answer=self.result(request, {"contents": contents}), query="/" + plant.in_url("path segment")
        )

    def _get_a_prompt(self) -> None:
        plant = self.plant
        request = self.request(
            "prompts/get", {"name": plant.json("prompt name"), "arguments": {"topic": plant.json("prompt argument")}}
        )
        error = {
            "code": plant.number("error code", "-{}"),
            "message": plant.json("error message"),
            "data": {
                plant.name("error data name"): plant.json("error data"),
                "count": plant.number("error data number"),
            },
        }
        refused = {"jsonrpc": "2.0", "id": request["id"], "error": error}
        self.post(request, answer=refused, query=f"?{plant.in_url('query alone')}")

    def _complete(self) -> None:
        plant = self.plant
        ref = {"type": "ref/resource", "uri": f"file:///{{{plant.name('uri template')}}}"}
        argument = {"name": plant.json("completion argument name"), "value": plant.json("completion argument")}
        request = self.request("completion/complete", {"ref": ref, "argument": argument})
        inner = {"completion": {"values": [plant.json("completion value")], "hasMore": False}}
        self.post(
            request, answer=self.result(request, inner | {plant.name("result member"): plant.json("result member")})
        )
        cancelled = {"requestId": plant.name("cancelled id"), "reason": plant.json("cancel reason")}
        self.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}, status=202)

    def _ask_back(self) -> None:
        """2026-07-28: the server needs input, the client calls again with it."""
        plant = self.plant
        request = self.request("tools/call", {"name": "search", "arguments": {}})
        ask = {
            "method": "elicitation/create",
            "params": {
                "message": plant.json("elicitation message"),
                "requestedSchema": {"type": "object", "properties": {plant.name("form field"): {"type": "string"}}},
            },
        }
        key, state = plant.name("input request name"), plant.json("requestState")
        result = self.result(
            request, {"resultType": "input_required", "inputRequests": {key: ask}, "requestState": state}
        )
        self.post(request, answer=result, more=[("Mcp-Name", "search")])
        answers = {key: {"action": "accept", "content": {plant.name("form answer name"): plant.json("form answer")}}}
        again = self.request(
            "tools/call", {"name": "search", "arguments": {}, "inputResponses": answers, "requestState": state}
        )
        self.post(again, answer=self.result(again, {"content": []}), more=[("Mcp-Name", "search")])

    def _listen(self) -> None:
        """A GET stream that is resumed, with requests of the server on it."""
        plant = self.plant
        self._next_cut(3)
        headers = [("Host", "api.example.com"), ("Accept", "text/event-stream"), *self._standing({})]
        headers += [plant.header("Last-Event-ID"), *self._odd()]
        sampling = {
            "messages": [{"role": "user", "content": {"type": "text", "text": plant.json("sampling message")}}],
            "systemPrompt": plant.json("system prompt"),
            "maxTokens": plant.number("maxTokens"),
            "metadata": {plant.name("sampling metadata name"): plant.json("sampling metadata")},
            "stopSequences": [plant.json("stop sequence")],
        }
        ask = {"message": plant.json("elicitation message"), "requestedSchema": {"type": "object", "properties": {}}}
        stream = self._event(
            {"jsonrpc": "2.0", "id": "s-1", "method": "sampling/createMessage", "params": sampling},
            identifier=plant.line("sse id"),
        )
        identifier = plant.name("server request id")
        stream += self._event({"jsonrpc": "2.0", "id": identifier, "method": "elicitation/create", "params": ask})
        stream += self._event({"jsonrpc": "2.0", "id": 3, "method": plant.name("unknown method")})
        updated = {"uri": plant.json("updated uri")}
        stream += self._event({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": updated})
        stream += f": {plant.line('sse comment', encodings=_TEXT)}\n: {plant.line('sse comment', encodings=_TEXT)}\n\n"
        exchange = Exchange("GET", "/mcp", headers, b"", 200, [("Content-Type", "text/event-stream"), *self._odd()])
        exchange.chunks = self._cut(stream)
        self.talk.exchanges.append(exchange)
        plant.cut = "none"

    def _answer_the_server(self) -> None:
        plant = self.plant
        inner = {
            "role": "assistant",
            "content": {"type": "text", "text": plant.json("sampling answer")},
            "model": plant.json("model"),
            "stopReason": plant.json("stop reason"),
        }
        self.post({"jsonrpc": "2.0", "id": "s-1", "result": inner}, status=202)
        form = {"action": "accept", "content": {plant.name("form answer name"): plant.json("form answer")}}
        wrong = {"jsonrpc": "2.0", "id": plant.name("response id"), "result": form}
        refusal = _octets(plant.text("body of a refusal"))
        self.post(wrong, status=400, text=refusal, answer_more=[("Content-Type", "text/plain")])
        wide = plant.line("body in UTF-16", ASCII, ("plain",)).encode("utf-16")
        again = {"jsonrpc": "2.0", "id": "s-2", "result": {}}
        self.post(again, status=400, text=wide, answer_more=[("Content-Type", "text/plain; charset=utf-16")])

    def _be_refused(self) -> None:
        plant = self.plant
        body = {
            "error": "invalid_token",
            "error_description": plant.json("error_description"),
            "error_uri": plant.json("error_uri"),
            plant.name("oauth member"): plant.json("oauth member value"),
        }
        self.post(self.request("ping", {}, identifier=plant.number("request id number")), answer=body, status=401)

    def _meet_a_gateway(self) -> None:
        plant = self.plant
        page = (
            f"<!DOCTYPE html><html><head><title>502 {plant.text('html title')}</title></head><body>\n"
            f'<p class="x">{plant.text("html text")}</p><!-- {plant.text("html comment")} -->\n'
            f'<a href="https://status.example.com/{plant.in_url("in html")}">{plant.text("html link")}</a>\n'
            "</body></html>"
        )
        self.post(
            self.request("tools/list", {}),
            status=502,
            text=_octets(page),
            answer_more=[("Content-Type", "text/html; charset=utf-8")],
        )

    def _say_nonsense(self) -> None:
        """A body that is no strict JSON, in one of the ways that there are; and an answer that is none, in another."""
        plant = self.plant
        kind = self.talk.number // len(PROFILES)
        self.post({}, body=self._faulty(kind), text=self._faulty(kind + 5), answer_more=[_IS_JSON], status=400)
        answer = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": plant.json("parse error message")}}
        self.post({}, body=self._faulty(kind + 1), answer=answer, status=400)
        if self.talk.revision == "2025-03-26":
            batch = [
                {"jsonrpc": "2.0", "id": plant.name("batch id"), "method": "ping"},
                {"jsonrpc": "2.0", "method": f"notifications/{plant.name('notification method')}"},
                plant.json("no message in a batch"),
            ]
            self.post(batch, answer=[{"jsonrpc": "2.0", "id": plant.name("batch id"), "result": {}}])

    def _faulty(self, kind: int) -> bytes:
        plant = self.plant
        first, second = plant.name("faulty json"), plant.name("faulty json")
        faulty = (
            '{"jsonrpc":"2.0","id":1,"method":"ping","a":NaN,"b":' + f'"{first}","c":"{second}"}}',
            f'{{"jsonrpc":"2.0","id":1,"method":"ping","{first}":1,"{first}":"{second}"}}',
            f'{{"jsonrpc":"2.0","id":1e999,"method":"{first}","params":["{second}"]}}',
            f'{{"jsonrpc":"2.0","id":1,"method":"ping"}} {first} "{second}"',
            f'{{"jsonrpc":"2.0","id":1,"method":"{first}","params":{{"b":"{second}',
            f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"b":"{first}\\ud800","c":"{second}"}}}}',
            "[" * 300 + f'"{first}","{second}"' + "]" * 300,
            f"grant_type=a&client_secret={first}&b={second}",
            f'--x\r\nContent-Disposition: form-data; name="{first}"\r\n\r\n{second}\r\n--x--\r\n',
            f'\ufeff{{"jsonrpc":"2.0","id":"{first}","method":"ping","params":{{"b":"{second}"}}}}',
            f"'jsonrpc': '2.0', 'id': '{first}', 'b': \"{second}\"",
            f'"{first} {second}"',
        )
        text = plant.dumped(faulty[kind % len(faulty)])[1:-1]
        return _octets(text.replace('\\"', '"').replace("\\r\\n", "\r\n").replace("\\\\", "\\"))

    def _leave(self) -> None:
        if self.modern:
            return
        plant = self.plant
        headers = [("Host", "api.example.com"), *self._standing({}), *self._odd()]
        text = _octets(plant.text("body of a refusal"))
        self.talk.exchanges.append(
            Exchange("DELETE", "/mcp", headers, b"", 405, [("Content-Type", "text/plain"), *self._odd()], text)
        )


_IS_JSON: Final = ("Content-Type", "application/json")


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def conversations(count: int) -> list[Talk]:
    used: Counter[str] = Counter()
    return [conversation(number, used) for number in range(count)]
