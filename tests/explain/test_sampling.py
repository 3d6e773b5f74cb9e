"""Samples: the same every time, nested, and hardly changed by a small change."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.explain.sampling import bound_of, sample

SETS = st.sets(st.integers(0, 10_000), min_size=1, max_size=400).map(lambda found: np.array(sorted(found), np.int64))


@given(SETS, st.integers(1, 200))
def test_a_sample_is_a_part_of_it_and_never_empty(documents: np.ndarray, most: int) -> None:
    found = sample(documents, most)
    assert 1 <= len(found) <= most
    assert set(found.tolist()) <= set(documents.tolist())
    assert np.array_equal(found, sample(documents, most))
    if len(documents) <= most:
        assert np.array_equal(found, documents)


@given(SETS, st.integers(20, 200), st.integers(1, 9))
def test_a_parents_sample_below_a_child_is_in_the_childs_own(documents: np.ndarray, most: int, parts: int) -> None:
    bound = bound_of(documents, most)
    above = set(sample(documents, most, bound=bound).tolist())
    for part in range(parts):
        child = documents[documents % parts == part]
        if len(child):
            assert above & set(child.tolist()) <= set(sample(child, most // 2, bound=bound).tolist())


def test_one_document_more_changes_a_sample_by_one_at_most() -> None:
    documents = np.arange(1000, dtype=np.int64)
    before, after = set(sample(documents[:-1], 300).tolist()), set(sample(documents, 300).tolist())
    assert len(before ^ after) <= 1


def test_about_half_to_all_of_what_is_wanted() -> None:
    for n in (300, 1000, 5000, 50_000):
        assert 100 <= len(sample(np.arange(n, dtype=np.int64), 256)) <= 256
