"""Everything that changes in a `VectorIndex`, and its form on disk.

The core that searches read, under the lock of the index; the ids of its documents; their vectors as they came, where
the whitener may be fitted again; and the renewal that is under way. `staging` changes them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np

from gossamer.array_types import NONE, Floats, Longs
from gossamer.checks import LARGEST, one_of, positive, true_or_false
from gossamer.errors import ClosedError, CorruptError, DimensionError, ParameterError, StateError
from gossamer.files.bundle import CURE, Bundle, fold
from gossamer.graph import search_graph
from gossamer.graph.search_graph import SearchGraph
from gossamer.neighbours.all_pairs import ON_PROCESSOR, Comparison
from gossamer.neighbours.on_device import on_device
from gossamer.rank.guided import prepare
from gossamer.rank.path_sum_on_device import DevicePathSum
from gossamer.rank.request import as_context
from gossamer.rank.single import SingleSearch
from gossamer.results import DocId
from gossamer.runtime.locks import ReadWriteLock
from gossamer.tree.cobweb import CobwebTree, as_acuity
from gossamer.tree.history import History
from gossamer.vector_index.core import Core, Structure, auto_acuity
from gossamer.vector_index.ids import IdMap
from gossamer.vector_index.presets import PRESETS
from gossamer.vector_index.raw_vectors import RawVectors, Source
from gossamer.vector_index.renewal import Policy, Renewal
from gossamer.whitening.projection import Projection
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
    structure: Structure
    links: bool

    @classmethod
    def checked(cls, dim: Any, preset: Any, acuity: Any, context: Any, structure: Any, links: Any) -> Self:
        """The settings, or the error that says what is wrong with them."""
        one_of(preset, "preset", tuple(PRESETS))
        chosen = PRESETS[preset]
        wanted = chosen.acuity if acuity is None else acuity
        one_of(structure, "structure", ("preset", "living", "cobweb"))
        return cls(
            dim=positive(dim, "dim"),
            preset=preset,
            acuity="auto" if isinstance(wanted, str) and wanted == "auto" else as_acuity(wanted),
            context=as_context(chosen.context if context is None else context),
            structure=chosen.structure if structure == "preset" else structure,
            links=true_or_false(links, "links"),
        )

    @property
    def enough(self) -> int:
        """Documents from which on a whitener is fitted: a thousand, or four for each dimension if that is more."""
        return max(1000, 4 * self.dim)


class VectorState(Core):
    """Everything that changes in an index.

    template        the whitener to fit, and to fit again when the corpus has drifted; None where it is not to be fitted
    raw             vectors as they came, while there is a template
    clock           documents that came or went so far
    started         the clock when the documents were copied of which the tree was last agglomerated, or will be
    started_size    and how many there were
    settled         number of the first document that came since then; `settled_next`, of a renewal under way
    operation       changes so far, or the number that the owner of a log gives the last one
    history         what became of concepts
    sized_for       documents when the acuity of a tree of structure "cobweb" was last chosen
    renewal         the core that is being made, if one is
    comparison      how all pairs are compared; no part of what is saved
    """

    def __init__(self, settings: VectorSettings, whitener: Whitening | None, template: Whitening | None) -> None:
        dim = settings.dim if whitener is None else whitener.n_components_
        super().__init__(whitener, CobwebTree(dim, 5.0 if settings.acuity == "auto" else settings.acuity))
        self.settings = settings
        self.template = template
        self.raw: RawVectors | None = None if template is None else RawVectors()
        self.ids = IdMap()
        self.clock = self.started = self.started_size = self.sized_for = 0
        self.settled = self.settled_next = self.operation = 0
        self.history = History()
        self.renewal: Renewal | None = None
        self.comparison: Comparison = ON_PROCESSOR
        self.status: Literal["open", "closed", "broken"] = "open"
        self.lock = ReadWriteLock()
        self._single: SingleSearch | None = None

    @classmethod
    def create(cls, settings: VectorSettings, whitener: Whitening | Literal["preset"] | None) -> Self:
        """The state of an empty index."""
        given = PRESETS[settings.preset].whitening() if whitener == "preset" else whitener
        if given is not None and not isinstance(given, Whitening):
            raise ParameterError(f"whitener must be a Whitener, or None for vectors as they are, got {given!r}")
        if given is None:
            return cls(settings, None, None)
        if not hasattr(given, "components_"):
            given.check_parameters(settings.dim)
            return cls(settings, None, given)
        if given.n_features_in_ != settings.dim:
            raise DimensionError(f"the whitener takes {given.n_features_in_} dimensions, the index {settings.dim}")
        return cls(settings, given, None)

    @property
    def policy(self) -> Policy:
        """How a new core is made."""
        settings = self.settings
        acuity = None if settings.acuity == "auto" else settings.acuity
        return Policy(acuity, settings.links, self.template, settings.enough, settings.dim, self.comparison)

    def use_device(self, device: str | None) -> None:
        """Compare and rank with PyTorch on a device from now on; None for the processor alone."""
        if device is not None:
            self.comparison, self.path_sum = on_device(device), DevicePathSum(device)

    def check_open(self) -> None:
        """Raise unless the index can be used."""
        if self.status == "closed":
            raise ClosedError("this index was closed: create or load another")
        if self.status == "broken":
            raise StateError("a change failed half way and could not be undone: load the index from disk again")

    def new_tree(self, X: Floats) -> CobwebTree:
        """An empty tree for vectors such as X."""
        acuity = self.settings.acuity
        return CobwebTree(X.shape[1], auto_acuity(X) if acuity == "auto" else acuity)

    def prepare_graph(self) -> None:
        """Build and calibrate the search graph, as far as that is due; the caller holds the lock for writing."""
        neighbours = self.tree.take_neighbours()
        self.graph = prepare(
            self.tree.arrays, self.graph, linked=self.settings.links, neighbours=neighbours, comparison=self.comparison
        )

    def become(self, other: Core) -> None:
        """Take over the parts of another core."""
        self.forget_single_search()
        super().become(other)

    def forget_single_search(self) -> None:
        """Let go of what `single_search` refers to."""
        self._single = None

    def single_search(self) -> SingleSearch | None:
        """Searches for one query, where a walk along links answers it; prepared again when tree or graph changed."""
        t, graph = self.tree.skeleton, self.graph
        known = self._single
        if known is None or not known.is_of(t, graph):
            known = self._single = self._new_single(graph)
        return known

    def _new_single(self, graph: SearchGraph | None) -> SingleSearch | None:
        whitener, settings = self.whitener, self.settings
        if whitener is None or not whitener.on_sphere or settings.context or settings.structure != "living":
            return None
        if graph is None or not graph.complete or graph.calibration is None:
            return None
        projection = Projection(whitener.mean_, np.ascontiguousarray(whitener.components_.T))
        return SingleSearch(self.tree.skeleton, graph, projection)

    def numbers(self, ids: Iterable[DocId]) -> Longs:
        """The tree's numbers of documents."""
        return np.array([self.ids.number(id) for id in ids], np.int64)

    # -- disk --------------------------------------------------------------------------------------

    def to_bundle(self) -> Bundle:
        """Settings and arrays; the arrays are views of those in use."""
        settings = self.settings
        graph = search_graph.to_bundle(self.graph, self.tree.arrays, linked=settings.links)
        parts = {"tree": self.tree.to_bundle(), "guide": graph}
        if self.whitener is not None:
            parts["whitener"] = self.whitener.to_bundle()
        arrays = self.ids.to_arrays() | self.history.to_arrays()
        if self.raw is not None and self.raw.is_kept:
            arrays["raw_numbers"] = arrays["id_numbers"]
            arrays["raw"] = self.raw.of(list(self.ids)).reshape(-1, settings.dim)
        params: dict[str, Any] = {
            "dim": settings.dim,
            "preset": settings.preset,
            "acuity": settings.acuity,
            "context": settings.context,
            "structure": settings.structure,
            "sized_for": self.sized_for,
            "clock": self.clock,
            "started": self.started,
            "started_size": self.started_size,
            "settled": self.settled,
            "operation": self.operation,
            "to_be_fitted": None if self.template is None else _plain(self.template.get_params()),
        }
        return fold(parts, params, arrays)

    @classmethod
    def from_bundle(cls, bundle: Bundle, source: Source | None = None) -> Self:
        """The state that `to_bundle` described; `CorruptError` if its parts do not belong together.

        `source` reads vectors as they came, where its owner keeps them.
        """
        params = bundle.params
        try:
            tree = CobwebTree.from_bundle(bundle.part("tree"))
            whitener = Whitening.from_bundle(bundle.part("whitener")) if "whitener" in params else None
            template = None if params["to_be_fitted"] is None else Whitening(**params["to_be_fitted"])
            graph = bundle.part("guide")
            dim = bundle.whole("dim", 1, _MOST_DIMENSIONS)
            settings = VectorSettings.checked(
                dim,
                params["preset"],
                params["acuity"],
                params["context"],
                _saved_structure(params),
                graph.flag("links"),
            )
            state = cls(settings, whitener, template)
        except KeyError as error:
            raise CorruptError(f"the saved index lacks {error}: {CURE}") from error
        except (TypeError, ValueError, OverflowError) as error:  # InputError among them
            raise CorruptError(f"the settings of the saved index cannot be used ({error}): {CURE}") from error
        if state.tree.dim != tree.dim or (whitener is not None and whitener.n_features_in_ != dim):
            raise CorruptError(f"the saved tree has {tree.dim} dimensions, not {state.tree.dim}: {CURE}")
        documents = np.flatnonzero(tree.skeleton.leaf != NONE)
        state.tree = tree
        state.ids = IdMap.from_bundle(bundle, documents)
        t = tree.arrays if search_graph.reads_concepts(graph) else tree.skeleton
        state.graph = search_graph.from_bundle(graph, t)
        state.sized_for = bundle.whole("sized_for")
        if "clock" in params:
            state.clock, state.started = bundle.whole("clock"), bundle.whole("started")
            state.started_size, state.settled = bundle.whole("started_size"), bundle.whole("settled")
            state.operation = bundle.whole("operation")
            state.history = History.from_bundle(bundle)
        else:  # saved before trees were renewed as they grow
            state.clock = state.started = state.started_size = tree.n_documents
        state._restore_raw(bundle, documents, source)
        return state

    def _restore_raw(self, bundle: Bundle, documents: Longs, source: Source | None) -> None:
        """Vectors as they came, from the file or from a source; without either the whitener stays as it is."""
        if self.template is None:
            return
        saved = _saved_vectors(bundle, documents, self.settings.dim)
        if saved is not None and source is None:
            self.raw = RawVectors(vectors=dict(zip(self.ids.of(saved[0]).tolist(), saved[1], strict=True)))
        elif source is not None:
            self.raw = RawVectors(source)
        elif self.whitener is None:
            raise CorruptError(f"the saved index lacks 'raw', the vectors that a whitener is still fitted on: {CURE}")
        else:
            self.template = self.raw = None


def _saved_structure(params: dict[str, Any]) -> Any:
    """The structure; files of earlier versions say whether the tree was rebuilt as it doubled ("refine")."""
    if "structure" in params:
        return params["structure"]
    return "cobweb" if one_of(params["refine"] or "never", "refine", ("auto", "never")) == "never" else "living"


def _saved_vectors(bundle: Bundle, documents: Longs, dim: int) -> tuple[Longs, Floats] | None:
    """The numbers of the saved documents, and their vectors as they came; None where these were not saved."""
    if "raw" not in bundle.arrays:
        return None
    numbers = bundle.array("raw_numbers", np.int64, len(documents))
    raw = bundle.numbers("raw", np.float32, len(documents), dim, least=-LARGEST, most=LARGEST)
    if not np.array_equal(np.sort(numbers), documents):
        raise CorruptError(f"the saved vectors are those of other documents: {CURE}")
    return numbers, raw


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON can hold them."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
