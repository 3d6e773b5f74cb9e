"""`gossamer topics`: a corpus in n groups, as a table in the terminal or for other programs."""

from __future__ import annotations

import csv as csv_files
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.opening import opened
from gossamer.cli.options import EncoderName, IndexPath, Json, Quiet
from gossamer.cli.screen import Screen
from gossamer.errors import DiskError, InputError, MissingExtraError
from gossamer.plain_text import one_line, shortened

if TYPE_CHECKING:
    from rich.table import Table

    from gossamer.index import Index
    from gossamer.results import Topics

EXAMPLES = examples(
    "gossamer topics notes.gsm",
    "gossamer topics notes.gsm --n 20 --examples 3",
    "gossamer topics notes.gsm --levels 8,40 --json",
    "gossamer topics news.gsm --by year",
    "gossamer topics news.gsm --n 50 --csv topics.csv",
    'gossamer topics news.gsm --rename 812="Space travel"',
)

_GROUPS = 12
_VALUES = 8
"""Values of a field that have a column of their own; the others are counted together."""
_OTHER, _NONE = "other", "none"
"""Columns of all further values, and of documents without one."""


@command
def topics(
    index: IndexPath,
    n: Annotated[int | None, typer.Option("--n", "-n", min=1, help=f"Groups; {_GROUPS} by default.")] = None,
    levels: Annotated[
        str | None, typer.Option(metavar="N,N", help="Several cuts, coarse to fine, each within the one before.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Count the values of this metadata field in each group.")
    ] = None,
    examples: Annotated[int, typer.Option(min=0, max=3, help="Typical documents to show of each group.")] = 1,
    rename: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=NAME", help="Name a concept first, for good; ID= takes the name away. Repeatable."),
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table to this file.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write the table to this file; needs pyarrow.")] = None,
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show a corpus in groups: the best cut of its tree, whatever the depth.

    Each group has its share of the documents, its id for other commands, its name, and terms that set it apart.
    """
    screen = Screen(json=json, quiet=quiet)
    sizes, names = _sizes(n, levels), _names(rename or [])
    with opened(index, screen, "w" if names else "r", encoder) as ix, screen.working("cutting the tree"):
        for id, name in names:
            ix.rename_concept(id, name)
        cuts = ix.topics(levels=sizes)
        rows = _rows(cuts)
        values = [] if by is None else _count_values(ix, cuts, rows, by)
    for path, write in ((csv, _write_csv), (parquet, _write_parquet)):
        if path is not None:
            _written(path, write, _flat(rows, values))
            screen.say(f"{path}: {len(rows):,} groups")
    if screen.json:
        screen.emit({"topics": rows, **({} if by is None else {"by": by, "values": values})})
    elif csv is None and parquet is None:
        held = [row for row in rows if row["size"]]
        screen.show(_table(held, values, examples, several=len(cuts) > 1) if held else "the index is empty")
        if len(held) < len(rows):
            screen.say(f"{len(rows) - len(held):,} more groups hold parts of documents that are mostly in others")


def _sizes(n: int | None, levels: str | None) -> list[int]:
    if levels is None:
        return [n or _GROUPS]
    if n is not None:
        raise typer.BadParameter("give --n or --levels, not both", param_hint="--levels")
    try:
        return [int(part) for part in levels.split(",")]
    except ValueError:
        raise typer.BadParameter(f"numbers as in 8,40, got {levels!r}", param_hint="--levels") from None


def _names(given: list[str]) -> list[tuple[int, str | None]]:
    found = []
    for each in given:
        id, equals, name = each.partition("=")
        if not equals or not id.strip().isdecimal():
            raise typer.BadParameter(f'an id and a name as in 812="Space travel", got {each!r}', param_hint="--rename")
        found.append((int(id), name.strip() or None))
    return found


def _rows(cuts: list[Topics]) -> list[dict[str, Any]]:
    """The groups of all cuts, each below the one of the cut before that it lies in."""
    by_parent: dict[tuple[int, int | None], list[dict[str, Any]]] = {}
    for level, cut in enumerate(cuts):
        above = {} if level == 0 else _groups_above(cut, cuts[level - 1])
        for row in cut.rows():
            row |= {"level": level, "within": above.get(row["id"])}
            by_parent.setdefault((level, row["within"]), []).append(row)
    ordered: list[dict[str, Any]] = []

    def visit(level: int, above: int | None) -> None:
        for row in by_parent.get((level, above), []):
            ordered.append(row)
            visit(level + 1, row["id"])

    visit(0, None)
    return ordered


def _groups_above(cut: Topics, coarser: Topics) -> dict[int, int]:
    """For each group, the one of a coarser cut that most of its documents are in, or else its exemplar."""
    votes = {each.id: Counter([coarser.assignments[each.exemplars[0].id]]) for each in cut.concepts}
    for id, group in cut.assignments.items():
        votes[group][coarser.assignments[id]] += 1
    return {group: counts.most_common(1)[0][0] for group, counts in votes.items()}


def _count_values(ix: Index, cuts: list[Topics], rows: list[dict[str, Any]], field: str) -> list[str]:
    """Add to each row how often each value of a field is in its group; returns the most frequent values."""
    documents = ix.get(ix.ids())
    fields = sorted({name for document in documents for name in document.metadata})
    if field not in fields:
        raise InputError(f"no document has the field {field!r}: choose one of {', '.join(fields) or 'none'}")
    value_of = {document.id: _value(document.metadata.get(field)) for document in documents}
    frequent = [value for value, _ in Counter(value_of.values()).most_common(_VALUES)]
    counts = [Counter[tuple[int, str]]() for _ in cuts]
    for cut, counted in zip(cuts, counts, strict=True):
        counted.update((group, value_of[id]) for id, group in cut.assignments.items())
    for row in rows:
        own = {value: count for (group, value), count in counts[row["level"]].items() if group == row["id"]}
        row["by"] = dict(sorted(own.items(), key=lambda each: (-each[1], each[0])))
    return sorted(frequent)


def _value(value: Any) -> str:
    return _NONE if value is None else str(value)


def _table(rows: list[dict[str, Any]], values: list[str], examples: int, *, several: bool) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("share", "documents", "id"):
        table.add_column(column, justify="right")
    table.add_column("topic")
    for value in values:
        table.add_column(shortened(value, 12), justify="right")
    for row in rows:
        indent = "  " * row["level"] if several else ""
        name = Text(f"{indent}{row['label']}", style="bold")
        more = [term for term in row["terms"] if term not in row["label"]]
        if more and not values:
            name.append(f"\n{indent}{', '.join(more[:5])}", style="dim")
        for text in row["exemplars"][:examples] if not values else ():
            name.append(f"\n{indent}“{shortened(one_line(text), 90)}”", style="not bold italic")
        counts = [f"{row['by'].get(value, 0) / max(1, row['size']):.0%}" for value in values]
        table.add_row(f"{row['share']:.1%}", f"{row['size']:,}", str(row["id"]), name, *counts)
    return table


def _flat(rows: list[dict[str, Any]], values: list[str]) -> list[dict[str, Any]]:
    """The rows with one column for each value, and lists as text."""
    flat = []
    for row in rows:
        own = {name: value for name, value in row.items() if name != "by"}
        own["terms"], own["exemplars"] = ", ".join(row["terms"]), " | ".join(row["exemplars"])
        counted = row.get("by", {})
        own |= {f"by:{value}": counted.get(value, 0) for value in values}
        if values:
            own[f"by:{_OTHER}"] = sum(counted.values()) - sum(counted.get(value, 0) for value in values)
        flat.append(own)
    return flat


def _written(path: Path, write: Any, rows: list[dict[str, Any]]) -> None:
    try:
        write(path, rows)
    except OSError as error:
        raise DiskError(f"{path} cannot be written ({error.strerror}): choose another place") from error


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv_files.DictWriter(file, fieldnames=list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("Writing .parquet", "parquet") from error
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), str(path))
