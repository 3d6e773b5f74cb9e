"""Embeddings that get worse."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer import Whitener
from gossamer_lab.evaluate.robustness import WORSE, cut_to, int8, noise, offset, rogue

RNG = np.random.default_rng(0)
E = RNG.normal(size=(200, 80)).astype(np.float32)
E /= np.linalg.norm(E, axis=1, keepdims=True)
Q = E[:9] + np.float32(0.01)


@pytest.mark.parametrize("name", WORSE)
def test_all_stay_vectors(name: str) -> None:
    worse, asked = WORSE[name](E, Q)
    assert (len(worse), len(asked)) == (200, 9)
    assert worse.dtype == asked.dtype == np.float32
    assert np.isfinite(worse).all()
    assert (worse.shape[1], asked.shape[1]) in ((80, 80), (64, 64))


def test_each_does_what_it_says() -> None:
    assert np.allclose(np.linalg.norm(cut_to(64)(E, Q)[0], axis=1), 1.0, atol=1e-5)
    assert len(np.unique(int8(E, Q)[0])) <= 255
    assert np.abs(int8(E, Q)[0] - E).max() <= np.abs(E).max() / 127
    assert Whitener().fit(offset(2.0)(E, Q)[0]).mean_cosine_ > 0.7
    assert Whitener().fit(E).mean_cosine_ < 0.1
    assert np.allclose(rogue(20.0)(E, Q)[0][:, :3], 20 * E[:, :3])
    assert np.linalg.norm(noise(0.5)(E, Q)[0] - E, axis=1).mean() == pytest.approx(0.5, rel=0.05)
