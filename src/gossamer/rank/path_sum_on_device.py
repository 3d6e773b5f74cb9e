"""`PathSum` with its first step on a device, by PyTorch: all leaves are scored there in float32, and the best of each
query come back to be scored again in double precision. So documents and scores are those of `PathSum`.

On the device nodes are in the order of levels. Then the sums over paths are made level by level, and leaves beside each
other in memory have the same ancestors. Vectors have one more coordinate, −‖v‖²/2a, and queries 1 there, so that one
product gives the log densities of leaves, but for a constant of the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Ints
from gossamer.rank.exact import Scoring
from gossamer.rank.path_sum import Candidates, PathSum, inner_nodes
from gossamer.tree.arrays import Limit, Meta, TreeArrays

_SCORES: Final = {"cpu": 1 << 22, "cuda": 1 << 30}
"""Scores that are in memory at a time: queries × leaves."""

_SUMS: Final = {"cpu": 1 << 24, "cuda": 1 << 30}
"""The same of sums over ancestors: queries × internal nodes."""

_QUERIES: Final = 1024
"""Queries of a block, at most."""

_GROUP: Final = 32
"""Scores of which the largest is found first."""

_ALIGNED: Final = 8

Tensor: TypeAlias = Any


class _Leaves(NamedTuple):
    """What is kept on the device of the leaves, in the order of their parents."""

    changes: int  # Meta.CHANGES of the tree
    owners: Ints  # nodes; on the host
    vectors: Tensor  # with −‖v‖²/2a as one more coordinate, and zeros
    parents: Tensor  # places in `_Inner`


class _Inner(NamedTuple):
    """What is kept of the internal nodes, level by level."""

    changes: int
    weights: Tensor  # [−1/2σ², μ/σ²]
    constants: Tensor
    above: Tensor  # the place of each node's parent
    levels: list[int]  # where each begins, and the end
    lengths: Tensor  # nodes from the root to the parent of each leaf, and the leaf


class DevicePathSum(PathSum):
    """The exhaustive ranker of one tree, with what it reads on a device. All is copied there again after a change."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device, self._kind = device, device.partition(":")[0]
        self._leaves: _Leaves | None = None
        self._inner: _Inner | None = None
        self._copying = Lock()

    def fresh(self) -> DevicePathSum:
        """A ranker of another tree on the same device."""
        return DevicePathSum(self._device)

    def _at_once(self, t: TreeArrays, scoring: Scoring) -> int:
        inner = 0 if scoring.by_leaf_alone else int(t.meta[Meta.NODES] - t.meta[Meta.LEAVES])
        return max(64, min(_QUERIES, _SUMS[self._kind] // (inner + 1)))

    def _screen(self, t: TreeArrays, Q: Floats, wanted: int, scoring: Scoring) -> Candidates:
        import torch

        if int(t.meta[Meta.NODES]) == int(t.meta[Meta.LEAVES]):  # a single leaf
            return super()._screen(t, Q, wanted, scoring)
        with torch.inference_mode(), self._copying, full_precision():
            leaves = self._leaves_of(t)
            x, own = torch.from_numpy(Q).to(self._device), self._own(t, Q)
            base = None if scoring.by_leaf_alone else self._sums_on_device(t, x)
            if base is not None:
                base = base.mul_(1.0 if scoring.mean else scoring.context).add_(own[:, None])
            scaled = torch.zeros((len(Q), leaves.vectors.shape[1]), device=x.device)
            scaled[:, : Q.shape[1]] = x / float(t.limits[Limit.ACUITY])
            scaled[:, Q.shape[1]] = 1.0
            scores, places = self._best(leaves, scaled, base, wanted, scoring)
            if base is None:
                scores += own[:, None]
            return Candidates(scores.cpu().numpy(), leaves.owners[places.cpu().numpy()])

    def _best(
        self, leaves: _Leaves, scaled: Tensor, base: Tensor | None, wanted: int, scoring: Scoring
    ) -> tuple[Tensor, Tensor]:
        """The best scores of each query, and the places of their leaves."""
        import torch

        best: tuple[Tensor, Tensor] | None = None
        step = max(_GROUP, _SCORES[self._kind] // len(scaled))
        for start in range(0, len(leaves.vectors), step):
            vectors, parents = leaves.vectors[start : start + step], leaves.parents[start : start + step]
            if base is None:
                block = scaled @ vectors.T
            else:
                block = base.index_select(1, parents).addmm_(scaled, vectors.T)
            if scoring.mean:
                assert self._inner is not None
                block /= self._inner.lengths[start : start + step]
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

    def _own(self, t: TreeArrays, Q: Floats) -> Tensor:
        """The part of a leaf's log density that is the same for all leaves: −½(D·log 2πa + ‖x‖²/a)."""
        import torch

        acuity = float(t.limits[Limit.ACUITY])
        squares: Doubles = np.einsum("qd,qd->q", Q, Q, dtype=np.float64)
        own = -0.5 * (Q.shape[1] * np.log(2 * np.pi * acuity) + squares / acuity)
        return torch.from_numpy(own.astype(np.float32)).to(self._device)

    def _sums_on_device(self, t: TreeArrays, x: Tensor) -> Tensor:
        """Σ log p from the root down to each internal node: (queries, internal nodes)."""
        import torch

        inner = self._inner_of(t)
        sums = torch.addmm(inner.constants, torch.cat([x * x, x], 1), inner.weights.T)
        for first, last in zip(inner.levels[1:-1], inner.levels[2:], strict=True):
            sums[:, first:last] += sums.index_select(1, inner.above[first:last])
        return sums

    # -- what is kept there ------------------------------------------------------------------------

    def _order(self, t: TreeArrays) -> tuple[Ints, Ints]:
        """The place of each internal row, level by level, and the leaf rows in the order of their parents."""
        inner = inner_nodes(t)
        place = np.full(int(t.meta[Meta.INNER_ROWS]), NONE, np.int32)
        place[t.row[inner]] = np.arange(len(inner), dtype=np.int32)
        rows = np.flatnonzero(np.isfinite(t.norm[: t.meta[Meta.LEAF_ROWS]]))
        parents = place[t.row[t.parent[t.owner[rows]]]]
        order = np.argsort(parents, kind="stable")
        return place, rows[order].astype(np.int32)

    def _leaves_of(self, t: TreeArrays) -> _Leaves:
        import torch

        changes = int(t.meta[Meta.CHANGES])
        if self._leaves is None or self._leaves.changes != changes:
            self._leaves = self._inner = None
            place, rows = self._order(t)
            dim = t.vectors.shape[1]
            chosen = torch.from_numpy(rows).to(self._device)
            vectors = torch.zeros((len(rows), -(-(dim + 1) // _ALIGNED) * _ALIGNED), device=self._device)
            vectors[:, :dim] = torch.from_numpy(t.vectors[: t.meta[Meta.LEAF_ROWS]]).to(self._device)[chosen]
            half = t.norm[rows] * (-0.5 / float(t.limits[Limit.ACUITY]))
            vectors[:, dim] = torch.from_numpy(half.astype(np.float32)).to(self._device)
            owners = t.owner[rows]
            parents = torch.from_numpy(place[t.row[t.parent[owners]]]).to(self._device)
            self._leaves = _Leaves(changes, owners, vectors, parents)
        return self._leaves

    def _inner_of(self, t: TreeArrays) -> _Inner:
        import torch

        if self._inner is None or self._inner.changes != int(t.meta[Meta.CHANGES]):
            leaves = self._leaves_of(t)
            nodes, weights, constants, lengths = self._above
            rows = t.row[nodes]
            depth = lengths[rows]  # rises along `nodes`
            place = np.full(len(lengths), NONE, np.int32)
            place[rows] = np.arange(len(rows), dtype=np.int32)
            above = place[t.row[t.parent[nodes[1:]]]]
            to = self._device
            chosen = torch.from_numpy(rows.astype(np.int64)).to(to)
            self._inner = _Inner(
                changes=leaves.changes,
                weights=torch.from_numpy(weights).to(to)[chosen],
                constants=torch.from_numpy(constants[rows].astype(np.float32)).to(to),
                above=torch.from_numpy(np.concatenate([np.zeros(1, np.int32), above])).to(to),
                levels=[*np.flatnonzero(np.diff(depth, prepend=0)).tolist(), len(rows)],
                lengths=(torch.from_numpy(depth).to(to)[leaves.parents] + 1).float(),
            )
        return self._inner


@contextmanager
def full_precision() -> Iterator[None]:
    """Products of float32 in float32, whatever the program has set: TF32 and bfloat16 would hide answers."""
    import torch

    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:  # it was set by attributes that PyTorch has since 2.9, which are read and written alone
        products = torch.backends.cuda.matmul
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
