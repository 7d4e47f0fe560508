"""Header fields: names and values, one policy a field, from the allow-lists.

A field keeps what its verdicts hang on: repetition and spelling of names, whether a value is well-formed, which values
are equal. Mirrored values (2026-07-28 basic/transports/streamable-http#value-encoding) are replaced inside their
encoding.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from mcp_wire.privacy.allow_lists import (
    AUTHENTICATION_SCHEMES,
    BROWSER_COMMENTS,
    COOKIE_ATTRIBUTES,
    DATES,
    HEADER_LISTS,
    HEADER_NAME_FAMILIES,
    HEADER_NAMES,
    NUMBER_HEADERS,
    NUMBERS_IN_WORDS,
    OUT_OF_RANGE,
    PRODUCT_HEADERS,
    PRODUCTS,
    SECONDS,
    URL_HEADERS,
    WEIGHTS,
    WORD_HEADERS,
)
from mcp_wire.privacy.json_redaction import JsonRedaction
from mcp_wire.privacy.labels import is_label
from mcp_wire.privacy.values import Values, is_product_name, is_product_version, sentinel
from mcp_wire.protocol.mirrored_headers import PARAM_PREFIX, decode
from mcp_wire.wire.headers import Headers, field_name

MAX_WORDS: Final = 256
"""A header value of more words is replaced as a whole."""

_WORD: Final = re.compile(r"[^\s,;=\"]+")
_MEDIA_TYPE: Final = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+)/([!#$%&'*+\-.^_`|~0-9A-Za-z]+)")
_LIST_ITEM: Final = re.compile(r"[^\s,]+")
_MAX_DIGITS: Final = len(str(OUT_OF_RANGE))
"""A number of more digits than anybody reads becomes one of as many and one more."""
_AN_HOUR: Final = 60 * 60
_A_DAY: Final = 24 * _AN_HOUR
_PRODUCT: Final = re.compile(r"\((?:[^()\\]|\\.)*+\)?|[^\s()]+|[()]")
_PROTOCOL: Final = re.compile(r"(?:HTTP/)?[0-9](?:\.[0-9])?")
_CREDENTIALS: Final = re.compile(r"([A-Za-z]+)([ \t]+)(.*)", re.DOTALL)
_SESSION_FIRST: Final = ("mcp-session-id", "last-event-id")


def is_mcp_header(name: str) -> bool:
    """Is this the name of a header field of MCP, rather than of anything else?"""
    key = field_name(name)
    return key.startswith(PARAM_PREFIX) or (key in HEADER_NAMES and key.startswith("mcp-"))


class HeaderRedaction:
    """Redacts header fields with the labels of one conversation."""

    def __init__(self, values: Values, json: JsonRedaction) -> None:
        self._values = values
        self._json = json
        self._special: dict[str, Callable[[str], str]] = {
            # As a whole, even if it looks like a URL: how long it is counts.
            "mcp-session-id": lambda value: values.labels.text(value, "session"),
            "last-event-id": lambda value: values.text(value, "cursor"),
            "mcp-protocol-version": self.version,
            "mcp-method": self._mirrored_method,
            "mcp-name": self._mirrored_name,
            "authorization": self._credentials,
            "proxy-authorization": self._credentials,
            "cookie": self._cookies,
            "set-cookie": self._cookies,
            "host": values.authority,
        }

    def headers(self, headers: Headers) -> Headers:
        """The same lines in the same order."""
        self.remember(headers)
        lines = [(self.name(name), self._line(name, value)) for name, value in headers]
        return Headers(lines, clashes=map(self.name, headers.clashes))

    def remember(self, headers: Headers) -> None:
        """Give session ids and cursors their labels, before the same values are met in a cookie or a body."""
        for name in _SESSION_FIRST:
            for value in headers.all(name):
                self._special[name](value)

    def remember_tool(self, headers: Headers) -> None:
        """Mcp-Name names a tool here, which the body may not tell: cut off, unreadable, or of another name."""
        for value in headers.all("mcp-name"):
            text = decode(value).text
            if text is not None:
                self._json.tool_name(text)

    def name(self, name: str) -> str:
        """The name of a field: known names stay, in their spelling."""
        key = field_name(name)
        if key in HEADER_NAMES:
            return name
        if key.startswith(PARAM_PREFIX):
            return name[: len(PARAM_PREFIX)] + self.parameter(name[len(PARAM_PREFIX) :])
        family = next((start for start in HEADER_NAME_FAMILIES if key.startswith(start)), "")
        rest = self._values.labels.text(key[len(family) :], "name")
        if family or key != name:
            # Two spellings of one name stay two: a transcript's reader calls that a fault.
            return name[: len(family)] + (rest if key == name else rest.capitalize())
        return rest

    def parameter(self, name: str) -> str:
        """The value of x-mcp-header, and what follows `Mcp-Param-`: equal without regard to case, as header names are.

        What is no token stays none (2026-07-28 basic/transports/streamable-http#schema-extension).
        """
        return self._json.parameter(name)

    def value(self, name: str, value: str) -> str:
        """A trimmed value of the field of this (original) name."""
        key = field_name(name)
        special = self._special.get(key)
        if special is not None:
            return special(value)
        if key.startswith(PARAM_PREFIX):
            return self._mirrored(value, self._json.free_text)
        if key in WORD_HEADERS:
            return self._words(value, WORD_HEADERS[key], NUMBERS_IN_WORDS.get(key), seconds=key in SECONDS)
        if key in NUMBER_HEADERS and value.isascii() and value.isdigit():
            return _bounded(value, NUMBER_HEADERS[key], seconds=key in SECONDS)
        if key in DATES and DATES[key].fullmatch(value):
            return value
        if key in PRODUCT_HEADERS:
            return self._products(value)
        if key in URL_HEADERS:
            if value in ("null", "*"):
                return value
            return self._values.origin(value) if "origin" in key else self._values.uri(value)
        if key in HEADER_LISTS:
            return _LIST_ITEM.sub(lambda item: item[0] if item[0] == "*" else self.name(item[0]), value)
        return self._values.text(value)

    def version(self, value: str) -> str:
        """A protocol version. What does not look like one gets a label, which does not either."""
        return self._values.version(value)

    def _line(self, name: str, value: str) -> str:
        inner = value.strip(" \t")
        before = value[: len(value) - len(value.lstrip(" \t"))][:1]
        after = value[len(value.rstrip(" \t")) :][:1]
        return before + self.value(name, inner) + after if inner else value[:1]

    def _mirrored_method(self, value: str) -> str:
        # The sentinel has no meaning here; it is kept so that the value stays as wrong as it was.
        return self._mirrored(value, self._json.method)

    def _mirrored_name(self, value: str) -> str:
        return self._mirrored(value, self._json.mirrored_name)

    def _mirrored(self, value: str, redact: Callable[[str], str]) -> str:
        header = decode(value)
        if header.text is None:
            return self._values.text(value)
        redacted = redact(header.text)
        return sentinel(redacted) if header.encoded else redacted

    def _credentials(self, value: str) -> str:
        found = _CREDENTIALS.fullmatch(value)
        if found is None or found[1].lower() not in AUTHENTICATION_SCHEMES:
            return value if value.lower() in AUTHENTICATION_SCHEMES else self._values.labels.text(value)
        return found[1] + found[2][:1] + self._values.labels.text(found[3])

    def _words(self, value: str, known: frozenset[str], largest: int | None, *, seconds: bool) -> str:
        if value.count(" ") + value.count(",") + value.count(";") > MAX_WORDS:
            return self._values.labels.text(value)

        def word(found: re.Match[str]) -> str:
            text = found[0]
            if text in known or text.lower() in known or ("q" in known and WEIGHTS.fullmatch(text)):
                return text
            if largest is not None and text.isascii() and text.isdigit():
                return _bounded(text, largest, seconds=seconds)
            media_type = _MEDIA_TYPE.fullmatch(text)
            if media_type is None or "*/*" not in known:
                return self._values.text(text)
            top, subtype = media_type[1], media_type[2]
            if f"{top.lower()}/*" not in known:
                top = self._values.labels.text(top, "name")
            return f"{top}/{self._values.labels.text(subtype)}"

        return _WORD.sub(word, value)

    def _products(self, value: str) -> str:
        if value.count(" ") + value.count("(") > MAX_WORDS:
            return self._values.labels.text(value)

        after_name = False

        def product(found: re.Match[str]) -> str:
            nonlocal after_name
            text = found[0]
            follows, after_name = after_name, False
            if text.startswith("("):
                inner = text[1:-1] if text.endswith(")") else text[1:]
                known = _is_product(inner) or inner.lower() in BROWSER_COMMENTS
                return f"({inner if known else self._values.labels.text(inner)})"
            bare = text.rstrip(",;")
            end = text[len(bare) :]
            if is_label(bare):
                return self._values.labels.text(bare) + end
            if text == ")" or _PROTOCOL.fullmatch(bare) or (follows and is_product_version(bare)):
                return text
            if _is_product(bare):
                after_name = "/" not in bare
                return text
            name, slash, version = bare.partition("/")
            if slash and is_product_name(name) and not _is_host_like(name):
                return f"{name}/{self._values.labels.text(version)}{end}"
            return self._values.labels.text(bare) + end

        return _PRODUCT.sub(product, value)

    def _cookies(self, value: str) -> str:
        if value.count(";") > MAX_WORDS:
            return self._values.labels.text(value)
        return ";".join(map(self._cookie, value.split(";")))

    def _cookie(self, pair: str) -> str:
        inner = pair.strip(" \t")
        before = pair[: len(pair) - len(pair.lstrip(" \t"))][:1]
        name, equals, value = inner.partition("=")
        if name.lower() not in COOKIE_ATTRIBUTES:
            name = self._values.labels.text(name, "name")
        if value.lower() not in COOKIE_ATTRIBUTES:
            value = self._values.text(value)
        return before + name + equals + value


def _is_product(text: str) -> bool:
    """`name/version`, or the name of a product that everybody knows."""
    name, slash, version = text.partition("/")
    if not slash:
        return name.lower() in PRODUCTS
    return is_product_name(name) and not _is_host_like(name) and is_product_version(version)


def _is_host_like(name: str) -> bool:
    return "." in name and name.lower() not in PRODUCTS


def _bounded(digits: str, largest: int, *, seconds: bool) -> str:
    """A number, or what stands for one that is out of range. Zero stays zero, whatever is unreadable unreadable."""
    if len(digits) > _MAX_DIGITS:
        return ("9" if digits.strip("0") else "0") * (_MAX_DIGITS + 1)
    number = int(digits)
    if number > largest:
        return str(OUT_OF_RANGE)
    return str(number - number % _AN_HOUR) if seconds and number > _A_DAY else digits
