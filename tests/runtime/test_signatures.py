"""`signatures.json` names every kernel, with the types that programs call it with. Run as a program, this writes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.registry import cpu_target

import gossamer
from gossamer import Index, VectorIndex
from gossamer.runtime.kernel_cache import KERNEL_ROOMS
from gossamer.runtime.signatures import FILE, Writer, all_signatures

Content = dict[str, dict[str, Any]]

# -- the calls -----------------------------------------------------------------------------------------


def use_vectors(folder: Path) -> None:
    """The life of a `VectorIndex` that is large enough for links and for all steps of agglomeration."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(40, 16))
    E = (centres[rng.integers(0, 40, 3300)] + 0.5 * rng.normal(size=(3300, 16))).astype(np.float32)
    index = VectorIndex(dim=16)
    index.add(E[:3000])
    for _ in range(2):  # the second time of an index whose arrays are mapped from a file
        index.search(E[0])
        index.search(E[:40].astype(np.float64), k=3)
        index.search(E[:2], context=0.5)
        index.search(E[:2], allowed=range(2500))
        index.search(E[:2], allowed=range(20))
        index.search(E[:2], within=index.path(0)[1])
        index.search(E[:2], recall=1.0)
        index.search(E[:2], method="path-sum")
        index.search(E[:2], method="path-sum", aggregate="mean")
        index.search(E[:2], method="path-sum", context=1.0)
        index.search(E[:2], method="best-first", budget=50)
        index.explain(E[0], 7)
        index.assign(E[:3])
        index.save(folder / "vectors")
        index.close()
        index = VectorIndex.load(folder / "vectors")
    index.add(E[3000:3005])
    index.delete([3, 4])
    index.add(E[3005:])
    index.settle()
    index.check()
    index.rebuild()
    index.changes(0)
    index.close()
    small = VectorIndex(dim=16, preset="paper")
    small.add(E[:50])
    small.search(E[0])
    small.assign(E[:3])
    small.add(E[50:60])
    small.delete([1])
    small.check()


WORDS = [
    "red",
    "green",
    "blue",
    "apple",
    "bread",
    "stone",
    "river",
    "cloud",
    "winter",
    "music",
    "engine",
    "letter",
    "garden",
    "silver",
    "paper",
    "window",
]


def use_texts(folder: Path) -> None:
    """The life of an `Index`: enough texts for concepts, topics, labels and a plane."""
    rng = np.random.default_rng(1)
    texts = [f"{' '.join(rng.choice(WORDS[i % 8 : i % 8 + 8], 7))} number {i}" for i in range(1500)]
    with Index.create(folder / "texts", encoder="lsa") as index:
        index.add(texts, metadata=[{"even": i % 2 == 0, "i": i} for i in range(1500)])
        index.add(["one more apple", "and one more river"], ids=["more", "most"])
        index.delete(["most"])
    for mode in ("w", "r"):
        with Index.open(folder / "texts", mode=mode) as index:
            index.search("green apple")
            index.search(["a blue river", '"paper window" -stone'], k=5)
            index.search("winter music", where={"even": True}, explain=True)
            index.search("winter music", where={"i": {"$lt": 30}}, diversity=0.3)
            index.explain("silver garden", "more")
            index.more_like("more")
            index.novelty("a letter")
            index.find_concepts("a letter")
            index.assign("a letter")
            index.outline()
            index.labels()
            index.topics(8)
            index.plane()
            index.near_duplicates()
            index.concepts()
    with Index.open(folder / "texts") as index:
        index.add([f"another {text}" for text in texts[:200]])
        index.plane()
        index.rebuild()
        index.check()
        index.compact(erase=True)


def called() -> dict[str, Any]:
    """All kernels with a cache by their name, in the order of the modules."""
    package = Path(gossamer.__file__).parent
    found = {}
    for file in sorted(file for room in KERNEL_ROOMS for file in (package / room).glob("[!_]*.py")):
        if "gossamer.runtime.jit" not in file.read_text():
            continue  # no kernels; `neighbours.fused` cannot even be imported without PyTorch
        module = import_module(f"gossamer.{file.parent.name}.{file.stem}")
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) == module.__name__ and hasattr(
                getattr(value, "_cache", None), "_impl"
            ):
                found[f"{file.parent.name}/{file.stem}.{name}"] = value
    return found


def record() -> tuple[Content, bool, bool]:
    """The content of the file; whether a kernel was compiled, since then some are in it that only kernels call.

    And whether Numba loaded all that it can compile, which no kernel needs that is compiled.
    """
    target, loaded = cpu_target.target_context, []
    refresh = target.refresh

    def noted() -> None:
        loaded.append(True)
        refresh()

    target.refresh = noted
    import runtime.test_kernel_fuzz as fuzz

    with tempfile.TemporaryDirectory() as folder:
        use_vectors(Path(folder))
        use_texts(Path(folder))
    kernels = called()
    used = {name: list(kernel.overloads) for name, kernel in kernels.items()}
    fuzz.feed_once()
    for name, kernel in kernels.items():
        used[name] = used[name] or list(kernel.overloads)
    writer = Writer()
    signatures = {name: sorted([writer.text(kind) for kind in each] for each in used[name]) for name in used}
    return (
        {"tuples": dict(sorted(writer.tuples.items())), "kernels": signatures},
        any(kernel.stats.cache_misses for kernel in kernels.values()),
        bool(loaded),
    )


# -- the tests -----------------------------------------------------------------------------------------


def recorded() -> Content:
    """What a process that compiles nothing records."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    for _ in range(2):
        child = [sys.executable, __file__, "print"]
        done = subprocess.run(
            child, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths}
        )
        assert done.returncode == 0, done.stderr[-3000:]
        content, compiled, loaded = json.loads(done.stdout)
        if not compiled:
            assert not loaded, "loading compiled kernels takes 0.4 s longer than it needs to"
            return dict(content)
    raise AssertionError("kernels are compiled in every process")


def test_the_file_is_current() -> None:
    now, kept = recorded(), json.loads(FILE.read_text())
    cure = "run python tests/runtime/test_signatures.py"
    assert now["tuples"] == kept["tuples"], cure
    assert now["kernels"] == kept["kernels"], cure


def test_programs_call_all_kernels_but_one() -> None:
    kernels = json.loads(FILE.read_text())["kernels"]
    assert [name for name in kernels if not kernels[name]] == ["tree/placement.new_place_workspace"]


def test_types_are_read_as_they_were_written() -> None:
    writer, content = Writer(), json.loads(FILE.read_text())
    read: dict[str, list[list[str]]] = {}
    for name, signature in all_signatures():
        read.setdefault(name, []).append([writer.text(kind) for kind in signature])
    assert read == {name: signatures for name, signatures in content["kernels"].items() if signatures}
    assert writer.tuples == content["tuples"]


def main() -> None:
    if sys.argv[1:] == ["print"]:
        print(json.dumps(record()))
        return
    content = recorded()
    before = list(json.loads(FILE.read_text())["kernels"]) if FILE.exists() else []
    order = {name: place for place, name in enumerate(before)}  # chosen by hand; new ones come last
    names = sorted(content["kernels"], key=lambda name: order.get(name, len(order)))
    content["kernels"] = {name: content["kernels"][name] for name in names}
    FILE.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
