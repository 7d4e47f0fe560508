"""A server of the official Python SDK 1.x: sessions, an event store, a tool of each kind.

Run by the environment of environments/python-sdk-1.txt.
"""

# mypy: ignore-errors
# The package of the same name that is checked here is 2.x.

from __future__ import annotations

import socket

import anyio
import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.streamable_http import EventMessage, EventStore
from pydantic import BaseModel

RETRY_MS = 100


class MemoryEventStore(EventStore):
    """Keeps all events in order; ids are their positions, each known to belong to one stream."""

    def __init__(self) -> None:
        self._events: list[tuple[str, object]] = []

    async def store_event(self, stream_id, message):
        self._events.append((stream_id, message))
        return f"event-{len(self._events)}"

    async def replay_events_after(self, last_event_id, send_callback):
        position = int(last_event_id.removeprefix("event-"))
        stream_id, _ = self._events[position - 1]
        for number, (owner, message) in enumerate(self._events[position:], position + 1):
            if owner == stream_id and message is not None:
                await send_callback(EventMessage(message, f"event-{number}"))
        return stream_id


server = FastMCP("python1-peer", event_store=MemoryEventStore(), retry_interval=RETRY_MS)


class Answer(BaseModel):
    confirmed: bool = False


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
async def count(to: int, ctx: Context) -> str:
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step}")
        await anyio.sleep(0.02)
    return f"counted to {to}"


@server.tool()
async def poll(ctx: Context) -> str:
    await ctx.report_progress(1, 2, "before the close")
    await ctx.close_sse_stream()
    await anyio.sleep(0.05)
    return "answered after the close"


@server.tool()
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("Go on?", Answer)
    return f"the answer was {answer.action}"


@server.tool()
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
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])
