"""How well groups and trees agree with classes that people gave, and how well the words of a group go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.errors import InputError
from gossamer_lab.engine import Doubles, Longs

WORDS: Final = 10
"""Words of a group whose coherence is measured."""


@dataclass(frozen=True)
class Dendrogram:
    """A tree over documents: the parent of each node, children before parents, and the node of each document."""

    parent: Longs
    """-1 for the root, which comes last."""
    leaf: Longs

    def __post_init__(self) -> None:
        """Check that parents come after their children."""
        above = self.parent[:-1]
        if len(self.parent) and (self.parent[-1] != -1 or bool((above <= np.arange(len(above))).any())):
            raise InputError("the nodes of a dendrogram must come before their parents, and the root last")


def dendrogram_purity(tree: Dendrogram, classes: Longs) -> float:
    """The mean, over all pairs of documents of one class, of that class's share in the smallest node with both.

    After Heller and Ghahramani (2005); exact. For a node with n documents, n_k of class k, the pairs of k that meet
    there are those among its documents which meet in none of its children: C(n_k, 2) − Σ C(n_k of child, 2).
    """
    counts = np.zeros((len(tree.parent), int(classes.max()) + 1))
    np.add.at(counts, (tree.leaf, classes), 1.0)
    met_below = np.zeros_like(counts)
    for node, above in enumerate(tree.parent[:-1]):
        counts[above] += counts[node]
        met_below[above] += _pairs(counts[node])
    meeting = _pairs(counts) - met_below
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    whole = float(_pairs(counts[-1]).sum())
    return float((meeting * shares).sum() / whole) if whole else 1.0


def _pairs(counts: Doubles) -> Doubles:
    return counts * (counts - 1.0) / 2.0


def purity(groups: Longs, classes: Longs) -> float:
    """The share of documents that belong to the most frequent class of their group."""
    table = np.zeros((int(groups.max()) + 1, int(classes.max()) + 1))
    np.add.at(table, (groups, classes), 1.0)
    return float(table.max(axis=1).sum() / len(classes))


def nmi(groups: Longs, classes: Longs) -> float:
    """Normalised mutual information, by the arithmetic mean of both entropies."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(classes, groups))


class Vocabulary:
    """Which documents hold which words; stop words and the rarest words are left out."""

    def __init__(self, texts: Sequence[str], *, rarest: int = 5) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        fewest = min(rarest, max(1, len(texts) // 20))
        counter = CountVectorizer(stop_words="english", min_df=fewest, token_pattern=r"(?u)\b[^\W\d_]{3,}\b")
        self._counts: Any = counter.fit_transform(texts).tocsr()
        self.words: npt.NDArray[Any] = counter.get_feature_names_out()
        self._place = {word: place for place, word in enumerate(self.words)}
        self._holds = (self._counts > 0).astype(np.float64).tocsc()

    def telling(self, groups: Longs, most: int = WORDS) -> list[list[str]]:
        """For each group its most telling words by class-based TF-IDF: a word's share in the group × its rarity."""
        total = int(groups.max()) + 1
        member = np.zeros((total, len(groups)))
        member[groups, np.arange(len(groups))] = 1.0
        counts = np.asarray(member @ self._counts)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        rarity = np.log1p(counts.sum() / total / np.maximum(counts.sum(axis=0), 1.0))
        weights = shares * rarity
        order = np.argsort(-weights, axis=1, kind="stable")[:, :most]
        return [[str(self.words[w]) for w in row if weights[group, w] > 0] for group, row in enumerate(order)]

    def coherence(self, topics: Sequence[Sequence[str]]) -> float:
        """The mean NPMI of all pairs of words of a topic, over documents: 1 always together, 0 by chance, −1 never."""
        known = [[self._place[word] for word in topic if word in self._place] for topic in topics]
        pairs = np.array([pair for topic in known for pair in combinations(topic, 2)], np.int64)
        return float(self._npmi(pairs[:, 0], pairs[:, 1]).mean()) if len(pairs) else 0.0

    def _npmi(self, left: Longs, right: Longs) -> Doubles:
        """log(p_lr / p_l·p_r) / −log p_lr for each pair of words."""
        used, places = np.unique(np.concatenate([left, right]), return_inverse=True)
        holds = self._holds[:, used]
        both = np.asarray((holds.T @ holds).todense()) / holds.shape[0]
        one, other = places[: len(left)], places[len(left) :]
        alone, together = both.diagonal(), both[one, other]
        with np.errstate(divide="ignore", invalid="ignore"):
            values: Doubles = np.log(together / (alone[one] * alone[other])) / -np.log(together)
        values[together == 0.0] = -1.0
        values[together == 1.0] = 1.0
        return values


def diversity(topics: Sequence[Sequence[str]]) -> float:
    """The share of words that are different, over all topics together."""
    words = [word for topic in topics for word in topic]
    return len(set(words)) / len(words) if words else 0.0
