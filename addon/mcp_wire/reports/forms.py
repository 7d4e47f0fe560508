"""The forms of a report: their names, the files of a live run, and how much of the exchanges each one shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mcp_wire.reports import (
    har_report,
    html_report,
    human_report,
    json_report,
    jsonl_report,
    junit_report,
    markdown_report,
    sarif_report,
)
from mcp_wire.reports.form_names import FILE_NAMES
from mcp_wire.reports.model import Results
from mcp_wire.reports.timeline import SHOWN, WHOLE, Detail


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a report. `detail` None: it shows no exchanges, so its reports need no timelines."""

    name: str
    render: Callable[[Results], str]
    detail: Detail | None = None

    @property
    def file_name(self) -> str:
        return FILE_NAMES[self.name]


FORMS: Final = {
    form.name: form
    for form in (
        Form("human", human_report.render, SHOWN),
        Form("json", json_report.render),
        Form("jsonl", jsonl_report.render),
        Form("sarif", sarif_report.render),
        Form("junit", junit_report.render, SHOWN),
        Form("markdown", markdown_report.render, SHOWN),
        Form("html", html_report.render, SHOWN),
        Form("har", har_report.render, WHOLE),
    )
}
