"""Whatever is done to an index in whatever order, it says what a dict would say, also after it was opened again."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from bag import encode, sentence
from durability.names import NO_SNAPSHOTS
from gossamer import Index

IDS = st.sampled_from([f"d{at}" for at in range(12)])
TEXTS = st.builds(
    lambda seed, words: sentence(random.Random(seed), words), st.integers(0, 40), st.sampled_from([1, 3, 6, 40])
)
METADATA = st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 3) | st.none() | st.sampled_from(["x", "y"]))


class IndexModel(RuleBasedStateMachine):
    """An index on disk, an index in memory, a reader, and a dict: all go through the same."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "a.gsm"
        self.index = Index.create(self.path, encode, max_tokens=12)
        self.memory = Index(encode, max_tokens=12)
        self.reader = Index.open(self.path, encode, mode="r")
        self.model: dict[str, tuple[str, dict[str, Any]]] = {}

    def teardown(self) -> None:
        if hasattr(self, "index"):
            for index in (self.index, self.memory, self.reader):
                index.close()
            shutil.rmtree(self.folder)

    @rule(documents=st.dictionaries(IDS, st.tuples(TEXTS, METADATA), min_size=1, max_size=5))
    def add(self, documents: dict[str, tuple[str, dict[str, Any]]]) -> None:
        for index in (self.index, self.memory):
            index.add(
                [text for text, _ in documents.values()], list(documents), [data for _, data in documents.values()]
            )
        self.model |= documents

    @rule(ids=st.lists(IDS, max_size=4))
    def delete(self, ids: list[str]) -> None:
        there = len(set(ids) & set(self.model))
        assert self.index.delete(ids) == self.memory.delete(ids) == there
        for id in ids:
            self.model.pop(id, None)

    @rule()
    def refit(self) -> None:
        self.index.refit()
        self.memory.refit()

    @rule(snapshot=st.booleans())
    def close_and_open(self, snapshot: bool) -> None:
        if not snapshot:
            self.index.state.store.policy = NO_SNAPSHOTS
        self.index.close()
        self.index = Index.open(self.path, encode)

    @rule()
    def snapshot(self) -> None:
        self.index.state.tree.snapshot()

    @rule()
    def refresh(self) -> None:
        self.reader.refresh()
        assert self.reader.concepts(30) == self.index.concepts(30)

    @precondition(lambda self: self.model)
    @rule(query=TEXTS, k=st.integers(1, 15), hybrid=st.sampled_from([True, False, 1.0]))
    def search(self, query: str, k: int, hybrid: Any) -> None:
        hits = self.index.search(query, k=k, hybrid=hybrid)
        assert len(hits) == min(k, len(self.model))
        assert len({hit.id for hit in hits}) == len(hits)
        for hit in hits:
            assert (hit.text, hit.metadata) == self.model[hit.id]
            assert hit.text[hit.start :].startswith(hit.passage)
        assert [(hit.score, hit.id) for hit in hits] == sorted(
            ((hit.score, hit.id) for hit in hits), key=lambda pair: (-pair[0], pair[1])
        )
        assert self.memory.search(query, k=k, hybrid=hybrid) == hits

    @rule(query=TEXTS, value=st.integers(0, 3))
    def search_where(self, query: str, value: int) -> None:
        expected = {id for id, (_, data) in self.model.items() if data.get("a") == value}
        assert {hit.id for hit in self.index.search(query, k=20, where={"a": value})} == expected

    @invariant()
    def agrees_with_the_model(self) -> None:
        if not hasattr(self, "index"):
            return
        for index in (self.index, self.memory, self.reader):
            assert set(index.ids()) == set(self.model)
            assert {one.id: (one.text, one.metadata) for one in index.get(index.ids())} == self.model
            assert {hit.id for hit in index.search("sun moon", k=50)} == set(self.model)
            index.check()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gossamer.errors.UnknownFieldWarning")
def test_an_index_is_a_dict_that_can_be_searched() -> None:
    run_state_machine_as_test(IndexModel, settings=settings(max_examples=25, stateful_step_count=25))
