"""Every system call and every allocation of an operation fails in turn: the n-th, for n = 1, 2, 3 … until none does.

SQLite is tested this way ("How SQLite is tested", sections 3.1 to 3.3). Afterwards the error is typed, the change is
there as a whole or not at all, what was acknowledged is there, and the handle works or says that it must be opened
again. The faults come from a small library in C (faults.c) that is preloaded, so this needs a compiler, and a process
of its own.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import random
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from bag import encode, sentence
from gossamer import Index
from gossamer.errors import GossamerError, StateError
from torture.outcome import Outcome

KINDS: Final = {
    "write": (1, errno.ENOSPC), "sync": (2, errno.EIO), "open": (3, errno.EMFILE), "rename": (4, errno.EACCES),
    "truncate": (5, errno.EIO), "unlink": (6, errno.EACCES), "read": (7, errno.EIO), "allocate": (8, errno.ENOMEM),
}  # fmt: skip

_SMALLEST: Final = 131_072
"""Bytes of an allocation that can fail. Smaller ones are also made inside NumPy, which crashes without its buffers."""

OPERATIONS: Final = (
    "add", "replace", "delete", "refit", "snapshot", "close", "open", "read", "backup", "create", "grow",
)  # fmt: skip
"""To grow comes last: it makes what follows slower."""


class Faults:
    """The preloaded library."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.faults_arm.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_size_t]

    def arm(self, kind: str, nth: int, sticky: bool) -> None:
        number, code = KINDS[kind]
        self._library.faults_arm(number, nth, sticky, code, _SMALLEST)

    def disarm(self) -> int:
        return int(self._library.faults_disarm())


class Victim:
    """An index whose content is known, and one operation on it after the other."""

    def __init__(self, path: Path, documents: int) -> None:
        self.path = path
        self.rng = random.Random(0)
        self.known: dict[str, str] = {}
        self.count = 0
        self.index = Index.create(path, encode)
        self.add(documents)

    def add(self, count: int) -> None:
        fresh = self.fresh(count)
        self.index.add(fresh.values(), list(fresh))
        self.known |= fresh

    def fresh(self, count: int) -> dict[str, str]:
        self.count += count
        return {f"d{at}": sentence(self.rng) for at in range(self.count - count, self.count)}

    def prepared(self, name: str) -> tuple[Callable[[], Any], dict[str, str]]:
        """An operation to try, and what is there if it succeeds; what it needs is done before faults are armed."""
        index, known, some = self.index, self.known, self.rng.sample(sorted(self.known), 3)
        match name:
            case "add":
                fresh = self.fresh(5)
                return lambda: index.add(fresh.values(), list(fresh)), known | fresh
            case "replace":
                changed = {id: sentence(self.rng) for id in some}
                return lambda: index.add(changed.values(), list(changed)), known | changed
            case "delete":
                return lambda: index.delete(some), {id: text for id, text in known.items() if id not in some}
            case "refit":
                return lambda: index.refit(), known
            case "snapshot":
                return lambda: index.state.tree.snapshot(), known
            case "grow":  # to where the whitener is fitted
                fresh = self.fresh(1000)
                return lambda: index.add(fresh.values(), list(fresh)), known | fresh
            case "close":
                index.add("a reason for a snapshot", "probe")
                index.delete("probe")
                return lambda: index.close(), known
            case "open":
                index.close()
                return lambda: Index.open(self.path, encode).close(), known
            case "read":
                return lambda: (index.search("moon river", k=20), index.get(some), index.info()), known
            case "backup":
                return lambda: index.backup(self.path.with_name("copy.gsm")), known
            case _:
                return lambda: Index.create(self.path.with_name("new.gsm"), encode).close(), known

    def settle(self, expected: dict[str, str], succeeded: bool) -> str | None:
        """What is wrong after an operation, if anything is; the victim then goes on with what is there."""
        try:
            found = self.content()
        except StateError:  # closed, or it says that it must be opened again
            self.index.close()
            self.index = Index.open(self.path, encode)
            found = self.content()
        wrong = None
        if found != expected and (succeeded or found != self.known):
            wrong = f"{len(found)} documents, expected {len(expected)}{'' if succeeded else f' or {len(self.known)}'}"
        self.known = found
        return wrong

    def content(self) -> dict[str, str]:
        self.index.search("moon", k=3)
        return {document.id: document.text for document in self.index.get(self.index.ids())}

    def reopen(self) -> str | None:
        """What is wrong with what is on disk."""
        self.index.close()
        self.index = Index.open(self.path, encode)
        self.index.check()
        return None if self.content() == self.known else "after opening again other documents are there"


