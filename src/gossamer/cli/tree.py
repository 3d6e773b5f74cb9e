"""`gossamer tree`: an index as a tree of concepts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.opening import opened
from gossamer.cli.options import IndexPath, Json, Quiet
from gossamer.cli.screen import Screen
from gossamer.cli.wording import one_line

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from gossamer.index import Index
    from gossamer.results import Concept

EXAMPLES = examples(
    "gossamer tree notes.gsm",
    "gossamer tree notes.gsm --within 42 --depth 1 --examples 3",
)


@command
def tree(
    index: IndexPath,
    depth: Annotated[int, typer.Option(min=0, help="Levels to show.")] = 3,
    within: Annotated[int | None, typer.Option(metavar="ID", help="Begin at this concept, not at the root.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Concepts to show below each, the largest first.")] = 8,
    examples: Annotated[int, typer.Option(min=0, help="Documents to show at the lowest level.")] = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the concepts an index has formed, from the root down.

    Each is named after a typical text in it, with its number of passages (documents, where texts are short) and its
    id for --within.
    """
    screen = Screen(json=json, quiet=quiet)
    with opened(index, screen) as ix, screen.working("reading the tree"):
        shown = _concepts(ix, within, depth)
        found = _documents(ix, shown, depth, examples)
    if screen.json:
        documents = {"examples": {str(id): rows for id, rows in found.items()}} if examples else {}
        screen.emit({"concepts": [asdict(concept) for concept in shown], **documents})
    elif not shown:
        screen.show("the index is empty")
    else:
        screen.show(_picture(shown, found, top))


def _concepts(ix: Index, within: int | None, depth: int) -> list[Concept]:
    """Every concept before those below it, large ones first."""
    if within is None:
        return ix.concepts(depth)
    first = ix.concept(within)
    found, waiting = [], [first]
    while waiting:
        concept = waiting.pop()
        found.append(concept)
        if concept.depth - first.depth < depth:
            below = [ix.concept(child) for child in concept.children]
            waiting.extend(sorted(below, key=lambda child: (child.size, -child.id)))
    return found


def _documents(ix: Index, shown: list[Concept], depth: int, most: int) -> dict[int, list[dict[str, str]]]:
    """A few documents of each concept that nothing is shown below."""
    if not most or not shown:
        return {}
    lowest = [concept for concept in shown if concept.depth == shown[0].depth + depth or not concept.children]
    ids = {concept.id: ix.ids(within=concept.id)[:most] for concept in lowest}
    return {
        concept: [{"id": document.id, "text": document.text} for document in ix.get(some)]
        for concept, some in ids.items()
    }


def _picture(shown: list[Concept], found: dict[int, list[dict[str, str]]], top: int) -> Tree:
    from rich.tree import Tree

    below: dict[int | None, list[Concept]] = defaultdict(list)
    for concept in shown[1:]:
        below[concept.parent].append(concept)

    def grow(branch: Tree, concept: Concept) -> None:
        for child in below[concept.id][:top]:
            grow(branch.add(_label(child)), child)
        if len(rest := below[concept.id][top:]):
            branch.add(_dim(f"… {len(rest)} more, {sum(child.size for child in rest):,} passages"))
        for document in found.get(concept.id, []):
            branch.add(_example(document))

    root = Tree(_label(shown[0], "everything" if shown[0].parent is None else None), guide_style="dim")
    grow(root, shown[0])
    return root


def _label(concept: Concept, name: str | None = None) -> Text:
    from rich.text import Text

    label = Text(no_wrap=True, overflow="ellipsis")
    label.append(f"{concept.size:,}", style="bold")
    label.append(f" #{concept.id} ", style="dim")
    label.append(name or one_line(concept.label), style="cyan")
    return label


def _example(document: dict[str, Any]) -> Text:
    from rich.text import Text

    return Text(f"{one_line(document['id'])}: {one_line(document['text'])}", no_wrap=True, overflow="ellipsis")


def _dim(text: str) -> Text:
    from rich.text import Text

    return Text(text, style="dim", no_wrap=True, overflow="ellipsis")
