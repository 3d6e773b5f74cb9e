"""With independent axes, an explanation names those that count, by what lies at their ends."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from gossamer import VectorIndex
from gossamer.rank.gains import gains_by_axis


@pytest.fixture(scope="module")
def sources() -> np.ndarray:
    """Three independent, heavy-tailed sources."""
    return np.random.default_rng(0).laplace(size=(1200, 3)) ** 3


MIXING = np.array([[1.0, 0.4, 0.2], [0.3, 1.0, 0.5], [0.1, 0.2, 1.0]])


@pytest.fixture(scope="module")
def index(sources: np.ndarray) -> VectorIndex:
    index = VectorIndex(3, preset="paper")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        index.add(sources @ MIXING)
    return index


def test_axes_add_up_to_the_score(index: VectorIndex) -> None:
    q = np.array([3.0, -1.0, 0.5])
    for id in (0, 7, 1199):
        why = index.explain(q, id)
        by_axis = gains_by_axis(index.tree.arrays, index.project(q)[0], index.path(id), context=1.0)
        assert by_axis.sum() == pytest.approx(why.score, abs=1e-9)
        assert sum(axis.contribution for axis in why.axes) == pytest.approx(why.score, abs=1e-9)  # there are only three
        sizes = [abs(axis.contribution) for axis in why.axes]
        assert sizes == sorted(sizes, reverse=True)


def test_an_axis_is_named_by_its_extreme_documents(index: VectorIndex, sources: np.ndarray) -> None:
    extreme = int(np.abs(sources[:, 1]).argmax())
    why = index.explain(sources[extreme] @ MIXING, extreme)
    assert extreme in why.axes[0].extremes
    assert len(why.axes[0].extremes) == 3


def test_other_axes_mean_nothing_and_are_not_named() -> None:
    plain = VectorIndex(3)
    plain.add(np.eye(3))
    assert plain.explain([1, 0, 0], 0).axes == ()
