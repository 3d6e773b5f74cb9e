"""CobwebTree: a Cobweb/4V tree of concepts over vectors, grown one document at a time or agglomerated at once."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Longs
from gossamer.checks import as_vectors, positive
from gossamer.errors import CorruptError, DimensionError, InvariantError, ParameterError, UnknownIdError
from gossamer.files.bundle import CURE, Bundle, read_bundle, write_bundle
from gossamer.results import Refinement, TreeStats
from gossamer.results.progress import Progress
from gossamer.runtime.interrupts import uninterrupted
from gossamer.tree import views
from gossamer.tree.agglomeration import LARGEST_GROUP
from gossamer.tree.arrays import RESERVE, Limit, Meta, TreeArrays, empty_arrays, used, with_room
from gossamer.tree.insertion import insert_rows
from gossamer.tree.moments import SavedMoments, moments_to_save
from gossamer.tree.placement import insert_by_scan
from gossamer.tree.rebuild import BuildOptions, Neighbours, in_tree_order, rebuild_arrays, total_utility
from gossamer.tree.removal import remove_documents
from gossamer.tree.structure import rehash
from gossamer.tree.validation import SAVED_MOMENTS, SCATTER, as_tree, check_tree, with_moments
from gossamer.tree.views import NodeView

_CHUNK = 4096
"""Rows inserted by one call of a kernel: between two calls progress is reported, and Ctrl-C is seen."""


def _by_share(progress: Progress | None, total: int, part: int = 0, parts: int = 1) -> Callable[[float], None]:
    """A function of the share that is done of one part, which reports progress over all parts."""

    def report(share: float) -> None:
        if progress is not None:
            progress(int((part + share) / parts * total), total)

    return report


def _unusable(error: InvariantError) -> CorruptError:
    return CorruptError(f"the saved tree cannot be used, because {error}: {CURE}")


def as_acuity(acuity: Any) -> float:
    """An acuity, checked."""
    number = acuity.item() if isinstance(acuity, np.generic) else acuity
    if isinstance(number, bool) or not isinstance(number, int | float) or not 1e-60 < number < 1e60:
        raise ParameterError(f"acuity must be a positive number (between 1e-60 and 1e60), got {acuity!r}")
    return float(number)


class CobwebTree:
    """A tree of concepts over vectors. Documents are numbered 0, 1, 2 ... as they come; a number is not used again.

    Not safe to use from several threads while one of them changes it; `VectorIndex` adds the lock.

    >>> tree = CobwebTree(dim=2, acuity=5.0)
    >>> tree.insert_many([[0, 0], [9, 9], [0, 1], [9, 8]])
    array([0, 1, 2, 3])
    >>> sorted(child.documents for child in tree.node(tree.root).child_nodes)
    [(0, 2), (1, 3)]
    >>> tree.remove(3)
    >>> tree.n_documents
    3
    """

    PAPER_ACUITY: ClassVar[float] = 1.0 / (2.0 * math.pi * math.e)
    """1/(2πe): with it a single document has zero differential entropy. Far too small for good trees."""

    MAX_DIM: ClassVar[int] = 4096

    def __init__(self, dim: int, acuity: float = 5.0) -> None:
        """A tree for vectors of `dim` dimensions.

        `acuity` is added to every variance. A good value is five times the mean variance of a dimension; the default
        suits vectors whose dimensions have variance one.
        """
        if isinstance(dim, bool) or not isinstance(dim, int | np.integer) or not 1 <= dim <= self.MAX_DIM:
            raise DimensionError(f"dim must be a whole number from 1 to {self.MAX_DIM}, got {dim!r}")
        self._t = empty_arrays(int(dim), as_acuity(acuity))
        self._pending: SavedMoments | None = None  # what is known of moments that are computed when asked for
        self._completing = Lock()
        self._neighbours: Neighbours | None = None

    # -- insertion and removal ---------------------------------------------------------------------

    def insert(self, x: npt.ArrayLike) -> int:
        """Insert one vector; returns its document number.

        >>> CobwebTree(dim=2).insert([0.5, 1.0])
        0
        """
        X = as_vectors(x, self.dim)
        if len(X) != 1:
            raise DimensionError(f"insert takes one vector, got {len(X)}: use insert_many")
        return int(self.insert_many(X)[0])

    def insert_many(self, X: npt.ArrayLike, *, progress: Callable[[int, int], None] | None = None) -> Longs:
        """Insert the rows of X in order; returns their document numbers.

        `progress(done, total)` is called after every few thousand rows. An exception from it, or Ctrl-C, stops there:
        the rows reported so far are in the tree, which is valid, and the rest are not.

        >>> CobwebTree(dim=2).insert_many([[0, 0], [9, 9]]).tolist()
        [0, 1]
        """
        X = as_vectors(X, self.dim)
        first = self.next_document
        with uninterrupted():
            # For all rows at once: to copy all vectors again and again takes a third of the time.
            self._make_room(len(X) + RESERVE)
        for start in range(0, len(X), _CHUNK):
            chunk = X[start : start + _CHUNK]
            with uninterrupted():
                self._insert_chunk(chunk)
            if progress is not None:
                progress(start + len(chunk), len(X))
        return np.arange(first, first + len(X), dtype=np.int64)

    def reserve(self, documents: int) -> None:
        """Make room for so many more documents, so that inserting them allocates nothing and cannot fail."""
        with uninterrupted():
            if not self.has_room(documents):
                self._make_room(documents + RESERVE, 2 * documents + 2 * RESERVE)

    def has_room(self, documents: int) -> bool:
        """Whether so many documents can be inserted without making room."""
        meta, t = self._t.meta, self._t
        inners = 2 * documents + RESERVE
        return bool(
            len(t.size) >= meta[Meta.SLOTS] + documents + inners
            and len(t.vectors) >= meta[Meta.LEAF_ROWS] + documents
            and len(t.mean) >= meta[Meta.INNER_ROWS] + inners
            and len(t.leaf) >= meta[Meta.NEXT_DOCUMENT] + documents
            and len(t.bucket) >= meta[Meta.LEAVES] + documents + 1
        )

    def place_reserved(self, X: npt.NDArray[np.float32]) -> None:
        """Insert rows that were checked, and that `reserve` made room for, each beside the leaf nearest to it."""
        with uninterrupted():
            done = insert_by_scan(self.arrays, X, 0)
            while done < len(X):
                self._make_room(len(X), 2 * len(X) + RESERVE)
                done = insert_by_scan(self._t, X, done)

    def insert_reserved(self, X: npt.NDArray[np.float32]) -> None:
        """Insert rows that were checked, and that `reserve` made room for; cannot fail."""
        with uninterrupted():
            self._insert_chunk(X)

    def _insert_chunk(self, X: npt.NDArray[np.float32]) -> None:
        self._make_room(len(X))
        done, node = insert_rows(self.arrays, X, 0, NONE)
        while done < len(X):
            # More concepts than expected: over half as many as documents, or many merges for one document.
            self._make_room(len(X))
            done, node = insert_rows(self._t, X, done, node)

    def _make_room(self, documents: int, inners: int | None = None) -> None:
        self._t = with_room(self.arrays, documents, inners)
        leaves = int(self._t.meta[Meta.LEAVES]) + documents
        if leaves > len(self._t.bucket):
            self._t = self._t._replace(bucket=np.empty(1 << (leaves - 1).bit_length(), np.int32))
            rehash(self._t)

    def remove(self, documents: int | Iterable[int]) -> None:
        """Remove one document, or several at once: all of them or, if one is not there, none.

        >>> tree = CobwebTree(dim=2)
        >>> numbers = tree.insert_many([[0, 0], [9, 9], [0, 1]])
        >>> tree.remove([0, 1])
        >>> len(tree)
        1
        """
        numbers = list(documents) if isinstance(documents, Iterable) else [documents]
        gone = np.array([self._known_document(document) for document in numbers], np.int64)
        if len(np.unique(gone)) < len(gone):
            raise UnknownIdError("the same document is named twice: each can be removed once")
        with uninterrupted():
            remove_documents(self.arrays, gone)

    # -- agglomeration -----------------------------------------------------------------------------

    def agglomerate(self, X: npt.ArrayLike, *, keep: int = 0, progress: Progress | None = None) -> Longs:
        """Insert the rows of X and rebuild the tree over all documents; returns the numbers of the new ones.

        The tree is that of `insert_many` and `rebuild`, in less time: the way to load much into an empty tree. All rows
        are inserted or, after an error or Ctrl-C, none. For the options see `rebuild`.

        >>> CobwebTree(dim=2).agglomerate([[0, 0], [9, 9], [0, 1]]).tolist()
        [0, 1, 2]
        """
        X = as_vectors(X, self.dim)
        first = self.next_document
        options = BuildOptions(keep)
        self._rebuild(X, options, _by_share(progress, self.n_documents + len(X)))
        return np.arange(first, first + len(X), dtype=np.int64)

    def agglomerated(self, X: npt.NDArray[np.float32], *, progress: Progress | None = None) -> TreeArrays:
        """The tree that `agglomerate` would make, beside this one, which does not change until `replace_arrays`.

        `reserve` must have made room for X, because both trees share the vectors.
        """
        report = _by_share(progress, self.n_documents + len(X))
        new, _ = rebuild_arrays(self.arrays, X, BuildOptions(), report)
        report(1.0)
        return new

    def replace_arrays(self, arrays: TreeArrays) -> None:
        """Become the tree that `agglomerated` made."""
        self._t, self._pending, self._neighbours = arrays, None, None

    def rebuild(
        self, passes: int = 1, *, keep: int = 0, largest_group: int = LARGEST_GROUP, progress: Progress | None = None
    ) -> Refinement:
        """Build a new tree over all documents, by Ward's rule; returns the utility before and after.

        The result depends on the documents, not on the order in which they came. Documents and leaves keep their ids,
        concepts are new. `progress` is called as by `insert_many`; after Ctrl-C the tree is that of the last whole
        pass. Meanwhile memory holds a second tree, the vectors twice more, and a kilobyte for each leaf.

        passes: up to `largest_group` leaves are compared each with each, in one pass. More are compared in groups of
            leaves that are near by a first look; each further pass groups them by the tree of the pass before.
        keep: how many nearest neighbours of each leaf `take_neighbours` returns.

        >>> tree = CobwebTree(dim=2)
        >>> numbers = tree.insert_many([[0, 0], [9, 9], [0, 1], [9, 8]])
        >>> tree.rebuild().passes
        1
        """
        passes, largest_group = positive(passes, "passes"), positive(largest_group, "largest_group")
        options = BuildOptions(keep, largest_group=largest_group)
        needed = passes if self._t.meta[Meta.LEAVES] > largest_group else 1
        before = total_utility(self.arrays)
        no_rows = np.zeros((0, self.dim), np.float32)
        for number in range(needed):
            report = _by_share(progress, self.n_documents, number, needed)
            self._rebuild(no_rows, options._replace(by_tree=number > 0), report)
        return Refinement(needed, before, total_utility(self.arrays))

    def refine(self, passes: int = 1, **options: Any) -> Refinement:
        """The old name of `rebuild`."""
        return self.rebuild(passes, **options)

    def take_neighbours(self) -> Neighbours | None:
        """The nearest neighbours that `agglomerate` or `rebuild` kept, once, and if nothing has changed since."""
        neighbours, self._neighbours = self._neighbours, None
        fresh = neighbours is not None and neighbours.changes == self._t.meta[Meta.CHANGES]
        return neighbours if fresh else None

    def _rebuild(self, X: npt.NDArray[np.float32], options: BuildOptions, report: Callable[[float], None]) -> None:
        """Rebuild with the rows of X. The tree in use stays as it is until the new one is whole."""
        with uninterrupted():
            self._make_room(len(X) + RESERVE, 0)  # here, because the new tree shares the vectors
        new, neighbours = rebuild_arrays(self.arrays, X, options, report)
        if len(X) and not self._t.meta[Meta.LEAF_ROWS]:
            new = in_tree_order(new)
        report(1.0)
        self._t, self._neighbours = new, neighbours if options.keep else None

    # -- reading -----------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return self._t.vectors.shape[1]

    @property
    def acuity(self) -> float:
        """The number that is added to every variance."""
        return float(self._t.limits[Limit.ACUITY])

    @property
    def n_documents(self) -> int:
        """Documents in the tree."""
        return int(self._t.meta[Meta.DOCUMENTS])

    @property
    def n_nodes(self) -> int:
        """Nodes in the tree, leaves included."""
        return int(self._t.meta[Meta.NODES])

    @property
    def next_document(self) -> int:
        """The number the next document will get."""
        return int(self._t.meta[Meta.NEXT_DOCUMENT])

    @property
    def root(self) -> int:
        """The id of the root; -1 for an empty tree. It changes when a node is made above the root."""
        return int(self._t.meta[Meta.ROOT])

    @property
    def depth(self) -> int:
        """Steps from the root to the deepest leaf."""
        return views.depth(self._t)

    @property
    def arrays(self) -> TreeArrays:
        """The state, for kernels to read; only this class writes it. Computes moments that were not saved."""
        if self._pending is not None:
            self._compute_moments()
        return self._t

    @property
    def skeleton(self) -> TreeArrays:
        """The state, in which moments of concepts other than the root may be missing: enough for searches and paths.

        >>> tree = CobwebTree(dim=2)
        >>> tree.skeleton.size is tree.arrays.size
        True
        """
        return self._t

    @property
    def has_moments(self) -> bool:
        """Whether the moments of all concepts are in memory.

        >>> CobwebTree(dim=2).has_moments
        True
        """
        return self._pending is None

    def _compute_moments(self) -> None:
        with self._completing:  # many threads may read at once
            if self._pending is None:
                return
            try:
                self._t = with_moments(self._t, self._pending.rows)
            except InvariantError as error:
                raise _unusable(error) from error
            self._pending = None  # last: whoever sees this sees the arrays above

    def spreads(self, nodes: Sequence[int]) -> Doubles:
        """√(Σ M2 / n) of internal nodes: how far documents are from their mean.

        >>> tree = CobwebTree(dim=2)
        >>> numbers = tree.insert_many([[0, 0], [3, 4]])
        >>> tree.spreads([tree.root]).tolist()
        [2.5]
        """
        pending, t, places = self._pending, self._t, np.array(nodes, np.int64)
        rows = t.row[places]
        scatter = t.m2[rows].sum(axis=1) if pending is None else pending.scatter[rows]
        found: Doubles = np.sqrt(scatter / t.size[places])
        return found

    def __len__(self) -> int:
        return self.n_documents

    def __repr__(self) -> str:
        return f"CobwebTree(dim={self.dim}, acuity={self.acuity:g}, documents={self.n_documents}, nodes={self.n_nodes})"

    def node(self, node: int) -> NodeView:
        """A read-only view of a node. The id of a node does not change while the node exists.

        >>> tree = CobwebTree(dim=2)
        >>> tree.node(tree.leaf(tree.insert([0.5, 1.0]))).mean.tolist()
        [0.5, 1.0]
        """
        return NodeView(self.arrays, node)

    def documents_below(self, node: int) -> Longs:
        """The documents below a node, in ascending order.

        >>> tree = CobwebTree(dim=2)
        >>> numbers = tree.insert_many([[0, 0], [9, 9]])
        >>> tree.documents_below(tree.root).tolist()
        [0, 1]
        """
        return views.documents_below(self._t, NodeView(self._t, node).id)

    def leaf(self, document: int) -> int:
        """The id of the leaf that holds a document.

        >>> tree = CobwebTree(dim=2)
        >>> tree.leaf(tree.insert([0.5, 1.0])) == tree.root
        True
        """
        return int(self._t.leaf[self._known_document(document)])

    def path(self, document: int) -> tuple[int, ...]:
        """The nodes from the root to the document's leaf.

        >>> tree = CobwebTree(dim=2)
        >>> numbers = tree.insert_many([[0, 0], [9, 9]])
        >>> tree.path(1) == (tree.root, tree.leaf(1))
        True
        """
        node = self.leaf(document)
        path = [node]
        while (node := int(self._t.parent[node])) != NONE:
            path.append(node)
        return tuple(reversed(path))

    def stats(self) -> TreeStats:
        """The shape of the tree, and how often each operator was applied.

        >>> tree = CobwebTree(dim=2)
        >>> numbers = tree.insert_many([[0, 0], [9, 9]])
        >>> tree.stats().leaves, tree.stats().operators["fringe"]
        (2, 1)
        """
        meta = self._t.meta
        branching = Counter(views.branching(self._t).tolist())
        return TreeStats(
            documents=self.n_documents,
            nodes=self.n_nodes,
            leaves=int(meta[Meta.LEAVES]),
            depth=self.depth,
            widest=max(branching, default=0),
            branching=dict(sorted(branching.items())),
            operators={
                "insert": int(meta[Meta.INSERTED]),
                "new": int(meta[Meta.CREATED]),
                "merge": int(meta[Meta.MERGED]),
                "split": int(meta[Meta.SPLIT]),
                "fringe": int(meta[Meta.FRINGE]),
                "join": int(meta[Meta.JOINED]),
            },
        )

    def check(self) -> None:
        """Raise `InvariantError` if anything in the tree is inconsistent: links, counts, moments, entropies.

        >>> CobwebTree(dim=2).check()
        """
        check_tree(self.arrays)

    def _known_document(self, document: Any) -> int:
        if not isinstance(document, int | np.integer) or isinstance(document, bool):
            raise UnknownIdError(f"documents are named by their numbers, got {document!r}")
        made = self.next_document
        if not 0 <= document < made or self._t.leaf[document] == NONE:
            reason = "was removed" if 0 <= document < made else f"never was: numbers so far end at {made - 1}"
            raise UnknownIdError(f"document {document} is not in the tree: it {reason}")
        return int(document)

    # -- disk --------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tree into the folder `path`: safetensors and a manifest with checksums.

        >>> CobwebTree(dim=2).save("tree")
        """
        write_bundle(path, "tree", self.to_bundle())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CobwebTree:
        """Read a tree that `save` wrote: it has the same ids and grows as the saved one would have.

        >>> CobwebTree(dim=2).save("tree")
        >>> CobwebTree.load("tree")
        CobwebTree(dim=2, acuity=5, documents=0, nodes=0)
        """
        return cls.from_bundle(read_bundle(path, "tree"))

    def to_bundle(self) -> Bundle:
        """The tree as settings and arrays."""
        t = self.arrays
        saved = moments_to_save(t)
        arrays = used(t) | {"mean": t.mean[saved.rows], "m2": t.m2[saved.rows]}
        arrays |= {SAVED_MOMENTS: saved.rows, SCATTER: saved.scatter}
        return Bundle({"dim": self.dim, "acuity": self.acuity, "documents": self.n_documents}, arrays)

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> CobwebTree:
        """The tree that `to_bundle` described."""
        dim, acuity = bundle.whole("dim", 1, cls.MAX_DIM), bundle.number("acuity", 0.0, 1e60)
        try:
            arrays, pending = as_tree(bundle.arrays, dim)
        except InvariantError as error:
            raise _unusable(error) from error
        if arrays.limits[Limit.ACUITY] != acuity or arrays.meta[Meta.DOCUMENTS] != bundle.whole("documents"):
            raise CorruptError(f"the settings of the saved tree are those of another one: {CURE}")
        tree = cls(dim, acuity)
        tree._t, tree._pending = arrays, pending
        return tree
