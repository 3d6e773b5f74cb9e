"""`gossamer eval tree`: the concept tree beside k-means, Ward and Cobweb alone."""

from __future__ import annotations

from typing import Annotated

import typer

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
from gossamer_lab.cli.eval_pages import app as app

EXAMPLES = examples(
    "gossamer eval tree --quick",
    "gossamer eval tree --out docs/results",
    "gossamer eval tree --collection bbc_news --orders 10",
    "gossamer eval tree --collection my-folder/ --model lsa",
)

_QUICK = 2000
"""Documents of each collection in a quick run."""


@app.command(epilog=EXAMPLES)
@command
def tree(
    collection: Annotated[
        list[str] | None,
        typer.Option(
            help="20newsgroups, banking77, bbc_news, or a folder with a corpus.jsonl of texts and labels; can be "
            "given several times. The three by default, and qqp and msmarco for topics."
        ),
    ] = None,
    model: Model = "minilm",
    orders: Annotated[int | None, typer.Option(min=1, help="Random orders, and seeds of k-means, to average.")] = None,
    sample: Annotated[
        int | None, typer.Option(min=10, help="Documents for Ward, whose memory grows with their square.")
    ] = None,
    documents: Annotated[int | None, typer.Option(min=10, help="Documents of each collection, at most.")] = None,
    seed: Annotated[int, typer.Option(help="Seed by which documents are drawn.")] = 0,
    quick: Quick = False,
    data: Data = None,
    out: Out = None,
    cache: Cache = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the tree: agreement with known classes, topics and the view of the root, Cobweb's loss and Ward's rule.

    Texts are encoded once and kept; the first run takes minutes.
    """
    screen = Screen(json=json, quiet=quiet)
    with screen.working("starting"):
        from gossamer_lab.trees import criteria
        from gossamer_lab.trees import quality as task
        from gossamer_lab.trees.labelled import NAMES
        from gossamer_lab.trees.topics import SETS
    wanted = task.Wanted(
        collections=tuple(collection or NAMES),
        sets=() if collection else SETS,
        model=model,
        orders=orders or (2 if quick else 3),
        sample=sample or (_QUICK if quick else 6000),
        documents=documents or (_QUICK if quick else None),
        seed=seed,
    )
    with watched(screen, data, cache, quick=quick) as job:
        report = task.report(wanted, job)
    finish(screen, report, out, draw=lambda out: criteria.picture(report, out))
