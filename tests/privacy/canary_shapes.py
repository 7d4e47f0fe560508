"""Values that stand for secrets, in the forms that secrets have, and how each may be written where it is planted."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

_ALPHANUMERIC: Final = string.ascii_letters + string.digits
_CONSONANTS: Final = "bdfgklmnprstvz"
_VOWELS: Final = "aeiou"


@dataclass(frozen=True, slots=True)
class Canary:
    """`parts`: what is secret in it; all of it, except where its beginning is everybody's."""

    value: str
    shape: str
    parts: tuple[str, ...]


def _characters(chance: random.Random, length: int) -> str:
    """Letters and digits, at least one of each."""
    while True:
        made = "".join(chance.choices(_ALPHANUMERIC, k=length))
        if made[0].isalpha() and any(character.isdigit() for character in made[1:]):
            return made


def _word(chance: random.Random, syllables: int) -> str:
    """A word that can be spoken and that no language has."""
    return "".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(syllables))


def _token(chance: random.Random) -> tuple[str, ...]:
    return (_characters(chance, 24),)


def _words(chance: random.Random) -> tuple[str, ...]:
    return (f"{_word(chance, 4)}-{_word(chance, 3)}",)


def _digits(chance: random.Random, lengths: tuple[int, int] = (8, 16)) -> tuple[str, ...]:
    # Neither a time nor one of our labels, both of which begin with 1; nor one that ends in zeros, as floats may.
    return (chance.choice("23456789") + "".join(chance.choices("123456789", k=chance.randint(*lengths) - 1)),)


def _long_digits(chance: random.Random) -> tuple[str, ...]:
    return _digits(chance, (12, 16))


def _uuid(chance: random.Random) -> tuple[str, ...]:
    return ("-".join(f"{chance.getrandbits(4 * length):0{length}x}" for length in (8, 4, 4, 4, 12)),)


def _accented(chance: random.Random) -> tuple[str, ...]:
    return (f"é{_word(chance, 3)}ü{_word(chance, 3)}ñ", "ñ")


def _wide(chance: random.Random) -> tuple[str, ...]:
    return (f"世{_word(chance, 3)}界{_word(chance, 3)}🔑", "🔑")


def _jwt(chance: random.Random) -> tuple[str, ...]:
    def encoded(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    subject, signature = _characters(chance, 12), "".join(chance.choices(_ALPHANUMERIC + "-_", k=43))
    payload = encoded({"s": subject})
    return (f"{encoded({'alg': 'HS256'})}.{payload}.{signature}", payload[8:], signature, subject)


def _short(chance: random.Random) -> tuple[str, ...]:
    return (_characters(chance, 6),)


_SHAPES: Final[Mapping[str, Callable[[random.Random], tuple[str, ...]]]] = {
    "token": _token,
    "words": _words,
    "digits": _digits,
    "long digits": _long_digits,
    "uuid": _uuid,
    "accented": _accented,
    "wide": _wide,
    "jwt": _jwt,
    "short": _short,
}
SHAPES: Final = tuple(_SHAPES)
LOOK_RANDOM: Final = ("token", "uuid", "jwt")
"""Nobody takes these for a name."""


def canary(shape: str, chance: random.Random) -> Canary:
    """A canary of this shape that no other is like."""
    value, *parts = _SHAPES[shape](chance)
    if shape == "jwt":
        return Canary(value, shape, tuple(parts))
    return Canary(value, shape, (value,))


# --- how a value can be written ---


def escaped(text: str) -> str:
    """As JSON escapes, every character."""
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def percent(text: str) -> str:
    """Percent-encoded, every octet."""
    return "".join(f"%{octet:02X}" for octet in text.encode())


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def html_references(text: str) -> str:
    return "".join(f"&#x{ord(character):x};" for character in text)


ENCODINGS: Final[Mapping[str, Callable[[str], str]]] = {
    "plain": lambda text: text,
    "percent": percent,
    "percent where needed": lambda text: quote(text, safe=""),
    "percent twice": lambda text: quote(percent(text)),
    "base64": base64_of,
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 inside": lambda text: base64.b64encode(f"u:{text}".encode()).decode(),
    "sentinel": lambda text: f"=?base64?{base64_of(text)}?=",
    "url": lambda text: f"https://api.example.com/v1/{quote(text, safe='')}?q={quote(text, safe='')}",
    "nested": lambda text: json.dumps({"value": text, "list": [text]}),
    "hexadecimal": lambda text: text.encode().hex(),
    "html": html_references,
    "latin-1": lambda text: text.encode("latin-1", "replace").decode("utf-8", "surrogateescape"),
    "capitals": lambda text: text.upper(),
}
"""What each makes of a text. An octet that is no UTF-8 stands as a lone surrogate, as `surrogateescape` has it."""
