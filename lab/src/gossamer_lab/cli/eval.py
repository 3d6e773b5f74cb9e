"""`gossamer eval compare|paper|defaults|fusion|robustness`: methods compared on collections with known answers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gossamer_lab.cli.common import (
    Cache,
    Data,
    Fresh,
    Json,
    Model,
    Out,
    Quick,
    Quiet,
    Screen,
    command,
    complete_encoder,
    examples,
    finish,
    watched,
)

app = typer.Typer()
"""Its commands join the group `eval` of Gossamer's command line."""


def complete_collection(incomplete: str) -> list[str]:
    """Collections with a name."""
    names = ("qqp", "msmarco", "msmarco-rest", "msmarco-v21", "scifact", "cranfield", "cacm")
    return [name for name in names if name.startswith(incomplete)]


_COMPARE = examples(
    "gossamer eval compare scifact",
    "gossamer eval compare qqp --documents 10000 --methods dot@raw,l2@pca,guided,hybrid",
    "gossamer eval compare my-collection/ --model lsa --orders 3 --out results/",
)


@app.command(epilog=_COMPARE)
@command
def compare(
    collection: Annotated[
        str | None,
        typer.Argument(
            metavar="COLLECTION",
            help="qqp, msmarco, msmarco-rest, msmarco-v21, scifact, cranfield, cacm, a BEIR folder, a .tsv of pairs.",
            autocompletion=complete_collection,
        ),
    ] = None,
    model: Model = "minilm",
    methods: Annotated[
        str | None, typer.Option(help="Comma-separated ranker@vectors; see --list. Eight of them by default.")
    ] = None,
    documents: Annotated[int | None, typer.Option(min=1, help="Number of documents.")] = None,
    queries: Annotated[int | None, typer.Option(min=1, help="Number of queries.")] = None,
    seed: Annotated[int, typer.Option(help="Seed by which documents and queries are drawn.")] = 0,
    keep_own: Annotated[
        bool, typer.Option("--keep-own", help="Rank a query's own text like any other, as the authors do.")
    ] = False,
    orders: Annotated[int, typer.Option(min=0, help="Other orders of insertion over which trees are repeated.")] = 0,
    baseline: Annotated[str, typer.Option(help="The method that others are compared with.")] = "dot@raw",
    list_: Annotated[bool, typer.Option("--list", help="List rankers and vectors, and stop.")] = False,
    data: Data = None,
    out: Out = None,
    cache: Cache = None,
    fresh: Fresh = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rank a collection by several methods, measure, and compare each with the baseline."""
    screen = Screen(json=json, quiet=quiet)
    if list_:
        _list(screen)
        return
    if collection is None:
        raise typer.BadParameter("name a collection, or use --list", param_hint="COLLECTION")
    from gossamer_lab.evaluate import compare as task

    chosen = tuple(name.strip() for name in methods.split(",")) if methods else task.METHODS
    wanted = task.Wanted(collection, model, chosen, documents, queries, seed, keep_own, orders, baseline)
    with watched(screen, data, cache, fresh=fresh) as job:
        report = task.report(wanted, job)
    finish(screen, report, out)


def _list(screen: Screen) -> None:
    from rich.table import Table

    from gossamer_lab.methods.rankers import methods
    from gossamer_lab.methods.spaces import SPACES

    spaces = {name: space.about for name, space in SPACES.items()}
    if screen.json:
        screen.emit({"rankers": methods(), "vectors": spaces})
        return
    for title, about in (("ranker", methods()), ("@vectors", spaces)):
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column(title, no_wrap=True)
        table.add_column("about", overflow="fold")
        for name, line in about.items():
            table.add_row(name, line)
        screen.show(table, "")


_PAPER = examples(
    "gossamer eval paper --quick",
    "gossamer eval paper --table 1 --table 3",
    "gossamer eval paper --model st:all-roberta-large-v1 --model st:gtr-t5-large --model hf:gpt2?pool=mean",
    "gossamer eval paper --out docs/results",
)


@app.command(epilog=_PAPER)
@command
def paper(
    table: Annotated[
        list[int] | None,
        typer.Option(
            help="1 table 1, 2 table 2, 3 corpus scaling, 4 latency, 5 figure 1, 6 shape of trees, 7 figure 2 and "
            "appendix B, 8 the recipe part by part, 9 isotropy; can be given several times. All of them by default."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Encoders, or names of ready vectors; the first of each kind stands for the paper's: an encoder, a "
            "T5, a language model. The three of the data folder by default.",
            autocompletion=complete_encoder,
        ),
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="A folder of ready vectors: qqp-MODEL-corpus.npy, msmarco-MODEL-queries.npy ….")
    ] = None,
    qqp: Annotated[
        str, typer.Option(help="qqp, or a file of labelled pairs such as GLUE's dev.tsv, which the authors use.")
    ] = "qqp",
    msmarco: Annotated[
        str, typer.Option(help="msmarco-v21, as the authors use it, or msmarco: other queries over the same pool.")
    ] = "msmarco-v21",
    fit_on_queries: Annotated[
        bool, typer.Option("--fit-on-queries", help="Fit whitening on queries too, as the authors do on MS MARCO.")
    ] = False,
    quick: Quick = False,
    texts: Annotated[
        bool, typer.Option("--texts", help="Show texts of the collections, if you may; never in a folder docs/results.")
    ] = False,
    data: Data = None,
    out: Out = None,
    cache: Cache = None,
    fresh: Fresh = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's tables again, beside the figures that it prints.

    Texts are encoded once and kept; models are downloaded by their own libraries. A run that is stopped goes on where
    it was: vectors, whitening and rankings are kept. What could not be run is told with the reason.
    """
    from gossamer_lab.paper import paper as task
    from gossamer_lab.paper.setting import MODELS, Setting

    if texts and out is not None and out.resolve().parts[-2:] == ("docs", "results"):
        raise typer.BadParameter(
            "pages in docs/results are published, and the texts are not ours: choose another --out"
        )
    if msmarco not in ("msmarco", "msmarco-v21"):
        raise typer.BadParameter(f"must be msmarco or msmarco-v21, got {msmarco!r}", param_hint="--msmarco")
    screen = Screen(json=json, quiet=quiet)
    with watched(screen, data, cache, quick=quick, fresh=fresh, vectors=vectors) as job:
        setting = Setting(
            job, models=tuple(model or MODELS), qqp=qqp, msmarco=msmarco, fit_on_queries=fit_on_queries
        )  # fmt: skip
        report = task.report(setting, parts=tuple(table or ()), texts=texts)
    finish(screen, report, out, draw=lambda out: task.draw(report, setting, out, texts=texts))


@app.command(epilog=examples("gossamer eval defaults --quick", "gossamer eval defaults --out docs/results"))
@command
def defaults(
    quick: Quick = False,
    data: Data = None,
    out: Out = None,
    cache: Cache = None,
    fresh: Fresh = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Choose settings on half of the queries of QQP and MS MARCO, report on the other half and on other collections."""
    from gossamer_lab.evaluate import defaults as task

    screen = Screen(json=json, quiet=quiet)
    with watched(screen, data, cache, quick=quick, fresh=fresh) as job:
        report = task.report(job)
    finish(screen, report, out)


@app.command(epilog=examples("gossamer eval fusion --quick", "gossamer eval fusion --out docs/results"))
@command
def fusion(
    quick: Quick = False,
    data: Data = None,
    out: Out = None,
    cache: Cache = None,
    fresh: Fresh = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure Index.search as it comes, and ideas for a better ranking, each chosen by the other collections."""
    from gossamer_lab.evaluate import fusion as task

    screen = Screen(json=json, quiet=quiet)
    with watched(screen, data, cache, quick=quick, fresh=fresh) as job:
        report = task.report(job)
    finish(screen, report, out)


@app.command(epilog=examples("gossamer eval robustness --quick", "gossamer eval robustness --out docs/results"))
@command
def robustness(
    quick: Quick = False,
    data: Data = None,
    out: Out = None,
    cache: Cache = None,
    fresh: Fresh = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the same methods as the embedding gets worse: fewer dimensions, int8, noise, anisotropy, other models."""
    from gossamer_lab.evaluate import robustness as task

    screen = Screen(json=json, quiet=quiet)
    with watched(screen, data, cache, quick=quick, fresh=fresh) as job:
        report = task.report(job)
    finish(screen, report, out, draw=partial(task.picture, report))
