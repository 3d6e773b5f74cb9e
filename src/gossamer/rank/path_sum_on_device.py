"""`PathSum` with its first step on a device, by PyTorch: all leaves are scored there, and the best of each query come
back to be scored again in double precision. So documents and scores are those of `PathSum`.

The sums over paths are taken of coefficients, once for a tree. As log p(x|c) is affine in [x², x], so is the sum of it
over the ancestors of a leaf: what a query needs is one product for the parents of leaves and one for the leaves, and
each leaf adds the sum of its parent. Both are products of float16 in parts (`split_product`). On the device leaves are
in the order of their parents, so those beside each other in memory need the same sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from threading import Lock
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Ints
from gossamer.rank.exact import Scoring
from gossamer.rank.path_sum import Candidates, PathSum
from gossamer.rank.split_product import Block, Layout, added_at_once, layout, left_side, product, right_side, rounding
from gossamer.tree.arrays import Limit, Meta, TreeArrays

_SCORES: Final = {"cpu": 1 << 22, "cuda": 1 << 30}
"""Scores that are in memory at a time: queries × leaves."""

_SUMS: Final = {"cpu": 1 << 24, "cuda": 1 << 30}
"""The same of sums over ancestors: queries × internal nodes."""

_QUERIES: Final = 1024
"""Queries of a block, at most."""

_GROUP: Final = 32
"""Scores of which the largest is found first."""

_ADDED: Final = 10.0
"""Roundings of numbers as large as the constants: of themselves, and where they and products are added."""

_UNIT: Final = 2.0**-24
"""What float32 rounds by, as a share."""

_COPIED: Final = 1 << 18
"""Rows that are copied to the device at a time."""

_RANGE: Final = (1e-12, 1e12)
"""Distances from the origin of which no square or product leaves float32's range."""

Tensor: TypeAlias = Any


class _Leaves(NamedTuple):
    """What is kept on the device of the leaves, in the order of their parents."""

    changes: int  # Meta.CHANGES of the tree
    owners: Ints  # nodes; on the host
    layout: Layout  # of [v, −‖v‖²/2]
    right: Tensor
    parents: Tensor  # places in `_Parents`


class _Parents(NamedTuple):
    """What is kept of the parents of leaves: sums over the path down to them."""

    layout: Layout  # of [Σ −1/2σ², Σ μ/σ²]
    right: Tensor
    constants: Tensor
    lengths: Tensor  # nodes from the root to each leaf


