"""What the presets of an index stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from gossamer.tree.cobweb import CobwebTree
from gossamer.whitening import Whitening


@dataclass(frozen=True)
class Preset:
    """Settings that belong together."""

    acuity: float | Literal["auto"]
    context: float
    refine: Literal["auto"] | None
    paper: bool

    def whitening(self) -> Whitening:
        """The whitening of this preset, to be fitted."""
        return Whitening.paper() if self.paper else Whitening()


PRESETS: Final = {
    "default": Preset(acuity="auto", context=0.0, refine="auto", paper=False),
    "paper": Preset(acuity=CobwebTree.PAPER_ACUITY, context=1.0, refine=None, paper=True),
}
