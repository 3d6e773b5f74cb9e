"""What can be looked at in a `VectorIndex`: its tree, and where documents lie in it. Nothing here changes anything."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Doubles, Floats, Longs
from gossamer.checks import as_vectors
from gossamer.errors import ParameterError, StateError
from gossamer.rank.cosines import CosineBounds, cosine_bounds, cosines, narrower_bounds
from gossamer.results import ConceptChange, DocId
from gossamer.results.other_names import TellingNames, methods_of, unknown_attribute
from gossamer.tree.arrays import Meta
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.views import paths_to
from gossamer.vector_index.cutting import Cut, cut_into
from gossamer.vector_index.state import VectorState
from gossamer.whitening.whitening import Whitening


@methods_of("VectorIndex")
class VectorReader(metaclass=TellingNames):
    """The part of `VectorIndex` that looks at it."""

    state: VectorState

    if not TYPE_CHECKING:  # else types would not find misspelt names

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_attribute(self, name)

    @contextmanager
    def _reading(self) -> Iterator[VectorState]:
        """Many readers at a time, and no change meanwhile."""
        with self.state.lock.reading():
            self.state.check_open()
            yield self.state

    @property
    def dim(self) -> int:
        """Dimensions of the vectors that go in."""
        return self.state.settings.dim

    @property
    def tree(self) -> CobwebTree:
        """The concept tree, to look at; change it through the index alone."""
        self.state.check_open()
        return self.state.tree

    @property
    def whitener(self) -> Whitening | None:
        """The whitener, once it is fitted; None before, and where vectors are taken as they are."""
        return self.state.whitener

    def node_of(self, id: DocId) -> int:
        """The leaf of a document.

        >>> vx.node_of("fox") == vx.path("fox")[-1]
        True
        """
        return self.path(id)[-1]

    def path(self, id: DocId) -> tuple[int, ...]:
        """The nodes from the root to a document's leaf.

        >>> vx.path("fox")[0] == vx.tree.root
        True
        """
        return self.paths([id])[0]

    def paths(self, ids: Iterable[DocId]) -> list[tuple[int, ...]]:
        """The same for several documents.

        >>> [path[0] == vx.tree.root for path in vx.paths(["fox", "owl"])]
        [True, True]
        """
        with self._reading() as state:
            t = state.tree.skeleton
            return paths_to(t, t.leaf[state.numbers(ids)].tolist())

    def numbers_of(self, ids: Iterable[DocId]) -> Longs:
        """Documents as the tree numbers them."""
        with self._reading() as state:
            return state.numbers(ids)

    def ids_of(self, documents: npt.ArrayLike) -> list[DocId]:
        """The ids of documents as the tree numbers them."""
        with self._reading() as state:
            return state.ids.listed(np.asarray(documents, np.int64))

    def documents_below(self, node: int) -> list[DocId]:
        """The ids of the documents below a node.

        >>> sorted(vx.documents_below(vx.tree.root))
        ['fish', 'fox', 'owl']
        """
        with self._reading() as state:
            return state.ids.listed(state.tree.documents_below(node))

    def cut(self, n: int) -> Cut:
        """The documents in `n` groups: the cut of the tree with the highest utility, whatever the depth.

        There are no more groups than different vectors.

        >>> len(vx.cut(2).members)
        2
        """
        with self._reading() as state:
            return cut_into(state, n)

    def __len__(self) -> int:
        self.state.check_open()
        return len(self.state.ids)

    def __contains__(self, id: object) -> bool:
        self.state.check_open()
        return id in self.state.ids

    def check(self) -> None:
        """Raise `InvariantError` if the index is inconsistent with itself.

        >>> vx.check()
        """
        with self._reading() as state:
            state.tree.check()
            if state.tree.n_documents != len(state.ids):
                raise StateError(f"{state.tree.n_documents} documents in the tree but {len(state.ids)} ids")

    def changes(self, since: int) -> list[ConceptChange]:
        """Which concepts are new, grown, shrunk, merged, split or gone since an operation, large ones first.

        Operations are counted by `operation`: each call that changed the index is one. Concepts are recorded when the
        tree is agglomerated again, so changes are told since the last record before `since`; since the newest operation
        there are none.

        >>> vx.changes(since=vx.operation)
        []
        """
        if isinstance(since, bool) or not isinstance(since, int | np.integer):
            raise ParameterError(f"since must be the number of an operation, got {since!r}")
        with self._reading() as state:
            if since > state.operation:
                raise ParameterError(
                    f"since={since:,} is still to come: the newest operation is number {state.operation:,}"
                )
            return [] if since == state.operation else state.history.since(since, state.tree.skeleton)

    @property
    def operation(self) -> int:
        """The number of the last operation."""
        return self.state.operation

    # -- cosines, for an index of texts -------------------------------------------------------------

    def similarity(self, x: Floats, documents: Longs) -> Doubles:
        """The cosine between a query that `project` made and each document, in the tree's space and numbering."""
        with self._reading() as state:
            return cosines(state.tree.skeleton, x[None], documents[None]).reshape(-1)

    def similarity_bounds(self, x: Floats, documents: Longs | None = None) -> CosineBounds:
        """Between what the same is for every document, in a third of the time; narrower for some, in half."""
        with self._reading() as state:
            graph, t = state.graph, state.tree.skeleton
            if documents is not None:
                return narrower_bounds(t, x, documents)
            usable = graph is not None and graph.complete and graph.version == t.meta[Meta.CHANGES]
            return cosine_bounds(t, graph.arrays.codes if graph and usable else None, x, state.tree.next_document)

    def project(self, Q: npt.ArrayLike) -> Floats:
        """Queries in the tree's space: whitened, where the whitener is fitted."""
        Q = as_vectors(Q, self.dim, what="queries")
        with self._reading() as state:
            return state.project(Q)
