"""What is wrong with a file that has to be strict JSON, as a clause with the place: where, what to do, never what."""

from __future__ import annotations

from typing import Final

from mcp_wire.wire.strict_json import MAX_DEPTH, NOTES, JsonFault, JsonReading

_CLAUSES: Final = {
    "invalid_utf8": "is not UTF-8; save the {file} as UTF-8",
    "bom": "begins with a byte order mark; save the {file} as UTF-8 without one",
    "syntax": "is not JSON here; repair the {file} or write it again",
    "trailing_data": "goes on after its JSON value; keep one {file} in one file",
    "duplicate_key": "has the same member twice in one object; keep one of them",
    "not_a_number": "has NaN or Infinity, which is no JSON; write a number or leave the member out",
    "out_of_range": "has a number beyond a double; write one that is finite or leave the member out",
    "too_deep": "is nested deeper than {depth} levels; cut the part that is not needed",
}


def complaint(text: str | bytes, reading: JsonReading, file: str, max_depth: int = MAX_DEPTH) -> str | None:
    """What keeps a text from being strict JSON, as in `line 3, column 5: is not JSON here; …`. None if nothing does.

    `reading`: what `read_json` made of the text, down to `max_depth`. `file`: what such a file is called.
    """
    if not text.strip():
        return f"is empty; a {file} is one JSON object"
    fault = next((fault for fault in reading.faults if fault.kind not in NOTES), None)
    if fault is None:
        return None
    return f"{_place(text, fault)}{_CLAUSES[fault.kind].format(file=file, depth=max_depth)}"


def _place(text: str | bytes, fault: JsonFault) -> str:
    if fault.offset is None or fault.kind == "bom":
        return ""
    if isinstance(text, bytes) and fault.kind != "invalid_utf8":
        text = text.decode(errors="replace")
    before = text[: fault.offset]
    newline = "\n" if isinstance(before, str) else b"\n"
    line = before.count(newline) + 1  # type: ignore[arg-type]  # both are of one type
    column = fault.offset - before.rfind(newline)  # type: ignore[arg-type]
    unit = "byte" if isinstance(before, bytes) else "column"
    return f"line {line}, {unit} {column}: "
