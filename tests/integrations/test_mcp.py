"""An index served by the Model Context Protocol, asked by a real client: over pipes, over HTTP, and in this process."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import TEXTS
from gossamer import Index
from gossamer.cli import stdlib
from gossamer.encoders import load_encoder
from gossamer.errors import MissingExtraError, ModelUnavailableError

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="needs the extra mcp")

CONFORMANCE = shutil.which("conformance")
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
        concept = await client.read_resource(f"gossamer://concept/{root}")
        assert concept.contents[0].text == await said(client, "contents", concept=root)

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
        for resource, word in (("document/nobody", "nobody"), ("concept/99999", "99999")):
            with pytest.raises(MCPError, match=word):
                await client.read_resource(f"gossamer://{resource}")

    from mcp import MCPError

    with Index.open(path, mode="r") as index:
        here(index, talk)


def test_an_id_that_is_a_path_is_a_resource_too() -> None:
    async def talk(client: Any) -> None:
        for address, text in (("notes/fox.md", "a red fox"), ("%2Fhome%2F..%2Fwhale.md%230", "a blue whale")):
            resource = await client.read_resource(f"gossamer://document/{address}")
            assert resource.contents[0].text == text

    with Index("lsa") as index:
        index.add(["a red fox", "a blue whale"], ["notes/fox.md", "/home/../whale.md#0"])
        here(index, talk)


def test_changes_only_where_they_are_allowed() -> None:
    with Index("lsa") as index:
        index.add(["a red fox", "a blue whale"], ["fox", "whale"])

        async def talk(client: Any) -> None:
            hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
            changing = {name: hint for name, hint in hints.items() if not hint.read_only_hint}
            assert {name: (each.destructive_hint, each.idempotent_hint) for name, each in changing.items()} == {
                "add": (True, None),  # it replaces what has the same id; without ids it adds the same texts again
                "delete": (True, True),
            }
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


@pytest.mark.skipif(
    CONFORMANCE is None, reason="needs Node 22 and npm install --global @modelcontextprotocol/conformance"
)
def test_the_official_conformance_runner(path: Path, tmp_path: Path) -> None:
    """All its scenarios for servers; those in the file are about other servers, as it says."""
    allowed = Path(__file__).with_name("mcp_conformance.yml")
    with _listening(path) as url:
        command = [str(CONFORMANCE), "server", "--url", url, "--suite", "all", "--expected-failures", str(allowed)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


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


def test_several_processes_serve_one_index(tmp_path: Path) -> None:
    """Both may write: what one adds, the other finds at its next call."""
    from mcp import Client, StdioServerParameters

    path = tmp_path / "shared.gsm"
    with Index.create(path, "lsa") as index:
        index.add([text for text, _ in TEXTS.values()], list(TEXTS))

    async def sessions() -> None:
        async with AsyncExitStack() as stack:
            command = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], str(path), "--write"])
            clients = [await stack.enter_async_context(Client(command)) for _ in range(2)]
            before = await asyncio.gather(*(said(each, "search", query="a fox hunts", k=1) for each in clients))
            assert before[0] == before[1]
            assert before[0].startswith("1. [fox]")
            for writer, prey in zip(clients, ("voles", "geese"), strict=True):
                await said(writer, "add", texts=[f"the fox hunts {prey} below the snow"], ids=[prey])
            for client in clients:
                for prey in ("voles", "geese"):
                    assert f"[{prey}]" in await said(client, "search", query=f"who hunts {prey}", k=1)

    asyncio.run(asyncio.wait_for(sessions(), 120))


QUESTIONS = {
    "let a number of seconds pass before going on": "time.sleep",
    "take leading spaces that all lines share off a block of text": "textwrap.dedent",
    "delete a whole directory with everything in it": "shutil.rmtree",
    "how many days does a month have": "calendar.monthrange",
    "split a command line into words as the shell would": "shlex.split",
    "copy a file together with its permissions": "shutil.copy",
    "walk through a folder and everything below it": "os.walk",
    "which user is logged in": "getpass.getuser",
    "random token that is safe to put in a link": "secrets.token_urlsafe",
    "undo percent escapes in a URL": "urllib.parse.unquote",
}
"""What somebody wants to do, in other words than those of the docstring, and the function that does it."""

AGAIN = {
    "copy a file together with its permissions": "copy file data and permission bits",
    "which user is logged in": "login name of the current user",
}
"""How an agent asks again where the best answer does not fit: that about permissions says that it copies no text."""

ELSEWHERE = ("a recipe for onion soup with cheese", "who won the football world cup", "symptoms of the flu")


@pytest.mark.model
@pytest.mark.slow
def test_ten_questions_about_the_standard_library() -> None:
    """An agent that has the tools alone, over the index of `gossamer demo`: the calls it would make."""
    try:
        encoder = load_encoder("minilm")
        encoder.encode(["a word"])
    except (ModelUnavailableError, MissingExtraError) as error:
        pytest.skip(f"minilm is not to be had here: {error}")
    documents = stdlib.collect()

    async def agent(client: Any) -> None:
        assert "#" in await said(client, "contents")
        functions = {"kind": "function"}  # as the metadata of the first document it reads tells
        for question, function in QUESTIONS.items():
            for asked in filter(None, (question, AGAIN.get(question))):
                found = await said(client, "search", query=asked, k=3, where=functions)
                assert "Probably nothing" not in found, f"{asked}: an agent would give up"
                answer = found.partition("[")[2].partition("]")[0]
                text = await said(client, "read", id=answer)
                assert text.startswith("metadata: {")
                if answer == function:
                    break
            assert answer == function, f"{question}: {found}"
            words = {word for word in question.split() if len(word) > 3}
            shared = words & set(text.partition(f"{function}: ")[2].lower().split())
            assert len(shared) <= len(words) / 2, f"{question}: in the words of the docstring"
        for question in ELSEWHERE:
            assert "Probably nothing" in await said(client, "search", query=question)

    with Index(encoder) as index:
        index.add(
            [each.text for each in documents], [each.id for each in documents], [each.metadata for each in documents]
        )
        here(index, agent)
