"""What the presets of an index stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from gossamer.tree.cobweb import CobwebTree

if TYPE_CHECKING:
    from gossamer.whiten import Whitener


@dataclass(frozen=True)
class Preset:
    """Settings that belong together."""

    acuity: float | Literal["auto"]
    context: float
    refine: Literal["auto"] | None
    paper: bool

    def whitener(self) -> Whitener:
        """A whitener of this preset, to be fitted."""
        from gossamer.whiten import Whitener

        return Whitener.paper() if self.paper else Whitener()


PRESETS: Final = {
    "default": Preset(acuity="auto", context=0.0, refine="auto", paper=False),
    "paper": Preset(acuity=CobwebTree.PAPER_ACUITY, context=1.0, refine=None, paper=True),
}