def torment(folder: Path, operations: Iterable[str], kinds: Iterable[str], most: int) -> Outcome:
    """Let the n-th call of each kind fail during each operation; at most `most` for each pair, once and for good.

    With `most` 1, as the test has it, once or for good by turns, and with one victim of each size.
    """
    faults, outcome = Faults(), Outcome()
    victims: dict[Path, Victim] = {}
    for at, name in enumerate(operations):
        for turn, kind in enumerate(kinds, start=at):
            documents = 3000 if kind == "allocate" else 900  # arrays that are large enough
            for sticky in (False, True) if most > 1 else (turn % 2 == 1,):
                place = folder / (f"{name}-{kind}-{int(sticky)}" if most > 1 else f"{documents}")
                if place not in victims:
                    place.mkdir()
                    victims[place] = Victim(place / "a.gsm", documents)
                _torment_one(faults, outcome, victims[place], name, kind, sticky, most)
                if most > 1:
                    victims.pop(place).index.close()
                    shutil.rmtree(place)
    for victim in victims.values():
        victim.index.close()
    return outcome


def _torment_one(
    faults: Faults, outcome: Outcome, victim: Victim, name: str, kind: str, sticky: bool, most: int
) -> None:
    what = f"{name}, {kind}{' for good' if sticky else ''}"
    for nth in range(1, most + 1):
        operation, expected = victim.prepared(name)
        error: BaseException | None = None
        faults.arm(kind, nth, sticky)
        try:
            operation()
        except BaseException as raised:
            error = raised
        finally:
            hit = faults.disarm()
        if not hit and error is None:
            victim.settle(expected, succeeded=True)
            break
        outcome.note("refused" if error else "went on")
        if error is not None and not isinstance(error, GossamerError):
            trace = "".join(traceback.format_tb(error.__traceback__)[-3:])
            outcome.wrong.append(f"{what} {nth}: {error!r} is not typed: {trace}")
        try:
            wrong = victim.settle(expected, succeeded=error is None) or (victim.reopen() if nth % 5 == 1 else None)
        except BaseException as second:
            wrong = f"afterwards: {second!r}"
        if wrong:
            outcome.wrong.append(f"{what} {nth} ({error!r}): {wrong}")
            break
        for left in victim.path.parent.glob("new.gsm"):
            shutil.rmtree(left)


# -- in a process of its own ------------------------------------------------------------------------


def library(folder: Path) -> Path | None:
    """The library, compiled; None where there is no compiler."""
    source, target = Path(__file__).with_suffix(".c"), folder / "faults.so"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", target, source, "-ldl"], check=True, capture_output=True)
    return target


def attack(
    count: int, seed: int, folder: Path, *, operations: Iterable[str] = OPERATIONS, kinds: Iterable[str] = tuple(KINDS)
) -> Outcome:
    """Run `torment` with at most `count` faults for each operation and kind of call."""
    preload = library(folder)
    if preload is None:
        outcome = Outcome()
        outcome.note("no compiler")
        return outcome
    what = [str(folder), str(count), ",".join(operations), ",".join(kinds)]
    work = [sys.executable, "-X", "faulthandler", "-m", "torture.faults", *what]
    tests = str(Path(__file__).parent.parent)
    path = os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])
    # Its threads end the process where they get no memory.
    environment = {**os.environ, "LD_PRELOAD": str(preload), "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    ran = subprocess.run(work, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        end = ran.stderr[-6000:]
        return Outcome(wrong=[f"the process ended with {ran.returncode}: {end}"])
    told = json.loads(ran.stdout.splitlines()[-1])
    outcome = Outcome(tried=told["tried"], wrong=told["wrong"])
    outcome.ended.update(told["ended"])
    return outcome


def main() -> None:
    folder, count, operations, kinds = sys.argv[1:]
    for documents in (900, 3000):  # compile, before anything fails
        place = Path(folder, f"warm-{documents}")
        place.mkdir()
        victim = Victim(place / "a.gsm", documents)
        for name in OPERATIONS:
            operation, expected = victim.prepared(name)
            operation()
            victim.settle(expected, succeeded=True)
        victim.index.close()
    outcome = torment(Path(folder), operations.split(","), kinds.split(","), int(count))
    print(json.dumps({"tried": outcome.tried, "ended": dict(outcome.ended), "wrong": outcome.wrong}))


if __name__ == "__main__":
    main()
