"""A corpus with themes, written for these tests, and texts in a `VectorIndex` with their concepts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from bag import DIM, encode
from gossamer import VectorIndex
from gossamer.explain.concepts import Concepts, Wording
from gossamer.explain.labelling import Family, Labels, make
from gossamer.explain.passages import Passage
from gossamer.explain.proposals import Proposals
from gossamer.explain.sampling import Members
from gossamer.index.labelling import frozen
from gossamer.results import Concept
from gossamer.tree.browsing import shown_paths, top_paths

THEMES = {
    "baking": "bread dough flour oven yeast crust sourdough loaf",
    "cycling": "bicycle tyre chain brake pedal saddle wheel gear",
    "sky": "moon comet planet orbit telescope galaxy eclipse asteroid",
    "music": "violin concert melody rhythm guitar piano chorus orchestra",
    "garden": "tomato seedling compost pruning orchard tulip greenhouse weeds",
}
EVERYWHERE = ["today", "people", "really", "question", "answer", "morning", "friend", "always"]


def document(theme: str, rng: random.Random) -> str:
    words = [*rng.sample(THEMES[theme].split(), 4), *rng.sample(EVERYWHERE, 2)]
    rng.shuffle(words)
    return " ".join(words)


def documents(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """So many texts and the theme of each, in turn."""
    rng = random.Random(seed)
    themes = [list(THEMES)[at % len(THEMES)] for at in range(n)]
    return [document(theme, rng) for theme in themes], themes


class Corpus:
    """Texts in a `VectorIndex`: the tree that an `Index` of them has, open to be looked at."""

    def __init__(self, texts: list[str]) -> None:
        self.vectors = VectorIndex(DIM)
        self.text_of: dict[int, str] = {}
        self.add(texts)

    def add(self, texts: list[str]) -> None:
        ids = self.vectors.add(encode(texts))
        self.text_of.update(zip(map(int, ids), texts, strict=True))

    def remove(self, ids: Iterable[int]) -> None:
        for id in ids:
            self.vectors.remove(id)
            del self.text_of[id]

    def texts(self, documents: Sequence[int]) -> list[Passage]:
        return [Passage(str(id), self.text_of[int(id)]) for id in self.vectors.ids_of(list(documents))]

    def labels(self, known: Labels | None = None) -> Labels:
        """The labels of all concepts as they are now; `known` are of an earlier state."""
        state = frozen(self.vectors, 0)().tree
        known = known or Labels()
        work = Proposals(Members(state), self.texts, known.proposals, lambda: None)
        return make(work, Family.whole(state.arrays))

    def words(self, labels: Labels | None = None) -> Wording:
        ids, made = self.vectors.state.ids, self.vectors.state.history
        return Wording(self.texts, labels or self.labels(), lambda id: ids.number(id) if id in ids else None, made)

    def all_of(self, concepts: Concepts, labels: Labels | None = None) -> list[Concept]:
        paths = top_paths(self.vectors.tree.arrays, None)
        return concepts.last_of(self.vectors.tree, self.words(labels), paths)

    def path(self, concepts: Concepts, id: int, labels: Labels | None = None) -> tuple[Concept, ...]:
        paths = shown_paths(self.vectors.tree.arrays, self.vectors.tree.arrays.leaf[self.vectors.numbers_of([id])])
        return concepts.describe(self.vectors.tree, self.words(labels), paths)[0]
