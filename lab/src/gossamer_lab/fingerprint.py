"""Which engine made a page of results: a fingerprint of what the engine answers, not of how its code reads.

Each family of results has a probe: a small run over made-up data whose answers are numbers and words. The answers of
the current engine are kept in `fingerprint.json`; a fingerprint is a digest of those. Behaviour is compared and not
source text, so that refactoring and comments change nothing and a new default does, wherever it comes from; numbers are
compared with a tolerance, so that processors and libraries that round differently agree.

    python -m gossamer_lab.fingerprint      write the answers of this engine, after a change that is meant

A page whose fingerprint is not the current one must say so, see `gossamer_lab.pages`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from gossamer import CobwebTree, Index, VectorIndex, Whitener
from gossamer_lab.engine import AUTO, Floats, WordIndex, best_groups, default_settings, shown_sizes

Answers: TypeAlias = list[float | str]

KEPT: Final = Path(__file__).with_suffix(".json")
"""The answers of the current engine, by family."""

_TOLERANCE: Final = 2e-3
"""Relative difference up to which two numbers are the same."""

_SUBJECTS: Final = {
    "bread": "bake bread oven dough flour yeast knead crust loaf sourdough",
    "bicycle": "bicycle tyre chain brakes pedal saddle wheel gear spoke pump",
    "garden": "garden tomatoes water carrots spring weeds roses soil compost seed",
    "music": "guitar piano strings choir melody rhythm chord violin sing drum",
    "sky": "moon planet comet orbit telescope star galaxy eclipse crater sun",
}
_QUERIES: Final = ("knead the dough", "oil a chain", "water the roses", "tune strings of a violin", "orbit of the moon")


def _vectors(rows: int, *, shifted: bool) -> tuple[Floats, Floats]:
    """Documents in forty groups with variances that fall off, and queries near some; `shifted` as bad encoders do."""
    rng = np.random.default_rng(7)
    scale = 1.0 / np.sqrt(1.0 + np.arange(24))
    centres = rng.normal(size=(40, 24)) * scale * 2
    X = centres[rng.integers(0, 40, rows)] + rng.normal(size=(rows, 24)) * scale * 0.7
    Q = X[rng.integers(0, rows, 6)] + rng.normal(size=(6, 24)) * scale * 0.3
    offset = 6.0 * scale if shifted else 0.0
    return np.asarray(X + offset, np.float32), np.asarray(Q + offset, np.float32)


def _retrieval() -> Answers:
    """Whitening, the scores of every ranker in both presets, and the defaults."""
    found: Answers = [str(default_settings())]
    for shifted in (False, True):
        E, Q = _vectors(2_000, shifted=shifted)
        default = VectorIndex(24)
        default.add(E)
        default.settle()
        whitener = default.whitener
        assert whitener is not None
        found += [whitener.strength_, whitener.mean_cosine_, float(whitener.project(E[:1]).shape[1])]
        paper = VectorIndex(24, "paper", whitener=Whitener(strength=1.0, sphere=False), links=False)
        paper.add(E[:800])
        for scores in (
            default.search(Q, 5, "guided").scores,
            default.search(Q, 5, "path-sum").scores,
            paper.search(Q, 5, "best-first").scores,
            paper.search(Q, 5, "path-sum", aggregate="mean").scores,
        ):
            found += [float(score) for score in scores.ravel()]
    return found


def _trees() -> Answers:
    """Sizes in the view of the root and of groups: built at once, grown one by one, and by Cobweb's operators."""
    E, _ = _vectors(1_200, shifted=False)
    at_once, grown = VectorIndex(24, links=False), VectorIndex(24, links=False)
    at_once.add(E)
    grown.add(E[:700])
    for row in E[700:900]:
        grown.add(row[None])
    grown.settle()
    found: Answers = []
    for index in (at_once, grown):
        found += [float(size) for size in sorted(shown_sizes(index).tolist())]
        found += [float(size) for size in sorted(len(group) for group in best_groups(index, 8))]
    cobweb = CobwebTree(24)
    cobweb.insert_many(E[:400])
    stats = cobweb.stats()
    return [*found, float(stats.nodes), float(stats.depth), float(stats.widest)]


def _texts() -> list[str]:
    rng = np.random.default_rng(3)
    texts = []
    for words in _SUBJECTS.values():
        listed = words.split()
        texts += [" ".join(rng.choice(listed, 6)) for _ in range(40)]
    listed = " ".join(_SUBJECTS.values()).split()
    return [*texts, *(". ".join(" ".join(rng.choice(listed, 9)) for _ in range(60)) for _ in range(3))]


def _bag(texts: Sequence[str]) -> Floats:
    """A vector of hashed words: no model, the same everywhere."""
    rows = np.zeros((len(texts), 48), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in text.lower().replace(".", "").split():
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            row += np.frombuffer(digest * 6, np.uint8).astype(np.float32).reshape(6, 8).ravel() % 7 - 3
    return rows + np.float32(1e-3)


def _words() -> Answers:
    """Scores of words alone, and of whole searches over texts, long ones among them."""
    texts = _texts()
    words = WordIndex.of(texts)
    found: Answers = [*AUTO]
    for query in _QUERIES:
        found += [float(share) for share in sorted(words.shares(query)[1].tolist(), reverse=True)[:5]]
    with Index(encoder=_bag) as index:
        index.add(texts)
        for query in _QUERIES:
            found += [hit.score for hit in index.search(query, k=5)]
            found += [hit.score for hit in index.search(query, k=5, hybrid=False)]
    return found


def _labels() -> Answers:
    """The names of topics."""
    with Index(encoder=_bag) as index:
        index.add(_texts())
        return [concept.label for concept in index.topics(5).concepts]


FAMILIES: Final[Mapping[str, Callable[[], Answers]]] = {
    "retrieval": _retrieval, "trees": _trees, "words": _words, "labels": _labels,
}  # fmt: skip


@cache
def answers(family: str) -> Answers:
    """What this engine answers."""
    return FAMILIES[family]()


def kept() -> dict[str, Answers]:
    """The answers that were kept last."""
    found: dict[str, Answers] = json.loads(KEPT.read_text())
    return found


def same(ours: Answers, theirs: Answers) -> bool:
    """Whether two lists of answers are the same, but for rounding."""
    return len(ours) == len(theirs) and all(_alike(a, b) for a, b in zip(ours, theirs, strict=True))


def _alike(a: float | str, b: float | str) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE) or (math.isnan(a) and math.isnan(b))


def current(families: Sequence[str]) -> str:
    """The fingerprint of the kept answers of some families: what a page made by the current engine carries."""
    listed = kept()
    text = json.dumps({family: listed[family] for family in sorted(families)})
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def of_this_engine(families: Sequence[str]) -> str:
    """The fingerprint of the engine that is running: that of the kept answers, if it answers the same.

    Empty where no family decides the results.
    """
    if not families:
        return ""
    listed = kept()
    if all(same(answers(family), listed.get(family, [])) for family in families):
        return current(families)
    text = json.dumps({family: answers(family) for family in sorted(families)})
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def write() -> None:
    """Keep the answers of this engine; those of a family that are the same but for rounding stay as they are."""
    before, found = kept(), {}
    for family in FAMILIES:
        now = [each if isinstance(each, str) else round(each, 6) for each in answers(family)]
        found[family] = before[family] if same(now, before.get(family, [])) else now
    KEPT.write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    write()
