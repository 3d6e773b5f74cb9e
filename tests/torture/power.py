"""Power cuts: what a disk may hold at any moment is made from what a writer wrote and synced, and opened.

The writer runs with a library preloaded that writes down every write, sync, rename and removal (faults.c). At a cut, a
file holds what it held at its last sync, and of each later write all, nothing, or some sectors; names that were made,
changed or removed since the last sync are there up to some moment, in order, as journalling file systems keep them.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from bag import encode, sentence
from gossamer import Index
from gossamer.errors import GossamerError
from gossamer.store import Policy
from torture.children import in_child
from torture.faults import library
from torture.outcome import Outcome

_SECTOR: Final = 512
OPERATIONS: Final = 80
"""Of the writer, at most; a test that cuts the power a few times does with six for each cut."""


class Event(NamedTuple):
    """One line of the journal: W(rite), T(runcate), S(ync), R(ename), U(nlink), C(reate), F(older), D(rop), M(ark)."""

    kind: str
    path: str
    offset: int
    data: bytes


def events(journal: bytes) -> Iterator[Event]:
    head, at = struct.Struct("<cIQQ"), 0
    while at < len(journal):
        kind, path, offset, length = head.unpack_from(journal, at)
        at += head.size
        yield Event(kind.decode(), journal[at : at + path].decode(), offset, journal[at + path : at + path + length])
        at += path + length


class Disk:
    """What is certain to be there, and what is only on its way."""

    def __init__(self, folder: Path) -> None:
        self.files = {str(file): bytearray(file.read_bytes()) for file in folder.rglob("*") if file.is_file()}
        self.durable = {path: bytes(content) for path, content in self.files.items()}
        self.pending: dict[str, list[Event]] = {}
        self.names: list[Event] = []

    def take(self, event: Event) -> None:
        match event.kind:
            case "W" | "T":
                self.pending.setdefault(event.path, []).append(event)
            case "S" if event.path in self.durable or event.path in self.pending:
                self._sync_names()
                content = bytearray(self.durable.get(event.path, b""))
                for late in self.pending.pop(event.path, []):
                    _write(content, late, None)
                self.durable[event.path] = bytes(content)
            case "S":
                self._sync_names()
            case "M":
                pass
            case _:
                self.names.append(event)

    def _sync_names(self) -> None:
        for event in self.names:
            _rename(event, self.durable, self.pending)
        self.names.clear()

    def after_a_cut(self, rng: random.Random) -> dict[str, bytes]:
        """One of the states the disk may be in."""
        content = {path: bytearray(data) for path, data in self.durable.items()}
        pending = {path: list(late) for path, late in self.pending.items()}
        for event in self.names[: rng.randint(0, len(self.names))]:
            _rename(event, content, pending)
        for path, late in pending.items():
            if path in content or any(event.kind == "C" and event.path == path for event in self.names):
                file = content.setdefault(path, bytearray())
                for event in late:
                    _write(file, event, rng)
        return {path: bytes(data) for path, data in content.items()}


def _write(file: bytearray, event: Event, rng: random.Random | None) -> None:
    """Apply a write: all of it or, where a cut came, all, nothing or some sectors."""
    fate = 0.0 if rng is None else rng.random()
    if fate > 0.6:
        return
    if event.kind == "T":
        del file[event.offset :]
        file.extend(bytes(event.offset - len(file)))
        return
    end = event.offset + len(event.data)
    file.extend(bytes(max(0, end - len(file))))
    for at in range(0, len(event.data), _SECTOR):
        if fate < 0.3 or (rng is not None and rng.random() < 0.5):
            part = event.data[at : at + _SECTOR]
            file[event.offset + at : event.offset + at + len(part)] = part


def _rename(event: Event, content: dict[str, Any], pending: dict[str, list[Event]]) -> None:
    match event.kind:
        case "C":
            content[event.path] = type(next(iter(content.values()), b""))()
        case "U":
            content.pop(event.path, None)
            pending.pop(event.path, None)
        case "R":
            old, new = event.path, event.data.decode()
            for table in (content, pending):
                for path in [path for path in table if path == old or path.startswith(old + "/")]:
                    table[new + path.removeprefix(old)] = table.pop(path)


# -- what the writer does, and what must be there after n operations --------------------------------


def operation(number: int, known: dict[str, str]) -> tuple[str, Any, dict[str, str]]:
    """Operation `number` on an index that holds `known`: its name, its arguments, and what is there afterwards."""
    rng = random.Random(number)
    kind = rng.choices(["add", "delete", "refit"], [70, 25, 5])[0]
    if kind == "refit":
        return kind, (), known
    if kind == "delete" and len(known) > 20:
        some = rng.sample(sorted(known), 3)
        return kind, (some,), {id: text for id, text in known.items() if id not in some}
    fresh = {f"d{number}-{at}": sentence(rng) for at in range(rng.choice([1, 3, 40]))}
    return "add", (list(fresh.values()), list(fresh)), known | fresh


def states(known: dict[str, str], operations: int) -> list[dict[str, str]]:
    """What is there after 0, 1, 2 … operations."""
    found = [known]
    for number in range(1, operations + 1):
        found.append(operation(number, found[-1])[2])
    return found


FIRST: Final = {f"first-{at}": sentence(random.Random(-at)) for at in range(1000)}


def write(path: str, journal: str, operations: str) -> None:
    """The writer, in a process with the library preloaded."""
    shim = ctypes.CDLL(None)
    known = dict(FIRST)
    with Index.open(path, encode) as index:
        index.state.store.policy = Policy(snapshot_after=150, snapshot_share=0.0)
        shim.journal_begin(path.encode(), journal.encode())
        for number in range(1, int(operations) + 1):
            name, arguments, known = operation(number, known)
            getattr(index, name)(*arguments)
            shim.journal_mark(ctypes.c_uint64(number))
    shim.journal_end()


def attack(count: int, seed: int, folder: Path) -> Outcome:
    """Cut the power at `count` moments of one writer's work."""
    rng, outcome = random.Random(seed), Outcome()
    preload = library(folder)
    if preload is None:
        outcome.note("no compiler")
        return outcome
    path = folder / "written.gsm"
    with Index.create(path, encode) as index:
        index.add(FIRST.values(), list(FIRST))
    disk = Disk(path)
    tests = os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    journal, operations = folder / "journal", min(OPERATIONS, 6 * count)
    subprocess.run(
        [sys.executable, "-m", "torture.power", str(path), str(journal), str(operations)],
        env={**os.environ, "LD_PRELOAD": str(preload), "PYTHONPATH": tests}, check=True,
    )  # fmt: skip
    happened = list(events(journal.read_bytes()))
    expected = states(dict(FIRST), operations)
    cuts = sorted(rng.randrange(len(happened)) for _ in range(count))
    done, at = 0, 0
    for cut in cuts:
        for event in happened[at:cut]:
            disk.take(event)
            done = event.offset if event.kind == "M" else done
        at = cut
        told = _opened_after(disk.after_a_cut(rng), path, expected, done)
        outcome.note(told if told == "whole" else "lost or wrong")
        if told != "whole":
            outcome.wrong.append(f"cut at {cut} of {len(happened)}, {done} operations done: {told}")
    return outcome


def _opened_after(content: dict[str, bytes], path: Path, expected: list[dict[str, str]], done: int) -> str:
    shutil.rmtree(path, ignore_errors=True)
    for name, data in content.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(data)

    def work() -> str:
        try:
            with Index.open(path, encode) as index:
                index.check()
                found = {document.id: document.text for document in index.get(index.ids())}
        except GossamerError as error:
            return f"{type(error).__name__}: {error}"
        return "whole" if found in expected[done : done + 2] else f"{len(found)} documents"

    return in_child(work, 60)


if __name__ == "__main__":
    write(*sys.argv[1:])
