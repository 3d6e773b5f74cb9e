"""Documents by a function of them, by ids that may not be there, and their vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import bag
from gossamer import Document, Index
from gossamer.errors import UnknownIdError

TEXTS = {"a": "sun and moon", "b": "sea and river", "c": "sun and sea", "d": "wolf and bear"}


@pytest.fixture
def index() -> Iterator[Index]:
    with Index(bag.encode) as index:
        index.add(list(TEXTS.values()), list(TEXTS), [{"n": n} for n in range(4)])
        yield index


def late(document: Document) -> bool:
    return bool(document.metadata["n"] >= 2)


def test_a_function_filters_as_a_dict_does(index: Index) -> None:
    index.delete("a")
    index.add("sun again", "e", {"n": 4})
    where = {"n": {"$gte": 2}}
    assert index.ids(where=late) == index.ids(where=where) == ["c", "d", "e"]
    assert index.search("sun", where=late) == index.search("sun", where=where)
    assert [each.id for each in index.documents(where=lambda document: "wolf" in document.text)] == ["d"]
    assert index.search("sun", where=lambda document: False) == []
    assert index.delete(where=late) == 3
    assert index.ids() == ["b"]


def test_an_error_of_a_function_is_the_callers(index: Index) -> None:
    with pytest.raises(KeyError, match="missing"):
        index.search("sun", where=lambda document: document.metadata["missing"])
    assert index.search("sun", 1)[0].id in ("a", "c")


def test_ids_that_are_not_there_can_be_skipped(index: Index) -> None:
    assert [each.id for each in index.get(["d", "x", "a"], skip_unknown=True)] == ["d", "a"]
    assert index.get(["x"], skip_unknown=True) == []
    with pytest.raises(UnknownIdError, match="'x' is not in the index"):
        index.get(["d", "x"])


def test_vectors_are_those_of_the_encoder(index: Index) -> None:
    assert np.array_equal(index.vectors(["d", "a", "d"]), bag.encode([TEXTS["d"], TEXTS["a"], TEXTS["d"]]))
    with pytest.raises(UnknownIdError):
        index.vectors(["x"])
    with Index(bag.encode, max_tokens=4, overlap=0) as split:
        split.add("sun moon star sea. river stone tree leaf.", "long")
        passages = list(split.encode(["sun moon star sea. river stone tree leaf."]).vectors.values())
        assert len(passages) > 1
        assert np.allclose(split.vectors(["long"])[0], np.mean(passages, axis=0), atol=1e-6)
