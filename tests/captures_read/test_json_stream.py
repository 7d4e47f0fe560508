"""JSON that is walked, whatever its size and wherever its blocks end."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.captures import json_stream
from mcp_wire.captures.json_stream import DamagedJson, JsonStream

texts = st.text(st.sampled_from('ab"\\{}[],:é\n\u2028😀 '), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
members = st.dictionaries(texts, values, max_size=4)


@pytest.fixture(autouse=True, params=[1, 7, 256 * 1024])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "BLOCK_OCTETS", request.param)


def stream_of(value: Any, indent: int | None = None, ascii: bool = True) -> tuple[JsonStream, bytes]:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii).encode()
    return JsonStream(io.BytesIO(text)), text


@given(members, st.sampled_from([None, 1]), st.booleans())
def test_members_are_those_that_json_has(value: dict[str, Any], indent: int | None, ascii: bool) -> None:
    stream, _ = stream_of(value, indent, ascii)
    read = {name: json.loads(stream.take(10**6) or b"") for name in stream.members()}
    assert read == value
    assert stream.next() is None


@given(st.lists(values, max_size=5), st.sampled_from([None, 1]))
def test_items_and_where_they_stand(value: list[Any], indent: int | None) -> None:
    stream, text = stream_of(value, indent)
    items = [(stream.offset, stream.take(10**6) or b"") for _ in stream.items()]
    assert [json.loads(item) for _, item in items] == value
    assert all(text[offset : offset + len(item)] == item for offset, item in items)
    assert all(JsonStream(io.BytesIO(text), offset).take(10**6) == item for offset, item in items)


@given(members, st.data())
def test_what_is_skipped_is_passed_over(value: dict[str, Any], data: st.DataObject) -> None:
    stream, _ = stream_of(value)
    for name in stream.members():
        if data.draw(st.booleans()):
            stream.skip()
        else:
            assert json.loads(stream.take(10**6) or b"") == value[name]
    assert stream.next() is None


@given(members.filter(bool), st.data())
def test_a_text_that_breaks_off_is_damaged(value: dict[str, Any], data: st.DataObject) -> None:
    _, text = stream_of(value)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    stream = JsonStream(io.BytesIO(cut))
    with pytest.raises(DamagedJson) as damage:
        for _ in stream.members():
            stream.skip()
    assert 0 <= damage.value.offset <= len(cut)


@given(st.binary(max_size=40))
def test_anything_is_walked_or_damaged(data: bytes) -> None:
    stream = JsonStream(io.BytesIO(data))
    try:
        for _ in stream.members():
            stream.skip()
    except DamagedJson:
        return


@pytest.mark.parametrize(
    "text", [b"[1}", b"[[1]}", b'{"a": [}', b'{"a" 1}', b"{1: 2}", b'{"a": }', b'{"a": 1,}', b"[,]"]
)
def test_what_is_no_json_is_damaged(text: bytes) -> None:
    stream = JsonStream(io.BytesIO(text))
    with pytest.raises(DamagedJson):
        for _ in stream.members() if text.startswith(b"{") else stream.items():
            stream.skip()


def test_a_value_that_is_too_large_is_skipped() -> None:
    stream, _ = stream_of(["x" * 1000, {"a": ["y" * 1000]}, 1])
    assert [stream.take(100) for _ in stream.items()] == [None, None, b"1"]


def test_what_is_taken_is_kept_and_nothing_else() -> None:
    stream, _ = stream_of({"a": "x" * 10 * json_stream.BLOCK_OCTETS, "b": 1})
    most = 0
    for name in stream.members():
        if name == "b":
            assert stream.take(10) == b"1"
        else:
            stream.skip()
        most = max(most, len(stream._buffer))
    assert most <= 2 * json_stream.BLOCK_OCTETS
