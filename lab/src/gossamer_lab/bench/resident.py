"""What a fresh process takes to load an index and to search it: run by `memory`, which reads the JSON it writes.

A small index is loaded and asked first, so that code and libraries are there already.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np

from gossamer.array_types import Floats
from gossamer.vector_index.vector_index import VectorIndex


def growth(small: str, large: str, queries: str) -> dict[str, int]:
    """Bytes of the resident set that `large` takes, after each thing done with it."""
    Q = np.load(queries)
    _ask(VectorIndex.load(small), Q)
    before = _resident()
    index = VectorIndex.load(large)
    sizes = {"loaded": _resident() - before}
    _ask(index, Q)
    sizes["after searches"] = _resident() - before
    index.search(Q[:8], 10, "path-sum", context=1.0)
    return {**sizes, "after path-sum": _resident() - before}


def _ask(index: VectorIndex, Q: Floats) -> None:
    index.search(Q, 10)
    index.search(Q[0], 10)


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    json.dump(growth(*sys.argv[1:]), sys.stdout)
