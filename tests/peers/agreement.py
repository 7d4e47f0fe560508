"""Where the official suite and the rules judge the same clause: do they say the same? And the document about it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from tests.peers.processes import REPOSITORY

DATA: Final = REPOSITORY / "tests" / "data"
MAPPING_FILE: Final = DATA / "official_suite.json"
RECORDED_FILE: Final = DATA / "official_suite_recorded.json"
DOCUMENT: Final = REPOSITORY / "docs" / "agreement.md"

type Json = dict[str, Any]
type Verdict = Literal["both kept", "both broken", "suite only", "stricter", "missed"]

BROKEN: Final = ("FAILURE", "WARNING")


@dataclass(frozen=True, slots=True)
class Compared:
    """One check of the suite in one run, beside the rules for the same clause. `why` explains a difference."""

    run: str
    check: str
    rules: tuple[str, ...]
    verdict: Verdict
    why: str = ""

    @property
    def differs(self) -> bool:
        return self.verdict in ("stricter", "missed")


def mapping() -> Json:
    read: Json = json.loads(MAPPING_FILE.read_text(encoding="utf-8"))
    return read


def recorded() -> dict[str, Json]:
    read: dict[str, Json] = json.loads(RECORDED_FILE.read_text(encoding="utf-8")) if RECORDED_FILE.exists() else {}
    return read


def write_recorded(said: Mapping[str, Json]) -> None:
    lines = [f" {json.dumps(run)}: {json.dumps(said[run])}" for run in sorted(said)]
    RECORDED_FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def compare(run: str, said: Json, known: Json) -> Iterator[Compared]:
    """Every check of a run that has rules. `said` is `Said.as_json`."""
    found, satisfied = set(said["found"]), set(said["satisfied"])
    failing = {
        rule for check, status in said["checks"].items() if status in BROKEN for rule in known["checks"].get(check, ())
    }
    for check, status in said["checks"].items():
        rules = tuple(known["checks"].get(check, ()))
        if not rules:
            continue
        verdict: Verdict
        if status in BROKEN:
            verdict = "both broken" if found.intersection(rules) else "missed"
        elif found.intersection(rules) - failing:
            verdict = "stricter"
        else:
            verdict = "both kept" if satisfied.intersection(rules) else "suite only"
        yield Compared(run, check, rules, verdict, _explanation(run, check, verdict, known))


def _explanation(run: str, check: str, verdict: str, known: Json) -> str:
    for entry in known["explained"]:
        if entry["verdict"] == verdict and check in entry["checks"] and entry["run"] in run:
            return str(entry["why"])
    return ""


def unmapped(said: Iterable[Json], known: Json) -> set[str]:
    """Checks of which the mapping says nothing."""
    checks = {check for one in said for check in one["checks"]}
    prefixes = tuple(known["not_judged_prefixes"])
    return {
        check
        for check in checks - known["checks"].keys() - known["not_judged"].keys()
        if not check.startswith(prefixes)
    }


def document() -> str:
    """docs/agreement.md, from the recorded runs."""
    known, said = mapping(), recorded()
    compared = [one for run in sorted(said) for one in compare(run, said[run], known)]
    return "\n".join([_BEFORE, *_table(compared), *_differences(compared), *_not_judged(said, known), _AFTER])


def _table(compared: list[Compared]) -> Iterator[str]:
    by_check: dict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    for one in compared:
        by_check[one.check, one.rules][one.verdict] += 1
    total = Counter(one.verdict for one in compared)
    yield (
        f"In {sum(total.values())} comparisons both said {total['both kept']} times that the clause was kept and "
        f"{total['both broken']} times that it was broken; {total['suite only']} times the traffic gave the rules "
        f"nothing to judge; {total['stricter'] + total['missed']} times they differed, for the reasons below.\n"
    )
    yield "| check of the suite | rules here | both: kept | both: broken | nothing to judge | differ |"
    yield "|---|---|---|---|---|---|"
    for (check, rules), counts in sorted(by_check.items()):
        links = ", ".join(f"[`{rule}`](rules/{rule}.md)" for rule in rules)
        cells = [
            counts["both kept"],
            counts["both broken"],
            counts["suite only"],
            counts["stricter"] + counts["missed"],
        ]
        yield f"| `{check}` | {links} | {' | '.join(str(cell or '') for cell in cells)} |"


def _differences(compared: list[Compared]) -> Iterator[str]:
    yield "\n## Where they differ\n"
    yield "| check | run | the suite | the rules | why |"
    yield "|---|---|---|---|---|"
    for one in compared:
        if one.differs:
            suite, rules = ("broken", "silent") if one.verdict == "missed" else ("kept", "broken")
            yield f"| `{one.check}` | {one.run} | {suite} | {rules} | {one.why} |"


def _not_judged(said: Mapping[str, Json], known: Json) -> Iterator[str]:
    seen = {check for one in said.values() for check in one["checks"]}
    yield "\n## What the suite checks and no rule does\n"
    yield "| check | why |"
    yield "|---|---|"
    for check, why in sorted(known["not_judged"].items()):
        if check in seen:
            yield f"| `{check}` | {why} |"
    for prefix, why in sorted(known["not_judged_prefixes"].items()):
        yield f"| others that begin with `{prefix}` | {why} |"


_BEFORE: Final = """<!-- Generated by scripts/run_official_suite.py from recorded runs. Do not edit. -->

# Agreement with the official suite

The project behind the protocol has a conformance suite, `@modelcontextprotocol/conformance`. It plays one side: it
sends what it wants to see answered, or answers what it wants to see sent. This tool watches traffic that others make.
Where both judge the same clause, they should say the same.

So the suite (0.2.0-alpha.12) was run through mitmdump with the addon: as a client of the Python SDK's own server for
the suite (2.3.0), of server-everything, and of small servers of the TypeScript SDK 1.x, of its successor and of
fastmcp; and as the server of the Python SDK's client. Conforming peers say little of a judge, so some runs have
something in between that breaks one duty (`tests/peers/spoiling.py`): their names say which.
`scripts/run_official_suite.py` runs it all again.
"""

_AFTER: Final = """
## What the rules judge and the suite does not

Accept on POST and GET, the session id and the version header on later requests, 202 without a body, the Content-Type of
answers, one message a POST, messages on two streams, event ids, replay on the right stream, responses on the standalone
GET stream, what follows a 404, the framing of event streams, and everything that a relay does. See
[coverage.md](coverage.md).
"""
