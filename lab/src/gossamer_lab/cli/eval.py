"""`gossamer eval`: retrieval quality on collections with known answers.

A command from a file of its own has `EXAMPLES` and a function, and is registered in `app`, as `eval_tree` is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.options import Json, Quiet, complete_encoder
from gossamer.cli.screen import Screen

if TYPE_CHECKING:
    from gossamer_lab.evaluate.run import Say
    from gossamer_lab.evaluate.tables import Report, Table

app = typer.Typer(
    help="Measure retrieval on collections with known answers, and run the paper again.",
    no_args_is_help=True,
    epilog=examples("gossamer eval run scifact", "gossamer eval paper --quick"),
)


def complete_collection(incomplete: str) -> list[str]:
    """Collections with a name."""
    names = ("qqp", "msmarco", "msmarco-rest", "scifact", "cranfield", "cacm", "hf:glue/qqp", "hf:ms_marco")
    return [name for name in names if name.startswith(incomplete)]


Data: TypeAlias = Annotated[
    Path | None, typer.Option("--data", help="Folder with data/ and embeddings/; else $GOSSAMER_DATA or ../shared.")
]
Out: TypeAlias = Annotated[
    Path | None, typer.Option("--out", help="Also write Markdown, CSV, LaTeX, JSON and pictures into this folder.")
]
Cache: TypeAlias = Annotated[Path | None, typer.Option(help="Where vectors and rankings are kept between runs.")]
Fresh: TypeAlias = Annotated[bool, typer.Option("--fresh", help="Rank everything again; use no kept rankings.")]
Quick: TypeAlias = Annotated[bool, typer.Option("--quick", help="Less of everything: minutes instead of an hour.")]
Model: TypeAlias = Annotated[
    str, typer.Option(help="An encoder, or the name of ready vectors.", autocompletion=complete_encoder)
]

_RUN = examples(
    "gossamer eval run scifact",
    "gossamer eval run qqp --documents 10000 --methods dot@raw,l2@pca,guided,hybrid",
    "gossamer eval run my-collection/ --model lsa --orders 3 --out results/",
)


@app.command("run", epilog=_RUN)
@command
def run(
    collection: Annotated[
        str | None,
        typer.Argument(
            metavar="COLLECTION",
            help="qqp, msmarco, msmarco-rest, scifact, cranfield, cacm, a BEIR folder, a .tsv of pairs, a .jsonl of "
            "MS MARCO rows, hf:glue/qqp or hf:ms_marco.",
            autocompletion=complete_collection,
        ),
    ] = None,
    model: Model = "minilm",
    methods: Annotated[
        str | None, typer.Option(help="Comma-separated ranker@vectors; see --list. A good selection by default.")
    ] = None,
    documents: Annotated[int | None, typer.Option(min=1, help="Use so many documents.")] = None,
    queries: Annotated[int | None, typer.Option(min=1, help="Use so many queries.")] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    keep_own: Annotated[
        bool, typer.Option("--keep-own", help="Rank a query's own text like any other, as the authors do.")
    ] = False,
    orders: Annotated[int, typer.Option(min=0, help="Repeat trees over so many other orders of insertion.")] = 0,
    baseline: Annotated[str, typer.Option(help="The method others are compared with.")] = "dot@raw",
    document_vectors: Annotated[Path | None, typer.Option(help="Ready vectors of the documents, .npy.")] = None,
    query_vectors: Annotated[Path | None, typer.Option(help="Ready vectors of the queries, .npy.")] = None,
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
        raise typer.BadParameter("name a collection, or ask for --list", param_hint="COLLECTION")
    from gossamer.errors import InputError
    from gossamer_lab.evaluate import single

    if (document_vectors is None) != (query_vectors is None):
        raise InputError("--document-vectors and --query-vectors go together: give both, or neither")
    wanted = single.Wanted(
        collection=collection, model=model, documents=documents, queries=queries, seed=seed,
        own="keep" if keep_own else "drop", orders=orders, baseline=baseline,
        methods=tuple(name.strip() for name in methods.split(",")) if methods else None,
        vectors=(document_vectors, query_vectors) if document_vectors and query_vectors else None,
    )  # fmt: skip
    with watched(screen, "evaluating") as say:
        report = single.report(wanted, folder=data, cache=cache, fresh=fresh, say=say, command=typed())
    finish(screen, report, out)


_PAPER = examples(
    "gossamer eval paper --quick",
    "gossamer eval paper --table 1 --table 3",
    "gossamer eval paper --out docs/results",
)


@app.command(epilog=_PAPER)
@command
def paper(
    table: Annotated[
        list[int] | None,
        typer.Option(
            help="1 architectures on QQP, 2 on MS MARCO, 3 scaling, 4 latency, 5 the decoder-only case, 6 trees; "
            "can be given several times. All of them by default."
        ),
    ] = None,
    quick: Quick = False,
    texts: Annotated[bool, typer.Option("--texts", help="Show texts of the collections, if you may.")] = False,
    data: Data = None,
    out: Out = None,
    cache: Cache = None,
    fresh: Fresh = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's tables again with the models and data at hand, beside the authors' figures.

    A run that is stopped goes on where it was: rankings are kept.
    """
    from gossamer_lab.evaluate import paper as task

    screen = Screen(json=json, quiet=quiet)
    with watched(screen, "reading") as say:
        report = task.report(
            parts=tuple(table or ()), quick=quick, texts=texts, folder=data, cache=cache, fresh=fresh, say=say,
            command=typed(),
        )  # fmt: skip
    draw = partial(task.pictures, report, texts=texts, folder=data, cache=cache)
    finish(screen, report, out, then=draw)


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
    with watched(screen, "reading") as say:
        report = task.report(quick=quick, folder=data, cache=cache, fresh=fresh, say=say, command=typed())
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
    with watched(screen, "reading") as say:
        report = task.report(quick=quick, folder=data, cache=cache, fresh=fresh, say=say, command=typed())
    finish(screen, report, out, then=partial(task.picture, report))


