"""What the presets of an index stand for."""

from dataclasses import dataclass
from typing import Final, Literal

from gossamer.tree.cobweb import CobwebTree
from gossamer.vector_index.core import Structure
from gossamer.whitening.whitening import Whitening

SHARE: Final = 0.995
"""Of the variance that the default keeps. nDCG@10 over the dot product's on SciFact, CACM and the easy queries of MS
MARCO: +0.2, 0.0 and −0.2 with 0.98; +0.3, +1.2 and 0.0 with 0.995. More gains no more, and costs in proportion: 0.98,
0.995 and 1 keep 285, 337 and 381 dimensions of MiniLM's 384."""


@dataclass(frozen=True)
class Preset:
    """Settings that belong together."""

    acuity: float | Literal["auto"]
    context: float
    structure: Structure
    paper: bool

    def whitening(self) -> Whitening:
        """The whitening of this preset, to be fitted."""
        return Whitening.paper() if self.paper else Whitening(n_components=SHARE, center="auto")


PRESETS: Final = {
    "default": Preset(acuity="auto", context=0.0, structure="living", paper=False),
    "paper": Preset(acuity=CobwebTree.PAPER_ACUITY, context=1.0, structure="cobweb", paper=True),
}
