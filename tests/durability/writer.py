"""A process that writes to an index and is killed while it does; see test_kill.

Run as a program it imports everything once, then forks a child for each command on standard input, whose parts are
separated by tabs: the path of an index, the first operation, and a crash point or nothing. A child opens the index,
carries out operations from the first one on, and tells on standard output when each begins and when it has returned.
What operation number n is depends on n alone, so the test can carry out the same ones elsewhere.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from typing import Any

from bag import encode, sentence
from gossamer import Index
from gossamer.store import Policy, log, rows, snapshots
from gossamer.store.database import Database

FIRST = 985
"""Documents of operation 0: the whitener is fitted, and the tree grown anew, a few operations later."""

EAGER = Policy(snapshot_after=40, snapshot_share=0.0)
"""So many snapshots that most kills are near one."""

CRASH_POINTS: dict[str, tuple[Any, str, bool]] = {
    "while recording": (rows, "insert_passages", False),
    "recorded, not committed": (Database, "commit", False),
    "committed, not applied": (Database, "commit", True),
    "snapshot not begun": (snapshots, "write_bundle", False),
    "snapshot written, not renamed": (snapshots, "write_bundle", True),
    "snapshot renamed, old ones there": (snapshots, "remove_old", False),
    "old snapshots removed": (snapshots, "remove_old", True),
    "forgetting, not committed": (log, "drop_history", True),
}
"""A function and whether the process dies after it or before it."""


def operation(number: int) -> tuple[str, dict[str, Any]]:
    """Operation `number`: the name of a method of Index and its arguments."""
    rng = random.Random(number)
    if number == 0:
        return "add", {
            "texts": [sentence(rng) for _ in range(FIRST)],
            "ids": [f"d{at}" for at in range(FIRST)],
            "metadata": [{"at": at} for at in range(FIRST)],
        }
    kind = rng.choices(["add", "delete", "refit"], [70, 29, 1])[0]
    if kind == "refit":
        return "refit", {}
    ids = [f"d{at}" for at in rng.sample(range(FIRST + 60), rng.randint(1, 6))]
    if kind == "delete":
        return "delete", {"ids": ids}
    texts = [" ".join([sentence(rng) + "."] * rng.choice([1, 1, 30])) for _ in ids]  # some are split
    return "add", {"texts": texts, "ids": ids, "metadata": [{"by": number}] * len(ids)}


def carry_out(index: Index, number: int) -> None:
    name, arguments = operation(number)
    getattr(index, name)(**arguments)


def die_at(point: str, calls: int) -> None:
    """End this process as a power cut would, at the given call of a function."""
    owner, name, after = CRASH_POINTS[point]
    original: Callable[..., Any] = getattr(owner, name)
    left = [calls]

    def dying(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] < 0 and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*args, **kwargs)
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    for module in (owner, sys.modules["gossamer.store.store"]):
        if getattr(module, name, None) is original:
            setattr(module, name, dying)


def work(path: str, first: int) -> None:
    with Index.open(path, encode) as index:
        index.state.store.policy = EAGER
        for number in range(first, first + 1000):
            tell(f"begin {number}")
            carry_out(index, number)
            tell(f"done {number}")


def tell(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def main() -> None:
    with Index(encode) as warm:  # compile, before the clock runs
        warm.state.store.policy = EAGER
        carry_out(warm, 0)
        for number in range(1, 40):
            carry_out(warm, number)
        warm.search("moon")
    tell("ready")
    for line in sys.stdin:
        path, first, point = line.removesuffix("\n").split("\t")
        child = os.fork()
        if child == 0:
            tell(f"pid {os.getpid()}")  # the child itself: its parent might come later than its first operation
            if point:
                die_at(point, random.Random(int(first)).randint(1, 4))
            work(path, int(first))
            os._exit(0)
        os.waitpid(child, 0)
        tell("ended")


if __name__ == "__main__":
    main()
