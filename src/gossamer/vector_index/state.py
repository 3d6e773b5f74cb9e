"""The parts of a `VectorIndex`, and their form on disk.

A whitener, a tree over the projected vectors, the ids of its documents and the search graph. Searches read them
under the lock of the index; `staging` replaces or changes them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Floats, Ints, Longs
from gossamer.checks import LARGEST, one_of, positive
from gossamer.errors import ClosedError, CorruptError, DimensionError, InputError, StateError
from gossamer.files.bundle import CURE, Bundle, fold
from gossamer.graph import search_graph
from gossamer.graph.search_graph import SearchGraph
from gossamer.rank.guided import prepare
from gossamer.rank.path_sum import PathSum
from gossamer.rank.request import as_context
from gossamer.results import DocId
from gossamer.runtime.locks import ReadWriteLock
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.structure import sibling_leaves
from gossamer.vector_index.ids import IdMap
from gossamer.vector_index.presets import PRESETS
from gossamer.whitening.spectrum import mean_variance, winsorised
from gossamer.whitening.whitening import Whitening

Acuity: TypeAlias = float | Literal["auto"]

_MOST_DIMENSIONS: Final = 2**31
"""No index has as many dimensions; a damaged file may claim it."""


@dataclass(frozen=True)
class VectorSettings:
    """What an index was created with; None where the preset decides."""

    dim: int
    preset: str
    acuity: Acuity
    context: float
    refine: Literal["auto"] | None
    """"auto" to rebuild the tree whenever the index has doubled."""
    links: bool

    @classmethod
    def checked(cls, dim: Any, preset: Any, acuity: Any, context: Any, refine: Any, links: Any) -> Self:
        """The settings, or the error that says what is wrong with them."""
        one_of(preset, "preset", tuple(PRESETS))
        chosen = PRESETS[preset]
        wanted = chosen.acuity if acuity is None else acuity
        one_of(refine or "auto", "refine", ("preset", "auto"))
        return cls(
            dim=positive(dim, "dim"),
            preset=preset,
            acuity="auto" if wanted == "auto" else float(wanted),
            context=as_context(chosen.context if context is None else context),
            refine=chosen.refine if refine == "preset" else refine,
            links=bool(links),
        )

    @property
    def enough(self) -> int:
        """Documents from which on a whitener is fitted: a thousand, or four for each dimension if that is more."""
        return max(1000, 4 * self.dim)


@dataclass
class VectorState:
    """Everything that changes in an index."""

    settings: VectorSettings
    whitener: Whitening | None = None
    """In use; None while vectors are taken as they are."""
    unfitted: Whitening | None = None
    """Waiting for enough vectors to be fitted on."""
    tree: CobwebTree = field(init=False)
    ids: IdMap = field(default_factory=IdMap)
    raw: dict[int, Floats] | None = field(default_factory=dict)
    """Vectors by document while the whitener or the acuity is still to be chosen; None after that."""
    sized_for: int = 0
    """Documents when the acuity was last chosen."""
    rebuilt_for: int = 0
    """Documents when the tree was last agglomerated."""
    path_sum: PathSum = field(default_factory=PathSum)
    graph: SearchGraph | None = None
    status: Literal["open", "closed", "broken"] = "open"
    lock: ReadWriteLock = field(default_factory=ReadWriteLock)

    def __post_init__(self) -> None:
        self.tree = self.new_tree(self.project(np.zeros((0, self.settings.dim), np.float32)))

    @classmethod
    def create(cls, settings: VectorSettings, whitener: Whitening | Literal["preset"] | None) -> Self:
        """The state of an empty index."""
        given = PRESETS[settings.preset].whitening() if whitener == "preset" else whitener
        if given is None or not hasattr(given, "components_"):
            return cls(settings, unfitted=given)
        if given.n_features_in_ != settings.dim:
            raise DimensionError(f"the whitener takes {given.n_features_in_} dimensions, the index {settings.dim}")
        return cls(settings, whitener=given)

    def check_open(self) -> None:
        """Raise unless the index can be used."""
        if self.status == "closed":
            raise ClosedError("this index was closed: create or load another")
        if self.status == "broken":
            raise StateError("a change failed half way and could not be undone: load the index from disk again")

    def project(self, E: Floats) -> Floats:
        """Checked vectors in the tree's space."""
        return E if self.whitener is None else finite(self.whitener.project(E))

    def new_tree(self, X: Floats) -> CobwebTree:
        """An empty tree for vectors such as X."""
        acuity = self.settings.acuity
        return CobwebTree(X.shape[1], auto_acuity(X) if acuity == "auto" else acuity)

    def tree_shape(self, whitener: Whitening | None) -> dict[str, Any]:
        """How the tree is agglomerated: at the scale that dimensions had before whitening, and flat if context counts.

        Whitening is for search: it changes which documents are near each other, and agrees less with what people call
        a topic. The tree finds as many of the nearest either way.
        """
        scale = None if whitener is None else whitener.unwhitening_scales()
        return {"scale": scale, "flat": self.settings.context != 0.0}

    def prepare_graph(self) -> None:
        """Build and calibrate the search graph, as far as that is due; the caller holds the lock for writing."""
        neighbours = self.tree.take_neighbours()
        self.graph = prepare(self.tree.arrays, self.graph, linked=self.settings.links, neighbours=neighbours)

    def numbers(self, ids: Iterable[DocId]) -> Longs:
        """The tree's numbers of documents."""
        return np.array([self.ids.number(id) for id in ids], np.int64)

    def remove(self, ids: list[DocId]) -> tuple[Ints, Ints]:
        """Remove documents from the tree; returns the rows of their leaves, and siblings of these leaves."""
        numbers, arrays = self.numbers(ids), self.tree.arrays
        leaves = arrays.leaf[numbers]
        rows, siblings = arrays.row[leaves], sibling_leaves(arrays, leaves)
        if len(numbers):
            self.tree.remove(numbers.tolist())
        self.ids.forget(ids)
        if self.raw is not None:
            for number in numbers.tolist():
                del self.raw[number]
        return rows, siblings

    # -- disk --------------------------------------------------------------------------------------

    def to_bundle(self) -> Bundle:
        """Settings and arrays; the arrays are views of those in use."""
        settings = self.settings
        graph = search_graph.to_bundle(self.graph, self.tree.arrays, linked=settings.links)
        parts = {"tree": self.tree.to_bundle(), "guide": graph}
        if self.whitener is not None:
            parts["whitener"] = self.whitener.to_bundle()
        arrays = self.ids.to_arrays()
        if self.raw is not None:
            arrays["raw_numbers"] = np.array(list(self.raw), np.int64)
            arrays["raw"] = np.array(list(self.raw.values()), np.float32).reshape(-1, settings.dim)
        params: dict[str, Any] = {
            "dim": settings.dim,
            "preset": settings.preset,
            "acuity": settings.acuity,
            "context": settings.context,
            "refine": settings.refine,
            "sized_for": self.sized_for,
            "refined_for": self.rebuilt_for,
            "to_be_fitted": None if self.unfitted is None else _plain(self.unfitted.get_params()),
        }
        return fold(parts, params, arrays)

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        """The state that `to_bundle` described; `CorruptError` if its parts do not belong together."""
        params = bundle.params
        try:
            tree = CobwebTree.from_bundle(bundle.part("tree"))
            whitener = None
            if "whitener" in params:
                whitener = Whitening.from_bundle(bundle.part("whitener"))
            elif params["to_be_fitted"] is not None:
                whitener = Whitening(**params["to_be_fitted"])
            graph = bundle.part("guide")
            dim = bundle.whole("dim", 1, _MOST_DIMENSIONS)
            settings = VectorSettings.checked(
                dim, params["preset"], params["acuity"], params["context"], params["refine"], graph.flag("links")
            )
            state = cls.create(settings, whitener)
        except KeyError as error:
            raise CorruptError(f"the saved index lacks {error}: {CURE}") from error
        except (TypeError, ValueError, OverflowError) as error:  # InputError among them
            raise CorruptError(f"the settings of the saved index cannot be used ({error}): {CURE}") from error
        if state.tree.dim != tree.dim:
            raise CorruptError(f"the saved tree has {tree.dim} dimensions, not {state.tree.dim}: {CURE}")
        documents = np.flatnonzero(tree.arrays.leaf != NONE)
        state.tree = tree
        state.ids = IdMap.from_bundle(bundle, documents)
        state.graph = search_graph.from_bundle(graph, tree.arrays)
        state.sized_for, state.rebuilt_for = bundle.whole("sized_for"), bundle.whole("refined_for")
        state.raw = _saved_vectors(bundle, documents, dim)
        if state.raw is None and state.unfitted is not None:
            raise CorruptError(f"the saved index lacks 'raw', the vectors that a whitener is still fitted on: {CURE}")
        return state


