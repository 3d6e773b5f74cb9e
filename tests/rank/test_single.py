"""A search for one raw query by one compiled call: the answers are those of a batch."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer import VectorIndex
from gossamer.array_types import Floats
from gossamer.errors import ClosedError, DimensionError, NotFiniteError, ParameterError
from gossamer.rank.single import as_one_query


def vectors(n: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(20, 12))
    return (centres[rng.integers(0, 20, n)] + 0.4 * rng.normal(size=(n, 12))).astype(np.float32)


@pytest.fixture(scope="module")
def index() -> VectorIndex:
    made = VectorIndex(12)
    E = vectors(3000)
    E[1000:1040] = E[:40]  # equal scores
    made.add(E, [f"d{at}" for at in range(3000)])
    made.settle()
    assert made.state.single_search() is not None, "else nothing is tested here"
    return made


@pytest.mark.parametrize("recall", [None, 0.9, 0.999, 1.0])
@pytest.mark.parametrize("k", [1, 10, 200])
def test_one_at_a_time_is_the_same_as_a_batch(index: VectorIndex, k: int, recall: float | None) -> None:
    Q = np.concatenate([vectors(20, seed=1), vectors(3000)[:10]])
    together = index.search(Q, k, recall=recall)
    for at, q in enumerate(Q):
        for one in (q, Q[at : at + 1], q.astype(np.float64)):
            alone = index.search(one, k, recall=recall)
            assert alone.ids.tolist() == together.ids[at : at + 1].tolist()
            assert alone.scores.tolist() == together.scores[at : at + 1].tolist()
            assert alone.visited.tolist() == together.visited[at : at + 1].tolist()


def test_what_is_found_follows_changes(index: VectorIndex) -> None:
    own = VectorIndex(12)
    own.add(vectors(2000))
    own.settle()
    x = vectors(1, seed=5)[0]
    own.search(x)
    assert own.add(x[None]) == [2000]
    assert own.search(x, 1).ids.tolist() == [[2000]]
    own.delete(2000)
    assert own.search(x, 1).ids.tolist() != [[2000]]
    own.close()
    with pytest.raises(ClosedError):
        own.search(x)


def test_errors_are_those_of_a_batch(index: VectorIndex) -> None:
    x = vectors(1)[0]
    with pytest.raises(NotFiniteError):
        index.search(np.where(np.arange(12) == 3, np.nan, x).astype(np.float32))
    with pytest.raises(DimensionError):
        index.search(x[:5])
    with pytest.raises(ParameterError):
        index.search(x, 0)
    with pytest.raises(ParameterError):
        index.search(x, 3, recall=1.5)


def test_a_query_that_cannot_be_written_to_finds_the_same(index: VectorIndex) -> None:
    x = vectors(1, seed=2)[0]
    expected = index.search(x)
    x.flags.writeable = False
    assert index.search(x).ids.tolist() == expected.ids.tolist()


def test_what_is_one_query() -> None:
    x = np.zeros(4, np.float32)
    assert as_one_query(x, 4) is not None
    assert as_one_query(x[None], 4) is not None
    shifted = np.zeros(17, np.uint8)[1:].view(np.float32)
    for other in (
        x.astype(np.float64), x.tolist(), np.zeros((2, 4), np.float32), np.zeros(8, np.float32)[::2], x[:3], shifted,
    ):  # fmt: skip
        assert as_one_query(other, 4) is None
