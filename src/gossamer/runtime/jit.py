"""How kernels are compiled: one decorator, so that every kernel is compiled the same way.

Kernels are cached on disk, release the GIL and never use Numba's own threads, which abort under
concurrent callers: parallel batches are Python threads over these kernels. Sums may be reassociated
and multiply-adds contracted (that is what lets a loop use vector registers), but NaN, infinity and
signed zero keep their meaning.

Numba caches beside the source, in the user's home, or in NUMBA_CACHE_DIR. Where none of these can be written,
kernels are cached in a private folder among the temporary files; where not even that can be made, they are
compiled anew in every process.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import numba

logger = logging.getLogger("gossamer")

F = TypeVar("F", bound=Callable[..., object])

_FREE: Final = {"fastmath": {"reassoc", "contract", "arcp"}}
_ORDERED: Final = {"fastmath": {"contract"}}
_CALLABLE: Final = {"cache": True}
_BARE: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}


def kernel(function: F) -> F:
    """Compile `function` on first use; cached, without the GIL."""
    return _compiled(function, _FREE | _CALLABLE)


def subkernel(function: F) -> F:
    """A kernel that only kernels call and that allocates nothing: compiled in a third of the time.

    What it saves is the door from Python, and so a call from Python crashes the interpreter;
    `tests/runtime/test_kernels.py` sees to it that there is none.
    """
    return _compiled(function, _FREE | _BARE)


def ordered_kernel(function: F) -> F:
    """A kernel whose sums are added in the order written: equal input gives equal bits whatever stands around it."""
    return _compiled(function, _ORDERED | _CALLABLE)


def ordered_subkernel(function: F) -> F:
    """The same, for kernels alone to call."""
    return _compiled(function, _ORDERED | _BARE)


def _compiled(function: F, options: dict[str, Any]) -> F:
    compiled = _njit(function, options)
    # Numba looks only at the file a kernel stands in when it asks whether a cached one is old, but kernels
    # are compiled into each other across files. So all of them carry the stamp of all sources.
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, "_source_stamp"):
        file._source_stamp = _SOURCES
    # A kernel called with an int32 here, an int64 there and a constant elsewhere would be compiled three times.
    template = compiled.get_call_template
    compiled.get_call_template = lambda args, kws: template(tuple(_wide(kind) for kind in args), kws)
    kernel: F = compiled
    return kernel


def _njit(function: Callable[..., object], options: dict[str, Any]) -> Any:
    """`function` as Numba compiles it, cached where that is possible."""
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        return numba.njit(**options)(function)
    except RuntimeError as error:
        if "no locator" not in str(error):
            raise
    folder = _temporary_cache()
    if folder is None:
        return numba.njit(**{**options, "cache": False})(function)
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, folder  # asked for now only: other packages keep their own place
    try:
        return numba.njit(**options)(function)
    finally:
        config.CACHE_DIR = before


@cache
def _temporary_cache() -> str | None:
    """A folder that only this user can write to, since whoever writes to a cache decides what is run."""
    why = "neither the package's folder nor the home can be written: set NUMBA_CACHE_DIR to choose another place"
    try:
        user = os.getuid() if hasattr(os, "getuid") else None
        folder = os.path.join(tempfile.gettempdir(), f"gossamer-kernels-{user}")
        if user is None or not _is_private(folder, user):
            folder = tempfile.mkdtemp(prefix="gossamer-kernels-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
    except OSError as error:
        logger.warning("kernels are compiled anew in every process (%s), since %s", error, why)
        return None
    logger.warning("compiled kernels are kept in %s, since %s", folder, why)
    return folder


def _is_private(folder: str, user: int) -> bool:
    """Make `folder` if it is not there; whether it is a real folder of this user that nobody else may enter."""
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077


def _wide(kind: Any) -> Any:
    """The type a kernel is compiled for when another kernel passes it an argument of type `kind`."""
    types: Any = numba.types
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) else kind


_ROOMS: Final = ("runtime", "whitening", "neighbours", "tree", "graph", "rank", "explain")
"""The packages that hold kernels."""


def _digest() -> str:
    """A hash of all sources that hold kernels."""
    package = Path(__file__).parent.parent
    sources = sorted(source for room in _ROOMS for source in (package / room).glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


_SOURCES = _digest()
