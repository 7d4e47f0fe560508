"""Pairs of peers that no other test has, captured again: nothing is found that is not known of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.conftest import need
from tests.peers import recapture
from tests.peers.captured import new_findings
from tests.peers.recapture import FIXTURES, PAIRS, Pair
from tests.peers.verdicts import assert_offline_equals_live

pytestmark = pytest.mark.peers

CHOSEN = [
    pair
    for pair in PAIRS
    if (pair.server, pair.client.name)
    in (
        (recapture.TYPESCRIPT_2, "typescript-client-2.4.0-auto"),
        (recapture.TYPESCRIPT_2, "typescript-client-2.4.0-legacy"),
        (recapture.TYPESCRIPT_1, "typescript-client-2.4.0-auto"),
        (recapture.PYTHON_1, "python-sdk-1.30.0"),
        (recapture.PYTHON_1, "fastmcp-4.2.3-auto"),
        (recapture.FASTMCP, "fastmcp-4.2.3-auto"),
    )
    or (pair.behind_nginx and pair.server is recapture.PYTHON_2)
]


@pytest.mark.parametrize("pair", [pytest.param(pair, id=f"{pair.folder}/{pair.client.name}") for pair in CHOSEN])
def test_pair(pair: Pair, tmp_path: Path) -> None:
    lacking = recapture.missing([pair])
    need(", ".join(lacking), not lacking)
    captured = recapture.capture(pair, tmp_path / "run")
    assert captured
    for one in captured:
        committed = FIXTURES / one.path
        assert committed.is_file(), f"{one.path}: other revisions were spoken than were captured before"
        assert new_findings(one) == set(), one.path
    for side in ("front", "back"):
        output = tmp_path / "run" / side / "output"
        if output.is_dir():
            assert_offline_equals_live(output)
