"""Kernels are cached wherever something can be written, and nowhere that others can write."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer

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
    """Root may write where the mode of a folder forbids it; programs started from here on may not."""
    ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Path]:
    """A copy of the package beside a program with a kernel, all of it read-only but for the folder "temporary"."""
    folder = tmp_path / "installed"
    shutil.copytree(Path(gossamer.__file__).parent, folder / "gossamer", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "double.py").write_text(KERNEL)
    (folder / "temporary").mkdir()
    folders = [folder, *(each for each in (folder / "gossamer").rglob("*") if each.is_dir())]
    for each in folders:
        each.chmod(0o555)
    yield folder
    for each in folders:
        each.chmod(0o755)


def run(installed: Path, temporary: Path, **env: str) -> str:
    """Run the program for a user whose home is not there; returns what it said on standard error."""
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


def test_a_place_of_one_s_own(installed: Path) -> None:
    chosen = installed / "temporary" / "chosen"
    assert run(installed, installed, NUMBA_CACHE_DIR=str(chosen)) == ""
    assert list(chosen.rglob("*.nbc"))
