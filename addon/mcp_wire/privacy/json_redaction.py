"""JSON values: names and scalars replaced by place, types and structure kept."""

from __future__ import annotations

import re
from typing import Final

from mcp_wire.privacy.allow_lists import (
    DIALECTS,
    ERROR_WORDS,
    FORMATS,
    JSON_RPC_VERSIONS,
    KNOWN_SCHEMA_KEYWORDS,
    MEMBER_NAMES,
    META_KEYS,
    META_PREFIX,
    MIME_TYPE,
    PARAMETER_HEADERS,
    SCHEMA_TYPES,
    SENSITIVE_NAMES,
    WORDS_OF_MEDIA_TYPES,
)
from mcp_wire.privacy.json_places import CONTENT, FREE, INPUT_REQUEST, MESSAGE, PARAMS_OF, Names, Place, Scalars
from mcp_wire.privacy.labels import is_label, undecodable_part
from mcp_wire.privacy.numbers import kept_number
from mcp_wire.privacy.values import Values, is_product_name, is_product_version, looks_random
from mcp_wire.protocol.methods import is_defined_anywhere
from mcp_wire.protocol.mirrored_headers import looks_like_sentinel
from mcp_wire.protocol.secret_names import names_a_secret
from mcp_wire.protocol.tool_names import MAX_TOOL_NAME_LENGTH
from mcp_wire.protocol.trace_context import is_baggage, is_trace_parent, is_trace_state
from mcp_wire.wire.strict_json import MAX_DEPTH, MISSING, LongInteger, dump_json, read_json

MAX_JSON_TEXT: Final = 1024 * 1024
"""A longer text block is replaced as a whole, even if it is JSON."""

MAX_TOOL_NAMES: Final = 10_000
"""Tool names that are kept as they are; further ones get labels."""

_NOTIFICATION: Final = "notifications/"
_MAX_SPACES: Final = 1
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NO_TOKEN: Final = "("
_SECRET: Final = "-secret"
_META_PREFIX: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*")
_META_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_PLAIN_LABEL: Final = re.compile(r"[a-z]+[- ][A-Z0-9]+")
_OWN_TRACE_LIST: Final = "redacted="
_SENSITIVE: Final = frozenset(name.lower() for name in SENSITIVE_NAMES)
_ADDRESS: Final = re.compile(r"[^@\s]@[^@\s]")
"""Part of an e-mail address, or of what else names somebody at somewhere."""
_ORDINAL: Final = re.compile(r"[0-9]+")


