"""`gossamer eval labels`: how well the names of concepts name them."""

from __future__ import annotations

from typing import Annotated

import typer

from gossamer_lab.cli import eval_tree
from gossamer_lab.cli.common import (
    Cache,
    Data,
    Json,
    Model,
    Out,
    Quick,
    Quiet,
    Screen,
    command,
    examples,
    finish,
    watched,
)

EXAMPLES = examples(
    "gossamer eval labels --quick",
    "gossamer eval labels --out docs/results",
    "gossamer eval labels --collection my-folder/",
)

_QUICK = 2000
"""Documents of each collection in a quick run."""


app = eval_tree.app


@app.command(epilog=EXAMPLES)
@command
def labels(
    collection: Annotated[
        list[str] | None,
        typer.Option(
            help="20newsgroups, banking77, bbc_news, or a folder with a corpus.jsonl of texts and labels; can be "
            "given several times. The first two by default."
        ),
    ] = None,
    model: Model = "minilm",
    documents: Annotated[int | None, typer.Option(min=100, help="Documents of each collection, at most.")] = None,
    seed: Annotated[int, typer.Option(help="Seed by which documents are drawn.")] = 0,
    quick: Quick = False,
    data: Data = None,
    out: Out = None,
    cache: Cache = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure labels: how well each finds the members of its concept among those of the siblings.

    Beside them stand the labels that BERTopic would give the same groups.
    """
    screen = Screen(json=json, quiet=quiet)
    with screen.working("starting"):
        from gossamer_lab.trees import labels as task
    wanted = task.Wanted(
        collections=tuple(collection or task.COLLECTIONS),
        model=model,
        documents=documents or (_QUICK if quick else None),
        seed=seed,
    )
    with watched(screen, data, cache, quick=quick) as job:
        report = task.report(wanted, job)
    finish(screen, report, out)
