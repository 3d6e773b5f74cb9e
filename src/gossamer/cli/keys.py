"""`gossamer keys`: make, list and remove the keys of a server."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.options import Json, Quiet
from gossamer.cli.screen import Screen

app = typer.Typer(
    help="Keys for `gossamer serve`: make, list, remove.",
    no_args_is_help=True,
    epilog=examples("gossamer keys new keys.json --scope write", "gossamer keys list keys.json"),
)

KeyFile = Annotated[Path, typer.Argument(metavar="FILE", help="The key file.")]


class _Scope(StrEnum):
    read = "read"
    write = "write"
    admin = "admin"


@app.command(
    epilog=examples("gossamer keys new keys.json --scope read", "gossamer keys new keys.json --scope write --note ci")
)
@command
def new(
    file: KeyFile,
    scope: Annotated[_Scope, typer.Option(help="read: search and look; write: change too; admin: all.")] = _Scope.read,
    note: Annotated[str, typer.Option(help="Whose it is, or what for.")] = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a key. It is shown this once: the file keeps a salted hash of it. A running server takes it at once."""
    from gossamer.server.keys import add_key

    key, token = add_key(file, scope.value, note)
    screen = Screen(json=json, quiet=quiet)
    if screen.json:
        screen.emit({"id": key.id, "scope": key.scope, "note": key.note, "token": token})
    else:
        screen.say(f"key {key.id}, scope {key.scope}; it is shown only now:")
        typer.echo(token)


@app.command("list", epilog=examples("gossamer keys list keys.json", "gossamer keys list keys.json --json"))
@command
def list_(file: KeyFile, json: Json = False, quiet: Quiet = False) -> None:
    """List the keys of a file, without their secrets."""
    from gossamer.server.keys import read_keys

    screen = Screen(json=json, quiet=quiet)
    keys = read_keys(file)
    if screen.json:
        names = ("id", "scope", "note", "created")
        screen.emit({"keys": [{name: getattr(key, name) for name in names} for key in keys]})
    for key in keys if not screen.json else []:
        screen.show(f"{key.id}  {key.scope:5}  {key.created}  {key.note}".rstrip())


@app.command(epilog=examples(*(f"gossamer keys remove keys.json 1f2e3d4c{json}" for json in ("", " --json"))))
@command
def remove(
    file: KeyFile,
    id: Annotated[str, typer.Argument(metavar="ID", help="Its id, see gossamer keys list.")],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Remove a key. A running server refuses it from then on."""
    from gossamer.server.keys import remove_key

    gone = remove_key(file, id)
    screen = Screen(json=json, quiet=quiet)
    if screen.json:
        screen.emit({"removed": gone.id, "scope": gone.scope, "note": gone.note})
    else:
        screen.show(f"key {gone.id} ({gone.scope}) removed")
