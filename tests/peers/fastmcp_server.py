"""A server of fastmcp: 2026-07-28, and sessions of 2025 on the same endpoint.

Run by the environment of environments/fastmcp.txt.
"""

# mypy: ignore-errors
# fastmcp is not among the packages that are checked here.

from __future__ import annotations

import asyncio
import socket

import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.server.event_store import EventStore

server = FastMCP("fastmcp-peer", version="1.0.0")


@server.tool
def echo(text: str) -> str:
    return text


@server.tool
async def count(to: int, ctx: Context) -> str:
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step}")
        await asyncio.sleep(0.02)
    return f"counted to {to}"


@server.tool
def fail(secret: str) -> str:
    raise ValueError(f"this tool fails: {secret}")


@server.resource("memo://greeting")
def greeting() -> str:
    return "Grüße, 世界 \u2028 one line still"


@server.prompt(name="ask")
def ask_prompt(topic: str) -> str:
    return f"Tell me about {topic}."


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening on {listener.getsockname()[1]}", flush=True)
    app = server.http_app(event_store=EventStore(), retry_interval=100)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)).run(sockets=[listener])
