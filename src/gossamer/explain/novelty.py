"""How unusual a query is: its likeness to the nearest document, against what is usual among the documents themselves.

The likeness of a document is that to the nearest other one, itself left out. The share of documents that are as
unlike the rest as the query is, the query counted in, is the p-value of a conformal test: if the query were one
more document, it would be below 0.05 in one case of twenty, whatever the data (Vovk, Gammerman and Shafer 2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.array_types import Doubles
from gossamer.tree.cobweb import CobwebTree

SAMPLE: Final = 1024
"""Documents that are compared, at most."""

_DRIFT: Final = 1.1
"""Once the corpus has grown or shrunk by more, documents are compared anew."""


@dataclass(frozen=True)
class Usual:
    """What is usual in a corpus: the likeness of a sample of documents, each to its nearest other, ascending."""

    likeness: Doubles
    documents: int

    def holds(self, tree: CobwebTree) -> bool:
        """Whether the corpus is still much the same."""
        return tree.n_documents / _DRIFT <= self.documents <= tree.n_documents * _DRIFT

    def percentile(self, likeness: float) -> float:
        """The share of documents that are more like the rest, in per cent."""
        n = len(self.likeness)
        more = n - int(np.searchsorted(self.likeness, likeness, "right"))
        return 100.0 * more / n if n else 0.0

    def confidence(self, likeness: float) -> float:
        """The share of documents at least as unlike the rest, the query counted in."""
        return (1 + int(np.searchsorted(self.likeness, likeness, "right"))) / (1 + len(self.likeness))


def verdict(percentile: float, confidence: float, documents: int, where: str) -> str:
    """A sentence for people."""
    if documents < 20:
        return f"with {documents} documents to compare, nothing can be said; the nearest concept is {where}"
    if confidence < 0.02:
        most = "any document" if percentile > 99.9 else f"{percentile:.1f} % of the documents"
        return f"unlike anything here: less like the rest than {most}"
    if confidence < 0.1:
        return f"unusual: less like the rest than {percentile:.0f} % of the documents; the nearest concept is {where}"
    return f"familiar: {100 - percentile:.0f} % of the documents are less like the rest; the nearest concept is {where}"
