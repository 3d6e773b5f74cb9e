"""Memory: a loaded index against its vectors alone, by its arrays and by what the system gives the process."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.vector_index.vector_index import VectorIndex
from gossamer_lab.bench import resident
from gossamer_lab.bench.data import Data
from gossamer_lab.bench.report import Report, Row, Section
from gossamer_lab.bench.systems import array_bytes, guide_of
from gossamer_lab.bench.timing import Say

_MEGABYTE: Final = 2**20


def run(data: Data, *, say: Say) -> Report:
    """Save the index, load it elsewhere, and see what it takes."""
    say("building")
    index = VectorIndex(data.raw.shape[1], whitener=data.whitener)
    index.add(data.raw)
    small = VectorIndex(data.raw.shape[1])
    small.add(data.raw[: min(len(data.raw), max(3000, 4 * data.raw.shape[1]))])
    with tempfile.TemporaryDirectory() as folder:
        small.save(Path(folder) / "small")
        index.save(Path(folder) / "large")
        np.save(Path(folder) / "queries.npy", data.raw_queries[:200])
        say("loading")
        arrays = _by_part(VectorIndex.load(Path(folder) / "large"))
        sizes = _resident(Path(folder))
    held, given = data.X.nbytes, data.raw.nbytes
    parts = [_row(name, size, held, given) for name, size in {**arrays, "all arrays": sum(arrays.values())}.items()]
    grown = [_row(f"process, {name}", size, held, given) for name, size in sizes.items()]
    built = _row("arrays of an index just built, with room to grow", sum(_by_part(index).values()), held, given)
    notes = [
        f"vectors held: {held / _MEGABYTE:,.1f} MB, whitened float32; vectors given: {given / _MEGABYTE:,.1f} MB. "
        "process: growth of the resident set of a fresh process; path-sum with context keeps weights of its own.",
    ]
    if not sizes:
        notes.append("The resident set is read from /proc, which is not here.")
    return Report("memory", data.description, {}, [Section("memory of a loaded index", [*parts, *grown, built], notes)])


def _row(name: str, size: int, held: int, given: int) -> Row:
    return {
        "what": name,
        "MB": size / _MEGABYTE,
        "ratio to vectors held": size / held,
        "ratio to vectors given": size / given,
    }


def _by_part(index: VectorIndex) -> dict[str, int]:
    arrays = index.tree.arrays
    guides = guide_of(index)._g
    parts = {"vectors": arrays.vectors.nbytes, "concepts (means, variances)": arrays.mean.nbytes + arrays.m2.nbytes}
    parts["rest of the tree"] = array_bytes(arrays) - sum(parts.values())
    if guides is not None:
        parts |= {
            "codes of leaves": guides.codes.leaf.nbytes,
            "codes of concepts": guides.codes.inner.nbytes,
            "links": array_bytes(guides.links),
        }
        parts["rest of the guide"] = array_bytes(guides) - sum(list(parts.values())[3:])
    return parts


def _resident(folder: Path) -> dict[str, int]:
    """Growth of the resident set of a fresh process; nothing where the system does not tell."""
    if not Path("/proc/self/statm").exists():
        return {}
    paths = [str(folder / name) for name in ("small", "large", "queries.npy")]
    command = [sys.executable, "-m", resident.__name__, *paths]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    sizes: dict[str, int] = json.loads(done.stdout)
    return sizes
