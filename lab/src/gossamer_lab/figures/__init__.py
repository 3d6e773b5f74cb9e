"""Trees as figures for print, drawn with matplotlib, after figure 2 of the paper."""

from gossamer_lab.figures.figure import to_figure

__all__ = ["to_figure"]
