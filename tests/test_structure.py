"""The core is pure, and data flows one way: what docs and reviews would otherwise have to remember."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = Path(__file__).parents[1] / "addon" / "mcp_wire"

FLOORS: Final = (
    ("wire",),
    ("protocol",),
    ("conversation", "privacy"),
    ("judging", "transcript"),
    ("rules", "idempotency_file"),
    ("reports",),
    ("baseline", "expectations", "requirements", "validation"),
    ("live",),
    ("captures",),
    ("cli",),
)
"""Folders and modules of the package, from the ground up: each uses only itself and what is below it."""
EDGES: Final = frozenset({"live", "captures", "cli"})
"""They translate between the core and mitmproxy, files and people."""
FORBIDDEN: Final = frozenset(
    {
        *("asyncio", "mitmproxy", "os", "pathlib", "random", "shutil", "socket", "subprocess", "tempfile", "threading"),
        *("time", "uuid"),
    }
)
"""What the core must not know of: the proxy, the event loop, the file system, the clock, chance."""

FLOOR_OF: Final = {name: floor for floor, names in enumerate(FLOORS) for name in names}
FILES: Final = sorted(PACKAGE.rglob("*.py"))


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module is not None
            yield node.module


def test_every_file_has_its_floor() -> None:
    assert {room_of(file) for file in FILES} - {"__init__"} == FLOOR_OF.keys()


@pytest.mark.parametrize("room", FLOOR_OF)
def test_a_room_uses_only_what_is_below_it(room: str) -> None:
    upward = [
        (str(file.relative_to(PACKAGE)), name)
        for file in FILES
        if room_of(file) == room
        for name in imported(file)
        if name.startswith("mcp_wire.")
        if (other := name.split(".")[1]) != room and FLOOR_OF[other] >= FLOOR_OF[room]
    ]
    assert upward == []


@pytest.mark.parametrize("room", sorted(FLOOR_OF.keys() - EDGES))
def test_the_core_is_pure(room: str) -> None:
    impure = [
        (str(file.relative_to(PACKAGE)), name)
        for file in FILES
        if room_of(file) == room
        for name in imported(file)
        if name.split(".")[0] in FORBIDDEN
    ]
    assert impure == []
