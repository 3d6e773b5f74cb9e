"""How unusual a query is: its cosine to the nearest document, compared with what is usual among documents.

For a sample of documents the cosine to the nearest other document is known. The share of them that are at most as
near as the query, the query included, is the p-value of a conformal test: were the query drawn as the documents
were, it would be below 0.05 in one case of twenty, whatever the data (Vovk, Gammerman and Shafer 2005).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.array_types import Doubles
from gossamer.tree.cobweb import CobwebTree

SAMPLE: Final = 1024
"""Documents in the baseline, at most."""

_DRIFT: Final = 1.1
"""A baseline is made again once the corpus has grown or shrunk by more than this factor."""


@dataclass(frozen=True)
class Baseline:
    """What is usual in a corpus."""

    cosines: Doubles
    """Of a sample of documents, each to its nearest other document; ascending."""
    documents: int
    """Passages in the tree when it was made."""

    def holds(self, tree: CobwebTree) -> bool:
        """Whether the corpus still has about the same size."""
        return tree.n_documents / _DRIFT <= self.documents <= tree.n_documents * _DRIFT

    def percentile(self, cosine: float) -> float:
        """The share of documents, in per cent, with a higher cosine."""
        n = len(self.cosines)
        higher = n - int(np.searchsorted(self.cosines, cosine, "right"))
        return 100.0 * higher / n if n else 0.0

    def confidence(self, cosine: float) -> float:
        """The share of documents, the query included, with a cosine at most as high."""
        return (1 + int(np.searchsorted(self.cosines, cosine, "right"))) / (1 + len(self.cosines))


def verdict(percentile: float, confidence: float, documents: int, label: str) -> str:
    """The result as a sentence. `documents` is the size of the baseline, `label` that of the nearest concept."""
    name = label if "“" in label else f"“{label}”"  # that of a concept without terms quotes a text
    nearest = f"the nearest concept is {name}"
    if documents < 20:
        return f"with {documents} documents to compare, nothing can be said; {nearest}"
    if confidence < 0.02:
        most = "any document" if percentile > 99.9 else f"{percentile:.1f} % of the documents"
        return f"unlike anything here: less like the rest than {most}"
    if confidence < 0.1:
        return f"unusual: less like the rest than {percentile:.0f} % of the documents; {nearest}"
    return f"familiar: {100 - percentile:.0f} % of the documents are less like the rest; {nearest}"
