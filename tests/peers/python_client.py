"""The official Python SDK's client on a tour of a server. Prints what it saw as one JSON object.

Usage: python_client.py URL --tour TOUR [--until FILE] [--mode legacy|auto] [--authority PEM --record FILE]
"""

from __future__ import annotations

import argparse
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent, TextResourceContents

from tests.peers.exchanges import SeenExchange, write_exchange


class RecordingTransport(httpx2.AsyncHTTPTransport):
    """Writes down every exchange as the client receives it, for connections whose bytes are encrypted."""

    def __init__(self, file: Path, **options: Any) -> None:
        super().__init__(**options)
        self.file = file

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        seen = SeenExchange(
            method=request.method,
            target=request.url.path,
            request_body=request.content,
            last_event_id=request.headers.get("last-event-id", ""),
        )
        response = await super().handle_async_request(request)
        seen.status = response.status_code
        seen.http_version = response.http_version
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = RecordingStream(response.stream, seen, self.file)
        return response


class RecordingStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, seen: SeenExchange, file: Path) -> None:
        self.stream = stream
        self.seen = seen
        self.file = file

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.stream:
            self.seen.response_body += chunk
            yield chunk
        self.seen.complete = True

    async def aclose(self) -> None:
        self.seen.client_left = not self.seen.complete
        write_exchange(self.file, self.seen)
        await self.stream.aclose()


def text_of(result: Any) -> str:
    assert isinstance(result, CallToolResult)
    return " ".join(block.text for block in result.content if isinstance(block, TextContent))


class Tour:
    """Uses one kind of server as an ordinary client would, and keeps what came back."""

    def __init__(self, client: Client, until: str) -> None:
        self.client = client
        self.until = until
        self.saw: dict[str, Any] = {}

    async def call(self, label: str, tool: str, arguments: dict[str, Any]) -> None:
        steps: list[float] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            steps.append(progress)

        result = await self.client.call_tool(tool, arguments, progress_callback=on_progress)
        self.saw[label] = text_of(result)
        self.saw[f"{label} failed"] = bool(result.is_error)
        self.saw[f"{label} progress"] = steps

    async def common(self) -> None:
        self.saw["protocol"] = self.client.protocol_version
        self.saw["tools"] = sorted(tool.name for tool in (await self.client.list_tools()).tools)
        self.saw["resources"] = len((await self.client.list_resources()).resources)
        self.saw["prompts"] = sorted(prompt.name for prompt in (await self.client.list_prompts()).prompts)

    async def python(self) -> None:
        await self.common()
        await self.call("echo", "echo", {"text": "naïve 文字 \u2028 one line"})
        await self.call("large", "echo", {"text": "x" * 200_000})
        self.saw["large"] = len(self.saw["large"])
        await self.call("count", "count", {"to": 5})
        await self.call("fail", "fail", {"secret": "s3cret"})
        if self.client.protocol_version < "2026":
            await self.call("poll", "poll", {})
        contents = (await self.client.read_resource("memo://greeting")).contents
        self.saw["greeting"] = [item.text for item in contents if isinstance(item, TextResourceContents)]
        async with anyio.create_task_group() as together:
            for number in range(3):
                together.start_soon(self.call, f"together {number}", "count", {"to": 2 + number})

    async def python_json(self) -> None:
        """For a server that answers without streams: no progress, nothing to resume."""
        await self.common()
        await self.call("echo", "echo", {"text": "naïve 文字 \u2028 one line"})
        await self.call("fail", "fail", {"secret": "s3cret"})

    async def counting(self) -> None:
        """One stream, until there is a file of the name that was given."""
        await self.call("count", "count_until", {"file": self.until})

    async def everything(self) -> None:
        await self.common()
        await self.call("echo", "echo", {"message": "naïve 文字"})
        await self.call("sum", "get-sum", {"a": 2, "b": 40})
        await self.call("long", "trigger-long-running-operation", {"duration": 0.3, "steps": 3})
        await self.call("image", "get-tiny-image", {})
        await self.client.get_prompt("simple-prompt")


async def main(options: argparse.Namespace) -> None:
    async with httpx2.AsyncClient(**client_options(options), timeout=60) as http_client:
        transport = streamable_http_client(options.url, http_client=http_client)
        async with Client(transport, mode=options.mode) as client:
            tour = Tour(client, str(options.until))
            await getattr(tour, options.tour)()
    print(json.dumps(tour.saw, ensure_ascii=True))


def client_options(options: argparse.Namespace) -> dict[str, Any]:
    if options.authority is None:
        return {"trust_env": False}
    trust = ssl.create_default_context(cafile=options.authority)
    return {"transport": RecordingTransport(options.record, http2=True, verify=trust, trust_env=False)}


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("url")
    arguments.add_argument("--tour", choices=["python", "python_json", "counting", "everything"], required=True)
    arguments.add_argument("--until", type=Path, metavar="FILE", help="how long to go on (--tour counting)")
    arguments.add_argument("--mode", choices=["legacy", "auto"], default="legacy")
    arguments.add_argument(
        "--authority", type=Path, metavar="PEM", help="speak HTTP/2 over TLS, trusting this authority"
    )
    arguments.add_argument("--record", type=Path, metavar="FILE", help="write down every exchange (with --authority)")
    anyio.run(main, arguments.parse_args())
