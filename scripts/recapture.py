"""Capture real traffic again: real clients and servers, mitmdump with the addon between them, nginx in some.

`recapture.py` writes fixtures/captured anew; what it finds wrong goes into the expected verdicts and has to be read
against the clauses before it is committed. `recapture.py --check` writes nothing and exits with 1 if something is found
that the committed verdicts of the same peers do not have. Further arguments choose pairs by parts of their names.
"""
# ruff: noqa: E402  the packages are found beside this folder

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "addon")]

from tests.peers.captured import new_findings, verdict_on
from tests.peers.recapture import PAIRS, capture, missing, write


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="write nothing, compare with what is committed")
    arguments.add_argument("name", nargs="*", help="part of a server's or client's name")
    options = arguments.parse_args()
    names = [(pair, f"{pair.folder}/{pair.client.name}") for pair in PAIRS]
    chosen = [(pair, name) for pair, name in names if all(part in name for part in options.name)]
    if lacking := missing(pair for pair, _ in chosen):
        print(f"missing: {', '.join(lacking)}; scripts/test makes what it can", file=sys.stderr)
        return 1
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (pair, name) in enumerate(chosen):
            captured = capture(pair, Path(folder) / str(number))
            for one in captured:
                new = sorted(new_findings(one))
                wrong += len(new)
                print(one.path, *new)
            assert captured, f"nothing was captured of {name}"
            if not options.check:
                write(captured, verdict_on)
    return 1 if options.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
