"""`python -m torture [ATTACK [COUNT]] [--seed N]`: see the package."""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from pathlib import Path

ATTACKS = {
    "kills": 1000,
    "writers": 300,
    "power": 1000,
    "interrupts": 1500,
    "faults": 200,
    "flips": 1000,
    "crafted": 1000,
}
"""Each with the number of times that docs/reliability.md reports; of faults, so many for each operation and call."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m torture", description="Attack an index, and say what comes of it.")
    parser.add_argument("attack", nargs="?", choices=[*ATTACKS, "all"], default="all")
    parser.add_argument("count", nargs="?", type=int)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    wrong = 0
    for name in ATTACKS if asked.attack == "all" else [asked.attack]:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            module = importlib.import_module(f"torture.{name}")
            outcome = module.attack(asked.count or ATTACKS[name], asked.seed, Path(folder))
        print(f"{name:<11} {outcome.summary()} ({time.monotonic() - start:.0f} s)", flush=True)
        for sentence in outcome.wrong:
            print(f"    {sentence}", flush=True)
        wrong += len(outcome.wrong)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
