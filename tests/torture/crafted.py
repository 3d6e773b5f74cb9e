"""Saved indices with valid checksums and wrong contents. None may crash, hang, or raise an error that is not ours.

    python -m torture crafted 1000 --seed 7

Sound indices of several kinds are saved; each case takes one of them, changes a few arrays or settings, writes it with
checksums that fit, and in a forked child loads it and does everything that can be done with an index. A child may end
in two ways: everything works, or a `GossamerError` says what is wrong. Case n of a seed is always the same one.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer import VectorIndex
from gossamer.errors import GossamerError
from gossamer.files.bundle import MANIFEST, Bundle, checksum, write_bundle
from torture.outcome import Outcome

SECONDS = 10.0
"""A child that takes longer hangs."""

MEMORY = 3 << 30
"""Bytes beyond those of its parent that a child may ask for: absurd sizes fail at once."""

WORKS, REFUSED, UNTYPED, BRICKED = 0, 1, 2, 3
_OUTCOMES = {WORKS: "works", REFUSED: "refused", UNTYPED: "untyped error", BRICKED: "saved what cannot be loaded"}

Array = npt.NDArray[Any]


# -- sound indices -------------------------------------------------------------------------------------


def _clustered(n: int, dim: int, seed: int) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(12, dim)) * 3
    return (centres[rng.integers(0, 12, n)] + rng.normal(size=(n, dim))).astype(np.float32)


def _stirred(index: VectorIndex, n: int, *, words: bool = False) -> VectorIndex:
    """`index` with about n documents, a few duplicates among them, after some were removed."""
    X = _clustered(n, index.dim, seed=n)
    X[: n // 20] = X[n // 2]
    ids: Any = [f"document {at} é" for at in range(n)] if words else list(range(n))
    index.add(X, ids)
    index.remove(ids[3 : n // 3 : 7])
    index.add(X[: n // 30] + 1.0, [f"late {at}" for at in range(n // 30)] if words else None)
    return index


KINDS: dict[str, Callable[[], VectorIndex]] = {
    "empty": lambda: VectorIndex(4),
    "one": lambda: _stirred(VectorIndex(3), 1),
    "raw": lambda: _stirred(VectorIndex(6), 80, words=True),
    "linked": lambda: _stirred(VectorIndex(10), 1800),
    "tree alone": lambda: _stirred(VectorIndex(10, links=False), 1500, words=True),
    "paper": lambda: _stirred(VectorIndex(5, "paper"), 1060),
}


def sound() -> dict[str, Bundle]:
    """A bundle of each kind, as it would be saved; of one, also before it is settled."""
    bundles = {}
    for kind, make in KINDS.items():
        index = make()
        if kind == "linked":
            waiting = VectorIndex.from_bundle(_copied(index.to_bundle()))
            waiting.add(_clustered(1500, 10, seed=1))
            bundles["not settled"] = _copied(waiting.to_bundle())
        index.settle()
        bundles[kind] = _copied(index.to_bundle())
    return bundles


def _copied(bundle: Bundle) -> Bundle:
    return Bundle(copy.deepcopy(bundle.params), {name: array.copy() for name, array in bundle.arrays.items()})


# -- what is done to them ------------------------------------------------------------------------------


def _a_name(arrays: dict[str, Array], rng: random.Random) -> str:
    return rng.choice(sorted(arrays))


def _with_entries(arrays: dict[str, Array], rng: random.Random) -> tuple[str, Array]:
    return next((name, arrays[name]) for name in iter(lambda: _a_name(arrays, rng), None) if arrays[name].size)


def _strange(array: Array, rng: random.Random) -> Any:
    """A value that may not be in such an array, or may be there but not here."""
    other = array.reshape(-1)[rng.randrange(array.size)]
    if array.dtype.kind == "f":
        return rng.choice([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e-42, 1e17, 3e38, other * 1.001, -other, other])
    limits = np.iinfo(array.dtype)
    near = [-2, -1, 0, 1, len(array) - 1, len(array), len(array) + 1, rng.randrange(len(array) + 1), int(other)]
    value = rng.choice([*near, *near, int(limits.max), int(limits.min), int(limits.max) // 2])
    return max(int(limits.min), min(int(limits.max), value))


def set_entries(bundle: Bundle, rng: random.Random) -> str:
    name, array = _with_entries(bundle.arrays, rng)
    flat, count = array.reshape(-1), rng.choice([1, 1, 2, 5])
    values = [_strange(array, rng) for _ in range(count)]
    for value in values:
        flat[rng.randrange(array.size)] = value
    return f"{name}: entries set to {values}"


def set_counters(bundle: Bundle, rng: random.Random) -> str:
    name = rng.choice(["tree.meta", "tree.limits"])
    array = bundle.arrays[name]
    at, value = (
        rng.randrange(len(array)),
        _strange(bundle.arrays["tree.size"] if name == "tree.meta" else array, rng)
        if bundle.arrays["tree.size"].size
        else 7,
    )
    array[at] = value
    return f"{name}[{at}] = {value}"


def add_to_counter(bundle: Bundle, rng: random.Random) -> str:
    at, by = rng.randrange(17), rng.choice([-1, 1])
    bundle.arrays["tree.meta"][at] += by
    return f"meta[{at}] += {by}"


def swap_entries(bundle: Bundle, rng: random.Random) -> str:
    name, array = _with_entries(bundle.arrays, rng)
    flat = array.reshape(-1)
    one, other = rng.randrange(array.size), rng.randrange(array.size)
    flat[one], flat[other] = flat[other], flat[one]
    return f"{name}: {one} and {other} swapped"


def set_all(bundle: Bundle, rng: random.Random) -> str:
    name, array = _with_entries(bundle.arrays, rng)
    value = _strange(array, rng)
    array.fill(value)
    return f"{name}: all {value}"


def shuffle_rows(bundle: Bundle, rng: random.Random) -> str:
    name, array = _with_entries(bundle.arrays, rng)
    bundle.arrays[name] = array[rng.sample(range(len(array)), len(array))]
    return f"{name}: rows in another order"


def change_length(bundle: Bundle, rng: random.Random) -> str:
    name = _a_name(bundle.arrays, rng)
    array = bundle.arrays[name]
    to = rng.choice([0, 1, len(array) - 1, len(array) + 1, 2 * len(array)])
    bundle.arrays[name] = np.resize(array, (max(0, to), *array.shape[1:])) if array.size else array
    return f"{name}: {len(array)} rows made {to}"


def change_shape(bundle: Bundle, rng: random.Random) -> str:
    name = _a_name(bundle.arrays, rng)
    array = bundle.arrays[name]
    shapes = [
        (1, *array.shape),
        (*array.shape, 1),
        (-1,) if array.size else (0, 0),
        array.shape[::-1],
        (0, *array.shape),
    ]
    shape = rng.choice(shapes)
    bundle.arrays[name] = np.zeros(shape, array.dtype) if shape[0] == 0 else array.reshape(shape)
    return f"{name}: of shape {shape}"


def change_dtype(bundle: Bundle, rng: random.Random) -> str:
    name = _a_name(bundle.arrays, rng)
    dtype = rng.choice([np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64, np.bool_])
    with np.errstate(all="ignore"):
        bundle.arrays[name] = bundle.arrays[name].astype(dtype)
    return f"{name}: as {np.dtype(dtype)}"


def drop_array(bundle: Bundle, rng: random.Random) -> str:
    name = _a_name(bundle.arrays, rng)
    del bundle.arrays[name]
    return f"{name}: dropped"


def add_array(bundle: Bundle, rng: random.Random) -> str:
    names = [
        "raw", "id_text", "id_values", "guide.centre", "guide.to", "guide.recalls", "tree.more", "whitener.mean",
    ]  # fmt: skip
    name, like = rng.choice(names), bundle.arrays[_a_name(bundle.arrays, rng)]
    bundle.arrays[name] = like.copy()
    return f"{name}: added, of shape {like.shape}"


def exchange_arrays(bundle: Bundle, rng: random.Random) -> str:
    one, other = _a_name(bundle.arrays, rng), _a_name(bundle.arrays, rng)
    arrays = bundle.arrays
    arrays[one], arrays[other] = arrays[other].copy(), arrays[one].copy()
    return f"{one} and {other} exchanged"


def make_ring(bundle: Bundle, rng: random.Random) -> str:
    """Take one out of a doubly linked list and link it with itself: every link then has its counterpart."""
    after_name, before_name = rng.choice(
        [("tree.next_sibling", "tree.prev_sibling"), ("tree.next_document", "tree.prev_document")]
    )
    after, before = bundle.arrays[after_name], bundle.arrays[before_name]
    inside = np.flatnonzero((after >= 0) & (before >= 0))
    if not len(inside):
        return set_entries(bundle, rng)
    at = int(rng.choice(inside.tolist()))
    before[after[at]], after[before[at]] = before[at], after[at]
    after[at] = before[at] = at
    return f"{after_name}: {at} in a ring of its own"


def make_cycle(bundle: Bundle, rng: random.Random) -> str:
    """Let a link of a list lead to one that comes before it, or a child be its own ancestor's parent."""
    name = f"tree.{rng.choice(['next_sibling', 'next_document', 'chain', 'parent', 'first_child', 'prev_sibling'])}"
    array = bundle.arrays[name]
    linked = np.flatnonzero(array >= 0)
    if not len(linked):
        return set_entries(bundle, rng)
    at = int(rng.choice(linked.tolist()))
    target = array[at]
    if target < len(array):
        array[target] = at
    return f"{name}: {target} leads back to {at}"


