"""`gossamer explain`: why a document scores as it does for a query."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.formatting import excerpt
from gossamer.cli.opening import opened, prepare_encoder
from gossamer.cli.options import EncoderName, Hybrid, IndexPath, Json, Quiet, Weight, hybrid_weight
from gossamer.cli.screen import Screen
from gossamer.errors import UnknownIdError
from gossamer.plain_text import one_line

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from gossamer.results import ConceptStep, Explanation

EXAMPLES = examples(
    'gossamer explain notes.gsm "how do plants make sugar" biology.md',
    'gossamer explain stdlib.gsm "run a command" os.system --json',
)

_BAR = 12
"""Width of the longest bar, in characters."""
_ROOMY, _WIDE = 70, 110
"""Widths of the terminal, in characters, from which on more columns are shown."""


@command
def explain(
    index: IndexPath,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The query.")],
    document: Annotated[str, typer.Argument(metavar="DOC_ID", help="Any document, also one that was not found.")],
    hybrid: Hybrid = True,
    weight: Weight = None,
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show why a document scores as it does for a query, concept by concept.

    What the concepts on its path add, together with what every document gets from the root, is its score by meaning.
    The step where it parts from the best document is bold, its basic level green.
    """
    screen = Screen(json=json, quiet=quiet)
    with opened(index, screen, encoder=encoder) as ix:
        if document not in ix and query in ix:
            raise UnknownIdError(
                f"there is no document {document!r}, but {query!r} is one, and the query comes first: "
                f"gossamer explain {shlex.join([str(index), document, query])}"
            )
        prepare_encoder(ix.info().encoder, screen)
        with screen.working("explaining"):
            why = ix.explain(query, document, hybrid=hybrid_weight(hybrid, weight))
    if screen.json:
        screen.emit(why.to_dict())
    else:
        _show(screen, why)


def _show(screen: Screen, why: Explanation) -> None:
    from rich.text import Text

    screen.show(
        Text(one_line(why.id), style="bold cyan"),
        excerpt(why.passage, (), 4 * screen.out.width),
        Text(one_line(" ".join(why.sentences)), style="italic"),
        _table(why, screen.out.width),
    )


def _table(why: Explanation, width: int) -> Table:
    """A row for each concept on the path, and what it adds to the score."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    table.add_column("concept", ratio=3, overflow="ellipsis", no_wrap=True)
    for name, least in _columns(width):
        table.add_column(name, justify="right", no_wrap=True, min_width=least)
    if wide := width >= _WIDE:
        table.add_column("best sibling", ratio=2, overflow="ellipsis", no_wrap=True)
    table.add_column("", no_wrap=True, width=_BAR if width >= _ROOMY else 4)
    most = max((abs(step.contribution) for step in why.path), default=0.0) or 1.0
    for at, step in enumerate(why.path):
        style = "bold" if at == why.decided_at else ""
        sibling = [Text("" if step.rival is None else one_line(step.rival.label), style="dim")] if wide else []
        bar = _bar(step.contribution / most, _BAR if width >= _ROOMY else 4)
        table.add_row(_name(step), *_figures(step, why.base, width), *sibling, bar, style=style)
    table.add_section()
    sums = [("how the text begins", why.opening, "")] if why.opening else []
    for name, value, style in (*sums, ("by meaning, in all", why.dense, "bold")):
        blank = [""] * (len(table.columns) - 2)
        blank[len(_columns(width)) - 1] = f"{value:+.3f}"
        table.add_row(Text(name), *blank, "", style=style)
    return table


def _columns(width: int) -> list[tuple[str, int]]:
    roomy = [("id", 6), ("size", 7)] if width >= _ROOMY else [("size", 6)]
    wide = [("log p", 8), ("gain", 7), ("margin", 7)] if width >= _WIDE else []
    return [*roomy, *wide, ("adds", 7)]


def _figures(step: ConceptStep, base: float, width: int) -> list[str]:
    first = step.margin is None
    figures = {
        "id": str(step.concept.id),
        "size": f"{step.concept.size:,}",
        "log p": f"{step.log_p:.1f}",
        "gain": "" if first else f"{step.gain:+.1f}",
        "margin": "" if step.margin is None else f"{step.margin:+.1f}",
        "adds": f"{base if first else step.contribution:+.3f}",
    }
    return [figures[name] for name, _ in _columns(width)]


def _name(step: ConceptStep) -> Text:
    from rich.text import Text

    concept = step.concept
    label = "everything" if concept.depth == 0 else one_line(concept.label)
    return Text(label, style="green" if concept.basic else "")


def _bar(share: float, width: int) -> Text:
    from rich.text import Text

    return Text("█" * round(width * abs(share)), style="green" if share >= 0 else "red")
