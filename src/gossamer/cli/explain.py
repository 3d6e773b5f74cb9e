"""`gossamer explain`: why a document scores as it does."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.opening import opened, prepare_encoder
from gossamer.cli.options import Hybrid, IndexPath, Json, Quiet, Weight, concept_path, hybrid_weight
from gossamer.cli.screen import Screen
from gossamer.cli.wording import excerpt, highlighted, one_line, telling

if TYPE_CHECKING:
    from rich.table import Table

    from gossamer.results import TextExplanation

EXAMPLES = examples(
    'gossamer explain notes.gsm "how do plants make sugar" biology.md',
    'gossamer explain stdlib.gsm "run a command" os.system --json',
)

_BAR = 12


@command
def explain(
    index: IndexPath,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The query.")],
    document: Annotated[str, typer.Argument(metavar="DOC_ID", help="Any document, also one that was not found.")],
    hybrid: Hybrid = True,
    weight: Weight = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show why a document scores as it does for a query, concept by concept.

    The gain of a concept is the evidence won by going there from the one above; the gains add up.
    """
    screen = Screen(json=json, quiet=quiet)
    with opened(index, screen) as ix:
        prepare_encoder(ix.info().encoder, screen)
        with screen.working("explaining"):
            why = ix.explain(query, document, hybrid=hybrid_weight(hybrid, weight))
    if screen.json:
        screen.emit(_as_json(why))
    else:
        _show(screen, query, why)


def _as_json(why: TextExplanation) -> dict[str, Any]:
    steps = [
        {**concept, "log_p": step.log_p, "gain": step.gain}
        for concept, step in zip(concept_path(why.path), why.steps, strict=True)
    ]
    return {**asdict(why), "path": steps, "steps": len(steps)}


def _show(screen: Screen, query: str, why: TextExplanation) -> None:
    from rich.text import Text

    stems = telling(query)
    words = f", words: {', '.join(why.words)}" if why.words and why.lexical > 0 else ""
    screen.show(
        Text(one_line(why.id), style="bold cyan"),
        highlighted(excerpt(why.passage, stems, 4 * screen.out.width), stems),
        Text(
            f"score {why.score:.3f} = meaning {why.dense:.3f} + words {why.lexical:.3f} (at most {why.weight:g}{words})"
        ),
        _table(why),
    )


def _table(why: TextExplanation) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    table.add_column("concept", ratio=1, overflow="ellipsis", no_wrap=True)
    for name, width in (("id", 6), ("size", 7), ("gain", 8)):
        table.add_column(name, justify="right", no_wrap=True, min_width=width)
    table.add_column("", no_wrap=True, width=_BAR)
    most = max((abs(step.gain) for step in why.steps), default=0.0) or 1.0
    for concept, step in zip(why.path, why.steps, strict=True):
        label = "everything" if concept.depth == 0 else one_line(concept.label)
        bar = Text("█" * round(_BAR * abs(step.gain) / most), style="green" if step.gain >= 0 else "red")
        table.add_row(Text(label), str(concept.id), f"{concept.size:,}", f"{step.gain:+.1f}", bar)
    table.add_section()
    table.add_row(Text("in all"), "", "", f"{sum(step.gain for step in why.steps):+.1f}", "", style="bold")
    return table