class DevicePathSum(PathSum):
    """The exhaustive ranker of one tree, with what it reads on a device. All is copied there again after a change."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device, self._kind = device, device.partition(":")[0]
        self._leaves: _Leaves | None = None
        self._parents: _Parents | None = None
        self._copying = Lock()

    def fresh(self) -> DevicePathSum:
        """A ranker of another tree on the same device."""
        return DevicePathSum(self._device)

    def _at_once(self, t: TreeArrays, scoring: Scoring) -> int:
        inner = 0 if scoring.by_leaf_alone else int(t.meta[Meta.NODES] - t.meta[Meta.LEAVES])
        return max(64, min(_QUERIES, _SUMS[self._kind] // (inner + 1)))

    def _fits_float32(self, t: TreeArrays, Q: Floats, scoring: Scoring) -> bool:
        low, high = _RANGE
        fits = low < self.extent(t).longest < high and float(np.abs(Q).max(initial=0.0)) < high
        return fits and super()._fits_float32(t, Q, scoring)

    def _rounding_error(self, t: TreeArrays, Q: Floats, scoring: Scoring) -> Doubles:
        """How far a score of the device may be off, less a constant of the query.

        The terms of a density's product add up to (‖x‖ + ‖μ‖)²/2a, by their absolute values; constants are added last.
        What is off grows with the nodes of a path, so their mean is off as one node is.
        """
        acuity, extent = float(t.limits[Limit.ACUITY]), self.extent(t)
        lengths = np.sqrt(np.einsum("qd,qd->q", Q, Q, dtype=np.float64))
        size = 0.5 * (lengths + extent.longest) ** 2 / acuity
        at_once = added_at_once(self._device)
        if scoring.by_leaf_alone:
            return np.asarray(rounding(Q.shape[1] + 1, at_once) * size)
        above = (rounding(2 * Q.shape[1], at_once) + extent.depth * _UNIT) * size
        constants = abs(0.5 * Q.shape[1] * np.log(2 * np.pi * acuity)) + 0.5 * extent.largest_h + size
        of_node = above + _ADDED * _UNIT * constants
        return np.asarray(of_node if scoring.mean else of_node * (1 + extent.depth * abs(scoring.context)))

    def _screen(self, t: TreeArrays, Q: Floats, wanted: int, scoring: Scoring) -> Candidates:
        import torch

        if int(t.meta[Meta.NODES]) == int(t.meta[Meta.LEAVES]):  # a single leaf
            return super()._screen(t, Q, wanted, scoring)
        with torch.inference_mode(), self._copying, full_precision():
            leaves = self._leaves_of(t)
            x = torch.from_numpy(Q).to(self._device)
            left, factor = left_side(leaves.layout, [x, torch.ones((len(Q), 1), device=x.device)])
            factor /= float(t.limits[Limit.ACUITY])
            base = None if scoring.by_leaf_alone else self._base(t, x, scoring) / factor
            scores, places = self._best(leaves, left, base, wanted, scoring)
            return Candidates((scores * factor).cpu().numpy(), leaves.owners[places.cpu().numpy()])

    def _best(
        self, leaves: _Leaves, left: Tensor, base: Tensor | None, wanted: int, scoring: Scoring
    ) -> tuple[Tensor, Tensor]:
        """The best scores of each query, and the places of their leaves."""
        import torch

        best: tuple[Tensor, Tensor] | None = None
        step = max(_GROUP, _SCORES[self._kind] // len(left))
        for start in range(0, len(leaves.right), step):
            block = product(left, leaves.right[start : start + step])
            if base is not None:
                block += base.index_select(1, leaves.parents[start : start + step])
            if scoring.mean:
                assert self._parents is not None
                block /= self._parents.lengths[start : start + step]
            scores, places = largest(block, min(wanted, block.shape[1]))
            del block
            places = places + start
            if best is not None:
                scores, places = torch.cat([best[0], scores], 1), torch.cat([best[1], places], 1)
                scores, chosen = scores.topk(min(wanted, scores.shape[1]))
                places = places.gather(1, chosen)
            best = scores, places
        assert best is not None
        return best

    def _base(self, t: TreeArrays, x: Tensor, scoring: Scoring) -> Tensor:
        """What a leaf's score has besides its product, by query and parent.

        It is α·Σ log p over the ancestors, and the part of the leaf's own log density that is the same for all leaves:
        −½(D·log 2πa + ‖x‖²/a).
        """
        import torch

        above, acuity = self._parents_of(t), float(t.limits[Limit.ACUITY])
        left, factor = left_side(above.layout, [x * x, x])
        sums = product(left, above.right).mul_(factor).add_(above.constants)
        own = -0.5 * (x.shape[1] * np.log(2 * np.pi * acuity) + x.double().square().sum(1, keepdim=True) / acuity)
        return sums.mul_(1.0 if scoring.mean else scoring.context).add_(own.to(torch.float32))

    # -- what is kept there ------------------------------------------------------------------------

    def _leaves_of(self, t: TreeArrays) -> _Leaves:
        import torch

        changes = int(t.meta[Meta.CHANGES])
        if self._leaves is None or self._leaves.changes != changes:
            self._leaves = self._parents = None
            rows, parents = _in_order_of_parents(t)
            longest, dim = self.extent(t).longest, t.vectors.shape[1]
            at = layout([Block(dim, longest), Block(1, longest**2 / 2)])
            right = torch.empty((len(rows), 3 * at.width), dtype=torch.float16, device=self._device)
            for start in range(0, len(rows), _COPIED):
                some = rows[start : start + _COPIED]
                half = (-0.5 * t.norm[some][:, None]).astype(np.float32)
                blocks = [torch.from_numpy(part).to(self._device) for part in (t.vectors[some], half)]
                right[start : start + _COPIED] = right_side(at, blocks)
            self._leaves = _Leaves(changes, t.owner[rows], at, right, torch.from_numpy(parents).to(self._device))
        return self._leaves

    def _parents_of(self, t: TreeArrays) -> _Parents:
        import torch

        leaves = self._leaves_of(t)
        if self._parents is None:
            nodes, weights, constants, lengths = self._above
            rows, dim, to = t.row[nodes].astype(np.int64), t.vectors.shape[1], self._device
            depth = lengths[rows]  # rises along `nodes`
            place = np.full(len(lengths), NONE, np.int64)
            place[rows] = np.arange(len(rows))
            above = torch.from_numpy(place[t.row[t.parent[nodes[1:]]]]).to(to)
            sums, added = torch.from_numpy(weights[rows]).to(to), torch.from_numpy(constants[rows]).to(to)
            levels = [*np.flatnonzero(np.diff(depth, prepend=0)).tolist(), len(rows)]
            for first, last in pairwise(levels[1:]):
                chosen = above[first - 1 : last - 1]
                sums[first:last] += sums[chosen]
                added[first:last] += added[chosen]
            parents = t.parent[leaves.owners]
            kept = torch.from_numpy(place[t.row[parents[np.flatnonzero(np.diff(parents, prepend=NONE))]]]).to(to)
            sums, added = sums[kept], added[kept]
            at = layout([Block(dim, float(part.abs().max())) for part in sums.split(dim, 1)])
            right = torch.empty((len(sums), 3 * at.width), dtype=torch.float16, device=to)
            for start in range(0, len(sums), _COPIED):
                right[start : start + _COPIED] = right_side(at, sums[start : start + _COPIED].split(dim, 1))
            self._parents = _Parents(
                layout=at, right=right, constants=added.float(),
                lengths=torch.from_numpy(lengths[t.row[parents]] + np.float32(1)).to(to),
            )  # fmt: skip
        return self._parents


def _in_order_of_parents(t: TreeArrays) -> tuple[Ints, Ints]:
    """The rows of leaves, those of one parent beside each other, and the number of each one's parent in this order."""
    rows = np.flatnonzero(np.isfinite(t.norm[: t.meta[Meta.LEAF_ROWS]])).astype(np.int32)
    parents = t.parent[t.owner[rows]]
    order = np.argsort(parents, kind="stable")
    number = np.cumsum(np.diff(parents[order], prepend=NONE) != 0, dtype=np.int32) - np.int32(1)
    return rows[order], number


