"""Which resource lies within another, as far as URIs say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.privacy.values import Values
from mcp_wire.protocol.resource_uris import MAX_LENGTH, Resources, location


@pytest.mark.parametrize(
    ("asked", "uri", "covered"),
    [
        ("file:///project", "file:///project", True),
        ("file:///project", "file:///project/src/main.py", True),
        ("file:///project/", "file:///project/src", True),
        ("file:///project", "file:///project#part", True),
        ("file:///project", "FILE:///project/src", True),
        ("file:///my%20project", "file:///my project", None),
        ("file:///pr%6Fject", "file:///project/src", True),
        ("https://Host.example/a", "https://host.example/a/b?v=2", True),
        ("memo://a", "memo://a/b", True),
        ("file:///project", "file:///project-2/src", False),
        ("file:///project/src", "file:///project", False),
        ("file:///Project", "file:///project", False),
        ("https://host.example/a", "http://host.example/a", False),
        ("https://host.example:1/a", "https://host.example/a", False),
        ("memo://a", "memo://b", False),
        ("urn:isbn:1", "urn:isbn:1", True),
        ("urn:isbn:1", "urn:isbn:2", None),
        ("urn:isbn:1", "file:///project", None),
        ("file:///project", "urn:isbn:1", None),
        ("file:///project", "file:///project/../secret", None),
        ("", "file:///project", None),
    ],
)
def test_covers(asked: str, uri: str, covered: bool | None) -> None:
    assert Resources.of([asked]).covers(uri) is covered


def test_one_of_several_is_enough() -> None:
    resources = Resources.of(["urn:isbn:1", "file:///a", "file:///b"])
    assert resources.covers("file:///b/c") is True
    assert resources.covers("file:///c") is None
    assert Resources.of(["file:///a", "file:///b"]).covers("file:///c") is False


def test_huge_uris_are_opaque() -> None:
    assert location("file:///" + "a" * MAX_LENGTH) is None
    assert location("file:///" + "a/" * 64) is None
    assert location("file:///" + "a/" * 61) == ("file", "", "", *["a"] * 61)


_SEGMENTS = st.lists(st.sampled_from(["a", "b", "src", "mcp", "x%20y", "x y", "main.py", "", "é"]), max_size=4)
_URIS = st.one_of(
    st.builds(
        lambda scheme, host, path, query: f"{scheme}://{host}/{'/'.join(path)}{query}",
        st.sampled_from(["file", "https", "memo"]),
        st.sampled_from(["", "host.example", "localhost:3000"]),
        _SEGMENTS,
        st.sampled_from(["", "?q=1", "#x"]),
    ),
    st.sampled_from(["urn:isbn:1", "urn:isbn:2", "", "relative/path", "/absolute"]),
)


@given(st.lists(_URIS, max_size=4), _URIS)
def test_redaction_keeps_what_is_said(asked: list[str], uri: str) -> None:
    values = Values()
    redacted = [values.uri(one) for one in asked]
    assert Resources.of(redacted).covers(values.uri(uri)) is Resources.of(asked).covers(uri)
