"""Guided search: near-exact answers from a small part of the tree, with a dial for how near.

The tree is the entrance, links between leaves are the last step, and what they find is scored exactly
(see `walk` for the three steps, `linking` for how links come about). What guides a search is kept beside
the tree and follows it: after one insertion only what that insertion touched is brought up to date, and after
many all of it is made anew, once, when it is next needed (`settle`).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.bundle import Bundle
from gossamer.rank.frontier import choose_frontier
from gossamer.rank.linking import choose_again, choose_beside, link_one_by_one, replace_links
from gossamer.rank.listed import rank_listed
from gossamer.rank.path_sum import PathSum
from gossamer.rank.selection import EVERYTHING, Flags, Ranked, nothing
from gossamer.rank.threads import in_threads
from gossamer.rank.walk import Guides, Scratch, new_scratch, search_rows
from gossamer.tree.arrays import NONE, Doubles, Floats, Ints, Longs, Meta, TreeArrays
from gossamer.tree.codes import choose_grid, empty_codes, encode_all, encode_new, with_rows
from gossamer.tree.links import OWN, Links, drop_leaves, empty_links, links_for, new_desk

_ROUNDS: Final = (48, 96, 128)
"""How many leaves a walk keeps in each round of linking many at once: each round starts from better links. Narrower
first rounds (32, 64) save a seventh of the time and cost a point of recall on MS MARCO; a fourth round gains half a
point for half as much time again."""

_WIDTH: Final = 96
"""How many it keeps when a few new leaves are linked."""

_STALE: Final = 0.75
"""When so many documents, by the size then, came or went since all links were made, they are made anew."""

_MENDED: Final = 0.3
"""When so many came or went, links are made anew at the end of a run, once, to stay as good: a leaf that comes alone
finds its links by one walk, one that comes with many by three."""

_THINNED: Final = 0.25
"""When so many of them went, already: removal tears holes that repair does not fully close."""

_WAITING: Final = 20_000
"""So many new documents are linked without waiting for a search, which would wait long for them."""

_SMALL: Final = 1024
"""Up to so many leaves everything is scored: that is as fast."""

_SAMPLE: Final = 200
_DISTURBANCE: Final = 1.0
"""Calibration asks for documents with noise as large as the documents' own spread. Real queries were never harder:
questions against passages (MS MARCO) are as hard, questions against questions (QQP) are easier."""

_MARGIN: Final = 0.5
"""The share of the misses allowed that is kept in reserve: asked for 0.95, calibration must show 0.975."""

_LADDER: Final = (10, 12, 14, 17, 20, 24, 29, 35, 42, 50, 64, 80, 100, 128, 180, 256, 400)
_BUDGETS: Final = (250, 500, 1000, 2000, 4000, 8000, 16_000)

_ANY: Final = 1 << 30


class Effort(NamedTuple):
    """What a search may spend: how many leaves it keeps at once, and how many nodes it may score."""

    width: int
    most: int


class Guide:
    """What guides the searches of one tree. Searches may run side by side; changes need the tree alone."""

    def __init__(self, *, links: bool = True) -> None:
        self.linked = links
        self._g: Guides | None = None
        self._sized_for = 0  # leaves when codes were put on their grid and links last made anew
        self._stirred = 0  # documents that came or went since
        self._removed = 0  # those of them that went
        self._unlinked = False  # whether too many came or went for links to be mended: all are to be made anew
        self._frontier_at = 0  # Meta.CHANGES when the frontier was chosen
        self._calibrated_for = 0
        self._recalls: Doubles = np.zeros(0)  # by step of the ladder
        self._scratch: list[Scratch] = []

    def ready(self, t: TreeArrays) -> bool:
        """Whether a guided search is worth it; a small tree, or one not settled, is searched exhaustively."""
        return self._g is not None and not self._unlinked and int(t.meta[Meta.LEAVES]) > _SMALL

    # -- following the tree ------------------------------------------------------------------------

    def learn(self, t: TreeArrays, documents: Longs) -> None:
        """Take in documents that were just inserted, all the way."""
        self.take_in(t, documents)
        self.settle(t)

    def take_in(self, t: TreeArrays, documents: Longs) -> None:
        """Take in documents that were just inserted; what many of them call for is left to `settle`.

        So a run of insertions is linked once: links and what is measured of them are of no use before a search.
        """
        if int(t.meta[Meta.LEAVES]) <= _SMALL:
            self._g = None  # whatever was known of it is cheaper to make again
            return
        self._stirred += len(documents)
        if self._unlinked or self._g is None or self._stirred >= _STALE * self._sized_for:
            self._unlinked = True
            if self._stirred >= _WAITING:
                self.settle(t)
            return
        g = self._grown(t)
        encode_new(t, g.codes, t.leaf[documents])
        self._g = g = self._with_frontier(t, g)
        if self.linked:
            rows = np.unique(t.row[t.leaf[documents]])
            self._link(t, g, rows[g.links.degree[rows] == 0])

    def is_settled(self, t: TreeArrays) -> bool:
        """Whether everything there is was linked and measured, or is so little that nobody needs it."""
        leaves = int(t.meta[Meta.LEAVES])
        return leaves <= _SMALL or (self.ready(t) and leaves < 1.5 * self._calibrated_for)

    def settle(self, t: TreeArrays, *, thoroughly: bool = False) -> None:
        """Do what was left: link, where too many came or went to mend the links, and measure what a search finds.

        `thoroughly`: nobody waits for an answer, so links that were mended often are made anew as well.
        """
        if thoroughly and self.ready(t) and self._stirred >= _MENDED * self._sized_for:
            self._unlinked = True
        if self.is_settled(t):
            return
        try:
            if not self.ready(t):
                self._make_anew(t)
                self._unlinked = False
            if not self.is_settled(t):
                self._calibrate(t)
        except BaseException:
            self._g, self._calibrated_for = None, 0  # half of it is worth nothing: the next one begins again
            raise

    def forget(self, t: TreeArrays, rows: Ints) -> None:
        """Take out leaves: `rows` are those of documents that were just removed; some may still hold others."""
        if self._g is None:
            return
        self._removed += len(rows)
        self._stirred += len(rows)
        gone = np.unique(rows[~np.isfinite(t.norm[rows])]).astype(np.int32)
        if int(t.meta[Meta.LEAVES]) <= _SMALL:
            self._g = None
        elif self._unlinked or self._removed >= _THINNED * self._sized_for:
            self._unlinked, self._calibrated_for = True, 0
            self._g.links.degree[gone[gone < len(self._g.links.degree)]] = 0
        else:
            self._take_out(t, self._g, gone)

    def _take_out(self, t: TreeArrays, g: Guides, gone: Ints) -> None:
        g.codes.leaf_norm[gone] = np.inf
        if self.linked:
            drop_leaves(g.links, g.codes, gone, new_desk())
        encode_all(t, g.codes)
        # A concept whose door is gone is not entered until the frontier is chosen anew.
        g.frontier.norms[np.isin(g.frontier.doors, gone)] = np.inf
        closed = not np.isfinite(g.frontier.norms).any()
        self._g = self._with_frontier(t, g, at_once=closed)

    def follow(self, t: TreeArrays) -> None:
        """Bring everything up to date after the tree was rearranged; leaves keep their rows, so links hold."""
        if self._g is not None and not self._unlinked:
            g = self._grown(t)
            encode_all(t, g.codes)
            self._g = g._replace(frontier=choose_frontier(t, g.codes))

    def _make_anew(self, t: TreeArrays) -> None:
        """Choose the grid, code everything, and make all links anew: done when most of the documents are new."""
        rows = int(t.meta[Meta.LEAF_ROWS])
        codes = with_rows(empty_codes(*choose_grid(t)), len(t.vectors), len(t.mean))
        encode_all(t, codes)
        known = None if self._g is None else self._g.links
        links = links_for(empty_links(), len(t.vectors)) if self.linked else empty_links()
        self._g = Guides(codes, links, choose_frontier(t, codes))
        self._sized_for, self._stirred, self._removed = int(t.meta[Meta.LEAVES]), 0, 0
        self._frontier_at = int(t.meta[Meta.CHANGES])
        if not self.linked:
            return
        g, chosen = self._g, np.empty((rows, OWN), np.int32)
        in_threads(lambda first, last: choose_beside(t, codes, first, last, chosen[first:last]), rows)
        rounds: tuple[int, ...] = _ROUNDS
        if known is not None:  # what was linked before begins with the links it had
            had = np.flatnonzero((known.degree[:rows] > 0) & np.isfinite(codes.leaf_norm[: len(known.degree[:rows])]))
            chosen[had] = np.where(np.arange(OWN) < known.degree[had, None], known.to[had, :OWN], NONE)
            rounds = _ROUNDS[-1:] if 3 * len(had) > rows else _ROUNDS
        replace_links(chosen, links)
        for width in rounds:

            def choose(first: int, last: int, width: int = width) -> None:
                scratch = self._take_scratch(t, width)
                choose_again(t, g, first, last, width, EVERYTHING, scratch, chosen[first:last])
                self._scratch.append(scratch)

            in_threads(choose, rows)
            replace_links(chosen, links)

    def _link(self, t: TreeArrays, g: Guides, new: Ints) -> None:
        scratch = self._take_scratch(t, _WIDTH)
        link_one_by_one(t, g, new, _WIDTH, EVERYTHING, scratch, new_desk())
        self._scratch.append(scratch)

    def _grown(self, t: TreeArrays) -> Guides:
        """With as many rows as the tree has room for, so that this is rarely needed."""
        assert self._g is not None
        codes = with_rows(self._g.codes, len(t.vectors), len(t.mean))
        links = links_for(self._g.links, len(t.vectors)) if self.linked else self._g.links
        return self._g._replace(codes=codes, links=links)

    def _with_frontier(self, t: TreeArrays, g: Guides, *, at_once: bool = False) -> Guides:
        """A frontier chosen anew if a quarter of the documents came or went since the last."""
        if not at_once and t.meta[Meta.CHANGES] - self._frontier_at < t.meta[Meta.LEAVES] // 4:
            return g
        self._frontier_at = int(t.meta[Meta.CHANGES])
        return g._replace(frontier=choose_frontier(t, g.codes))

    # -- searching ---------------------------------------------------------------------------------

    def search(
        self, t: TreeArrays, Q: Floats, k: int, effort: Effort, context: float = 0.0, allowed: Longs | None = None
    ) -> Ranked:
        """The k best documents for each row of Q, among `allowed` if given; scores are the exhaustive ones."""
        assert self._g is not None
        g = self._g
        ranked = nothing(len(Q), k)
        leaf_flags, flags = _flags(t, allowed)
        width = max(k, min(effort.width, int(t.meta[Meta.LEAVES])))

        def work(first: int, last: int) -> None:
            scratch = self._take_scratch(t, width)
            some = ranked.rows(first, last)
            search_rows(
                t, g, Q[first:last], width, effort.most, min(width, 2 * k + 10), context, leaf_flags, flags, scratch,
                some.documents, some.scores, some.visited,
            )  # fmt: skip
            self._scratch.append(scratch)

        in_threads(work, len(Q))
        return ranked

    def effort(self, k: int, budget: int | None, recall: float) -> Effort | None:
        """What to spend for a budget of nodes, or else for a share of the true answers.

        None where calibration never saw that share: such data (tight clusters far apart, two dimensions) is better
        searched exhaustively than badly.
        """
        if budget is not None:
            return Effort(max(k, min(1024, budget // 4)) if self.linked else 2 * k, budget)
        wanted = recall + _MARGIN * (1.0 - recall)
        good = np.flatnonzero(self._recalls >= wanted)
        if not len(good):
            return None
        step = int(good[0])
        if self.linked:
            # The ladder was climbed with ten answers; more of them need room beside the ones a walk turns over.
            return Effort(_LADDER[step] + max(0, k - 10) * 5 // 4, _ANY)
        return Effort(2 * k, _BUDGETS[step] + 5 * max(0, k - 10))

    def _calibrate(self, t: TreeArrays) -> None:
        """Measure the share of true answers found at each step of the ladder, with disturbed documents as queries."""
        self._calibrated_for = int(t.meta[Meta.LEAVES])
        Q = _disturbed(t)
        exact = PathSum().search(t, Q, 10).documents
        recalls = []
        for step in range(len(_LADDER) if self.linked else len(_BUDGETS)):
            effort = Effort(_LADDER[step], _ANY) if self.linked else Effort(20, _BUDGETS[step])
            found = self.search(t, Q, 10, effort).documents
            recalls.append(float((found[:, :, None] == exact[:, None, :]).any(axis=2).mean()))
            if recalls[-1] > 0.9995:
                break
        # More effort never finds less; a dip is the sample's noise.
        self._recalls = np.maximum.accumulate(np.array(recalls))

    def _take_scratch(self, t: TreeArrays, width: int) -> Scratch:
        """Scratch that is large enough, from those not in use; popping is atomic, so threads never share one."""
        while self._scratch:
            try:
                scratch = self._scratch.pop()
            except IndexError:
                break
            fits = len(scratch.stamps) >= len(t.vectors) and len(scratch.known) >= len(t.mean)
            if fits and len(scratch.near) >= width and scratch.stamp[0] < 2**31 - 2**24:
                return scratch
        assert self._g is not None
        # Every internal node is on the heap at most once.
        return new_scratch(len(t.vectors), len(t.mean), max(512, width), self._g.codes.leaf.shape[1])

    # -- disk --------------------------------------------------------------------------------------

    def to_bundle(self, t: TreeArrays) -> Bundle:
        """What cannot be derived from the tree: the grid, the links, and what was measured."""
        params = {
            "links": self.linked,
            "sized_for": self._sized_for,
            "stirred": self._stirred,
            "removed": self._removed,
            "unlinked": self._unlinked,
            "calibrated_for": self._calibrated_for,
        }
        if self._g is None:
            return Bundle(params, {})
        rows = int(t.meta[Meta.LEAF_ROWS])
        arrays: dict[str, npt.NDArray[np.generic]] = {
            "centre": self._g.codes.centre,
            "step": self._g.codes.step,
            "recalls": self._recalls,
        }
        if self.linked:
            arrays |= {"to": self._g.links.to[:rows], "degree": self._g.links.degree[:rows]}
        return Bundle(params, arrays)

    @classmethod
    def from_bundle(cls, bundle: Bundle, t: TreeArrays) -> Guide:
        """The guide that `to_bundle` described, for the tree it was of."""
        guide = cls(links=bundle.params["links"])
        guide._sized_for, guide._stirred = bundle.params["sized_for"], bundle.params["stirred"]
        guide._removed = bundle.params["removed"]
        guide._unlinked = bundle.params.get("unlinked", False)  # which all were that did not say
        guide._calibrated_for = bundle.params["calibrated_for"]
        if "centre" in bundle.arrays:
            guide._recalls = bundle.arrays["recalls"]
            codes = with_rows(empty_codes(bundle.arrays["centre"], bundle.arrays["step"]), len(t.vectors), len(t.mean))
            encode_all(t, codes)
            links = empty_links()
            if guide.linked:
                links = links_for(Links(bundle.arrays["to"], bundle.arrays["degree"]), len(t.vectors))
            guide._g = Guides(codes, links, choose_frontier(t, codes))
            guide._frontier_at = int(t.meta[Meta.CHANGES])
        return guide


def search_guided(
    guide: Guide, t: TreeArrays, Q: Floats, k: int, effort: Effort | None, context: float, documents: Longs | None
) -> Ranked:
    """A guided search, among `documents` (ascending) if given, that always returns k answers if there are so many.

    A walk may end early where links lead nowhere; such queries are answered exhaustively. For a restricted search
    the cheaper of two ways is taken: scoring m documents costs in proportion to m, and a walk that may keep only one
    in N/m of what it meets must go N/m times as far. The two cross near m = √(512·N).
    """
    leaves = int(t.meta[Meta.LEAVES])
    few = documents is not None and len(documents) <= max(1000, math.isqrt(512 * leaves))
    if effort is None or few or not guide.ready(t):
        return _exhaustive(t, Q, k, context, documents)
    if documents is not None:
        effort = effort._replace(width=min(leaves, int(effort.width * leaves / len(documents)) + k))
    ranked = guide.search(t, Q, k, effort, context, documents)
    most = min(k, int(t.meta[Meta.DOCUMENTS]) if documents is None else len(documents))
    short = np.flatnonzero(ranked.documents[:, most - 1] == NONE)
    if len(short) and effort.most == _ANY:  # a budget may run out before k are found
        for mine, theirs in zip(ranked, _exhaustive(t, Q[short], k, context, documents), strict=True):
            mine[short] = theirs
    return ranked


def _exhaustive(t: TreeArrays, Q: Floats, k: int, context: float, documents: Longs | None) -> Ranked:
    if documents is None:
        return PathSum().search(t, Q, k, "sum", context)
    return rank_listed(t, Q, documents, k, mean=False, context=context)


def _flags(t: TreeArrays, documents: Longs | None) -> tuple[Flags, Flags]:
    """Allowed documents as flags, by leaf row and by document; no flags where everything is allowed."""
    if documents is None:
        return EVERYTHING, EVERYTHING
    flags = np.zeros(int(t.meta[Meta.NEXT_DOCUMENT]), np.uint8)
    flags[documents] = 1
    leaf_flags = np.zeros(len(t.vectors), np.uint8)
    leaf_flags[t.row[t.leaf[documents]]] = 1
    return leaf_flags, flags


def _disturbed(t: TreeArrays) -> Floats:
    """Documents spread evenly over the rows, with noise added, at their old distance from the centre."""
    rows = np.flatnonzero(np.isfinite(t.norm[: t.meta[Meta.LEAF_ROWS]]))
    X = t.vectors[rows[:: max(1, len(rows) // _SAMPLE)]][:_SAMPLE].astype(np.float64)
    root = t.row[t.meta[Meta.ROOT]]
    centre, spread = t.mean[root], math.sqrt(float(t.m2[root].mean()) / int(t.size[t.meta[Meta.ROOT]]))
    away = X - centre
    noisy = away + np.random.default_rng(0).normal(size=X.shape) * spread * _DISTURBANCE
    lengths = np.linalg.norm(away, axis=1) / np.maximum(np.linalg.norm(noisy, axis=1), 1e-30)
    return (centre + noisy * lengths[:, None]).astype(np.float32)
