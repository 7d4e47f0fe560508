"""Labels: equal for equal values, different for different ones, and nothing else of the value but what is said here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.privacy import labels as module
from mcp_wire.privacy.labels import Kind, Labels, is_label, is_number_label, is_strong_session_label
from mcp_wire.privacy.values import Values, is_product_name, is_product_version, looks_random
from mcp_wire.protocol.mirrored_headers import decode, has_invalid_characters, looks_like_sentinel, needs_encoding
from mcp_wire.wire.strict_json import LongInteger

TEXTS = st.one_of(
    st.text(max_size=20),
    st.text(alphabet="ab é\ufffd\ud800\0\n\t\x01-=?", max_size=8),
    st.builds(
        lambda kind, number, end: f"{kind}-{number}{end}",
        st.sampled_from(["session", "weak", "cursor", "redacted", "name", "id", "host"]),
        st.sampled_from(["A", "B", "AB", "1", "2", "3", "12", "007"]),
        st.sampled_from(["", " ", "é", "x"]),
    ),
    st.builds(lambda text: f"=?base64?{text}?=", st.text(alphabet="abcd=/+", max_size=8)),
    st.builds(lambda text: f"https://{text}", st.text(alphabet="ab./?&=#:@%4", max_size=12)),
)
NUMBERS = st.one_of(
    st.integers(-20, 20),
    st.integers(),
    st.floats(),
    st.integers(10**12, 10**12 + 9),
    st.integers(91 * 10**14, 91 * 10**14 + 9),
    st.builds(float, st.integers(10**12, 10**12 + 9)),
)


def test_labels_read_well() -> None:
    labels = Labels()
    assert labels.text("0123456789abcdef0123456789abcdef", "session") == "session-A"
    assert labels.text("fedcba9876543210fedcba9876543210", "session") == "session-B"
    assert labels.text("event-1", "cursor") == "cursor-1"
    assert labels.text("some text") == "redacted-1"
    assert labels.text("event-1") == "cursor-1"
    assert [labels.number(7), labels.number(7.0), labels.number(7.5)] == [10**12 + 1, 10.0**12 + 1, 10**12 + 2.5]
    assert isinstance(labels.number(7.0), float)


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("demo17", "weak-A"),
        ("demo 17", "weak A"),
        ("a session id that is long enough", "session A"),
        ("é0123456789abcdef", "session-Aé"),
        ("0123456789abcdef\ud800", "session-A\ud800"),
        ("", ""),
    ],
)
def test_a_session_id_keeps_its_faults(value: str, label: str) -> None:
    assert Labels().text(value, "session") == label


def test_a_faulty_session_id_that_was_seen_before() -> None:
    labels = Labels()
    assert [labels.text("demo17"), labels.text("0123456789abcdef")] == ["redacted-1", "redacted-2"]
    assert [labels.text("demo17", "session"), labels.text("0123456789abcdef", "session")] == ["weak-A", "redacted-2"]
    assert [labels.text("demo17"), labels.text("demo17", "session")] == ["redacted-1", "weak-A"]
    again = Labels()
    assert [again.text("redacted-1"), again.text("redacted-1", "session"), again.text("weak-A", "session")] == [
        "redacted-1",
        "redacted-1",
        "weak-A",
    ]


def test_strong_and_weak_labels_are_told_apart() -> None:
    assert is_strong_session_label("session-A")
    assert is_strong_session_label("redacted-7")
    assert not is_strong_session_label("weak-A")
    assert not is_strong_session_label("demo17")


@given(st.lists(TEXTS, max_size=12))
def test_equal_and_different_texts_stay_so(values: list[str]) -> None:
    labels = Values()
    shown = [labels.text(value) for value in values]
    for value, label in zip(values, shown, strict=True):
        for other, other_label in zip(values, shown, strict=True):
            if value == other:
                assert label == other_label
            elif not value.strip() or not other.strip() or "://" not in value + other:
                # Two URLs that differ in percent-encoding or in the case of a host may name one thing.
                assert label != other_label, (value, other)


@given(st.lists(TEXTS, max_size=12))
def test_labels_are_their_own_labels(values: list[str]) -> None:
    first, second = Values(), Values()
    once = [first.text(value) for value in values]
    assert [second.text(label) for label in once] == once


@given(TEXTS, st.sampled_from(["redacted", "session", "cursor", "name"]))
def test_a_label_is_as_well_formed_as_its_value(value: str, kind: module.Kind) -> None:
    label = Values().text(value, kind)
    assert needs_encoding(label) == needs_encoding(value)
    assert has_invalid_characters(label) == has_invalid_characters(value)
    assert looks_like_sentinel(label) == looks_like_sentinel(value)
    assert decode(label).encoded == decode(value).encoded
    assert (decode(label).text is None) == (decode(value).text is None)
    assert label.isascii() == value.isascii()
    assert bool(label.strip(" \t")) == bool(value.strip(" \t"))


@given(st.lists(NUMBERS, max_size=12))
def test_numbers_keep_type_equality_and_sign(values: list[float]) -> None:
    labels, again = Labels(), Labels()
    shown = [labels.number(value) for value in values]
    for value, label in zip(values, shown, strict=True):
        assert type(label) is type(value)
        if value == value:
            assert (label < 0) == (value < 0)
            assert float(label).is_integer() == float(value).is_integer()
            assert (abs(label) > 2**53 - 1) == (abs(value) > 2**53 - 1)
        for other, other_label in zip(values, shown, strict=True):
            assert (label == other_label) == (value == other)
    assert repr([again.number(label) for label in shown]) == repr(shown)


@given(
    st.lists(st.from_regex(r"-?[0-9]{1,3}(\.0{0,2})?(e[0-2])?", fullmatch=True), max_size=10), st.integers(-999, 999)
)
def test_texts_of_integers_meet_their_integers(texts: list[str], number: int) -> None:
    labels, again = Labels(), Labels()
    shown = [labels.integer_text(text) for text in texts]
    assert labels.integer_text(str(number)) == str(labels.number(number))
    assert [again.integer_text(text or "") for text in shown] == shown
    for text, label in zip(texts, shown, strict=True):
        for other, other_label in zip(texts, shown, strict=True):
            if label is not None and other_label is not None:
                assert (label == other_label) == (text == other)
                assert (float(label) == float(other_label)) == (float(text) == float(other))


def test_a_long_integer_gets_a_large_label() -> None:
    label = Labels().number(LongInteger("-" + "9" * 700))
    assert isinstance(label, int)
    assert label < -(2**53)


@given(st.lists(st.sampled_from(["session-A", "session-B", "x" * 20, "y" * 20, "z" * 20]), unique=True))
def test_a_label_in_the_traffic_is_no_one_elses(values: list[str]) -> None:
    labels = Labels()
    shown = [labels.text(value, "session") for value in values]
    assert len(set(shown)) == len(values)
    assert all(map(is_label, shown))


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_VALUES_REMEMBERED", 100)
    monkeypatch.setattr(module, "MAX_LABELS_RESERVED", 100)
    labels = Labels()
    seen = set()
    for number in range(1000):
        seen.add(labels.text(f"value {number}"))
        labels.text(f"redacted-{number + 5000}")
        assert labels.text("always in use") == labels.text("always in use")
    assert len(seen) == 1000
    assert len(labels._texts._young) + len(labels._texts._old) <= 100
    assert all(len(ordinals._reserved) <= 100 for ordinals in labels._ordinals.values())


def test_event_ids_and_names_of_tools_outlive_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_VALUES_REMEMBERED", 100)
    labels = Labels()
    kept: dict[str, Kind] = {"event 1": "cursor", "weigh_crates": "tool"}
    given = {text: labels.text(text, kind) for text, kind in kept.items()}
    assert given == {"event 1": "cursor-1", "weigh_crates": "tool-1"}
    for number in range(1000):
        labels.text(f"value {number}")
    assert {text: labels.text(text) for text in kept} == given


def test_is_number_label() -> None:
    assert is_number_label(10**12 + 1)
    assert is_number_label(-(10.0**12 + 3.5))
    assert not is_number_label(10**12)
    assert not is_number_label(10**12 + 0.25)
    assert not is_number_label(True)
    assert not is_number_label("1000000000001")


@pytest.mark.parametrize(
    "name", ["get_user_by_id", "convertCsvToJson", "sha256sum", "mcp__server__tool", "python-httpx", "Mozilla", "ls"]
)
def test_names_that_people_choose(name: str) -> None:
    assert not looks_random(name)


@pytest.mark.parametrize(
    "name",
    [
        "sk-proj-4f9aK2mQ7xLw8Zt3",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "550e8400-e29b-41d4-a716-446655440000",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9",
        "deadbeefdeadbeef",
        "user-4821937465",
    ],
)
def test_names_that_machines_make(name: str) -> None:
    assert looks_random(name)
    assert not is_product_name(name)


def test_product_versions() -> None:
    for version in ("1.22", "v2", "2.0.0-alpha.1", "1.0.0rc1", "20100101", "141.0.0.0"):
        assert is_product_version(version)
    for version in ("secret", "1.2-4f9aK2mQ", "1.2.3.4.5.6.7", ""):
        assert not is_product_version(version)


def test_labels_that_stand_in_a_text_keep_their_numbers() -> None:
    labels = Labels()
    labels.reserve('["redacted-1", "session-A", {"name-2": 1000000000001}, "http://host-1.example", "unredacted-2"]')
    assert labels.text("anything") == "redacted-2"
    assert labels.text("4f1a9d2e3f5b6a7c8d9e0011", "session") == "session-B"
    assert [labels.text(name, "name") for name in "ab"] == ["name-1", "name-3"]
    assert labels.number(5) == 1000000000002
    assert labels.text("host a", "host") == "host-2"
    assert labels.text("redacted-1") == "redacted-1"


def test_any_number_of_labels_stay_where_there_are_only_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LABELS_RESERVED", 10)
    labels = Labels()
    for number in [*range(1, 40), *range(1, 40)]:
        assert labels.text(f"redacted-{number}") == f"redacted-{number}"
    new = labels.text("anything")
    assert new not in {f"redacted-{number}" for number in range(1, 40)}
    assert labels.text("redacted-3") == "redacted-3"
