"""Guided search: near-exact answers from a small part of the tree, with a dial for how near.

The tree is the entrance, links between leaves are the last step, and what they find is scored exactly
(see `walk` for the three steps, `linking` for how links come about). What guides a search is kept beside
the tree and follows it: after one insertion only what that insertion touched is brought up to date, and what many
call for is done once, when it is next needed (`settle`).
"""

from __future__ import annotations

import math
from threading import Lock
from typing import Final

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Floats, Ints, Longs
from gossamer.checks import LARGEST
from gossamer.errors import CorruptError
from gossamer.files.bundle import CURE, Bundle
from gossamer.graph.calibration import Dial, Effort
from gossamer.graph.codes import Codes, beyond, choose_grid, empty_codes, encode_all, encode_new, with_rows
from gossamer.graph.entry_points import choose_frontier
from gossamer.graph.linking import choose_among, choose_links, put_links
from gossamer.graph.links import COMING, MOST, OWN, Links, drop_leaves, empty_links, links_for, measured_links, new_desk
from gossamer.graph.walk import Guides, Scratch, new_scratch, search_rows
from gossamer.neighbours.all_pairs import nearest_of_all
from gossamer.rank.exact import rank_listed
from gossamer.rank.path_sum import PathSum
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.rebuild import Neighbours
from gossamer.tree.selection import EVERYTHING, Flags, Ranked, nothing
from gossamer.tree.structure import leaf_rows

WIDTH: Final = 128
"""How many of the nearest are looked at for what to link to."""

_FIRST: Final = 80_000
"""Leaves that are linked by looking at all of them, when there are no links yet. For so many that takes as long as a
search for each, where the processor has an instruction for it (see `distances`); with AVX2 alone two and a half times
as long."""

_SCATTERED: Final = 4
"""One in so many of those is linked among its like before all are: such links are longer, and lead from one cluster to
the next. (Where there are clusters, walks without them need half as much slack again.)"""

_BATCH: Final = 0.02
"""Of the leaves linked already, how many are linked at once."""

_STALE: Final = 0.75
"""When so many documents, by the size then, came or went since the grid of the codes was chosen, it is chosen anew when
it is needed; and up to `_FIRST` leaves are all linked anew, of more those that came."""

_THINNED: Final = 0.25
"""When so many of them went, all links are made anew: removal tears holes that repair does not fully close."""

_OUTSIDE: Final = 0.01
"""When so many leaves reach beyond the grid of the codes, another is chosen. Fewer are left as they are: one outlier
would make codes too coarse for all others."""

_WAITING: Final = 20_000
"""So many new documents are linked without waiting for a search, which would wait long for them."""

_SEVERAL: Final = 500
"""Up to so many documents that go, what is above each is coded anew; above more, whatever changed is looked for."""

_CONTEXTS: Final = 8
"""Contexts for which it is remembered what searches find; to measure one takes as long as some hundred searches of
everything."""

_SMALL: Final = 1024
"""Up to so many leaves everything is scored: that is as fast."""

_FINEST: Final = 1e-40
"""No step of a grid and no unit of length is smaller."""


