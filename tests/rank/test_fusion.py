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
    return fusion.Candidates(*numbers, np.array(dense, float), np.zeros(len(documents)))


def ranked_of(dense: dict[int, float], lexical: dict[int, float], k: int) -> Any:
    words = np.array([lexical.get(document, 0.0) for document in dense], float)
    return fusion.fused(candidates(list(dense), list(dense), list(dense.values())), words, k)


SCORES = st.dictionaries(st.integers(0, 30), st.floats(0.001, 1.0), max_size=30)


def test_equal_texts_score_equal_whatever_float32_says() -> None:
    assert fusion.rounded(np.array([0.1234567894, 0.1234567891, -1.0])).tolist() == [0.123456789, 0.123456789, -1.0]


def test_a_document_counts_by_its_best_passage() -> None:
    owners, passages, cosines = np.array([1, 1, 2, 2]), np.array([10, 11, 13, 12]), np.array([0.1, 0.9, 0.5, 0.5])
    found = fusion.best_of(owners, passages, cosines)
    assert [each.tolist() for each in found] == [[1, 2], [11, 12], [0.9, 0.5], [0, 0]]
    alone = fusion.best_of(owners[1:3], passages[1:3], cosines[1:3])
    assert [each.tolist() for each in alone] == [[1, 2], [11, 13], [0.9, 0.5], [0, 0]]


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
