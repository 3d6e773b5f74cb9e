"""`gossamer eval all|check`: every page of results made again, and which of them the current engine made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.errors import InputError
from gossamer_lab.cli.common import Data, Json, Quick, Screen, command, examples
from gossamer_lab.cli.eval import app as app

_ALL = examples("gossamer eval all --out docs/results", "gossamer eval all --quick --only words --out out")
Folder = Annotated[Path, typer.Option("--out", help="The folder of the pages.")]


@app.command("all", epilog=_ALL)
@command
def make_all(
    out: Folder = Path("docs/results"),
    only: Annotated[list[str] | None, typer.Option(help="A page; can be given several times. All by default.")] = None,
    quick: Quick = False,
    data: Data = None,
    json: Json = False,
) -> None:
    """Make every page of results again, each by its own command, one after the other.

    A command that fails is told at the end and stops no other. Take a quiet machine: some pages are of times.
    """
    from gossamer_lab import pages

    known = [page.name for page in pages.PAGES]
    for name in only or ():
        if name not in known:
            raise InputError(f"there is no page {name!r}: choose one of {', '.join(known)}")
    screen = Screen(json=json)
    options = [*(["--quick"] if quick else []), *(["--data", str(data)] if data is not None else [])]
    codes = pages.make_all(out, options, only=only or (), say=screen.say)
    failed = [name for name, code in codes.items() if code]
    if json:
        screen.emit({"pages": codes})
    elif not failed:
        screen.show(f"made {len(codes)} pages in {out}")
    if failed:
        raise InputError(f"could not make {', '.join(failed)}: what each said stands above")


@app.command(epilog=examples("gossamer eval check", "gossamer eval check --mark"))
@command
def check(
    out: Folder = Path("docs/results"),
    mark: Annotated[
        bool, typer.Option("--mark", help="Write into each page whether an earlier engine made it.")
    ] = False,
    json: Json = False,
) -> None:
    """List the pages of results that an earlier engine made: the fingerprint of what it answers is another."""
    from gossamer_lab import pages

    screen = Screen(json=json)
    earlier = pages.mark(out) if mark else [page.name for page in pages.PAGES if not pages.is_current(page, out)]
    if json:
        screen.emit({"earlier": earlier})
    else:
        screen.show("\n".join(earlier) if earlier else "the current engine made all pages")
