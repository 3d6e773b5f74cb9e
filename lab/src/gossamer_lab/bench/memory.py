"""Memory: a loaded index against its vectors alone, by its arrays and by the resident set of a fresh process.

Run as a program (``python -m gossamer_lab.bench.memory SMALL LARGE QUERIES``), this module is that process: it prints
the growth of its resident set as JSON. It loads and searches a small index first, so that code and libraries are
in memory before it counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import numpy as np

from gossamer import VectorIndex
from gossamer_lab.bench.data import Data
from gossamer_lab.bench.report import Report, Row, section
from gossamer_lab.engine import Floats, Kernel, tree_bytes
from gossamer_lab.timing import Say

_MEGABYTE: Final = 2**20
_STATM: Final = Path("/proc/self/statm")


def run(data: Data, *, say: Say) -> Report:
    """Save the index, load it in another process, and see what it takes."""
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
    parts = {**arrays, "all arrays": sum(arrays.values())}
    parts |= {f"process, {name}": size for name, size in sizes.items()}
    parts["arrays of an index just built, with room to grow"] = sum(_by_part(index).values())
    notes = [
        f"vectors held: {held / _MEGABYTE:,.1f} MB, whitened float32; vectors given: {given / _MEGABYTE:,.1f} MB. "
        "process: growth of the resident set of a fresh process; path-sum with context keeps weights of its own."
    ]
    if not sizes:
        notes.append("This system has no /proc, from which the resident set is read.")
    rows = [_row(name, size, held, given) for name, size in parts.items()]
    return Report("memory", data.description, {}, [section("memory of a loaded index", rows, notes)])


def _row(name: str, size: int, held: int, given: int) -> Row:
    return {
        "what": name,
        "MB": size / _MEGABYTE,
        "ratio to vectors held": size / held,
        "ratio to vectors given": size / given,
    }


def _by_part(index: VectorIndex) -> dict[str, int]:
    return tree_bytes(index) | Kernel.of(index).bytes()


def _resident(folder: Path) -> dict[str, int]:
    """Growth of the resident set of a fresh process; empty if the system does not tell."""
    if not _STATM.exists():
        return {}
    paths = [str(folder / name) for name in ("small", "large", "queries.npy")]
    command = [sys.executable, "-m", "gossamer_lab.bench.memory", *paths]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    sizes: dict[str, int] = json.loads(done.stdout)
    return sizes


# -- in the fresh process --------------------------------------------------------------------------


def _growth(small: str, large: str, queries: str) -> dict[str, int]:
    """Bytes of the resident set that the index `large` takes, after each thing done with it."""
    Q = np.load(queries)
    _search(VectorIndex.load(small), Q)
    before = _resident_now()
    index = VectorIndex.load(large)
    sizes = {"loaded": _resident_now() - before}
    _search(index, Q)
    sizes["after searches"] = _resident_now() - before
    index.search(Q[:8], 10, "path-sum", context=1.0)
    return {**sizes, "after path-sum": _resident_now() - before}


def _search(index: VectorIndex, Q: Floats) -> None:
    index.search(Q, 10)
    index.search(Q[0], 10)


def _resident_now() -> int:
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    json.dump(_growth(*sys.argv[1:]), sys.stdout)
