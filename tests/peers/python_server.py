"""A stateful MCP server on the official Python SDK, with an event store, over HTTP/1.1 or over TLS with HTTP/2.

Prints `listening on PORT` once it accepts connections on loopback.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
from pathlib import Path
from typing import Any

import anyio
import hypercorn.asyncio
import hypercorn.config
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import JSONRPCMessage
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.peers.exchanges import SeenExchange, write_exchange

RETRY_MS = 100
MAX_STEPS = 2_400

server = MCPServer("python-peer", version="1.0.0")


@server.tool()
def echo(text: str) -> str:
    """Answers at once with what it was given."""
    return text


@server.tool()
async def count(to: int, ctx: Context[Any, Any]) -> str:
    """Reports progress on the way."""
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step}")
        await anyio.sleep(0.02)
    return f"counted to {to}"


@server.tool()
async def count_until(file: str, ctx: Context[Any, Any]) -> str:
    """Reports progress until there is a file of this name: a stream for as long as somebody watches."""
    step = 0
    while step < MAX_STEPS and not await anyio.Path(file).exists():
        step += 1
        await ctx.report_progress(step, message=f"step {step}")
        await anyio.sleep(0.05)
    return f"counted to {step}"


@server.tool()
async def poll(ctx: Context[Any, Any]) -> str:
    """Closes its own stream half way; the answer is for a client that resumes."""
    await ctx.report_progress(1, 2, "before the close")
    await ctx.close_sse_stream()
    await anyio.sleep(0.05)
    await ctx.report_progress(2, 2, "while the client was away")
    return "answered after the close"


@server.tool()
def fail(secret: str) -> str:
    """Always fails."""
    raise ValueError(f"this tool fails: {secret}")


@server.resource("memo://greeting")
def greeting() -> str:
    """A resource to read."""
    return "Grüße, 世界 \u2028 one line still"


@server.prompt()
def ask(topic: str) -> str:
    """A prompt to get."""
    return f"Tell me about {topic}."


class MemoryEventStore(EventStore):
    """Keeps all events in order; ids are their positions, each known to belong to one stream."""

    def __init__(self) -> None:
        self._events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return f"event-{len(self._events)}"

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        position = int(last_event_id.removeprefix("event-"))
        stream_id, _ = self._events[position - 1]
        for number, (owner, message) in enumerate(self._events[position:], position + 1):
            if owner == stream_id and message is not None:
                await send_callback(EventMessage(message, f"event-{number}"))
        return stream_id


class Recording:
    """Writes down every exchange as the application sees it, for connections whose bytes are encrypted."""

    def __init__(self, app: ASGIApp, file: Path) -> None:
        self.app = app
        self.file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        seen = SeenExchange(
            method=scope["method"],
            target=scope["path"],
            request_body=b"",
            last_event_id=headers.get(b"last-event-id", b"").decode(),
            http_version=f"HTTP/{scope['http_version']}",
        )

        async def recording_receive() -> Message:
            message = await receive()
            seen.request_body += message.get("body", b"")
            seen.client_left |= message["type"] == "http.disconnect" and not seen.complete
            return message

        async def recording_send(message: Message) -> None:
            seen.status = message.get("status", seen.status)
            seen.response_body += message.get("body", b"")
            seen.complete |= message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        try:
            await self.app(scope, recording_receive, recording_send)
        finally:
            write_exchange(self.file, seen)


async def serve_http2(app: ASGIApp, listener: socket.socket, certificate: Path) -> None:
    config = hypercorn.config.Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.certfile = config.keyfile = str(certificate)
    config.graceful_timeout = 1
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)

    async def shutdown_trigger() -> None:
        await over.wait()

    await hypercorn.asyncio.serve(app, config, shutdown_trigger=shutdown_trigger)  # type: ignore[arg-type]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--json", action="store_true", help="answer with JSON instead of event streams")
    arguments.add_argument("--http2", type=Path, metavar="PEM", help="speak TLS with this key and certificate")
    arguments.add_argument("--record", type=Path, metavar="FILE", help="write down every exchange")
    options = arguments.parse_args()

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    app: ASGIApp = server.streamable_http_app(
        json_response=options.json, event_store=MemoryEventStore(), retry_interval=RETRY_MS
    )
    if options.record:
        app = Recording(app, options.record)
    print(f"listening on {listener.getsockname()[1]}", flush=True)
    if options.http2:
        asyncio.run(serve_http2(app, listener, options.http2))
    else:
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
