"""Updating, deleting by a filter, iterating, more like one, near duplicates, and answers that differ."""

from __future__ import annotations

import random

import numpy as np
import pytest

from bag import encode, sentence
from gossamer import Index
from gossamer.errors import DtypeError, InputError, ParameterError, UnknownIdError
from gossamer.index import near_duplicates
from gossamer.results import Passage

TEXTS = {f"d{at}": sentence(random.Random(at)) for at in range(60)}


@pytest.fixture
def index() -> Index:
    index = Index(encode)
    index.add(list(TEXTS.values()), list(TEXTS), [{"n": at, "half": at % 2} for at in range(60)])
    return index


def test_update_sets_fields_and_encodes_nothing(index: Index) -> None:
    before = index.info().operation
    index.state.encoder = None  # type: ignore[assignment]
    index.update("d3", {"n": 100, "tag": "new"})
    index.update(["d4", "d5"], [{"half": None}, {"n": -1}])
    assert [index.get(id).metadata for id in ("d3", "d4", "d5")] == [
        {"n": 100, "half": 1, "tag": "new"}, {"n": 4}, {"n": -1, "half": 1},
    ]  # fmt: skip
    assert index.ids(where={"n": {"$in": [100, -1]}}) == ["d3", "d5"]
    assert index.info().operation == before + 2
    index.update("d3", {"n": 100})
    assert index.info().operation == before + 2, "nothing changed"


def test_what_is_wrong_with_an_update_changes_nothing(index: Index) -> None:
    with pytest.raises(UnknownIdError):
        index.update(["d1", "nobody"], {"n": 0})
    with pytest.raises(InputError, match="pass one, or one for each"):
        index.update(["d1", "d2"], [{"n": 0}])
    for wrong in (None, 5, "n", ["n"]):
        with pytest.raises(DtypeError, match="dict"):
            index.update("d1", wrong)  # type: ignore[arg-type]
    with pytest.raises(DtypeError, match="keys must be strings"):
        index.update("d1", {1: 2})  # type: ignore[arg-type]
    assert index.get("d1").metadata["n"] == 1


def test_delete_by_a_filter(index: Index) -> None:
    assert index.delete(where={"n": {"$lt": 10}}) == 10
    assert index.delete(where={"n": {"$lt": 10}}) == 0
    assert len(index) == 50
    for wrong in ({}, {"ids": "d20", "where": {"n": 20}}):
        with pytest.raises(ParameterError, match="ids, or a filter"):
            index.delete(**wrong)  # type: ignore[arg-type]


def test_documents_come_in_batches_and_in_order(index: Index) -> None:
    assert [each.id for each in index.documents(batch=7)] == list(TEXTS)
    some = index.documents(where={"half": 0}, batch=10)
    assert next(some).id == "d0"
    index.delete("d50")
    assert [each.id for each in some] == [f"d{at}" for at in range(2, 60, 2) if at != 50]


def test_more_like_leaves_the_document_out(index: Index) -> None:
    index.add(TEXTS["d7"] + " ", "twin")
    found = index.more_like("d7", 3, where={"half": {"$exists": False}})
    assert [hit.id for hit in found] == ["twin"]
    assert "d7" not in [hit.id for hit in index.more_like("d7", 5)]
    assert len(index.more_like("d7", 5)) == 5
    with pytest.raises(UnknownIdError):
        index.more_like("nobody")


def test_near_duplicates() -> None:
    with Index(encode) as index:
        assert index.near_duplicates() == []
        index.add(list(TEXTS.values()), list(TEXTS))
        index.add([TEXTS["d9"], TEXTS["d9"], TEXTS["d30"] + " moon"], ["copy", "again", "similar"])
        found = index.near_duplicates(chance=0.01)
        assert found[0].ids == ("d9", "copy", "again")
        assert (found[0].chance, round(found[0].similarity, 6)) == (0.0, 1.0)
        assert all(len(group.ids) > 1 for group in found)
        with pytest.raises(ParameterError, match="between 0 and 1"):
            index.near_duplicates(chance=0)


def test_long_documents_are_no_near_duplicates() -> None:
    """Passages of the same document crowd out the neighbours that a distance is compared with."""
    rng = np.random.default_rng(0)
    centres = np.repeat(np.eye(4, 16), 35, axis=0)
    vectors = (centres + rng.normal(size=(140, 16)) * 0.1).astype(np.float32)
    vectors[35] = vectors[0] + 1e-3  # nearly the same passage in the first two documents
    passages = [[Passage(3 * at, "so", vector) for at, vector in enumerate(part)] for part in np.split(vectors, 4)]
    with Index(lambda texts: np.ones((len(texts), 16), np.float32)) as index:
        index.add("so " * 35, "0", passages=passages[:1])
        assert index.near_duplicates() == []
        index.add(["so " * 35] * 3, ["1", "2", "3"], passages=passages[1:])
        assert [group.ids for group in index.near_duplicates()] == [("0", "1")]


def test_a_distance_is_compared_with_neighbours_that_were_found() -> None:
    """In a large index those of the same document may be all but one of the nearest."""
    others = np.array([[1, 0, 0], [0, 0, 0], [0, 1, 3], [2, 0, 1]])
    distances = np.array([[1.3, np.inf, np.inf], [1.3, np.inf, np.inf], [0.01, 0.9, 1.0], [0.01, 0.9, 1.0]])
    pairs = near_duplicates.unlikely_pairs(others, distances, 1e-3)
    assert set(zip(pairs.left.tolist(), pairs.distance.tolist(), strict=True)) <= {(2, 0.01), (3, 0.01)}


def test_diversity(index: Index) -> None:
    index.add([TEXTS["d7"]] * 4, [f"copy{at}" for at in range(4)])
    plain = [hit.id for hit in index.search(TEXTS["d7"], k=5)]
    assert sorted(plain) == ["copy0", "copy1", "copy2", "copy3", "d7"]
    different = index.search(TEXTS["d7"], k=5, diversity=0.8)
    assert len({hit.text for hit in different}) == 5
    assert [hit.id for hit in index.search(TEXTS["d7"], k=5, diversity=0.0)] == plain
    with pytest.raises(ParameterError, match="from 0 to 1"):
        index.search("moon", diversity=2)


def test_an_index_shows_itself(index: Index) -> None:
    html = index._repr_html_()
    assert "60 documents" in html
    assert "<details" in html or "margin-left" in html
    index.close()
    assert "closed" in index._repr_html_()
