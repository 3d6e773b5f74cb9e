"""The texts behind a tree: what this package asks for them, and how it shortens them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from gossamer.rendering import shortened


class Passage(NamedTuple):
    """A text in the tree, and the id of the document it belongs to."""

    id: str
    text: str
    """Its beginning is enough."""


Texts: TypeAlias = Callable[[Sequence[int]], list[Passage]]
"""The passages of the tree's documents, in their order."""

READ: Final = 400
"""Characters of a passage that are read for labels."""

SNIPPET: Final = 60
"""Characters of a text that stands as a label."""

SHOWN: Final = 200
"""Characters of an exemplar."""


def beginning(text: str, most: int) -> str:
    """The beginning of a text on one line; only so much of it is looked at."""
    return shortened(" ".join(text[: 4 * most].split()), most)
