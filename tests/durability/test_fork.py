"""An open index does not cross into another process: a typed error says so, and nothing is lost."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bag import encode
from gossamer import Index, VectorIndex
from gossamer.errors import ForkedError, StateError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@pytest.fixture
def index(tmp_path: Path) -> Any:
    with Index.create(tmp_path / "a.gsm", encode) as index:
        index.add(["the moon", "the river"], ["a", "b"])
        yield index


def in_child(work: Callable[[], None]) -> None:
    """Run `work` in a forked child, which ends as an interpreter does that was left with an exception or without."""
    child = os.fork()
    if child == 0:
        status = 0
        try:
            work()
        except BaseException:
            traceback.print_exc()
            status = 1
        os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_every_call_in_a_child_is_refused(index: Index) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: index.add("x"), lambda: index.delete("a"), lambda: index.search("moon"), lambda: index.get("a"),
        lambda: index.refit(), lambda: index.refresh(), lambda: len(index), lambda: "a" in index, lambda: index.ids(),
        lambda: index.check(), lambda: index.info(), lambda: index.topics(2), lambda: index.explain("moon", "a"),
        lambda: index.settle(), lambda: index.encode("x"), lambda: index.backup("/nowhere/b.gsm"),
    ]  # fmt: skip

    def work() -> None:
        for call in calls:
            with pytest.raises(ForkedError, match="open it again in the child"):
                call()
        assert "opened in process" in repr(index)
        index.close()

    in_child(work)
    index.add("and here it goes on", "c")
    index.check()


def test_what_a_child_writes_is_found_by_its_parent(tmp_path: Path) -> None:
    """The case that lost documents: open, fork, the child adds, the parent adds and closes."""
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as index:
        index.add("the moon", "a")

    def work() -> None:
        with pytest.raises(ForkedError):
            index.add("a document of the child", "child")
        index.close()

    with Index.open(path, encode) as index:
        in_child(work)
        index.add("a document of the parent", "parent")

    def own() -> None:
        with Index.open(path, encode) as mine:
            mine.add("a document of the child", "child")

    in_child(own)
    with Index.open(path, encode) as index:
        assert index.ids() == ["a", "parent", "child"]
        assert index.search("a document of the child", k=1)[0].id == "child"
        index.check()


def test_a_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    """Workers forked from a process that has an index open, as in a pre-fork server: the parent's lock ends with it."""
    path = tmp_path / "a.gsm"
    index = Index.create(path, encode)
    index.add("the moon", "a")
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(ready[1], b".")
        os.read(done[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    index.close()
    with Index.open(path, encode) as again:  # while the child lives
        again.add("the river", "b")
    os.write(done[1], b".")
    os.waitpid(child, 0)
    for end in (*ready, *done):
        os.close(end)


def _search(path: str) -> list[str]:
    with Index.open(path, encode, mode="r") as index:
        return [hit.id for hit in index.search("moon")]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_open_the_index_for_themselves(index: Index, tmp_path: Path, method: str) -> None:
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(_search, [str(tmp_path / "a.gsm")] * 4) == [["a", "b"]] * 4
    index.add("it goes on", "c")
    assert len(index) == 3


def test_a_fork_while_another_thread_writes(index: Index) -> None:
    """Whatever lock or transaction is held at the fork, the child is told at once, and the parent loses nothing."""
    stop = threading.Event()
    added: list[str] = []

    def write() -> None:
        while not stop.is_set():
            added.extend(index.add([f"moon {len(added)}"], [f"n{len(added)}"]))

    def work() -> None:
        for call in (lambda: index.search("moon"), lambda: index.add("x"), lambda: len(index)):
            with pytest.raises(ForkedError):
                call()
        index.close()

    def several() -> None:
        for _ in range(15):
            in_child(work)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        forker = threading.Thread(target=several)
        forker.start()
        forker.join()
    finally:
        stop.set()
        writer.join()
    assert index.ids() == ["a", "b", *added]
    index.check()


def test_an_open_index_cannot_be_pickled(index: Index, tmp_path: Path) -> None:
    with pytest.raises(StateError, match="pass its path"):
        pickle.dumps(index)
    vectors = VectorIndex(3)
    vectors.add([[1, 2, 3]])
    with pytest.raises(StateError, match="save"):
        pickle.dumps(vectors)


def test_vectors_in_memory_can_be_searched_in_a_child() -> None:
    vectors = VectorIndex(8)
    vectors.add([[float(at % 7 == d) + at / 1000 for d in range(8)] for at in range(50)])
    before = vectors.search([[1.0] * 8] * 20, k=3).ids.tolist()

    def work() -> None:
        assert vectors.search([[1.0] * 8] * 20, k=3).ids.tolist() == before

    in_child(work)


def test_a_child_that_ends_as_usual_does_no_harm(tmp_path: Path) -> None:
    """Its interpreter lets go of everything at its end, also of what it inherited, while the parent is writing."""
    program = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from bag import encode
from gossamer import Index
with Index.create({str(tmp_path / "a.gsm")!r}, encode) as index:
    index.add("the moon", "a")
    for at in range(5):
        index.add(f"before {{at}}", f"b{{at}}")
        child = os.fork()
        if child == 0:
            sys.exit(0)
        index.add(f"meanwhile {{at}}", f"m{{at}}")
        assert os.waitpid(child, 0)[1] == 0
        index.add(f"after {{at}}", f"c{{at}}")
    index.check()
    assert len(index) == 16
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    with Index.open(tmp_path / "a.gsm", encode) as index:
        assert len(index) == 16
        index.check()


def test_a_fork_waits_for_a_renewal(tmp_path: Path) -> None:
    """The thread of a renewal multiplies matrices, and OpenBLAS does not survive a fork meanwhile."""
    E = np.random.default_rng(0).normal(size=(2000, 24)).astype(np.float32)
    vectors = VectorIndex(24)
    vectors.add(E[:1500])
    with threadpool_limits(2, user_api="blas"):
        for at in range(1500, 2000, 5):
            vectors.add(E[at : at + 5])
            if vectors.renewing:
                in_child(lambda: None)
        vectors.settle()
    vectors.check()
    assert len(vectors) == 2000


def test_a_program_opens_an_index_as_it_ends(tmp_path: Path) -> None:
    """The interpreter's own threads take no more work then."""
    path = tmp_path / "a.gsm"
    with Index.create(path, encode) as index:
        index.add([f"moon {at}" for at in range(300)])
    program = f"""
import atexit, sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from bag import encode
from gossamer import Index

@atexit.register
def last():
    with Index.open({str(path)!r}, encode) as index:
        index.add("at the end")
        print(len(index))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=120)
    assert done.stdout == "301\n", done.stderr
