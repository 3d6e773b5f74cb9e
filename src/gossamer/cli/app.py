"""The `gossamer` command and its subcommands."""

from typing import Annotated

import typer

import gossamer
from gossamer.cli import (
    demo,
    eval,
    explain,
    index,
    keys,
    maintenance,
    mcp,
    models,
    search,
    serve,
    topics,
    transfer,
    tree,
)
from gossamer.cli.command import examples
from gossamer.cli.extensions import add_extensions

app = typer.Typer(
    help="Hierarchical semantic retrieval with Cobweb.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("gossamer demo", "gossamer index notes/ --to notes.gsm"),
)


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
    """Hierarchical semantic retrieval with Cobweb: every answer shows the path of concepts that led to it."""


app.command(epilog=demo.EXAMPLES)(demo.demo)
app.command(epilog=index.EXAMPLES)(index.index)
app.command(epilog=search.EXAMPLES)(search.search)
app.command(epilog=explain.EXAMPLES)(explain.explain)
app.command(epilog=topics.EXAMPLES)(topics.topics)
app.command(epilog=tree.EXAMPLES)(tree.tree)
app.command(epilog=maintenance.INFO_EXAMPLES)(maintenance.info)
app.command(epilog=maintenance.DELETE_EXAMPLES)(maintenance.delete)
app.command(epilog=maintenance.COMPACT_EXAMPLES)(maintenance.compact)
app.command(epilog=maintenance.REBUILD_EXAMPLES)(maintenance.rebuild)
app.command(epilog=maintenance.REENCODE_EXAMPLES)(maintenance.reencode)
app.command("refine", hidden=True, epilog=maintenance.REBUILD_EXAMPLES)(maintenance.rebuild)  # its former name
app.command(epilog=maintenance.BACKUP_EXAMPLES)(maintenance.backup)
app.command(epilog=maintenance.REPAIR_EXAMPLES)(maintenance.repair)
app.add_typer(transfer.app, name="import")
app.command(epilog=transfer.EXPORT_EXAMPLES)(transfer.export)
app.command(epilog=serve.EXAMPLES)(serve.serve)
app.command(epilog=mcp.EXAMPLES)(mcp.mcp)
app.add_typer(keys.app, name="keys")
app.add_typer(models.app, name="models")
app.add_typer(eval.app, name="eval")
add_extensions(app)
