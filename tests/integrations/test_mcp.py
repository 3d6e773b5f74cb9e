"""An index served by the Model Context Protocol, asked by a real client: over pipes, over HTTP, and in this process."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import TEXTS
from gossamer import Index

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="needs the extra mcp")

COMMAND = [sys.executable, "-c", "from gossamer.cli import main; main()", "mcp"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mcp") / "animals.gsm"
    with Index.create(path, "lsa") as index:
        index.add([text for text, _ in TEXTS.values()], list(TEXTS), [metadata for _, metadata in TEXTS.values()])
    return path


Talk = Callable[[Any], Awaitable[None]]


def over_pipes(path: Path, talk: Talk, *options: str) -> None:
    """Let a client start the server, as assistants do, and talk to it."""
    from mcp import ClientSession, StdioServerParameters, stdio_client

    async def session() -> None:
        command = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], str(path), *options])
        async with stdio_client(command) as streams, ClientSession(*streams) as client:
            await client.initialize()
            await talk(client)

    asyncio.run(asyncio.wait_for(session(), 120))


async def said(client: Any, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    text = "".join(part.text for part in result.content)
    assert not result.is_error, text
    return text


def test_a_model_finds_its_way(path: Path) -> None:
    async def talk(client: Any) -> None:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"search", "contents", "topics", "read", "explain", "more_like", "novelty"}
        found = await said(client, "search", query="a fox hunts mice", k=2)
        assert found.startswith("1. [fox] ")
        assert found.count("\n") == 3
        assert (await said(client, "read", id="fox")).endswith(TEXTS["fox"][0])
        contents = await said(client, "contents")
        assert contents.startswith("#")
        root = int(contents.split()[0][1:])
        assert "Typical documents:" in await said(client, "contents", concept=root)
        assert (await said(client, "topics", n=3)).count("%") == 3
        assert "by meaning" in await said(client, "explain", query="a fox hunts mice", id="owl")
        assert "[fox]" not in await said(client, "more_like", id="fox")
        assert "confidence" in await said(client, "novelty", query="a fox hunts mice")
        resource = await client.read_resource("gossamer://document/fox")
        assert resource.contents[0].text == TEXTS["fox"][0]
        assert (await client.read_resource("gossamer://contents")).contents[0].text == contents

    over_pipes(path, talk)


def here(index: Index, talk: Talk, **options: Any) -> None:
    """Talk to a server in this process."""
    from mcp import Client

    from gossamer.integrations.mcp import create_server

    async def session() -> None:
        async with Client(create_server(index, **options)) as client:
            await talk(client)

    asyncio.run(asyncio.wait_for(session(), 120))


def test_what_is_wrong_is_told_to_the_model(path: Path) -> None:
    async def talk(client: Any) -> None:
        for tool, arguments, word in (
            ("read", {"id": "nobody"}, "nobody"),
            ("search", {"query": "fox", "k": 500}, "from 1 to 50"),
            ("search", {"query": "fox", "where": {"a": {"$near": 1}}}, "$near"),
            ("contents", {"concept": 99999}, "99999"),
        ):
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert word in result.content[0].text

    with Index.open(path, mode="r") as index:
        here(index, talk)


def test_changes_only_where_they_are_allowed() -> None:
    with Index("lsa") as index:
        index.add(["a red fox", "a blue whale"], ["fox", "whale"])

        async def talk(client: Any) -> None:
            assert "new" in await said(client, "add", texts=["a green frog"], ids=["new"])
            assert "[new]" in await said(client, "search", query="green frog", k=1)
            assert "1" in await said(client, "delete", ids=["whale"])

        here(index, talk, writable=True)
        assert index.ids() == ["fox", "new"]


@contextmanager
def _listening(path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*COMMAND, str(path), "--http", "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(30)


def test_over_http_two_clients_at_once(path: Path) -> None:
    from mcp import Client

    async def ask(url: str) -> str:
        async with Client(url) as client:
            return await said(client, "search", query="a fox hunts mice", k=1)

    async def both(url: str) -> list[str]:
        return list(await asyncio.gather(ask(url), ask(url)))

    with _listening(path) as url:
        one, other = asyncio.run(asyncio.wait_for(both(url), 120))
    assert one == other
    assert one.startswith("1. [fox]")


def test_an_empty_index_and_questions_it_cannot_answer() -> None:
    async def empty(client: Any) -> None:
        for tool, arguments in (("contents", {}), ("topics", {}), ("search", {"query": "fox"})):
            assert "empty" in await said(client, tool, **arguments)

    async def unanswered(client: Any) -> None:
        assert "Probably nothing" in await said(client, "search", query="zygote quantum")

    with Index("lsa") as index:
        here(index, empty)
        foods = ("mice", "bread", "fish", "corn", "rice", "figs", "nuts", "peas")
        index.add([f"the {animal} eats {food} daily" for animal in ("fox", "owl", "cat") for food in foods])
        here(index, unanswered)
