"""Kernels end for any input: with NaN, infinity, denormals and giants in vectors and queries, none crashes or hangs.

Input is checked before kernels see it, but a projection may overflow, and a loop without the GIL that never ends takes
the whole process with it. What kernels answer to such input does not matter; that they answer does, and that a tree
that took such vectors in still has the shape of a tree. Run as a program, this is the child that does it.
"""

from __future__ import annotations

import ast
import faulthandler
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import gossamer
from gossamer.array_types import NONE, DocumentNumber, Floats, Longs
from gossamer.explain.matching import matching
from gossamer.graph import walk
from gossamer.graph.codes import Codes, encode_added, encode_changed, encode_tree, grid_of
from gossamer.graph.codes import with_room as with_room_for_codes
from gossamer.graph.entry_points import choose_entry_points, nearest_by_descent
from gossamer.graph.growth import CONSIDERED, grow
from gossamer.graph.linking import add_links, neighbours_by_links, search_links, thin_rows
from gossamer.graph.links import NEW_LINKS, _measure, copied, drop_leaves, new_link_workspace, no_links
from gossamer.graph.workspace import new_workspace
from gossamer.lexical import kernels as lexical
from gossamer.lexical.words import Words, WordsOf
from gossamer.neighbours.all_pairs import _Candidates, _compare_blocks, _lay_out, nearest_of_all, nearest_of_some
from gossamer.neighbours.quantise import encode_rows
from gossamer.plane.affinities import Affinities, by_links
from gossamer.plane.forces import Field, distributed, step
from gossamer.rank.best_first import best_first
from gossamer.rank.cosines import _write_bounds, _write_products, cosines
from gossamer.rank.exact import Scoring, rank_listed
from gossamer.rank.gains import evidence
from gossamer.rank.path_sum import PathSum
from gossamer.rank.request import flag_leaves
from gossamer.rank.single import search_raw
from gossamer.tree import validation
from gossamer.tree.agglomeration import NEIGHBOURS, Clusters, _merge_nearest, near_by_links
from gossamer.tree.anchoring import anchored_points, with_means
from gossamer.tree.arrays import Meta, TreeArrays, used, with_room
from gossamer.tree.browsing import shown_below, shown_children, shown_children_of, shown_paths
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.cuts import best_cut
from gossamer.tree.identity import keep_ids
from gossamer.tree.insertion import descents
from gossamer.tree.moments import compute_moments, moments_to_save
from gossamer.tree.placement import insert_by_scan, landings
from gossamer.tree.rebuild import BuildOptions, add_leaves, rebuild_arrays, total_utility, without_concepts
from gossamer.tree.removal import remove_documents
from gossamer.tree.scoring import EVERYTHING, empty_ranking
from gossamer.tree.structure import hash_rows, leaf_rows, parents_first, rehash
from gossamer.tree.top import top_merges
from gossamer.tree.ward import ward
from gossamer.whitening.eigen import eigenpairs
from gossamer.whitening.projection import Projection, project

DIM, ROWS = 8, 120
SECONDS = 20
"""A case that takes longer hangs; all of them together take about one."""

HUGE = np.float32(3e38)


