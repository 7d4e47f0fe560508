"""The demo's server: three tools on the official Python SDK, and one fault that it is here to show.

Prints `listening on PORT` once it accepts connections on loopback.
"""

from __future__ import annotations

import socket
from typing import Any

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from starlette.types import ASGIApp, Message, Receive, Scope, Send

server = MCPServer("demo-server", version="1.0.0")


@server.tool()
def add(a: int, b: int) -> int:
    """Answers at once."""
    return a + b


@server.tool()
async def count(to: int, ctx: Context[Any, Any]) -> str:
    """Reports progress on the way, so the answer is an event stream."""
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step} of {to}")
        await anyio.sleep(0.05)
    return f"counted to {to}"


@server.tool()
async def wait(seconds: float) -> str:
    """Says nothing until it is done."""
    await anyio.sleep(seconds)
    return f"waited {seconds} s"


class AnswersNotificationsWithText:
    """A common mistake of hand-written servers: 200 and a word where the specification asks for an empty 202."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer_replaced = False

        async def send_with_fault(message: Message) -> None:
            nonlocal answer_replaced
            if message["type"] == "http.response.start" and message["status"] == 202:
                answer_replaced = True
                message = {**message, "status": 200, "headers": [(b"content-type", b"text/plain")]}
            elif message["type"] == "http.response.body" and answer_replaced:
                message = {**message, "body": b"ok\n"}
            await send(message)

        await self.app(scope, receive, send_with_fault)


def main() -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(f"listening on {listener.getsockname()[1]}", flush=True)
    app = AnswersNotificationsWithText(server.streamable_http_app())
    uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)).run(sockets=[listener])


if __name__ == "__main__":
    main()
