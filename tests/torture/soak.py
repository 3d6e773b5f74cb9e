"""Ten minutes of everything at once: memory, the log and the folder stay as large as what they hold.

    python -m torture.soak [SECONDS] [FOLDER]

One thread adds and deletes, four search, a reader follows in a process of its own. Every ten seconds a line says how
much memory is taken; at the end the last quarter of the time is compared with the second.
"""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from bag import encode, sentence
from gossamer import Index

_DOCUMENTS: Final = 3_000
_MOST_GROWTH: Final = 1.10


def resident() -> float:
    """Megabytes of memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Load:
    """What goes on at the same time."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.stop = threading.Event()
        self.searches = self.writes = 0
        self.errors: list[BaseException] = []

    def write(self) -> None:
        rng = random.Random(1)
        while not self.stop.is_set():
            some = [f"d{at}" for at in rng.sample(range(_DOCUMENTS), rng.choice([1, 1, 5, 30]))]
            self.index.add([sentence(rng, 8) for _ in some], some, [{"n": rng.randrange(9)} for _ in some])
            if rng.random() < 0.2:
                self.index.delete(rng.sample(some, 1))
            self.writes += 1

    def read(self, seed: int) -> None:
        rng = random.Random(seed)
        while not self.stop.is_set():
            hits = self.index.search(sentence(rng, 3), k=10, where=rng.choice([None, {"n": {"$gt": 4}}]))
            assert len({hit.id for hit in hits}) == len(hits) == 10
            if rng.random() < 0.05:
                self.index.topics(rng.randint(3, 12))
            self.searches += 1

    def guarded(self, work: object, *arguments: int) -> None:
        try:
            work(*arguments)  # type: ignore[operator]
        except BaseException as error:
            self.errors.append(error)
            self.stop.set()


def follow(path: str) -> None:
    """A reader in a process of its own; ends with its parent."""
    with Index.open(path, encode, mode="r") as index:
        while os.getppid() != 1:
            index.search("moon river")


def soak(seconds: float, folder: Path) -> bool:
    """Whether memory stayed flat, and nothing failed."""
    path = folder / "soak.gsm"
    with Index.create(path, encode) as index:
        rng = random.Random(0)
        ids = [f"d{at}" for at in range(_DOCUMENTS)]
        index.add([sentence(rng, 8) for _ in ids], ids, [{"n": at % 9} for at in range(_DOCUMENTS)])
        load = Load(index)
        threads = [threading.Thread(target=load.guarded, args=(load.write,))]
        threads += [threading.Thread(target=load.guarded, args=(load.read, seed)) for seed in range(4)]
        reader = subprocess.Popen([sys.executable, "-m", "torture.soak", "--follow", str(path)])
        for thread in threads:
            thread.start()
        taken, longest, start = [], 0, time.monotonic()
        while time.monotonic() - start < seconds and not load.stop.wait(min(10.0, seconds / 20)):
            gc.collect()
            wal = os.path.getsize(path / "documents.sqlite-wal")
            taken.append(resident())
            longest = max(longest, wal)
            print(
                f"{time.monotonic() - start:6.0f} s  {taken[-1]:6.0f} MB  log {wal / 1e6:5.1f} MB  "
                f"{load.searches:,} searches  {load.writes:,} writes",
                flush=True,
            )
        load.stop.set()
        for thread in threads:
            thread.join()
        alive = reader.poll() is None
        reader.kill()
        reader.wait()
        index.check()
    for error in load.errors:
        print(f"failed: {error!r}")
        return False
    quarter = len(taken) // 4
    before, after = max(taken[quarter : 2 * quarter]), max(taken[-quarter:])
    print(
        f"memory {before:.0f} MB in the second quarter, {after:.0f} MB in the last; log at most {longest / 1e6:.1f} MB"
    )
    return after <= _MOST_GROWTH * before and longest < 64e6 and alive


if __name__ == "__main__":
    if sys.argv[1:2] == ["--follow"]:
        follow(sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            place = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(temporary)
            sys.exit(not soak(float(sys.argv[1]) if len(sys.argv) > 1 else 600.0, place))
