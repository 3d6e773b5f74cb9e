"""Kernels are cached where only this user can write, compiled again when a source changes, and for one int type."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest

import gossamer
from gossamer.runtime.jit import kernel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="permissions are dropped as Linux does")

KERNEL = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from gossamer.runtime.jit import kernel

@kernel
def double(x):
    return 2 * x

print(double(21))
"""
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


def _keep_to_modes() -> None:
    """Take from root the right to ignore the modes of folders, in the program started next."""
    ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)


def copy_package(folder: Path) -> Path:
    shutil.copytree(
        Path(gossamer.__file__).parent, folder / "gossamer", ignore=shutil.ignore_patterns("__pycache__", "compiled")
    )
    return folder


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Path]:
    """A copy of the package beside a program with a kernel, all of it read-only but for the folder "temporary"."""
    folder = copy_package(tmp_path / "installed")
    (folder / "double.py").write_text(KERNEL)
    (folder / "temporary").mkdir()
    folders = [folder, *(each for each in (folder / "gossamer").rglob("*") if each.is_dir())]
    for each in folders:
        each.chmod(0o555)
    yield folder
    for each in folders:
        each.chmod(0o755)


def run(installed: Path, temporary: Path, **env: str) -> str:
    """Run the program for a user without a home folder; returns its standard error."""
    done = subprocess.run(
        [sys.executable, "-B", str(installed / "double.py"), str(temporary)],
        env={"PYTHONPATH": str(installed), "HOME": str(installed / "home"), "PATH": "", **env},
        capture_output=True, text=True, check=True, preexec_fn=_keep_to_modes if os.geteuid() == 0 else None,
    )  # fmt: skip
    assert done.stdout == "42\n"
    return done.stderr


def test_a_read_only_install_without_a_home(installed: Path) -> None:
    temporary = installed / "temporary"
    said = run(installed, temporary)
    (private,) = temporary.iterdir()
    assert said == (
        f"compiled kernels are kept in {private}, since neither the package's folder nor the home can be written: "
        "set NUMBA_CACHE_DIR to choose another place\n"
    )
    assert private.stat().st_mode & 0o777 == 0o700
    compiled = sorted(private.rglob("*.nbc"))
    assert len(compiled) == 1
    run(installed, temporary)
    assert sorted(private.rglob("*.nb?")) == [compiled[0], compiled[0].with_name(compiled[0].name[:-6] + ".nbi")]

    private.chmod(0o777)  # others may have put something there
    assert "kernels are kept in" in run(installed, temporary)
    assert list(temporary.iterdir()) == [private], "another one was used, and removed at the end"

    shutil.rmtree(private)
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    private.symlink_to(elsewhere)
    run(installed, temporary)
    assert list(elsewhere.iterdir()) == []


def test_nothing_at_all_can_be_written(installed: Path) -> None:
    assert run(installed, installed).startswith("kernels are compiled anew in every process ([Errno 13]")


def test_the_folder_may_be_chosen(installed: Path) -> None:
    chosen = installed / "temporary" / "chosen"
    assert run(installed, installed, NUMBA_CACHE_DIR=str(chosen)) == ""
    assert list(chosen.rglob("*.nbc"))


SHAPES = """
from typing import NamedTuple

class Point(NamedTuple):
    x: float
"""
STEP = """
from gossamer.runtime.jit import subkernel

@subkernel
def step(x):
    return x + 1
"""
WALK = """
import sys
from gossamer.runtime.jit import kernel
from gossamer.tree.a_step import step
from gossamer.tree.a_shape import Point

@kernel
def walk(point):
    return step(point.x)

print(walk(Point(1.0)), sum(walk.stats.cache_hits.values()))
"""


def walk(folder: Path) -> str:
    """Call a kernel that inlines another and takes a named tuple; prints its result and the number of cache hits."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", "gossamer.tree.walk_once"],
        env={"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "kernels"), "PATH": ""},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def walking(tmp_path: Path) -> Path:
    """A copy of the package with a kernel, a subkernel and a named tuple in three modules of their own."""
    tree = copy_package(tmp_path) / "gossamer" / "tree"
    (tree / "a_shape.py").write_text(SHAPES)
    (tree / "a_step.py").write_text(STEP)
    (tree / "walk_once.py").write_text(WALK)
    return tmp_path


def test_a_kernel_is_compiled_again_when_another_source_changes(walking: Path) -> None:
    """Numba itself looks only at the file of the kernel, and would go on adding one."""
    assert walk(walking) == "2.0 0"
    assert walk(walking) == "2.0 1"
    (walking / "gossamer" / "tree" / "a_step.py").write_text(STEP.replace("x + 1", "x + 2"))
    assert walk(walking) == "3.0 0"


def test_a_cache_that_names_modules_that_are_gone_is_not_read(walking: Path) -> None:
    """An index file is a pickle: one written before a module was renamed cannot be loaded."""
    tree = walking / "gossamer" / "tree"
    assert walk(walking) == "2.0 0"
    (tree / "a_shape.py").rename(tree / "a_form.py")
    (tree / "walk_once.py").write_text(WALK.replace("a_shape", "a_form"))
    assert walk(walking) == "2.0 0"
    assert walk(walking) == "2.0 1"


@kernel
def _twice(x: int) -> int:
    return 2 * x


def _thrice_over(small: npt.NDArray[np.int32], large: npt.NDArray[np.int64]) -> int:
    return _twice(small[0]) + _twice(large[0]) + _twice(3)


def test_integers_of_any_width_share_one_compiled_kernel() -> None:
    uncached: Any = numba.njit(_thrice_over)  # a kernel that is read from the cache compiles no kernel that it calls
    assert uncached(np.array([1], np.int32), np.array([2], np.int64)) == 12
    compiled: Any = _twice
    assert len(compiled.signatures) == 1
