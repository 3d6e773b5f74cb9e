"""The `gossamer` command and its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

import gossamer
from gossamer.cli.demo import demo

app = typer.Typer(help="Hierarchical semantic retrieval with Cobweb.", no_args_is_help=True, add_completion=True)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(gossamer.__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Hierarchical semantic retrieval with Cobweb."""


app.command()(demo)
