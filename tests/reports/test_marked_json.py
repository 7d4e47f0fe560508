"""JSON laid out with marks: nothing is lost, and every mark stands where its text was cut."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.reports.marked_json import MAX_STRING, Cut, laid_out, with_marks

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(min_codepoint=33, exclude_characters="⟨⟩")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4),
    max_leaves=20,
)


def test_the_layout_is_that_of_people() -> None:
    text = '{"jsonrpc":"2.0","id":1.0,"empty":[],"none":{},"list":[1,{"a":"b, c"}]}'
    assert list(laid_out(text, max_lines=99)) == [
        "{",
        '  "jsonrpc": "2.0",',
        '  "id": 1.0,',
        '  "empty": [],',
        '  "none": {},',
        '  "list": [',
        "    1,",
        "    {",
        '      "a": "b, c"',
        "    }",
        "  ]",
        "}",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"a":1} trailing', ["{", '  "a": 1', "} trailing"]),
        ('{"a":01,"a":NaN}', ["{", '  "a": 01,', '  "a": NaN', "}"]),
        ('{"cut":"in the mid', ["{", '  "cut": "in the mid']),
        ('["a\\', ["[", '  "a\\']),
        ("]]}", ["]", "]", "}"]),
        ("", []),
    ],
)
def test_what_is_not_quite_json_is_laid_out_as_far_as_it_goes(text: str, shown: list[str]) -> None:
    assert list(laid_out(text, max_lines=99)) == shown


def test_marks_stand_where_the_text_was_cut() -> None:
    text = '{"method":"ping","id":7}'
    cuts = [Cut(0, "⟨0⟩"), Cut(5, "⟨1⟩"), Cut(9, "⟨2⟩"), Cut(23, "⟨3⟩"), Cut(24, "⟨4⟩")]
    assert list(laid_out(text, cuts, max_lines=99)) == [
        "⟨0⟩{",
        '  "met⟨1⟩hod"⟨2⟩: "ping",',
        '  "id": 7',
        "⟨3⟩}⟨4⟩",
    ]


def test_a_long_token_is_shortened_and_its_marks_are_kept() -> None:
    text = f'["{"x" * 5_000}", 1]'
    lines = list(laid_out(text, [Cut(10, "⟨1⟩"), Cut(4_000, "⟨2⟩")], max_lines=99))
    assert lines[1].startswith('  "xxxxxxxx⟨1⟩x')
    assert lines[1].endswith(f"… {5_002 - MAX_STRING} more characters⟨2⟩,")
    assert lines[2] == "  1"


def test_a_long_text_ends_with_what_is_left_out() -> None:
    text = json.dumps([*range(1_000)])
    lines = list(laid_out(text, [Cut(len(text) - 3, "⟨5⟩")], max_lines=3))
    assert lines[:3] == ["[", "  0,", "  1,"]
    assert re.fullmatch(r"… \d+ more characters, with ⟨5⟩", lines[3])
    assert len(lines) == 4


@given(VALUES, st.booleans(), st.data())
def test_nothing_is_lost_and_every_mark_is_in_its_place(value: object, spaced: bool, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1 if spaced else None)
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    cuts = [Cut(place, f"⟨{number}⟩") for number, place in enumerate(places)]
    shown = "".join("".join(laid_out(text, cuts, max_lines=10_000)).split())
    assert re.sub("⟨[0-9]+⟩", "", shown) == "".join(text.split())
    for cut in cuts:
        before = re.sub("⟨[0-9]+⟩", "", shown.partition(cut.mark)[0])
        assert before == "".join(text[: cut.position].split())


@given(st.text(max_size=40), st.data())
def test_any_text_takes_marks(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    marked = with_marks(text, [Cut(place, "\0") for place in places])
    assert marked.count("\0") == len(places) + text.count("\0")
    assert list(laid_out(text, [], max_lines=1_000)) is not None
