"""Commands that other installed packages add to `gossamer`, such as `gossamer bench` of gossamer-lab.

A package offers a Typer app under the entry point group "gossamer.commands". Under a new name it becomes a group of
commands; under the name of a group that exists, its commands join that group.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

import typer

from gossamer.cli.command import complain
from gossamer.errors import GossamerError

GROUP = "gossamer.commands"

_IN_LAB = {
    "bench": "Measure gossamer beside other vector indexes.",
    "eval": "Run the paper's experiments, and evaluate defaults.",
}


def add_extensions(app: typer.Typer) -> None:
    """Add the commands of all installed packages; where a known one is missing, a command that says what to install."""
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    found = {point.name: point for point in entry_points(group=GROUP)}
    for name, point in sorted(found.items()):
        extension = point.load()
        if (group := groups.get(name)) is not None:
            group.registered_commands.extend(extension.registered_commands)
        else:
            app.add_typer(extension, name=name)
    for name in _IN_LAB.keys() - found.keys() - groups.keys():
        app.command(name, help=f"{_IN_LAB[name]} (Not installed.)")(_missing(name))


def _missing(name: str) -> Callable[[], None]:
    def missing() -> None:
        complain(GossamerError(f"gossamer {name} is part of gossamer-lab: run pip install ./lab in a checkout"))
        raise typer.Exit(1)

    return missing
