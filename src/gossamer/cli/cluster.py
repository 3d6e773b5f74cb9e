"""`gossamer cluster`: one logical index over many nodes, on Ray."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gossamer.cli.command import TakesQuery, command, examples
from gossamer.cli.formatting import documents
from gossamer.cli.opening import prepare_encoder
from gossamer.cli.options import (
    EncoderName,
    Hybrid,
    Json,
    Quiet,
    TextFields,
    Weight,
    Where,
    Within,
    hybrid_weight,
    parse_where,
)
from gossamer.cli.screen import Screen
from gossamer.cli.search import as_json, show_hits

if TYPE_CHECKING:
    from gossamer.cluster import Cluster, ClusterStatus

app = typer.Typer(
    help="One index over many nodes, on Ray (extra ray): start, fill, search, keep in balance.",
    no_args_is_help=True,
    epilog=examples(
        "gossamer cluster index notes/ --to notes.cluster --shards 2",
        "gossamer cluster up notes.cluster",
        'gossamer cluster search notes.cluster "how do plants make sugar"',
    ),
)

_FIRST: Final = 20_000
_BATCH: Final = 2_000
"""Documents that are added at once: the first time as many as the router is made of."""

ClusterPath = Annotated[Path, typer.Argument(metavar="CLUSTER", help="The cluster: a folder that every node sees.")]
Address = Annotated[
    str | None,
    typer.Option(
        envvar="RAY_ADDRESS", metavar="HOST:PORT", help="The Ray cluster to join; without it one is started here."
    ),
]


@contextmanager
def _opened(path: Path, screen: Screen, encoder: str | None, address: str | None) -> Iterator[Cluster]:
    """Open a cluster, and leave it at the end of the block."""
    with screen.working(f"opening {path.name}"):
        from gossamer.cluster import Cluster

        cluster = Cluster.open(path, encoder, address=address)
    with cluster:
        yield cluster


@app.command(
    epilog=examples(
        "gossamer cluster up notes.cluster",
        "gossamer cluster up notes.cluster --address 10.0.0.1:6379 --json",
        "gossamer cluster up notes.cluster --address 10.0.0.1:6379 --stop",
    )
)
@command
def up(
    cluster: ClusterPath,
    address: Address = None,
    stop: Annotated[bool, typer.Option("--stop", help="End its actors instead, their files closed.")] = False,
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Start the actors of a cluster, so that other programs find it running.

    On a Ray cluster (--address) they go on when this command ends. Without one, Ray is started on this machine and ends
    with this command: on Ctrl-C. The address to join is printed.
    """
    screen = Screen(json=json, quiet=quiet)
    with screen.working(f"starting {cluster.name}"):
        from gossamer.cluster import Cluster

        opened = Cluster.open(cluster, encoder, address=address)
    if stop:
        opened.close(stop=True)
        _told(screen, {"stopped": str(cluster)}, f"{cluster} is stopped")
        return
    status = opened.status()
    at = address or opened.address
    _told(screen, {"address": at, **_values(status)}, f"{cluster} runs at {at}: {_summary(status)}")
    if address is not None:
        opened.close(stop=False)
        return
    screen.say("Ctrl-C ends it")
    ended = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: ended.set())
    while not ended.wait(1.0):
        pass
    opened.close(stop=True)


@app.command(epilog=examples("gossamer cluster status notes.cluster", "gossamer cluster status notes.cluster --json"))
@command
def status(
    cluster: ClusterPath, address: Address = None, encoder: EncoderName = None, json: Json = False, quiet: Quiet = False
) -> None:
    """Show a cluster and each of its shards: documents, whether it answers, what it takes on disk."""
    screen = Screen(json=json, quiet=quiet)
    with _opened(cluster, screen, encoder, address) as opened:
        found = opened.status()
    if screen.json:
        screen.emit(_values(found))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("shard", "documents", "concepts", "answers", "MB on disk", "operation"):
        table.add_column(name, justify="right")
    for each in found.shards:
        row = each.shard, f"{each.documents:,}", each.concepts, "yes" if each.answers else "no"
        table.add_row(*map(str, row), f"{each.bytes / 1e6:,.1f}", f"{each.operation:,}")
    screen.show(f"{cluster}: {_summary(found)}", table)


