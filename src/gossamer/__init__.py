"""Gossamer: hierarchical semantic retrieval with Cobweb.

Where things are, in the order data flows (docs/architecture.md has the map):

    errors, results    every error; what the calls return
    encoders           text → vectors                      known_encoders, load_encoder
    whitening          vectors → decorrelated vectors      Whitener
    neighbours         vectors → nearest vectors
    tree               vectors → a tree of concepts        CobwebTree
    graph              leaves → near leaves                what makes a search fast
    lexical            words → scores
    rank               query → documents                   the paper's two rankers, and ours
    explain            concepts → words                    labels, exemplars, novelty
    vector_index       all of these for vectors            VectorIndex
    store              documents, log and snapshots on disk
    filters, readers   conditions → documents; files → records
    index              text in, explained answers out      Index: read this first
    cli, server, client, pictures, cluster                 surfaces

Importing this package is cheap: names load on first use.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer.client import AsyncClient, Client
    from gossamer.errors import GossamerError
    from gossamer.index import Encoded, Index
    from gossamer.results import (
        Axis,
        Compaction,
        Concept,
        ConceptChange,
        ConceptMatch,
        ConceptStep,
        Document,
        Exemplar,
        Explanation,
        Facet,
        Facets,
        FacetValue,
        Hit,
        Hits,
        IndexInfo,
        LabelRequest,
        LostDocument,
        NearDuplicates,
        Novelty,
        Outline,
        Passage,
        PathStep,
        Plane,
        Refinement,
        Region,
        Repair,
        Rival,
        SearchResult,
        Topics,
        TreeStats,
        VectorExplanation,
    )  # fmt: skip
    from gossamer.tree.cobweb import CobwebTree
    from gossamer.vector_index import Cut, VectorIndex
    from gossamer.whitening.whitener import Whitener

__all__ = [
    "AsyncClient", "Axis", "Client", "CobwebTree", "Compaction", "Concept", "ConceptChange", "ConceptMatch",
    "ConceptStep", "Cut", "Document", "Encoded", "Exemplar", "Explanation", "Facet", "FacetValue", "Facets",
    "GossamerError", "Hit", "Hits", "Index", "IndexInfo", "LabelRequest", "LostDocument", "NearDuplicates",
    "Novelty", "Outline", "Passage", "PathStep", "Plane", "Refinement", "Region", "Repair", "Rival", "SearchResult",
    "Topics", "TreeStats", "VectorExplanation", "VectorIndex", "Whitener", "__version__",
]  # fmt: skip

_HOME = {
    "AsyncClient": "gossamer.client",
    "Client": "gossamer.client",
    "CobwebTree": "gossamer.tree.cobweb",
    "Cut": "gossamer.vector_index",
    "Encoded": "gossamer.index",
    "GossamerError": "gossamer.errors",
    "Index": "gossamer.index",
    "VectorIndex": "gossamer.vector_index",
    "Whitener": "gossamer.whitening.whitener",
}
"""The modules of the public names; all others are in gossamer.results."""


_INDEX = "Index.create(path) for a new index, Index.open(path) for one that is there"
_OF_INDEXES = (
    "PersistentClient", "EphemeralClient", "HttpClient", "Collection", "Chroma", "Embeddings", "VectorStore",
    "VectorStoreIndex", "connect", "open", "load", "create",
)  # fmt: skip
_OF_VECTORS = ("IndexFlatL2", "IndexFlatIP", "IndexHNSWFlat", "IndexIVFFlat", "index_factory")
_ELSEWHERE = {
    **dict.fromkeys(_OF_INDEXES, _INDEX),
    **dict.fromkeys(_OF_VECTORS, "VectorIndex(dim); docs/migrate/faiss.md is about coming from there"),
    "FAISS": f"{_INDEX}; docs/migrate/faiss.md is about coming from there",
    "BERTopic": f"{_INDEX}; docs/migrate/bertopic.md is about coming from there",
    "read_index": "VectorIndex.load(path), or Index.open(path)",
    "SentenceTransformer": "the encoder of an index, as in Index.create(path, encoder='st:all-MiniLM-L6-v2')",
}
"""Names by which other libraries begin."""


def __getattr__(name: str) -> object:
    if name in __all__:
        value = getattr(import_module(_HOME.get(name, "gossamer.results")), name)
        globals()[name] = value
        return value
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
    hint = f"here it is {_ELSEWHERE[name]}"
    # `from gossamer import …` would replace an AttributeError by an ImportError of its own, without the hint.
    if sys._getframe(1).f_code.co_name == "_handle_fromlist":
        raise ImportError(f"cannot import name {name!r} from 'gossamer': {hint}", name=__name__)
    raise AttributeError(f"module 'gossamer' has no attribute {name!r}: {hint}")


def __dir__() -> list[str]:
    return sorted(__all__)