class Guide:
    """What guides the searches of one tree. Searches may run side by side; changes need the tree alone."""

    def __init__(self, *, links: bool = True) -> None:
        self.linked = links
        self._g: Guides | None = None
        self._sized_for = 0  # leaves when codes were put on their grid
        self._stirred = 0  # documents that came or went since
        self._removed = 0  # those of them that went
        self._unlinked = False  # whether some wait to be linked, because too many came or went at once
        self._frontier_at = 0  # Meta.CHANGES when the frontier was chosen
        self._settled_at = -1  # Meta.CHANGES when `settle` was last done
        self._dial = Dial(linked=links)
        self._in_context: dict[float, Dial] = {}  # for scores that are not those of distances; measured when asked for
        self._measuring = Lock()
        self._scratch: list[Scratch] = []
        self._neighbours: Neighbours | None = None  # of all leaves, if someone has compared them before

    def ready(self, t: TreeArrays) -> bool:
        """Whether a guided search is worth it; a small tree, or one not settled, is searched exhaustively."""
        return self._g is not None and not self._unlinked and int(t.meta[Meta.LEAVES]) > _SMALL

    def wanted(self, leaves: int) -> int:
        """How many neighbours of each of so many leaves that are all new it would like to know."""
        return WIDTH if self.linked and _SMALL < leaves <= _FIRST else 0

    # -- following the tree ------------------------------------------------------------------------

    def learn(self, t: TreeArrays, documents: Longs, neighbours: Neighbours | None = None) -> None:
        """Take in documents that were just inserted, all the way."""
        self.take_in(t, documents, neighbours)
        self.settle(t)

    def take_in(self, t: TreeArrays, documents: Longs, neighbours: Neighbours | None = None) -> None:
        """Take in documents that were just inserted; what many of them call for is left to `settle`.

        So a run of insertions is linked once: links and what is measured of them are of no use before a search. If the
        `neighbours` of all leaves are known, `WIDTH` of each, they are not sought again.
        """
        self._neighbours = neighbours
        if int(t.meta[Meta.LEAVES]) <= _SMALL:
            self._drop()  # whatever was known of it is cheaper to make again
            return
        self._stirred += len(documents)
        if self._unlinked or self._g is None or self._stirred >= _STALE * self._sized_for:
            self._unlinked = True
            if self._stirred >= _WAITING:
                self.settle(t)
            return
        g = self._grown(t)
        encode_new(t, g.codes, t.leaf[documents])
        if self.linked:
            rows = np.unique(t.row[t.leaf[documents]])
            self._link(t, g, rows[g.links.degree[rows] == 0])
        self._g = self._with_frontier(t, g)

    def is_settled(self, t: TreeArrays) -> bool:
        """Whether everything there is was linked and measured, or is so little that nobody needs it."""
        leaves = int(t.meta[Meta.LEAVES])
        return leaves <= _SMALL or (self._fits(t) and self._dial.holds(leaves))

    def is_known_to_be_settled(self, t: TreeArrays) -> bool:
        """Whether `settle` has seen this very tree: what every search asks."""
        return int(t.meta[Meta.CHANGES]) == self._settled_at and not self._unlinked

    def _fits(self, t: TreeArrays) -> bool:
        """Whether all leaves are linked, and nearly all on the grid of the codes."""
        g = self._g  # once: a search asks without a lock, and a change may be going on
        return g is not None and self.ready(t) and int(g.codes.outside[0]) <= _OUTSIDE * int(t.meta[Meta.LEAVES])

    def settle(self, t: TreeArrays) -> None:
        """Do what was left: link, where too many came or went to do so at once, and measure what a search finds."""
        if not self.is_settled(t):
            self._settle(t)
        self._settled_at = int(t.meta[Meta.CHANGES])

    def _settle(self, t: TreeArrays) -> None:
        if not self._fits(t):
            on_grid = self._g is not None and self.ready(t)
            try:
                self._make_anew(t)
            except BaseException:
                self._drop()  # half of it is worth nothing: the next one begins again
                raise
            self._unlinked = False
            if on_grid:
                self._reset_dials()  # what was measured was measured on another grid
        if not self.is_settled(t):
            self._measure(t, self._dial, 0.0)

    def _drop(self) -> None:
        """Forget everything."""
        self._g = self._neighbours = None
        self._reset_dials()

    def _reset_dials(self) -> None:
        """Have what a search finds measured again before it is used."""
        self._dial.reset()
        self._in_context = {}
        self._settled_at = -1

    def forget(self, t: TreeArrays, rows: Ints, beside: Ints) -> None:
        """Take out leaves: `rows` are those of documents that were just removed; some may still hold others. `beside`
        each there was another leaf (see `one_beside_each`)."""
        if self._g is None:
            return
        self._removed += len(rows)
        self._stirred += len(rows)
        gone = np.unique(rows[~np.isfinite(t.norm[rows])]).astype(np.int32)
        if int(t.meta[Meta.LEAVES]) <= _SMALL:
            self._drop()
        elif self._unlinked or self._removed >= _THINNED * self._sized_for:
            self._unlinked = True
            self._reset_dials()
            if self.linked:  # those of them that were linked: others mostly have no code yet
                known = gone[gone < len(self._g.codes.leaf_norm)]
                self._g.codes.leaf_norm[known] = np.inf
                drop_leaves(self._g.links, self._g.codes, known, new_desk())
        else:
            self._take_out(t, self._g, gone, beside)

    def _take_out(self, t: TreeArrays, g: Guides, gone: Ints, beside: Ints) -> None:
        g.codes.leaf_norm[gone] = np.inf
        if self.linked:
            drop_leaves(g.links, g.codes, gone, new_desk())
        if len(beside) <= _SEVERAL and (t.size[beside] > 0).all():
            encode_new(t, g.codes, beside)  # what is above those that went is above those beside them
        else:
            encode_all(t, g.codes)
        # A concept whose door is gone is not entered until the frontier is chosen anew.
        g = g._replace(frontier=g.frontier.without(gone))
        self._g = self._with_frontier(t, g, at_once=not g.frontier.is_open)

    def follow(self, t: TreeArrays) -> None:
        """Bring everything up to date after the tree was rearranged; leaves keep their rows, so links hold."""
        self._in_context = {}
        if self._g is not None and not self._unlinked:
            try:
                g = self._grown(t)
                encode_all(t, g.codes)
                self._g = g._replace(frontier=choose_frontier(t, g.codes))
            except BaseException:
                self._drop()  # what is left is of another tree, and would lead nowhere
                raise

    def _make_anew(self, t: TreeArrays) -> None:
        """Choose the grid and code everything anew, and link what is not; all of it, where too much went, or where that
        is soon done: what was linked as it came knew nothing of what came later."""
        leaves = int(t.meta[Meta.LEAVES])
        old = None if leaves <= _FIRST or self._removed >= _THINNED * self._sized_for else self._g
        codes = with_rows(empty_codes(*choose_grid(t)), len(t.vectors), len(t.mean))
        encode_all(t, codes)
        links = empty_links(codes) if old is None else old.links
        if old is not None and self.linked and old.codes.outside[0] > 0:
            links.degree[beyond(t, old.codes)] = 0  # what they chose, they chose by codes that said little
        self._g = Guides(codes, links_for(links, len(t.vectors)) if self.linked else links, choose_frontier(t, codes))
        self._sized_for, self._stirred, self._removed = leaves, 0, 0 if old is None else self._removed
        self._frontier_at = int(t.meta[Meta.CHANGES])
        if self.linked:
            alive = np.flatnonzero(np.isfinite(codes.leaf_norm[: t.meta[Meta.LEAF_ROWS]])).astype(np.int32)
            # In any order but that of arrival, in which what belongs together often comes together; doors before all
            # others, because that is where walks start.
            new = np.random.default_rng(0).permutation(alive[self._g.links.degree[alive] == 0])
            self._link(t, self._g, new[np.argsort(~np.isin(new, self._g.frontier.doors), kind="stable")])

    def _link(self, t: TreeArrays, g: Guides, waiting: Ints) -> None:
        """Link leaf rows, none of which is linked yet."""
        linked = int(t.meta[Meta.LEAVES]) - len(waiting)
        if linked == 0:
            first, waiting = waiting[:_FIRST], waiting[_FIRST:]
            in_order = leaf_rows(t)
            scattered = in_order[np.isin(in_order, first[: len(first) // _SCATTERED])]
            self._link_to(g, scattered, *_nearest_among(g.codes, scattered))
            rows = in_order[np.isin(in_order, first)]
            known = self._known_neighbours(t, rows)
            self._link_to(g, rows, *(_nearest_among(g.codes, rows) if known is None else known))
            linked = len(first)
        while len(waiting):
            size = max(64, int(_BATCH * linked))
            batch, waiting = waiting[:size], waiting[size:]
            self._link_at_once(t, g, batch)
            linked += len(batch)

    def _known_neighbours(self, t: TreeArrays, rows: Ints) -> tuple[Ints, Floats] | None:
        """The rows nearest to each of all leaf rows, and how far they are, if that was found out before."""
        known, self._neighbours = self._neighbours, None
        if known is None or known.changes != t.meta[Meta.CHANGES] or len(known.leaves) != len(rows):
            return None
        theirs = t.row[known.leaves]
        places = np.empty(len(t.vectors), np.int32)
        places[theirs] = np.arange(len(theirs))
        order = places[rows]
        return _rows_at(theirs, known.places[order]), known.apart[order]

    def _link_to(self, g: Guides, rows: Ints, found: Ints, near: Floats) -> None:
        """Link leaf rows to some of those found near them, whatever else they are linked to."""
        chosen = np.empty((len(rows), OWN), np.int32)

        def choose(first: int, last: int) -> None:
            choose_among(g.codes, found[first:last], near[first:last], chosen[first:last])

        in_threads(choose, len(rows))
        put_links(g.links, g.codes, rows, chosen, new_desk())

    def _link_at_once(self, t: TreeArrays, g: Guides, batch: Ints) -> None:
        chosen = np.empty((len(batch), OWN), np.int32)
        g.links.degree[batch] = COMING

        def choose(first: int, last: int) -> None:
            scratch = self._take_scratch(t, WIDTH)
            choose_links(t, g, batch[first:last], WIDTH, EVERYTHING, scratch, chosen[first:last])
            self._scratch.append(scratch)

        in_threads(choose, len(batch))
        put_links(g.links, g.codes, batch, chosen, new_desk())

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
        # By distance alone these are only the most; where context mixes their order up, so many are scored.
        rescored = min(width, 2 * k + (100 if context == 0.0 else 10))

        def work(first: int, last: int) -> None:
            scratch = self._take_scratch(t, width)
            some = ranked.rows(first, last)
            search_rows(
                t, g, Q[first:last], k, effort.slack, effort.most, width, rescored, context, leaf_flags, flags,
                scratch, some.documents, some.scores, some.visited,
            )  # fmt: skip
            self._scratch.append(scratch)

        in_threads(work, len(Q))
        return ranked

    def effort(self, t: TreeArrays, k: int, budget: int | None, recall: float, context: float = 0.0) -> Effort | None:
        """What to spend for a budget of nodes, or else for a share of the true answers; None for everything."""
        if context == 0.0 or budget is not None or not self.ready(t):
            return self._dial.effort(k, budget, recall)
        with self._measuring:  # one search measures, others that need it wait
            dial = self._in_context.pop(context, None)
            if dial is None or not dial.holds(int(t.meta[Meta.LEAVES])):
                dial = Dial(linked=self.linked)
                self._measure(t, dial, context)
            if len(self._in_context) >= _CONTEXTS:
                del self._in_context[next(iter(self._in_context))]  # the one that was not asked for longest
            self._in_context[context] = dial
            return dial.effort(k, budget, recall)

    def _measure(self, t: TreeArrays, dial: Dial, context: float) -> None:
        dial.measure(
            t,
            lambda Q, k, effort: self.search(t, Q, k, effort, context).documents,
            lambda Q, k: PathSum().search(t, Q, k, "sum", context).documents,
            context,
        )

    def _take_scratch(self, t: TreeArrays, width: int) -> Scratch:
        """Scratch that is large enough, from those not in use; popping is atomic, so threads never share one."""
        while self._scratch:
            try:
                scratch = self._scratch.pop()
            except IndexError:
                break
            fits = len(scratch.marks) >= len(t.vectors) and len(scratch.known) >= len(t.mean)
            if fits and len(scratch.near) >= width:
                return scratch
        assert self._g is not None
        # Every internal node is on the heap at most once.
        return new_scratch(len(t.vectors), len(t.mean), max(512, width), self._g.codes.leaf.shape[1])

    # -- disk --------------------------------------------------------------------------------------

    def to_bundle(self, t: TreeArrays) -> Bundle:
        """What cannot be derived from the tree: the grid, the links, and what was measured."""
        measured, curve = self._dial.to_parts()
        params = {
            "links": self.linked,
            "sized_for": self._sized_for,
            "stirred": self._stirred,
            "removed": self._removed,
            "unlinked": self._unlinked,
            **measured,
        }
        if self._g is None:
            return Bundle(params, {})
        rows = int(t.meta[Meta.LEAF_ROWS])
        arrays: dict[str, npt.NDArray[np.generic]] = {
            "centre": self._g.codes.centre,
            "step": self._g.codes.step,
            **curve,
        }
        if self.linked:  # copies: what is written after the lock is given back must not change, and a search may link
            links = self._g.links
            arrays |= {name: getattr(links, name)[:rows].copy() for name in ("to", "length", "degree")}
            arrays["unit"] = links.unit
        return Bundle(params, arrays)

    @classmethod
    def from_bundle(cls, bundle: Bundle, t: TreeArrays) -> Guide:
        """The guide that `to_bundle` described, for the tree it was of."""
        guide = cls(links=bundle.flag("links"))
        guide._sized_for, guide._stirred = bundle.whole("sized_for"), bundle.whole("stirred")
        guide._removed = bundle.whole("removed")
        guide._unlinked = bundle.flag("unlinked", default=False)  # guides saved before this was kept were all linked
        guide._dial.restore(bundle)
        if "centre" in bundle.arrays and int(t.meta[Meta.LEAVES]) > _SMALL:
            centre = bundle.numbers("centre", np.float32, t.vectors.shape[1], least=-LARGEST, most=LARGEST)
            step = bundle.numbers("step", np.float64, 1, least=_FINEST, most=LARGEST)
            codes = with_rows(empty_codes(centre, step), len(t.vectors), len(t.mean))
            encode_all(t, codes)
            links = empty_links(codes)
            if guide.linked:
                rows = None if guide._unlinked else int(t.meta[Meta.LEAF_ROWS])
                links = links_for(_links_of(bundle, codes, rows), len(t.vectors))
                np.maximum(links.degree, 0, out=links.degree)  # none is coming any more
            guide._g = Guides(codes, links, choose_frontier(t, codes))
            guide._frontier_at = int(t.meta[Meta.CHANGES])
        return guide


def _nearest_among(codes: Codes, rows: Ints) -> tuple[Ints, Floats]:
    """For each of some leaf rows, the nearest of the others, and how far they are."""
    places, near = nearest_of_all(codes.leaf[rows, : len(codes.centre)], WIDTH)
    near *= max(np.float32(codes.step[0] * codes.step[0]), np.finfo(np.float32).tiny)  # infinity times 0 is NaN
    return _rows_at(rows, places), near


def _rows_at(rows: Ints, places: Ints) -> Ints:
    """The rows at places, and NONE where there is none."""
    found = rows[places]
    found[places == NONE] = NONE
    return found


def _links_of(bundle: Bundle, codes: Codes, rows: int | None) -> Links:
    """Links as saved, of so many leaf rows (None: some may be missing); those of old, without lengths, are measured."""
    degree = bundle.numbers("degree", np.int32, rows, least=COMING, most=MOST)
    to = bundle.array("to", np.int32, len(degree), MOST)
    in_use = to[np.arange(MOST) < degree[:, None]]
    if len(degree) > len(codes.leaf) or not ((in_use >= 0) & (in_use < len(degree))).all():
        raise CorruptError(f"a saved link leads to no leaf: {CURE}")
    if "length" not in bundle.arrays:
        return measured_links(to, degree, codes)
    length = bundle.array("length", np.uint8, len(degree), MOST)
    return Links(to, length, degree, bundle.numbers("unit", np.float64, 1, least=_FINEST, most=1e30))


def search_guided(
    guide: Guide, t: TreeArrays, Q: Floats, k: int, effort: Effort, context: float, documents: Longs | None,
    *, budgeted: bool,
) -> Ranked:  # fmt: skip
    """A guided search, among `documents` (ascending) if given, that returns k answers if there are so many. Where it is
    `budgeted`, what it may spend can run out before.

    A walk may end early where links lead nowhere; such queries are answered exhaustively.
    """
    if documents is not None:
        leaves = int(t.meta[Meta.LEAVES])
        far = max(64, 5 * k // 4) * leaves // len(documents)  # so many are met until k of those allowed are
        effort = effort._replace(width=min(leaves, effort.width + far))
    ranked = guide.search(t, Q, k, effort, context, documents)
    if budgeted:
        return ranked
    most = min(k, int(t.meta[Meta.DOCUMENTS]) if documents is None else len(documents))
    last = ranked.documents[:, most - 1]
    if last.min(initial=0) == NONE:
        short = np.flatnonzero(last == NONE)
        for mine, theirs in zip(ranked, _exhaustive(t, Q[short], k, context, documents), strict=True):
            mine[short] = theirs
    return ranked


def are_few(t: TreeArrays, documents: Longs) -> bool:
    """Whether so few documents are allowed that to score them all is the cheaper way.

    Scoring m documents costs in proportion to m, and a walk that may keep only one in N/m of what it meets must go N/m
    times as far. The two cross near m = √(512·N).
    """
    return len(documents) <= max(1000, math.isqrt(512 * int(t.meta[Meta.LEAVES])))


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
