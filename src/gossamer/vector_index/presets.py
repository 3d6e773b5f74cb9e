"""What the presets of an index stand for."""

from dataclasses import dataclass
from typing import Final, Literal

from gossamer.tree.cobweb import CobwebTree
from gossamer.vector_index.core import Structure
from gossamer.whitening.whitening import Whitening

SHARE: Final = 0.98
"""Of the variance that the default keeps. More is a little better still (`docs/results/defaults.md`) but costs in
proportion: 0.96, 0.98 and 1 keep 261, 292 and 381 dimensions of MiniLM's 384."""


@dataclass(frozen=True)
class Preset:
    """Settings that belong together."""

    acuity: float | Literal["auto"]
    context: float
    structure: Structure
    paper: bool

    def whitening(self) -> Whitening:
        """The whitening of this preset, to be fitted."""
        return Whitening.paper() if self.paper else Whitening(n_components=SHARE)


PRESETS: Final = {
    "default": Preset(acuity="auto", context=0.0, structure="living", paper=False),
    "paper": Preset(acuity=CobwebTree.PAPER_ACUITY, context=1.0, structure="cobweb", paper=True),
}
