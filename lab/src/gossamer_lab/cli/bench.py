"""`gossamer bench`: Gossamer beside faiss, hnswlib, usearch, SymphonyQG and Vamana, on the same vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer_lab.cli.common import Cache, Model, Out, Screen, command, finish, watched
from gossamer_lab.cli.common import Data as DataFolder

if TYPE_CHECKING:
    from gossamer_lab import tables
    from gossamer_lab.bench.data import Data
    from gossamer_lab.bench.report import Report
    from gossamer_lab.timing import Say

bench = typer.Typer(
    help="Measure gossamer beside other vector indexes: the same vectors, threads and queries, in one run.",
    no_args_is_help=True,
)

Vectors = Annotated[Path | None, typer.Option(help="Documents: a .npy file, one row a vector. Needs --queries.")]
Queries = Annotated[Path | None, typer.Option(help="Queries: a .npy file.")]
Folder = Annotated[
    Path | None, typer.Option("--data", help="Folder with embeddings/; else $GOSSAMER_DATA or ../shared.")
]
Set = Annotated[str, typer.Option("--set", help="The ready vectors: qqp or msmarco.")]
Rows = Annotated[int | None, typer.Option(min=100, help="Number of documents, from the first on.")]
Count = Annotated[int | None, typer.Option("--count", min=10, help="Number of queries.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer documents, queries and rounds: under a minute.")]
Repeats = Annotated[int | None, typer.Option(min=1, help="Rounds of timing.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads for every system.")]
Json = Annotated[Path | None, typer.Option("--json", help="Also write everything here.")]

_WIDE = 190
"""Columns of a table that goes into a file."""


@bench.command()
@command
def search(
    vectors: Vectors = None, queries: Queries = None, data: Folder = None, set_: Set = "qqp", rows: Rows = None,
    count: Count = None, repeats: Repeats = None, threads: Threads = None, quick: Quick = False, json: Json = None,
    k: Annotated[int, typer.Option("-k", min=1, max=200, help="Nearest neighbours wanted.")] = 10,
    raw: Annotated[
        bool, typer.Option("--raw", help="Vectors as they came, through the public calls, whitening included.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw recall against queries a second into a PNG.")] = None,
) -> None:  # fmt: skip
    """Recall against time for every system and setting, on one thread.

    Examples:

        gossamer bench search --quick

        gossamer bench search --set msmarco --json search.json --plot search.png

        gossamer bench search --raw -k 100

        gossamer bench search --vectors corpus.npy --queries queries.npy
    """

    def work(say: Say) -> Report:
        from gossamer_lab.bench import search as task

        loaded = _load(vectors, queries, data, set_, rows or (10_000 if quick else None), count or _count(quick))
        rounds = repeats or (2 if quick else 7)
        report = task.run(loaded, k=k, raw=raw, repeats=rounds, n_threads=threads or 1, quick=quick, say=say)
        if plot is not None:
            from gossamer_lab.pictures import recall_curves

            title = f"{report.data}\n{report.machine['processor']}, threads: {report.settings['threads']}"
            recall_curves(task.curves(report.sections[0].rows), plot, title=title)
        return report

    _run(work, json)


@bench.command()
@command
def build(
    vectors: Vectors = None, queries: Queries = None, data: Folder = None, set_: Set = "qqp", rows: Rows = None,
    repeats: Repeats = None, threads: Threads = None, quick: Quick = False, json: Json = None,
) -> None:  # fmt: skip
    """Build times: inserting, rebuilding, agglomerating and linking, beside the graphs of others, on all cores.

    Examples:

        gossamer bench build --quick

        gossamer bench build --set msmarco --repeats 5
    """

    def work(say: Say) -> Report:
        from gossamer_lab.bench import build as task
        from gossamer_lab.engine import cores

        loaded = _load(vectors, queries, data, set_, rows or (10_000 if quick else None), 10)
        return task.run(loaded, repeats=repeats or (2 if quick else 3), n_threads=threads or cores(), say=say)

    _run(work, json)


@bench.command()
@command
def scale(
    size: Annotated[
        list[int] | None, typer.Option("--size", min=2000, help="Documents; can be given several times.")
    ] = None,
    system: Annotated[
        list[str] | None, typer.Option("--system", help="gossamer, or another index; can be given several times.")
    ] = None,
    texts: Annotated[bool, typer.Option(help="Also build and search an index of all texts.")] = True,
    model: Model = "minilm",
    quick: Annotated[bool, typer.Option("--quick", help="2,000 and 10,000 documents, no texts: a minute.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run that was stopped has ended.")] = False,
    data: DataFolder = None, out: Out = None, cache: Cache = None, json: Json = None,
) -> None:  # fmt: skip
    """All of QQP and a million vectors: building, memory and searching as an index grows, beside others.

    The questions are encoded once (some ten minutes), and kept in the cache.

    Examples:

        gossamer bench scale --quick

        gossamer bench scale --out docs/results

        gossamer bench scale --size 100000 --system gossamer --system hnswlib --no-texts
    """
    from gossamer_lab.bench import scale as task

    screen = Screen()
    with watched(screen, data, cache, quick=quick) as job:
        sizes = tuple(size or ((2_000, 10_000) if quick else task.SIZES))
        wanted = task.Wanted(sizes, tuple(system or task.SYSTEMS), texts and not quick, model, resume=resume)
        report = task.report(wanted, job)
    _write(report, json)
    finish(screen, report, out, draw=lambda out: task.picture(report, out))


@bench.command()
@command
def memory(
    vectors: Vectors = None, queries: Queries = None, data: Folder = None, set_: Set = "qqp", rows: Rows = None,
    quick: Quick = False, json: Json = None,
) -> None:  # fmt: skip
    """Memory of a loaded index against its vectors alone.

    Examples:

        gossamer bench memory

        gossamer bench memory --set msmarco --json memory.json
    """

    def work(say: Say) -> Report:
        from gossamer_lab.bench import memory as task

        loaded = _load(vectors, queries, data, set_, rows or (10_000 if quick else None), 200)
        return task.run(loaded, say=say)

    _run(work, json)


@bench.command("filter")
@command
def filters(
    vectors: Vectors = None, queries: Queries = None, data: Folder = None, set_: Set = "qqp", rows: Rows = None,
    count: Count = None, repeats: Repeats = None, threads: Threads = None, quick: Quick = False, json: Json = None,
) -> None:  # fmt: skip
    """Restricted searches at every selectivity, and recall after half of the documents were exchanged.

    Examples:

        gossamer bench filter --quick

        gossamer bench filter --set msmarco
    """

    def work(say: Say) -> Report:
        from gossamer_lab.bench import filters as task

        loaded = _load(vectors, queries, data, set_, rows or (10_000 if quick else None), count or _count(quick))
        return task.run(loaded, repeats=repeats or (1 if quick else 3), n_threads=threads or 1, say=say)

    _run(work, json)


@bench.command()
@command
def stream(
    collection: Annotated[
        list[str] | None,
        typer.Option(
            help="20newsgroups, banking77, bbc_news, or a folder with a corpus.jsonl of texts and labels; can be "
            "given several times. The three by default."
        ),
    ] = None,
    order: Annotated[
        list[str] | None,
        typer.Option(help="random, sorted by class, bursty or random with removals; can be given several times."),
    ] = None,
    model: Model = "minilm",
    documents: Annotated[int | None, typer.Option(min=100, help="Documents of each collection, at most.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the orders, and by which documents are drawn.")] = 0,
    waits: Annotated[
        bool, typer.Option("--waits", help="Instead: how long searches and additions wait while an index grows.")
    ] = False,
    first: Annotated[int | None, typer.Option("--from", min=100, help="With --waits: documents added at once.")] = None,
    last: Annotated[int | None, typer.Option("--to", min=110, help="With --waits: documents at the end.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="With --waits: threads that search.")] = 4,
    pause: Annotated[float, typer.Option(min=0, help="With --waits: ms between two searches of a thread.")] = 1.0,
    minutes: Annotated[float | None, typer.Option(min=0.01, help="With --waits: end the growth after this.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="About 2,000 documents: seconds.")] = False,
    data: DataFolder = None, out: Out = None, cache: Cache = None, json: Json = None,
) -> None:  # fmt: skip
    """A tree that grows one document at a time, beside one built at once: quality, ids of concepts, recall, waits.

    Examples:

        gossamer bench stream --quick

        gossamer bench stream --out docs/results

        gossamer bench stream --collection bbc_news --order random --order "sorted by class"

        gossamer bench stream --waits --out docs/results

        gossamer bench stream --waits --from 30000 --to 45000 --minutes 3
    """
    from gossamer_lab.bench.stream import quality
    from gossamer_lab.bench.stream import waits as waiting
    from gossamer_lab.bench.stream.orders import ORDERS
    from gossamer_lab.trees.labelled import NAMES

    screen = Screen()
    with watched(screen, data, cache, quick=quick) as job:
        if waits:
            ends = (first or (1_800 if quick else 30_000), last or (2_200 if quick else 150_000))
            report = waiting.report(waiting.Wanted(*ends, threads, pause, minutes, seed), job)
        else:
            most = documents or (2_000 if quick else None)
            chosen = tuple(collection or NAMES), quality.check_orders(order or list(ORDERS))
            report = quality.report(quality.Wanted(*chosen, model, most, seed), job)
    _write(report, json)
    finish(screen, report, out, draw=lambda out: (waiting if waits else quality).picture(report, out))


@bench.command()
@command
def text(
    rows: Rows = None,
    count: Count = None,
    quick: Annotated[bool, typer.Option("--quick", help="5,000 documents, few queries: seconds.")] = False,
    data: DataFolder = None, out: Out = None, json: Json = None,
) -> None:  # fmt: skip
    """`Index.search` and `Index.explain` over texts: latency, memory and disk, beside a flat NumPy scan.

    Examples:

        gossamer bench text --quick

        gossamer bench text --out docs/results
    """
    from gossamer_lab.bench import text as task

    screen = Screen()
    with watched(screen, data, None, quick=quick) as job:
        wanted = task.Wanted(rows or (5_000 if quick else None), count or (20 if quick else 200))
        report = task.report(wanted, job)
    _write(report, json)
    finish(screen, report, out)


@bench.command()
@command
def words(
    collection: Annotated[
        list[str] | None, typer.Option(help="qqp, msmarco or scifact; can be given several times. All by default.")
    ] = None,
    rows: Rows = None,
    count: Count = None,
    quick: Annotated[bool, typer.Option("--quick", help="2,000 documents of each, few queries: seconds.")] = False,
    data: DataFolder = None, out: Out = None, json: Json = None,
) -> None:  # fmt: skip
    """Full text by gossamer's postings, Tantivy and SQLite's FTS5: time, memory, disk.

    Examples:

        gossamer bench words --quick

        gossamer bench words --collection qqp --out docs/results
    """
    from gossamer_lab.bench import words as task

    screen = Screen()
    with watched(screen, data, None, quick=quick) as job:
        wanted = task.Wanted(
            tuple(collection or task.COLLECTIONS), rows or (2_000 if quick else None), count or (20 if quick else 300)
        )
        report = task.report(wanted, job)
    _write(report, json)
    finish(screen, report, out)


def _write(report: tables.Report, json: Path | None) -> None:
    """Write a report as JSON where a file is given."""
    from gossamer_lab.bench.report import write_json

    if json is not None:
        write_json(report, json)


def _count(quick: bool) -> int:
    return 300 if quick else 1000


def _load(
    vectors: Path | None, queries: Path | None, folder: Path | None, name: str, rows: int | None, count: int
) -> Data:
    """The vectors of two files, or a ready set."""
    from gossamer.errors import InputError
    from gossamer_lab.bench.data import embeddings_folder, load_set, prepare
    from gossamer_lab.data.files import load_vectors

    if (vectors is None) != (queries is None):
        raise InputError("--vectors and --queries go together: give both, or neither for the ready sets")
    if vectors is not None and queries is not None:
        return prepare(vectors.stem, load_vectors(vectors), load_vectors(queries), rows=rows, queries=count)
    return prepare(name, *load_set(embeddings_folder(folder), name), rows=rows, queries=count)


def _run(work: Callable[[Say], Report], json: Path | None) -> None:
    """Do the work under a status line, show the report, and write it."""
    from gossamer_lab.bench.report import show, write_json

    screen = Screen()
    if not screen.out.is_terminal:
        screen.out.width = max(screen.out.width, _WIDE)
    with screen.err.status("reading vectors") as status:
        report = work(lambda what: status.update(what))
    if json is not None:
        write_json(report, json)
    show(report, screen.out)