def auto_acuity(X: Floats) -> float:
    """What acuity="auto" stands for with the vectors X: five times the mean variance of a dimension."""
    variance, squared_mean = mean_variance(winsorised(X))
    # One document, or copies of one, have no variance; the size of their values gives the scale.
    return 5.0 * (variance if variance > 1e-12 * squared_mean else squared_mean or 1.0)


def finite(X: Floats) -> Floats:
    """Projected vectors, if float32 can hold them. On a sphere it always can."""
    if np.vdot(X, X) < LARGEST**2:
        return X
    with np.errstate(invalid="ignore"):
        fine = (np.abs(X) <= LARGEST).all(axis=1)
    if not fine.all():
        row = int(np.argmin(fine))
        raise InputError(
            f"vectors: row {row} is so far from what the whitener was fitted on that float32 cannot hold it: "
            "rescale it, or use a whitener with sphere=True"
        )
    return X


def _saved_vectors(bundle: Bundle, documents: npt.NDArray[np.int64], dim: int) -> dict[int, Floats] | None:
    if "raw" not in bundle.arrays:
        return None
    numbers = bundle.array("raw_numbers", np.int64, len(documents))
    raw = bundle.numbers("raw", np.float32, len(documents), dim, least=-LARGEST, most=LARGEST)
    if not np.array_equal(np.sort(numbers), documents):
        raise CorruptError(f"the saved vectors are those of other documents: {CURE}")
    return dict(zip(numbers.tolist(), raw, strict=True))


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON can hold them."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
