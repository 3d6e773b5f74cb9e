"""Explanations against their bars: labels of a large tree, searches with explanations, and novelty.

    python benchmarks/explanations.py [--quick] [--data FOLDER] [--json FILE] [--part labels|search|novelty]

Reads `embeddings/qqp-*` (76,000 Quora questions with vectors) and `data/20newsgroups`, `data/banking77`, which are
encoded with minilm; that takes minutes without --quick. The machine may be busy, so CPU seconds are shown beside times.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer import Index

Figures = dict[str, float | int | str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--part", choices=["labels", "search", "novelty"])
    options = parser.parse_args()
    parts: dict[str, Callable[[Path, bool], Figures]] = {"labels": labels, "search": search, "novelty": novelty}
    found = {name: part(options.data, options.quick) for name, part in parts.items() if options.part in (None, name)}
    for name, figures in found.items():
        print(name)
        for what, value in figures.items():
            print(f"  {what:44} {value if isinstance(value, int | str) else f'{value:.4g}'}")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


# -- labels ----------------------------------------------------------------------------------------


def labels(data: Path, quick: bool) -> Figures:
    texts, vectors, queries, asked = _qqp(data)
    n = 7_600 if quick else 76_000
    with Index("minilm") as index:
        index.add(texts[:n], [str(at) for at in range(n)], vectors=vectors[:n])
        (before, wall, cpu) = _timed(index.labels)
        index.add(queries[:100], [f"new {at}" for at in range(100)], vectors=asked[:100])
        (after, wall_after, cpu_after) = _timed(index.labels)
    alive = before.keys() & after.keys()
    return {
        "documents": n,
        "internal concepts": len(before),
        "labels of all, s": wall,
        "labels of all, CPU s": cpu,
        "after adding 100, s": wall_after,
        "after adding 100, CPU s": cpu_after,
        "share renamed by adding 100": sum(before[node] != after[node] for node in alive) / len(alive),
        "share of concepts that lived on": len(alive) / len(before),
        "labels that are an exemplar": sum(label.startswith("“") for label in before.values()) / len(before),
    }


# -- searching with explanations -------------------------------------------------------------------


def search(data: Path, quick: bool) -> Figures:
    texts, vectors, queries, asked = _qqp(data)
    n, times = 10_000, 50 if quick else 200
    with Index(_no_encoder) as index:
        index.add(texts[:n], [str(at) for at in range(n)], vectors=vectors[:n])

        def run(**options: Any) -> float:
            taken = []
            for query, vector in zip(queries[:times], asked[:times], strict=True):
                start = time.thread_time()
                index.search(query, vector=vector, **options)
                taken.append(time.thread_time() - start)
            return 1e3 * statistics.median(taken)

        first = _timed(lambda: index.search(queries[-1], vector=asked[-1]))[2]
        fresh, plain = run(), run()
        run(explain=True)
        explained = run(explain=True)
    return {
        "documents": n,
        "first search, labels found, CPU s": first,
        "new queries, CPU ms": fresh,
        "the same again, CPU ms": plain,
        "with explanations, CPU ms": explained,
        "ratio": explained / plain,
    }


# -- novelty ---------------------------------------------------------------------------------------


def novelty(data: Path, quick: bool) -> Figures:
    """Novelty of posts like the indexed half of 20newsgroups, and of questions to a bank, which are unlike it."""
    news = list(_rows(data / "data/20newsgroups/corpus.jsonl.gz"))
    bank = [row["text"] for row in _rows(data / "data/banking77/corpus.jsonl.gz")]
    rng = np.random.default_rng(0)
    order = rng.permutation(len(news))
    held_back = [_text(news[at]) for at in order[: 100 if quick else 500]]
    inside = [_text(news[at]) for at in order[len(held_back) : 1_100 if quick else len(news) // 2 + len(held_back)]]
    strange = [bank[at] for at in rng.permutation(len(bank))[: len(held_back)]]
    with Index("minilm") as index:
        index.add([text for text in inside if text])
        here = [index.novelty(text) for text in held_back if text]
        there = [index.novelty(text) for text in strange]
    return {
        "documents": len(inside),
        "AUROC, banking77 against held-back posts": _auroc([n.score for n in here], [n.score for n in there]),
        "held-back posts below confidence 0.05": float(np.mean([n.confidence < 0.05 for n in here])),
        "banking77 below confidence 0.05": float(np.mean([n.confidence < 0.05 for n in there])),
        "median percentile of held-back posts": statistics.median(n.percentile for n in here),
        "median percentile of banking77": statistics.median(n.percentile for n in there),
    }


def _auroc(high: list[float], low: list[float]) -> float:
    """The probability that a value of `high` is above one of `low`."""
    above = np.array(high)[:, None] - np.array(low)[None, :]
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


# -- data ------------------------------------------------------------------------------------------


def _qqp(data: Path) -> tuple[list[str], npt.NDArray[np.float32], list[str], npt.NDArray[np.float32]]:
    folder = data / "embeddings"
    with gzip.open(folder / "qqp-setup.json.gz", "rt") as file:
        setup = json.load(file)
    corpus, queries = (np.load(folder / f"qqp-minilm-{part}.npy").astype(np.float32) for part in ("corpus", "queries"))
    return setup["corpus"], corpus, setup["queries"], queries


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        yield from map(json.loads, file)


def _text(row: dict[str, Any]) -> str:
    return f"{row.get('title') or ''}\n{row['text']}".strip()


def _no_encoder(texts: list[str]) -> npt.NDArray[np.float32]:
    raise RuntimeError("vectors are given")


def _timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    return value, time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    main()
