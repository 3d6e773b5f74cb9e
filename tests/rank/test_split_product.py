"""Products of float16 in parts are nearly as exact as those of float32."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.array_types import Doubles
from gossamer.rank import split_product
from gossamer.rank.split_product import Block, layout, left_side, product, right_side, rounding

pytestmark = pytest.mark.extra
torch = pytest.importorskip("torch", reason="PyTorch is optional")


@pytest.mark.parametrize("width", [1, 7, 100, 384])
@pytest.mark.parametrize("sizes", [(1.0, 1.0), (1e6, 1e-6), (1e-6, 1e6)])
def test_products_are_within_their_bound(width: int, sizes: tuple[float, float]) -> None:
    """Two blocks of different size on both sides, and rows of the left side that are larger than others."""
    rng = np.random.default_rng(width)
    left = [rng.normal(size=(40, width)) * (10.0 ** (rng.integers(-3, 4, (40, 1)))) / size for size in sizes]
    right = [rng.normal(size=(300, width)) * size for size in sizes]
    exact = np.concatenate(left, 1) @ np.concatenate(right, 1).T
    size = sum(
        np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1).max() for a, b in zip(left, right, strict=True)
    )
    assert (np.abs(_product(left, right) - exact) / size).max() < rounding(2 * width, 16)


def _product(left: list[Doubles], right: list[Doubles]) -> Doubles:
    at = layout([Block(part.shape[1], float(np.abs(part).max())) for part in right])
    rows, factor = left_side(at, [torch.from_numpy(part).float() for part in left])
    columns = right_side(at, [torch.from_numpy(part).float() for part in right])
    assert rows.dtype == columns.dtype == torch.float16
    assert rows.shape[1] == columns.shape[1] == 3 * at.width
    found: Doubles = (product(rows, columns).double() * factor).numpy()
    return found


def test_zeros_are_zeros() -> None:
    found = _product([np.zeros((3, 5))], [np.zeros((4, 5))])
    assert not found.any()


def test_without_the_low_parts_products_are_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    left, right = [rng.normal(size=(20, 64))], [rng.normal(size=(50, 64))]
    exact = left[0] @ right[0].T
    whole = np.abs(_product(left, right) - exact).max()
    monkeypatch.setattr(split_product, "_split", lambda rows: (rows.half(), torch.zeros_like(rows.half())))
    assert np.abs(_product(left, right) - exact).max() > 100 * whole


@pytest.mark.parametrize(("capability", "at_once"), [((7, 0), 4), ((8, 6), 8), ((9, 0), 16), ((12, 0), 4)])
def test_cards_of_which_little_is_known_are_taken_to_be_the_least_exact(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], at_once: int
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert split_product.added_at_once("cuda:1") == at_once
    assert split_product.added_at_once("cpu") == 4
    assert rounding(300, 4) > rounding(300, at_once + 1)


@pytest.mark.parametrize(("at_once", "bits"), [(4, 0), (8, 1), (16, 2)])
def test_sums_whose_low_bits_are_cut_off_are_within_the_bound(at_once: int, bits: int) -> None:
    """A model of tensor cores (see the module), with numbers of one sign, of which nothing cancels."""
    rng = np.random.default_rng(0)
    left, right = np.abs(rng.normal(size=(1, 200))), np.abs(rng.normal(size=(20, 200)))
    at = layout([Block(200, float(right.max()))])
    rows, factor = left_side(at, [torch.from_numpy(left).float()])
    terms = (rows.double() * right_side(at, [torch.from_numpy(right).float()]).double()).numpy()
    sums = np.zeros(len(right))
    for start in range(0, terms.shape[1], at_once):
        step = np.concatenate([sums[:, None], terms[:, start : start + at_once]], 1)
        unit = 2.0 ** (np.floor(np.log2(step.max(axis=1, keepdims=True))) - 23)
        total = (np.trunc(step / unit * 2**bits) * unit / 2**bits).sum(axis=1)
        unit = 2.0 ** (np.floor(np.log2(total)) - 23)
        sums = np.trunc(total / unit) * unit
    exact = (right @ left.T)[:, 0]
    off = np.abs(sums * float(factor) - exact) / exact
    assert off.max() < rounding(200, at_once)
    assert off.max() > rounding(200, at_once) / 30, "the bound is of the size of the errors"
