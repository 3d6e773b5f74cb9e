"""`gossamer repair`: a healthy index from a damaged one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.options import IndexPath, Json, Quiet, complete_encoder
from gossamer.cli.screen import Screen
from gossamer.cli.wording import documents

EXAMPLES = examples("gossamer repair notes.gsm", "gossamer repair notes.gsm --encoder st:all-mpnet-base-v2 --json")

_SHOWN = 20


@command
def repair(
    index: IndexPath,
    encoder: Annotated[
        str | None,
        typer.Option(help="Encodes documents whose vectors are lost.", autocompletion=complete_encoder),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a healthy index from whatever a damaged one still holds, and list what is lost.

    The damaged folder is kept beside it. An index without damage is left alone.
    """
    from gossamer.index import Index

    screen = Screen(json=json, quiet=quiet)
    with screen.bar("repairing", "texts") as bar:
        bar(0, None)
        done = Index.repair(index, encoder, progress=bar)
    if screen.json:
        screen.emit({**asdict(done), "was_sound": done.was_sound})
        return
    if done.was_sound:
        screen.show(f"{documents(done.documents)}, nothing to repair")
        return
    again = f", {done.encoded_again:,} of them encoded again" if done.encoded_again else ""
    screen.show(f"{documents(done.documents)} saved{again}; the damaged index is now {done.kept}")
    for lost in done.lost[:_SHOWN]:
        screen.show(f"lost: {lost.id}: {lost.reason}")
    if len(done.lost) > _SHOWN:
        screen.show(f"and {len(done.lost) - _SHOWN:,} more: see --json")
