"""`gossamer mcp`: an index as tools of a language model, by the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.opening import opened, prepare_encoder
from gossamer.cli.options import EncoderName, IndexPath, Quiet
from gossamer.cli.screen import Screen

EXAMPLES = examples(
    "gossamer mcp notes.gsm", "gossamer mcp notes.gsm --write", "gossamer mcp notes.gsm --http --port 8090"
)


@command
def mcp(
    index: IndexPath,
    write: Annotated[bool, typer.Option("--write", help="Let the model add and delete documents.")] = False,
    http: Annotated[bool, typer.Option("--http", help="Serve at http://127.0.0.1:PORT/mcp, not on stdio.")] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="With --http.")] = 8090,
    encoder: EncoderName = None,
    json: Annotated[bool, typer.Option("--json", help="With --http, print the address as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Serve an index to a language model: search, contents, topics, read, explain, more_like and novelty as tools.

    Speaks the Model Context Protocol on standard input and output, as assistants start it. Several may serve one index
    at a time, with --write as well. Documents that come from elsewhere are seen at the next call.
    """
    from gossamer.integrations.mcp import create_server

    screen = Screen(json=True, quiet=quiet)  # standard output belongs to the protocol
    with opened(index, screen, "w" if write else "r", encoder) as ix:
        prepare_encoder(ix.info().encoder, screen)
        server = create_server(ix, name=index.stem, writable=write)
        if http:
            if json:
                screen.emit({"url": f"http://127.0.0.1:{port}/mcp"})
            server.run("streamable-http", host="127.0.0.1", port=port)
        else:
            server.run("stdio")
