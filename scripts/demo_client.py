"""The demo's client: the official Python SDK, once as a 2025-11-25 session and once in 2026-07-28.

Usage: demo_client.py URL
"""

from __future__ import annotations

import sys
from typing import Any

import anyio
from mcp import Client
from mcp.types import CallToolResult, TextContent


def text_of(result: Any) -> str:
    assert isinstance(result, CallToolResult)
    return " ".join(block.text for block in result.content if isinstance(block, TextContent))


async def use_the_tools(client: Client) -> None:
    steps: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    tools = await client.list_tools()
    print(f"  {client.protocol_version}: tools {', '.join(tool.name for tool in tools.tools)}")
    print(f"  add(2, 3) = {text_of(await client.call_tool('add', {'a': 2, 'b': 3}))}")
    counted = await client.call_tool("count", {"to": 3}, progress_callback=on_progress)
    print(f"  count(3): {text_of(counted)}, progress {steps}")
    print(f"  wait(0.3): {text_of(await client.call_tool('wait', {'seconds': 0.3}))}")


async def main(url: str) -> None:
    async with Client(url, mode="legacy") as client:
        await use_the_tools(client)
    async with Client(url, mode="auto") as client:
        await use_the_tools(client)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
