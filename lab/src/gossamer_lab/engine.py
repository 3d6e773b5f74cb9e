"""Everything the lab uses of Gossamer that is not public: the one file to change when the engine's insides do.

Public names (`VectorIndex`, `CobwebTree`, `Whitener`, `Index`) are imported where they are used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np

import gossamer
from gossamer import CobwebTree, VectorIndex
from gossamer.array_types import NONE, DocumentNumber, Doubles, Floats, Longs
from gossamer.checks import as_vectors
from gossamer.encoders.models import cache_folder
from gossamer.errors import InputError
from gossamer.files.bundle import write_bundle
from gossamer.graph.calibration import Effort
from gossamer.graph.search_graph import SearchGraph, neighbours_wanted
from gossamer.graph.walk import Filter, search_rows
from gossamer.lexical.analysis import USUAL, detect_language
from gossamer.lexical.query_text import parse
from gossamer.lexical.scores import AUTO, LexicalScores, Weight
from gossamer.lexical.words import Words, WordsOf
from gossamer.rank.guided import effort_for, prepare, search_for, search_with_effort
from gossamer.rank.request import SearchRequest
from gossamer.runtime.jit import compiled_for, kernel, subkernel
from gossamer.runtime.threads import cores
from gossamer.tree.agglomeration import agglomerate
from gossamer.tree.arrays import Limit, Meta
from gossamer.tree.browsing import shown_children
from gossamer.tree.cuts import best_cut
from gossamer.tree.scoring import EVERYTHING, Ranked
from gossamer.tree.structure import parents_first
from gossamer.vector_index.core import Structure, auto_acuity
from gossamer.vector_index.presets import PRESETS
from gossamer.whitening.whitening import Whitening

__all__ = [
    "AUTO", "Doubles", "Effort", "Floats", "Kernel", "Longs", "Nodes", "Structure", "Weight", "Whitening", "WordIndex",
    "as_vectors", "auto_tree", "best_groups", "cache_folder", "concept_of_size", "cores", "count_leaves",
    "default_settings", "default_whitening", "enclosing_concepts", "group_of_each", "id_of_each", "kernel",
    "memberships", "nodes_of", "shown_sizes", "source_digest", "structure", "subkernel", "tree_bytes",
    "use_kernels_of_large_renewals", "walk_alone",
]  # fmt: skip

_LONGEST: Final = 1.3
"""The largest slack of the benchmarks' ladder: the effort where calibration found none that reaches a recall."""


def use_kernels_of_large_renewals() -> None:
    """Call the kernels that only the renewal of a large index calls: those that find near clusters by links."""
    points = np.random.default_rng(0).normal(size=(2_000, 4)).astype(np.float32)
    links = np.random.default_rng(1).integers(0, len(points), (len(points), 8)).astype(np.int32)
    agglomerate(points, np.ones(len(points), np.int64), links=links, by_links=0)


def walk_alone(index: VectorIndex, Q: Floats, k: int) -> Callable[[int], object] | None:
    """The compiled walk for one row of Q, projected beforehand, and nothing else of a search.

    None where an index is so small that no walk answers queries.
    """
    state = index.state
    arrays, graph = state.tree.arrays, state.graph
    effort = effort_for(arrays, graph, SearchRequest.checked(k, "guided", 0.0)) if graph is not None else None
    if graph is None or effort is None:
        return None
    search = search_for(arrays, k, effort, 0.0)
    workspace = graph.workspaces.take(arrays, search.width)
    found = Ranked(np.empty((1, k), np.int64), np.empty((1, k)), np.empty(1, np.int64))
    fixed = search, Filter(EVERYTHING, EVERYTHING), workspace, found
    rows = [row[None] for row in state.project(Q)]
    walk = compiled_for(search_rows, arrays, graph.arrays, rows[0], *fixed)
    return lambda at: walk(arrays, graph.arrays, rows[at], *fixed)


class DefaultSettings(NamedTuple):
    """What the default preset sets, apart from whitening."""

    acuity: float | Literal["auto"]
    context: float
    structure: Structure


def default_settings() -> DefaultSettings:
    """The tree's settings in the default preset."""
    preset = PRESETS["default"]
    return DefaultSettings(preset.acuity, preset.context, preset.structure)


def default_whitening() -> Whitening:
    """The whitening of the default preset, to be fitted."""
    return PRESETS["default"].whitening()


