"""Caching hints of 2026-07-28."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.talk import Json, Modern, found, modern, outcome, tool


def listed(talk: Modern, scope: Any = "public", ttl: Any = 0, cursor: Any = None, next: Any = None,
           **members: Any) -> Modern:  # fmt: skip
    result: Json = {"tools": members.pop("tools", []), "ttlMs": ttl, "cacheScope": scope}
    result |= {} if next is None else {"nextCursor": next}
    return talk.ask("tools/list", {} if cursor is None else {"cursor": cursor}, result=result, **members)


@pytest.mark.parametrize(
    ("ttl", "level"),
    [(0, None), (300000, None), (300000.0, None), (1e300, None), (10**400, None), (0.5, "warning"), (-1, "error"),
     (-0.5, "error"), (-(10**400), "error"), ("60", "error"), (True, "error"), (None, "error")],
)  # fmt: skip
def test_ttl(ttl: Any, level: str | None) -> None:
    expected = [] if level is None else [f"cache_hints_invalid {level} /exchanges/0/response/body"]
    assert found(listed(modern(), ttl=ttl), "cache_hints_invalid") == expected


@pytest.mark.parametrize("scope", ["Public", "", None, 1, ["public"]])
def test_scope(scope: Any) -> None:
    assert found(listed(modern(), scope), "cache_hints_invalid") == [
        "cache_hints_invalid error /exchanges/0/response/body"
    ]


def test_what_owes_no_hints() -> None:
    talk = modern().list().call()
    talk.ask(error={"code": -32603, "message": "?"})
    talk.ask("prompts/get", {"name": "review"}, result={"messages": []})
    talk.ask("com.example/list", result={"things": []})
    talk.call(result={"resultType": "input_required", "requestState": "s"})
    assert found(talk, "cache_hints_invalid") == []


def test_a_transcript_cut_by_hand_proves_no_absence() -> None:
    assert found(modern(shape=False).ask(result={"tools": []}), "cache_hints_invalid") == []


def test_a_chain_is_judged_page_by_page() -> None:
    talk = listed(listed(listed(modern(), "private", next="2"), "public", cursor="2", next="3"), "public", cursor="3")
    assert found(talk, "cache_scope_inconsistent") == ["cache_scope_inconsistent error /exchanges/1/response/body"]


def test_another_scope_for_a_new_chain_is_legal() -> None:
    talk = listed(listed(modern(), "public", next="p-2"), "public", cursor="p-2")
    listed(listed(talk, "private", next="q-2"), "private", cursor="q-2")
    assert found(talk, "cache_scope_inconsistent") == []


def test_a_cursor_that_two_chains_gave_links_nothing() -> None:
    talk = listed(listed(modern(), "public", next="2"), "private", next="2")
    listed(listed(talk, "public", cursor="2"), "private", cursor="2")
    assert found(talk, "cache_scope_inconsistent") == []
    assert outcome(talk, "cache_scope_inconsistent") == "not_observed"


def test_chains_of_other_credentials_and_lists_are_apart() -> None:
    talk = listed(modern(), "public", next="2", headers={"Authorization": "Bearer a"})
    listed(talk, "private", cursor="2", headers={"Authorization": "Bearer b"})
    talk.ask("prompts/list", {"cursor": "2"}, result={"prompts": [], "ttlMs": 0, "cacheScope": "private"},
             headers={"Authorization": "Bearer a"})  # fmt: skip
    assert found(talk, "cache_scope_inconsistent") == []


def turns(*names: str, apart: float = 1_000, ttl: int = 60_000, scope: str = "public") -> Modern:
    talk = modern()
    for number, name in enumerate(names):
        members: Json = {"at": number * apart, "until": number * apart + 1}
        members["headers"] = {"Authorization": f"Bearer {number % 2}"}
        listed(talk, scope, ttl, tools=[tool(one) for one in name], **members)
    return talk


CODE = "public_cache_varies_by_auth"


def test_results_that_go_with_the_credentials() -> None:
    assert found(turns("a", "b", "a", "b"), CODE) == [f"{CODE} warning /exchanges/3/response/body"]


@pytest.mark.parametrize(
    "talk",
    [
        turns("a", "b", "b", "b"),
        turns("a", "b", "a"),
        turns("a", "b", "c", "d"),
        turns("ab", "ba", "ab", "ba"),
        turns("a", "b", "a", "b", scope="private"),
        turns("a", "b", "a", "b", ttl=500),
        turns("a", "b", "a", "b", ttl=0),
    ],
    ids=["changed once", "too few", "changes always", "order", "private", "stale", "never fresh"],
)
def test_results_that_just_change(talk: Modern) -> None:
    assert found(talk, CODE) == []


def test_without_times_nothing_is_compared() -> None:
    talk = turns("a", "b", "a", "b")
    for exchange in talk.exchanges:
        del exchange["started_ms"], exchange["ended_ms"]
    assert outcome(talk, CODE) == "not_observed"
