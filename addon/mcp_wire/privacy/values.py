"""Text values and their parts: URLs by component, encoded values through their encoding, product names.

What these functions return is a fixed point: redacted again, it stays as it is.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final
from urllib.parse import quote, unquote

from mcp_wire.privacy.allow_lists import (
    DRAFT_VERSION,
    LOOPBACK_HOSTS,
    PATH_WORDS,
    QUERY_NAMES,
    SCHEMES,
)
from mcp_wire.privacy.labels import Kind, Labels, is_label, undecodable_part
from mcp_wire.privacy.secret_shapes import has_secret_shape
from mcp_wire.protocol.hosts import address_of, is_private
from mcp_wire.protocol.mirrored_headers import content_of_sentinel, looks_like_sentinel, sentinel_around
from mcp_wire.protocol.profiles import could_be_released, is_date_version, is_modern_version

MAX_URL_LENGTH: Final = 2_048
MAX_URL_PARTS: Final = 64
"""A longer URL, or one of more parts, is replaced as a whole."""

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]{0,31})://([^/?#\\\s]*)([^?#\s]*)(?:\?([^#\s]*))?(?:#(\S*))?")
_PAIR: Final = re.compile(r"[^&;]+")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_MAX_PORT: Final = 65_535
_OWN_DATE: Final = re.compile(r"[19]([0-9]{3})-00-([0-9]{2})")
_MAX_DATES: Final = 100_000
_ORDINAL: Final = re.compile(r"[0-9]+")
_ORIGIN: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]{0,31})://([^/?#]*)(.*)", re.DOTALL)
_AUTHORITY: Final = re.compile(r"([^/?#]*@)?(\[[^\]/?#@]*\]?|[^/?#@:]*)(?:(:)([^/?#@]*))?([/?#].*)?", re.DOTALL)
_HOST_LABEL: Final = re.compile(r"(host-[1-9][0-9]{0,6})\.(?:example|internal|localhost)\ufffd?\ud800?")
_PLAIN_HOST_LABEL: Final = re.compile(r"host-[0-9]+")
_UNESCAPED: Final = "-._~()!*'"

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_CHUNK: Final = re.compile(r"[A-Za-z0-9]+")
_LONG_WORDS: Final = ("modelcontextprotocol",)
_HEXADECIMAL: Final = re.compile(r"[0-9a-fA-F]+")
_CONSONANTS: Final = re.compile(r"[bcdfghjklmnpqrstvwxz]{6}", re.IGNORECASE)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\x00-\x7f]+")
_MAX_SPACES: Final = 4
_PRODUCT_NAME: Final = re.compile(r"@?[A-Za-z][A-Za-z0-9_.+/ -]{0,63}")
_DAY: Final = "20[0-9]{2}[01][0-9][0-3][0-9]"
_PRODUCT_VERSION: Final = re.compile(
    rf"v?(?:[0-9]{{1,4}}|{_DAY})(?:\.(?:[0-9]{{1,5}}|{_DAY})){{0,3}}"
    rf"(?:[-.+]?(?:alpha|beta|rc|dev|pre|preview|post|canary|snapshot|a|b|r)\.?(?:{_DAY}|[0-9]{{0,4}})){{0,2}}",
    re.IGNORECASE,
)
_MAX_VERSION_DIGITS: Final = 14
_MAX_DIGITS: Final = 8
"""Digits in a name that people choose: those of `iso8601_to_rfc3339`, and not those of a telephone number."""


class Values:
    """The labels of one conversation, for values that have an inner structure."""

    def __init__(self) -> None:
        self.labels: Final = Labels()

    def text(self, value: str, kind: Kind = "redacted") -> str:
        """Any text. An encoding or a URL around it stays, so that what is inside meets its equals elsewhere."""
        if "://" in value:
            found = self._url(value)
            if found is not None:
                return found
        if looks_like_sentinel(value):
            return self._sentinel(value, kind)
        if not value.isascii():
            try:
                decoded = value.encode("latin-1").decode("utf-8")
            except UnicodeError:
                pass
            else:  # UTF-8 bytes that somebody read as Latin-1: the same value as the text that they were
                return self.text(decoded, kind).encode().decode("latin-1")
        return self.labels.text(value, kind)

    def version(self, value: str) -> str:
        """A protocol version. What does not look like one gets a label, which does not either.

        A date that no revision can have becomes one that is none in the calendar, as old or as new as it was.
        """
        if could_be_released(value) or DRAFT_VERSION.fullmatch(value):
            return value
        if not is_date_version(value):
            return self.text(value)
        own = _OWN_DATE.fullmatch(value)
        if own is not None:
            plain = f"redacted-{int(own[1] + own[2])}"
            if is_label(plain) and self.labels.text(plain) == plain:
                return value
        # A key of their own keeps dates from sharing the number of a label of another kind.
        ordinal = _ORDINAL.search(self.labels.text(f"date {value}"))
        count = int(ordinal[0]) % _MAX_DATES if ordinal else 0
        return f"{9 if is_modern_version(value) else 1}{count // 100:03d}-00-{count % 100:02d}"

    def uri(self, value: str) -> str:
        """A URI or a reference to one."""
        if value.startswith("/") and len(value) <= MAX_URL_LENGTH:
            return self.target(value)
        return self.text(value)

    def target(self, value: str) -> str:
        """The target of a request (RFC 9112 3.2), in any of its four forms."""
        if not value.startswith("/"):
            return value if value == "*" else self.text(value)
        if len(value) > MAX_URL_LENGTH or _parts(value) > MAX_URL_PARTS:
            return "/" + self.labels.text(value[1:])
        rest, hash_mark, fragment = value.partition("#")
        path, question_mark, query = rest.partition("?")
        return (
            self._path(path)
            + question_mark
            + self._query(query)
            + hash_mark
            + (self.labels.text(fragment) if fragment else "")
        )

    def origin(self, value: str) -> str:
        """An Origin (RFC 6454 7): one URL without path, or what was sent instead."""
        found = _ORIGIN.fullmatch(value)
        if found is None:
            return self.text(value)
        scheme, authority, rest = found.groups()
        if scheme.lower() not in SCHEMES:
            scheme = self.labels.text(scheme.lower(), "name")
        return f"{scheme}://{self.authority(authority)}{rest[:1]}{self.labels.text(rest[1:])}"

    def authority(self, value: str) -> str:
        """`host:port`, perhaps after `user@`. Loopback stays loopback, a private name private, a public one public.

        What no URL parser takes for a host stays so: an unclosed bracket, brackets around no address.
        """
        found = _AUTHORITY.fullmatch(value)
        if found is None:
            return self.labels.text(value)
        userinfo, host, colon, port, rest = found.groups(default="")
        if port and not _PORT.fullmatch(port):
            port = self.labels.text(port)
        elif port and int(port) > _MAX_PORT:
            port = "99999"
        if rest:
            rest = rest[0] + self.labels.text(rest[1:])
        user = f"{self.labels.text(userinfo[:-1])}@" if userinfo else ""
        return f"{user}{self.host(host)}{colon}{port}{rest}"

    def host(self, value: str) -> str:
        """A host name or address. Host names are equal without regard to case, and stay so."""
        name = value.lower()
        if not name.strip() or name in LOOPBACK_HOSTS:
            return value
        own = _HOST_LABEL.fullmatch(name)
        if own:
            label = self.labels.text(own[1], "host")
            if label == own[1]:
                return value
        address = address_of(name)
        if address is not None and address.is_loopback:
            return value
        if name.startswith("[") and address is None:
            return f"[{self.labels.text(name.strip('[]'))}{']' if name.endswith(']') else ''}"
        # A key of their own keeps hosts from taking a label that is no host name.
        found = _PLAIN_HOST_LABEL.match(self.labels.text(f"host {name}", "host"))
        kind = "localhost" if name.endswith(".localhost") else "internal" if is_private(name) else "example"
        label = f"{found[0] if found else 'host'}.{kind}"
        return (label if name == value else label.upper()) + undecodable_part(name)

    def _url(self, value: str) -> str | None:
        if len(value) > MAX_URL_LENGTH or _parts(value) > MAX_URL_PARTS:
            return None
        found = _URL.fullmatch(value)
        if found is None:
            return None
        scheme, authority, path, query, fragment = found.groups()
        if scheme.lower() not in SCHEMES:
            scheme = self.labels.text(scheme.lower(), "name")
        url = f"{scheme}://{self.authority(authority)}{self._path(path)}"
        if query is not None:
            url += "?" + self._query(query)
        if fragment is not None:
            url += "#" + self.labels.text(fragment)
        return url

    def _path(self, path: str) -> str:
        return "/".join(map(self._segment, path.split("/")))

    def _segment(self, segment: str) -> str:
        return segment if segment.lower() in PATH_WORDS else self._unescaped(segment)

    def _query(self, query: str) -> str:
        return _PAIR.sub(self._pair, query)

    def _pair(self, found: re.Match[str]) -> str:
        name, equals, value = found[0].partition("=")
        if name.lower() not in QUERY_NAMES:
            name = self._unescaped(name, "name")
        return name + equals + self._unescaped(value)

    def _unescaped(self, text: str, kind: Kind = "redacted") -> str:
        """The label of what a percent-encoded text says, percent-encoded where it must be."""
        if "%" not in text or _SURROGATE.search(text):
            return self.labels.text(text, kind)
        return quote(self.labels.text(unquote(text, errors="replace"), kind), safe=_UNESCAPED)

    def _sentinel(self, value: str, kind: Kind) -> str:
        content = content_of_sentinel(value)
        try:
            decoded = base64.b64decode(content.encode("ascii"), validate=True).decode()
        except (binascii.Error, ValueError):
            # No label is Base64, so what could not be decoded still cannot.
            return sentinel_around(self.labels.text(content, kind))
        return sentinel(self.text(decoded, kind))

    def blob(self, value: str) -> str:
        """Base64 data: the label in Base64, padded or not as the data was; what is none gets a label that is none."""
        padded = value + "=" * (-len(value) % 4)
        try:
            data = base64.b64decode(padded.encode("ascii"), validate=True)
        except (binascii.Error, ValueError):
            return self.labels.text(value)
        if not data:
            return value
        own = data.decode("utf-8", errors="replace")
        label = self.labels.text(own if is_label(own) else value)
        encoded = base64.b64encode(label.encode("utf-8", "surrogatepass")).decode("ascii")
        return encoded if padded == value else encoded.rstrip("=")


def sentinel(text: str) -> str:
    """The Base64 form of a mirrored value (2026-07-28 basic/transports/streamable-http#value-encoding)."""
    return sentinel_around(base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii"))


def looks_random(text: str) -> bool:
    """Does a name look made by a machine rather than chosen by a person: a key, a token, a UUID?

    Names are words of three letters or more on average, with at most a short number behind them. What has the shape of
    a secret is none, whatever it is made of.
    """
    if has_secret_shape(text):
        return True
    for known in _LONG_WORDS:
        text = text.replace(known, "")
    words = _WORD.findall(text)
    numbers = [word for word in words if word[0].isdigit()]
    if any(len(word) > 18 for word in words) or any(len(word) > 4 for word in numbers) or len(numbers) > 3:
        return True
    if sum(map(len, numbers)) > _MAX_DIGITS:
        return True
    chunks = _CHUNK.findall(text)
    if text.lower() != text != text.upper():
        # Keys in URL-safe Base64 have hyphens and underscores in them; names with both are seldom in mixed case.
        chunks.append("".join(chunks))
    return any(len(chunk) >= 10 and _is_random_chunk(chunk) for chunk in chunks)


def _is_random_chunk(chunk: str) -> bool:
    words = _WORD.findall(chunk.rstrip("0123456789"))
    if any(word[0].isdigit() for word in words):
        return True
    if sum(len(word) > 1 and word.isupper() for word in words) > 1:
        return True
    if len(chunk) < 16 or not words:
        return False
    if _HEXADECIMAL.fullmatch(chunk):
        return True
    return sum(map(len, words)) / len(words) < 3.2 or any(map(_CONSONANTS.search, words))


def is_product_name(text: str) -> bool:
    """A name of software: words, and nothing that could be a key."""
    return _PRODUCT_NAME.fullmatch(text) is not None and text.count(" ") <= _MAX_SPACES and not looks_random(text)


def is_product_version(text: str) -> bool:
    if len(text) > 40 or _PRODUCT_VERSION.fullmatch(text) is None:
        return False
    address = address_of(text)
    return sum(map(str.isdigit, text)) <= _MAX_VERSION_DIGITS and not (address and address.is_private)


def _parts(value: str) -> int:
    return value.count("/") + value.count("&") + value.count(";")
