"""Looks for planted values in whatever was written: in the text as it is, and as it reads once decoded.

Nothing here is the product's own: what redacts must not be what judges the redaction.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import html
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import unquote

from tests.privacy.canary_shapes import Canary

GRAM: Final = 6
"""As long as the shortest canary."""
STRIDE: Final = 3
PART: Final = GRAM + STRIDE - 1
"""A part of a canary of this length is as bad as the whole."""
IN_SQUEEZED: Final = 3
"""So many characters more where words run into each other, and make new ones."""
PART_OF_NUMBER: Final = 10
"""Of digits more are needed: shorter runs of them meet by chance."""
DEPTH: Final = 3
"""Encodings on top of each other that are undone."""

_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrt])|([\"\\/']))")
_WHITESPACE: Final = {"n": "\n", "r": "\r", "t": "\t"}
_SURROGATES: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}")
_CONTINUED: Final = re.compile(r"(?:\r\n|\r|\n)data: ?")
_MARK: Final = re.compile(r"⟨[0-9]+⟩")
_BETWEEN: Final = re.compile(r"data: ?|⟨[0-9]+⟩|<[^<>]{0,200}>")
_NO_WORD: Final = re.compile(r"[\W_]+")


def squeezed(text: str) -> str:
    """Letters and digits only: what was cut over lines, chunks or pieces of markup is together again."""
    return _NO_WORD.sub("", _BETWEEN.sub("", text))


def rejoined(text: str) -> Iterator[str]:
    """What was cut into chunks, together again: those of a transcript, of a journal, of a report."""
    by_exchange: defaultdict[object, bytearray] = defaultdict(bytearray)
    for document in _documents(text):
        if isinstance(document, dict) and document.get("seen") == "chunk":
            by_exchange[document.get("exchange")] += _octets(document)
        else:
            yield from _streams(document)
    for stream in by_exchange.values():
        yield stream.decode("utf-8", "replace")
    if "⟨" in text:
        yield _MARK.sub("", text)


def _documents(text: str) -> Iterator[Any]:
    """The JSON documents that a text is: one, or one a line."""
    for whole in (text, *text.split("\n")) if text[:1] in "{[" else ():
        try:
            yield json.loads(whole)
        except ValueError:
            continue
        if whole is text:
            return


def _streams(document: Any) -> Iterator[str]:
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
            if isinstance(chunks := value.get("chunks"), list):
                yield b"".join(map(_octets, chunks)).decode("utf-8", "replace")
            if isinstance(body := value.get("body_base64"), str):
                yield _octets({"base64": body}).decode("utf-8", "replace")


def _octets(chunk: Any) -> bytes:
    if isinstance(chunk, dict):
        coded = chunk.get("base64")
        if isinstance(coded, str):
            with contextlib.suppress(binascii.Error, ValueError):
                return base64.b64decode(coded)
            return coded.encode("utf-8", "surrogatepass")
        chunk = chunk.get("text")
    return chunk.encode("utf-8", "surrogatepass") if isinstance(chunk, str) else b""


def readings(text: str) -> Iterator[str]:
    """The text, and what it says once its escapes, entities and percent-encodings are undone, one after the other; and
    so without the places where the data of one event goes on in another line."""
    yield text
    if "\0" in text:  # UTF-16
        yield from readings(text.replace("\0", ""))
    has_lines = "data:" in text
    for _ in range(DEPTH):
        decoded = html.unescape(_unescaped(text))
        if has_lines:
            joined = _CONTINUED.sub("", decoded)
            if joined != decoded:
                has_lines = False
                yield from readings(joined)
        if "%" in decoded:
            decoded = unquote(decoded, errors="replace")
        if decoded == text:
            return
        yield decoded
        text = decoded


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    text = _ESCAPE.sub(_character, text)
    return _SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _WHITESPACE.get(found[3] or "", found[4] or "")


def forms(part: str) -> Iterator[tuple[str, int]]:
    """How a value may stand in a text that nobody can decode by itself, Base64 from the middle of something else for
    one; and of how many characters of it a part is too much."""
    yield part, PART
    data = part.encode()
    yield data.hex(), 2 * PART
    if not part.isascii():
        yield data.decode("latin-1"), PART
        # As browsers read what names no character set.
        yield "".join(bytes((octet,)).decode("cp1252", "ignore") or chr(octet) for octet in data), PART
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        # Characters at either end hold bits of their neighbours.
        whole = encoded[(0, 2, 3)[before] : len(encoded) - ((before + len(data)) % 3 != 0)]
        yield whole, PART * 4 // 3 + 1
        if not whole.isalnum():
            yield whole.replace("+", "-").replace("/", "_"), PART * 4 // 3 + 1


class Needles:
    """Canaries to be looked for, by number. Parts are found, in any case, in any of their forms."""

    def __init__(self, canaries: Iterable[Canary]) -> None:
        self._forms: list[tuple[int, str, int]] = []
        self._by_gram: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._told: set[str] = set()
        self._runs: set[str] = set()
        for number, canary in enumerate(canaries):
            for part in canary.parts:
                for form, enough in forms(part):
                    for made in {form.lower(), squeezed(form).lower()}:
                        self._add(number, made, enough)
        self._grams = self._by_gram.keys()

    def forget(self) -> None:
        """Look at lines again that have been looked at."""
        self._told.clear()
        self._runs.clear()

    def _add(self, number: int, form: str, enough: int) -> None:
        if len(form) < GRAM:
            return
        place = len(self._forms)
        self._forms.append((number, form, min(len(form), enough)))
        last = len(form) - GRAM
        for at in {*range(0, last + 1, STRIDE), last}:
            self._by_gram[form[at : at + GRAM]].append((place, at))

    def found_in(self, text: str) -> dict[int, str]:
        """Number of each canary of which something stands in a text, and what: all readings, and all Base64 in them.

        Lines and runs of Base64 that it has been asked about before are not looked at again.
        """
        found: dict[int, str] = {}
        for whole in (text, *rejoined(text)):
            self._search(whole, found)
        return found

    def _search(self, text: str, found: dict[int, str]) -> None:
        is_fresh, reading = False, text
        for reading in readings(text):
            fresh = [line for line in reading.split("\n") if line not in self._told]
            if fresh:
                is_fresh = True
                self._told.update(fresh)
                self._look("\n".join(fresh), found)
            for run in set(_RUN.findall(reading)) - self._runs:
                self._runs.add(run)
                for decoded in _decoded(run):
                    for inner in readings(decoded):
                        self._look(inner, found)
                        if "\n" in inner or "\r" in inner:
                            self._look(squeezed(inner), found, more=IN_SQUEEZED)
        if is_fresh:
            self._look(squeezed(reading), found, more=IN_SQUEEZED)

    def _look(self, text: str, found: dict[int, str], more: int = 0) -> None:
        text = text.lower()
        for gram in self._grams & {text[at : at + GRAM] for at in range(len(text) - GRAM + 1)}:
            for place, at in self._by_gram[gram]:
                number, form, enough = self._forms[place]
                if number not in found and (part := _common(text, form, gram, at, min(enough + more, len(form)))):
                    found[number] = part


def _common(text: str, form: str, gram: str, at: int, enough: int) -> str:
    """What of a form stands around this part of it, if that is enough."""
    start = text.find(gram)
    while start >= 0:
        first, last = at, at + GRAM
        while first and start - (at - first) > 0 and text[start - (at - first) - 1] == form[first - 1]:
            first -= 1
        while last < len(form) and start + last - at < len(text) and text[start + last - at] == form[last]:
            last += 1
        part = form[first:last]
        if len(part) >= (min(len(form), max(enough, PART_OF_NUMBER)) if part.isdigit() else enough):
            return part
        start = text.find(gram, start + 1)
    return ""


def _decoded(run: str) -> Iterator[str]:
    standard = run.replace("-", "+").replace("_", "/")
    for start in range(4):
        whole = standard[start:]
        try:
            data = base64.b64decode(whole[: len(whole) - (len(whole) % 4 == 1)] + "==")
        except (binascii.Error, ValueError):
            continue
        if len(data) >= GRAM:
            yield data.decode("utf-8", "replace")
