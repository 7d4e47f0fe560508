"""What makes two findings the same fault in two runs: not its number in a capture, nor how often it was seen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

from mcp_wire.judging.finding import Finding

_NUMBER: Final = re.compile(r"/[0-9]+(?=/|$)")
FINGERPRINT_LENGTH: Final = 32


def place_shape(path: str) -> str:
    """A path without the numbers of exchanges, events and list members: `/exchanges/*/response/chunks/*`."""
    return _NUMBER.sub("/*", path)


def fingerprints(transcript: str, findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """A fingerprint for each finding of one transcript: equal for the same fault in a later run.

    Several findings of one code in the same kind of place are told apart by their order.
    """
    seen: Counter[str] = Counter()
    for finding in findings:
        what = "\n".join((transcript, finding.code, finding.party, place_shape(finding.path)))
        digest = sha256(what.encode("utf-8", "surrogatepass")).hexdigest()[:FINGERPRINT_LENGTH]
        seen[digest] += 1
        yield finding, f"{digest}:{seen[digest]}"
