"""Each attack a few times; by hand they run a thousand times, see the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torture import faults

TESTS = Path(__file__).parent.parent
ATTACKS = {"writers": 4, "power": 5, "interrupts": 40, "flips": 12, "crafted": 20}
"""How often each is tried here. Kills have tests of their own, in `durability`."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="forks, preloads a library, and reads /proc"),
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_is_lost_or_wrong(attack: str) -> None:
    """A process of its own: it forks, is interrupted, or has a library preloaded."""
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "torture", attack, str(ATTACKS[attack]), "--seed", "1"],
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"{ran.stdout[-6000:]}\n{ran.stderr[-3000:]}"
    if "no compiler" in ran.stdout:
        pytest.skip("there is no C compiler here")
    assert "0 wrong" in ran.stdout


def test_nothing_is_lost_or_wrong_when_calls_fail(tmp_path: Path) -> None:
    """The attack itself starts a process of its own."""
    outcome = faults.attack(1, 1, tmp_path)
    if "no compiler" in outcome.ended:
        pytest.skip("there is no C compiler here")
    assert not outcome.wrong
    assert outcome.tried > 40
