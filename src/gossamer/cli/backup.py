"""`gossamer backup`: a consistent copy of an index, while others write to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.options import IndexPath, Json, Quiet
from gossamer.cli.screen import Screen

EXAMPLES = examples("gossamer backup notes.gsm /backups/notes.gsm", "gossamer backup /backups/notes.gsm notes.gsm")


@command
def backup(
    index: IndexPath,
    to: Annotated[Path, typer.Argument(metavar="TO", help="The copy: must be new, or an earlier copy.")],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Copy an index as it is after one operation, also while it is being written.

    The copy is an index of its own: open it as it is, or restore it by copying it back.
    """
    from gossamer.store import Store
    from gossamer.store.backup import back_up
    from gossamer.store.layout import Layout

    screen = Screen(json=json, quiet=quiet)
    with screen.working(f"copying {index.name}"):
        store = Store.open(index, "r")
        try:
            operation = back_up(store.database, store.layout, Layout(to))
        finally:
            store.close()
        size = Layout(to).bytes()
    if screen.json:
        screen.emit({"path": str(to), "operation": operation, "bytes": size})
    else:
        screen.show(f"{to} is {index} as of operation {operation:,} ({size / 1e6:,.1f} MB)")
