"""Compile kernels in processes of their own, beside the program that needs them.

`start_helpers` starts them when a process first finds a kernel that is not compiled. They compile the kernels of
`signatures.json`, by the claims of `runtime/kernel_cache.py` each another one, and end with the program that started
them. There are as many at a time as there are cores less one, for all programs that share a cache.
`GOSSAMER_COMPILE_WORKERS=0` turns them off, another number limits them.

    python -m gossamer.runtime.compiling        compile all kernels now, with all cores
"""

import atexit
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from numba.core.caching import FunctionCache
from numba.core.registry import cpu_target

from gossamer.files.file_lock import Claim
from gossamer.runtime import shipped
from gossamer.runtime.kernel_cache import VERSION, KernelCache
from gossamer.runtime.process import OpenedIn
from gossamer.runtime.signatures import all_signatures, find

SETTING: Final = "GOSSAMER_COMPILE_WORKERS"

MOST: Final = 7
"""Helpers at a time: more would compile the same subkernels again."""

_MEMORY: Final = 2 << 30
"""Bytes of the machine's memory for each helper, which takes up to 430 MB of them."""

_NICE: Final = 5


@cache
def start_helpers() -> None:
    """Start helpers, once in a process, if they are allowed and there is something to compile. Never raises."""
    with suppress(OSError, RuntimeError, ValueError):  # a program that cannot be helped compiles by itself
        if _allowed() and not _everything_is_compiled():
            started = [process for process in map(_start_helper, _free_places()) if process is not None]
            if started:
                atexit.register(_end, started, OpenedIn())
                threading.Thread(target=_reap, args=(started,), name="gossamer-compiling", daemon=True).start()


def _allowed() -> int:
    """How many helpers there may be."""
    if getattr(sys, "frozen", False) or not sys.executable or not Path(sys.executable).stem.startswith("python"):
        return 0  # the program is no interpreter that could be started again
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else MOST * _MEMORY
    setting = os.environ.get(SETTING, "")
    return min(cores - 1, MOST, memory // _MEMORY, int(setting) if setting.isdecimal() else MOST)


def _folder() -> Path:
    """Where what all helpers share is kept: beside the compiled kernels."""
    return Path(FunctionCache(_folder).cache_path)  # type: ignore[no-untyped-call]


def _marker() -> Path:
    """A file that says that all kernels are compiled, from these sources for this processor."""
    built_for = (VERSION, sys.version_info[:2], cpu_target.target_context.codegen().magic_tuple())
    return _folder() / f"compiled-{hashlib.sha256(repr(built_for).encode()).hexdigest()[:16]}"


def _everything_is_compiled() -> bool:
    host = cpu_target.target_context.codegen().magic_tuple()
    return shipped.archive_for(VERSION, host) is not None or _marker().exists()


def _free_places() -> Iterator[Claim]:
    for number in range(_allowed()):
        claim = Claim.on(str(_folder() / f"helper-{number}.lock"), wait=False)
        if claim is not None:
            yield claim


def _start_helper(place: Claim) -> subprocess.Popen[bytes] | None:
    """Start a helper, which inherits the lock of its place, and holds it until it ends. Ctrl-C does not reach it."""
    paths = os.pathsep.join(path for path in sys.path if path)
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "gossamer.runtime.compiling", "--helper"],
            env={**os.environ, SETTING: "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": paths},
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=() if sys.platform == "win32" else (place.handle,), start_new_session=True,
        )  # fmt: skip
    except OSError:
        return None
    finally:
        if sys.platform != "win32":  # where it stays locked as long as this process lives
            os.close(place.handle)


def _reap(helpers: list[subprocess.Popen[bytes]]) -> None:
    for helper in helpers:
        helper.wait()


def _end(helpers: list[subprocess.Popen[bytes]], program: OpenedIn) -> None:
    """End the helpers at the end of the program, but not at that of a forked child."""
    for helper in helpers if program.is_current() else ():
        helper.kill()
        helper.wait()
        if helper.stdin is not None:
            helper.stdin.close()


# -- a helper ------------------------------------------------------------------------------------------


def compile_all(kernels: Sequence[tuple[str, tuple[Any, ...]]], *, wait: bool) -> None:
    """Compile the kernels that are neither compiled nor claimed; with `wait`, wait for those that are claimed."""
    codegen = cpu_target.target_context.codegen()
    compiled = True
    for name, signature in kernels:
        kernel = find(name)
        cache: Any = kernel._cache
        if not isinstance(cache, KernelCache):
            return  # what one process compiles is of no use to another
        if not cache.has(signature, codegen) and (wait or not cache.is_claimed()):
            kernel.compile(signature)
        compiled = compiled and cache.has(signature, codegen)
    if compiled:
        _marker().touch()


def _help() -> None:
    if hasattr(os, "nice"):
        os.nice(_NICE)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    kernels = list(all_signatures())
    compile_all(kernels, wait=False)
    compile_all(kernels, wait=True)  # what the program compiles itself: only when that is done is everything compiled


def _end_with_parent() -> None:
    """Wait until the program that started this process has ended, however it did, and its end of the pipe is closed."""
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    """Help, or compile everything with helpers."""
    if sys.argv[1:] == ["--helper"]:
        _help()
    else:
        start_helpers()
        kernels = list(all_signatures())
        compile_all(kernels[::-1], wait=False)  # helpers begin at the other end, where kernels share other subkernels
        compile_all(kernels, wait=True)


if __name__ == "__main__":
    main()
