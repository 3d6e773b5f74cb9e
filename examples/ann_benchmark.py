"""Gossamer on data of ann-benchmarks and VIBE: HDF5 files with `train`, `test` and `neighbors`.

pip install gossamer h5py
python examples/ann_benchmark.py glove-100-angular.hdf5 --count 10
python examples/ann_benchmark.py                       # on random vectors, in a file that it makes

To run it by ann-benchmarks itself, copy examples/ann_benchmarks/ to ann_benchmarks/algorithms/gossamer/ of a checkout.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from gossamer.integrations.ann_benchmarks import Gossamer

RECALLS = (0.8, 0.9, 0.95, 0.98, 0.99, 1.0)


def random_file(path: Path) -> None:
    """A small file in their format: 4,000 vectors of 32 dimensions around 40 centres, and 100 queries."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(40, 32))
    rows = (centres[rng.integers(40, size=4_100)] + rng.normal(size=(4_100, 32))).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    train, test = rows[:4_000], rows[4_000:]
    with h5py.File(path, "w") as file:
        file.attrs["distance"] = "angular"
        file["train"], file["test"] = train, test
        file["neighbors"] = np.argsort(-test @ train.T, axis=1, kind="stable")[:, :100]


def run(path: Path, count: int, structure: Any) -> list[dict[str, float]]:
    """Build once, then search one by one at each recall: recall found, queries a second, nodes visited a query."""
    with h5py.File(path) as file:
        train, test, true = (np.array(file[name]) for name in ("train", "test", "neighbors"))
        distance = file.attrs["distance"]
    algorithm, start = Gossamer(distance, structure), time.perf_counter()
    algorithm.fit(train)
    print(f"{algorithm}: {len(train):,} × {train.shape[1]}, {distance}, built in {time.perf_counter() - start:.1f} s")
    rows = []
    for wanted in RECALLS:
        algorithm.set_query_arguments(wanted)
        start = time.perf_counter()
        found = [algorithm.query(query, count) for query in test]
        seconds = time.perf_counter() - start
        hits = [len(np.intersect1d(*each)) for each in zip(found, true[:, :count], strict=True)]
        visited = algorithm.get_additional()["dist_comps"] / len(test)
        rows.append({"recall": sum(hits) / (count * len(test)), "queries/s": len(test) / seconds, "visited": visited})
        print(f"{algorithm}: " + ", ".join(f"{name} {value:,.3f}" for name, value in rows[-1].items()))
    algorithm.done()
    return rows


def main(*arguments: str) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--structure", choices=["living", "cobweb"], default="living")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        if not given.files:
            random_file(Path(folder, "random-32-angular.hdf5"))
        for path in given.files or sorted(Path(folder).iterdir()):
            run(path, given.count, given.structure)


if __name__ == "__main__":
    main(*sys.argv[1:])
