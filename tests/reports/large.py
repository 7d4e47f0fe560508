"""A transcript of many exchanges and events, for reports that have to stay quick."""

from __future__ import annotations

from typing import Any


def transcript(streams: int = 20, events: int = 500) -> dict[str, Any]:
    """`streams` overlapping calls of `events` events each; every tenth call has a fault in each event."""
    exchanges = []
    for number in range(streams):
        start = number * 400
        faulty = number % 10 == 0
        progress = (
            '{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"t{n}","progress":{p}}}}}'
        )
        chunks: list[dict[str, Any]] = [
            {
                "t_ms": start + 20 + event * 7,
                "text": f"id: {number}-{event}\n"
                + ("retry: soon\n" if faulty else "")
                + f"data: {progress.format(n=number, p=event)}\n\n",
            }
            for event in range(events - 1)
        ]
        result = f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[]}}}}'
        chunks.append({"t_ms": start + 20 + events * 7, "text": f"id: {number}-last\ndata: {result}\n\n"})
        exchanges.append(
            {
                "id": f"x-{number}",
                "started_ms": start,
                "ended_ms": start + 40 + events * 7,
                "request": {
                    "method": "POST",
                    "path": "/mcp",
                    "headers": {
                        "Accept": "application/json" if faulty else "application/json, text/event-stream",
                        "Content-Type": "application/json",
                        "MCP-Protocol-Version": "2025-11-25",
                    },
                    "body": {
                        "jsonrpc": "2.0",
                        "id": number,
                        "method": "tools/call",
                        "params": {"name": "count", "_meta": {"progressToken": f"t{number}"}},
                    },
                },
                "response": {
                    "status": 200,
                    "headers": {"Content-Type": "text/event-stream"},
                    "started_ms": start + 10,
                    "chunks": chunks,
                    "ended": "complete",
                },
            }
        )
    return {"profile": "stable-2025-11-25", "payloads": "shape", "exchanges": exchanges}
