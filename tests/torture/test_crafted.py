"""A few dozen of the cases of `crafted`, which by hand runs thousands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc")
def test_no_crafted_index_crashes_or_hangs() -> None:
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.run(
        [sys.executable, "-m", "torture.crafted", "--count", "60", "--seed", "1"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert child.returncode == 0, f"{child.stdout[-6000:]}\n{child.stderr[-3000:]}"
    assert "refused" in child.stdout
    assert "works" in child.stdout
