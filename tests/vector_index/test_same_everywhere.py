"""The same operations give the same index on every machine: BLAS of other processors, and with other threads."""

import os
import subprocess
import sys

import pytest

_PROGRAM = """
import hashlib
import numpy as np
from gossamer import VectorIndex
from gossamer.tree.arrays import rows_in_use

rng = np.random.default_rng(5)
centres = rng.normal(size=(30, 40)) / (1 + np.arange(40))
X = (centres[rng.integers(0, 30, 1500)] + 0.3 * rng.normal(size=(1500, 40)) / (1 + np.arange(40))).astype(np.float32)
index = VectorIndex(40)
index.add(X[:1300])
for x in X[1300:]:
    index.add(x[None])
index.settle()
assert index.whitener is not None
t, digest = index.tree.arrays, hashlib.blake2b(index.whitener.components_.tobytes())
for name, rows in rows_in_use(t.meta).items():
    digest.update(np.ascontiguousarray(getattr(t, name)[:rows]).tobytes())
found = index.search(X[:50] + 0.01)
print(digest.hexdigest(), hashlib.blake2b(found.ids.tobytes() + found.scores.tobytes()).hexdigest())
"""


def _digests(**settings: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env={**os.environ, **settings}, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.slow
def test_processors_and_threads_make_no_difference() -> None:
    """OPENBLAS_CORETYPE takes the products that OpenBLAS has for an older processor; other libraries ignore it."""
    here = _digests()
    assert len(here.split()) == 2
    assert _digests(OPENBLAS_CORETYPE="Haswell", OPENBLAS_NUM_THREADS="1") == here
    assert _digests(OPENBLAS_CORETYPE="Nehalem", OPENBLAS_NUM_THREADS="3") == here
