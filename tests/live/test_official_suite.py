"""Some runs of the official suite through the proxy: it and the rules say what was recorded of them before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.conftest import need
from tests.peers import official_suite
from tests.peers.agreement import compare, mapping, recorded
from tests.peers.official_suite import PYTHON, RUNS, Run, carry_out

pytestmark = [pytest.mark.peers, pytest.mark.slow]

CHOSEN = {
    f"server/{PYTHON}/2025-11-25/server-initialize",
    f"server/{PYTHON}/2025-11-25/server-session-lifecycle",
    f"server/{PYTHON}/2025-11-25/server-sse-polling",
    f"server/{PYTHON}/2025-11-25/server-sse-polling/server-without-priming",
    f"server/{PYTHON}/2026-07-28/server-stateless",
    f"server/{PYTHON}/2026-07-28/server-stateless/server-refusing-with-200",
    f"server/{PYTHON}/2026-07-28/http-header-validation/server-without-header-checks",
    f"server/{PYTHON}/2026-07-28/caching/server-without-caching-hints",
    "server/server-everything-2026.8.31/2025-11-25/dns-rebinding-protection",
    "server/typescript-server-2.4.0/2026-07-28/http-header-validation",
    f"client/{PYTHON}/2025-11-25/sse-retry",
    f"client/{PYTHON}/2026-07-28/request-metadata",
    f"client/{PYTHON}/2026-07-28/http-custom-headers",
    f"client/{PYTHON}/2026-07-28/http-custom-headers/client-without-parameter-headers",
}


def chosen() -> list[Run]:
    runs = [run for run in RUNS if run.name in CHOSEN]
    assert len(runs) == len(CHOSEN)
    return runs


@pytest.mark.parametrize("run", [pytest.param(run, id=run.name) for run in chosen()])
def test_run(run: Run, tmp_path: Path) -> None:
    lacking = official_suite.missing()
    need(", ".join(lacking), not lacking)
    said, before, known = carry_out(run, tmp_path / "run").as_json(), recorded()[run.name], mapping()
    assert said["checks"] == before["checks"]
    assert said["found"] == before["found"]
    compared = list(compare(run.name, said, known))
    assert compared
    assert [one.check for one in compared if one.differs and not one.why] == []
