"""Ctrl-C at random moments: afterwards the handle works, or it is closed and the lock is free."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from bag import encode, sentence
from gossamer import Index
from gossamer.errors import ClosedError
from torture.outcome import Outcome

_LONGEST = 0.03
"""Seconds until the signal comes; most operations take less, so some end before it."""


def attack(count: int, seed: int, folder: Path) -> Outcome:
    """Interrupt `count` operations. Must be called from the main thread."""
    rng = random.Random(seed)
    outcome = Outcome()
    path = folder / "interrupted.gsm"
    known: dict[str, str] = {}
    _load_kernels(folder / "warm.gsm")
    index = Index.create(path, encode)
    index.add([sentence(rng) for _ in range(1200)], [f"first-{at}" for at in range(1200)])
    for number in range(count):
        fresh = {f"{number}-{at}": sentence(rng) for at in range(rng.choice([1, 1, 5, 60]))}
        name, operation = rng.choice(_operations(index, path, fresh, known))
        interrupted = _interrupted(operation, rng.uniform(0, _LONGEST))
        outcome.note("interrupted" if interrupted else "done before")
        try:
            index, there = _usable(index, path)
        except BaseException as error:
            outcome.wrong.append(f"{number}, {name}: {error!r}")
            index, there = _abandoned(index, path)
        _compare(outcome, f"{number}, {name}", there, known, fresh, done=not interrupted and name == "add")
    index.check()
    index.close()
    return outcome


def _load_kernels(path: Path) -> None:
    """Everything once, without Ctrl-C: llvmlite may crash where one comes while it loads a kernel."""
    rng = random.Random(0)
    index = Index.create(path, encode)
    index.add([sentence(rng) for _ in range(1200)], [f"first-{at}" for at in range(1200)])
    fresh = {f"{at}": sentence(rng) for at in range(60)}
    for at in range(len(_operations(index, path, fresh, {}))):
        _operations(index, path, fresh, {})[at][1]()
        index, _ = _usable(index, path)
    index.close()


def _operations(
    index: Index, path: Path, fresh: dict[str, str], known: dict[str, str]
) -> list[tuple[str, Callable[[], object]]]:
    def reopen() -> None:
        index.close()
        Index.open(path, encode).close()

    def in_block() -> None:
        index.close()
        with Index.open(path, encode) as again:
            again.search("moon")

    return [
        ("add", lambda: index.add(fresh.values(), list(fresh))),
        ("add", lambda: index.add(fresh.values(), list(fresh))),
        ("search", lambda: [index.search("moon river", k=5) for _ in range(20)]),
        ("read", lambda: [index.get(index.ids()[:50]) for _ in range(5)]),
        ("refit", lambda: index.refit()),
        ("close", lambda: index.close()),
        ("reopen", reopen),
        ("with", in_block),
    ]


def _interrupted(operation: Callable[[], object], delay: float) -> bool:
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    try:
        try:
            timer.start()
            operation()
        finally:
            timer.cancel()
            timer.join()
    except KeyboardInterrupt:
        return True
    except SystemError as error:  # so Numba tells of Ctrl-C while it loads a kernel or makes what one returns
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__
        if cause is None:
            raise
        return True
    return False


def _usable(index: Index, path: Path) -> tuple[Index, dict[str, str]]:
    """The handle, or a new one where it was closed; everything it must be able to do is tried."""
    try:
        len(index)
    except ClosedError:
        index = Index.open(path, encode)
    index.search("moon", k=3)
    index.add("after the storm", "probe")
    index.delete("probe")
    return index, {document.id: document.text for document in index.get(index.ids()) if "first" not in document.id}


def _abandoned(index: Index, path: Path) -> tuple[Index, dict[str, str]]:
    index.state.store.close()
    index = Index.open(path, encode)
    return index, {document.id: document.text for document in index.get(index.ids()) if "first" not in document.id}


def _compare(
    outcome: Outcome, what: str, there: dict[str, str], known: dict[str, str], fresh: dict[str, str], *, done: bool
) -> None:
    """What was acknowledged is there, and a change that was interrupted is there as a whole or not at all."""
    if there == known | fresh:
        known |= fresh
    elif there != known or done:
        outcome.wrong.append(f"{what}: {len(there)} documents, expected {len(known)} or {len(known) + len(fresh)}")
        known.clear()
        known |= there
