"""The algorithm, for ann_benchmarks/algorithms/gossamer/ (or vibe/algorithms/gossamer/) in a checkout of theirs."""

from gossamer.integrations import ann_benchmarks

from ..base.module import BaseANN


class Gossamer(ann_benchmarks.Gossamer, BaseANN):  # type: ignore[misc]
    """Their base class measures the memory."""
