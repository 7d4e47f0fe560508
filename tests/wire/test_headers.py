"""Header lines: kept as they were, found without regard to case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.wire.headers import NO_HEADERS, SINGLETONS, Headers, field_name

LINES = (
    ("Accept", "application/json"),
    ("Mcp-Session-Id", "  s-1\t"),
    ("accept", "text/event-stream"),
    ("X-Empty", ""),
)


def test_lines_stay_as_they_were() -> None:
    headers = Headers(LINES)
    assert headers.raw == LINES
    assert list(headers) == list(LINES)
    assert len(headers) == 4


def test_values_are_found_in_any_case_and_without_surrounding_whitespace() -> None:
    headers = Headers(LINES)
    assert headers.get("MCP-SESSION-ID") == "s-1"
    assert headers.get("accept") == "application/json"
    assert headers.all("ACCEPT") == ("application/json", "text/event-stream")
    assert headers.joined("Accept") == "application/json, text/event-stream"
    assert headers.names() == ("accept", "mcp-session-id", "x-empty")


def test_an_empty_field_is_there_and_an_absent_one_is_not() -> None:
    headers = Headers(LINES)
    assert (headers.get("x-empty"), headers.joined("x-empty"), "X-EMPTY" in headers) == ("", "", True)
    assert (headers.get("x-none"), headers.joined("x-none"), "x-none" in headers) == (None, None, False)
    assert headers.all("x-none") == ()
    assert 7 not in headers


def test_only_space_and_tab_surround_a_value() -> None:
    assert Headers([("A", "\u00a0v\x0b ")]).get("a") == "\u00a0v\x0b"


def test_repetition() -> None:
    headers = Headers([("MCP-Protocol-Version", "a"), ("mcp-protocol-version", "b"), *LINES])
    assert headers.repeated("Mcp-Protocol-Version")
    assert headers.repeated("accept")
    assert not headers.repeated("mcp-session-id")
    assert not headers.repeated("x-none")
    assert headers.repeated_singletons() == ("mcp-protocol-version",)
    assert headers.get("mcp-protocol-version") == "a"


@pytest.mark.parametrize("name", ["Accept", "Set-Cookie", "Cache-Control", "Vary", "Mcp-Param-Region"])
def test_lists_may_repeat(name: str) -> None:
    assert Headers([(name, "a"), (name, "b")]).repeated_singletons() == ()


def test_singletons_are_lower_case() -> None:
    assert all(name == field_name(name) for name in SINGLETONS)


def test_an_object_remembers_that_two_spellings_clash() -> None:
    headers = Headers.from_object({"Content-Type": "a", "X": "1", "content-type": "a", "x": "2", "Accept": "b"})
    assert headers.clashes == ("content-type", "x")
    assert headers.all("content-type") == ("a", "a")
    assert Headers.from_object({"Accept": "a"}).clashes == ()
    assert Headers([("X", "1"), ("x", "2")]).clashes == ()


def test_no_other_letter_poses_as_an_ascii_one() -> None:
    headers = Headers([("\u212aeep-Alive", "x"), ("\u0130d", "y")])
    assert headers.get("keep-alive") is None
    assert headers.get("\u212aEEP-ALIVE") == "x"
    assert headers.get("id") is None


def test_immutable_and_equal_by_lines() -> None:
    headers = Headers(LINES)
    with pytest.raises(AttributeError):
        headers.raw = ()
    with pytest.raises(AttributeError):
        del headers.raw
    assert headers == Headers(list(LINES))
    assert hash(headers) == hash(Headers(list(LINES)))
    assert headers != Headers(reversed(LINES))
    assert headers != LINES
    assert NO_HEADERS.raw == ()


def test_a_repr_shows_no_value() -> None:
    assert repr(Headers([("Authorization", "Bearer secret")])) == "Headers(Authorization)"


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5))))
def test_every_line_is_found_again(lines: list[tuple[str, str]]) -> None:
    headers = Headers(lines)
    assert headers.raw == tuple(lines)
    assert sum(len(headers.all(name)) for name in headers.names()) == len(lines)
    for name, value in lines:
        assert value.strip(" \t") in headers.all(name.swapcase() if name.isascii() else name)
        assert name in headers
