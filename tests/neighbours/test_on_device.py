"""Comparing all pairs with PyTorch finds what the compiled kernels find; here on the processor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gossamer import VectorIndex
from gossamer.errors import MissingExtraError, ParameterError
from gossamer.graph.calibration import Calibration
from gossamer.neighbours.all_pairs import nearest_of_all
from gossamer.neighbours.on_device import nearest_on_device
from gossamer.runtime import device as device_module
from gossamer.runtime.device import as_device
from gossamer.tree.arrays import Meta
from neighbours.test_all_pairs import coded
from oracles.neighbours import squared_distances

pytestmark = pytest.mark.extra
pytest.importorskip("torch", reason="PyTorch is optional")


@pytest.mark.parametrize(("n", "dim", "width"), [(1, 3, 2), (2, 3, 4), (40, 20, 16), (300, 5, 128), (2500, 70, 8)])
def test_the_nearest_are_those_of_the_kernels(n: int, dim: int, width: int) -> None:
    codes = coded(n, dim, n)
    shares: list[float] = []
    found, near = nearest_on_device("cpu", codes, width, shares.append)
    if n > 1:
        assert shares[-1] == 1.0
        assert np.array_equal(near, nearest_of_all(codes, width).distances)
    there = min(width, n - 1)
    assert (found[:, there:] == -1).all()
    for at, others in enumerate(found[:, :there].tolist()):
        assert len(set(others)) == there, "none is listed twice"
        assert at not in others
        if there:
            assert np.array_equal(squared_distances(codes[at : at + 1], codes[others])[0], near[at, :there])


def test_sums_beyond_single_precision_are_exact() -> None:
    """Of 2,000 coordinates products reach 2²⁵, where float32 has even numbers alone."""
    codes = np.random.default_rng(0).integers(120, 128, (60, 2000)).astype(np.int8)
    exact = squared_distances(codes, codes).astype(np.float64)
    np.fill_diagonal(exact, np.inf)
    assert np.array_equal(nearest_on_device("cpu", codes, 5).distances, np.sort(exact, axis=1)[:, :5])


def test_many_copies_of_one_vector_are_all_near() -> None:
    codes = np.zeros((500, 4), np.int8)
    codes[:3] = 9
    found, near = nearest_on_device("cpu", codes, 6)
    assert (near[3:] == 0).all()
    assert near[0].tolist() == [0, 0, 324, 324, 324, 324]
    assert (found != np.arange(500)[:, None]).all()


@pytest.mark.parametrize("device", ["tpu", "cuda:x", "cuda:99", 3])
def test_a_device_that_is_not_there_is_refused(device: object) -> None:
    with pytest.raises(ParameterError, match="device"):
        as_device(device)


def test_without_pytorch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r'pip install "gossamer\[gpu\]"'):
        VectorIndex(3, device="cuda")
    assert VectorIndex(3, device=None).dim == 3


def test_an_index_built_on_a_device_is_the_same_as_without(tmp_path: object) -> None:
    """Same tree, same links, same answers; what is saved says nothing of the device."""
    rng = np.random.default_rng(3)
    E = (rng.normal(size=(60, 24))[rng.integers(0, 60, 1500)] + rng.normal(size=(1500, 24)) / 2).astype(np.float32)
    Q = E[:40] + rng.normal(size=(40, 24)).astype(np.float32) / 3
    plain, other = VectorIndex(24), VectorIndex(24, device="cpu")
    plain.add(E)
    other.add(E)
    ours, theirs = plain.state.tree.arrays, other.state.tree.arrays
    slots = int(ours.meta[Meta.SLOTS])
    assert np.array_equal(ours.parent[:slots], theirs.parent[:slots])
    for options in ({}, {"method": "path-sum"}, {"method": "path-sum", "context": 1.0}, {"recall": 1.0}):
        found, again = plain.search(Q, **options), other.search(Q, **options)
        assert np.array_equal(found.ids, again.ids), options
        np.testing.assert_array_equal(found.scores, again.scores)
    assert other.search(Q).visited.max() < 1500, "a device does not make exhaustive ranking the default"
    other.save(f"{tmp_path}/v")
    opened, reopened = VectorIndex.load(f"{tmp_path}/v"), VectorIndex.load(f"{tmp_path}/v", device="cpu")
    assert np.array_equal(opened.search(Q).ids, plain.search(Q).ids)
    assert np.array_equal(reopened.search(Q, method="path-sum").ids, plain.search(Q, method="path-sum").ids)


def test_where_no_effort_suffices_a_device_ranks_exhaustively() -> None:
    """Calibration never saw the recall that is wanted: the same on the processor and on a device."""
    E = np.random.default_rng(0).normal(size=(1200, 8)).astype(np.float32)
    index = VectorIndex(8, device="cpu", whitener=None)
    index.add(E)
    graph = index.state.graph
    assert graph is not None
    index.state.graph = replace(graph, calibration=Calibration(True, (0.5, 0.9), 1200))
    found = index.search(E[:20])
    assert (found.visited == 1200).all()
    exact = index.search(E[:20], method="path-sum")
    assert np.array_equal(found.ids, exact.ids)
    assert np.array_equal(found.scores, exact.scores)


@pytest.mark.parametrize(("dim", "rows"), [(128, 256), (384, 256), (512, 128), (640, 256)])
def test_tiles_fit_into_shared_memory(dim: int, rows: int) -> None:
    """227 KB: rows that stay there, columns of each stage, and what maxima are moved through (measured: 16,472)."""
    pytest.importorskip("triton", reason="Triton is optional")
    from gossamer.neighbours.fused import config_for

    config = config_for(dim)
    assert config.rows == rows
    chunks, columns = dim // 128, 128 * config.tiles
    if chunks <= 4:
        taken = 128 * chunks * (config.rows + config.stages * columns)
    else:
        taken = 128 * config.stages * (config.rows + columns)
    assert taken + 16_472 <= 227 * 1024