def exchange_subtrees(bundle: Bundle, rng: random.Random) -> str:
    """Parents exchanged without their lists."""
    parent = bundle.arrays["tree.parent"]
    if len(parent) < 2:
        return set_entries(bundle, rng)
    one, other = rng.sample(range(len(parent)), 2)
    parent[one], parent[other] = parent[other], parent[one]
    return f"parents of {one} and {other} exchanged"


def change_numbers(bundle: Bundle, rng: random.Random) -> str:
    """Numbers that only say how well something is done may be any that are possible: then everything works."""
    name = rng.choice(["guide.step", "guide.unit", "guide.centre", "guide.length", "guide.recalls", "tree.mean", "raw"])
    if name not in bundle.arrays:
        return set_entries(bundle, rng)
    array, factor = bundle.arrays[name], rng.choice([0, 0.5, 0.9, 1.1, 2, 1e6, 1e-6])
    with np.errstate(all="ignore"):
        bundle.arrays[name] = (array * factor).astype(array.dtype)
    return f"{name}: times {factor}"


def _places(params: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in sorted(params.items()):
        yield (*path, name)
        if isinstance(value, dict):
            yield from _places(value, (*path, name))


def _deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def change_setting(bundle: Bundle, rng: random.Random) -> str:
    path = rng.choice(list(_places(bundle.params)))
    holder = bundle.params
    for name in path[:-1]:
        holder = holder[name]
    if rng.random() < 0.15:
        del holder[path[-1]]
        return f"{'.'.join(path)}: dropped"
    values = [
        None, True, False, -1, 0, 1, 3, 2**31, 2**70, 10**400, -0.5, 0.5, 1e-300, 1e308, float("nan"), float("inf"),
        "", "auto", "paper", "preset", [], [1], {}, {"a": 1}, _deep(200),
    ]  # fmt: skip
    holder[path[-1]] = value = rng.choice(values)
    return f"{'.'.join(path)}: {str(value)[:40]}"


def add_setting(bundle: Bundle, rng: random.Random) -> str:
    name, value = rng.choice(["whitener", "more", "to_be_fitted"]), rng.choice([None, {}, 3, {"ica": True}])
    bundle.params[name] = value
    return f"{name}: {value} added"


CHANGES: list[tuple[Callable[[Bundle, random.Random], str], int]] = [
    (set_entries, 30), (set_counters, 8), (add_to_counter, 5), (swap_entries, 10), (set_all, 4), (shuffle_rows, 4),
    (change_length, 6), (change_shape, 3), (change_dtype, 4), (drop_array, 3), (add_array, 3), (exchange_arrays, 3),
    (make_ring, 5), (make_cycle, 8), (exchange_subtrees, 3), (change_numbers, 8), (change_setting, 14),
    (add_setting, 2),
]  # fmt: skip


def change_manifest(folder: Path, rng: random.Random) -> str:
    """Change the manifest itself, and give it a checksum that fits."""
    file = folder / MANIFEST
    manifest = json.loads(file.read_text())
    place = rng.choice(["kind", "params", "arrays", "version", "format", "file", "bytes", "sha256", "blob"])
    values = [None, 3, -1, [], {}, "", "..", "../" + manifest["arrays"]["file"], "/dev/zero", "a\0b", 2**70, _deep(150)]
    value: Any = rng.choice(values)
    if place == "blob":
        value = rng.choice(
            [
                b"",
                b"{}",
                b"\xff" * 100,
                (1 << 60).to_bytes(8, "little") + b"{}",
                _header("BF16", [1], 2),
                _header("F32", [0, 2**62], 0),
                _header("F32", [2**40, 2**40], 0),
                _header("I64", [-1], 8),
            ]
        )
        manifest["arrays"] = {"file": "arrays-0.safetensors", "bytes": len(value), "sha256": _digest(value)}
        (folder / "arrays-0.safetensors").write_bytes(value)
    elif place in ("file", "bytes", "sha256"):
        manifest["arrays"][place] = value
    else:
        manifest[place] = value
    manifest["checksum"] = checksum(manifest)
    text = json.dumps(manifest)
    if rng.random() < 0.1:
        text = text.replace('"params": {', '"params": {"x": ' + "[" * 100_000 + "]" * 100_000 + ", ", 1)
    file.write_text(text)
    return f"manifest: {place} = {str(value)[:60]}"


def _header(dtype: str, shape: list[int], size: int) -> bytes:
    text = json.dumps({"tree.meta": {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}}).encode()
    return len(text).to_bytes(8, "little") + text + b"\0" * size


def _digest(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()


def craft(bundles: dict[str, Bundle], folder: Path, number: int) -> str:
    """Write case `number` into `folder`; returns what it is."""
    rng = random.Random(number)
    kind = rng.choice(sorted(bundles))
    bundle = _copied(bundles[kind])
    functions, weights = zip(*CHANGES, strict=True)
    at_manifest = rng.random() < 0.06
    done = []
    if not at_manifest:
        for change in rng.choices(functions, weights, k=rng.choice([1, 1, 1, 2, 3])):
            try:
                done.append(change(bundle, rng))
            except (LookupError, TypeError, ValueError):  # an earlier change took away what this one would change
                continue
    write_bundle(folder, "vectors", bundle)
    if at_manifest:
        done.append(change_manifest(folder, rng))
    return f"{kind}: {'; '.join(done)}"


# -- what an index goes through ------------------------------------------------------------------------


def exercise(folder: Path) -> int:
    """Load an index and do everything with it; returns how that ended."""
    try:
        index = VectorIndex.load(folder)
        _use(index)
        index.save(folder.with_name("again"))
    except GossamerError:
        return REFUSED
    try:
        VectorIndex.load(folder.with_name("again")).check()
    except GossamerError:
        traceback.print_exc()
        return BRICKED
    return WORKS


def _use(index: VectorIndex) -> None:
    rng = np.random.default_rng(0)
    Q = rng.normal(size=(6, index.dim)).astype(np.float32) * 3
    Q[1], Q[2] = 0.0, Q[2] * 1e12
    _search(index, Q)
    named = index.search(Q[0], k=1).ids.dtype == object
    index.add(_clustered(12, index.dim, seed=5), [f"new {at}" for at in range(12)] if named else None)
    found = index.search(Q[0], k=4).ids[0].tolist()
    index.remove(found[:2])
    _search(index, Q)
    index.check()
    index.refine()
    index.check()
    _search(index, Q)


def _search(index: VectorIndex, Q: npt.NDArray[np.float32]) -> None:
    found = index.search(Q, k=5)
    index.search(Q, k=3, method="path-sum")
    index.search(Q, k=3, method="path-sum", aggregate="mean")
    index.search(Q, k=3, method="best-first")
    index.search(Q[:2], k=3, context=0.5)
    index.search(Q, k=3, budget=40)
    ids = [id for id in found.ids[0].tolist() if id != -1]
    if ids:
        index.search(Q, k=2, allowed=ids)
        index.search(Q, k=2, within=index.tree.root)
        index.explain(Q[0], ids[0])
        index.nearest(index.project(Q[0]), k=3)
        index.similarity_bounds(index.project(Q[0])[0])
        index.path(ids[-1])
    index.tree.stats()


# -- children ------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """How one case ended."""

    number: int
    what: str
    ended: str
    good: bool
    details: str


def in_child(folder: Path, details: Path) -> tuple[str, bool]:
    """`exercise` in a forked child, which is killed when its time is over."""
    child = os.fork()
    if child == 0:
        code = UNTYPED
        try:
            out = os.open(details, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
            code = exercise(folder)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(code)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            if os.WIFSIGNALED(status):
                return f"crashed: {signal.Signals(os.WTERMSIG(status)).name}", False
            code = os.WEXITSTATUS(status)
            return _OUTCOMES[code], code in (WORKS, REFUSED)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"hung for {SECONDS:g} s", False


def run(numbers: Iterator[int] | range) -> Iterator[Case]:
    """Cases, one after the other."""
    bundles = sound()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for kind, bundle in bundles.items():  # compile, before the clock runs; and see that the sound ones are
            write_bundle(here / "case", "vectors", bundle)
            assert exercise(here / "case") == WORKS, f"the sound index {kind!r} does not work"
        for number in numbers:
            for each in ("case", "again"):
                shutil.rmtree(here / each, ignore_errors=True)
            what = craft(bundles, here / "case", number)
            ended, good = in_child(here / "case", here / "details")
            yield Case(number, what, ended, good, (here / "details").read_text(errors="replace"))


def attack(count: int, seed: int, folder: Path) -> Outcome:
    """Try `count` cases."""
    outcome = Outcome()
    for case in run(range(seed, seed + count)):
        outcome.note(case.ended)
        if not case.good:
            outcome.wrong.append(f"case {case.number}: {case.ended}, {case.what}: {case.details[-1500:]}")
    return outcome
