"""`gossamer delete`: documents out of an index."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.opening import opened
from gossamer.cli.options import EncoderName, IndexPath, Json, Quiet, Where, parse_where
from gossamer.cli.screen import Screen
from gossamer.cli.wording import documents, listed

if TYPE_CHECKING:
    from gossamer.index import Index

EXAMPLES = examples(
    "gossamer delete notes.gsm old.md drafts/plan.md",
    'gossamer delete news.gsm --where \'{"year": {"$lt": 2000}}\' --dry-run',
    "cat ids.txt | gossamer delete news.gsm -",
)


@command
def delete(
    index: IndexPath,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[DOC_ID]...", help="Ids, or - for one a line.")] = None,
    where: Where = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Delete documents by id, or all whose metadata match a filter. Ids that are not there are no error."""
    condition = parse_where(where)
    if (condition is None) == (not ids):
        raise typer.BadParameter("name either documents or a --where, and not both", param_hint="DOC_ID")
    screen = Screen(json=json, quiet=quiet)
    with opened(index, screen, "r" if dry_run else "w", encoder) as ix:
        chosen = _from_stdin(ids) if ids else ix.ids(where=condition)
        there = _there(ix, chosen)
        deleted = 0 if dry_run else ix.delete(there)
        left = len(ix)
    if screen.json:
        missing = len(set(chosen)) - len(there)
        screen.emit({"deleted": deleted, "found": there, "missing": missing, "documents": left, "dry_run": dry_run})
    elif dry_run:
        screen.show(f"{documents(len(there))} would be deleted" + (f": {listed(there)}" if there else ""))
    else:
        screen.show(f"{documents(deleted)} deleted, {left:,} left")


def _there(ix: Index, ids: list[str]) -> list[str]:
    """Those of the ids that the index holds, each once."""
    known = set(ix.ids())
    return [id for id in dict.fromkeys(ids) if id in known]


def _from_stdin(ids: list[str]) -> list[str]:
    """The ids with those on standard input in place of a dash."""
    if "-" not in ids:
        return ids
    lines = [line.strip() for line in sys.stdin]
    return [id for id in ids if id != "-"] + [line for line in lines if line]