class Members:
    """The members of an object in their order, repeated names included."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, JsonTree]]) -> None:
        self.pairs = pairs

    def get(self, name: str) -> JsonTree:
        """The last value of this name, as a lenient reader would have it."""
        return next((value for key, value in reversed(self.pairs) if key == name), None)


type JsonTree = bool | int | float | str | LongInteger | list[JsonTree] | dict[str, JsonTree] | Members | None
"""A JSON value, or one whose objects keep repeated names."""


_CONTAINERS: Final = (dict, list, Members)


class TooDeepError(ValueError):
    """The value is nested beyond what anybody judges."""


class JsonRedaction:
    """Redacts JSON values with the labels of one conversation. `keep_tool_names`: names of tools stay."""

    def __init__(self, values: Values, *, keep_tool_names: bool = True) -> None:
        self._values = values
        self.labels: Final = values.labels
        self._keep_tool_names = keep_tool_names
        self._tool_names: set[str] = set()

    def message(self, value: JsonTree) -> JsonTree:
        """Any JSON value as the root of a text. Raises TooDeepError beyond MAX_DEPTH."""
        return self._any(value, MESSAGE, MAX_DEPTH, [])

    def tokens(self, value: JsonTree) -> list[JsonTree]:
        """The same, told flat: every name and scalar in the order of the text, each followed by what becomes of it."""
        told: list[JsonTree] = []
        self._any(value, MESSAGE, MAX_DEPTH, told)
        return told

    def free(self, value: JsonTree) -> JsonTree:
        """A JSON value of which nothing is known. Raises TooDeepError beyond MAX_DEPTH."""
        return self._any(value, FREE, MAX_DEPTH, [])

    def identifier(self, value: JsonTree) -> JsonTree:
        """An id or a token: integers stay, strings get labels."""
        return self.free(value) if isinstance(value, _CONTAINERS) else self._scalar(value, "id")

    def _any(self, value: JsonTree, place: Place, room: int, told: list[JsonTree]) -> JsonTree:
        if not isinstance(value, _CONTAINERS):
            new = self._scalar(value, place.scalars)
            told += (value, new)
            return new
        if not room:
            raise TooDeepError
        if isinstance(value, list):
            below = place.items or place
            return [self._any(item, below, room - 1, told) for item in value]
        place = _entered(value, place)
        pairs: list[tuple[str, JsonTree]] = []
        names = place.names
        for name, member in value.pairs if isinstance(value, Members) else value.items():
            new = self.member_name(name, names)
            told += (name, new)
            pairs.append((new, self._any(member, _below(place, name, value), room - 1, told)))
        return dict(pairs) if isinstance(value, dict) else Members(pairs)

    # --- names ---

    def member_name(self, name: str, names: Names = "known") -> str:
        if names == "meta":
            return self._meta_key(name)
        return name if name in MEMBER_NAMES else self._values.text(name, "name")

    def _meta_key(self, key: str) -> str:
        """Valid keys stay valid, invalid ones invalid, with or without prefix (2025-11-25 basic/index#meta)."""
        if not key.strip() or key in META_KEYS:
            return key
        if key.startswith(META_PREFIX):
            name = key[len(META_PREFIX) :]
            return META_PREFIX + (self._meta_key(name) if name else "")
        end = undecodable_part(key)
        prefix, slash, name = key.removesuffix(end).partition("/")
        bare = prefix.removesuffix("-")
        if is_label(bare) and name in ("", "name", "name-") and self._values.labels.text(bare) == bare:
            return key
        prefix, slash, name = key.partition("/")
        if not slash:
            return self._plain(key) + ("" if _META_NAME.fullmatch(key) else "-") + end
        valid_prefix = "" if _META_PREFIX.fullmatch(prefix) else "-"
        valid_name = "" if not name or _META_NAME.fullmatch(name) else "-"
        return f"{self._plain(key)}{valid_prefix}/{'name' if name else ''}{valid_name}{end}"

    def _plain(self, text: str) -> str:
        """A label of letters, digits and a hyphen only."""
        label = self._values.labels.text(text, "name")
        found = _PLAIN_LABEL.search(label)
        return found[0].replace(" ", "-") if found else "name"

    def parameter(self, name: str) -> str:
        """A value of x-mcp-header, or what follows `Mcp-Param-` in the name of a header.

        Equal without regard to case stays so, what is no token stays none, and what by its name is secret says so.
        """
        lower = name.lower() if name.isascii() else name
        if not name or lower in PARAMETER_HEADERS or lower in _SENSITIVE:
            return name
        for end in (_NO_TOKEN, _SECRET):
            bare = lower.removesuffix(end)
            if bare != lower and is_label(bare) and self._values.labels.text(bare) == bare:
                return lower
        label = self._values.labels.text(lower, "param")
        if _TOKEN.fullmatch(name) is None:
            return label + _NO_TOKEN if _TOKEN.fullmatch(label) else label
        return label + _SECRET if names_a_secret(name) else label

    # --- scalars ---

    def _scalar(self, value: JsonTree, scalars: Scalars) -> JsonTree:
        if isinstance(value, str):
            return self.string(value, scalars)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float, LongInteger)):
            return self.number(value, scalars)
        return None

    def number(self, value: float | LongInteger, scalars: Scalars) -> int | float:
        """A number at such a place."""
        kept = kept_number(value, scalars) if isinstance(scalars, str) else None
        # Ids are compared over the whole of a conversation.
        return self._values.labels.number(value, lasting=scalars == "id") if kept is None else kept

    def string(self, value: str, scalars: Scalars) -> str:
        """A string at such a place."""
        if isinstance(scalars, frozenset):
            return value if value in scalars else self._values.text(value)
        match scalars:
            case "free":
                return self.free_text(value)
            case "id":
                return self._values.text(value, "id")
            case "cursor":
                return self._values.text(value, "cursor")
            case "method":
                return self.method(value)
            case "name":
                return self.tool_name(value)
            case "mirrored_name":
                return self.mirrored_name(value)
            case "uri":
                return self._values.uri(value)
            case "blob":
                return self._values.blob(value)
            case "schema_name":
                return self.member_name(value)
            case "parameter":
                return self.parameter(value)
            case "reference":
                return self._reference(value)
            case "media_type":
                return self._media_type(value)
            case "json_text":
                return self._json_text(value)
            case "trace_parent":
                return self._trace_parent(value)
            case "trace_state":
                return self._trace_list(value, valid=is_trace_state(value))
            case "baggage":
                return self._trace_list(value, valid=is_baggage(value))
            case "protocol_version":
                return self._values.version(value)
            case "product":
                return value if is_product_name(value) else self._values.text(value, "name")
            case _:
                return value if _stays(value, scalars) else self._values.text(value)

    def _json_text(self, value: str) -> str:
        """A text block. Structured content is repeated there as JSON (2025-06-18 server/tools#structured-content)."""
        if value.lstrip(" \t\r\n")[:1] in ("{", "[") and len(value) <= MAX_JSON_TEXT:
            reading = read_json(value)
            if reading.strict and reading.value is not MISSING:
                return dump_json(self.free(reading.value))  # type: ignore[arg-type]
        return self._values.text(value)

    def free_text(self, value: str) -> str:
        """An argument. A text that says an integer says the label of that integer, so that Mcp-Param-* meets it."""
        if value in ("true", "false"):
            return value
        return self._values.labels.integer_text(value) or self._values.text(value)

    def method(self, value: str) -> str:
        """A JSON-RPC method: what the specification defines stays, and that it is a notification."""
        if is_defined_anywhere(value):
            return value
        if value.startswith(_NOTIFICATION):
            return _NOTIFICATION + self._values.labels.text(value[len(_NOTIFICATION) :], "method")
        return self._values.text(value, "method")

    def mirrored_name(self, value: str) -> str:
        """What Mcp-Name mirrors: the name of a tool or prompt, or a URI."""
        if value in self._tool_names:
            return value
        return self._values.uri(value) if value.startswith("/") else self._values.text(value, "name")

    def tool_name(self, value: str) -> str:
        """The name of a tool stays, unless it looks like a key, a sentence or a URL."""
        if value in self._tool_names:
            return value
        if self._keep_tool_names and len(self._tool_names) < MAX_TOOL_NAMES and _is_tool_name(value):
            self._tool_names.add(value)
            return value
        return self._values.uri(value) if value.startswith("/") else self._values.text(value, "tool")

    def _reference(self, value: str) -> str:
        document, hash_mark, pointer = value.partition("#")
        if not hash_mark or len(value) > 512:
            return value if DIALECTS.fullmatch(value) else self._values.text(value)
        if document and not DIALECTS.fullmatch(document):
            document = self._values.text(document)
        return f"{document}#{'/'.join(map(self._pointer_step, pointer.split('/')))}"

    def _pointer_step(self, step: str) -> str:
        if not step or step in KNOWN_SCHEMA_KEYWORDS or (step.isdigit() and len(step) <= 4):
            return step
        return self.member_name(step.replace("~1", "/").replace("~0", "~")).replace("~", "~0").replace("/", "~1")

    def _media_type(self, value: str) -> str:
        if value.lower() in WORDS_OF_MEDIA_TYPES:
            return value
        top, slash, subtype = value.partition("/")
        if not slash or not top:
            return self._values.text(value)
        # What has the form of a media type keeps it: a rule asks for it.
        kept = top if MIME_TYPE.fullmatch(top) else self._values.labels.text(top)
        return f"{kept}/{self._values.labels.text(subtype)}"

    def _trace_parent(self, value: str) -> str:
        if not is_trace_parent(value):
            return self._values.text(value)
        trace, parent = int(value[3:35], 16), int(value[36:52], 16)
        own = f"redacted-{trace}"
        if value == _trace(trace) and trace == parent and is_label(own) and self._values.labels.text(own) == own:
            return value
        ordinal = _ORDINAL.search(self._values.labels.text(f"trace {value}"))  # see `Values.version`
        return _trace(int(ordinal[0]) if ordinal else 1)

    def _trace_list(self, value: str, *, valid: bool) -> str:
        own = value.removeprefix(_OWN_TRACE_LIST)
        if own != value and is_label(own):
            return _OWN_TRACE_LIST + self._values.labels.text(own)
        if valid and value.strip():
            return _OWN_TRACE_LIST + self._values.labels.text(value).strip(" \t")
        return self._values.text(value)


