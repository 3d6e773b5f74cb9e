"""A bit flips in any file of an index, closed or not: a typed error, or all that is said is true."""

from __future__ import annotations

import logging
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bag import encode, sentence
from gossamer import Index
from gossamer.errors import GossamerError
from gossamer.store import Policy
from torture.children import in_child
from torture.outcome import Outcome

QUERIES = ("moon river gold", "king of silk", "salt bread milk")


def make(folder: Path, rng: random.Random) -> tuple[Path, Path]:
    """An index with snapshots, forgotten vectors and a log that goes on after them: closed, and as it was before."""
    path, copy = folder / "closed.gsm", folder / "left.gsm"
    index = Index.create(path, encode)
    index.state.store.policy = Policy(snapshot_after=300, snapshot_share=0.0)
    for start in range(0, 1500, 150):
        ids = [f"d{at}" for at in range(start, start + 150)]
        index.add([sentence(rng) for _ in ids], ids, [{"at": at % 7} for at in range(150)])
        index.delete([f"d{start}", f"d{start // 2}"])
    index.add(" ".join([sentence(rng) + "."] * 60), "long")
    shutil.copytree(path, copy)
    index.close()
    assert (copy / "documents.sqlite-wal").stat().st_size
    return path, copy


def state(index: Index) -> Any:
    """What people see of an index."""
    hits = [index.search(query, k=20, where=where) for query in QUERIES for where in (None, {"at": {"$gte": 3}})]
    return (
        [(document.id, document.text, document.metadata) for document in index.get(index.ids())],
        [[(hit.id, hit.score, hit.passage) for hit in found] for found in hits],
        index.ids(where={"at": 2}),
        "d77" in index,
        len(index),
    )


def opened(path: Path, mode: Any, truth: Any) -> str:
    """What comes of opening and using an index that may be damaged."""
    logging.disable(logging.CRITICAL)
    try:
        with Index.open(path, encode, mode=mode) as index:
            if state(index) != truth:
                return "silently wrong"
            if mode == "w":
                index.add("after the flip", "new")
                if index.get("new").text != "after the flip":
                    return "silently wrong after a change"
        return "no harm"
    except GossamerError as error:
        return f"typed {type(error).__name__}"


def damage(file: Path, rng: random.Random) -> str:
    """Flip one bit."""
    size = file.stat().st_size
    at = rng.randrange(min(size, 200)) if rng.random() < 0.1 else rng.randrange(size)
    with file.open("r+b") as handle:
        handle.seek(at)
        byte = handle.read(1)[0]
        handle.seek(at)
        handle.write(bytes([byte ^ 1 << rng.randrange(8)]))
    return f"{file.name} at {at} of {size}"


def attack(count: int, seed: int, folder: Path, hurt: Callable[[Path, random.Random], str] = damage) -> Outcome:
    """Damage `count` copies, half of them of an index that was not closed."""
    rng = random.Random(seed)
    outcome = Outcome()
    masters = make(folder, random.Random(1))
    truths = []
    for master in masters:
        copy = folder / "truth.gsm"
        shutil.copytree(master, copy)
        with Index.open(copy, encode, mode="w") as index:
            truths.append(state(index))
        shutil.rmtree(copy)
    for number in range(count):
        master, truth = masters[number % 2], truths[number % 2]
        copy = folder / "copy.gsm"
        shutil.copytree(master, copy)
        files = sorted(file for file in copy.rglob("*") if file.is_file() and file.stat().st_size)
        place = hurt(rng.choice(files), rng)
        mode = rng.choice(["r", "w"])
        told = in_child(lambda: opened(copy, mode, truth))  # noqa: B023
        outcome.note(told.split(" with ")[0])
        if not told.startswith(("typed", "no harm")):
            outcome.wrong.append(f"{number}, {master.name}, {place}, mode {mode}: {told}")
        shutil.rmtree(copy)
    return outcome
