"""Secrets in any text: by their shape, by where they stand, and through the usual encodings around them.

Only what is clearly a secret is found here. What merely may be one is told by redaction, which knows what may stay.
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from mcp_wire.privacy.labels import is_label
from mcp_wire.privacy.secret_shapes import PRIVATE_KEY, is_drawn_at_random, shapes_in
from mcp_wire.protocol.secret_names import names_a_secret

MAX_ENCODINGS: Final = 4
"""Encodings around each other that are taken off."""
MAX_NAME: Final = 64
MAX_ENCODED: Final = 1024 * 1024
"""Characters of one Base64 run that are decoded."""

BEARER: Final = "bearer token"
BASIC: Final = "user name and password (Basic)"
PKCE: Final = "PKCE verifier or challenge"
COOKIE: Final = "cookie"
PASSWORD_IN_URL: Final = "password in a URL"
IN_QUERY: Final = "credential in a URL"
NAMED: Final = "random value under the name of a secret"
CREDENTIALS: Final = "credentials in a header"

CREDENTIAL_HEADERS: Final = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "x-api-key",
        "api-key",
        "x-auth-token",
        "x-csrf-token",
        "x-goog-api-key",
        "x-amz-security-token",
        "x-mcp-proxy-auth",
        "dpop",
    }
)
"""Header fields whose values are credentials. A session id is one as well, but it looks like any other id."""
COOKIE_HEADERS: Final = frozenset({"cookie", "set-cookie"})

_JOINT: Final = r"""["'\\]{0,4}[ \t]{0,4}(?:=>|[:=,])[ \t]{0,4}["'\\]{0,4}"""
"""What stands between a name and its value, in JSON, YAML, code and header lines."""
_BEARER: Final = re.compile(r"(?i)bearer[ \t]{1,8}([A-Za-z0-9._~+/-]{16,8192}={0,2})")
_BASIC: Final = re.compile(r"(?i)basic[ \t]{1,8}([A-Za-z0-9+/]{4,4096}={0,2})(?![A-Za-z0-9+/=_.-])")
_PKCE: Final = re.compile(rf"(?i)code_?(?:verifier|challenge){_JOINT}([A-Za-z0-9._~-]{{43,128}})(?![A-Za-z0-9._~-])")
_VALUE: Final = re.compile(rf"""{_JOINT}([^\s"'\\,;&<>(){{}}\[\]]{{16,4096}})""")
_COOKIES: Final = re.compile(rf"""(?i)cookie{_JOINT}(?:value{_JOINT})?([^\r\n\f"'\\]{{1,8192}})""")
_PASSWORD_IN_URL: Final = re.compile(r"""://[^\s/:@"'<>?#]{0,256}:([^\s/@"'<>?#]{1,256})@""")
_IN_QUERY: Final = re.compile(
    r"(?i)[?&](?:access_token|auth_token|id_token|refresh_token|token|api[_-]?key|key|code|client_secret|password|sig|"
    r"""signature|x-amz-signature|x-amz-security-token)=([^\s&"'<>#\\]{16,4096})"""
)
_HEADER_OF_HAR: Final = re.compile(
    r"""(?i)"name"[ \t]{0,4}:[ \t]{0,4}"([a-z-]{3,32})"\s{0,64},\s{0,64}"""
    r""""value"[ \t]{0,4}:[ \t]{0,4}"([^"\\]{1,8192})"""
)
_NAMES: Final = (
    b"token secret passwd password passphrase credential credentials authorization apikey api_key api-key accesskey "
    b"access_key access-key privatekey private_key private-key secretkey secret_key secret-key"
).split()
"""In lower case: with these the names of secrets end."""
_NAME_BEFORE: Final = re.compile(r"[A-Za-z0-9_.-]{0,64}\Z")
_PLACEHOLDER: Final = re.compile(r"[<{$*%]|\.\.\.|…")
_WORDS_OF_A_PASSWORD: Final = frozenset({"pass", "password", "passwd", "pwd", "secret", "pw", "token", "x-oauth-basic"})

_ESCAPE: Final = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_SIMPLE_ESCAPES: Final = {"b": " ", "f": "\f", "n": "\f", "r": "\f", "t": "\t"}
_PERCENT: Final = re.compile(r"%([2-7][0-9A-Fa-f])")
_LINE_END: Final = re.compile(r"\n")
_RUN: Final = re.compile(r"[A-Za-z0-9_.~:+/=-]{16,}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_PART_OF_HEADER: Final = re.compile(r'[^\s,;="]+')
_BEGINNING: Final = 64
_NO_TEXT: Final = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Sighting:
    """A secret in a text: its kind, and the number of the character where it, or what is encoded around it, begins."""

    kind: str
    at: int


def secrets_in(text: str) -> list[Sighting]:
    """The secrets in a text, each kind once a place, in the order of their places. Linear in the length of the text.

    What is spread over lines is found only if the caller joins them. Of a secret inside an encoding, `at` is in the
    right line and no more.
    """
    found = {(sighting.at, sighting.kind) for sighting in _layers(text, MAX_ENCODINGS)}
    return [Sighting(kind, at) for at, kind in sorted(found)]


def secret_in_header(name: str, value: str) -> str | None:
    """The kind of secret that a header's value is or holds, None where it clearly is none. `name` in lower case."""
    found = secrets_in(value)
    if found:
        return found[0].kind
    kind = _by_name_of_header(name, value)
    if kind is not None:
        return kind
    return NAMED if names_a_secret(name) and _is_secret(value) else None


def secret_in_member(name: str, value: str) -> str | None:
    """The same for a string under a name: a member of a JSON object."""
    found = secrets_in(value)
    if found:
        return found[0].kind
    if name.replace("_", "").lower() in ("codeverifier", "codechallenge") and len(value) >= 43:
        return PKCE if _is_secret(value) else None
    return NAMED if names_a_secret(name) and _is_secret(value) else None


def _layers(text: str, left: int) -> Iterator[Sighting]:
    yield from _by_place(text)
    yield from _private_keys(text)
    for run in _RUN.finditer(text):
        yield from (Sighting(kind, run.start() + at) for kind, at in shapes_in(run[0]))
        for encoded in _BASE64.finditer(run[0]) if left else ():
            inner = _decoded(encoded[0])
            if inner is not None:
                yield from (Sighting(sighting.kind, run.start()) for sighting in _layers(inner, left - 1))
    undone = _without_escapes(text) if left else text
    if undone != text:
        yield from _in_the_same_line(text, undone, _layers(undone, left - 1))


def _in_the_same_line(text: str, undone: str, found: Iterable[Sighting]) -> Iterator[Sighting]:
    """What was found in the text without its escapes, at the beginning of its line in the text itself."""
    ends: list[int] | None = None
    begins: list[int] = []
    for sighting in found:
        if ends is None:
            # Nothing that is undone makes or takes a line end.
            ends = [end.start() for end in _LINE_END.finditer(undone)]
            begins = [0, *(end.end() for end in _LINE_END.finditer(text))]
        yield Sighting(sighting.kind, begins[bisect_left(ends, sighting.at)])


def _by_place(text: str) -> Iterator[Sighting]:
    # One octet a character, so that places are the same; letters beyond Latin-1 do not matter here.
    lower = text.encode("latin-1", "replace").lower()
    for at in _places(lower, b"bearer"):
        found = _BEARER.match(text, at)
        if found and _is_secret(found[1]):
            yield Sighting(BEARER, at)
    for at in _places(lower, b"basic"):
        found = _BASIC.match(text, at)
        if found and _is_name_and_password(found[1]):
            yield Sighting(BASIC, at)
    for at in _places(lower, b"code"):
        found = _PKCE.match(text, at)
        if found and _is_secret(found[1]):
            yield Sighting(PKCE, at)
    for at in _places(lower, b"cookie"):
        found = _COOKIES.match(text, at)
        if found and _has_cookie(found[1]):
            yield Sighting(COOKIE, at)
    for name in _NAMES:
        for at in _places(lower, name):
            found = _VALUE.match(text, at + len(name))
            if found and _is_secret(found[1]) and names_a_secret(_whole_name(text, at, len(name))):
                yield Sighting(NAMED, at)
    if "://" in text:
        for found in _PASSWORD_IN_URL.finditer(text):
            if found[1].lower() not in _WORDS_OF_A_PASSWORD and not _PLACEHOLDER.search(found[1]):
                yield Sighting(PASSWORD_IN_URL, found.start())
    if "=" in text:
        for found in _IN_QUERY.finditer(text):
            if _is_secret(found[1]):
                yield Sighting(IN_QUERY, found.start())
    for found in _HEADER_OF_HAR.finditer(text):
        kind = _by_name_of_header(found[1].lower(), found[2])
        if kind is not None:
            yield Sighting(kind, found.start())


def _places(text: bytes, word: bytes) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _whole_name(text: str, at: int, length: int) -> str:
    before = _NAME_BEFORE.search(text, max(at - MAX_NAME, 0), at)
    return (before[0] if before else "").rpartition(".")[2] + text[at : at + length]


def _private_keys(text: str) -> Iterator[Sighting]:
    """Their first line has spaces in it."""
    if "PRIVATE KEY" in text:
        yield from (Sighting(kind, at) for kind, at in shapes_in(text) if kind == PRIVATE_KEY)


def _by_name_of_header(name: str, value: str) -> str | None:
    if name in CREDENTIAL_HEADERS:
        return CREDENTIALS if any(map(_is_secret, _PART_OF_HEADER.findall(value))) else None
    if name in COOKIE_HEADERS:
        return COOKIE if _has_cookie(value) else None
    return None


def _is_secret(value: str) -> bool:
    return is_drawn_at_random(value) and not is_label(value) and _PLACEHOLDER.search(value) is None


def _is_name_and_password(encoded: str) -> bool:
    """RFC 7617 2: Base64 of a name, a colon and a password."""
    name, colon, password = (_of_base64(encoded) or "").partition(":")
    return bool(name and colon and password) and name.isprintable() and password.isprintable()


def _has_cookie(value: str) -> bool:
    return any(_is_secret(pair.partition("=")[2].strip()) for pair in value.split(";"))


def _without_escapes(text: str) -> str:
    """With the escapes of JSON strings and of URLs undone once. Line ends inside a string become form feeds."""
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    return _PERCENT.sub(lambda found: chr(int(found[1], 16)), text) if "%" in text else text


def _unescaped(found: re.Match[str]) -> str:
    if found[1] is None:
        return _SIMPLE_ESCAPES.get(found[2], found[2])
    character = chr(int(found[1], 16))
    return "\f" if character in "\r\n" else character


def _decoded(run: str) -> str | None:
    """The text that is encoded in Base64 (of either alphabet), None where it is none."""
    if len(run) > MAX_ENCODED:
        return None
    # Most long runs are no text; their beginning shows it.
    return None if _of_base64(run[:_BEGINNING], errors="ignore") is None else _of_base64(run)


def _of_base64(run: str, errors: str = "strict") -> str | None:
    run = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        data = base64.b64decode(run + "=" * (-len(run) % 4))
        return None if _NO_TEXT.search(data) else data.decode(errors=errors)
    except (binascii.Error, ValueError):
        return None
