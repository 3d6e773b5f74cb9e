"""What the lab's commands share: options, progress, and showing a report.

What they take from Gossamer's command line is imported here alone.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.options import Json, Quiet, complete_encoder
from gossamer.cli.screen import Screen

if TYPE_CHECKING:
    from gossamer_lab.job import Job
    from gossamer_lab.tables import Report

__all__ = [
    "Cache", "Data", "Fresh", "Json", "Model", "Out", "Quick", "Quiet", "Screen", "command", "complete_encoder",
    "examples",
]  # fmt: skip

Data: TypeAlias = Annotated[
    Path | None, typer.Option("--data", help="Folder with data/ and embeddings/; else $GOSSAMER_DATA or ../shared.")
]
Out: TypeAlias = Annotated[
    Path | None, typer.Option("--out", help="Also write Markdown, CSV, JSON and pictures into this folder.")
]
Cache: TypeAlias = Annotated[Path | None, typer.Option(help="Where vectors and rankings are kept between runs.")]
Fresh: TypeAlias = Annotated[bool, typer.Option("--fresh", help="Rank everything again; use no kept rankings.")]
Quick: TypeAlias = Annotated[bool, typer.Option("--quick", help="Less of everything: minutes instead of an hour.")]
Model: TypeAlias = Annotated[
    str, typer.Option(help="An encoder, or the name of ready vectors.", autocompletion=complete_encoder)
]

_WIDE = 130
"""Columns that whole tables need; a narrower terminal gets the most telling columns."""


@contextmanager
def watched(
    screen: Screen,
    folder: Path | None,
    cache: Path | None,
    *,
    quick: bool = False,
    fresh: bool = False,
    vectors: Path | None = None,
) -> Iterator[Job]:
    """A job whose steps are shown as a progress bar on a terminal."""
    from gossamer_lab.job import Job

    typed = shlex.join(["gossamer", *sys.argv[1:]]) if sys.argv[1:2] in (["eval"], ["bench"]) else "gossamer eval"
    if not screen.lively:
        yield Job(folder, cache, quick, fresh, vectors=vectors, command=typed)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=screen.err, transient=True) as progress:
        task = progress.add_task("reading", total=None)

        def say(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total or None)

        yield Job(folder, cache, quick, fresh, say, vectors, typed)


def finish(
    screen: Screen, report: Report, out: Path | None, *, draw: Callable[[Path], Sequence[Path]] = lambda out: ()
) -> None:
    """Show a report, and write it and its pictures if a folder is given."""
    from rich.text import Text

    from gossamer_lab import fingerprint, pages
    from gossamer_lab.tables import rich_table, to_json, write

    files: list[Path] = []
    if out is not None:
        report = replace(report, engine=fingerprint.of_this_engine(pages.families_of(report.name)))
        files = [*write(report, out), *draw(out)]
        pages.mark(out, [report.name])
    if screen.json:
        screen.emit({**to_json(report), "files": [str(file) for file in files]})
        return
    if not screen.out.is_terminal:
        screen.out.width = max(screen.out.width, 200)
    for table in report.tables:
        shown = rich_table(table, narrow=screen.out.width < _WIDE)
        screen.show("", shown, *(Text(note, style="dim") for note in table.notes))
    screen.show(report.made)
    if files:
        screen.say(f"wrote {len(files)} files into {out}")
