"""Several processes write to one index and search it, and one is killed: nothing acknowledged is lost or doubled.

Each process adds, replaces and deletes documents of its own, whose ids begin with its name, and documents without an
id. It tells what it begins and what returned. Afterwards the index holds exactly what was acknowledged, with or without
the one operation in which a process was killed, and those that go on have the same tree as one that is opened new.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from bag import encode, sentence
from gossamer import Index
from gossamer.store import Policy
from torture.outcome import Outcome

_WRITERS: Final = 3
_EAGER: Final = Policy(snapshot_after=60, snapshot_share=0.0, checkpoint_after=60)
"""So many snapshots and checkpoints that they come between all operations of others."""

Documents = dict[str, str]
"""Texts by id; a document without an id of its own is listed under its text."""


def digest(index: Index) -> str:
    """A hash of every array of the tree, but for the table of hashes, which depends on how much room was made when."""
    index.refresh()
    assert index.state.vectors is not None
    arrays = index.state.vectors.to_bundle().arrays
    kept = sorted(name for name in arrays if not name.endswith((".bucket", ".chain")) and not name.startswith("raw"))
    content = sha256()
    for name in kept:
        content.update(name.encode() + arrays[name].tobytes())
    return f"{index.info().operation} {content.hexdigest()}"


def work(path: Path, name: str, time: int, held: Documents, tell: Callable[..., object], told: int) -> None:
    """Change the index at random until told to stop; tell of each operation what it will have made of `held`."""
    rng = random.Random(f"{name} {time}")
    with Index.open(path, encode) as index:
        index.state.store.policy = _EAGER
        number = 0
        while not select.select([told], [], [], 0)[0]:
            number += 1
            kind = rng.choices(["add", "unnamed", "delete", "search", "rebuild", "settle"], [50, 10, 25, 12, 1, 2])[0]
            mine = [id for id in held if id.startswith(f"{name}.")]
            some = {f"{name}.{rng.randrange(40)}": f"{sentence(rng, 8)} {name} {time} {number}" for _ in range(3)}
            if kind == "add":
                tell("begin", after := {**held, **some})
                index.add(list(some.values()), list(some))
            elif kind == "unnamed":
                text = f"{sentence(rng, 8)} {name} unnamed {time} {number}"
                tell("begin", after := {**held, text: text})
                index.add(text)
            elif kind == "delete" and mine:
                gone = set(rng.sample(mine, min(2, len(mine))))
                tell("begin", after := {id: text for id, text in held.items() if id not in gone})
                assert index.delete(gone) == len(gone)
            else:
                tell("begin", after := held)
                if kind in ("rebuild", "settle"):
                    getattr(index, kind)()
                assert {hit.id for hit in index.search(f'"{name}"', k=500) if hit.id.startswith(f"{name}.")} == set(
                    mine
                )
            held = after
            tell("done")
        os.read(told, 1)
        tell("stopped")
        os.read(told, 1)
        tell("agree", digest(index))
        os.read(told, 1)  # until all are seen to agree, since closing may log an operation


class Child:
    """A forked process that works; `begun` and `held` are what it told last."""

    def __init__(self, path: Path, name: str, time: int, held: Documents) -> None:
        self.begun = self.held = held
        told, write = os.pipe()
        read, self._tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(self._tell)
                work(path, name, time, held, lambda *said: os.write(write, json.dumps(said).encode() + b"\n"), read)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(write)
        os.close(read)
        self._told = os.fdopen(told, "rb")

    def tell(self) -> None:
        """Let it stop, then say what its tree is, then end."""
        with suppress(BrokenPipeError):
            os.write(self._tell, b".")

    def listen(self, until: str = "") -> str:
        """Read what it tells, until a word comes or it has ended; returns what came with the word."""
        for line in self._told:
            word, *more = json.loads(line)
            if word == "begin":
                self.begun = more[0]
            elif word == "done":
                self.held = self.begun
            if word == until:
                return "".join(more)
        return "ended"

    def end(self) -> int:
        """Wait until it has ended; returns how."""
        self.listen()
        self._told.close()
        os.close(self._tell)
        return os.waitpid(self.pid, 0)[1]


def attack(count: int, seed: int, folder: Path) -> Outcome:
    """Kill one of several writers, `count` times."""
    rng, outcome, path = random.Random(seed), Outcome(), folder / "shared.gsm"
    _warm(path)
    held: dict[str, Documents] = {f"w{writer}": {} for writer in range(_WRITERS)}
    for number in range(count):
        children = {name: Child(path, name, number, documents) for name, documents in held.items()}
        victim = rng.choice(list(children))
        time.sleep(rng.uniform(0.3, 0.8))
        os.kill(children[victim].pid, signal.SIGKILL)
        time.sleep(rng.uniform(0.0, 0.3))
        lost, others = children[victim], [children[name] for name in held if name != victim]
        lost.end()
        agreed: set[str] = set()
        for until in ("stopped", "agree"):  # all have stopped before one says what its tree is
            for child in others:
                child.tell()
            agreed = {child.listen(until) for child in others}
        outcome.note("in the middle of an operation" if lost.begun != lost.held else "between two")
        candidates = [lost.held, lost.begun]
        found = _in_child(lambda: _found(path, candidates, [child.held for child in others], agreed))  # noqa: B023
        for child in others:
            child.tell()
            if status := child.end():
                found = f"a writer ended with {status}; {found}"
        if not isinstance(found, int):
            outcome.wrong.append(f"kill {number}: {found}")
            break
        held = {name: child.held for name, child in children.items()}
        held[victim] = candidates[found]
    return outcome


def _warm(path: Path) -> None:
    """Make an index, and compile everything before the clock runs."""
    rng = random.Random(0)
    with Index.create(path, encode) as index:
        index.add([sentence(rng, 8) for _ in range(900)], [f"first.{at}" for at in range(900)])
        for _ in range(200):
            index.add(sentence(rng, 8), "again")
        index.settle()
        index.rebuild()
        index.search("moon")
        index.delete("again")


def _found(path: Path, candidates: list[Documents], others: list[Documents], agreed: set[str]) -> Any:
    """Which of the candidates is in the index beside all others; a sentence where none is."""
    with Index.open(path, encode) as index:
        index.check()
        own = digest(index)
        documents = list(index.documents())
    there: Documents = {}
    for document in documents:
        key = document.text if "unnamed" in document.text else document.id
        if key in there:
            return f"{key!r} is there twice"
        if not key.startswith("first."):
            there[key] = document.text
    if agreed != {own}:
        return f"trees differ: {agreed} and {own}"
    for place, candidate in enumerate(candidates):
        if there == {key: text for each in (candidate, *others) for key, text in each.items()}:
            return place
    return "the index holds other documents than were acknowledged"


def _in_child(work: Callable[[], Any]) -> Any:
    """The result of `work` in a process of its own: this one, which forks, never has an index open."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = work()
        except BaseException as error:
            said = repr(error)
        os.write(write, json.dumps(said).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as answer:
        said = json.loads(answer.read() or b'"the process died"')
    os.waitpid(child, 0)
    return said
