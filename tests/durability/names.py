"""Labels, when trees are compared node by node."""

from __future__ import annotations

from gossamer import Index


def forget_names(*indices: Index) -> None:
    """What a concept is called depends on what it was called before; begun anew, equal trees have equal labels."""
    for index in indices:
        index._concepts.clear()
