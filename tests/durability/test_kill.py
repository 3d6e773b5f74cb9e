"""A writer is killed with SIGKILL, again and again; every time, all that was acknowledged is there, and no more."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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

    def run(self, path: Path, first: int, *, point: str = "", delay: float | None = None) -> None:
        """Let a child work from operation `first` on until it kills itself, or until `delay` after its beginning."""
        assert self.process.stdin is not None
        self.begun = self.done = -1
        print(path, first, point, sep="\t", file=self.process.stdin, flush=True)
        child = int(self._line("pid").split()[1])
        if delay is not None:
            self._listen("begin")
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
        self._listen("ended")

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


def tree_of(index: Index) -> dict[str, bytes]:
    """Every array of the tree, but for the table of hashes, which depends on how much room was made when.

    Vectors as they were given are in memory alone where there is no file to keep them in.
    """
    assert index.state.vectors is not None
    arrays = index.state.vectors.to_bundle().arrays
    kept = (name for name in arrays if not name.endswith((".bucket", ".chain")) and not name.startswith("raw"))
    return {name: arrays[name].tobytes() for name in kept}


def answers(index: Index) -> list[object]:
    """Hits without the labels of their concepts, which are made later and from this alone."""
    found = [hit for question in QUESTIONS for hit in index.search(question)]
    return [(hit.id, hit.score, hit.passage, hit.metadata, [concept.id for concept in hit.path]) for hit in found]


def assert_same(index: Index, twin: Index) -> None:
    index.check()
    assert index.ids() == twin.ids()
    assert index.get(index.ids()) == twin.get(twin.ids())
    assert tree_of(index) == tree_of(twin), "the same tree, node by node"
    assert answers(index) == answers(twin)


@dataclass
class Trial:
    """An index whose writer dies again and again, and a twin in memory that goes through the same and never dies."""

    path: Path
    victim: Victim
    twin: Index
    seen: int = 0
    """The last operation that is known to be there."""
    kills_in_flight: int = 0

    def kill(self, *, point: str = "", delay: float | None = None) -> None:
        """Let a writer go on from where the last one died, until it is killed."""
        self.victim.run(self.path, self.seen + 1, point=point, delay=delay)
        self.kills_in_flight += self.victim.begun > self.victim.done

    def survive(self) -> None:
        """Open what is left, see that it is what was acknowledged (or one more), and bring the twin there."""
        done, begun = max(self.victim.done, self.seen), max(self.victim.begun, self.seen)
        with Index.open(self.path, encode, mode="r") as index:  # the next victim opens it for writing
            survived = index.info().operation - 1  # operation 0 was the first of the log
            # Operations that change nothing are not logged: the twin says which.
            number = self.seen
            while self.twin.info().operation - 1 < survived:
                number += 1
                carry_out(self.twin, number)
            while number < done:
                number += 1
                carry_out(self.twin, number)
            assert self.twin.info().operation - 1 == survived, "an acknowledged operation is missing"
            assert done <= number <= begun, "something is there that was never asked for"
            assert_same(index, self.twin)
        self.seen = number


def create(path: Path) -> Path:
    with Index.create(path, encode) as index:
        carry_out(index, 0)
    return path


@contextmanager
def dying_writer() -> Iterator[Victim]:
    """A process that writes to indexes until it is killed, as often as it is asked to."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(HERE / "writer.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        victim = Victim(process)
        assert victim._line("ready")
        yield victim
        assert process.stdin is not None
        process.stdin.close()


@contextmanager
def on_trial(path: Path, victim: Victim) -> Iterator[Trial]:
    """`path` is an index as `create` leaves it."""
    with Index(encode) as twin:
        carry_out(twin, 0)
        yield Trial(path, victim, twin)


@pytest.fixture(scope="module")
def victim() -> Iterator[Victim]:
    with dying_writer() as victim:
        yield victim


@pytest.fixture(scope="module")
def created(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create(tmp_path_factory.mktemp("created") / "a.gsm")


@pytest.fixture
def trial(created: Path, tmp_path: Path, victim: Victim) -> Iterator[Trial]:
    """An index of its own for each test; the process that forks its writers is the same for all."""
    with on_trial(shutil.copytree(created, tmp_path / "a.gsm"), victim) as trial:
        yield trial


@pytest.mark.slow
def test_killed_at_random_moments(trial: Trial) -> None:
    rng, longest = random.Random(0), 0.12
    for kills in range(1, 31):
        trial.kill(delay=rng.uniform(0, longest))
        trial.survive()
        if kills >= 10 and trial.seen > 10 and trial.kills_in_flight > 1:
            break
        longest *= 1.1  # on a busy machine a writer takes its time
    assert trial.seen > 10, "it also got somewhere"
    assert trial.kills_in_flight > 1, "several kills hit in the middle of an operation"
    with Index.open(trial.path, encode, mode="r") as index:
        assert index.concepts(30) == trial.twin.concepts(30), "labels too"


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_killed_at_a_chosen_point(trial: Trial, point: str) -> None:
    for _ in range(2):
        trial.kill(point=point)
        trial.survive()
    assert trial.seen > 0
