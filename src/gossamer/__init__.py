"""Gossamer: hierarchical semantic retrieval with Cobweb.

Where things are, in the order data flows:

    whiten      vectors → decorrelated vectors          Whitener
    tree        vectors → a tree of concepts            CobwebTree
    rank        query → documents                       the paper's two rankers, and ours
    vectors     the three together                      VectorIndex
    errors      everything that can go wrong
    results     what the calls return

Importing this package is cheap: names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer.results import Explanation, PathStep, SearchResult
    from gossamer.tree.cobweb import CobwebTree
    from gossamer.vectors import VectorIndex
    from gossamer.whiten import Whitener

_HOME = {
    "CobwebTree": "gossamer.tree.cobweb",
    "Explanation": "gossamer.results",
    "PathStep": "gossamer.results",
    "SearchResult": "gossamer.results",
    "VectorIndex": "gossamer.vectors",
    "Whitener": "gossamer.whiten",
}

__all__ = [
    "CobwebTree",
    "Explanation",
    "PathStep",
    "SearchResult",
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
