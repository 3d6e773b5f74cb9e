"""The texts behind a tree, and how many characters of them are read and shown."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from gossamer.plain_text import beginning
from gossamer.results import Exemplar


class Passage(NamedTuple):
    """The text of one document of the tree, or its beginning, and the id under which the user added it."""

    id: str
    text: str


Texts: TypeAlias = Callable[[Sequence[int]], list[Passage]]
"""Reads the passages of documents, which are numbered as the tree numbers them, in the order given."""

READ: Final = 400
"""Characters of a passage that are read for labels."""

SNIPPET: Final = 60
"""Characters of a text that is used as a label, at most."""

SHOWN: Final = 200
"""Characters of an exemplar, at most."""


def as_exemplar(passage: Passage) -> Exemplar:
    """A passage that stands for a concept, as it is shown."""
    return Exemplar(passage.id, beginning(passage.text, SHOWN))


Pause: TypeAlias = Callable[[], None]
"""Called between two concepts of a long work: raises to end it, or lets other threads run."""
