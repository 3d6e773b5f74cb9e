"""A writer is killed at random moments: what it acknowledged is there, node by node the same tree, and no more."""

from __future__ import annotations

import random
from pathlib import Path

from durability.test_kill import create, dying_writer, on_trial
from torture.outcome import Outcome


def attack(count: int, seed: int, folder: Path) -> Outcome:
    """Kill a writer `count` times."""
    rng, outcome = random.Random(seed), Outcome()
    with dying_writer() as victim, on_trial(create(folder / "killed.gsm"), victim) as trial:
        for number in range(count):
            before = trial.kills_in_flight
            trial.kill(delay=rng.uniform(0, 0.12))
            outcome.note("in the middle of an operation" if trial.kills_in_flight > before else "between two")
            try:
                trial.survive()
            except Exception as error:
                outcome.wrong.append(f"kill {number}: {error!r}")
                break
    return outcome
