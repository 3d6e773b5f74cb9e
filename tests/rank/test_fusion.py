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


def test_the_best_document_by_words_gets_the_whole_weight() -> None:
    assert fusion.weighted({4: 2.0, 7: 8.0}, 0.2) == {4: 0.05, 7: 0.2}
    assert fusion.weighted({}, 0.2) == {}


def test_equal_texts_score_equal_whatever_float32_says() -> None:
    assert fusion.rounded(np.array([0.1234567894, 0.1234567891, -1.0])) == [0.123456789, 0.123456789, -1.0]


def test_a_document_counts_by_its_best_passage() -> None:
    owners, passages, cosines = [1, 1, 2, 2], [10, 11, 13, 12], [0.1, 0.9, 0.5, 0.5]
    assert fusion.best_of(owners, passages, cosines) == {1: (0.9, 11), 2: (0.5, 12)}


def test_documents_by_words() -> None:
    assert fusion.by_lexical_score({3: 0.1, 1: 0.2, 2: 0.1}, None) == [1, 2, 3]
    assert fusion.by_lexical_score({3: 0.1, 1: 0.2, 2: 0.1}, np.array([2, 3, 9])) == [2, 3]
    assert fusion.by_lexical_score({}, None) == []


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
def test_what_is_complete_cannot_change(dense: dict[int, float], lexical: dict[int, float], k: int, depth: int) -> None:
    """Of lists read to any depth: where the first k are final, they are those of the whole lists."""
    documents = sorted(dense, key=lambda document: (-dense[document], document))
    by_words = [document for document in fusion.by_lexical_score(lexical, None) if document in dense]
    whole = fusion.fused({document: (dense[document], document) for document in documents}, lexical, k)
    seen = set(documents[:depth]) | set(by_words[:depth])
    part = fusion.fused({document: (dense[document], document) for document in seen}, lexical, k)
    floor = dense[documents[depth - 1]] if depth < len(documents) else -math.inf
    beyond = lexical[by_words[depth]] if depth < len(by_words) else 0.0
    if fusion.is_complete(part, k, floor, beyond):
        assert [found.score for found in part[:k]] == [found.score for found in whole[:k]]
    assert fusion.is_complete(whole, k, -math.inf, 0.0)