def _is_tool_name(value: str) -> bool:
    """Also names that no tool should have: what is wrong with them is in their characters."""
    return (
        0 < len(value) <= MAX_TOOL_NAME_LENGTH
        and value.isprintable()
        and any(map(str.isalpha, value))
        and value == value.strip()
        and value.count(" ") <= _MAX_SPACES
        and "://" not in value
        and value[0] not in "/\\~"
        and _ADDRESS.search(value) is None
        and not looks_like_sentinel(value)
        and not is_label(value)
        and not looks_random(value)
    )


def _stays(value: str, scalars: Scalars) -> bool:
    match scalars:
        case "json_rpc_version":
            return value in JSON_RPC_VERSIONS
        case "product_version":
            return is_product_version(value)
        case "error_word":
            return value in ERROR_WORDS
        case "schema_type":
            return value in SCHEMA_TYPES
        case "format":
            return value in FORMATS
        case "dialect":
            return DIALECTS.fullmatch(value) is not None
        case _:
            return False


def _below(place: Place, name: str, parent: dict[str, JsonTree] | Members) -> Place:
    if name == "params" and (place is MESSAGE or place is INPUT_REQUEST):
        method = parent.get("method")
        known = PARAMS_OF.get(method) if isinstance(method, str) else None
        if known is not None:
            return known
    return place.member(name)


def _entered(value: dict[str, JsonTree] | Members, place: Place) -> Place:
    """`content` is a block, or the free answers of a form."""
    if place is not CONTENT:
        return place
    kind = value.get("type")
    return place if isinstance(kind, str) and kind in _BLOCK_TYPES else FREE


_BLOCK_TYPES: Final = frozenset({"text", "image", "audio", "resource", "resource_link", "tool_use", "tool_result"})


def _trace(ordinal: int) -> str:
    return f"00-{ordinal:032x}-{ordinal:016x}-01"
