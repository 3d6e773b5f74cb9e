"""How kernels are compiled: one decorator, so that every kernel is compiled the same way.

Kernels are cached on disk, release the GIL and never use Numba's own threads, which abort under
concurrent callers: parallel batches are Python threads over these kernels. Sums may be reassociated
and multiply-adds contracted (that is what lets a loop use vector registers), but NaN, infinity and
signed zero keep their meaning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile `function` on first use; cached, without the GIL."""
    return _compiled(function, {"reassoc", "contract", "arcp"})


def ordered_kernel(function: F) -> F:
    """The same, but sums are added in the order written: equal input gives equal bits whatever stands around it."""
    return _compiled(function, {"contract"})


def _compiled(function: F, liberties: set[str]) -> F:
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=liberties)(function)
    # Numba looks only at the file a kernel stands in when it asks whether a cached one is old, but kernels
    # are compiled into each other across files. So all of them carry the stamp of all sources.
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, "_source_stamp"):
        file._source_stamp = _SOURCES
    kernel: F = compiled
    return kernel


def _digest() -> str:
    here = Path(__file__).parent
    sources = sorted(
        [Path(__file__), here / "projection.py", here / "simd.py", *here.glob("tree/*.py"), *here.glob("rank/*.py")]
    )
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


_SOURCES = _digest()
