"""MCP: a client starts `gossamer mcp` as an assistant does, and asks it. Needs no model files.

pip install "gossamer[mcp]"; python examples/mcp_client.py
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters
from texts import METADATA, TEXTS

from gossamer import Index


async def ask(folder: Path) -> None:
    # In the configuration of an assistant: {"command": "gossamer", "args": ["mcp", "notes.gsm"]}
    command = StdioServerParameters(command=sys.executable, args=["-m", "gossamer", "mcp", str(folder)])
    async with Client(command) as client:
        print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        for tool, arguments in (
            ("contents", {}),
            ("search", {"query": "who hunts in the forest?", "k": 2}),
            ("search", {"query": "bake", "k": 2, "where": {"year": {"$gte": 2021}}}),
            ("search", {"query": "quarterly tax return", "k": 1}),
        ):
            answer = await client.call_tool(tool, arguments)
            print(f"\n{tool} {arguments}\n{answer.content[0].text}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder, "notes.gsm")
        with Index.create(notes, encoder="lsa") as index:
            index.add(TEXTS, metadata=METADATA)
        asyncio.run(ask(notes))


if __name__ == "__main__":
    main()
