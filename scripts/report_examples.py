"""Write an example of each form of a report, made from docs/reports/demonstration.json, into docs/reports.

`report_examples.py` writes them, `report_examples.py --check` exits with 1 and names what is stale.
"""
# ruff: noqa: E402  the package is found beside this folder, installed or not

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "addon"))

from mcp_wire.privacy.redactor import Redactor
from mcp_wire.reports.forms import FORMS
from mcp_wire.reports.model import NamedReport, Results
from mcp_wire.reports.timeline import SHOWN
from mcp_wire.transcript.places import exchange_lines
from mcp_wire.transcript.reading import read_document
from mcp_wire.validation import redacted_timeline, validate

FOLDER: Final = Path("docs/reports")
DEMONSTRATION: Final = FOLDER / "demonstration.json"


def examples() -> dict[Path, str]:
    """Every example, by its path in the repository: what `mcp-conformance validate --report FORM` writes."""
    text = (REPOSITORY / DEMONSTRATION).read_text(encoding="utf-8")
    document = read_document(text)
    redactor = Redactor()
    report = validate(document, None, redactor)
    written = {}
    for form in FORMS.values():
        timeline = redacted_timeline(document, report, redactor, form.detail or SHOWN)
        named = NamedReport(DEMONSTRATION.as_posix(), report, timeline, exchange_lines(text))
        written[FOLDER / form.file_name] = form.render(Results((named,)))
    return written


def stale() -> list[Path]:
    """Examples that are not as they would be written now."""
    return [path for path, text in examples().items() if not _is_current(REPOSITORY / path, text)]


def _is_current(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        old = stale()
        for path in old:
            print(f"{path} is stale: run scripts/report_examples.py", file=sys.stderr)
        return 1 if old else 0
    for path, text in examples().items():
        (REPOSITORY / path).write_bytes(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
