"""Measures against cases computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.cli.evaluation import measure
from gossamer.errors import InputError
from gossamer_lab.data.collection import Collection
from gossamer_lab.evaluate.measures import AUTHORS, MEASURES, authors_ndcg, depth_for, score


def log2(rank: int) -> float:
    return math.log2(rank + 1)


def test_by_hand(small: Collection) -> None:
    rows = np.array([[4, 0, 1, 2, 3], [1, 0, 2, 3, 4], [2, 0, 1, 3, 4]])  # z: c is its own text, so d is third
    found = score(small, rows)
    assert found["MRR@10"] == pytest.approx([50.0, 100.0, 100 / 3])
    assert found["Recall@5"] == pytest.approx([100.0, 100.0, 100.0])
    ideal = 2 + 1 / log2(2)
    assert found["nDCG@10"] == pytest.approx([100 / log2(2), 100 * (2 + 1 / log2(3)) / ideal, 100 / log2(3)])
    assert found.mean("MRR@10") == pytest.approx((50 + 100 + 100 / 3) / 3)


def test_what_is_missing_scores_nothing(small: Collection) -> None:
    found = score(small, np.array([[-1, -1], [3, 1], [2, 0]]))
    assert found["nDCG@10"][0] == 0.0
    assert found["Recall@5"] == pytest.approx([0.0, 50.0, 0.0])
    assert found["nDCG@10"][2] == 0.0  # its own text is no answer


def test_cut_at_five() -> None:
    ids = tuple(f"d{i}" for i in range(8))
    one = Collection("one", ids, ids, ("q",), ("what",), {"q": {"d7": 1}})
    found = score(one, np.array([[0, 1, 2, 3, 4, 7, 5, 6]]))
    assert found["Recall@5"] == [0.0]
    assert found["Recall@10"] == [100.0]
    assert found["MRR@10"] == pytest.approx([100 / 6])
    assert found["nDCG@10"] == pytest.approx([100 / log2(6)])


def test_depth_leaves_room_for_own_texts(small: Collection) -> None:
    assert depth_for(small, 2) == 3
    assert depth_for(small) == 5


def test_one_ranking_a_query(small: Collection) -> None:
    with pytest.raises(InputError, match="2 rankings for 3 queries"):
        score(small, np.zeros((2, 3), np.int64))


def test_unknown_measure(small: Collection) -> None:
    with pytest.raises(InputError, match="no measure 'MAP'"):
        score(small, np.array([[0], [1], [3]]))["MAP"]


@given(st.permutations(range(9)))
def test_measures_fit_together(order: list[int]) -> None:
    ids = tuple(f"d{i}" for i in range(9))
    one = Collection("one", ids, ids, ("q",), ("what",), {"q": {"d0": 1, "d1": 1}})
    found = score(one, np.array([order]))
    values = {name: found[name][0] for name in (*MEASURES, AUTHORS)}
    assert all(0 <= value <= 100 + 1e-9 for value in values.values())
    assert values["Recall@5"] <= values["Recall@10"] == 100
    assert values["MRR@10"] == pytest.approx(100 / (1 + min(order.index(0), order.index(1))))


@given(
    st.permutations(range(12)), st.dictionaries(st.integers(0, 14), st.integers(1, 3), min_size=1), st.integers(0, 12)
)
def test_the_measures_of_eval_run_are_those_of_ir_measures(
    order: list[int], grades: dict[int, int], shown: int
) -> None:
    ids = tuple(f"d{i}" for i in range(15))
    answers = {ids[row]: grade for row, grade in grades.items()}
    found = score(Collection("one", ids, ids, ("q",), ("what",), {"q": answers}), np.array([order[:shown]], np.int64))
    ours = measure([ids[row] for row in order[:shown]], answers)
    for name, value in zip(("nDCG@10", "Recall@10", "MRR@10"), ours, strict=True):
        assert 100 * value == pytest.approx(found[name][0])


@pytest.mark.parametrize("k", [2, 5, 10])
def test_the_authors_ndcg_is_what_their_program_computes(k: int) -> None:
    from sklearn.metrics import ndcg_score

    for rank in range(1, k + 1):
        relevance = [int(place == rank) for place in range(1, k + 1)]
        ideal = sorted(relevance, reverse=True)
        assert authors_ndcg(rank, k) == pytest.approx(ndcg_score([ideal], [relevance]))
    assert authors_ndcg(None, k) == authors_ndcg(k + 1, k) == 0.0


def test_the_authors_ndcg_can_fall_as_k_grows() -> None:
    assert authors_ndcg(2, 10) < authors_ndcg(2, 5) < 1 / log2(2)
    assert authors_ndcg(1, 5) == 1.0
