"""Kernels that came compiled with the package: on a common processor nothing has to be compiled.

A wheel made by `scripts/wheel` has an archive for each level of processors, `compiled/<Python>-<level>.zip`. Of the
levels that the processor has, the best is taken, but only if its kernels are made from these sources, for this Python,
this version of Numba and this operating system. Otherwise, as in a checkout, kernels are compiled at first use. What
was compiled on this machine is preferred: an archive is asked where the cache has nothing.

Kernels of an archive are as fast as those compiled here. On a Zen 4, in µs for a search of 20,000 vectors of 128
dimensions and in s for building: compiled here 55 and 1.6, level 4 55 and 1.5, level 3 48 and 2.1 (it lacks VNNI).
Answers are equal.

    NUMBA_CPU_NAME=… NUMBA_CPU_FEATURES=… python -m gossamer.runtime.shipped LEVEL    write the archive of one level
"""

import hashlib
import json
import pickle
import sys
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numba
from numba.core.registry import cpu_target

from gossamer.runtime.signatures import all_signatures, find

FOLDER: Final = Path(__file__).with_name("compiled")

_V3: Final = ("sse4.2", "popcnt", "cx16", "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4: Final = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni")

LEVELS: Final = {"x86-64-v4": _V4, "x86-64-v3": _V3}
"""The instructions of each level, the best level first. VNNI is no part of the fourth, but all but the first processors
of that level have it, and `runtime/simd.py` uses it."""

_CONTENT: Final = "content.json"


def load(kernel: str, signature: Any, version: str, target: Any) -> Any:
    """The compiled kernel, reduced as in Numba's cache, or None."""
    file = archive_for(version, target.codegen().magic_tuple())
    if file is None:
        return None
    try:
        with zipfile.ZipFile(file) as archive:  # opened each time: a forked child would share its position
            return pickle.loads(archive.read(_entry(kernel, signature)))
    except (KeyError, OSError, zipfile.BadZipFile):  # not called so by any program we know, or damaged
        return None


def features(level: str) -> str:
    """The instructions of a level, as in NUMBA_CPU_FEATURES."""
    return ",".join(f"+{name}" for name in LEVELS[level])


@cache
def archive_for(version: str, host: tuple[str, str, str]) -> Path | None:
    """The best archive that can be used by a process for which Numba would compile for `host`."""
    config: Any = numba.config
    triple, _, instructions = host
    if config.CPU_NAME or config.CPU_FEATURES or config.BOUNDSCHECK or config.OPT != 3:
        return None  # somebody wants kernels that are compiled otherwise
    for level in LEVELS:
        file = FOLDER / _name(level)
        if set(instructions.split(",")).issuperset(features(level).split(",")) and file.exists():
            with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(file) as archive:
                if json.loads(archive.read(_CONTENT)) == {"version": version, "triple": triple}:
                    return file
    return None


def _name(level: str) -> str:
    return f"{sys.implementation.cache_tag}-{level}.zip"


def _entry(kernel: str, signature: Any) -> str:
    return f"{kernel}-{hashlib.sha256(str(signature).encode()).hexdigest()[:16]}"


def main() -> None:
    """Compile all kernels for the processor that the environment names, and write the archive."""
    from gossamer.runtime import compiling
    from gossamer.runtime.kernel_cache import VERSION

    level = sys.argv.pop()
    compiling.main()
    FOLDER.mkdir(exist_ok=True)
    with zipfile.ZipFile(FOLDER / _name(level), "w", zipfile.ZIP_DEFLATED) as archive:
        codegen = cpu_target.target_context.codegen()
        archive.writestr(_CONTENT, json.dumps({"version": VERSION, "triple": codegen.magic_tuple()[0]}))
        for name, signature in all_signatures():
            cache = find(name)._cache
            archive.write(cache.file_of(signature, codegen), _entry(cache.kernel, signature))


if __name__ == "__main__":
    main()
