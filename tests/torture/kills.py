"""A writer is killed at random moments: what it acknowledged is there, node by node the same tree, and no more."""

from __future__ import annotations

import random
from pathlib import Path

from bag import encode
from durability.test_kill import dying_writer, survive
from durability.writer import carry_out
from gossamer import Index
from torture.outcome import Outcome


def attack(count: int, seed: int, folder: Path) -> Outcome:
    """Kill a writer `count` times."""
    rng, outcome = random.Random(seed), Outcome()
    path = folder / "killed.gsm"
    with Index.create(path, encode) as index:
        carry_out(index, 0)
    seen = 0
    with dying_writer(path) as victim, Index(encode) as twin:
        carry_out(twin, 0)
        for number in range(count):
            before = victim.kills_in_flight
            victim.run(seen + 1, delay=rng.uniform(0, 0.12))
            outcome.note("in the middle of an operation" if victim.kills_in_flight > before else "between two")
            try:
                seen = survive(path, victim, twin, seen)
            except Exception as error:
                outcome.wrong.append(f"kill {number}: {error!r}")
                break
    return outcome
