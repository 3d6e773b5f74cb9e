"""The `gossamer` command and its subcommands."""

from difflib import get_close_matches
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import gossamer
from gossamer.cli import (
    cluster,
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
from gossamer.cli.command import TakesQuery, examples
from gossamer.cli.extensions import add_extensions, add_hints


class Commands(TyperGroup):
    """The commands; for a misspelt one, none that is hidden is suggested."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names."""
        if self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], [name for name, each in self.commands.items() if not each.hidden])
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    help="Semantic search that shows its reasons.",
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
    """Semantic search that shows its reasons: documents form a tree of concepts, and answers come with their paths."""


app.command(epilog=demo.EXAMPLES)(demo.demo)
app.command(epilog=index.EXAMPLES)(index.index)
app.command(cls=TakesQuery, epilog=search.EXAMPLES, context_settings={"allow_extra_args": True})(search.search)
app.command(cls=TakesQuery, epilog=explain.EXAMPLES)(explain.explain)
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
app.add_typer(cluster.app, name="cluster")
app.add_typer(keys.app, name="keys")
app.add_typer(models.app, name="models")
app.add_typer(eval.app, name="eval")
add_extensions(app)
add_hints(app)
