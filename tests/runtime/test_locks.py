"""The lock of an index: many readers or one writer, and nobody waits for someone who has gone."""

from __future__ import annotations

from threading import Event, Thread, current_thread
from typing import Any

import pytest

from gossamer.runtime.locks import ReadWriteLock


def test_a_writer_that_gives_up_lets_waiting_readers_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while it waits for a reader: another reader, which waited for the writer to be first, must not wait on."""
    lock = ReadWriteLock()
    let_go, give_up, waits = Event(), Event(), Event()
    held, got_in = Event(), Event()
    wait = lock._changed.wait
    writer: Thread

    def waiting(timeout: float | None = None) -> bool:
        if current_thread() is not writer:
            waits.set()
            return wait(timeout)
        while not give_up.is_set():
            wait(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(lock._changed, "wait", waiting)

    def first() -> None:
        with lock.reading():
            held.set()
            let_go.wait(10)

    def write() -> None:
        try:
            with lock.writing():
                pass
        except KeyboardInterrupt:
            let_go.set()

    def second() -> None:
        with lock.reading():
            got_in.set()

    writer = Thread(target=write)
    threads: list[Any] = [Thread(target=first), writer, Thread(target=second, daemon=True)]
    threads[0].start()
    assert held.wait(10)
    threads[1].start()
    while not lock._waiting_writers:
        pass
    threads[2].start()
    assert waits.wait(10)
    give_up.set()
    assert got_in.wait(10)
    for thread in threads:
        thread.join(10)


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

    writer = Thread(target=write)
    writer.start()
    while not lock._waiting_writers:
        pass
    with lock.reading():  # lets the writer go first, which waited for this very thread
        assert done.is_set()
    writer.join(10)
