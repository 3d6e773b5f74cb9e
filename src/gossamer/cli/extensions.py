"""Commands that other installed packages add to `gossamer`, such as `gossamer bench` of gossamer-lab.

A package offers a Typer app under the entry point group "gossamer.commands". Under a new name it becomes a group of
commands; under the name of an existing group, its commands join that group. Commands of gossamer-lab that are not
installed exist as hidden commands that say what to install.
"""

from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points

import typer

from gossamer.cli.command import complain
from gossamer.errors import GossamerError

GROUP = "gossamer.commands"

_LAB_EVAL = ("compare", "paper", "defaults", "robustness", "tree")
_ELSEWHERE = {
    **dict.fromkeys(("query", "ask", "find"), "gossamer search INDEX QUERY"),
    **dict.fromkeys(("add", "ingest", "build", "create"), "gossamer index PATHS --to INDEX"),
    **dict.fromkeys(
        ("list", "ls", "show", "stats", "status", "count"), "gossamer info INDEX, tree INDEX or topics INDEX"
    ),
    **dict.fromkeys(
        ("get", "read", "cat"), "gossamer search INDEX QUERY --full, or Index.open(INDEX).get(id) in Python"
    ),
    **dict.fromkeys(("remove", "rm", "drop"), "gossamer delete INDEX DOC_ID, or --where"),
    **dict.fromkeys(("server", "run", "ui", "explore"), "gossamer serve INDEX"),
}
"""Names that other programs have for what a command does."""

_ANY = {"ignore_unknown_options": True, "allow_extra_args": True}


def add_extensions(app: typer.Typer, points: Iterable[EntryPoint] | None = None) -> None:
    """Add the commands of all installed packages to `app`, and hints for those of gossamer-lab that are missing."""
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    found = {point.name: point for point in (entry_points(group=GROUP) if points is None else points)}
    for name, point in sorted(found.items()):
        try:
            extension: typer.Typer = point.load()
        except Exception as error:
            _explain(app, name, f"gossamer {name} cannot be loaded from {point.value}: {error}")
            continue
        if (group := groups.get(name)) is not None:
            group.registered_commands.extend(extension.registered_commands)
        else:
            app.add_typer(extension, name=name)
    if "bench" not in found:
        _explain(app, "bench", _to_install("gossamer bench"))
    if "eval" not in found and (group := groups.get("eval")) is not None:
        for name in _LAB_EVAL:
            _explain(group, name, _to_install(f"gossamer eval {name}"))


def add_hints(app: typer.Typer) -> None:
    """Let names that commands have elsewhere say what they are called here."""
    for name, here in _ELSEWHERE.items():
        _explain(app, name, f"there is no command {name!r}: here it is {here}")


def _to_install(command: str) -> str:
    return f"{command} is part of gossamer-lab, which is not installed: run pip install ./lab in a checkout"


def _explain(app: typer.Typer, name: str, message: str) -> None:
    """Add a hidden command that takes anything and ends with this error."""
    app.command(name, hidden=True, context_settings=_ANY)(_failing(message))


def _failing(message: str) -> Callable[[typer.Context], None]:
    def fail(context: typer.Context) -> None:
        complain(GossamerError(message))
        raise typer.Exit(1)

    return fail
