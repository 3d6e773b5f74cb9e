# mypy: disable-error-code="no-untyped-call"
"""Compiled kernels on disk. Processes share the work: each kernel is compiled by one of them, and loaded by the others.

A process that finds no compiled kernel claims it, with a lock on a file beside those of Numba's cache, and compiles it;
whoever needs the same kernel meanwhile waits, and loads it. A crash frees the claim. Where files cannot be locked, each
process compiles what it does not find.
"""

import gc
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numba
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.runtime.nrt import rtsys

from gossamer.files.file_lock import Claim
from gossamer.runtime import shipped
from gossamer.runtime.process import no_fork

KERNEL_ROOMS: Final = ("whitening", "neighbours", "tree", "graph", "plane", "rank", "lexical")
"""The packages of gossamer that contain kernels."""


def _digest() -> str:
    """A hash of all sources that contain kernels, or decide how they are compiled."""
    package = Path(__file__).parent.parent
    sources = sorted(source for room in KERNEL_ROOMS for source in (package / room).glob("*.py"))
    sources += [package / "runtime" / name for name in ("jit.py", "simd.py")]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


VERSION: Final = f"{numba.__version__} {_digest()}"
"""Numba discards a cached kernel only when the file that defines it changes, but kernels are inlined into each other
across files. It does not unpickle an index file of another version, which may name modules that are gone."""


_ALLOCATIONS: Final = 50_000
"""Objects allocated between two collections while a kernel is compiled. It takes no more memory than Python's 700."""


class KernelCache(FunctionCache):
    """The cache of one kernel. Numba calls its methods while it holds the lock of its compiler."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._cache_file._version = VERSION
        self._claim: Claim | None = None
        self.kernel = f"{function.__module__}.{function.__qualname__}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel, or None: then the caller is the one who has to compile it."""
        found = self._found(sig, target_context)
        if found is not None or self._claim is not None:
            return found
        if self.kernel.startswith("gossamer."):
            data = shipped.load(self.kernel, sig, VERSION, target_context)
            if data is not None:
                return self._impl.rebuild(target_context, data)
            from gossamer.runtime.compiling import start_helpers

            start_helpers()
        try:
            self._claim = Claim.on(self._claim_file, wait=True)
        except OSError:
            return None
        return self._found(sig, target_context)  # another may have compiled it meanwhile

    def _found(self, sig: Any, target_context: Any) -> Any:
        """The kernel from the cache. Numba would import all that it can compile first, which takes 0.4 s.

        A compiled kernel needs of it only the allocator of arrays, unless it calls BLAS: no kernel of ours does.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def release(self) -> None:
        """Let others have the claim."""
        if self._claim is not None:
            self._claim.release()
            self._claim = None

    def has(self, sig: Any, codegen: Any) -> bool:
        """Whether the compiled kernel is there."""
        return self._index_key(sig, codegen) in self._cache_file._load_index()

    def file_of(self, sig: Any, codegen: Any) -> str:
        """The file with the compiled kernel."""
        name = self._cache_file._load_index()[self._index_key(sig, codegen)]
        return str(self._cache_file._data_path(name))

    def is_claimed(self) -> bool:
        """Whether a process compiles the kernel now."""
        if not os.path.exists(self._claim_file):
            return False
        claim = Claim.on(self._claim_file, wait=False)
        if claim is None:
            return True
        claim.release()
        return False

    @property
    def _claim_file(self) -> str:
        return f"{self._cache_file._index_path}.lock"


def use_cache(compiled: Any, cache: KernelCache) -> None:
    """Let a Numba dispatcher use `cache`, and release its claim when it has compiled, or failed to.

    A fork waits until nothing is compiled: LLVM aborts at the end of a child that was forked meanwhile.
    """
    compiled._cache = cache
    compile_or_load = compiled.compile

    def compile(sig: Any) -> Any:
        with no_fork(), global_compiler_lock, _fewer_collections():
            try:
                return compile_or_load(sig)
            finally:
                cache.release()

    compiled.compile = compile


@contextmanager
def _fewer_collections() -> Iterator[None]:
    """Collect garbage less often. With Python's thresholds it takes a seventh of the time of compiling."""
    before = gc.get_threshold()
    if before[0]:  # 0: it is turned off
        gc.set_threshold(max(before[0], _ALLOCATIONS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
