"""The plane against its bars: neighbours kept, concepts kept together, time; and what moves while documents come.

    python benchmarks/plane.py INDEX.gsm … [--umap]
    python benchmarks/plane.py --growth VECTORS.npy [--documents N]

For each index: of the 10 nearest leaves in the whitened space, the share that is among the 50 nearest in the plane; of
the 10 nearest in the plane, the share in the same concept, on the first three levels that people see; CPU seconds. The
two main axes (PCA) and, with --umap and umap-learn installed, UMAP with its defaults are measured on the same vectors.
--growth lays out four fifths of N vectors, adds the others in four batches, then rebuilds the tree.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from gossamer import Index
from gossamer.plane.layout import lay_out
from gossamer.plane.sketch import Sketch, sketch_of

Matrix = npt.NDArray[Any]

SAMPLE = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", nargs="*", type=Path)
    parser.add_argument("--umap", action="store_true")
    parser.add_argument("--growth", type=Path, metavar="VECTORS")
    parser.add_argument("--documents", type=int, default=20_000)
    options = parser.parse_args()
    if options.indexes:
        print("| leaves | method | neighbours kept | same concept, levels 1 2 3 | seconds |\n|---|---|---|---|---|")
    for path in options.indexes:
        with Index.open(path, mode="r") as index:
            compare(path.stem, index, umap=options.umap)
    if options.growth:
        growth(np.load(options.growth)[: options.documents].astype(np.float32))


def compare(name: str, index: Index, *, umap: bool) -> None:
    vectors = index.state.vectors
    assert vectors is not None
    vectors.build_links()
    t = vectors.tree.arrays
    sketch = sketch_of(t, vectors.state.graph)
    X, concepts = t.vectors[sketch.rows], _concepts(index, sketch)
    exact = _nearest(X)
    lay_out(sketch)  # kernels are compiled, or read from the cache
    start = time.process_time()
    places = lay_out(sketch).places
    rows = [("this", places, time.process_time() - start)]
    centred = X - X.mean(axis=0)
    axes = np.linalg.svd(centred[:: max(1, len(X) // 5000)], full_matrices=False)[2][:2]
    rows.append(("PCA", centred @ axes.T, 0.0))
    if umap:
        from umap import UMAP

        start = time.process_time()
        found = UMAP(random_state=0, n_jobs=1).fit_transform(X)
        rows.append(("UMAP", found, time.process_time() - start))
    for method, where, seconds in rows:
        kept, same = _kept(where, exact), " ".join(f"{_same(where, each):.3f}" for each in concepts.T)
        print(f"| {name} {len(X):,} | {method} | {kept:.3f} | {same} | {seconds:.1f} |", flush=True)


def _concepts(index: Index, sketch: Sketch) -> Matrix:
    """The shown concept of each level that each leaf lies in."""
    plane = index.plane(labels=False)
    leaves = index.state.vectors.leaves_of(_passages(index))  # type: ignore[union-attr]
    of_leaf = {int(leaf): row for leaf, row in zip(leaves, plane.concepts, strict=True)}
    return np.array([of_leaf[int(leaf)] for leaf in sketch.leaves])


def _passages(index: Index) -> list[Any]:
    """One passage of each document; these benchmarks have documents of one passage, or take the first."""
    with index.state.view() as view:
        assert view is not None
        found = view.db.execute("SELECT min(passage) FROM passages WHERE gone IS NULL GROUP BY document")
        return [passage for (passage,) in found]


def _sampled(n: int) -> Matrix:
    return np.random.default_rng(0).choice(n, min(SAMPLE, n), replace=False)


def _nearest(X: Matrix) -> Matrix:
    chosen = _sampled(len(X))
    distances = (X**2).sum(axis=1)[None] - 2.0 * X[chosen] @ X.T
    distances[np.arange(len(chosen)), chosen] = np.inf
    return np.argpartition(distances, 10, axis=1)[:, :10]


def _kept(places: Matrix, exact: Matrix) -> float:
    near = cKDTree(places).query(places[_sampled(len(places))], k=51)[1]
    return float(np.mean([np.isin(wanted, found).mean() for wanted, found in zip(exact, near, strict=True)]))


def _same(places: Matrix, concepts: Matrix) -> float:
    chosen = _sampled(len(places))
    near = cKDTree(places).query(places[chosen], k=11)[1][:, 1:]
    there = concepts[chosen] >= 0
    return float((concepts[near] == concepts[chosen][:, None])[there].mean())


def growth(vectors: Matrix) -> None:
    """Figures while documents come: how far those that were there move, in distances between neighbours."""
    n = len(vectors)
    first, part = 4 * n // 5, n // 20
    texts = [f"document {at}" for at in range(n)]
    exact = _nearest(vectors)
    print("| documents | seconds | moved: median, 9 of 10 | neighbours kept | same concept, levels 1 2 3 |")
    print("|---|---|---|---|---|")
    with Index(lambda texts: np.zeros((len(texts), vectors.shape[1]), np.float32)) as index:
        before: Matrix | None = None
        for step in range(7):
            stop = min(n, first + step * part)
            if step <= 4:
                start = first + (step - 1) * part if step else 0
                index.add(texts[start:stop], texts[start:stop], vectors=vectors[start:stop])
            else:
                index.rebuild() if step == 5 else index.delete(texts[:part])
            plane = index.plane(labels=False)
            print(_grown(plane, before, exact if stop == n and step < 6 else None, step), flush=True)
            before = plane.positions


def _grown(plane: Any, before: Matrix | None, exact: Matrix | None, step: int) -> str:
    places = plane.positions
    if before is None:
        moved = "–"
    else:
        both = min(len(before), len(places))
        unit = 1.0 / np.sqrt(len(places))
        distance = np.linalg.norm(
            places[-both:] - before[-both:] if step == 6 else places[:both] - before[:both], axis=1
        )
        moved = f"{np.median(distance) / unit:.2f}, {np.quantile(distance, 0.9) / unit:.2f}"
    kept = "–" if exact is None else f"{_kept(places, exact):.3f}"
    same = " ".join(f"{_same(places, each):.3f}" for each in plane.concepts.T)
    what = {5: " after a rebuild", 6: " after deletions"}.get(step, "")
    return f"| {len(places):,}{what} | {plane.seconds:.2f} | {moved} | {kept} | {same} |"


if __name__ == "__main__":
    main()
