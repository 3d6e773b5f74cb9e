"""Gossamer: hierarchical semantic retrieval with Cobweb.

Where things are, in the order data flows:

    whiten      vectors → decorrelated vectors          Whitener
    tree        vectors → a tree of concepts            CobwebTree
    rank        query → documents                       the paper's two rankers, and ours
    vectors     the three together                      VectorIndex
    encoders    text → vectors                          known_encoders, load_encoder
    store       SQLite + snapshots, crash safety
    index       text in, explained answers out          Index: read this first
    errors      everything that can go wrong
    results     what the calls return

Importing this package is cheap: names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer.index import Index
    from gossamer.results import Concept, Document, Explanation, Hit, IndexInfo, PathStep, SearchResult, TextExplanation
    from gossamer.tree.cobweb import CobwebTree
    from gossamer.vectors import VectorIndex
    from gossamer.whiten import Whitener

_HOME = {
    "CobwebTree": "gossamer.tree.cobweb",
    "Concept": "gossamer.results",
    "Document": "gossamer.results",
    "Explanation": "gossamer.results",
    "Hit": "gossamer.results",
    "Index": "gossamer.index",
    "IndexInfo": "gossamer.results",
    "PathStep": "gossamer.results",
    "SearchResult": "gossamer.results",
    "TextExplanation": "gossamer.results",
    "VectorIndex": "gossamer.vectors",
    "Whitener": "gossamer.whiten",
}

__all__ = [
    "CobwebTree",
    "Concept",
    "Document",
    "Explanation",
    "Hit",
    "Index",
    "IndexInfo",
    "PathStep",
    "SearchResult",
    "TextExplanation",
    "VectorIndex",
    "Whitener",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'gossamer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
