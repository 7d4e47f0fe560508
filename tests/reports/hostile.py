"""A transcript in which all that a person or a peer can write tries to become markup, script or a terminal code."""

from __future__ import annotations

from typing import Any, Final

NASTY: Final = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "]]><!--<!DOCTYPE x>",
    "\u2028alert(1)\u2029",
    "\u202egnp.exe\u2066",
    "`````md\n# heading\n![x](http://evil.invalid/x.png) @octocat #1 www.evil.invalid",
    'end\n  participant X\n  click C href "javascript:alert(1)"',
    "%%{init: {'securityLevel': 'loose'}}%%",
    "\x1b]0;title\x07\x1b[2J\x00\x7f",
    "| a | b |\\|",
    "${alert(1)} {{7*7}} &lt; &#60; :smile: $x$",
    "javascript:alert(1)",
)
LONG: Final = "A<b>" * 250_000
"""One string of a million characters."""


def transcript() -> dict[str, Any]:
    """Every place where text can stand has each of the strings once; some events are long."""
    exchanges: list[dict[str, Any]] = []
    for number, nasty in enumerate((*NASTY, LONG)):
        header = "".join(char for char in nasty if char >= " " and char != "\x7f")[:200]
        exchanges.append(
            {
                "id": f"x-{number} {nasty[:300]}",
                "started_ms": number * 100,
                "ended_ms": number * 100 + 90,
                "request": {
                    "method": "POST",
                    "path": f"/mcp?q={nasty[:300]}",
                    "headers": [["Accept", header], ["Mcp-Session-Id", header], [header[:40] or "x", header]],
                    "body": {
                        "jsonrpc": "2.0",
                        "id": nasty[:1_000],
                        "method": nasty,
                        "params": {"name": nasty, nasty[:500]: nasty, "arguments": {nasty[:50]: [nasty]}},
                    },
                },
                "response": {
                    "status": 200,
                    "headers": {"Content-Type": "text/event-stream", "X-Other": header},
                    "chunks": [
                        {"t_ms": number * 100 + 1, "text": f": {nasty}\n\nid: {nasty[:200]}\nevent: {nasty[:200]}\n"},
                        {"t_ms": number * 100 + 2, "text": f"data: {nasty}\nnonsense: {nasty[:200]}\n\n"},
                    ],
                    "ended": "server_reset",
                    "reset_code": nasty[:100],
                },
            }
        )
    return {
        "profile": "stable-2025-11-25",
        "tuple": {
            "client": {"name": NASTY[0], "version": NASTY[1]},
            "server": {"name": NASTY[6], "version": NASTY[9]},
            "intermediaries": list(NASTY),
            "endpoint": f"http://host/{NASTY[2]}",
        },
        "exchanges": exchanges,
    }
