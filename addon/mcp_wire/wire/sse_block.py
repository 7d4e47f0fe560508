"""One block of an event stream: its lines, and what they mean to a client (WHATWG HTML 9.2.6)."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from mcp_wire.wire.records import record

MAX_RETRY_MS: Final = 60 * 60 * 1000
"""A larger `retry` counts as an hour: no client waits for longer, and a larger number means something else."""

FieldKind = Literal["event", "data", "id", "retry", "comment", "ignored"]
FieldFault = Literal["invalid_utf8", "misplaced_bom", "nul", "not_digits"]

_LINE_ENDS: Final = re.compile(rb"\r\n|\r|\n")


class Field(NamedTuple):
    """One line of a block. `name` and `value` are decoded with U+FFFD for bytes that are not UTF-8.

    `ignored` is a line whose name is none of event, data, id, retry (names are case-sensitive); a comment has the empty
    name and its text as value. One space after the colon is no part of the value.

    Faults: `invalid_utf8`; `misplaced_bom` (the line begins with U+FEFF, which is then part of the name); `nul` (an id
    with U+0000, which clients ignore); `not_digits` (a retry that is not one or more of 0-9, which clients ignore).
    """

    kind: FieldKind
    name: str
    value: str
    faults: tuple[FieldFault, ...] = ()


@record
class Block:
    """One block of an event stream: a run of lines, and the blank line that completes it.

    index            number among the reported blocks of this stream, from 0
    event_index      the last number of `/exchanges/0/response/chunks/2` in finding paths: the number of the block when
                     the stream, with its line ends normalised to LF, is split at every LF LF and empty parts count
    start, end       offsets in the decoded stream, from the first byte of the first line to behind the first byte that
                     ends the blank line. Between blocks there is nothing but CR, LF and the leading byte order mark
    first_chunk, last_chunk   numbers of the chunks that brought the first and the last byte of that span
    raw              the bytes of that span; empty when the block is too large
    fields           its lines in order, comments included. In a tail the last one may be cut; then it is shown here and
                     counts for nothing else. Of a block that is too large: only the last lines of each kind that still
                     count, a `data` line without its value
    data             values of the data lines, joined with LF; None without a data line, or when the block is too large
    event_type       what a client dispatches: the last `event` value, `message` when that is empty or missing
    id               the cursor that this block commits; None without an id field, when all ids hold NUL, and for a tail
    last_event_id    the cursor in force behind this block; "" when there is none
    retry_ms         the last valid `retry` of the block, clamped to MAX_RETRY_MS; None without one
    dispatched       a client gets an event: the block is complete and has a data line (D11: an empty one suffices)
    complete         False only for the tail that `EventStreamReader.end` returns
    too_large        more than MAX_EVENT_BYTES, or more than MAX_EVENT_LINES lines
    invalid_utf8     some bytes are not UTF-8 (not looked at when the block is too large)
    leading_bom      this is the first block, and a byte order mark opened the stream (legal, and no part of the block)
    """

    index: int
    event_index: int
    start: int
    end: int
    first_chunk: int
    last_chunk: int
    raw: bytes
    fields: tuple[Field, ...]
    data: str | None
    event_type: str
    id: str | None
    last_event_id: str
    retry_ms: int | None
    dispatched: bool
    complete: bool
    too_large: bool
    invalid_utf8: bool
    leading_bom: bool

    @property
    def comments(self) -> tuple[str, ...]:
        """The texts of the comment lines, one leading space removed."""
        return tuple(field.value for field in self.fields if field.kind == "comment")

    @property
    def ignored_lines(self) -> tuple[Field, ...]:
        """Lines that a client drops without a word: unknown names, wrong case, payload without `data:`."""
        return tuple(field for field in self.fields if field.kind == "ignored")

    @property
    def has_content(self) -> bool:
        """Some line holds data, or was meant to."""
        return any(field.kind == "ignored" or (field.kind == "data" and field.value) for field in self.fields)

    @property
    def has_id(self) -> bool:
        """An id field is there, valid or not, committed or not."""
        return any(field.kind == "id" for field in self.fields)

    @property
    def id_has_nul(self) -> bool:
        """Some id field holds U+0000; that field was ignored."""
        return any("nul" in field.faults for field in self.fields)

    @property
    def retry_invalid(self) -> str | None:
        """The value of the last whole retry field if that is not one or more ASCII digits, else None."""
        retries = [field for field in self.fields if field.kind == "retry"]
        if retries and retries[-1] is self.fields[-1] and self.cut_in_line:
            retries.pop()
        return retries[-1].value if retries and "not_digits" in retries[-1].faults else None

    @property
    def misplaced_bom(self) -> bool:
        """Some line begins with a U+FEFF that is not the one allowed at the start of the stream."""
        return any("misplaced_bom" in field.faults for field in self.fields)

    @property
    def cut_in_line(self) -> bool:
        """Only for a tail: the stream ended inside its last line. False when the bytes are not kept."""
        return not self.complete and self.raw[-1:] not in (b"", b"\r", b"\n")

    @property
    def line_ends(self) -> frozenset[str]:
        """Which of CRLF, LF and CR end its lines. The blank line is left out: its end is not whole in the block."""
        lines = self.raw[:-1] if self.complete else self.raw
        return frozenset(end.decode() for end in _LINE_ENDS.findall(lines))


class Interpretation(NamedTuple):
    """What the lines of one block say, before it is known whether a client dispatches it."""

    fields: tuple[Field, ...]
    data: str | None
    event_type: str
    id: str | None
    retry_ms: int | None
    invalid_utf8: bool


def interpret(raw: bytes) -> Interpretation:
    """Read the lines of one block."""
    invalid_lines: set[int] | None = None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        # CR and LF break off every unfinished sequence, so a block decodes alone as it does within its stream.
        text = raw.decode(errors="replace")
        invalid_lines = {number for number, (line, _) in enumerate(split_lines(raw)) if not _is_utf8(line)}
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")

    fields: list[Field] = []
    values: list[str] = []
    event_type = ""
    event_id: str | None = None
    retry_ms: int | None = None
    faults: tuple[FieldFault, ...]
    for number, line in enumerate(text.split("\n")):
        if not line:
            continue
        name, _, value = line.partition(":")
        if value[:1] == " ":
            value = value[1:]
        faults = ()
        kind: FieldKind
        if name == "data":
            kind = "data"
            values.append(value)
        elif name == "id":
            kind = "id"
            if "\0" in value:
                faults = ("nul",)
            else:
                event_id = value
        elif name == "event":
            kind = "event"
            event_type = value
        elif name == "":
            kind = "comment"
        elif name == "retry":
            kind = "retry"
            if not (value.isascii() and value.isdigit()):
                faults = ("not_digits",)
            else:
                retry_ms = _milliseconds(value)
        else:
            kind = "ignored"
            if name[0] == "\ufeff":
                faults = ("misplaced_bom",)
        if invalid_lines and number in invalid_lines:
            faults = ("invalid_utf8", *faults)
        fields.append(Field(kind, name, value, faults))

    data = None
    if values:
        data = values[0] if len(values) == 1 else "\n".join(values)
    invalid_utf8 = invalid_lines is not None
    return Interpretation(tuple(fields), data, event_type or "message", event_id, retry_ms, invalid_utf8)


def interpret_tail(raw: bytes) -> Interpretation:
    """Read the lines of a block that the end of the stream cut off.

    What no line end follows is no line. It is shown as a field, but means nothing and has no fault: the cut may have
    gone through a name, a number or a character.
    """
    whole_lines = max(raw.rfind(b"\n"), raw.rfind(b"\r")) + 1
    tail = interpret(raw[:whole_lines])
    if whole_lines == len(raw):
        return tail
    (cut_line,) = interpret(raw[whole_lines:]).fields
    return tail._replace(fields=(*tail.fields, cut_line._replace(faults=())))


def split_lines(raw: bytes) -> list[tuple[bytes, bytes]]:
    """The lines of a block's `raw`, each with its end: CRLF, LF, CR, or nothing for a line that was cut."""
    if b"\r" not in raw:
        *lines, cut = raw.split(b"\n")
        return [(line, b"\n") for line in lines] + ([(cut, b"")] if cut else [])
    found: list[tuple[bytes, bytes]] = []
    position = 0
    for end in _LINE_ENDS.finditer(raw):
        found.append((raw[position : end.start()], end.group()))
        position = end.end()
    if position < len(raw):
        found.append((raw[position:], b""))
    return found


def count_line_ends(raw: bytes) -> int:
    """CRLF counts once."""
    return raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")


def _milliseconds(digits: str) -> int:
    # int() refuses thousands of digits, so their number is looked at first.
    significant = digits.lstrip("0")
    return min(int(significant or "0"), MAX_RETRY_MS) if len(significant) <= len(str(MAX_RETRY_MS)) else MAX_RETRY_MS


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
