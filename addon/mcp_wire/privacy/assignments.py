"""Secrets that stand in a text under a name that says so: `password: …`, `API_KEY=…`, `Cookie: …`, `Mcp-Session-Id: …`.

What people choose themselves has no shape. So a value counts only where the name leaves no doubt and the value is
neither a word, nor code, nor a stand-in; that finds less than there is, and hardly ever what is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mcp_wire.privacy.labels import is_label
from mcp_wire.privacy.secret_search import COOKIE, CREDENTIALS, Sighting
from mcp_wire.privacy.secret_shapes import is_drawn_at_random
from mcp_wire.protocol.secret_names import names_a_secret

ASSIGNED: Final = "value under the name of a secret"
SESSION: Final = "session id"

MIN_LENGTH: Final = 6
"""Characters of a password. Shorter ones cannot be told from ordinary values."""
MIN_CREDENTIAL_LENGTH: Final = 8
MAX_NAME: Final = 64

_NAMES: Final = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials", "authorization"),
    *(f"{word}{joint}key" for word in ("api", "access", "private", "secret") for joint in ("", "_", "-")),
    *("code_verifier", "codeverifier"),
)
"""In lower case: with these the names of secrets end."""
_PASSWORDS: Final = ("password", "passwd", "passphrase", "pwd")
_NAME_BEFORE: Final = re.compile(r"[A-Za-z0-9_.-]{0,64}\Z")
_ENVIRONMENT: Final = re.compile(r"[A-Z0-9_]+_(?:TOKEN|PWD)|[A-Z0-9_]+PASSWORD")
_OWN_NAMES: Final = ("pwd", "code_verifier", "codeverifier")

_TYPE: Final = r"(?::[ \t]{0,4}(?:str|string|bytes|Final)(?:\[\w{1,16}\])?[ \t]{0,4}(?==))?"
_JOINT: Final = re.compile(rf"""["'`\\]{{0,4}}[ \t]{{0,4}}{_TYPE}(=>|:=|=(?!=)|:)(?P<gap>[ \t]{{0,16}})""")
_QUOTED: Final = re.compile(r"""[bru]{0,2}(?P<quote>\\{0,4}["'`])(?P<value>[^\r\n"'`\\]{1,512})(?P=quote)""")
_BARE: Final = re.compile(r"""[^\s"'`\\,;<>(){}\[\]|]{1,512}""")
_SCHEME: Final = re.compile(r"(?i)(?:bearer|token|apikey|api-key|dpop)[ \t]{1,4}([A-Za-z0-9._~+/-]{8,8192}={0,2})")
_NEXT_PARAMETER: Final = re.compile(r"&\w{1,64}=")
_REST: Final = re.compile(r"[ \t]*(?:#|//|\r|$)", re.MULTILINE)
_START: Final = re.compile(r"""[ \t]*(?:export[ \t]+|set[ \t]+|-[ \t]+|\$[ \t]+)?["'`]?""")

_IN_A_COMMAND: Final = re.compile(
    rf"""(?:^|[\s"'`])[A-Z][A-Z0-9_]*={_BARE.pattern}(?:[\s"'`\\]|\Z)"""
    rf"""|["'`][Xx]-[A-Za-z-]+:[ ]{_BARE.pattern}["'`\\]"""
    rf"""|;(?:Password|Pwd)={_BARE.pattern}(?:[;\r\n"'`\\]|\Z)"""
)
"""With what stands on either side: a variable of the environment, a header in quotes, a part of a connection string."""

_COOKIES: Final = re.compile(r"""["'\\]{0,4}[ \t]{0,4}:[ \t]{0,4}["'\\]{0,4}([^\r\n\f"'`\\]{3,8192})""")
_ATTRIBUTES: Final = frozenset({"expires", "max-age", "domain", "path", "samesite", "version", "comment"})
"""RFC 6265 4.1.1 and 4.1.2: what stands beside a cookie."""
_SESSION: Final = re.compile(r"[ \t]{0,4}[:=][ \t]{0,4}([\x21\x23-\x26\x28-\x5b\x5d-\x7e]{16,512})")
"""As in a log or a command; in JSON and in code, where the value is quoted, it is mostly somebody's example."""

_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)\w+)*")
_STAND_IN: Final = re.compile(
    r"(?i)^[<$%{*]|\$\{|\$\(|\{\{|%\(|%[sd]|<[^>]*>|\*\*|\.\.\.|…|x{4}|redacted|example|placeholder|change.?me|your|dummy|"
    r"sample|fake|mock|invented|s3cr|test|todo|none|null|undefined|not.?set"
)
_STANDS_FOR_ITSELF: Final = re.compile(
    r"(?i)(?:[a-z]+[-_. ])*[a-z]+[-_.][0-9]{0,3}[a-z]?|(?:[a-z]+[-_.])*[a-z]{1,3}[0-9]{0,4}"
)
"""`token-1`, `client_secret_2`, `abc123`: what people write in place of a value."""
_TECHNICAL: Final = re.compile(
    r"(?i)(?:sha|utf|base|u?int|float|bytes|oauth|uuid|v|[hrep]s|http|ed|md|aes|argon|rfc|iso)[-_]?[0-9]+(?:[-_.]?\w{0,8})"
    r"|[0-9]{4}-[0-9]{2}.*|[0-9.]+[a-z]{0,3}|[\w./-]+\.[a-z]{2,4}|[.~]{0,2}/.*|\w+://.*|#/.*|urn:.*|#[0-9a-f]{3,8}"
)
"""Algorithms, dates, amounts with a unit, files, addresses."""
_WORDS: Final = frozenset(
    {
        *("password", "passwd", "passphrase", "pass", "pwd", "secret", "token", "basic", "bearer", "admin", "key"),
        *("string", "text", "plain", "value", "default", "input", "field", "label", "prompt", "hidden", "reset"),
        *("true", "false", "required", "optional", "empty", "missing", "unknown", "invalid", "wrong", "correct"),
    }
)
_LETTERS: Final = re.compile(r"[a-z]+")
_SPECIAL: Final = re.compile(r"[!@#$%^&*+=?~]")


