"""Compile kernels: the four decorators through which every kernel is compiled by Numba.

Kernels are cached on disk, release the GIL and never use Numba's own threads, which abort under concurrent callers:
parallel batches are Python threads over these kernels. Sums may be reassociated and multiply-adds contracted (which
lets a loop use vector registers), but NaN, infinity and signed zero keep their meaning.

Numba caches beside the source, in the user's cache folder, or in NUMBA_CACHE_DIR. Where none of these can be written,
kernels are cached in a private temporary folder; where that cannot be created either, every process compiles them.

Compiling all kernels takes a minute of CPU time: `runtime/compiling.py` shares the work between processes, and with
`runtime/shipped.py` there is none. Not done: subkernels of which no machine code is made, since they are inlined, would
save 16 % of it, but that needs a code library of our own, from parts of Numba that change with its versions. Subkernels
cached on disk take 8 % longer; to leave out wrappers for C saves nothing.

Private parts of Numba are used: the classes of its cache and the lock of its compiler (`runtime/kernel_cache.py`),
`get_call_template`, `overloads` and the option `_nrt`. So pyproject.toml pins Numba below the first version not yet
tested, and tests/runtime fails if one of them changes its meaning.
"""

import atexit
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Final, TypeVar

import numba

from gossamer.runtime.kernel_cache import KernelCache, use_cache

logger = logging.getLogger("gossamer")

F = TypeVar("F", bound=Callable[..., object])

_REASSOCIATED: Final = {"fastmath": {"reassoc", "contract", "arcp"}}
_ORDERED: Final = {"fastmath": {"contract"}}
_INTERNAL: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}


def kernel(function: F) -> F:
    """Compile `function` at its first call."""
    return _cached(_compiled(function, _REASSOCIATED))


def subkernel(function: F) -> F:
    """Compile a function that only kernels call and that allocates nothing, in a third of the time of `kernel`.

    It has no wrapper for Python: a call from Python crashes the interpreter. `tests/runtime/test_kernels.py` checks
    that there is none. Nor does it count references: it must not return an array.
    """
    return _compiled(function, _REASSOCIATED | _INTERNAL)


def ordered_kernel(function: F) -> F:
    """Compile a kernel that adds in the order written, so that equal input gives equal bits wherever it is inlined."""
    return _cached(_compiled(function, _ORDERED))


def ordered_subkernel(function: F) -> F:
    """Compile a subkernel that adds in the order written."""
    return _compiled(function, _ORDERED | _INTERNAL)


def compiled_for(kernel: F, *arguments: object) -> F:
    """The machine code of `kernel` for arguments of these types, as a function that looks at no types.

    Numba's dispatcher looks at the type of every array in every argument: 9 µs for a tree and a graph, a quarter of a
    search. What this returns must be called with arguments of the same types, in memory laid out the same way.
    """
    dispatcher: Any = kernel
    kinds = tuple(map(dispatcher.typeof_pyval, arguments))
    dispatcher.compile(kinds)
    code: F = dispatcher.overloads[kinds].entry_point
    return code


def _compiled(function: F, options: dict[str, Any]) -> F:
    compiled: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    # A kernel that other kernels call with an int32, an int64 and a constant would be compiled three times.
    template = compiled.get_call_template
    compiled.get_call_template = lambda args, kws: template(tuple(map(_widened, args)), kws)
    kernel: F = compiled
    return kernel


def _cached(kernel: F) -> F:
    """Cache a kernel on disk, if any folder can be written."""
    compiled: Any = kernel
    cache = _cache_of(compiled.py_func)
    if cache is not None:
        use_cache(compiled, cache)
    return kernel


def _cache_of(function: Callable[..., object]) -> KernelCache | None:
    try:
        return KernelCache(function)
    except RuntimeError as error:
        if "no locator" not in str(error):
            raise
    folder = _temporary_cache()
    if folder is None:
        return None
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, folder  # for this kernel only: other packages keep their folder
    try:
        return KernelCache(function)
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