# -- what the commands share -----------------------------------------------------------------------


_WIDE = 130
"""Columns that whole tables need; a narrower terminal gets the most telling columns."""


def typed() -> str:
    """The command as it was typed."""
    return " ".join(["gossamer", *sys.argv[1:]]) if sys.argv[1:2] == ["eval"] else "gossamer eval"


@contextmanager
def watched(screen: Screen, title: str) -> Iterator[Say]:
    """A bar over the steps of a run, or a line for each step where nobody watches a bar."""
    if not screen.lively:
        yield lambda what, done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=screen.err, transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda what, done, total: progress.update(task, description=what, completed=done, total=total or None)


def finish(
    screen: Screen, report: Report, out: Path | None, *, then: Callable[[Path], Sequence[Path]] = lambda out: ()
) -> None:
    """Show a report, and write it where asked; `then` draws its pictures."""
    from gossamer_lab.evaluate.tables import to_json, write

    files = [] if out is None else [*write(report, out), *then(out)]
    if screen.json:
        screen.emit({**to_json(report), "files": [str(file) for file in files]})
        return
    show(screen, report.tables)
    screen.show(report.made)
    if files:
        screen.say(f"wrote {len(files)} files into {out}")


def show(screen: Screen, tables: Sequence[Table]) -> None:
    """Tables with their notes below."""
    from rich.text import Text

    from gossamer_lab.evaluate.tables import rich_table

    if not screen.out.is_terminal:
        screen.out.width = max(screen.out.width, 200)
    for table in tables:
        narrow = screen.out.width < _WIDE
        screen.show("", rich_table(table, narrow=narrow), *(Text(note, style="dim") for note in table.notes))


def _list(screen: Screen) -> None:
    from rich.table import Table as RichTable

    from gossamer_lab.evaluate.methods import methods
    from gossamer_lab.evaluate.spaces import SPACES

    spaces = {name: space.about for name, space in SPACES.items()}
    if screen.json:
        screen.emit({"rankers": methods(), "vectors": spaces})
        return
    for title, about in (("ranker", methods()), ("@vectors", spaces)):
        table = RichTable(box=None, pad_edge=False, header_style="dim")
        table.add_column(title, no_wrap=True)
        table.add_column("about", overflow="fold")
        for name, line in about.items():
            table.add_row(name, line)
        screen.show(table, "")
