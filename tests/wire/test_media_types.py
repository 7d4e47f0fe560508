"""Content-Type and Accept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.wire.media_types import accept_lists, charset, essence

JSON = "application/json"
SSE = "text/event-stream"


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (None, None),
        ("", None),
        ("application/json", JSON),
        (" Text/Event-Stream ; charset=utf-8", SSE),
        ("text/event-stream;", SSE),
        ("application/problem+json", "application/problem+json"),
        ("json", None),
        ("application/", None),
        ("/json", None),
        ("application / json", None),
        ("application/json, text/html", None),
        ("application/json text", None),
        ("; charset=utf-8", None),
        ("applicat\u0130on/json", None),
    ],
)
def test_essence(content_type: str | None, expected: str | None) -> None:
    assert essence(content_type) == expected


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (None, None),
        ("application/json", None),
        ("application/json; charset=UTF-8", "utf-8"),
        ('application/json ; CharSet="Latin\\-1"', "latin-1"),
        ('a/b; x="; charset=wrong"; charset=right', "right"),
        ("a/b; charset=one; charset=two", "one"),
        ("a/b; charset", None),
        ("a/b; charset=", ""),
    ],
)
def test_charset(content_type: str | None, expected: str | None) -> None:
    assert charset(content_type) == expected


@pytest.mark.parametrize(
    ("accept", "json", "sse"),
    [
        (None, False, False),
        ("", False, False),
        ("application/json, text/event-stream", True, True),
        ("text/event-stream,application/json", True, True),
        ("application/json", True, False),
        ("text/event-stream", False, True),
        # Wildcards list nothing.
        ("*/*", False, False),
        ("application/*, text/*", False, False),
        # Case, whitespace, empty members, other parameters.
        ("APPLICATION/JSON , Text/Event-Stream", True, True),
        (",, application/json,\t,text/event-stream ,", True, True),
        ("application/json; charset=utf-8, text/event-stream; v=1", True, True),
        ("application/json-seq, text/event-streams", False, False),
        ("application/json text/event-stream", False, False),
        # Weights.
        ("application/json;q=0, text/event-stream;q=0.0", False, False),
        ("application/json;q=0.001, text/event-stream;q=1.000", True, True),
        ("application/json;q=0., text/event-stream;q=1.", False, True),
        ("application/json ; Q=0.5, text/event-stream; q=0.000", True, False),
        ("application/json;q=1.001, text/event-stream;q=2", False, False),
        ("application/json;q=0.1234, text/event-stream;q=-1", False, False),
        ("application/json;q=, text/event-stream;q", False, False),
        ("application/json;q = 0.5, text/event-stream;q=high", False, False),
        ('application/json;q="0.5", text/event-stream;q=\u0661', False, False),
        ("application/json;v=1;q=0, text/event-stream;v=1;q=0.5", False, True),
        ("application/json;q=0.5;q=0, text/event-stream;q=0;q=0.5", True, False),
        # The same type twice: one that counts is enough.
        ("application/json;q=0, application/json, text/event-stream;q=x, text/event-stream;q=0.1", True, True),
        # A separator inside a quoted string separates nothing.
        ('application/json;x="a,b;q=0", text/event-stream;x="\\",;q=0"', True, True),
        ('text/html;x=", application/json", text/event-stream', False, True),
        ('text/html;x="never closed, application/json, text/event-stream', False, False),
        ('text/html;x="\\\\", application/json', True, False),
    ],
)
def test_accept(accept: str | None, json: bool, sse: bool) -> None:
    assert (accept_lists(accept, JSON), accept_lists(accept, SSE)) == (json, sse)


def test_the_type_asked_for_may_be_written_in_any_case() -> None:
    assert accept_lists("application/json", "Application/JSON")


@given(st.text(alphabet='aq/*;,="\\ .01\t', max_size=40))
def test_total_and_never_listing_what_is_not_there(accept: str) -> None:
    assert not accept_lists(accept, JSON)
    assert accept_lists(f"{JSON},{accept}", JSON)


MEMBERS = st.lists(
    st.tuples(
        st.sampled_from([JSON, SSE, "*/*", "text/html"]),
        st.sampled_from([("", True), (";q=0", False), (";q=0.3", True), (";q=1.5", False), (';x=",;q=0"', True)]),
    ),
    max_size=5,
)


@given(MEMBERS)
def test_a_type_is_listed_when_one_of_its_members_counts(members: list[tuple[str, tuple[str, bool]]]) -> None:
    accept = ", ".join(media_type + parameters for media_type, (parameters, _) in members)
    for wanted in (JSON, SSE):
        assert accept_lists(accept, wanted) is any(
            media_type == wanted and counts for media_type, (_, counts) in members
        )
