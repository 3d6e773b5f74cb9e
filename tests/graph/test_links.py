"""Links against their oracle, on codes of small integers, of which many are equally far apart."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.array_types import NONE
from gossamer.graph.codes import Codes, code_width
from gossamer.graph.linking import add_links, thin_rows
from gossamer.graph.links import Links, copied, drop_leaves, new_link_workspace, no_links
from kernel_wrappers import thin
from oracles import graph as oracle

ROWS, DIM = 150, 3


def integer_codes(seed: int, reach: int = 6) -> Codes:
    """Leaves at integer points, with a step of 1, so that all distances are exact."""
    points = np.random.default_rng(seed).integers(-reach, reach + 1, (ROWS, DIM))
    leaf = np.zeros((ROWS, code_width(DIM)), np.int8)
    leaf[:, :DIM] = points
    floats = np.zeros(0, np.float32)
    return Codes(
        centre=np.zeros(DIM, np.float32), step=1.0, leaf=leaf, leaf_norm=(points**2).sum(axis=1).astype(np.float32),
        leaf_error=np.zeros(ROWS, np.float32),
        inner=leaf[:0], inner_norm=floats, variance=floats, quartic=floats, deviations=floats,
        seen=np.zeros(0, np.int64),
    )  # fmt: skip


def distance(codes: Codes) -> oracle.Distance:
    points = codes.leaf.astype(int)
    return lambda a, b: float(((points[a] - points[b]) ** 2).sum())


def as_lists(links: Links) -> list[list[tuple[int, int]]]:
    return [
        list(zip(links.length[row, :degree].tolist(), links.to[row, :degree].tolist(), strict=True))
        for row, degree in enumerate(links.degree.tolist())
    ]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("most", [1, 4, 16])
def test_thinning_keeps_relative_neighbours(seed: int, most: int) -> None:
    codes = integer_codes(seed)
    for row in range(20):
        others = np.random.default_rng(row).permutation(np.delete(np.arange(ROWS), row))[:60]
        near = np.array([distance(codes)(row, other) for other in others.tolist()], np.float32)
        order = np.argsort(near, kind="stable")
        rows, near = others[order].astype(np.int32), near[order]
        out = np.full(most, NONE, np.int32)
        kept = thin(codes, rows, near, most, out)
        assert out[:kept].tolist() == oracle.thin(row, rows.tolist(), most, distance(codes))
        written = np.empty((1, most), np.int32)
        thin_rows(codes, rows[None], near[None], written)
        assert np.array_equal(written[0], out)


def test_thinning_skips_what_is_not_there() -> None:
    codes, out = integer_codes(0), np.empty((1, 4), np.int32)
    thin_rows(codes, np.array([[3, NONE, 5]], np.int32), np.array([[1.0, np.inf, np.inf]], np.float32), out)
    assert out.tolist() == [[3, NONE, NONE, NONE]]


@pytest.mark.parametrize("seed", range(6))
def test_adding_and_dropping_are_those_of_the_oracle(seed: int) -> None:
    codes, rng, work = integer_codes(seed, reach=3 + seed), np.random.default_rng(seed), new_link_workspace()
    links = copied(no_links(codes), ROWS)
    theirs, fullest = oracle.Links(ROWS, links.unit, distance(codes)), 0
    for _ in range(12):
        new = rng.permutation(ROWS)[:40].astype(np.int32)
        new = new[np.isfinite(codes.leaf_norm[new])]
        chosen = np.full((len(new), 16), NONE, np.int32)
        for i, row in enumerate(new.tolist()):
            others = [other for other in rng.permutation(ROWS)[:14].tolist() if other != row]
            alive = [other for other in others if other not in theirs.gone]
            chosen[i, : len(alive)] = alive
        add_links(links, codes, new, chosen, work)
        for row, others in zip(new.tolist(), chosen.tolist(), strict=True):
            for other in others:
                if other != NONE:
                    theirs.add(row, other)
        for row, others in zip(new.tolist(), chosen.tolist(), strict=True):
            for other in others:
                if other != NONE:
                    theirs.add(other, row)
        assert as_lists(links) == theirs.of
        fullest = max(fullest, *map(len, theirs.of))
        gone = rng.permutation(np.flatnonzero(np.isfinite(codes.leaf_norm)))[:5].astype(np.int32)
        codes.leaf_norm[gone] = np.inf
        drop_leaves(links, codes, gone, work)
        theirs.drop(gone.tolist())
        assert as_lists(links) == theirs.of
    assert fullest == oracle.MAX_LINKS, "some had no room, and were thinned"
