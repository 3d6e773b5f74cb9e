"""Compile kernels: the four decorators through which every kernel is compiled by Numba.

Kernels are cached on disk, release the GIL and never use Numba's own threads, which abort under concurrent callers:
parallel batches are Python threads over these kernels. Sums may be reassociated and multiply-adds contracted (which
lets a loop use vector registers), but NaN, infinity and signed zero keep their meaning.

Numba caches beside the source, in the user's cache folder, or in NUMBA_CACHE_DIR. Where none of these can be written,
kernels are cached in a private temporary folder; where that cannot be created either, every process compiles them.

Three private parts of Numba are used: the version of a cache file, `get_call_template` and the option `_nrt`. So
pyproject.toml pins Numba below the first version not yet tested, and tests/runtime/test_jit.py fails if one of them
changes its meaning.
"""

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

KERNEL_ROOMS: Final = ("runtime", "whitening", "neighbours", "tree", "graph", "plane", "rank", "lexical")
"""The packages of gossamer that contain kernels."""

_REASSOCIATED: Final = {"fastmath": {"reassoc", "contract", "arcp"}}
_ORDERED: Final = {"fastmath": {"contract"}}
_CACHED: Final = {"cache": True}
_INTERNAL: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}


def kernel(function: F) -> F:
    """Compile `function` at its first call."""
    return _compiled(function, _REASSOCIATED | _CACHED)


def subkernel(function: F) -> F:
    """Compile a function that only kernels call and that allocates nothing, in a third of the time of `kernel`.

    It has no wrapper for Python: a call from Python crashes the interpreter. `tests/runtime/test_kernels.py` checks
    that there is none. Nor does it count references: it must not return an array.
    """
    return _compiled(function, _REASSOCIATED | _INTERNAL)


def ordered_kernel(function: F) -> F:
    """Compile a kernel that adds in the order written, so that equal input gives equal bits wherever it is inlined."""
    return _compiled(function, _ORDERED | _CACHED)


def ordered_subkernel(function: F) -> F:
    """Compile a subkernel that adds in the order written."""
    return _compiled(function, _ORDERED | _INTERNAL)


def _compiled(function: F, options: dict[str, Any]) -> F:
    compiled = _njit(function, options)
    # Numba discards a cached kernel only when the file that defines it changes, but kernels are inlined into each other
    # across files. It does not unpickle an index file of another version, which may name modules that are gone. So the
    # version contains a hash of all sources.
    cache_file = getattr(compiled._cache, "_cache_file", None)
    if cache_file is not None:
        cache_file._version = f"{numba.__version__} {_SOURCES}"
    # A kernel that other kernels call with an int32, an int64 and a constant would be compiled three times.
    template = compiled.get_call_template
    compiled.get_call_template = lambda args, kws: template(tuple(map(_widened, args)), kws)
    kernel: F = compiled
    return kernel


def _njit(function: Callable[..., object], options: dict[str, Any]) -> Any:
    """`function` as a Numba dispatcher, cached if any folder can be written."""
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
    before, config.CACHE_DIR = config.CACHE_DIR, folder  # for this kernel only: other packages keep their folder
    try:
        return numba.njit(**options)(function)
    finally:
        config.CACHE_DIR = before


@cache
def _temporary_cache() -> str | None:
    """A folder that only this user can write to: whoever writes to a cache decides which code is run."""
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
    """Create `folder` if it is missing; whether it is a real folder of this user that nobody else may enter."""
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077


def _widened(kind: Any) -> Any:
    """The type for which a kernel is compiled when another kernel passes it an argument of type `kind`."""
    types: Any = numba.types
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) else kind


def _digest() -> str:
    """A hash of all sources that contain kernels."""
    package = Path(__file__).parent.parent
    sources = sorted(source for room in KERNEL_ROOMS for source in (package / room).glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


_SOURCES: Final = _digest()