@contextmanager
def full_precision() -> Iterator[None]:
    """Multiply and add up in float32, whatever the program has set: TF32, and sums in float16, would hide answers."""
    import torch

    products = torch.backends.cuda.matmul
    in_half, products.allow_fp16_accumulation = products.allow_fp16_accumulation, False
    try:
        try:
            before = torch.get_float32_matmul_precision()
        except RuntimeError:  # it was set by attributes that PyTorch has since 2.9, which are read and written alone
            before, products.fp32_precision = products.fp32_precision, "ieee"
            try:
                yield
            finally:
                products.fp32_precision = before
            return
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)
    finally:
        products.allow_fp16_accumulation = in_half


def largest(scores: Tensor, wanted: int) -> tuple[Tensor, Tensor]:
    """The `wanted` largest of each row and their places, in no order among equals: torch.topk, by groups.

    The `wanted` largest lie in the `wanted` groups with the largest maxima. Of a million columns, topk of the maxima
    and then of the members of these groups reads a tenth of what topk of all reads.
    """
    import torch

    whole = scores.shape[1] // _GROUP * _GROUP
    if whole <= 4 * wanted * _GROUP:
        found = scores.topk(wanted)
        return found.values, found.indices
    grouped = scores[:, :whole].unflatten(1, (-1, _GROUP))
    groups = grouped.amax(2).topk(wanted).indices
    members = (groups[:, :, None] * _GROUP + torch.arange(_GROUP, device=scores.device)).flatten(1)
    rest = torch.arange(whole, scores.shape[1], device=scores.device).expand(len(scores), -1)
    members = torch.cat([members, rest], 1)
    found = scores.gather(1, members).topk(wanted)
    return found.values, members.gather(1, found.indices)
