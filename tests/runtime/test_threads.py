"""Batches over threads."""

from __future__ import annotations

import time
from threading import Event

import pytest

from gossamer.runtime.threads import in_threads


def test_nobody_works_on_after_an_interruption() -> None:
    other_runs, ended = Event(), []

    def work(first: int, last: int) -> None:
        if first == 0:
            other_runs.wait(5)
            raise KeyboardInterrupt
        other_runs.set()
        time.sleep(0.2)
        ended.append(first)

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, 8, threads=2)
    assert ended == ([4] if other_runs.is_set() else []), "the other part was waited for, or never began"
