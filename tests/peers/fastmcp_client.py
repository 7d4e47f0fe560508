"""The client of fastmcp on a tour of our own servers. Prints what it saw as one JSON object.

Run by the environment of environments/fastmcp.txt. Usage: fastmcp_client.py URL legacy|auto
"""

# mypy: ignore-errors
# fastmcp is not among the packages that are checked here.

from __future__ import annotations

import asyncio
import json
import sys

from fastmcp import Client


def text_of(result) -> str:
    return " ".join(block.text for block in result.content if block.type == "text")


async def main(url: str, mode: str) -> None:
    saw, steps = {}, []

    async def on_progress(progress, total, message) -> None:
        steps.append(progress)

    async with Client(url, mode=mode) as client:
        saw["tools"] = sorted(tool.name for tool in await client.list_tools())
        saw["resources"] = len(await client.list_resources())
        saw["prompts"] = [prompt.name for prompt in await client.list_prompts()]
        saw["echo"] = text_of(await client.call_tool("echo", {"text": "naïve 文字 \u2028 one line"}))
        saw["count"] = text_of(await client.call_tool("count", {"to": 3}, progress_handler=on_progress))
        saw["steps"] = steps
        saw["failed"] = (await client.call_tool("fail", {"secret": "s3cret"}, raise_on_error=False)).is_error
        saw["greeting"] = [item.text for item in await client.read_resource("memo://greeting")]
        await client.get_prompt("ask", {"topic": "tea"})
        await asyncio.gather(*(client.call_tool("count", {"to": to}) for to in (2, 3)))
    print(json.dumps(saw))


asyncio.run(main(*sys.argv[1:]))