@app.command(
    epilog=examples(
        "gossamer cluster index notes/ papers/*.pdf --to notes.cluster --shards 2",
        "gossamer cluster index news.jsonl --to /shared/news.cluster --shards 8 --address 10.0.0.1:6379 --json",
    )
)
@command
def index(
    paths: Annotated[list[str], typer.Argument(metavar="PATHS", help="Files and folders, or - for standard input.")],
    to: Annotated[Path, typer.Option(metavar="CLUSTER", help="The cluster: made if it is not there.")],
    shards: Annotated[int, typer.Option(min=1, help="Shards of a cluster that is made now.")] = 4,
    replicas: Annotated[int, typer.Option(min=0, help="Further actors of each shard that answer searches.")] = 0,
    text_field: TextFields = None,
    id_field: Annotated[str | None, typer.Option(help="The field with the id, in tables and JSON.")] = None,
    address: Address = None,
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put files and folders into a cluster. A document that is there already is replaced.

    The first 20,000 documents make the router, so begin with a mixture of all there will be.
    """
    from gossamer.readers import read

    screen = Screen(json=json, quiet=quiet)
    reading = read(paths, text_field=text_field, id_field=id_field, on_error="auto")
    start, added = time.perf_counter(), 0
    with screen.working(f"opening {to.name}"):
        from gossamer.cluster import Cluster

        if to.exists():
            opened = Cluster.open(to, encoder, address=address)
        else:
            prepare_encoder(encoder or "minilm", screen)
            opened = Cluster.create(to, encoder or "minilm", shards=shards, replicas=replicas, address=address)
    with opened as cluster, screen.bar("indexing", "documents") as bar:
        bar(0, None)
        size = _BATCH if len(cluster) else _FIRST
        records = iter(reading)
        while batch := list({record.id: record for record in islice(records, size)}.values()):
            cluster.add(
                [record.text for record in batch],
                [record.id for record in batch],
                [record.metadata for record in batch],
            )
            added, size = added + len(batch), _BATCH
            bar(added, None)
        held = len(cluster)
    seconds = time.perf_counter() - start
    told = {"cluster": str(to), "documents": held, "added": added, "seconds": round(seconds, 3)}
    _told(screen, told, f"{to}: {documents(held)}; {added:,} added in {seconds:.1f} s")


@app.command(
    cls=TakesQuery,
    epilog=examples(
        'gossamer cluster search notes.cluster "how do plants make sugar"',
        'gossamer cluster search notes.cluster "floods" -k 5 --where \'{"year": {"$gte": 2020}}\' --json',
    ),
)
@command
def search(
    cluster: ClusterPath,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Documents to show, at most.")] = 10,
    where: Where = None,
    within: Within = None,
    hybrid: Hybrid = True,
    weight: Weight = None,
    recall: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Share of the nearest to aim for (0.985); 1 asks all shards.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show the whole of each text.")] = False,
    address: Address = None,
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the documents that fit a query best, and say which shards were asked."""
    screen = Screen(json=json, quiet=quiet)
    with _opened(cluster, screen, encoder, address) as opened:
        start = time.perf_counter()
        hits = opened.search(
            query, k, where=parse_where(where), within=within, hybrid=hybrid_weight(hybrid, weight), recall=recall
        )
        seconds = time.perf_counter() - start
    if screen.json:
        asked = {"asked": list(hits.asked), "missing": list(hits.missing), "shards": hits.shards}
        screen.emit({**as_json(query, hits, seconds), **asked, "partial": hits.partial})
        return
    show_hits(screen, hits, full=full)
    if not hits:
        screen.say("nothing found")
    if hits.partial:
        screen.say(f"shards {', '.join(map(str, hits.missing))} did not answer: documents may be missing")


@app.command(
    epilog=examples(
        "gossamer cluster rebalance notes.cluster", "gossamer cluster rebalance notes.cluster --shards 8 --json"
    )
)
@command
def rebalance(
    cluster: ClusterPath,
    shards: Annotated[int | None, typer.Option(min=1, help="Have so many shards from now on.")] = None,
    tolerance: Annotated[
        float, typer.Option(min=1.0, help="A shard is too large with so many times as many documents as the mean.")
    ] = 1.2,
    address: Address = None,
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Move concepts from shards that are too large to others, while searches and changes go on."""
    screen = Screen(json=json, quiet=quiet)
    with _opened(cluster, screen, encoder, address) as opened, screen.bar("moving", "concepts") as bar:
        if shards is not None:
            opened.grow(shards)
        done = opened.rebalance(tolerance=tolerance, progress=bar)
    sizes = ", ".join(f"{size:,}" for size in done.sizes)
    _told(
        screen, asdict(done), f"{cluster}: {done.concepts:,} concepts, {documents(done.documents)} moved; now {sizes}"
    )


def _values(found: ClusterStatus) -> dict[str, object]:
    return {**asdict(found), "whole": found.whole}


def _summary(found: ClusterStatus) -> str:
    state = "" if found.whole else ", not all of which answer"
    return f"{documents(found.documents)} in {len(found.shards)} shards{state}, encoder {found.encoder}"


def _told(screen: Screen, values: dict[str, object], sentence: str) -> None:
    if screen.json:
        screen.emit(values)
    else:
        screen.show(sentence)
