"""Reads stop at their deadline and change nothing."""

from __future__ import annotations

import itertools
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bag import encode
from gossamer import Index
from gossamer.errors import ClosedError, GossamerError, ParameterError, StateError, TooSlowError
from gossamer.runtime import deadline
from gossamer.runtime.deadline import check, holding, left, passed, within
from gossamer.runtime.locks import ReadWriteLock, Turn
from gossamer.store.database import Database


@contextmanager
def held_by_another_thread(lock: Callable[[], AbstractContextManager[Any]]) -> Iterator[None]:
    """Another thread enters ``lock()`` and leaves it after the block."""
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock():
            taken.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(10)
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_without_a_deadline_there_is_all_the_time() -> None:
    check()
    assert (left(), passed()) == (None, False)


def test_a_deadline_passes() -> None:
    with within(60.0):
        check()
        assert 0.0 < (left() or 0.0) <= 60.0
        with within(0.01):
            time.sleep(0.02)
            assert (left(), passed()) == (0.0, True)
            with pytest.raises(TooSlowError, match="nothing was changed") as caught:
                check()
        check()
    assert left() is None
    assert isinstance(caught.value, GossamerError)
    assert isinstance(caught.value, TimeoutError)


def test_an_inner_deadline_cannot_be_later() -> None:
    with within(1.0), within(100.0):
        assert (left() or 0.0) <= 1.0


def test_a_deadline_may_be_far_away_or_none() -> None:
    lock = threading.Lock()
    with within(1e10), holding(lock):  # a lock cannot wait for so long
        assert 0.0 < (left() or 0.0) <= threading.TIMEOUT_MAX
    with within(float("inf")), holding(lock):
        assert left() is None
    with within(1.0), within(float("inf")):
        assert (left() or 0.0) <= 1.0
    for wrong in (float("nan"), "2", True, None):
        with pytest.raises(ParameterError, match="must be a number of seconds"), within(wrong):  # type: ignore[arg-type]
            pass
    with pytest.raises(TooSlowError), within(float("-inf")):
        pass


def test_what_is_late_already_does_not_begin() -> None:
    begun = False
    with pytest.raises(TooSlowError), within(-1.0):
        begun = True
    assert not begun
    assert left() is None


def test_it_is_of_this_thread_alone() -> None:
    found: list[Any] = []
    with within(1.0):
        thread = threading.Thread(target=lambda: found.append(left()))
        thread.start()
        thread.join()
    assert found == [None]


def test_no_lock_is_waited_for_longer() -> None:
    lock = threading.Lock()
    with lock, within(0.05), pytest.raises(TooSlowError), holding(lock):
        pass
    with within(1.0), holding(lock):
        assert lock.locked()
    assert not lock.locked()


def test_readers_wait_for_a_writer_no_longer() -> None:
    lock = ReadWriteLock()
    with held_by_another_thread(lock.writing), within(0.05), pytest.raises(TooSlowError), lock.reading():
        pass
    with lock.reading():
        pass
    with lock.writing():
        pass


def test_a_turn_is_waited_for_no_longer() -> None:
    turn = Turn()
    with held_by_another_thread(turn.alone), within(0.05), pytest.raises(TooSlowError), turn.alone():
        pass
    with within(10.0), turn.alone(), pytest.raises(StateError, match="being changed"), turn.alone():
        pass
    with pytest.raises(KeyboardInterrupt), within(10.0), turn.alone():
        signal.raise_signal(signal.SIGINT)
    with turn.alone():
        pass


def test_ctrl_c_ends_the_wait_for_a_turn() -> None:
    turn, before = Turn(), signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    with held_by_another_thread(turn.alone):
        timer.start()
        with pytest.raises(KeyboardInterrupt), within(60.0), turn.alone():
            pass
    timer.join()
    assert signal.getsignal(signal.SIGINT) is before
    with turn.alone():
        pass


def test_changes_are_made_without_a_deadline() -> None:
    def slow(texts: list[str]) -> Any:
        if texts == ["moon"]:
            time.sleep(0.3)
        return encode(texts)

    index = Index(slow)
    index.add(["sun"], ["a"])
    with within(0.2):
        index.add(["moon"], ["b"])
        assert passed()
        with pytest.raises(TooSlowError):
            index.search("sun")
        index.close()
    with pytest.raises(ClosedError):
        index.search("sun")


@pytest.fixture(params=["memory", "w", "r"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "memory":
        found = Database(None, writable=True, create=True)
    else:
        Database(tmp_path / "a.sqlite", writable=True, create=True).close()
        found = Database(tmp_path / "a.sqlite", writable=request.param == "w")
    yield found
    found.close()


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def test_sqlite_gives_up(database: Database) -> None:
    with within(0.1), pytest.raises(TooSlowError) as caught, database.reading() as db:
        db.execute(ENDLESS).fetchone()
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    with database.reading() as db:  # the same connection, and no deadline
        count = ENDLESS.replace("FROM n)", "FROM n WHERE x < 100000)", 1)
        assert db.execute(count).fetchone() == (100000,)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    words = np.array([f"word{at}" for at in range(300)])
    texts = [" ".join(rng.choice(words, 12)) for _ in range(3000)]
    path = tmp_path_factory.mktemp("large") / "large.gsm"
    with Index.create(path, encode) as index:
        index.add(texts, [f"d{at}" for at in range(len(texts))], [{"at": at} for at in range(len(texts))])
    return path


def opened(saved: Path) -> Index:
    """The index without any label, in memory or on disk, ready to be searched."""
    (saved / "labels").unlink(missing_ok=True)
    index = Index.open(saved, encode, mode="r")
    index.search("word1")
    return index


@pytest.mark.parametrize(
    "call",
    [
        lambda index: index.labels(),
        lambda index: index.concepts(depth=None),
        lambda index: index.topics(levels=range(2, 200)),
    ],
    ids=["labels", "concepts", "topics"],
)
def test_long_reads_stop_at_their_deadline(saved: Path, call: Any) -> None:
    with opened(saved) as index:
        before = replace(index.info(), memory={})  # what is computed when it is needed may stay
        with within(0.05), pytest.raises(TooSlowError):
            call(index)
        assert replace(index.info(), memory={}) == before
        assert len(index.search("word1", k=3)) == 3


def test_labels_made_before_a_deadline_are_kept(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(saved) as index:
        wanted = index.labels()
    checks = itertools.count(1)

    def passes_now_and_then() -> None:  # a deadline by the clock would pass before the first label on a slow machine
        if next(checks) % 200 == 0:  # a call needs some 120 before its first label
            raise deadline.too_slow()

    tries = 0
    with opened(saved) as index:
        monkeypatch.setattr(deadline, "check", passes_now_and_then)
        while True:
            tries += 1
            try:
                found = index.labels()
                break
            except TooSlowError:
                assert tries < 200
    assert tries > 1
    assert found == wanted
