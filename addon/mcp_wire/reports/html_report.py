"""Placeholder."""

from mcp_wire.reports.json_report import accepted_object, finding_object
from mcp_wire.reports.model import Results
from mcp_wire.wire.strict_json import dump_json


def render(results: Results) -> str:
    data = dump_json(
        {
            "conversations": [
                {
                    "findings": [
                        *map(finding_object, named.report.findings),
                        *map(accepted_object, named.report.accepted),
                    ]
                }
                for named in results.reports
            ]
            + [{"findings": [*map(finding_object, results.further)]}]
        }
    ).replace("<", "\\u003c")
    return f'<script type="application/json" id="data">{data}</script>'
