"""Tree → `SearchGraph`: everything that a guided search reads besides the tree, as one immutable, versioned value.

`build` makes a graph from a tree. `with_added` and `with_removed` return the graph for a tree that changed,
and `None` where there are too few leaves to need one. A search holds the graph it started with. Which graph is
due for what is decided by the numbers in it and in the tree: `needs_building`, `is_current`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Ints, Longs
from gossamer.checks import LARGEST
from gossamer.errors import CorruptError
from gossamer.files.bundle import CURE, Bundle
from gossamer.graph import codes as coding
from gossamer.graph import links as linkage
from gossamer.graph.calibration import WIDEST, WIDTH, Calibration, CalibrationCache, ladder, rising
from gossamer.graph.codes import Codes, encode_added, encode_changed, encode_tree, grid_of, rows_outside
from gossamer.graph.entry_points import EntryPoints, choose_entry_points
from gossamer.graph.linking import CONSIDERED, link_leaves
from gossamer.graph.links import MAX_LINKS, PENDING, Links, drop_leaves, new_link_workspace, no_links
from gossamer.graph.walk import GraphArrays
from gossamer.graph.workspace import WorkspacePool
from gossamer.neighbours.all_pairs import ON_PROCESSOR, Comparison
from gossamer.neighbours.quantise import Grid
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.rebuild import Neighbours

SMALL: Final = 1024
"""Leaves up to which there is no graph: to score all of them is as fast."""

_STALE: Final = 0.75
"""Share of documents that came or went, of the leaves a graph was built for, above which it is built again."""

_RELINKED: Final = 20_000
"""Leaves up to which all links are made again then by a renewal, which takes seconds; in larger graphs links that were
made as documents came stay. (QQP, from 30,000 to 60,000 one by one: recall 0.997, from 0.998.)"""

_THINNED: Final = 0.25
"""Share of documents that were removed above which all links are made again: removal tears holes that repair
does not fully close."""

_OUTSIDE: Final = 0.01
"""A graph is built again, on another grid, where more than this share of the leaves is outside the grid of the codes.
One outlier alone would make codes too coarse for all others."""

_ENTRY_CHANGES: Final = 4
"""Entry points are chosen again after as many changes as a fourth of the leaves."""

_SEVERAL: Final = 500
"""Removed documents up to which the nodes above each are encoded; for more, all nodes are looked through."""

_FINEST: Final = 1e-40
"""Lower bound of a saved step or unit of length."""


@dataclass(frozen=True, slots=True)
class SearchGraph:
    """Codes, links, entry points and calibration for one version of a tree.

    Numbers, entry points and calibration never change. The arrays of codes and links are shared: `with_added` and its
    like write the rows that a change touches into them, since a copy of the arrays for each added document would take
    longer than adding it (at 76,000 leaves some 40 MB). So they must run while no search does, and the graph they were
    given is not to be used afterwards; `VectorIndex` holds its write lock meanwhile, and no search sees half of a
    change. `build` writes into nothing that it is given, and needs no lock if what it is given does not change.
    """

    arrays: GraphArrays
    version: int
    """Meta.CHANGES of the tree that it describes."""
    built_leaves: int
    """Leaves of the tree that it was built for."""
    entry_version: int
    """Meta.CHANGES when the entry points were chosen."""
    changed: int = 0
    """Documents that came or went since it was built."""
    removed: int = 0
    """Documents that went since all links were made."""
    outside: int = 0
    """Leaves that came since it was built and are outside the grid of the codes."""
    complete: bool = True
    """Whether every leaf has a code and links. If not, too many came or went, and it serves only to build the next."""
    calibration: Calibration | None = None
    """For scores without context; None until it is measured."""
    contexts: CalibrationCache = field(default_factory=CalibrationCache, compare=False)
    """Calibrations for other contexts, measured when a search wants one."""
    workspaces: WorkspacePool = field(default_factory=WorkspacePool, compare=False)
    """Memory for the kernels of its searches."""

    @property
    def linked(self) -> bool:
        """Whether leaves have links; without, searches descend the tree."""
        return len(self.arrays.links.degree) > 0


GraphChange: TypeAlias = Callable[[SearchGraph | None], SearchGraph | None]
"""Makes the search graph after a change from the one before it."""


# -- what is due ---------------------------------------------------------------------------------------


def needs_building(graph: SearchGraph | None, t: TreeArrays) -> bool:
    """Whether there are enough leaves for a graph, and this is none that a search could use."""
    leaves = int(t.meta[Meta.LEAVES])
    if graph is None or leaves <= SMALL:
        return leaves > SMALL
    return not graph.complete or graph.version != t.meta[Meta.CHANGES] or graph.outside > _OUTSIDE * leaves


def is_current(graph: SearchGraph | None, t: TreeArrays) -> bool:
    """Whether a search finds everything ready: a graph that is calibrated, or too few leaves to need one."""
    leaves = int(t.meta[Meta.LEAVES])
    if graph is None:
        return leaves <= SMALL
    return not needs_building(graph, t) and graph.calibration is not None and graph.calibration.holds(leaves)


def is_outgrown(graph: SearchGraph | None) -> bool:
    """Whether so many leaves are outside the grid of the codes that searches miss some of them."""
    return graph is not None and graph.outside > _OUTSIDE * graph.built_leaves


def is_worn(graph: SearchGraph, t: TreeArrays) -> bool:
    """Whether so many documents came or went, or are outside the grid, that all links should be made again."""
    leaves = int(t.meta[Meta.LEAVES])
    return (
        not graph.complete
        or (graph.changed >= _STALE * graph.built_leaves and leaves <= _RELINKED)
        or graph.removed >= _THINNED * graph.built_leaves
        or graph.outside > _OUTSIDE * leaves
    )


def neighbours_wanted(leaves: int, *, linked: bool, comparison: Comparison = ON_PROCESSOR) -> int:
    """How many neighbours of each leaf `build` could use, if all leaves of a tree are compared anyway."""
    return CONSIDERED if linked and SMALL < leaves <= comparison.linked else 0


# -- making --------------------------------------------------------------------------------------------


def build(
    t: TreeArrays, *, linked: bool = True, previous: SearchGraph | None = None,
    neighbours: Neighbours | None = None, comparison: Comparison = ON_PROCESSOR,
) -> SearchGraph:  # fmt: skip
    """The graph of a tree; not calibrated, unless `previous` was incomplete and its calibration can be kept.

    Of more leaves than `comparison` links at once, those that are linked in `previous` keep their links, unless too
    many were removed. Fewer are all linked again, which takes little time: what was linked as it came did not know what
    came later.
    `neighbours` of all leaves, if known, are not sought again.
    """
    leaves = int(t.meta[Meta.LEAVES])
    thinned = previous is not None and previous.removed >= _THINNED * previous.built_leaves
    kept = None if leaves <= comparison.linked or thinned else previous
    codes, outside = encode_tree(t, grid_of(t), concepts=not linked)
    links = no_links(codes)
    if linked:
        links = linkage.copied(links if kept is None else kept.arrays.links, len(t.vectors))
        if kept is not None and kept.outside > 0:
            links.degree[rows_outside(t, kept.arrays.codes)] = 0  # they were chosen by codes that said little
    arrays = GraphArrays(codes, links, choose_entry_points(t, codes))
    version = int(t.meta[Meta.CHANGES])
    graph = SearchGraph(arrays, version, leaves, version, outside=outside, removed=0 if kept is None else kept.removed)
    if previous is not None and not previous.complete:  # otherwise it was calibrated on another grid
        graph = replace(graph, calibration=previous.calibration, contexts=previous.contexts)
    if linked:
        alive = np.flatnonzero(np.isfinite(codes.leaf_norm[: t.meta[Meta.LEAF_ROWS]])).astype(np.int32)
        # Not in order of arrival, in which what belongs together often comes together. Entry points go first, because
        # that is where walks start.
        rows = np.random.default_rng(0).permutation(alive[links.degree[alive] == 0])
        rows = rows[np.argsort(~np.isin(rows, arrays.entry_points.leaves), kind="stable")]
        link_leaves(t, arrays, rows, graph.workspaces, neighbours, comparison)
    return graph


def with_added(graph: SearchGraph | None, t: TreeArrays, documents: Longs) -> SearchGraph | None:
    """The graph with documents that were just inserted. Of too many at once it only notes that they came."""
    if graph is None or int(t.meta[Meta.LEAVES]) <= SMALL:
        return None
    graph = replace(graph, changed=graph.changed + len(documents), version=int(t.meta[Meta.CHANGES]))
    if not graph.complete or graph.changed >= _STALE * graph.built_leaves:
        return replace(graph, complete=False)
    arrays = _with_room(graph, t)
    outside = graph.outside + encode_added(t, arrays.codes, t.leaf[documents])
    if graph.linked:
        rows = np.unique(t.row[t.leaf[documents]])
        link_leaves(t, arrays, rows[arrays.links.degree[rows] == 0], graph.workspaces)
    return _with_entry_points(replace(graph, arrays=arrays, outside=outside), t)


def has_room(graph: SearchGraph, t: TreeArrays) -> bool:
    """Whether its arrays have a row for everything that the tree has room for."""
    codes, links, _ = graph.arrays
    rows = len(links.degree) if graph.linked else len(t.vectors)
    return min(len(codes.leaf), rows) >= len(t.vectors) and (graph.linked or len(codes.inner) >= len(t.mean))


def with_room(graph: SearchGraph, t: TreeArrays) -> SearchGraph:
    """`graph` with rows for everything that the tree has room for."""
    return graph if has_room(graph, t) else replace(graph, arrays=_with_room(graph, t))


def after_growth(graph: SearchGraph, t: TreeArrays, documents: int, outside: int) -> SearchGraph:
    """The graph after `growth.grow` has inserted documents into it and into the tree."""
    return replace(
        graph, changed=graph.changed + documents, outside=graph.outside + outside, version=int(t.meta[Meta.CHANGES])
    )


def with_removed(
    graph: SearchGraph | None, t: TreeArrays, rows: Ints, beside: Ints, *, keep: bool = False
) -> SearchGraph | None:
    """The graph without documents that were just removed. With `keep` it stays in use however many were.

    `rows` are those of their leaves, of which some may still hold other documents. `beside` has another leaf beside
    each (`tree.structure.sibling_leaves`).
    """
    if graph is None or int(t.meta[Meta.LEAVES]) <= SMALL:
        return None
    graph = replace(
        graph, removed=graph.removed + len(rows), changed=graph.changed + len(rows), version=int(t.meta[Meta.CHANGES])
    )
    codes, links, entry_points = graph.arrays
    gone = np.unique(rows[~np.isfinite(t.norm[rows])]).astype(np.int32)
    gone = gone[gone < len(codes.leaf_norm)]  # in an incomplete graph, others of them have no code
    codes.leaf_norm[gone] = np.inf
    if graph.linked:
        drop_leaves(links, codes, gone, new_link_workspace())
    if not graph.complete or (not keep and graph.removed >= _THINNED * graph.built_leaves):
        return replace(graph, complete=False, calibration=None, contexts=CalibrationCache())
    if len(beside) <= _SEVERAL and (t.size[beside] > 0).all():
        outside = encode_added(t, codes, beside)  # what is above the removed leaves is above those beside them
    else:
        outside = encode_changed(t, codes)
    arrays = GraphArrays(codes, links, entry_points.without(gone))
    return _with_entry_points(replace(graph, arrays=arrays, outside=graph.outside + outside), t)


def frozen(graph: SearchGraph) -> SearchGraph:
    """A copy that further changes of `graph` leave as it is, but for the codes of rows that are used again."""
    codes, links, entry_points = graph.arrays
    codes = codes._replace(leaf_norm=codes.leaf_norm.copy(), leaf_error=codes.leaf_error.copy())
    arrays = GraphArrays(codes, linkage.copied(links, len(links.degree)), entry_points)
    return replace(graph, arrays=arrays, contexts=CalibrationCache(), workspaces=WorkspacePool())


def reprojected(graph: SearchGraph, t: TreeArrays) -> SearchGraph | None:
    """The links of `graph` for the same leaves in another space; None where few are soon linked again."""
    if int(t.meta[Meta.LEAVES]) <= _RELINKED:
        return None
    codes, outside = encode_tree(t, grid_of(t), concepts=not graph.linked)
    rows = int(t.meta[Meta.LEAF_ROWS])
    links = linkage.measured(graph.arrays.links.to[:rows], graph.arrays.links.degree[:rows].copy(), codes)
    arrays = GraphArrays(codes, linkage.with_rows(links, len(t.vectors)), graph.arrays.entry_points)
    return replace(graph, arrays=arrays, outside=outside, calibration=None, contexts=CalibrationCache())


def over(graph: SearchGraph, t: TreeArrays, rows: int) -> SearchGraph:
    """The links of `graph` for another tree over the same `rows` of leaves; nothing is shared with `graph`."""
    old = graph.arrays.codes
    fresh = coding.with_room(
        old._replace(
            leaf=old.leaf[:rows], leaf_norm=old.leaf_norm[:rows], leaf_error=old.leaf_error[:rows],
            inner=old.inner[:0], inner_norm=old.inner_norm[:0],
            variance=old.variance[:0], quartic=old.quartic[:0], deviations=old.deviations[:0], seen=old.seen[:0],
        ),
        t,
        concepts=not graph.linked,
    )  # fmt: skip
    outside = encode_changed(t, fresh)
    links = linkage.copied(graph.arrays.links, len(t.vectors)) if graph.linked else graph.arrays.links
    version = int(t.meta[Meta.CHANGES])
    arrays = GraphArrays(fresh, links, choose_entry_points(t, fresh))
    return replace(graph, arrays=arrays, version=version, entry_version=version, outside=graph.outside + outside)


def _with_room(graph: SearchGraph, t: TreeArrays) -> GraphArrays:
    """Its arrays with as many rows as the tree has room for, so that copying is rare."""
    codes, links, entry_points = graph.arrays
    links = linkage.with_rows(links, len(t.vectors)) if graph.linked else links
    return GraphArrays(coding.with_room(codes, t, concepts=not graph.linked), links, entry_points)


def _with_entry_points(graph: SearchGraph, t: TreeArrays) -> SearchGraph:
    """`graph` with entry points chosen again, if these are too old or all of them were removed."""
    changes = int(t.meta[Meta.CHANGES])
    recent = changes - graph.entry_version < t.meta[Meta.LEAVES] // _ENTRY_CHANGES
    if recent and graph.arrays.entry_points.any_left:
        return graph
    arrays = graph.arrays._replace(entry_points=choose_entry_points(t, graph.arrays.codes))
    return replace(graph, arrays=arrays, entry_version=changes)


# -- disk ----------------------------------------------------------------------------------------------


def to_bundle(graph: SearchGraph | None, t: TreeArrays, *, linked: bool) -> Bundle:
    """What cannot be derived from the tree: the grid, the links, the calibration; and entry points, which could be.

    Names are those of the first version of the format: stirred are the documents changed since the grid was chosen for
    `sized_for` leaves, and unlinked is a graph that is not complete.
    """
    calibration = None if graph is None else graph.calibration
    params = {
        "links": linked,
        "sized_for": 0 if graph is None else graph.built_leaves,
        "stirred": 0 if graph is None else graph.changed,
        "removed": 0 if graph is None else graph.removed,
        "unlinked": graph is not None and not graph.complete,
        "calibrated_for": 0 if calibration is None else calibration.leaves,
        "calibrated_width": WIDTH if calibration is None else calibration.width,
        "entry_version": 0 if graph is None else graph.entry_version,
    }
    if graph is None:
        return Bundle(params, {})
    codes, links, entry_points = graph.arrays
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "centre": codes.centre,
        "step": np.array([codes.step]),
        "recalls": np.array([] if calibration is None else calibration.recalls, np.float64),
        "ladder": np.array([] if calibration is None else calibration.ladder, np.float64),
    }
    if graph.linked:  # copies: they are written after the lock is given back, and the arrays may change meanwhile
        rows = int(t.meta[Meta.LEAF_ROWS])
        arrays |= {name: getattr(links, name)[:rows].copy() for name in ("to", "length", "degree")}
        arrays["unit"] = np.array([links.unit])
    return Bundle(params, arrays | {f"entry_{name}": array for name, array in entry_points._asdict().items()})


def reads_concepts(bundle: Bundle) -> bool:
    """Whether `from_bundle` needs the moments of concepts: for their codes, or to choose entry points, which early
    files lack."""
    return "centre" in bundle.arrays and not (bundle.flag("links") and "entry_version" in bundle.params)


def from_bundle(bundle: Bundle, t: TreeArrays) -> SearchGraph | None:
    """The graph that `to_bundle` described, for the tree that it was saved with."""
    linked = bundle.flag("links")
    built_leaves, changed, removed = (bundle.whole(name) for name in ("sized_for", "stirred", "removed"))
    complete = not bundle.flag("unlinked", default=False)  # earlier files lack it: those were all complete
    calibration = _saved_calibration(bundle, linked=linked)
    if "centre" not in bundle.arrays or int(t.meta[Meta.LEAVES]) <= SMALL:
        return None
    centre = bundle.numbers("centre", np.float32, t.vectors.shape[1], least=-LARGEST, most=LARGEST)
    step = bundle.numbers("step", np.float64, 1, least=_FINEST, most=LARGEST)
    codes, outside = encode_tree(t, Grid(centre, float(step[0])), concepts=not linked)
    links = no_links(codes)
    if linked:
        links = linkage.with_rows(
            _saved_links(bundle, codes, int(t.meta[Meta.LEAF_ROWS]) if complete else None), len(t.vectors)
        )
        np.maximum(links.degree, 0, out=links.degree)  # none is pending any more
    version = entry_version = int(t.meta[Meta.CHANGES])
    if "entry_version" in bundle.params:
        entry_version = bundle.whole("entry_version", 0, version)
        entry_points = _saved_entry_points(bundle, codes, int(t.meta[Meta.LEAF_ROWS]))
    else:  # early files
        entry_points = choose_entry_points(t, codes)
    return SearchGraph(
        GraphArrays(codes, links, entry_points),
        version=version,
        built_leaves=built_leaves,
        entry_version=entry_version,
        changed=changed,
        removed=removed,
        outside=outside,
        complete=complete,
        calibration=calibration,
    )


def _saved_entry_points(bundle: Bundle, codes: Codes, rows: int) -> EntryPoints:
    """The entry points that were saved, among `rows` of leaves."""
    width = codes.leaf.shape[1]
    leaves = bundle.numbers("entry_leaves", np.int32, None, least=0, most=rows - 1)
    first = bundle.numbers("entry_first", np.int32, None, least=0, most=len(leaves))
    concepts = len(first) - 1
    if concepts < 1 or first[0] != 0 or first[-1] != len(leaves) or not (np.diff(first) > 0).all():
        raise CorruptError(f"the parts of saved entry points do not follow each other: {CURE}")
    found = EntryPoints(
        concepts=bundle.array("entry_concepts", np.int8, concepts, width),
        concept_norms=bundle.array("entry_concept_norms", np.float32, concepts),
        first=first,
        parts=bundle.array("entry_parts", np.int8, len(leaves), width),
        part_norms=bundle.array("entry_part_norms", np.float32, len(leaves)),
        leaves=leaves,
    )
    if np.isnan(found.concept_norms).any() or np.isnan(found.part_norms).any():
        raise CorruptError(f"the norm of a saved entry point is NaN: {CURE}")
    return found


def _saved_calibration(bundle: Bundle, *, linked: bool) -> Calibration | None:
    """The calibration that was saved; None if there is none, or one that was measured on another ladder."""
    leaves, width = bundle.whole("calibrated_for"), WIDTH
    if "calibrated_width" in bundle.params:  # earlier files lack it
        width = bundle.whole("calibrated_width", WIDTH, WIDEST)
    recalls, steps = np.zeros(0), np.zeros(0)
    if "recalls" in bundle.arrays:
        recalls = bundle.numbers("recalls", np.float64, None, least=0.0, most=1.0)
    if "ladder" in bundle.arrays:
        steps = bundle.array("ladder", np.float64, None)
    same = len(recalls) == len(steps) and tuple(steps.tolist()) == ladder(linked=linked)[: len(steps)]
    return Calibration(linked, rising(recalls.tolist()), leaves, width) if same and leaves else None


def _saved_links(bundle: Bundle, codes: Codes, rows: int | None) -> Links:
    """The links that were saved, of `rows` leaves (None: some may be missing). Early files lack their lengths."""
    degree = bundle.numbers("degree", np.int32, rows, least=PENDING, most=MAX_LINKS)
    to = bundle.array("to", np.int32, len(degree), MAX_LINKS)
    wrong = to.view(np.uint32) >= len(degree)  # a negative number is large then
    wrong &= np.arange(MAX_LINKS) < degree[:, None]
    if len(degree) > len(codes.leaf) or wrong.any():
        raise CorruptError(f"a saved link leads to no leaf: {CURE}")
    if "length" not in bundle.arrays:
        return linkage.measured(to, degree, codes)
    length = bundle.array("length", np.uint8, len(degree), MAX_LINKS)
    unit = bundle.numbers("unit", np.float64, 1, least=_FINEST, most=1e30)
    return Links(to, length, degree, float(unit[0]))
