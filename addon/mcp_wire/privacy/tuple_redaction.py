"""The interoperability tuple: who spoke with whom, over what. Names and versions of products stay, and little else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from mcp_wire.privacy.allow_lists import HTTP_VERSION, TUPLE_NAMES
from mcp_wire.privacy.header_redaction import HeaderRedaction
from mcp_wire.privacy.labels import is_label
from mcp_wire.privacy.plain_names import is_plain
from mcp_wire.privacy.values import Values, is_product_name, is_product_version, looks_random
from mcp_wire.wire.strict_json import JsonValue

_HEADERS: Final = {"user_agent": "user-agent", "server_software": "server", "intermediaries": "via"}
"""Members that are the values of such headers."""
_PRODUCTS: Final = frozenset({"client", "server", "sdk", "runtime"})
"""Members that name one product, in whatever spelling."""
_TLS: Final = re.compile(r"(?:TLS|SSL)(?: ?v?[0-9](?:\.[0-9])?)?|none", re.IGNORECASE)
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_REQUEST: Final = re.compile(r"x-[0-9]{1,6}|[0-9]{1,6}")
_COMMAND: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9 _./:=\[\]()+-]{0,199}")
_PRIVATE_PATH: Final = re.compile(r"(?:^|[ :=])/|(?:^|/)(?:home|Users)/", re.IGNORECASE)
"""Paths from the root of somebody's machine: they have the names of people and of projects in them."""
_MAX_WORDS: Final = 12
_WORD: Final = re.compile(r"[A-Za-z0-9_-]+")


class TupleRedaction:
    """Redacts tuples with the labels of one conversation."""

    def __init__(self, values: Values, headers: HeaderRedaction) -> None:
        self._values = values
        self._headers = headers

    def redact(self, members: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        return {self._name(name): self._member(name, value) for name, value in members.items()}

    def _name(self, name: str) -> str:
        return name if name in TUPLE_NAMES else self._values.text(name, "name")

    def _member(self, name: str, value: JsonValue) -> JsonValue:
        if isinstance(value, dict):
            return self.redact(value)
        if isinstance(value, list):
            return [self._member(name, item) for item in value]
        if isinstance(value, str):
            return self._text(name, value) if name in TUPLE_NAMES else self._values.text(value)
        if value is None or isinstance(value, bool):
            return value
        return self._values.labels.number(value)

    def _text(self, name: str, value: str) -> str:
        match name:
            case "endpoint":
                return self._values.uri(value)
            case "revision":
                return self._headers.version(value)
            case "name":
                return value if is_product_name(value) else self._values.text(value, "name")
            case "version":
                return value if is_product_version(value) else self._values.text(value)
            case "http_version":
                return value if HTTP_VERSION.fullmatch(value) else self._values.text(value)
            case "tls":
                return value if _TLS.fullmatch(value) else self._values.text(value)
            case "failure_time":
                return value if _TIME.fullmatch(value) else self._values.text(value)
            case "request_ids":
                kept = _REQUEST.fullmatch(value) is not None or is_plain(value)
                return value if kept else self._values.text(value, "id")
            case "reproduction":
                return value if _is_command(value) else self._values.text(value)
        header = _HEADERS.get(name)
        if header is not None:
            return self._headers.value(header, value)
        # A host has dots in it, and neither a version nor a second word.
        if name in _PRODUCTS and ("." not in value or "/" in value or " " in value):
            product, slash, version = value.partition("/")
            if is_product_name(product) and (not slash or is_product_version(version)):
                return value
        return self._headers.value("user-agent", value)


def _is_command(value: str) -> bool:
    """A command or the name of a test: words that nobody would take for a key, and no URL."""
    return (
        _COMMAND.fullmatch(value) is not None
        and _PRIVATE_PATH.search(value) is None
        and "://" not in value
        and value.count(" ") < _MAX_WORDS
        and not is_label(value)
        and not any(map(looks_random, _WORD.findall(value)))
        and not looks_random(value)
    )