@cache
def source_digest() -> str:
    """A digest of the code that rankings depend on: rankings kept by another are made again."""
    rooms = ("encoders", "graph", "lexical", "neighbours", "rank", "tree", "vector_index", "whitening")
    digest = hashlib.blake2b(digest_size=16)
    for room in rooms:
        for file in sorted((Path(gossamer.__file__).parent / room).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


# -- trees -----------------------------------------------------------------------------------------


def auto_tree(X: Floats) -> CobwebTree:
    """An empty tree with the acuity that an index would choose for X."""
    return CobwebTree(X.shape[1], auto_acuity(X))


def best_groups(index: VectorIndex, n: int) -> list[Longs]:
    """The documents of each group of the best cut into n groups."""
    return [group.documents(index.tree.arrays) for group in best_cut(index.tree.arrays, n)]


def group_of_each(index: VectorIndex, ids: Longs, n: int) -> Longs:
    """For each of these documents, the group of the best cut into n groups that it is in."""
    group = np.full(index.tree.next_document, NONE, np.int64)
    for number, documents in enumerate(best_groups(index, n)):
        group[documents] = number
    return group[index.state.numbers(ids.tolist())]


def shown_sizes(index: VectorIndex) -> Longs:
    """Documents of each child of the root that people see."""
    arrays = index.tree.arrays
    return arrays.size[shown_children(arrays, index.tree.root)].astype(np.int64)


def structure(index: VectorIndex, ids: Longs | None = None) -> tuple[Longs, Longs]:
    """The parent of each node, children before parents and -1 for the root, and the node of each document.

    Without `ids` documents are in order of arrival; none of them may have been removed.
    """
    arrays = index.tree.arrays
    nodes = parents_first(arrays, index.tree.root)[::-1]
    place = np.full(int(nodes.max()) + 2, NONE, np.int64)  # the last entry is for NONE, the root's parent
    place[nodes] = np.arange(len(nodes))
    documents = np.arange(index.tree.n_documents) if ids is None else index.state.numbers(ids.tolist())
    return place[arrays.parent[nodes]], place[arrays.leaf[documents]]


class Nodes(NamedTuple):
    """All nodes of a tree, parents first, and the node of each document by number."""

    parent: Longs
    mean: Floats
    variance: Floats
    """With the acuity added, as densities have it."""
    leaf: Longs


def nodes_of(index: VectorIndex) -> Nodes:
    """The Gaussian of every node; a leaf's is its vector with the acuity as variance."""
    arrays = index.tree.arrays
    nodes = parents_first(arrays, index.tree.root)
    place = np.full(int(nodes.max()) + 2, NONE, np.int64)  # the last entry is for NONE, the root's parent
    place[nodes] = np.arange(len(nodes))
    acuity = np.float32(arrays.limits[Limit.ACUITY])
    mean = np.empty((len(nodes), arrays.mean.shape[1]), np.float32)
    variance = np.full_like(mean, acuity)
    inner, row = arrays.n_children[nodes] > 0, arrays.row[nodes]
    mean[~inner] = arrays.vectors[row[~inner]]
    mean[inner] = arrays.mean[row[inner]]
    variance[inner] += (arrays.m2[row[inner]] / arrays.size[nodes[inner], None]).astype(np.float32)
    return Nodes(place[arrays.parent[nodes]], mean, variance, place[arrays.leaf[: index.tree.next_document]])


def id_of_each(index: VectorIndex, ids: Longs) -> Longs:
    """For each document number, where its id is in `ids`."""
    places = np.full(index.tree.next_document, NONE, np.int64)
    places[index.state.numbers(ids.tolist())] = np.arange(len(ids))
    return places


def memberships(index: VectorIndex, ids: Longs, fewest: int) -> tuple[Longs, Longs]:
    """Pairs of a document and a concept that it is in, for all concepts with at least `fewest` documents."""
    arrays = index.tree.arrays
    documents, node = ids, arrays.leaf[index.state.numbers(ids.tolist())]
    members, concepts = [], []
    while len(node):
        large = arrays.size[node] >= fewest
        members.append(documents[large])
        concepts.append(node[large].astype(np.int64))
        above = arrays.parent[node]
        documents, node = documents[above != NONE], above[above != NONE]
    return np.concatenate(members), np.concatenate(concepts)


def concept_of_size(index: VectorIndex, size: int) -> int:
    """The concept whose number of documents is nearest to `size`, by ratio."""
    arrays = index.tree.arrays
    made = int(arrays.meta[Meta.SLOTS])
    inner = np.flatnonzero((arrays.size[:made] > 0) & (arrays.n_children[:made] > 0))
    return int(inner[np.abs(np.log(arrays.size[inner] / size)).argmin()])


def enclosing_concepts(index: VectorIndex, ids: Longs, size: int) -> Longs:
    """For each document the smallest concept around it with at least `size` documents, numbered from 0 on.

    Concepts may lie in each other: a document counts for the smallest one alone.
    """
    arrays = index.tree.arrays
    nodes = arrays.leaf[index.numbers_of(ids.tolist())].astype(np.int64)
    while (small := (arrays.size[nodes] < size) & (arrays.parent[nodes] != NONE)).any():
        nodes[small] = arrays.parent[nodes[small]]
    numbered: Longs = np.unique(nodes, return_inverse=True)[1].astype(np.int64)
    return numbered


def count_leaves(index: VectorIndex, documents: Longs) -> int:
    """The number of different leaves of these documents."""
    return len(np.unique(index.tree.arrays.leaf[documents]))


def tree_bytes(index: VectorIndex) -> dict[str, int]:
    """Bytes of the tree's arrays: vectors of leaves, statistics of concepts, and the rest."""
    arrays = index.tree.arrays
    parts = {"vectors": arrays.vectors.nbytes, "concepts (means, variances)": arrays.mean.nbytes + arrays.m2.nbytes}
    return {**parts, "rest of the tree": _bytes(arrays) - sum(parts.values())}


# -- guided search -------------------------------------------------------------------------------------


class Found(NamedTuple):
    """Document numbers for each query, best first, and the nodes scored for it."""

    documents: Longs
    visited: Longs


class Kernel:
    """Guided search below `VectorIndex.search`: whitened queries in, document numbers out, any effort."""

    def __init__(self, tree: CobwebTree, *, links: bool = True, graph: SearchGraph | None = None) -> None:
        """A tree whose documents are linked by `link`."""
        self.tree = tree
        self._links, self._graph = links, graph

    @classmethod
    def of(cls, index: VectorIndex) -> Kernel:
        """What an index searches with until it changes."""
        return cls(index.tree, graph=index.state.graph)

    def load(self, X: Floats) -> Longs:
        """Agglomerate all rows of X into the empty tree, keeping the neighbours that links are chosen from."""
        return self.tree.agglomerate(X, keep=neighbours_wanted(len(X), linked=self._links))

    def rebuild(self, *, keep: bool = False) -> None:
        """Agglomerate the tree's documents anew; `keep` the neighbours that links are chosen from."""
        self.tree.rebuild(keep=neighbours_wanted(len(self.tree), linked=self._links) if keep else 0)

    def link(self) -> None:
        """Quantise and link the documents of the tree, and calibrate."""
        self._graph = prepare(self.tree.arrays, None, linked=self._links, neighbours=self.tree.take_neighbours())

    @property
    def ready(self) -> bool:
        """False for a tree so small that every document is scored."""
        return self._graph is not None

    def check_ready(self) -> None:
        """Raise if the tree is so small that every document is scored."""
        if not self.ready:
            raise InputError(f"{len(self.tree):,} documents are too few: gossamer scores them all. Give a few thousand")

    def effort(self, k: int, recall: float) -> Effort:
        """What calibration found to be needed for a recall; the longest walk where nothing reached it."""
        assert self._graph is not None
        return effort_for(self.tree.arrays, self._graph, SearchRequest(k, recall=recall)) or Effort(_LONGEST)

    def search(self, Q: Floats, k: int, effort: Effort) -> Found:
        """The k best documents found with this effort."""
        assert self._graph is not None
        found = search_with_effort(self.tree.arrays, self._graph, Q, k, effort)
        return Found(found.documents, found.visited)

    def bytes(self) -> dict[str, int]:
        """Bytes of codes, links and entry points; nothing where there is no graph."""
        if self._graph is None:
            return {}
        arrays = self._graph.arrays
        parts = {
            "codes of leaves": arrays.codes.leaf.nbytes,
            "codes of concepts": arrays.codes.inner.nbytes,
            "links": _bytes(arrays.links),
        }
        return {**parts, "entry points": _bytes(arrays) - sum(parts.values())}


def _bytes(value: Any) -> int:
    """Bytes of the arrays in a nested tuple of arrays."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(_bytes(each) for each in value) if isinstance(value, tuple) else 0


# -- words -----------------------------------------------------------------------------------------


class WordIndex:
    """The words of texts, as an index that holds these texts has them."""

    def __init__(self, words: Words) -> None:
        self._words = words

    @classmethod
    def of(cls, texts: Sequence[str]) -> WordIndex:
        """Texts, numbered from 1 on, in the language that they tell."""
        return cls(Words.empty(detect_language(texts) or USUAL)).changed((), list(enumerate(texts, 1)))

    def changed(self, removed: Sequence[int], added: Sequence[tuple[int, str]]) -> WordIndex:
        """Without some texts, and with others."""
        new = [WordsOf(DocumentNumber(number), text, "") for number, text in added]
        return WordIndex(self._words.changed(map(DocumentNumber, removed), new))

    def shares(self, query: str) -> tuple[Longs, Doubles, float]:
        """The numbers of the texts that share a word with a query, the BM25 of each as a share of the best, and the
        weight of words for this query.
        """
        words = parse(query).words
        lexical = LexicalScores(self._words, words, 1.0)
        found = lexical.above(0.0)
        return found, lexical.of(found), LexicalScores(self._words, words, "auto").weight

    def best(self, query: str, k: int) -> list[int]:
        """The numbers of the k best."""
        found: list[int] = LexicalScores(self._words, parse(query).words, 1.0).best(k).tolist()
        return found

    def save(self, folder: Path) -> None:
        """Write them as a snapshot does."""
        write_bundle(folder, "words", self._words.to_bundle())