def _strewn(value: float) -> Callable[[np.random.Generator], Floats]:
    """Rows with the value in one place of every third."""

    def make(rng: np.random.Generator) -> Floats:
        X = rng.normal(size=(ROWS, DIM)).astype(np.float32)
        X[np.arange(0, ROWS, 3), rng.integers(0, DIM, ROWS // 3)] = value
        return X

    return make


def _everything(rng: np.random.Generator) -> Floats:
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, 1e17, -3e38, 3e38, 1.0, -1.0]
    X: Floats = rng.choice(values, size=(ROWS, DIM)).astype(np.float32)
    X[5:9] = X[4]
    return X


POISONS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "nothing": lambda rng: rng.normal(size=(ROWS, DIM)).astype(np.float32),
    "NaN": _strewn(np.nan),
    "infinity": _strewn(np.inf),
    "minus infinity": _strewn(-np.inf),
    "denormals": lambda rng: (rng.normal(size=(ROWS, DIM)) * 1e-42).astype(np.float32),
    "zeros": lambda rng: np.zeros((ROWS, DIM), np.float32),
    "the largest allowed": lambda rng: (rng.choice([-1e17, 1e17], size=(ROWS, DIM))).astype(np.float32),
    "the largest there are": lambda rng: rng.choice([-HUGE, HUGE], size=(ROWS, DIM)).astype(np.float32),
    "one giant": _strewn(3e38),
    "duplicates": lambda rng: np.repeat(rng.normal(size=(3, DIM)), ROWS // 3, axis=0).astype(np.float32),
    "everything": _everything,
    "only NaN": lambda rng: np.full((ROWS, DIM), np.nan, np.float32),
}


class World(NamedTuple):
    """A tree, the arrays of its search graph, and vectors that are searched for or inserted."""

    t: TreeArrays
    graph: walk.GraphArrays
    X: Floats

    @property
    def codes(self) -> Codes:
        return self.graph.codes

    @property
    def root(self) -> int:
        return int(self.t.meta[Meta.ROOT])

    @property
    def documents(self) -> Longs:
        return np.flatnonzero(self.t.leaf[: self.t.meta[Meta.NEXT_DOCUMENT]] != NONE)


def _grown(X: Floats) -> CobwebTree:
    """A tree of vectors that nobody has checked."""
    tree = CobwebTree(X.shape[1], acuity=0.5)
    tree._insert_chunk(X)
    _check_shape(tree.arrays)
    return tree


def _check_shape(t: TreeArrays) -> None:
    """Whatever is in the vectors, the tree is one."""
    t = TreeArrays(**used(t))
    is_leaf = validation._check_slots(t)
    validation._check_family(t, is_leaf)
    validation._check_documents(t, is_leaf)
    validation._check_free_lists(t, is_leaf)
    validation._check_buckets(t, is_leaf)


def _graph(t: TreeArrays) -> walk.GraphArrays:
    codes, _ = encode_tree(t, grid_of(t), concepts=True)
    links = copied(no_links(codes), len(t.vectors))
    rows = leaf_rows(t)
    places, near = nearest_of_all(codes.leaf[rows, :DIM], 20)
    near *= np.float32(codes.step**2)
    chosen = np.empty((len(rows), NEW_LINKS), np.int32)
    thin_rows(codes, rows[places], near, chosen)
    add_links(links, codes, rows, chosen, new_link_workspace())
    return walk.GraphArrays(codes, links, choose_entry_points(t, codes))


def _copied(t: TreeArrays) -> TreeArrays:
    return t._replace(**{name: array.copy() for name, array in t._asdict().items()})


CONCEPTS = {"inner", "inner_norm", "variance", "quartic", "deviations", "seen"}


def _own_codes(w: World) -> Codes:
    return w.codes._replace(**{name: array.copy() for name, array in w.codes._asdict().items() if name != "step"})


# -- one function a kernel -----------------------------------------------------------------------------


def _insert(w: World) -> None:
    _grown(np.concatenate([w.X, w.X[::-1]]))
    _grown(np.concatenate([np.random.default_rng(1).normal(size=(40, DIM)).astype(np.float32), w.X]))


def _remove(w: World) -> None:
    t, documents = _copied(w.t), np.random.default_rng(2).permutation(w.documents)
    remove_documents(t, documents[::2].copy())
    _check_shape(t)
    remove_documents(t, documents[1::2].copy())
    _check_shape(t)


def _rebuild(w: World) -> None:
    t = with_room(_copied(w.t), len(w.X) + 64, 0)
    new, _ = rebuild_arrays(t, w.X, BuildOptions(keep=4), lambda share: None)
    _check_shape(new)


def _agglomerate(w: World) -> None:
    """Until ten clusters are left; with neighbours that are given, and with those found by links."""
    points = np.tile(w.X, (3, 1))
    count = len(points)
    near = np.random.default_rng(3).integers(0, count, (count, NEIGHBOURS)).astype(np.int32)
    for linked in (False, True):
        names, alive = np.arange(count, dtype=np.int32), np.ones(count, np.bool_)
        clusters = Clusters(points.copy(), np.ones(count), names, alive)
        merges = np.empty((count - 1, 2), np.int32)
        known = near_by_links(clusters, near, merges[:0], NEIGHBOURS) if linked else near.copy()
        made = _merge_nearest(clusters, known, 10, merges, 0)
        assert len(np.unique(merges[:made])) == 2 * made, "each is merged once"


def _add_to_leaves(w: World) -> None:
    add_leaves(without_concepts(with_room(w.t, len(w.X) + 64), len(w.X)), w.X)


def _top(w: World) -> None:
    sizes, means = np.arange(1.0, 1.0 + len(w.X)), w.X.astype(np.float64)
    for merges in (ward(sizes, means), top_merges(sizes, means)):
        assert sorted(np.ravel(merges).tolist()) == list(range(2 * len(w.X) - 2)), "each is merged once"


def _keep_ids(w: World) -> None:
    t = with_room(_copied(w.t), len(w.X) + 64, 0)
    remove_documents(t, w.documents[::5].copy())
    new, _ = rebuild_arrays(t, w.X, BuildOptions(), lambda share: None)
    new, _ = keep_ids(w.t, new)
    _check_shape(new)


def _descend(w: World) -> None:
    out = np.empty(len(w.X), np.int32)
    descents(w.t, w.X, out)
    assert (w.t.size[out] > 0).all()


def _anchor(w: World) -> None:
    rows = leaf_rows(w.t)
    near = np.random.default_rng(6).integers(0, len(rows), (len(rows), NEIGHBOURS)).astype(np.int32)
    for settled in (0, len(rows) // 2, len(rows)):
        anchored_points(with_means(w.t), w.t.owner[rows], w.t.vectors[rows], near, settled)


def _place(w: World) -> None:
    """Into a tree, and into an empty one."""
    for tree in (_room_for(w.t, len(w.X)), _room_for(CobwebTree(DIM, 0.5).arrays, len(w.X))):
        assert insert_by_scan(tree, w.X, 0) == len(w.X)
        _check_shape(tree)
    nearest, out = np.resize(w.t.leaf[w.documents], len(w.X)).astype(np.int32), np.empty(len(w.X), np.int32)
    landings(w.t, nearest, w.X, out)
    assert (w.t.size[out] > 0).all()


def _grow_graph(w: World) -> None:
    """By walks along links, and by descents."""
    for linked in (True, False):
        t, codes = _room_for(w.t, len(w.X)), _own_codes(w)
        if linked:  # then concepts have no codes
            codes = codes._replace(**{name: getattr(codes, name)[:0] for name in CONCEPTS})
        links = copied(w.graph.links, len(t.vectors)) if linked else no_links(codes)
        g = walk.GraphArrays(with_room_for_codes(codes, t, concepts=not linked), links, w.graph.entry_points)
        assert grow(t, g, w.X, 0, new_workspace(t, CONSIDERED)).rows == len(w.X)
        _check_shape(t)


def _room_for(t: TreeArrays, documents: int) -> TreeArrays:
    t = with_room(_copied(t), documents, 2 * documents + 8)
    leaves = int(t.meta[Meta.LEAVES]) + documents + 1
    t = t._replace(bucket=np.empty(1 << leaves.bit_length(), np.int32))
    rehash(t)
    return t


def _follow_links(w: World) -> None:
    neighbours_by_links(w.graph, leaf_rows(w.t)[::2].copy(), 5)


def _hash(w: World) -> None:
    hash_rows(w.X, np.empty(len(w.X), np.int64))


def _encode(w: World) -> None:
    encode_rows(w.X, np.empty(w.X.shape, np.int8))


def _encode_again(w: World) -> None:
    codes = _own_codes(w)
    codes.seen[:] = -1
    encode_changed(w.t, codes)
    codes.leaf_norm[:] = np.inf
    codes.seen[:] = -1
    encode_added(w.t, codes, w.t.leaf[w.documents])


def _drop(w: World) -> None:
    codes, links = _own_codes(w), w.graph.links
    links = links._replace(to=links.to.copy(), length=links.length.copy(), degree=links.degree.copy())
    rows = leaf_rows(w.t)[::3].copy()
    codes.leaf_norm[rows] = np.inf
    drop_leaves(links, codes, rows, new_link_workspace())
    _measure(links, codes, new_link_workspace())


def _pair(w: World) -> None:
    codes = np.empty(w.X.shape, np.int8)
    encode_rows(w.X, codes)
    nearest_of_all(codes, 5)
    nearest_of_some(codes, codes[:20])
    layout = _lay_out(codes, 512)
    rows = len(layout.norms)
    layout.norms[: len(w.X)] = layout.column_norms[: len(w.X)] = w.X[:, 0]
    candidates = _Candidates(
        np.zeros((rows, 140), np.int64), np.zeros(rows, np.int64), np.full(rows, np.inf, np.float32)
    )
    with np.errstate(all="ignore"):
        _compare_blocks(layout, np.zeros(1, np.int32), 0, 5, candidates)


def _project(w: World) -> None:
    for matrix in (w.X[:DIM], np.eye(DIM, 5, dtype=np.float32)):
        for sphere in (False, True):
            project(w.X, w.X[0], matrix, sphere)
            project(w.X, np.zeros(DIM, np.float32), matrix, sphere)


def _cut(w: World) -> None:
    choose_entry_points(w.t, w.codes)
    for x in w.X[:20]:
        assert nearest_by_descent(w.t, w.root, x.astype(np.float64)) >= 0


def _walk(w: World) -> None:
    flags = walk.Filter(np.ones(len(w.t.vectors), np.uint8), np.ones(len(w.t.leaf), np.uint8))
    for graph in (w.graph, w.graph._replace(links=no_links(w.codes))):
        for slack, most in ((np.inf, 1 << 30), (1.1, 50), (1.0, 1)):
            for context in (0.0, 0.5):
                for allowed in (walk.Filter(EVERYTHING, EVERYTHING), flags):
                    search, out = walk.Search(5, context, slack, most, 64, 40), empty_ranking(len(w.X), 5)
                    walk.search_rows(w.t, graph, w.X, search, allowed, new_workspace(w.t, 64), out)


def _walk_raw(w: World) -> None:
    projection = Projection(np.zeros(DIM, np.float32), np.eye(DIM, dtype=np.float32))
    everything, search = walk.Filter(EVERYTHING, EVERYTHING), walk.Search(5, 0.0, 1.1, 1 << 30, 64, 40)
    for q in w.X[:9]:
        search_raw(q, projection, w.t, w.graph, search, everything, new_workspace(w.t, 64), empty_ranking(1, 5))


def _link(w: World) -> None:
    rows = leaf_rows(w.t)
    chosen = np.empty((len(rows), NEW_LINKS), np.int32)
    search_links(w.t, w.graph, rows, 128, new_workspace(w.t, 128), chosen)
    add_links(copied(no_links(w.codes), len(w.t.vectors)), w.codes, rows, chosen, new_link_workspace())


def _choose(w: World) -> None:
    rows = leaf_rows(w.t)
    found = np.random.default_rng(4).choice(rows, (len(rows), 30)).astype(np.int32)
    chosen = np.empty((len(rows), NEW_LINKS), np.int32)
    for x in w.X[:5]:
        thin_rows(w.codes, found, np.resize(x, found.shape), chosen)


def _list(w: World) -> None:
    for scoring in (Scoring(False, 0.0), Scoring(True, 0.0), Scoring(False, 1.0)):
        rank_listed(w.t, w.X, w.documents, 5, scoring)


def _add_paths(w: World) -> None:
    ranker = PathSum()
    for scoring in (Scoring(False, 0.0), Scoring(True, 0.0), Scoring(False, 1.0)):
        ranker.search(w.t, w.X, 5, scoring)
        for Q in (w.X, w.X[:2]):  # the first step in float32, from which such queries are kept
            ranker.refresh(w.t)
            ranker.search_block(w.t, Q, scoring, empty_ranking(len(Q), 5))


def _explain(w: World) -> None:
    nodes = parents_first(w.t, w.root).tolist()
    for x in w.X[:10]:
        evidence(w.t, x, nodes)
        matching(w.t, x, 5)


def _browse(w: World) -> None:
    nodes = parents_first(w.t, w.root).tolist()
    assert (
        sum(map(len, shown_children_of(w.t, shown_below(w.t, w.root).nodes))) == len(shown_below(w.t, w.root).nodes) - 1
    )
    assert all(path[-1] == node for node, path in zip(nodes, shown_paths(w.t, nodes), strict=True))
    assert len(shown_children(w.t, w.root)) > 1


def _divide(w: World) -> None:
    leaves = int(w.t.meta[Meta.LEAVES])
    for n in (1, 2, 7, leaves // 2, leaves - 1):
        assert len(best_cut(w.t, n)) == n


def _count(w: World) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        after = rng.integers(-1, 50, 50).astype(np.int32)
        assert validation.count_reached(rng.integers(-1, 50, 9), after) <= 51


def _plane(w: World) -> None:
    """Points of any kind are moved, and neighbours are found by links of any kind."""
    n = len(w.X)
    places = np.arange(n + 1, dtype=np.int32)
    ring = Affinities(places, np.roll(places[:n], 1), np.ones(n, np.float32))
    points, masses = np.resize(w.X, (n, 2)), np.ones(n, np.float32)
    grid = distributed(points, masses, 0.0, 0.0, 1.0, 32)
    step(points, np.zeros_like(points), masses, ring, Field(0.0, 0.0, 1.0, grid, grid, grid))
    rows = leaf_rows(w.t)
    place = np.full(len(w.graph.links.degree), NONE, np.int32)
    place[rows] = np.arange(len(rows), dtype=np.int32)
    links = w.graph.links
    by_links(w.codes, links.to, links.degree, place, rows, 5)


def _flag(w: World) -> None:
    documents = (w.t.leaf[: w.t.meta[Meta.NEXT_DOCUMENT]] != NONE).astype(np.uint8)
    flag_leaves(documents, w.t.leaf, w.t.row, np.zeros(len(w.t.vectors), np.uint8))


def _moments(w: World) -> None:
    t = _copied(w.t)
    compute_moments(t, moments_to_save(t).rows)


def _validate(w: World) -> None:
    t = TreeArrays(**used(w.t))
    validation._measure_leaves(t, np.empty(len(t.vectors)), np.empty(len(t.vectors), np.int64))
    nodes = np.flatnonzero(t.n_children > 0)
    validation._measure_inners(t, nodes, validation._Ranges(*(np.empty(len(nodes)) for _ in range(5))))


def _words(some: World) -> None:
    """Documents of any length, removed ones included, with weights and lengths that are no numbers."""
    documents = [WordsOf(DocumentNumber(at), "sun moon " * (at % 5), "") for at in range(1, 9)]
    words = Words.empty("none").changed((), documents).compact()
    s, p = words.sequences, words.postings
    poisoned = s._replace(lengths=np.resize(some.X, len(s.lengths)).astype(np.float32))
    places = np.arange(len(s.lengths))
    for sequences in (s, poisoned):
        for covered in (0, p.covered):
            query = lexical.Weights(
                np.array([1, 2], np.int32), some.X[0, :2].astype(np.float64), 0.3, float(some.X[0, 2])
            )
            scores = lexical.score_all(sequences, p._replace(covered=covered), query, len(words.holders))
            lexical.best_places(scores, 3)
            lexical.containing(np.array([1, 2], np.int32), sequences, p._replace(covered=covered))
        lexical.which_terms(places, sequences, np.array([1, 2], np.int32))
        lexical.count_holders(places, 1, sequences, words.holders.copy(), np.full(len(words.holders), -1, np.int32))
        lexical.invert(sequences, p.offsets, p.documents.copy(), p.counts.copy())


def _bound(w: World) -> None:
    rows = int(w.t.meta[Meta.LEAF_ROWS])
    query = np.ones(w.codes.leaf.shape[1], np.int16)
    for x in w.X[:5]:
        _write_bounds(w.t, w.codes, query, x.astype(np.float64), np.empty(rows), np.empty(rows))
        _write_products(w.t, x, w.documents, np.empty(len(w.documents)))


CASES: dict[str, Callable[[World], object]] = {
    "tree/scoring.log_ps": _explain,
    "rank/gains._measure": _explain,
    "whitening/projection.project_rows": _project,
    "whitening/eigen._eigenpairs": lambda w: eigenpairs(w.X[:DIM].astype(np.float64)),
    "rank/best_first._search": lambda w: (best_first(w.t, w.X, 5), best_first(w.t, w.X, 200, 3)),
    "graph/entry_points.cut_by_size": _cut,
    "graph/entry_points.nearest_by_descent": _cut,
    "graph/linking.thin_rows": _choose,
    "graph/linking.search_links": _link,
    "graph/linking.add_links": _link,
    "rank/cosines._write_bounds": _bound,
    "rank/cosines._write_products": _bound,
    "rank/cosines.write_cosines": lambda w: cosines(w.t, w.X, np.tile(np.append(w.documents, NONE), (len(w.X), 1))),
    "rank/exact._score": _list,
    "rank/path_sum._add_down": _add_paths,
    "rank/path_sum._dots": _add_paths,
    "rank/path_sum._score_again": _add_paths,
    "rank/path_sum._select": _add_paths,
    "rank/path_sum._weigh": _add_paths,
    "graph/walk.search_rows": _walk,
    "rank/single.search_raw": _walk_raw,
    "graph/codes._encode_inners": _encode_again,
    "graph/codes._encode_leaves": _encode_again,
    "graph/codes.encode_added": _encode_again,
    "graph/codes.encode_nodes": _cut,
    "neighbours/quantise.encode_rows": _encode,
    "tree/browsing._below": _browse,
    "tree/browsing._children_of_each": _browse,
    "tree/browsing._paths": _browse,
    "tree/cuts._as_pairs": _divide,
    "tree/cuts._force": _divide,
    "tree/cuts._priced": _divide,
    "tree/cuts._spread": _divide,
    "tree/insertion.insert_rows": _insert,
    "tree/insertion.descents": _descend,
    "graph/links._measure": _drop,
    "graph/links.drop_leaves": _drop,
    "neighbours/all_pairs._choose_nearest": _pair,
    "neighbours/all_pairs._compare_blocks": _pair,
    "tree/anchoring._average": _anchor,
    "tree/anchoring._sum_up": _anchor,
    "tree/anchoring._move_concepts": _anchor,
    "tree/anchoring._move_points": _anchor,
    "tree/identity._list_members": _keep_ids,
    "tree/identity._compare_concepts": _keep_ids,
    "tree/identity._take_best": _keep_ids,
    "tree/top._move_points": _top,
    "tree/top._add_up": _top,
    "tree/top._find_clusters": _top,
    "tree/ward._pool": _top,
    "tree/ward._merge_within": _top,
    "tree/rebuild.add_leaves": _add_to_leaves,
    "tree/placement.new_place_workspace": _place,
    "tree/placement.insert_by_scan": _place,
    "tree/placement.landings": _place,
    "graph/growth._grow": _grow_graph,
    "graph/linking.nearest_two_links_away": _follow_links,
    "tree/structure.hash_rows": _hash,
    "tree/rebuild.total_utility": lambda w: total_utility(w.t),
    "tree/removal.remove_documents": _remove,
    "tree/structure.leaf_rows": lambda w: leaf_rows(w.t),
    "tree/structure.parents_first": lambda w: parents_first(w.t, w.root),
    "tree/structure.rehash": lambda w: rehash(_copied(w.t)),
    "tree/agglomeration._merge_nearest": _agglomerate,
    "tree/agglomeration._near_by_links": _agglomerate,
    "tree/agglomeration._pass_down": _agglomerate,
    "tree/agglomeration.children_first": _rebuild,
    "tree/agglomeration._leaves_below": _rebuild,
    "tree/agglomeration.add_concepts": _rebuild,
    "plane/affinities.by_links": _plane,
    "plane/forces.step": _plane,
    "plane/forces.distributed": _plane,
    "rank/request.flag_leaves": _flag,
    "tree/moments._follow_some": _moments,
    "tree/moments._levels": _moments,
    "tree/validation._measure_inners": _validate,
    "tree/validation._measure_leaves": _validate,
    "tree/validation.count_reached": _count,
    "lexical/kernels.score_all": _words,
    "lexical/kernels.best_places": _words,
    "lexical/kernels.which_terms": _words,
    "lexical/kernels.containing": _words,
    "lexical/kernels.count_holders": _words,
    "lexical/kernels.invert": _words,
}


# -- the tests -----------------------------------------------------------------------------------------


def test_every_kernel_is_fed() -> None:
    here = Path(gossamer.__file__).parent
    kernels = {
        f"{path.relative_to(here).with_suffix('').as_posix()}.{node.name}"
        for path in here.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
        for mark in node.decorator_list
        if isinstance(mark, ast.Name) and mark.id in ("kernel", "ordered_kernel")
    }
    assert kernels == set(CASES), "a new kernel needs a case here"


def test_kernels_end_for_any_input() -> None:
    child = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=600, check=False)
    ended = child.stdout.splitlines()[-1:] == ["done"]
    assert child.returncode == 0, f"{child.stdout[-300:]}\n{child.stderr[-3000:]}"
    assert ended


def test_a_query_without_scores_gets_an_answer() -> None:
    """The documents of leaves whose scores are NaN were sought for ever."""
    child = subprocess.run([sys.executable, __file__, "queries"], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr[-3000:]


# -- the child -----------------------------------------------------------------------------------------


def world(make: Callable[[np.random.Generator], Floats], X: npt.NDArray[np.float32]) -> World:
    """A tree of what `make` makes, a third of it sound, and vectors X to ask for."""
    rng = np.random.default_rng(0)
    content = make(rng)
    content[::3] = rng.normal(size=content[::3].shape)
    tree = _grown(content)
    return World(tree.arrays, _graph(tree.arrays), np.ascontiguousarray(X))


def feed_once() -> None:
    """Call every kernel, with sound vectors."""
    some = world(POISONS["nothing"], POISONS["nothing"](np.random.default_rng(1)))
    for case in dict.fromkeys(CASES.values()):
        case(some)


def main() -> None:
    np.seterr(all="ignore")
    rng = np.random.default_rng(1)
    sound = POISONS["nothing"]
    for name, make in POISONS.items():  # the first is sound, and compiles everything
        faulthandler.dump_traceback_later(SECONDS if name != "nothing" else 500, exit=True)
        print(f"{name}: growing", flush=True)
        worlds = {"vectors": world(sound, make(rng)), "tree": world(make, sound(rng)), "both": world(make, make(rng))}
        for where, some in worlds.items():
            for case in dict.fromkeys(CASES.values()):
                if name != "nothing":
                    faulthandler.dump_traceback_later(SECONDS, exit=True)
                kernels = [kernel for kernel, function in CASES.items() if function is case]
                print(f"{name} in {where}: {', '.join(kernels)}", flush=True)
                case(some)
    print("done", flush=True)


def unanswerable() -> None:
    """Guided searches for queries of which every score is NaN."""
    np.seterr(all="ignore")
    sound = world(POISONS["nothing"], POISONS["nothing"](np.random.default_rng(1)))
    faulthandler.dump_traceback_later(500, exit=True)
    _walk(sound)  # compiles
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    for value in (np.nan, np.inf, 3e38):
        _walk(sound._replace(X=np.full((5, DIM), value, np.float32)))


if __name__ == "__main__":
    unanswerable() if sys.argv[1:] == ["queries"] else main()
