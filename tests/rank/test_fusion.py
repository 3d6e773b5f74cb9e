"""Fusion: the sum of both scores, and the threshold below which nothing unseen can matter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rank import fusion as typed

fusion: Any = typed  # plain numbers stand for those of documents and passages here


def candidates(documents: list[int], passages: list[int], dense: list[float]) -> Any:
    numbers = np.array(documents, np.int64), np.array(passages, np.int64)
    return fusion.Candidates(*numbers, np.array(dense, float), np.zeros(len(dense)))


def ranked_of(dense: dict[int, float], lexical: dict[int, float], k: int) -> Any:
    words = np.array([lexical.get(document, 0.0) for document in dense], float)
    return fusion.fused(candidates(list(dense), list(dense), list(dense.values())), words, k)


SCORES = st.dictionaries(st.integers(0, 30), st.floats(0.001, 1.0), max_size=30)


def test_equal_texts_score_equal_whatever_float32_says() -> None:
    assert fusion.rounded(np.array([0.1234567894, 0.1234567891, -1.0])).tolist() == [0.123456789, 0.123456789, -1.0]


def test_a_document_counts_by_its_best_passage() -> None:
    owners, passages, cosines = np.array([1, 1, 2, 2]), np.array([10, 11, 13, 12]), np.array([0.1, 0.9, 0.5, 0.5])
    found = fusion.best_of(owners, passages, cosines)
    assert [each.tolist() for each in found] == [[1, 2], [11, 12], [0.9, 0.5], [0.0, 0.0]]
    alone = fusion.best_of(owners[1:3], passages[1:3], cosines[1:3])
    assert [each.tolist() for each in alone] == [[1, 2], [11, 13], [0.9, 0.5], [0.0, 0.0]]


def test_the_first_passage_takes_away_as_far_as_the_best_is_like_it() -> None:
    found = candidates([1, 2, 3, 4, 5], [10, 20, 30, 40, 50], [0.8, 0.8, 0.8, 0.8, 0.8])
    opened = found.opened(np.array([0.4, 0.4, 0.4, 0.9, 0.8]), np.array([0.3, 0.9, -0.2, 0.9, 1.0]))
    np.testing.assert_allclose(opened.openings, [-0.4 * 0.3 * 0.3, -0.4 * 0.9 * 0.5, 0.0, 0.0, 0.0], atol=1e-9)
    ranked = fusion.fused(opened, None, 5)
    assert [each.document for each in ranked] == [3, 4, 5, 1, 2]
    assert all(each.dense == each.score == each.cosine + each.opening for each in ranked)


def test_scores_add_up_and_ties_go_to_the_lower_number() -> None:
    found = candidates([5, 4, 9, 6], [50, 40, 90, 60], [0.5, 0.5, 0.4, 0.3])
    ranked = fusion.fused(found, np.array([0.0, 0.0, 0.2, 0.0]), 2)
    assert [(each.document, each.passage, each.score) for each in ranked] == [
        (9, 90, 0.4 + 0.2),
        (4, 40, 0.5),
        (5, 50, 0.5),
    ]
    assert [each.lexical for each in ranked] == [0.2, 0.0, 0.0]
    assert [each.document for each in fusion.fused(found, None, 1)] == [4, 5]
    assert [each.document for each in fusion.fused(found, None, 9)] == [4, 5, 9, 6]
    assert fusion.fused(candidates([], [], []), None, 3) == []


@given(dense=SCORES, lexical=SCORES, k=st.integers(1, 5), depth=st.integers(1, 30))
def test_who_has_less_than_is_needed_cannot_enter(
    dense: dict[int, float], lexical: dict[int, float], k: int, depth: int
) -> None:
    """Of nearest documents to any depth, and those whose words are enough: the first k are those of all documents."""
    documents = sorted(dense, key=lambda document: (-dense[document], document))
    whole = ranked_of({document: dense[document] for document in documents}, lexical, k)
    part = ranked_of({document: dense[document] for document in documents[:depth]}, lexical, k)
    floor = dense[documents[depth - 1]] if depth < len(documents) else -math.inf
    needed = fusion.lexical_needed(part, k, floor)
    if needed >= 0.0:
        seen = {*documents[:depth], *(document for document in documents if lexical.get(document, 0.0) > needed)}
        found = ranked_of({document: dense[document] for document in seen}, lexical, k)
        assert [each.score for each in found[:k]] == [each.score for each in whole[:k]]
    else:
        assert len(part) < k
    assert fusion.lexical_needed(whole, k, -math.inf) == math.inf
