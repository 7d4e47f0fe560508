"""The client of the official Python SDK 1.x on a tour of our own servers. Prints what it saw as one JSON object.

Run by the environment of environments/python-sdk-1.txt. Usage: python1_client.py URL
"""

# mypy: ignore-errors
# The package of the same name that is checked here is 2.x.

from __future__ import annotations

import json
import sys

import anyio
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult


async def declined(context, params):
    return ElicitResult(action="decline")


def text_of(result) -> str:
    return " ".join(block.text for block in result.content if block.type == "text")


async def main(url: str) -> None:
    saw = {}
    async with (
        streamable_http_client(url) as (reading, writing, _),
        ClientSession(reading, writing, elicitation_callback=declined) as session,
    ):
        saw["protocol"] = (await session.initialize()).protocolVersion
        tools = [tool.name for tool in (await session.list_tools()).tools]
        saw["tools"] = sorted(tools)
        saw["resources"] = len((await session.list_resources()).resources)
        saw["prompts"] = [prompt.name for prompt in (await session.list_prompts()).prompts]
        saw["echo"] = text_of(await session.call_tool("echo", {"text": "naïve 文字 \u2028 one line"}))
        steps = []

        async def on_progress(progress, total, message) -> None:
            steps.append(progress)

        saw["count"] = text_of(await session.call_tool("count", {"to": 3}, progress_callback=on_progress))
        saw["steps"] = steps
        for tool in ("poll", "ask"):
            if tool in tools:
                saw[tool] = text_of(await session.call_tool(tool, {}))
        saw["failed"] = (await session.call_tool("fail", {"secret": "s3cret"})).isError
        saw["greeting"] = [item.text for item in (await session.read_resource("memo://greeting")).contents]
        await session.get_prompt("ask", {"topic": "tea"})
        async with anyio.create_task_group() as together:
            for to in (2, 3):
                together.start_soon(session.call_tool, "count", {"to": to})
    print(json.dumps(saw))


anyio.run(main, sys.argv[1])
