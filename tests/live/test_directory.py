from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_wire.live import directory as directory_module
from mcp_wire.live.directory import Closed, ConversationIdentity, Directory, Placed, Placement
from mcp_wire.protocol.meta_keys import META_VERSION
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.wire.observation import RequestSeen, ResponseChunk
from tests.live.mcp_traffic import (
    META,
    Clock,
    Exchange,
    Step,
    delete,
    exchange,
    in_turn,
    initialize,
    initialized,
    modern,
    tools_list,
)

NONE = "endpoint-1.no-session"


def run(steps: Iterable[Step], directory: Directory | None = None) -> list[Placement]:
    directory = directory or Directory()
    placements = [placed for step in steps for placed in directory.place(step.origin, step.observation)]
    return placements + directory.finish()


def homes(placements: Iterable[Placement]) -> dict[str, list[str]]:
    """Conversation label -> ids of its exchanges, in the order in which they reach it."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for placed in placements:
        if isinstance(placed, Placed) and isinstance(placed.observation, RequestSeen):
            found[placed.conversation.label].append(placed.observation.exchange)
    return dict(found)


def identities(placements: Iterable[Placement]) -> dict[str, ConversationIdentity]:
    return {placed.conversation.label: placed.conversation for placed in placements}


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("sse", [False, True])
def test_a_session_is_one_conversation_from_initialize_to_delete(version: str, sse: bool) -> None:
    header = None if version == "2025-03-26" else version
    placed = run(
        in_turn(
            initialize(version, minted="s", sse=sse, name="i"),
            initialized(version=header, session="s", connection="c-2", name="n"),
            tools_list(1, version=header, session="s", connection="c-3", name="t"),
            delete("s", version=header, connection="c-4", name="d"),
        )
    )
    label = f"stable-{version}.endpoint-1.session-1"
    assert homes(placed) == {label: ["i", "n", "t", "d"]}
    assert identities(placed)[label].complete_from_start


def test_the_initialize_reaches_its_conversation_as_soon_as_its_result_names_the_version() -> None:
    directory = Directory()
    steps = in_turn(initialize(minted="s", sse=True))
    reached = [len(directory.place(step.origin, step.observation)) for step in steps]
    # request, head, priming event | result | end
    assert reached == [0, 0, 0, 4, 1]


def test_a_session_joined_midway_takes_its_profile_from_the_header() -> None:
    placed = run(in_turn(tools_list(1, version="2025-06-18", session="s", name="t")))
    assert homes(placed) == {"stable-2025-06-18.endpoint-1.session-1": ["t"]}
    assert not identities(placed)["stable-2025-06-18.endpoint-1.session-1"].complete_from_start


def test_a_session_joined_midway_without_header_is_undetermined_until_a_header_names_a_version() -> None:
    placed = run(
        in_turn(
            tools_list(1, session="s", name="a"),
            tools_list(2, version="2025-06-18", session="s", name="b"),
            tools_list(3, session="s", name="c"),
        )
    )
    assert homes(placed) == {
        "undetermined.endpoint-1.session-1": ["a"],
        "stable-2025-06-18.endpoint-1.session-2": ["b", "c"],
    }


def test_a_known_session_outweighs_a_wrong_version_header() -> None:
    placed = run(
        in_turn(
            initialize("2025-06-18", minted="s", name="i"),
            tools_list(1, version="2025-11-25", session="s", name="a"),
            tools_list(2, version="2026-07-28", session="s", name="b"),
            tools_list(3, session="s", name="c"),
        )
    )
    assert homes(placed) == {"stable-2025-06-18.endpoint-1.session-1": ["i", "a", "b", "c"]}


def test_meta_outweighs_a_known_session() -> None:
    placed = run(in_turn(initialize(minted="s", name="i"), modern(1, session="s", name="m")))
    assert homes(placed) == {
        "stable-2025-11-25.endpoint-1.session-1": ["i"],
        f"stable-2026-07-28.{NONE}": ["m"],
    }


@pytest.mark.parametrize(
    ("meta", "header"),
    [
        ("2026-07-28", "2026-07-28"),
        ("2026-07-28", None),
        ("2026-07-28", "2025-11-25"),
        ("2025-11-25", "2026-07-28"),
        (None, "2026-07-28"),
    ],
)
def test_either_evidence_of_2026_07_28_leads_to_its_conversation(meta: str | None, header: str | None) -> None:
    named = None if meta is None else META | {META_VERSION: meta}
    placed = run(in_turn(modern(1, meta=named, version=header, name="m"), modern(2, connection="c-2", name="n")))
    assert homes(placed) == {f"stable-2026-07-28.{NONE}": ["m", "n"]}
    assert not identities(placed)[f"stable-2026-07-28.{NONE}"].complete_from_start


def test_a_stateless_client_on_one_connection_is_one_conversation_without_any_header() -> None:
    placed = run(
        in_turn(
            initialize("2025-03-26", name="i"),
            initialized(name="n"),
            tools_list(1, name="t"),
        )
    )
    assert homes(placed) == {f"stable-2025-03-26.{NONE}": ["i", "n", "t"]}
    assert identities(placed)[f"stable-2025-03-26.{NONE}"].complete_from_start


def test_the_only_client_of_an_endpoint_is_known_on_new_connections() -> None:
    first = [initialize("2025-03-26", name="i"), initialized(connection="c-2", name="n")]
    assert homes(run(in_turn(*first))) == {f"stable-2025-03-26.{NONE}": ["i", "n"]}
    stranger = tools_list(1, connection="c-3", agent="another/2", name="t")
    assert homes(run(in_turn(*first, stranger))) == {
        f"stable-2025-03-26.{NONE}": ["i", "n"],
        f"undetermined.{NONE}": ["t"],
    }
    # Somebody was here before: who is who cannot be said.
    joined = tools_list(7, agent="another/2", connection="c-9", name="o")
    assert homes(run(in_turn(joined, *first))) == {
        f"undetermined.{NONE}": ["o", "n"],
        f"stable-2025-03-26.{NONE}": ["i"],
    }


def test_another_client_of_a_stateless_server_does_not_join_the_first_one() -> None:
    placed = run(
        in_turn(
            initialize("2025-06-18", name="i"),
            tools_list(1, version="2025-06-18", name="a"),
            tools_list(1, version="2025-06-18", connection="c-2", agent="another/2", name="b"),
            initialize("2025-06-18", connection="c-3", agent="another/2", name="j"),
            tools_list(2, version="2025-06-18", connection="c-4", name="c"),
        )
    )
    assert homes(placed) == {
        f"stable-2025-06-18.{NONE}": ["i", "a", "c"],
        f"stable-2025-06-18.{NONE}-2": ["b", "j"],
    }
    assert not identities(placed)[f"stable-2025-06-18.{NONE}-2"].complete_from_start


def test_a_connection_that_carried_two_conversations_proves_nothing() -> None:
    placed = run(
        in_turn(
            initialize("2025-06-18", minted="s", name="i"),
            initialize("2025-06-18", minted="t", name="j"),
            tools_list(1, name="x"),
        )
    )
    assert homes(placed)[f"undetermined.{NONE}"] == ["x"]


def test_a_request_that_lost_its_session_id_belongs_to_the_session_of_its_connection() -> None:
    opening = initialize("2025-06-18", minted="s", name="i")
    lost = tools_list(1, version="2025-06-18", name="x")
    assert homes(run(in_turn(opening, lost))) == {"stable-2025-06-18.endpoint-1.session-1": ["i", "x"]}
    health_check = tools_list(1, version="2025-06-18", agent="kube-probe/1.30", name="x")
    assert homes(run(in_turn(opening, health_check)))[f"stable-2025-06-18.{NONE}"] == ["x"]


@pytest.mark.parametrize("minted", [None, "s"])
@pytest.mark.parametrize("named", ["2025-11-25", "2024-11-05", "banana", None])
def test_on_the_same_connection_a_wrong_version_header_changes_nothing(minted: str | None, named: str | None) -> None:
    placed = run(in_turn(initialize("2025-06-18", minted=minted, name="i"), tools_list(1, version=named, name="x")))
    assert list(homes(placed).values()) == [["i", "x"]]


def test_without_any_evidence_the_profile_is_undetermined() -> None:
    placed = run(in_turn(tools_list(1, name="a"), exchange(method="GET", status=405, connection="c-2", name="b")))
    assert homes(placed) == {f"undetermined.{NONE}": ["a", "b"]}


@pytest.mark.parametrize("status", [200, 400])
def test_a_refused_initialize_is_undetermined(status: int) -> None:
    error = {"jsonrpc": "2.0", "id": 0, "error": {"code": -32602, "message": "no"}}
    request = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
    placed = run(in_turn(exchange(request, status=status, answer=error, name="i")))
    assert homes(placed) == {f"undetermined.{NONE}": ["i"]}


def test_an_initialize_whose_result_was_never_seen_takes_the_version_its_session_names() -> None:
    cut = initialize(minted="s", sse=True, name="i")
    cut.steps = [*cut.steps[:2], cut.steps[-1]]
    later = tools_list(1, version="2025-11-25", session="s", name="t")
    overlapping = Clock().stamp([*cut.steps[:2], later.request, cut.steps[2], *later.answer])
    assert homes(run(overlapping)) == {"stable-2025-11-25.endpoint-1.session-1": ["i", "t"]}
    assert not identities(run(overlapping))["stable-2025-11-25.endpoint-1.session-1"].complete_from_start
    assert homes(run(in_turn(cut, later))) == {
        "undetermined.endpoint-1.session-1": ["i"],
        "stable-2025-11-25.endpoint-1.session-2": ["t"],
    }


@pytest.mark.parametrize(
    ("version", "profile"),
    [("2024-11-05", "stable-2024-11-05"), ("not a version", "unknown"), ("2026-07-28", "undetermined")],
)
def test_what_initialize_negotiates_outside_the_profiles(version: str, profile: str) -> None:
    placed = run(in_turn(initialize(version, minted="s", name="i"), tools_list(1, session="s", name="t")))
    assert homes(placed) == {f"{profile}.endpoint-1.session-1": ["i", "t"]}


def test_an_era_probe_and_its_fallback_are_two_conversations() -> None:
    probe = modern(1, status=400, name="p")
    placed = run(
        in_turn(probe, initialize(minted="s", name="i"), tools_list(1, version="2025-11-25", session="s", name="t"))
    )
    assert homes(placed) == {
        f"stable-2026-07-28.{NONE}": ["p"],
        "stable-2025-11-25.endpoint-1.session-1": ["i", "t"],
    }


def test_overlapping_initializes_keep_their_sessions_apart() -> None:
    one, two = initialize(minted="s", name="i"), initialize(minted="t", sse=True, name="j", connection="c-2")
    mixed = [step for pair in itertools.zip_longest(one.steps, two.steps) for step in pair if step is not None]
    later = in_turn(tools_list(1, session="t", name="b"), tools_list(1, session="s", name="a"))
    assert homes(run([*Clock().stamp(mixed), *later])) == {
        "stable-2025-11-25.endpoint-1.session-1": ["i", "a"],
        "stable-2025-11-25.endpoint-1.session-2": ["j", "b"],
    }


def test_what_carries_no_session_waits_for_a_pending_initialize_and_keeps_its_order() -> None:
    directory = Directory()
    opening = initialize("2025-06-18", name="i")
    running = tools_list(5, version="2025-06-18", connection="c-9", name="r")
    other = tools_list(1, version="2025-06-18", connection="c-2", name="o")
    steps = Clock().stamp([running.request, opening.request, other.request, *other.answer, *running.answer])
    assert [len(directory.place(step.origin, step.observation)) for step in steps] == [1] + [0] * 8
    released = [
        placed
        for step in Clock(2_000.0).stamp(opening.answer)
        for placed in directory.place(step.origin, step.observation)
        if isinstance(placed, Placed)
    ]
    assert {placed.conversation.label for placed in released} == {f"stable-2025-06-18.{NONE}"}
    times = [placed.observation.t_ms for placed in released]
    assert times == sorted(times, key=lambda t: t or 0) and len(times) == 11


def test_a_session_is_not_held_up_by_a_pending_sessionless_initialize() -> None:
    directory = Directory()
    for step in in_turn(initialize(minted="s")):
        directory.place(step.origin, step.observation)
    request = initialize("2025-06-18").request
    assert directory.place(request.origin, request.observation) == []
    busy = in_turn(tools_list(1, session="s"))
    assert [len(directory.place(step.origin, step.observation)) for step in busy] == [1, 1, 1, 1]


def test_a_reinitialization_with_a_dead_session_stays_where_its_cause_is() -> None:
    placed = run(
        in_turn(
            tools_list(5, version="2025-11-25", session="s", status=404, name="dead"),
            initialize(session="s", minted="t", name="again"),
            initialized(version="2025-11-25", session="t", name="n"),
        )
    )
    assert homes(placed) == {"stable-2025-11-25.endpoint-1.session-1": ["dead", "again", "n"]}


def test_a_reinitialization_under_another_version_opens_another_conversation() -> None:
    placed = run(
        in_turn(
            tools_list(5, version="2025-11-25", session="s", status=404, name="dead"),
            initialize("2025-06-18", session="s", minted="t", name="again"),
            initialized(version="2025-06-18", session="t", name="n"),
        )
    )
    assert homes(placed) == {
        "stable-2025-11-25.endpoint-1.session-1": ["dead", "again"],
        "stable-2025-06-18.endpoint-1.session-2": ["n"],
    }


def test_a_session_id_that_is_minted_twice_is_two_conversations() -> None:
    placed = run(
        in_turn(
            initialize(minted="s", name="i"),
            tools_list(1, session="s", name="a"),
            initialize(minted="s", connection="c-2", name="j"),
            tools_list(1, session="s", name="b"),
        )
    )
    assert homes(placed) == {
        "stable-2025-11-25.endpoint-1.session-1": ["i", "a"],
        "stable-2025-11-25.endpoint-1.session-2": ["j", "b"],
    }


def test_endpoints_share_nothing() -> None:
    other = "http://127.0.0.1:3000/other"
    placed = run(in_turn(initialize(minted="s", name="i"), tools_list(1, session="s", endpoint=other, name="t")))
    assert homes(placed) == {
        "stable-2025-11-25.endpoint-1.session-1": ["i"],
        "undetermined.endpoint-2.session-1": ["t"],
    }


@pytest.mark.parametrize("name", ["stable-2025-06-18", "stable-2026-07-28"])
def test_a_pinned_profile_holds_for_everything(name: str) -> None:
    placed = run(
        in_turn(initialize(minted="s"), tools_list(1, session="s"), modern(1), tools_list(1, connection="c-2")),
        Directory(PROFILES[name]),
    )
    assert {label.partition(".endpoint")[0] for label in homes(placed)} == {name}


def test_an_unanswered_initialize_releases_the_others_after_a_minute() -> None:
    directory = Directory()
    hanging = initialize("2025-06-18", name="i").request
    placed = directory.place(hanging.origin, replace(hanging.observation, t_ms=0.0))
    for minute, at in enumerate((30_000.0, 61_000.0)):
        one = tools_list(minute, version="2025-06-18", connection="c-2", name=f"t{minute}").request
        placed += directory.place(one.origin, replace(one.observation, t_ms=at))
    assert homes(placed) == {f"undetermined.{NONE}": ["i"], f"stable-2025-06-18.{NONE}": ["t0", "t1"]}
    assert len(directory.limits) == 1 and "60 s" in directory.limits[0]


def test_waiting_is_bounded_by_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, "MAX_WAITING_OBSERVATIONS", 10)
    directory = Directory()
    opening = initialize("2025-06-18", sse=True, name="i")
    silence = Step(opening.request.origin, ResponseChunk("i", None, b": still here\n\n"))
    steps = [opening.request, opening.answer[0], *[silence] * 10]
    assert [len(directory.place(step.origin, step.observation)) for step in steps] == [0] * 10 + [11, 1]
    assert len(directory.limits) == 1


def test_waiting_is_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, "MAX_WAITING_BYTES", 100_000)
    directory = Directory()
    opening = initialize("2025-06-18", name="i").request
    large = exchange({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"t": "y" * 60_000}}, name="a")
    larger = exchange({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"t": "y" * 60_000}}, name="b")
    steps = [opening, large.request, larger.request]
    assert [len(directory.place(step.origin, step.observation)) for step in steps] == [0, 0, 3]
    assert len(directory.limits) == 1


def test_the_quietest_conversation_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, "MAX_CONVERSATIONS", 2)
    placed = run(
        in_turn(
            initialize(minted="a", name="a1"),
            initialize(minted="b", name="b1"),
            tools_list(1, session="a", name="a2"),
            initialize(minted="c", name="c1"),
            tools_list(1, session="b", version="2025-11-25", name="b2"),
        )
    )
    closed = [one.conversation.label for one in placed if isinstance(one, Closed)]
    assert closed[0] == "stable-2025-11-25.endpoint-1.session-2"
    assert homes(placed)["stable-2025-11-25.endpoint-1.session-4"] == ["b2"]
    assert not identities(placed)["stable-2025-11-25.endpoint-1.session-4"].complete_from_start


def test_unknown_versions_are_bounded() -> None:
    calls = [tools_list(1, version=f"20{year}-01-01", name=str(year)) for year in range(40, 90)]
    found = homes(run(in_turn(*calls)))
    assert len(found) == directory_module.MAX_UNKNOWN_VERSIONS + 1
    assert len(found[f"unknown.{NONE}"]) == len(calls) - directory_module.MAX_UNKNOWN_VERSIONS


def test_open_exchanges_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, "MAX_OPEN_EXCHANGES", 3)
    directory = Directory()
    for number in range(5):
        request = tools_list(number, version="2025-06-18").request
        directory.place(request.origin, request.observation)
    assert len(directory.limits) == 1
    assert len(homes(directory.finish())) == 0


# Properties


@st.composite
def traffic(draw: st.DrawFn) -> list[Step]:
    """Several clients of several kinds, their exchanges overlapping at random, each exchange in its own order."""
    lines: list[list[Exchange]] = []
    for number in range(draw(st.integers(1, 4))):
        connection = f"c-{number}"
        version = draw(st.sampled_from(["2025-03-26", "2025-06-18", "2025-11-25"]))
        header = None if version == "2025-03-26" else version
        sse = draw(st.booleans())
        kind = draw(st.sampled_from(["session", "stateless", "modern", "midway", "silent"]))
        many = draw(st.integers(0, 3))
        session = f"s-{number}" if kind in ("session", "midway") else None
        calls = [
            tools_list(n, sse=sse, version=header, session=session, connection=connection) for n in range(1, many + 1)
        ]
        match kind:
            case "session" | "stateless":
                lines.append([initialize(version, minted=session, sse=sse, connection=connection), *calls])
            case "midway":
                lines.append(calls)
            case "modern":
                lines.append([modern(n, connection=connection) for n in range(many + 1)])
            case _:
                hanging = initialize(version, connection=connection)
                lines.append([Exchange(hanging.steps[:1]), *calls])
    queues = [[step for one in line for step in one.steps] for line in lines]
    mixed: list[Step] = []
    while any(queues):
        line = draw(st.sampled_from([index for index, queue in enumerate(queues) if queue]))
        for _ in range(draw(st.integers(1, 3))):
            if queues[line]:
                mixed.append(queues[line].pop(0))
    return Clock().stamp(mixed)


@given(traffic())
def test_nothing_is_lost_doubled_or_reordered(steps: list[Step]) -> None:
    placed = [one for one in run(steps) if isinstance(one, Placed)]
    assert sorted(one.observation.t_ms or 0 for one in placed) == [step.observation.t_ms for step in steps]
    by_conversation: defaultdict[str, list[float]] = defaultdict(list)
    by_exchange: defaultdict[str, set[str]] = defaultdict(set)
    for one in placed:
        by_conversation[one.conversation.label].append(one.observation.t_ms or 0)
        by_exchange[one.observation.exchange].add(one.conversation.label)
    assert all(times == sorted(times) for times in by_conversation.values())
    assert all(len(labels) == 1 for labels in by_exchange.values())


@given(traffic())
def test_the_same_traffic_is_placed_in_the_same_way(steps: list[Step]) -> None:
    def told(placements: list[Placement]) -> list[tuple[str, float | None]]:
        return [(p.conversation.label, p.observation.t_ms) for p in placements if isinstance(p, Placed)]

    assert told(run(steps)) == told(run(steps))


@given(traffic())
def test_sessions_never_mix(steps: list[Step]) -> None:
    for one in run(steps):
        if isinstance(one, Placed) and isinstance(one.observation, RequestSeen):
            named = one.observation.headers.get("mcp-session-id")
            if named is not None:
                assert one.conversation.session == named
