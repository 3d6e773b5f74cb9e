"""`gossamer info`: what an index is and what it takes."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from gossamer.cli.command import command, examples
from gossamer.cli.opening import opened
from gossamer.cli.options import IndexPath, Json, Quiet
from gossamer.cli.screen import Screen
from gossamer.cli.wording import one_line

if TYPE_CHECKING:
    from gossamer.results import IndexInfo

EXAMPLES = examples("gossamer info notes.gsm", "gossamer info notes.gsm --json")


@command
def info(index: IndexPath, json: Json = False, quiet: Quiet = False) -> None:
    """Show what an index holds, how it was made, and what it takes on disk."""
    screen = Screen(json=json, quiet=quiet)
    from gossamer.index.encoding import Unloaded

    with opened(index, screen, encoder=Unloaded()) as ix:
        about = ix.info()
    if screen.json:
        screen.emit(asdict(about))
    else:
        _show(screen, about)


def _show(screen: Screen, about: IndexInfo) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(about).items():
        table.add_row(name, Text(one_line(value)))
    screen.show(table)


def _rows(about: IndexInfo) -> dict[str, str]:
    degraded = {"degraded": f"{about.degraded}: run gossamer repair"} if about.degraded else {}
    return degraded | {
        "index": about.path or "in memory",
        "documents": f"{about.documents:,}",
        "passages": f"{about.passages:,}",
        "concepts": f"{about.concepts:,}",
        "encoder": about.encoder + (f", {about.dim} dimensions" if about.dim else ""),
        "whitening": "fitted" if about.whitened else "not yet: too few documents",
        "on disk": f"{about.bytes / 1e6:,.1f} MB",
        "operations": f"{about.operation:,}, tree saved after {', '.join(map(str, about.snapshots)) or 'none'}",
        "created": f"{about.created} by Gossamer {about.written_by}",
    }
