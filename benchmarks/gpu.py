"""Building and ranking on a GPU against its bars: all pairs, path-sum, and one index of 8.8 million vectors.

    python benchmarks/gpu.py [--vectors FILE] [--parts PART,...] [--rows N] [--large N] [--json FILE]

Parts: `peak` (the machine), `tune` (tile shapes), `neighbours`, `path-sum`, `large`, `sums` (how tensor cores add up).
Vectors are mixtures of the rows of FILE (`.npy`; without it, of random topics), made on the device. Every time is the
best of several, but for building.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from gossamer import VectorIndex, Whitener
from gossamer.neighbours.on_device import TILE, Problem, lay_out, nearest_on_device, nearest_plain
from gossamer.rank.exact import Scoring, rank_listed
from gossamer.rank.path_sum import PathSum
from gossamer.rank.path_sum_on_device import DevicePathSum
from gossamer.rank.split_product import Block, added_at_once, layout, left_side, product, right_side, rounding
from gossamer.tree.arrays import Meta

Matrix = npt.NDArray[np.float32]
Row = dict[str, Any]

DEVICE = "cuda"
K = 32
BATCH = 8192
STARTED = time.perf_counter()


def say(text: str) -> None:
    print(f"{time.perf_counter() - STARTED:7.1f} s  {text}", flush=True)


def seconds(work: Callable[[], Any], times: int = 3) -> float:
    """The best of several, after one that does not count."""
    best = np.inf
    for attempt in range(times + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        if attempt:
            best = min(best, time.perf_counter() - start)
    return best


@contextmanager
def steps(rows: list[Row]) -> Iterator[None]:
    """Note how long the steps of building take, those within others too."""
    from gossamer.graph import linking, search_graph
    from gossamer.neighbours import on_device
    from gossamer.rank import guided
    from gossamer.tree import agglomeration, rebuild
    from gossamer.vector_index import renewal

    patched = []
    for module, name in (
        (on_device, "nearest_on_device"), (agglomeration, "_merge_nearest"), (agglomeration, "top_merges"),
        (agglomeration, "codes_of"), (rebuild, "_sorted_by_content"), (rebuild, "agglomerate"),
        (rebuild, "add_concepts"), (renewal, "add_leaves"), (renewal, "agglomerate_leaves"), (renewal, "keep_ids"),
        (renewal, "in_tree_order"),
        (renewal, "prepare"), (renewal, "_touch_room"), (guided, "build"), (guided, "_calibrate"),
        (search_graph, "encode_tree"), (search_graph, "choose_entry_points"), (search_graph, "link_leaves"),
        (linking, "add_links"), (linking, "_known_neighbours"),
    ):  # fmt: skip
        whole = getattr(module, name)

        def timed(*given: Any, whole: Any = whole, name: str = name, **options: Any) -> Any:
            start = time.perf_counter()
            found = whole(*given, **options)
            took = time.perf_counter() - start
            if took > 1.0:
                rows.append({"step": name, "s": round(took, 1)})
                say(f"    {name}: {took:.1f} s")
            return found

        patched.append((module, name, whole))
        setattr(module, name, timed)
    try:
        yield
    finally:
        for module, name, whole in patched:
            setattr(module, name, whole)


# -- vectors -------------------------------------------------------------------------------------------


class Mixtures:
    """Vectors of length one between a random real one and three that are near it."""

    def __init__(self, path: str | None) -> None:
        if path is None:
            rng = np.random.default_rng(0)
            base = rng.normal(size=(500, 384))[rng.integers(0, 500, 20_000)] + rng.normal(size=(20_000, 384))
        else:
            base = np.load(path)
        self.base = torch.nn.functional.normalize(torch.from_numpy(base.astype(np.float32)).to(DEVICE), dim=1)
        self.about = f"mixtures of {len(base):,} {'real' if path else 'random'} vectors, {base.shape[1]} dimensions"

    def make(self, rows: int, seed: int) -> Matrix:
        generator = torch.Generator(DEVICE).manual_seed(seed)
        made = np.empty((rows, self.base.shape[1]), np.float32)
        for start in range(0, rows, BATCH):
            n = min(BATCH, rows - start)
            some = self.base[torch.randint(len(self.base), (n,), generator=generator, device=DEVICE)]
            others = self.base[torch.randperm(len(self.base), generator=generator, device=DEVICE)[:2048]]
            near = others[(some @ others.T).topk(3).indices]
            share = torch.rand((n, 4, 1), generator=generator, device=DEVICE).clamp_min(1e-7).log().neg()
            mixed = (torch.cat([some[:, None], near], 1) * share).sum(1)
            made[start : start + n] = torch.nn.functional.normalize(mixed, dim=1).cpu().numpy()
        return made


def codes_of(E: Matrix) -> npt.NDArray[np.int8]:
    """One byte a coordinate, by the extent of a sample."""
    scale = 127.0 / float(np.quantile(np.abs(E[:4096]).max(axis=1), 0.99))
    codes: npt.NDArray[np.int8] = np.clip(np.rint(E * scale), -127, 127).astype(np.int8)
    return codes


# -- parts ---------------------------------------------------------------------------------------------


def peak() -> Row:
    """What the card does at best."""
    n = 8192
    a, b = (torch.randn(n, n, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    i, j = (torch.randint(-127, 128, (n, n), device=DEVICE, dtype=torch.int8) for _ in range(2))
    big = torch.empty(1 << 32, dtype=torch.int8, device=DEVICE)
    x = torch.randn(n, n, device=DEVICE)
    found: Row = {"device": torch.cuda.get_device_name()}
    found["bf16 TFLOP/s"] = 2 * n**3 / seconds(lambda: a @ b.T) / 1e12
    found["int8 TOP/s"] = 2 * n**3 / seconds(lambda: torch._int_mm(i, j.T)) / 1e12
    found["fp32 TFLOP/s"] = 2 * n**3 / seconds(lambda: x @ x.T) / 1e12
    found["copy TB/s"] = 2 * len(big) / seconds(big.clone) / 1e12
    return found


def tensor_cores() -> Row:
    """How tensor cores add up, as `split_product` assumes it, and how far its products are off."""

    def kept(bits: int, places: list[int]) -> bool:
        """Whether 1 and, at other places of a row, terms of 2⁻²³⁻ᵇ add up to more than 1."""
        a, b = (torch.zeros(512, 64, device=DEVICE, dtype=torch.float16) for _ in range(2))
        a[:, 0] = b[:, 0] = 1.0
        a[:, places], b[:, places] = 2.0**-12, 2.0 ** (-11 - bits)
        return float(torch.mm(a, b.T, out_dtype=torch.float32)[0, 0]) > 1.0

    n, rows, dim = 1_000_000, 64, 272
    v, x = torch.randn(n, dim, device=DEVICE), torch.randn(rows, dim, device=DEVICE)
    at = layout([Block(dim, float(v.abs().max()))])
    left, factor = left_side(at, [x])
    off = 0.0
    for some in v.split(100_000):
        size = x.norm(dim=1, keepdim=True).double() * float(some.norm(dim=1).max())
        error = product(left, right_side(at, [some])).double() * factor - x.double() @ some.double().T
        off = max(off, float((error.abs() / size).max()))
    return {
        "bits beyond float32's": max(b for b in range(5) if kept(b, list(range(1, 1 + 2**b)))),
        "products added at once": 1 + max((place for place in range(2, 64) if kept(1, [1, place])), default=0),
        "off": off, "bound": rounding(dim, added_at_once(DEVICE)),
    }  # fmt: skip


def tune(problem: Problem, peaks: Row) -> list[Row]:
    """The fused product with shapes of its tile, on floors that are those of the last stage."""
    from gossamer.neighbours.fused import Config, FusedSearch

    rows, tiles = min(1 << 17, len(problem.rows)), len(problem.columns) // TILE
    search = FusedSearch(problem, 0, rows, K, Config(128, 1, 8, 2, False))
    search.run()
    floor, found = search.floor.clone(), []
    configs = [
        Config(shape[0], shape[1], shape[2], stages, described)
        for described, depths in ((True, (2, 3)), (False, (3,)))
        for shape in ((128, 1, 8), (128, 1, 4), (256, 1, 8), (128, 2, 8))
        for stages in depths
    ]
    for config in configs:
        search.config = config

        def once() -> None:
            search.counts.zero_()
            search.collect(0, tiles)

        search.floor.copy_(floor)
        try:
            took = seconds(once, 2)
        except Exception as error:
            say(f"  {tuple(config)}: {type(error).__name__} {str(error)[:80]!r}")
            continue
        rate = 2 * rows * tiles * TILE * problem.rows.shape[1] / took / 1e12
        found.append({**config._asdict(), "TOP/s": rate, "of peak": rate / peaks["int8 TOP/s"]})
        say(f"  {tuple(config)}: {rate:.0f} TOP/s")
    return sorted(found, key=lambda row: -row["TOP/s"])


def products_alone(p: Problem, rows: int) -> tuple[float, float]:
    """Seconds that the library takes for all products, with one byte a coordinate and with bfloat16."""
    m, n = min(16_384, rows // 128 * 128), min(65_536, len(p.columns))
    whole = len(p.columns) / n * (rows / m)
    left, right = p.rows[:m], p.columns[:n]
    wide, tall = left.bfloat16(), right.bfloat16()
    return seconds(lambda: torch._int_mm(left, right.T)) * whole, seconds(lambda: wide @ tall.T) * whole


def check(p: Problem, nearest: Any) -> None:
    """Some rows against products in double precision."""
    some = torch.randint(len(p.rows), (512,), device=DEVICE)
    keys = p.norms.double()[None] - 2 * p.rows[some].double() @ p.rows.double().T + p.norms[some].double()[:, None]
    keys[torch.arange(len(some)), some] = torch.inf
    expected = keys.topk(K, largest=False).values.cpu().numpy()
    assert np.array_equal(expected, nearest.distances[some.cpu().numpy()]), "a nearest neighbour was missed"


def neighbours(codes: npt.NDArray[np.int8], problem: Problem, peaks: Row, config: Any) -> list[Row]:
    """All pairs by the fused kernels and by PyTorch alone, and what the products take alone."""
    from gossamer.neighbours.fused import FusedSearch

    rows, dim = len(problem.rows), problem.rows.shape[1]

    def fused() -> None:
        for first in range(0, rows, 1 << 20):
            search = FusedSearch(problem, first, min(rows, first + (1 << 20)), K, config)
            search.run()
            search.finish()

    part = min(rows, 1 << 16)

    def plain() -> None:
        for first in range(0, part, 8192):
            nearest_plain(problem, first, min(part, first + 8192), K)

    int8, bf16 = products_alone(problem, rows)
    operations = 2.0 * rows * len(problem.columns) * dim
    measures: dict[str, Callable[[], float]] = {
        "products alone, int8, library": lambda: int8,
        "products alone, bf16, library": lambda: bf16,
        "fused (Triton, int8)": lambda: seconds(fused),
        "PyTorch (bf16)": lambda: seconds(plain, 1) * rows / part,
    }
    found = []
    for name, measure in measures.items():
        took = measure()
        found.append({
            "what": name, "s": took, "TOP/s": operations / took / 1e12, "times int8 products": took / int8,
            "times bf16 products": took / bf16, "of int8 peak": operations / took / 1e12 / peaks["int8 TOP/s"],
        })  # fmt: skip
        say(f"  {name}: {took:.2f} s")
    start = time.perf_counter()
    nearest = nearest_on_device(DEVICE, codes, K)
    found.append({"what": "from codes in memory to neighbours in memory", "s": time.perf_counter() - start})
    check(problem, nearest)
    return found


def built(E: Matrix, rows: list[Row], links: bool = True) -> VectorIndex:
    sample = E[:: max(1, len(E) // 200_000)]
    index = VectorIndex(E.shape[1], whitener=Whitener(n_components=0.98).fit(sample), device=DEVICE, links=links)
    start = time.perf_counter()
    with steps(rows):
        index.add(E)
    rows.append({"step": "all", "s": round(time.perf_counter() - start, 1), "rows": len(E)})
    return index


def path_sum(index: VectorIndex, Q: Matrix, k: int = 10, check_rows: int = 20) -> list[Row]:
    """Exhaustive ranking of all documents, beside a dot product and topk."""
    t, X = index.state.tree.arrays, index.project(Q)
    vectors, x = torch.from_numpy(t.vectors[: t.meta[Meta.LEAF_ROWS]]).to(DEVICE), torch.from_numpy(X).to(DEVICE)
    found = []

    def plain(tf32: bool) -> float:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        try:
            return seconds(lambda: (x @ vectors.T).topk(k))
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False

    base = plain(False)
    found.append({"what": "dot product + topk, float32", "s": base})
    found.append({"what": "dot product + topk, TF32", "s": plain(True)})
    ranker = index.state.path_sum
    assert isinstance(ranker, DevicePathSum)
    scorings = {"path gain": Scoring(False, 0.0), "path-sum": Scoring(False, 1.0), "mean": Scoring(True, 1.0)}
    for name, scoring in scorings.items():
        took = seconds(partial(ranker.search, t, X, k, scoring))
        first = seconds(partial(ranker._screen, t, X, k + 16, scoring))
        off, bound = rounding_seen(ranker, t, X[:50], k + 16, scoring)
        found.append({"what": name, "s": took, "times dot product": took / base, "first step": first})
        found[-1] |= {"off by": off, "bound": bound}
        say(f"  {name}: {took * 1000:.1f} ms, first step {first * 1000:.1f} ms, dot product {base * 1000:.1f} ms")
        if check_rows:
            ours, theirs = ranker.search(t, X[:check_rows], k, scoring), PathSum().search(t, X[:check_rows], k, scoring)
            assert np.array_equal(ours.documents, theirs.documents), name
            assert np.array_equal(ours.scores, theirs.scores), name
    return found


def rounding_seen(ranker: DevicePathSum, t: Any, X: Matrix, wanted: int, scoring: Scoring) -> tuple[float, float]:
    """How far scores of the first step are from exact ones, but for a constant of the query; and the bound on that."""
    candidates, bound = ranker._screen(t, X, wanted, scoring), ranker._rounding_error(t, X, scoring)
    off = 0.0
    for i, leaves in enumerate(candidates.leaves):
        documents = t.first_document[leaves].astype(np.int64)
        order = np.argsort(documents)
        exact = rank_listed(t, X[i : i + 1], documents[order], len(documents), scoring)
        place = np.argsort(exact.documents[0])
        off = max(off, float(np.ptp(candidates.scores[i][order] - exact.scores[0][place])) / float(bound[i]))
    return off * float(bound.max()), float(bound.max())


def without_device(index: VectorIndex, Q: Matrix) -> Row:
    """Save an index, and search it in a process that sees no GPU."""
    program = (
        "import sys, numpy as np\nfrom gossamer import VectorIndex\n"
        "found = VectorIndex.load(sys.argv[1]).search(np.load(sys.argv[1] + '.q.npy')).ids\n"
        "np.save(sys.argv[1] + '.found.npy', found)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        index.save(f"{folder}/v")
        np.save(f"{folder}/v.q.npy", Q)
        start = time.perf_counter()
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
        subprocess.run([sys.executable, "-c", program, f"{folder}/v"], env=environment, check=True)
        same = bool(np.array_equal(np.load(f"{folder}/v.found.npy"), index.search(Q).ids))
        return {"what": "opened and searched without a GPU", "s": time.perf_counter() - start, "same answers": same}


def searched(index: VectorIndex, Q: Matrix) -> list[Row]:
    """Searches by default (guided, on the processor, where an effort suffices) beside exhaustive ones on the card."""
    found: list[Row] = []
    index.search(Q[:64], method="path-sum")  # copies vectors to the card
    start = time.perf_counter()
    exact = index.search(Q, method="path-sum")
    found.append({"what": "exhaustive, on the card", "ms a query": (time.perf_counter() - start) / len(Q) * 1000})
    options: dict[str, dict[str, Any]] = {"the default search": {}, "budget=2000": {"budget": 2000}}
    for name, given in options.items():
        index.search(Q[:64], **given)
        start = time.perf_counter()
        guided = index.search(Q, **given)
        took = (time.perf_counter() - start) / len(Q) * 1000
        share = (guided.ids[:, :, None] == exact.ids[:, None, :]).any(2).mean()
        found.append({"what": name, "ms a query": took, "recall": float(share), "nodes": float(guided.visited.mean())})
    graph = index.state.graph
    if graph is not None and graph.calibration is not None:
        found[1]["calibrated"] = graph.calibration.recalls  # below the wanted recall: everything is scored
        found[1]["width"] = graph.calibration.width
    for row in found:
        say(f"  {row}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors")
    parser.add_argument("--parts", default="peak,neighbours,path-sum,large")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--large", type=int, default=8_800_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--no-links", action="store_true", help="no links between leaves in the large index")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    parts = given.parts.split(",")
    mixtures = Mixtures(given.vectors)
    report: Row = {
        "date": time.strftime("%Y-%m-%d"), "data": mixtures.about, "rows": given.rows, "large": given.large,
        "python": platform.python_version(), "torch": torch.__version__, "cores": os.cpu_count(),
    }  # fmt: skip
    report |= {name: version(name) for name in ("numpy", "numba", "triton")}

    def done(part: str, rows: Any) -> None:
        report[part] = rows
        for row in rows if isinstance(rows, list) else [rows]:
            say(f"{part}: " + ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))
        if given.json:
            given.json.write_text(json.dumps(report, indent=1))

    done("peak", peaks := peak())
    Q = mixtures.make(given.queries, 2)
    if {"tune", "neighbours", "path-sum"} & set(parts):
        E = mixtures.make(given.rows, 1)
        say(f"{len(E):,} vectors made")
    if {"tune", "neighbours"} & set(parts):
        from gossamer.neighbours.fused import Config, config_for

        codes = codes_of(E)
        problem = lay_out(codes, DEVICE)
        config = config_for(problem.rows.shape[1])
        say("laid out")
        if "tune" in parts:
            found = tune(problem, peaks)
            done("tune", found)
            config = Config(*(found[0][name] for name in Config._fields))
        if "neighbours" in parts:
            done("neighbours", neighbours(codes, problem, peaks, config))
        del problem, codes
        torch.cuda.empty_cache()
    if "path-sum" in parts:
        made: list[Row] = []
        index = built(E, made)
        done("build", made)
        done("path-sum", path_sum(index, Q))
        done("search", searched(index, Q))
        done("without-device", without_device(index, Q[:100]))
        del index, E
        torch.cuda.empty_cache()
    if "large" in parts:
        E = mixtures.make(given.large, 3)
        say(f"{len(E):,} vectors made")
        made = []
        index = built(E, made, not given.no_links)
        done("large-build", made)
        done("large-search", searched(index, Q))
    if "sums" in parts:
        done("sums", tensor_cores())
    say("done")


if __name__ == "__main__":
    main()
