"""Ten threads search while one writes: no error, and never a document that does not fit its hit."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bag import encode, sentence
from gossamer import Index
from gossamer.errors import UnknownIdError

SECONDS = float(os.environ.get("GOSSAMER_THREADS_SECONDS", "5"))
READERS = 10


class Run:
    """Every version of document i is “<i>: <words>”, with its version in the metadata: a mix-up shows."""

    def __init__(self, index: Index, reader: Index | None) -> None:
        self.index = index
        self.reader = reader
        self.until = time.monotonic() + SECONDS
        self.errors: list[BaseException] = []
        self.searches = 0
        self.deleted = 0
        self.writes = 0

    def guarded(self, work: Any, seed: int) -> None:
        rng = random.Random(seed)
        try:
            while time.monotonic() < self.until and not self.errors:
                work(rng)
        except BaseException as error:  # the test's own thread reports it
            self.errors.append(error)

    def write(self, rng: random.Random) -> None:
        some = [str(at) for at in rng.sample(range(1400), rng.randint(1, 30))]
        if rng.random() < 0.3:
            self.index.delete(some)
        elif rng.random() < 0.02:
            self.index.refit()
        else:
            version = self.writes
            texts = [f"{id}: {sentence(rng)} version{version}" for id in some]
            self.index.add(texts, some, [{"version": version}] * len(some))
        self.writes += 1

    def search(self, rng: random.Random) -> None:
        index = self.reader if self.reader is not None and rng.random() < 0.3 else self.index
        if index is self.reader and rng.random() < 0.1:
            index.refresh()
        where = {"version": {"$gte": 0}} if rng.random() < 0.3 else None
        hits = index.search(sentence(rng, 3), k=10, where=where, hybrid=rng.random() < 0.7)
        assert len({hit.id for hit in hits}) == len(hits) == 10
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        for hit in hits:
            assert hit.text.startswith(f"{hit.id}: ")
            assert hit.text.endswith(f"version{hit.metadata['version']}")
            assert hit.path[0].size > hit.path[-1].size >= 1
        try:
            why = index.explain("moon", hits[0].id)
            assert why.passage.startswith(f"{hits[0].id}: ")
            assert index.get(hits[0].id).id == hits[0].id
        except UnknownIdError:  # it was deleted meanwhile
            self.deleted += 1
        self.searches += 1


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_ten_readers_and_a_writer(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.store.store._SNAPSHOT_AFTER", 500)
    index = Index(encode) if where == "memory" else Index.create(tmp_path / "a.gsm", encode)
    with index:
        rng = random.Random(0)
        ids = [str(at) for at in range(1200)]
        index.add([f"{id}: {sentence(rng)} version0" for id in ids], ids, [{"version": 0}] * 1200)
        reader = None if where == "memory" else Index.open(tmp_path / "a.gsm", encode, mode="r")
        run = Run(index, reader)
        threads = [threading.Thread(target=run.guarded, args=(run.search, seed)) for seed in range(READERS)]
        threads.append(threading.Thread(target=run.guarded, args=(run.write, 99)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if reader is not None:
            reader.close()
        assert not run.errors, run.errors
        assert run.searches > 50 + run.deleted
        assert run.writes > 5
        index.check()
