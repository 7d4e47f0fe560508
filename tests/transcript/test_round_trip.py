"""What is written is what is read: times, order and bytes."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.transcript.assembly import assemble
from mcp_wire.transcript.journal import JournalHeader, decode, encode
from mcp_wire.transcript.reading import observations, read_document
from mcp_wire.transcript.writing import transcript_text
from mcp_wire.wire.observation import Observation
from tests.transcript.strategies import captures, json_values, words

HEADER = JournalHeader("stable-2025-11-25", {"client": {"name": "c"}}, complete_from_start=True)
headers = st.builds(
    JournalHeader,
    st.sampled_from([*PROFILES, "undetermined"]),
    st.dictionaries(words, json_values, max_size=2),
    st.booleans(),
)


@given(captures)
def test_a_written_transcript_tells_the_same_observations(seen: list[Observation]) -> None:
    document = read_document(transcript_text(HEADER, seen))
    assert observations(document) == seen


@given(captures)
def test_writing_what_was_read_gives_the_same_bytes(seen: list[Observation]) -> None:
    text = transcript_text(HEADER, seen)
    assert text == transcript_text(HEADER, list(seen))
    assert transcript_text(HEADER, observations(read_document(text))) == text


@given(headers, captures)
def test_a_journal_becomes_the_same_transcript(header: JournalHeader, seen: list[Observation]) -> None:
    lines = [encode(JournalHeader()), *[encode(one) for one in seen], encode(header)]
    assert [decode(line) for line in lines] == [JournalHeader(), *seen, header]
    parts: list[str] = []
    journal = io.BytesIO("".join(f"{line}\n" for line in lines).encode())
    assemble(journal, parts.append)
    assert "".join(parts) == transcript_text(header, seen)


@given(captures, st.integers(0, 2_000))
def test_a_torn_journal_still_becomes_a_readable_transcript(seen: list[Observation], cut: int) -> None:
    lines = [encode(HEADER), *[encode(one) for one in seen]]
    whole = "".join(f"{line}\n" for line in lines).encode()
    kept = whole[: max(len(encode(HEADER)), len(whole) - cut)]
    parts: list[str] = []
    count = assemble(io.BytesIO(kept), parts.append)
    document = read_document("".join(parts))
    assert document.profile == HEADER.profile
    assert len(document.exchanges) == count
    complete = [decode(line) for line in kept.split(b"\n")[1:]]
    whole_records = [record for record in complete if record is not None]
    assert whole_records == seen[: len(whole_records)]
    assert [one for one in observations(document) if one in whole_records] == whole_records
