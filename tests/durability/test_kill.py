"""A writer is killed with SIGKILL, again and again; every time, all that was acknowledged is there, and no more."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bag import encode
from durability.writer import CRASH_POINTS, carry_out
from gossamer import Index

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")

HERE = Path(__file__).parent
QUESTIONS = ["sun and moon", "the wolf ate bread", "katu gold", "milk"]


@dataclass
class Victim:
    """The writing process, and what it told before it died."""

    process: subprocess.Popen[str]
    begun: int = -1
    done: int = -1
    kills_in_flight: int = 0
    _told: list[str] = field(default_factory=list)

    def run(self, first: int, *, point: str = "", delay: float | None = None) -> None:
        """Let a child work from operation `first` on until it kills itself, or until `delay` after its beginning."""
        assert self.process.stdin is not None
        print(first, point, file=self.process.stdin, flush=True)
        child = int(self._line("pid").split()[1])
        if delay is not None:
            self._listen("begin")
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
        self._listen("ended")
        self.kills_in_flight += self.begun > self.done

    def _listen(self, until: str) -> None:
        while True:
            word, *number = self._line("").split()
            if word == "begin":
                self.begun = int(number[0])
            elif word == "done":
                self.done = int(number[0])
            if word == until:
                return

    def _line(self, word: str) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the writer ended by itself"
        assert line.startswith(word), line
        return line.strip()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as index:
        carry_out(index, 0)
    return path


@contextmanager
def dying_writer(path: Path) -> Iterator[Victim]:
    """A process that writes to an index until it is killed, as often as it is asked to."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(HERE / "writer.py"), str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        victim = Victim(process)
        assert victim._line("ready")
        yield victim
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def victim(path: Path) -> Iterator[Victim]:
    with dying_writer(path) as victim:
        yield victim


@pytest.fixture
def twin() -> Iterator[Index]:
    """An index in memory that goes through the same operations and never dies."""
    with Index(encode) as index:
        carry_out(index, 0)
        yield index


def assert_same(index: Index, twin: Index) -> None:
    index.check()
    assert index.ids() == twin.ids()
    assert index.get(index.ids()) == twin.get(twin.ids())
    assert index.concepts(30) == twin.concepts(30), "the same tree, node by node"
    for question in QUESTIONS:
        assert index.search(question) == twin.search(question)


def survive(path: Path, victim: Victim, twin: Index, seen: int) -> int:
    """Open what is left, see that it is what was acknowledged (or one more), and bring the twin there."""
    with Index.open(path, encode, mode="r") as index:  # the next victim opens it for writing
        survived = index.info().operation - 1  # operation 0 was the first of the log
        # Operations that change nothing are not logged: the twin says which.
        number = seen
        while twin.info().operation - 1 < survived:
            number += 1
            carry_out(twin, number)
        while number < victim.done:
            number += 1
            carry_out(twin, number)
        assert twin.info().operation - 1 == survived, "an acknowledged operation is missing"
        assert victim.done <= number <= victim.begun, "something is there that was never asked for"
        assert_same(index, twin)
    return number


@pytest.mark.slow
def test_killed_at_random_moments(path: Path, victim: Victim, twin: Index) -> None:
    rng = random.Random(0)
    seen = 0
    for _ in range(10):
        victim.run(seen + 1, delay=rng.uniform(0, 0.12))
        seen = survive(path, victim, twin, seen)
    assert seen > 10, "it also got somewhere"
    assert victim.kills_in_flight > 1, "several kills hit in the middle of an operation"


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_killed_at_a_chosen_point(path: Path, victim: Victim, twin: Index, point: str) -> None:
    seen = 0
    for _ in range(2):
        victim.run(seen + 1, point=point)
        seen = survive(path, victim, twin, seen)
    assert seen > 0
