"""Ten threads search while one writes: no error, and never a document that does not fit its hit."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path

import pytest

from bag import encode, sentence
from gossamer import Index
from gossamer.errors import UnknownIdError
from gossamer.store import Policy

READERS = 10
SEARCHES = int(os.environ.get("GOSSAMER_THREADS_SEARCHES", "8"))
"""Searches of each reader; the writer goes on until all are done, and for six writes at least."""


class Run:
    """Every version of document i is “<i>: <words>”, with its version in the metadata: a mix-up shows."""

    def __init__(self, index: Index, reader: Index | None) -> None:
        self.index = index
        self.reader = reader
        self.reading = READERS
        self.errors: list[BaseException] = []
        self.searches = 0
        self.deleted = 0
        self.writes = 0

    def read(self, seed: int) -> None:
        rng = random.Random(seed)
        try:
            for _ in range(SEARCHES):
                if not self.errors:
                    self.search(rng)
        except BaseException as error:  # the test's own thread reports it
            self.errors.append(error)
        finally:
            self.reading -= 1

    def change(self) -> None:
        rng = random.Random(99)
        try:
            while (self.reading or self.writes < 6) and not self.errors:
                self.write(rng)
        except BaseException as error:
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
def test_ten_readers_and_a_writer(tmp_path: Path, where: str) -> None:
    index = Index(encode) if where == "memory" else Index.create(tmp_path / "a.gsm", encode)
    with index:
        index.state.store.policy = Policy(snapshot_after=500)
        rng = random.Random(0)
        ids = [str(at) for at in range(1200)]
        index.add([f"{id}: {sentence(rng)} version0" for id in ids], ids, [{"version": 0}] * 1200)
        reader = None if where == "memory" else Index.open(tmp_path / "a.gsm", encode, mode="r")
        run = Run(index, reader)
        threads = [threading.Thread(target=run.read, args=(seed,)) for seed in range(READERS)]
        threads.append(threading.Thread(target=run.change))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if reader is not None:
            reader.close()
        assert not run.errors, run.errors
        assert run.searches == READERS * SEARCHES
        index.check()
