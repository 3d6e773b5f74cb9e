"""A cluster against one index: recall, the share of shards asked, what Ray costs a query, and building by two workers.

    python benchmarks/cluster.py [--quick] [--data FOLDER] [--vectors FILE] [--shards N] [--json FILE]

Reads `qqp-minilm-corpus.npy`, `qqp-minilm-queries.npy` and `qqp-setup.json.gz` of the folder: sentence embeddings of
76,000 Quora questions and 4,000 queries. `--vectors`: more of them, with one text a row beside it (`FILE.txt`). Texts
are added with their vectors, so nothing is encoded. Needs ``pip install "gossamer[ray]"``.

Two workers against one: the processes of the shards may use one core, or two. What one core cannot do in parallel, two
cannot do twice as fast if something else uses them: run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from gossamer import Index
from gossamer.cluster import Cluster

Row = dict[str, Any]
Matrix = npt.NDArray[np.float32]

BATCH = 20_000


def encoder(texts: list[str]) -> Matrix:
    """Never called: every text comes with its vector."""
    raise AssertionError(f"{len(texts)} texts came without a vector")


def data(folder: Path, vectors: Path | None, quick: bool) -> tuple[list[str], Matrix, list[str], Matrix]:
    with gzip.open(folder / "qqp-setup.json.gz", "rt") as file:
        setup = json.load(file)
    Q = np.load(folder / "qqp-minilm-queries.npy").astype(np.float32)
    if vectors is not None:
        E = np.load(vectors).astype(np.float32)
        texts = vectors.with_suffix(".txt").read_text().split("\n")[: len(E)]
    else:
        E, texts = np.load(folder / "qqp-minilm-corpus.npy").astype(np.float32), setup["corpus"]
    count = 20_000 if quick else len(E)
    wanted = 200 if quick else 1_000
    return texts[:count], E[:count], setup["queries"][:wanted], Q[:wanted]


def pin(pids: list[int], cores: list[list[int]]) -> None:
    """Let each process, with all its threads, use some cores alone."""
    for pid, own in zip(pids, cores, strict=True):
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), own)


def fill(made: Index | Cluster, texts: list[str], E: Matrix) -> float:
    """Seconds to add everything, a batch at a time."""
    ids = [str(at) for at in range(len(texts))]
    start = time.perf_counter()
    for at in range(0, len(texts), BATCH):
        rows = slice(at, at + BATCH)
        made.add(texts[rows], ids[rows], vectors=E[rows])
    return time.perf_counter() - start


def latencies(search: Any, queries: list[Any]) -> npt.NDArray[np.float64]:
    """Milliseconds of each query, one after the other."""
    found = []
    for query in queries:
        start = time.perf_counter()
        search(query)
        found.append(1e3 * (time.perf_counter() - start))
    return np.array(found)


def compare(cluster: Cluster, one: Index, texts: list[str], Q: Matrix) -> list[Row]:
    """Recall, shards asked, and the time of a query, by meaning alone and with words."""
    rows: list[Row] = []
    for hybrid in (False, True):
        asked, found, exact, usual = [], [], [], []
        for text, q in zip(texts, Q, strict=True):
            hits = cluster.search(text, vector=q, hybrid=hybrid)
            asked.append(len(hits.asked) / hits.shards)
            found.append({hit.id for hit in hits})
            exact.append({hit.id for hit in one.search(text, vector=q, hybrid=hybrid, recall=1.0)})
            usual.append({hit.id for hit in one.search(text, vector=q, hybrid=hybrid)})
        pairs = list(zip(texts, Q, strict=True))
        ours = latencies(lambda pair: cluster.search(pair[0], vector=pair[1], hybrid=hybrid), pairs)  # noqa: B023
        theirs = latencies(lambda pair: one.search(pair[0], vector=pair[1], hybrid=hybrid), pairs)  # noqa: B023
        rows.append({
            "search": "hybrid" if hybrid else "dense",
            "recall@10 against exact": _shared(found, exact),
            "of one index": _shared(usual, exact),
            "against one index": _shared(found, usual),
            "shards asked": float(np.mean(asked)),
            "median ms": float(np.median(ours)),
            "one index, ms": float(np.median(theirs)),
            "overhead ms": float(np.median(ours) - np.median(theirs)),
            "p95 ms": float(np.percentile(ours, 95)),
        })  # fmt: skip
    return rows


def _shared(found: list[set[str]], wanted: list[set[str]]) -> float:
    return float(np.mean([len(one & other) / max(1, len(other)) for one, other in zip(found, wanted, strict=True)]))


def build(folder: Path, name: str, texts: list[str], E: Matrix, shards: int, cores: list[int]) -> float:
    """Seconds to build a cluster whose shards share some cores. The router is made before the clock starts."""
    with Cluster.create(folder / name, encoder, shards=shards) as cluster:
        cluster.add(texts[:2000], [f"first {at}" for at in range(2000)], vectors=E[:2000])
        cluster.delete(where={})
        pids = [shard.pid for shard in cluster.status().shards]
        pin(pids, [[cores[at % len(cores)]] for at in range(shards)])
        return fill(cluster, texts, E)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20,000 documents")
    parser.add_argument("--data", type=Path, default=Path("../shared/embeddings"))
    parser.add_argument("--vectors", type=Path, help="more vectors (.npy), with a text a line beside them (.txt)")
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--only", choices=["search", "build"], help="one of the two parts")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    texts, E, queries, Q = data(arguments.data, arguments.vectors, arguments.quick)
    found: dict[str, Any] = {"documents": len(E), "shards": arguments.shards, "cores": len(os.sched_getaffinity(0))}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if arguments.only != "build":
            with Cluster.create(folder / "c", encoder, shards=arguments.shards) as cluster:
                found["cluster built, s"] = fill(cluster, texts, E)
                cluster.settle()
                sizes = [shard.documents for shard in cluster.status().shards]
                with Index.create(folder / "one.gsm", encoder) as one:
                    found["one index built, s"] = fill(one, texts, E)
                    one.settle()
                    found["search"] = compare(cluster, one, queries, Q)
            found["sizes"] = sizes
        if arguments.only != "search":
            cores = sorted(os.sched_getaffinity(0))[:2]
            some = slice(0, min(len(texts), 40_000))
            found["1 worker, s"] = build(folder, "w1", texts[some], E[some], arguments.shards, cores[:1])
            found["2 workers, s"] = build(folder, "w2", texts[some], E[some], arguments.shards, cores)
            found["2 workers, times as fast"] = found["1 worker, s"] / found["2 workers, s"]
    show(found)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


def show(found: dict[str, Any]) -> None:
    console = Console()
    for row in found.get("search", []):
        table = Table(title=f"{row['search']}: {found['documents']:,} documents, {found['shards']} shards")
        for name in row:
            table.add_column(name, justify="right")
        table.add_row(*(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()))
        console.print(table)
    console.print({name: value for name, value in found.items() if name != "search"})


if __name__ == "__main__":
    main()
