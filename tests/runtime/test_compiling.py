"""Processes share the work of compiling: each kernel is compiled once. Helpers end with their program."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.files.file_lock import Claim
from gossamer.runtime.shipped import features
from runtime.test_jit import copy_package

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found as Linux shows them")

STEPS = """
from gossamer.runtime.jit import kernel

@kernel
def walk(x):
    return x + 1

@kernel
def run(x):
    return x + 2
"""
SIGNATURES = {"tuples": {}, "kernels": {"tree/steps.run": [["float64"]], "tree/steps.walk": [["float64"]]}}
WALK = """
from gossamer.tree.steps import walk
print(walk(1.0), sum(walk.stats.cache_misses.values()), flush=True)
"""
WAIT = "import time; time.sleep(60)"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package with two small kernels, the only ones that helpers know."""
    folder = copy_package(tmp_path) / "gossamer"
    (folder / "tree" / "steps.py").write_text(STEPS)
    (folder / "runtime" / "signatures.json").write_text(json.dumps(SIGNATURES))
    return tmp_path


@contextmanager
def program(package: Path, source: str, helpers: str = "1", **env: str) -> Iterator[subprocess.Popen[str]]:
    environment = {"PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(package / "kernels"), "PATH": ""}
    with subprocess.Popen(
        [sys.executable, "-B", "-W", "error", "-c", source],
        env={**environment, "GOSSAMER_COMPILE_WORKERS": helpers, **env}, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield process
        process.kill()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def compiled(package: Path) -> list[str]:
    return sorted(file.name.split("-")[0] for file in (package / "kernels").rglob("*.nbc"))


def eventually(condition: Callable[[], bool], seconds: float = 180) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def helpers_of(package: Path) -> list[int]:
    """The processes that compile into the cache of this package."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_helper = b"--helper" in (process / "cmdline").read_bytes()
            if is_helper and os.fsencode(package) in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:  # it has ended, or is another user's
            continue
    return found


def test_several_processes_compile_a_kernel_once(package: Path) -> None:
    with program(package, WALK, "0") as one, program(package, WALK, "0") as two, program(package, WALK, "0") as three:
        assert sorted(map(said, (one, two, three))) == ["2.0 0", "2.0 0", "2.0 1"]
    assert not list((package / "kernels").rglob("*.lock"))
    assert compiled(package) == ["steps.walk"], "no helper was started"


def test_a_claim_is_waited_for_and_freed_by_a_crash(package: Path) -> None:
    with program(package, WALK, "0") as process:
        said(process)
    (index,) = (package / "kernels").rglob("*.nbi")
    index.unlink()
    file = f"{index}.lock"
    hold = f"from gossamer.files.file_lock import Claim; Claim.on({file!r}, wait=True); print(1, flush=True)"
    with program(package, f"{hold}; {WAIT}") as holder:
        assert said(holder) == "1"
        assert Claim.on(file, wait=False) is None
        with program(package, WALK, "0") as process:
            assert process.stdout is not None
            time.sleep(2)
            assert not index.exists(), "it waits"
            holder.kill()
            assert said(process) == "2.0 1"


def test_ctrl_c_ends_the_wait(package: Path) -> None:
    with program(package, WALK, "0") as process:
        said(process)
    (index,) = (package / "kernels").rglob("*.nbi")
    index.unlink()
    claim = Claim.on(f"{index}.lock", wait=True)
    assert claim is not None
    handler = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    catch = "try:\n    walk(1.0)\nexcept KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
    source = f"{handler}from gossamer.tree.steps import walk\nprint('ready', flush=True)\n{catch}"
    with program(package, source, "0") as process:
        assert said(process) == "ready"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert said(process) == "interrupted"
    claim.release()


def test_a_helper_compiles_the_other_kernels(package: Path) -> None:
    with program(package, WALK + WAIT) as process:
        assert said(process).startswith("2.0")
        assert eventually(lambda: any((package / "kernels").rglob("compiled-*")))
        assert compiled(package) == ["steps.run", "steps.walk"]
        assert eventually(lambda: not helpers_of(package)), "its work is done"


def test_helpers_end_with_the_program(package: Path) -> None:
    """However it ends; here a helper has to wait for a claim."""
    with program(package, WALK, "0") as process:
        said(process)
    (folder,) = {file.parent for file in (package / "kernels").rglob("steps.walk*.nbi")}
    (name,) = (file.name for file in folder.glob("*.nbi"))
    nested = STEPS.replace("return x + 2", "return walk(x) + 1").replace("x + 1", "x + 1.0")
    (package / "gossamer" / "tree" / "steps.py").write_text(nested)
    claim = Claim.on(str(folder / f"{name}.lock"), wait=True)
    assert claim is not None
    start = "from gossamer.runtime.compiling import start_helpers; start_helpers(); print('started', flush=True);"
    for stop in (signal.SIGKILL, signal.SIGTERM):
        with program(package, f"{start} {WAIT}") as process:
            assert said(process) == "started"
            assert eventually(lambda: len(helpers_of(package)) == 1)
            process.send_signal(stop)
            assert eventually(lambda: not helpers_of(package))
    with program(package, start) as process:
        assert process.wait(60) == 0, "no warning of processes that nobody waits for"
    assert eventually(lambda: not helpers_of(package))
    claim.release()


@pytest.mark.parametrize("places", ["0", "1"])
def test_helpers_of_all_programs_are_limited(package: Path, places: str) -> None:
    start = "from gossamer.runtime.compiling import start_helpers; start_helpers(); print('started', flush=True);"
    with program(package, f"{start} {WAIT}", places) as one, program(package, f"{start} {WAIT}", places) as two:
        assert said(one) == said(two) == "started"
        assert len(helpers_of(package)) <= int(places)


# -- kernels that come compiled ------------------------------------------------------------------------


@pytest.mark.skipif(platform.machine() != "x86_64", reason="kernels are shipped for such processors")
def test_shipped_kernels_need_no_compiler(package: Path) -> None:
    level = "x86-64-v3"
    ship = f"import sys; sys.argv[1:] = [{level!r}]; from gossamer.runtime.shipped import main; main()"
    for_level = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": features(level)}
    with program(package, ship, "0", **for_level) as process:
        assert process.wait(60) == 0
    assert compiled(package) == ["steps.run", "steps.walk"]
    shutil.rmtree(package / "kernels")

    early = "from gossamer.runtime.compiling import start_helpers; start_helpers()"
    with program(package, f"{WALK}{early}; {WAIT}") as process:
        assert said(process) == "2.0 0"
        assert helpers_of(package) == []
    assert compiled(package) == []
    with program(package, WALK, "0", **for_level) as process:
        assert said(process) == "2.0 1", "somebody chose another processor"
    shutil.rmtree(package / "kernels")

    (archive,) = (package / "gossamer" / "runtime" / "compiled").iterdir()
    content = archive.read_bytes()
    archive.write_bytes(content[: len(content) // 2])
    with program(package, WALK, "0") as process:
        assert said(process) == "2.0 1", "the archive is damaged"
    shutil.rmtree(package / "kernels")

    archive.write_bytes(content)
    (package / "gossamer" / "tree" / "steps.py").write_text(STEPS.replace("x + 1", "x + 3"))
    with program(package, WALK, "0") as process:
        assert said(process) == "4.0 1", "it was made from other sources"
