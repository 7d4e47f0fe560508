"""The method tables against the official ones, and what each message needs declared."""

from __future__ import annotations

from typing import Any

import mcp_types.methods as official
import pytest

from mcp_wire.protocol.methods import (
    INPUT_REQUEST_METHODS,
    LISTEN_FILTERS,
    Capability,
    Party,
    declares,
    input_request_capabilities,
    is_defined_anywhere,
    method_of,
    methods_of,
    other_party,
    required_capabilities,
    revisions_of,
)
from mcp_wire.protocol.profiles import ALL_REVISIONS, R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28
from mcp_wire.wire.strict_json import JsonValue

TASKS = {"tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "notifications/tasks/status"}


@pytest.mark.parametrize("revision", ALL_REVISIONS)
@pytest.mark.parametrize(
    ("sender", "kind", "table"),
    [
        ("client", "request", official.CLIENT_REQUESTS),
        ("client", "notification", official.CLIENT_NOTIFICATIONS),
        ("server", "request", official.SERVER_REQUESTS),
        ("server", "notification", official.SERVER_NOTIFICATIONS),
    ],
)
def test_the_same_methods_as_the_official_tables(revision: str, sender: Party, kind: str, table: Any) -> None:
    ours = {method.name for method in methods_of(revision) if method.sender == sender and method.kind == kind}
    theirs = {name for name, version in table if version == revision}
    # The official tables leave tasks out on purpose; schema.ts of 2025-11-25 has them for both parties.
    assert ours - TASKS == theirs
    assert bool(ours & TASKS) is (revision == R2025_11_25)


@pytest.mark.parametrize("revision", ALL_REVISIONS)
def test_the_same_results_as_the_official_tables(revision: str) -> None:
    for method in methods_of(revision):
        table: Any = official.SERVER_RESULTS if method.sender == "client" else official.CLIENT_RESULTS
        theirs = table.get((method.name, revision))
        if theirs is None:
            assert method.kind == "notification" or method.name in TASKS
            continue
        names = {getattr(arm, "__name__", "") for arm in getattr(theirs, "__args__", (theirs,))}
        names = {"EmptyResult" if name == "Result" else name for name in names}
        assert names == {method.result} | ({"InputRequiredResult"} if method.interim else set())


def test_cacheable_and_interim_methods_are_those_of_the_official_tables() -> None:
    assert {method.name for method in methods_of(R2026_07_28) if method.cacheable} == set(official.CACHEABLE_METHODS)
    assert {method.name for method in methods_of(R2026_07_28) if method.interim} == set(official.INPUT_REQUIRED_METHODS)
    for revision in (R2025_03_26, R2025_06_18, R2025_11_25):
        assert not any(method.cacheable or method.interim for method in methods_of(revision))


def test_what_mcp_name_mirrors() -> None:
    mirrored = {method.name: method.name_member for method in methods_of(R2026_07_28) if method.name_member}
    assert mirrored == {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
    assert not any(method.name_member for method in methods_of(R2025_11_25))


def test_paginated_methods() -> None:
    assert {method.name for method in methods_of(R2025_11_25) if method.paginated} == {
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "tools/list",
        "tasks/list",
    }


@pytest.mark.parametrize(
    ("name", "sender", "revisions"),
    [
        ("initialize", None, (R2025_03_26, R2025_06_18, R2025_11_25)),
        ("initialize", "server", ()),
        ("ping", "server", (R2025_03_26, R2025_06_18, R2025_11_25)),
        ("server/discover", None, (R2026_07_28,)),
        ("elicitation/create", "server", (R2025_06_18, R2025_11_25)),
        ("elicitation/create", "client", ()),
        ("tasks/get", "client", (R2025_11_25,)),
        ("notifications/progress", "client", (R2025_03_26, R2025_06_18, R2025_11_25)),
        ("notifications/progress", "server", ALL_REVISIONS),
        ("notifications/elicitation/complete", None, (R2025_11_25,)),
        ("tools/call", None, ALL_REVISIONS),
        ("vendor/thing", None, ()),
    ],
)
def test_revisions(name: str, sender: Party | None, revisions: tuple[str, ...]) -> None:
    assert revisions_of(name, sender) == revisions
    if sender is None:
        assert is_defined_anywhere(name) is bool(revisions)


def test_methods_know_both_parties() -> None:
    method = method_of(R2025_11_25, "server", "roots/list")
    assert method is not None
    assert (method.sender, method.receiver) == ("server", "client")
    assert other_party("client") == "server"
    assert method_of(R2025_11_25, "client", "roots/list") is None
    assert method_of("1999-01-01", "client", "ping") is None


# --- capabilities -----------------------------------------------------------------------------------------------------


def shown(capabilities: tuple[Capability, ...]) -> list[str]:
    return [f"{capability.owner}:{capability}" for capability in capabilities]


@pytest.mark.parametrize(
    ("revision", "sender", "name", "params", "needed"),
    [
        (R2025_11_25, "client", "initialize", {}, []),
        (R2025_11_25, "client", "ping", None, []),
        (R2025_11_25, "client", "tools/call", {"name": "x"}, ["server:tools"]),
        (R2025_11_25, "client", "tools/call", {"task": {}}, ["server:tools", "server:tasks.requests.tools.call"]),
        (R2025_06_18, "client", "tools/call", {"task": {}}, ["server:tools"]),
        (R2025_03_26, "client", "completion/complete", {}, ["server:completions"]),
        (R2025_03_26, "client", "resources/subscribe", {}, ["server:resources.subscribe"]),
        (R2025_11_25, "client", "tasks/list", {}, ["server:tasks.list"]),
        (R2025_11_25, "server", "tasks/cancel", {}, ["client:tasks.cancel"]),
        (R2025_11_25, "server", "notifications/tasks/status", {}, ["server:tasks"]),
        (R2025_03_26, "server", "roots/list", {}, ["client:roots"]),
        (R2025_06_18, "server", "elicitation/create", {"mode": "url"}, ["client:elicitation"]),
        (R2025_11_25, "server", "elicitation/create", {}, ["client:elicitation", "client:elicitation.form"]),
        (
            R2025_11_25,
            "server",
            "elicitation/create",
            {"mode": "url"},
            ["client:elicitation", "client:elicitation.url"],
        ),
        (R2025_06_18, "server", "sampling/createMessage", {"tools": []}, ["client:sampling"]),
        (R2025_11_25, "server", "sampling/createMessage", {"tools": []}, ["client:sampling", "client:sampling.tools"]),
        (R2025_11_25, "server", "sampling/createMessage", [], ["client:sampling"]),
        (R2025_11_25, "server", "notifications/message", {}, ["server:logging"]),
        (R2025_11_25, "server", "notifications/resources/updated", {}, ["server:resources.subscribe"]),
        (R2025_11_25, "server", "notifications/progress", {}, []),
        (R2025_11_25, "client", "notifications/roots/list_changed", {}, ["client:roots.listChanged"]),
        (R2026_07_28, "server", "sampling/createMessage", {}, []),
        (R2026_07_28, "client", "vendor/thing", {}, []),
    ],
)
def test_needed(revision: str, sender: Party, name: str, params: JsonValue, needed: list[str]) -> None:
    assert shown(required_capabilities(revision, sender, name, params)) == needed


@pytest.mark.parametrize(
    ("name", "params", "needed"),
    [
        ("roots/list", {}, ["client:roots"]),
        ("elicitation/create", {"mode": "url"}, ["client:elicitation", "client:elicitation.url"]),
        ("elicitation/create", None, ["client:elicitation"]),
        ("sampling/createMessage", {"toolChoice": {}}, ["client:sampling", "client:sampling.tools"]),
        ("tools/call", {}, []),
    ],
)
def test_needed_by_input_requests(name: str, params: JsonValue, needed: list[str]) -> None:
    assert shown(input_request_capabilities(name, params)) == needed
    assert (name in INPUT_REQUEST_METHODS) is bool(needed)


@pytest.mark.parametrize(
    ("declared", "path", "holds"),
    [
        ({"tools": {}}, "tools", True),
        ({"tools": {"listChanged": False}}, "tools", True),
        ({"tools": {"listChanged": False}}, "tools.listChanged", False),
        ({"tools": {"listChanged": True}}, "tools.listChanged", True),
        ({"tools": {"listChanged": 1}}, "tools.listChanged", False),
        ({"tools": None}, "tools", False),
        ({}, "tools", False),
        (None, "tools", False),
        ([], "tools", False),
        ({"tools": True}, "tools.listChanged", False),
        ({"elicitation": {}}, "elicitation.form", True),
        ({"elicitation": {"form": {}}}, "elicitation.form", True),
        ({"elicitation": {"url": {}}}, "elicitation.form", False),
        ({"elicitation": {}}, "elicitation.url", False),
        ({"tasks": {"requests": {"tools": {"call": {}}}}}, "tasks.requests.tools.call", True),
        ({"tasks": {"requests": {"tools": {}}}}, "tasks.requests.tools.call", False),
    ],
)
def test_declared(declared: JsonValue, path: str, holds: bool) -> None:
    assert declares(declared, Capability("server", tuple(path.split(".")))) is holds


def test_listen_filters_are_those_of_the_official_model() -> None:
    model: Any = official.CLIENT_REQUESTS["subscriptions/listen", R2026_07_28]
    filters = model.model_fields["params"].annotation.model_fields["notifications"].annotation.model_fields
    assert set(LISTEN_FILTERS.values()) == {field.alias for field in filters.values()}
    assert all(method_of(R2026_07_28, "server", name) for name in LISTEN_FILTERS)
