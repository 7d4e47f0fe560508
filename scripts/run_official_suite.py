"""Run the official conformance suite through the proxy and compare its verdicts with the addon's.

`run_official_suite.py` runs everything (some ten minutes), records what was said in tests/data, and writes
docs/agreement.md; arguments choose runs by parts of their names, and `--render` only writes the document.
"""
# ruff: noqa: E402  the packages are found beside this folder

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "addon")]

from tests.peers.agreement import DOCUMENT, compare, document, mapping, recorded, unmapped, write_recorded
from tests.peers.official_suite import RUNS, carry_out, missing


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--render", action="store_true", help="run nothing, only write the document")
    arguments.add_argument("name", nargs="*", help="part of a run's name")
    options = arguments.parse_args()
    if not options.render:
        if lacking := missing():
            print(f"missing: {', '.join(lacking)}; scripts/test makes what it can", file=sys.stderr)
            return 1
        _run(options.name)
    said, known = recorded(), mapping()
    DOCUMENT.write_text(document(), encoding="utf-8")
    unexplained = [one for run in said for one in compare(run, said[run], known) if one.differs and not one.why]
    for one in unexplained:
        print(f"unexplained: {one.check} in {one.run}: {one.verdict}")
    for check in sorted(unmapped(said.values(), known)):
        print(f"nothing is said of {check}")
    return 1 if unexplained or unmapped(said.values(), known) else 0


def _run(names: list[str]) -> None:
    chosen = [run for run in RUNS if all(part in run.name for part in names)]
    said = {name: one for name, one in recorded().items() if name in {run.name for run in RUNS}}
    with tempfile.TemporaryDirectory() as folder:
        for number, run in enumerate(chosen):
            said[run.name] = carry_out(run, Path(folder) / str(number)).as_json()
            broken = {check: status for check, status in said[run.name]["checks"].items() if status != "SUCCESS"}
            print(run.name, broken or "", *said[run.name]["found"], flush=True)
            write_recorded(said)


if __name__ == "__main__":
    sys.exit(main())
