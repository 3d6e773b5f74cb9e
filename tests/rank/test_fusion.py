"""Fusion: the sum of both scores, and the threshold below which nothing unseen can matter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rank import fusion as typed

fusion: Any = typed  # plain numbers stand for those of documents and passages here

SCORES = st.dictionaries(st.integers(0, 30), st.floats(0.001, 1.0), max_size=30)


def test_equal_texts_score_equal_whatever_float32_says() -> None:
    assert fusion.rounded(np.array([0.1234567894, 0.1234567891, -1.0])) == [0.123456789, 0.123456789, -1.0]


def test_a_document_counts_by_its_best_passage() -> None:
    owners, passages, cosines = [1, 1, 2, 2], [10, 11, 13, 12], [0.1, 0.9, 0.5, 0.5]
    assert fusion.best_of(owners, passages, cosines) == {1: (0.9, 11), 2: (0.5, 12)}


def test_scores_add_up_and_ties_go_to_the_lower_number() -> None:
    best = {5: (0.5, 50), 4: (0.5, 40), 9: (0.4, 90), 6: (0.3, 60)}
    ranked = fusion.fused(best, {9: 0.2, 7: 0.3}, 2)
    assert [(found.document, found.passage, found.score) for found in ranked] == [
        (9, 90, 0.4 + 0.2),
        (4, 40, 0.5),
        (5, 50, 0.5),
    ]
    assert [found.lexical for found in ranked] == [0.2, 0.0, 0.0]
    assert [found.document for found in fusion.fused(best, {}, 1)] == [4, 5]
    assert [found.document for found in fusion.fused(best, {}, 9)] == [4, 5, 9, 6]


@given(dense=SCORES, lexical=SCORES, k=st.integers(1, 5), depth=st.integers(1, 30))
def test_who_has_less_than_is_needed_cannot_enter(
    dense: dict[int, float], lexical: dict[int, float], k: int, depth: int
) -> None:
    """Of nearest documents to any depth, and those whose words are enough: the first k are those of all documents."""
    documents = sorted(dense, key=lambda document: (-dense[document], document))
    whole = fusion.fused({document: (dense[document], document) for document in documents}, lexical, k)
    part = fusion.fused({document: (dense[document], document) for document in documents[:depth]}, lexical, k)
    floor = dense[documents[depth - 1]] if depth < len(documents) else -math.inf
    needed = fusion.lexical_needed(part, k, floor)
    if needed >= 0.0:
        seen = {*documents[:depth], *(document for document in documents if lexical.get(document, 0.0) > needed)}
        found = fusion.fused({document: (dense[document], document) for document in seen}, lexical, k)
        assert [each.score for each in found[:k]] == [each.score for each in whole[:k]]
    else:
        assert len(part) < k
    assert fusion.lexical_needed(whole, k, -math.inf) == math.inf
