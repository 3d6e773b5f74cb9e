"""The read-write lock: nobody waits for a thread that has given up or gone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from gossamer.errors import StateError, TooSlowError
from gossamer.runtime.deadline import within
from gossamer.runtime.locks import ReadWriteLock


def wait_for_a_waiting_writer(lock: ReadWriteLock) -> None:
    """Return once a writer waits: until then, new readers get in at once."""

    def gets_in() -> bool:
        try:
            with within(0.01), lock.reading():
                return True
        except TooSlowError:
            return False

    with ThreadPoolExecutor(1) as pool:
        while pool.submit(gets_in).result():
            pass


def test_a_writer_that_gives_up_lets_waiting_readers_in() -> None:
    """A reader that waited for the writer to go first must not wait on."""
    lock = ReadWriteLock()
    held, let_go = Event(), Event()

    def first() -> None:
        with lock.reading():
            held.set()
            let_go.wait(10)

    def write() -> None:
        with within(1.0), pytest.raises(TooSlowError), lock.writing():
            pass

    def second() -> None:
        with within(10.0), lock.reading():
            pass

    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(first)]
        assert held.wait(10)
        jobs.append(pool.submit(write))
        wait_for_a_waiting_writer(lock)
        jobs.append(pool.submit(second))
        jobs[2].result(10)
        let_go.set()
        for job in jobs:
            job.result(10)


def test_a_reader_that_left_without_a_word_is_forgotten_when_it_comes_again() -> None:
    """Ctrl-C at the first instruction of `__exit__`: it is not run, and a writer would wait for ever."""
    lock = ReadWriteLock()
    lock.reading().__enter__()  # and no __exit__
    with lock.reading():
        pass
    with lock.writing():
        pass
    lock.reading().__enter__()
    with lock.writing():
        pass
    lock.reading().__enter__()
    done = Event()

    def write() -> None:
        with lock.writing():
            done.set()

    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(write)
        wait_for_a_waiting_writer(lock)
        with lock.reading():  # lets the writer go first, which waited for this thread
            assert done.is_set()
        job.result(10)


def test_a_writer_that_reads_or_writes_again_is_told() -> None:
    lock = ReadWriteLock()
    with lock.writing():
        with pytest.raises(StateError, match="being changed"), lock.reading():
            pass
        with pytest.raises(StateError, match="being changed"), lock.writing():
            pass
