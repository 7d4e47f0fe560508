"""Strict JSON: what is wrong, what a lenient peer reads, and that no text costs more than its length."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_wire.wire.strict_json import (
    MAX_DEPTH,
    MAX_INTEGER_LENGTH,
    MISSING,
    JsonFault,
    JsonReading,
    JsonValue,
    LongInteger,
    canonical,
    dump_json,
    faults_of_value,
    is_integer,
    is_number,
    read_json,
    walk,
)

JSON_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=5)
    ),
    max_leaves=20,
)


def kinds(reading: JsonReading) -> list[str]:
    return [fault.kind for fault in reading.faults]


def offsets(reading: JsonReading) -> list[int | None]:
    return [fault.offset for fault in reading.faults]


# --- strict texts -----------------------------------------------------------------------------------------------------


@given(JSON_VALUES, st.booleans(), st.sampled_from([None, 0, 2]))
def test_agrees_with_the_standard_library_on_valid_json(value: JsonValue, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    for reading in (read_json(text), read_json(text.encode())):
        assert reading.faults == ()
        assert reading.strict
        assert canonical_of(reading) == canonical(json.loads(text))


@given(JSON_VALUES)
def test_the_careful_reader_agrees_with_the_fast_one(value: JsonValue) -> None:
    text = json.dumps(value)
    reading = read_json(f"[{text}, NaN]")
    assert kinds(reading) == ["not_a_number"]
    assert isinstance(reading.value, list)
    assert canonical(reading.value[0]) == canonical(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        (" \t\r\n true ", True),
        ("-0", 0),
        ("1.5e2", 150.0),
        ("1e-999", 0.0),
        ("18446744073709551617", 2**64 + 1),
        (r'"\ud83d\ude00 \\ud800 \/ \u00e9"', "\U0001f600 \\ud800 / é"),
        ('"\u007f\u2028"', "\u007f\u2028"),
        ('{"":{"":[]}}', {"": {"": []}}),
    ],
)
def test_values(text: str, value: JsonValue) -> None:
    reading = read_json(text)
    assert reading == JsonReading(value)
    assert type(reading.value) is type(value)


# --- faults -----------------------------------------------------------------------------------------------------------

# name, text, kinds, offsets, whether strict, lenient value (MISSING: none)
FAULTS = [
    ("duplicate key", '{"a":1,"b":2,"a":3}', ["duplicate_key"], [13], {"a": 3, "b": 2}),
    ("duplicate key by an escape", r'{"a":1,"\u0061":2}', ["duplicate_key"], [7], {"a": 2}),
    ("duplicate key inside", '{"x":[{"a":1,"a":2}]}', ["duplicate_key"], [13], {"x": [{"a": 2}]}),
    ("the first of two duplicates is told", '{"a":1,"a":2,"a":3}', ["duplicate_key"], [7], {"a": 3}),
    ("out of range", "[1e999, -1e999]", ["out_of_range"], [1], [math.inf, -math.inf]),
    ("out of range without exponent", "1" + "0" * 400 + ".0", ["out_of_range"], [0], math.inf),
    ("infinity", '{"a": -Infinity}', ["not_a_number"], [6], {"a": -math.inf}),
    ("lone high surrogate", r'["\ud800"]', ["lone_surrogate"], [1], ["\ud800"]),
    ("lone low surrogate", r'["a\uDFFFb"]', ["lone_surrogate"], [1], ["a\udfffb"]),
    ("surrogates the wrong way round", r'["\ude00\ud83d"]', ["lone_surrogate"], [1], ["\ude00\ud83d"]),
    ("lone surrogate in a name", r'{"\ud800":1}', ["lone_surrogate"], [1], {"\ud800": 1}),
    ("raw surrogate", '["\ud800"]', ["lone_surrogate"], [1], ["\ud800"]),
    ("byte order mark", "\ufeff{}", ["bom"], [0], {}),
    ("byte order mark inside a string is none", '"\ufeff"', [], [], "\ufeff"),
    (
        "several",
        '\ufeff{"a":NaN,"a":1e999}',
        ["bom", "not_a_number", "duplicate_key", "out_of_range"],
        [0, 6, 10, 14],
        {"a": math.inf},
    ),
    ("no value", "", ["syntax"], [0], MISSING),
    ("only space", " \n", ["syntax"], [2], MISSING),
    ("only a byte order mark", "\ufeff", ["bom", "syntax"], [0, 1], MISSING),
    ("two byte order marks", "\ufeff\ufeff1", ["bom", "syntax"], [0, 1], MISSING),
    ("trailing data", '{} {"a":1}', ["trailing_data"], [3], MISSING),
    ("leading zero", "01", ["trailing_data"], [1], MISSING),
    ("trailing comma", "[1,]", ["syntax"], [3], MISSING),
    ("trailing comma in an object", '{"a":1,}', ["syntax"], [7], MISSING),
    ("no colon", '{"a" 1}', ["syntax"], [5], MISSING),
    ("no comma", "[1 2]", ["syntax"], [3], MISSING),
    ("single quotes", "{'a':1}", ["syntax"], [1], MISSING),
    ("name is no string", "{1:2}", ["syntax"], [1], MISSING),
    ("wrong bracket", "[1}", ["syntax"], [2], MISSING),
    ("half a number", "-", ["syntax"], [0], MISSING),
    ("a plus sign", "+1", ["syntax"], [0], MISSING),
    ("no digit after the point", "[1.]", ["syntax"], [2], MISSING),
    ("no digit before the point", ".5", ["syntax"], [0], MISSING),
    ("hexadecimal", "0x10", ["trailing_data"], [1], MISSING),
    ("digits of another script", "\u0661", ["syntax"], [0], MISSING),
    ("half a word", "nul", ["syntax"], [0], MISSING),
    ("capitals", "True", ["syntax"], [0], MISSING),
    ("comment", "/* */ 1", ["syntax"], [0], MISSING),
    ("line break in a string", '"a\nb"', ["syntax"], [2], MISSING),
    ("unknown escape", r'"\x41"', ["syntax"], [1], MISSING),
    ("short escape", r'"\u12"', ["syntax"], [2], MISSING),
    ("no end of string", '["abc', ["syntax"], [1], MISSING),
    ("no end of array", "[1", ["syntax"], [2], MISSING),
    ("no end of object", '{"a":', ["syntax"], [5], MISSING),
    ("other space", "\u00a01", ["syntax"], [0], MISSING),
    ("what came before a syntax fault is told", '{"a":1,"a":2', ["duplicate_key", "syntax"], [7, 12], MISSING),
]


@pytest.mark.parametrize(
    ("text", "expected", "places", "value"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)
def test_faults(text: str, expected: list[str], places: list[int], value: JsonValue) -> None:
    reading = read_json(text)
    assert kinds(reading) == expected
    assert offsets(reading) == places
    assert reading.value == value
    assert reading.strict is (expected in ([], ["lone_surrogate"]))
    for kind in expected:
        assert reading.has(kind)  # type: ignore[arg-type]


def test_nan_is_read_as_nan() -> None:
    value = read_json("NaN").value
    assert isinstance(value, float)
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("raw", "expected", "offset", "value"),
    [
        (b'["\xff"]', ["invalid_utf8"], 2, ["\ufffd"]),
        (b'["\xed\xa0\x80"]', ["invalid_utf8"], 2, ["\ufffd\ufffd\ufffd"]),
        (b'["caf\xe9"]', ["invalid_utf8"], 5, ["caf\ufffd"]),
        (b'["\xe2\x82', ["invalid_utf8", "syntax"], 2, MISSING),
        (b"\xff\xfe{\x00}\x00", ["invalid_utf8", "syntax"], 0, MISSING),
        (b'\xff{"a":NaN}', ["invalid_utf8", "syntax"], 0, MISSING),
        (b'{"a":"\xff","a":1}', ["invalid_utf8", "duplicate_key"], 6, {"a": 1}),
        (b"\xef\xbb\xbf[]", ["bom"], 0, []),
        (b"{\x00}\x00", ["syntax"], 1, MISSING),
    ],
)
def test_bytes(raw: bytes, expected: list[str], offset: int, value: JsonValue) -> None:
    reading = read_json(raw)
    assert kinds(reading) == expected
    assert reading.faults[0].offset == offset
    assert reading.value == value
    assert not reading.strict


def test_two_faults_of_one_kind_are_equal_wherever_they_are() -> None:
    assert read_json("[NaN]").faults == read_json(" [NaN]").faults
    assert JsonFault("bom", 0) == JsonFault("bom")


@given(st.text(alphabet='{}[]:,"\\ u0deDfn tlraseNIfiy-+.1E\n\ud800\ufeffé', max_size=30))
@example('["\\ud800\\udc00\\ud800"]')
@example("-Infinity")
def test_total_and_no_more_lenient_than_the_standard_library(text: str) -> None:
    reading = read_json(text)
    try:
        expected = json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        assert reading.value is MISSING
        assert not reading.strict
    else:
        assert canonical_of(reading) == canonical(expected)


@given(st.binary(max_size=30))
def test_any_bytes(raw: bytes) -> None:
    reading = read_json(raw)
    assert reading.has("invalid_utf8") is (raw.decode(errors="ignore").encode() != raw)
    assert (reading.value is MISSING) <= (not reading.strict)


# --- integers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("length", [MAX_INTEGER_LENGTH + 1, 5_000, 100_000])
def test_long_integers_keep_their_digits(sign: str, length: int) -> None:
    digits = sign + "7" * length
    reading = read_json(f'{{"id": {digits}}}')
    assert reading.strict
    assert reading.value == {"id": LongInteger(digits)}
    assert dump_json(reading.value) == f'{{"id":{digits}}}'
    assert canonical(reading.value) == f'{{"id":{digits}}}'
    assert read_json(f"[{digits}, NaN]").faults == (JsonFault("not_a_number"),)


def test_an_integer_at_the_limit_is_an_int_and_can_be_printed() -> None:
    digits = "9" * MAX_INTEGER_LENGTH
    value = read_json(digits).value
    assert isinstance(value, int)
    assert str(value) == digits


def test_long_integers_compare_by_their_digits_and_hide_them() -> None:
    assert LongInteger("1" * 700) == LongInteger("1" * 700)
    assert hash(LongInteger("1" * 700)) == hash(LongInteger("1" * 700))
    assert LongInteger("1" * 700) != LongInteger("1" * 701)
    assert LongInteger("5") != 5
    assert repr(LongInteger("1" * 700)) == "LongInteger(700 characters)"


@pytest.mark.parametrize(
    ("value", "integer", "number"),
    [
        (1, True, True),
        (1.0, True, True),
        (1.5, False, True),
        (math.inf, False, True),
        (math.nan, False, True),
        (LongInteger("1" * 700), True, True),
        (True, False, False),
        ("1", False, False),
        (None, False, False),
        (MISSING, False, False),
    ],
)
def test_kinds_of_numbers(value: object, integer: bool, number: bool) -> None:
    assert (is_integer(value), is_number(value)) == (integer, number)


# --- depth ------------------------------------------------------------------------------------------------------------


def nested(depth: int, leaf: JsonValue = 1) -> JsonValue:
    for level in range(depth):
        leaf = [leaf] if level % 2 else {"a": leaf}
    return leaf


def test_the_limit_is_exact_and_the_same_for_both_readers() -> None:
    at_limit, beyond = json.dumps(nested(MAX_DEPTH)), json.dumps(nested(MAX_DEPTH + 1))
    assert read_json(at_limit).strict
    reading = read_json(beyond)
    assert kinds(reading) == ["too_deep"]
    assert reading.too_deep
    assert reading.value is MISSING
    careful = read_json(json.dumps(nested(MAX_DEPTH, math.nan)))
    assert kinds(careful) == ["not_a_number"]
    assert kinds(read_json(json.dumps(nested(MAX_DEPTH + 1, math.nan)))) == ["too_deep"]
    assert read_json("[[1]]", max_depth=2).strict
    assert read_json("[[1]]", max_depth=1).too_deep


def test_brackets_in_strings_and_side_by_side_are_not_deep() -> None:
    assert read_json(json.dumps(["[" * 1_000, {"{": '"[[['}] * 500)).strict
    assert read_json(json.dumps([[]] * 1_000)).strict


BOMBS = ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000, '[{"a":' * 50_000 + "1" + "}]" * 50_000]


@pytest.mark.parametrize("bomb", BOMBS, ids=range(len(BOMBS)))
def test_bombs(bomb: str) -> None:
    assert kinds(read_json(bomb)) == ["too_deep"]
    assert kinds(read_json(bomb.encode())) == ["too_deep"]


def test_reading_does_not_depend_on_the_callers_stack() -> None:
    text = json.dumps(nested(MAX_DEPTH))
    bomb = json.dumps(nested(MAX_DEPTH + 1))

    def from_depth(frames: int) -> tuple[bool, bool]:
        if frames:
            return from_depth(frames - 1)
        return read_json(text).strict, read_json(bomb).too_deep

    assert from_depth(sys.getrecursionlimit() - 250) == (True, True)


def test_a_syntax_fault_before_the_depth_is_a_syntax_fault() -> None:
    assert kinds(read_json("[}" + "[" * 1_000)) == ["syntax"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        '"' + '\\"' * 1_000_000,
        "[" * 300 + '"' + '\\"' * 1_000_000,
        "[" * 300 + '"' * 1_000_000,
        "[1." + "1" * 1_000_000 + ", NaN]",
        "[" + "1" * 3_000_000 + "]",
        " " * 3_000_000,
        "[" + "9" * 1_000_000 + "e9]",
    ],
    ids=["escaped quotes", "escaped quotes, deep", "quotes, deep", "fraction", "integer", "spaces", "exponent"],
)
def test_no_text_is_read_more_than_a_few_times(text: str) -> None:
    # Anything quadratic here takes hours.
    assert isinstance(read_json(text), JsonReading)


def test_faults_do_not_add_up() -> None:
    text = "[" + 'NaN, 1e999, "\\ud800", {"a":1,"a":1}, ' * 2_000 + "1]"
    assert sorted(kinds(read_json(text))) == ["duplicate_key", "lone_surrogate", "not_a_number", "out_of_range"]


# --- walking, writing -------------------------------------------------------------------------------------------------


def test_walk_goes_in_document_order() -> None:
    value: JsonValue = {"a": [1, {"b": None}], "c": {}}
    assert list(walk(value)) == [
        (1, value),
        (1, "a"),
        (2, [1, {"b": None}]),
        (2, 1),
        (3, {"b": None}),
        (3, "b"),
        (3, None),
        (1, "c"),
        (2, {}),
    ]
    assert list(walk("x")) == [(0, "x")]


@given(JSON_VALUES)
def test_a_strict_value_has_no_faults(value: JsonValue) -> None:
    assert faults_of_value(value) == ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["\ud800"], ["lone_surrogate"]),
        ({"\udfff": 1}, ["lone_surrogate"]),
        ([math.nan, "\ud800", math.inf], ["not_a_number", "lone_surrogate"]),
        (nested(MAX_DEPTH), []),
        (nested(MAX_DEPTH + 1), ["too_deep"]),
        (nested(100_000), ["too_deep"]),
    ],
)
def test_faults_of_values(value: JsonValue, expected: list[str]) -> None:
    assert [fault.kind for fault in faults_of_value(value)] == expected


@given(JSON_VALUES, st.booleans(), st.sampled_from([None, 0, 1, 4]))
def test_written_values_are_read_again(value: JsonValue, sort_keys: bool, indent: int | None) -> None:
    text = dump_json(value, sort_keys=sort_keys, indent=indent)
    assert canonical_of(read_json(text)) == canonical(value)
    assert not any(separator in text for separator in "\u2028\u2029")
    text.encode()


@given(JSON_VALUES, st.booleans(), st.sampled_from([None, 0, 1, 4]))
def test_both_writers_write_the_same(value: JsonValue, sort_keys: bool, indent: int | None) -> None:
    plain: JsonValue = [value, {"n": 1, "m": [value]}]
    long: JsonValue = [value, {"n": LongInteger("1" * 700), "m": [value]}]
    text = dump_json(long, sort_keys=sort_keys, indent=indent)
    assert text.replace("1" * 700, "1") == dump_json(plain, sort_keys=sort_keys, indent=indent)
    assert canonical(long).replace("1" * 700, "1") == canonical(plain)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, 1.5]}, '{"b":1,"a":[true,null,1.5]}'),
        ("é\u2028\u2029\ud800\u0007", '"é\\u2028\\u2029\\ud800\\u0007"'),
        ([], "[]"),
        ({"a": {}}, '{"a":{}}'),
    ],
)
def test_written_text(value: JsonValue, text: str) -> None:
    assert dump_json(value) == text


def test_written_text_with_sorted_names_and_indentation() -> None:
    value: JsonValue = {"b": [1, {}], "a": {"c": []}}
    expected = '{\n  "a": {\n    "c": []\n  },\n  "b": [\n    1,\n    {}\n  ]\n}'
    assert dump_json(value, sort_keys=True, indent=2) == expected


def test_lone_surrogates_survive_writing_and_reading() -> None:
    value: JsonValue = {"\udc00": ["\ud800", "\U0001f600"]}
    assert read_json(dump_json(value).encode()).value == value


@pytest.mark.parametrize("write", [dump_json, lambda value: dump_json([LongInteger("1" * 700), value])])
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_json_cannot_say_is_not_written(write: Callable[[JsonValue], str], number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write(number)


def test_deep_values_are_written_without_recursion() -> None:
    deep = nested(100_000)
    text = dump_json(deep)
    assert text == '[{"a":' * 50_000 + "1" + "}]" * 50_000
    assert canonical(deep) == text


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (1, 1.0, False),
        (1, True, False),
        (0, False, False),
        (0, "0", False),
        (None, "null", False),
        ([1, 2], [2, 1], False),
        (1.0, 1e0, True),
        (math.nan, math.nan, True),
        (math.inf, -math.inf, False),
        ("\ud800", "\ud800", True),
        (2**53, 2**53 + 1, False),
    ],
)
def test_canonical(left: JsonValue, right: JsonValue, same: bool) -> None:
    assert (canonical(left) == canonical(right)) is same


@given(JSON_VALUES, JSON_VALUES)
def test_equal_texts_mean_equal_values(left: JsonValue, right: JsonValue) -> None:
    if canonical(left) == canonical(right):
        assert left == right


def test_missing_is_false_and_one_of_its_kind() -> None:
    assert not MISSING
    assert read_json("").value is MISSING


def canonical_of(reading: JsonReading) -> str:
    assert reading.value is not MISSING
    return canonical(reading.value)