def assigned_secrets_in(text: str) -> Iterator[Sighting]:
    """Secrets under their names, in no order. Linear in the length of the text. Raises nothing."""
    # One octet a character, so that places are the same; letters beyond Latin-1 do not matter here.
    lower = text.encode("latin-1", "replace").lower().decode("latin-1")
    for name in _NAMES:
        end = 0
        for at in _places(lower, name):
            if at < end:  # in the value of the one before
                continue
            is_secret, end = _assigned(text, at, name)
            if is_secret:
                yield Sighting(ASSIGNED, at)
    for at in _places(lower, "authorization"):
        joint = _JOINT.match(text, at + len("authorization"))
        found = _SCHEME.match(text, _after_quote(text, joint.end())) if joint else None
        if found and _is_mixed(found[1], MIN_CREDENTIAL_LENGTH):
            yield Sighting(CREDENTIALS, at)
    end = 0
    for at in _places(lower, "cookie"):
        if at < end or (lower[max(at - 4, 0) : at] != "set-" and text[max(at - 1, 0) : at].isalnum()):
            continue
        found = _COOKIES.match(text, at + len("cookie"))
        end = found.end() if found else end
        if found and any(map(_is_cookie, found[1].split(";"))):
            yield Sighting(COOKIE, at)
    for name in ("mcp-session-id", "mcp_session_id", "mcpsessionid"):
        for at in _places(lower, name):
            found = _SESSION.match(text, at + len(name))
            if found and is_drawn_at_random(found[1]) and not _is_stand_in(found[1]):
                yield Sighting(SESSION, at)


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _after_quote(text: str, at: int) -> int:
    return at + 1 if text[at : at + 1] in ("'", '"', "`") else at


def _assigned(text: str, at: int, ending: str) -> tuple[bool, int]:
    """Is a secret assigned to the name that ends there? And where its value ends."""
    joint = _JOINT.match(text, at + len(ending))
    if joint is None:
        return False, at
    before = _NAME_BEFORE.search(text, max(at - MAX_NAME, 0), at)
    start = at - (len(before[0]) if before else 0)
    name = text[start : at + len(ending)].rpartition(".")[2]
    if not (names_a_secret(name) or _ENVIRONMENT.fullmatch(name) or ending in _OWN_NAMES):
        return False, at
    quoted = _QUOTED.match(text, joint.end())
    is_password = ending in _PASSWORDS
    if quoted:
        return _is_chosen(quoted["value"], is_password), quoted.end()
    bare = _BARE.match(text, joint.end())
    if bare is None:
        return False, at
    value, end = bare[0], bare.end()
    following = _NEXT_PARAMETER.search(value)
    if following:
        value = value[: following.start()]
        end = bare.start() + following.start()
    is_code = text[end : end + 1] in ("(", "[", "{")
    alone = _REST.match(text, end) is not None and _begins_line(text, start)
    alone = alone or _IN_A_COMMAND.fullmatch(text, max(start - 1, 0), end + 1) is not None
    if _IDENTIFIER.fullmatch(value):
        # By itself in its line or in a command, and without the spaces that programs have.
        is_plain = alone and bool(joint["gap"]) == (joint[1] == ":")
        return is_plain and not is_code and _is_chosen(value, is_password), end
    return not is_code and _is_chosen(value, is_password and alone), end


def _begins_line(text: str, start: int) -> bool:
    from_here = max(start - MAX_NAME, 0)
    line = max(text.rfind("\n", from_here, start), text.rfind("\r", from_here, start)) + 1
    return (line > 0 or from_here == 0) and _START.fullmatch(text, line, start) is not None


def _is_chosen(value: str, is_password: bool) -> bool:
    """Would nobody write this who does not mean it? A password may be of letters, if it is no usual word."""
    if _is_stand_in(value) or " " in value.strip():
        return False
    words = _LETTERS.findall(value.lower())
    if not words or _WORDS.issuperset(words):
        return False
    if _is_mixed(value, MIN_LENGTH):
        return True
    has_special = is_password and len(value) >= MIN_LENGTH and _SPECIAL.search(value[1:]) is not None
    return has_special and _TECHNICAL.fullmatch(value) is None


def _is_mixed(value: str, length: int) -> bool:
    return (
        len(value) >= length
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
        and not _is_stand_in(value)
        and _TECHNICAL.fullmatch(value) is None
        and _STANDS_FOR_ITSELF.fullmatch(value) is None
    )


def _is_stand_in(value: str) -> bool:
    return is_label(value) or _STAND_IN.search(value) is not None


def _is_cookie(pair: str) -> bool:
    name, _, value = pair.strip().partition("=")
    return name.strip().lower() not in _ATTRIBUTES and _is_mixed(value.strip(), MIN_CREDENTIAL_LENGTH)
